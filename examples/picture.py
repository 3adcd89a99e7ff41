"""Draws the results of the examples: state and time per batch of several systems, coefficients per
batch of a regression, estimates with their bounds and the exact values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes


class Batch(Protocol):
    """The figures of a batch that are drawn."""

    @property
    def seconds(self) -> float:
        """How long it took."""

    @property
    def state_rows(self) -> int:
        """Rows of state after it."""


class Estimate(Protocol):
    """An estimate of a country after a batch, and the exact value."""

    @property
    def number(self) -> int:
        """The batch."""

    @property
    def country(self) -> str:
        """The country; `all` for all of them."""

    @property
    def estimate(self) -> str:
        """What is estimated."""

    @property
    def value(self) -> float:
        """The estimate."""

    @property
    def low(self) -> float:
        """The lower bound."""

    @property
    def high(self) -> float:
        """The upper bound."""

    @property
    def exact(self) -> float:
        """The exact value."""


COLOURS = ("#1b7f5c", "#c2562d", "#4464ad")


def draw(folder: Path, runs: Mapping[str, Mapping[str, Sequence[Batch]]]) -> Path:
    """Writes demo.png and demo.svg into a folder, one row of panels per query;
    returns the path of the PNG.
    """
    figure, axes = plt.subplots(len(runs), 2, figsize=(9, 3.1 * len(runs)), squeeze=False)
    for row, (query, systems) in zip(axes, runs.items(), strict=True):
        for colour, (system, batches) in zip(COLOURS, systems.items(), strict=False):
            numbers = range(1, len(batches) + 1)
            row[0].plot(numbers, [b.state_rows for b in batches], marker="o", color=colour, label=system)
            row[1].plot(numbers, [b.seconds for b in batches], marker="o", color=colour, label=system)
        row[0].set_title(f"{query}: rows of state")
        row[1].set_title(f"{query}: seconds per batch")
        for panel in row:
            panel.set_ylim(bottom=0)
            _tidy(panel)
        row[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(folder / "demo.svg", metadata={"Date": None})
    figure.savefig(folder / "demo.png", dpi=130)
    plt.close(figure)
    return folder / "demo.png"


def draw_coefficients(file: Path, truth: Mapping[str, float], fits: Sequence[Sequence[float]]) -> None:
    """Writes a panel per coefficient: its values, batch by batch, and a
    dashed line at the true value.
    """
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "joinless"}):
        figure, axes = plt.subplots(1, len(truth), figsize=(2.6 * len(truth), 2.6), squeeze=False)
        for panel, (name, true), values in zip(axes[0], truth.items(), zip(*fits, strict=True), strict=True):
            panel.axhline(true, linestyle="--", color=COLOURS[1])
            panel.plot(range(len(values)), values, marker="o", markersize=3, color=COLOURS[0])
            panel.set_title(name)
            _tidy(panel)
        figure.tight_layout()
        figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)
        plt.close(figure)


def draw_dashboard(file: Path, shown: Sequence[Estimate], title: str) -> None:
    """Writes four panels: by country the messages and their minutes after the last batch; over all
    batches the average and the share of slow ones of all countries. Points are estimates with their bounds,
    bars and lines exact values.
    """
    last = sorted((e for e in shown if e.number == shown[-1].number and e.country != "all"), key=lambda e: e.country)
    whole = [each for each in shown if each.country == "all"]
    panels = (
        ("messages, millions", "bars", 1e6, [each for each in last if each.estimate == "count_if(true)"]),
        ("minutes of a message", "marks", 1.0, [each for each in last if each.estimate == "avg(minutes)"]),
        ("minutes, all countries", "line", 1.0, [each for each in whole if each.estimate == "avg(minutes)"]),
        ("slow at both ends, percent", "line", 0.01, [each for each in whole if each.estimate == "avg(slow = 1)"]),
    )
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "joinless"}):
        figure, axes = plt.subplots(1, 4, figsize=(13, 3.2))
        for panel, (name, form, unit, estimates) in zip(axes, panels, strict=True):
            places = [each.number + 1 if form == "line" else i for i, each in enumerate(estimates)]
            exact = [each.exact / unit for each in estimates]
            values = [each.value / unit for each in estimates]
            bounds = [[(e.value - e.low) / unit for e in estimates], [(e.high - e.value) / unit for e in estimates]]
            if form == "line":
                panel.plot(places, exact, color=COLOURS[2], alpha=0.6, label="exact")
            elif form == "bars":
                panel.bar(places, exact, color=COLOURS[2], alpha=0.35, label="exact")
            else:
                panel.hlines(exact, [x - 0.4 for x in places], [x + 0.4 for x in places], COLOURS[2], label="exact")
            dots = {"fmt": "o", "markersize": 3, "capsize": 3, "color": COLOURS[1], "label": "estimate, 95 % bounds"}
            panel.errorbar(places, values, yerr=bounds, **dots)
            _tidy(panel)
            panel.set_title(name)
            panel.set_xlabel("file" if form == "line" else "")
            names = places if form == "line" else [each.country for each in estimates]
            panel.set_xticks(places, names, rotation=0 if form == "line" else 60)
        axes[0].legend(frameon=False, fontsize=8)
        figure.suptitle(title)
        figure.tight_layout()
        figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)
        plt.close(figure)


def _tidy(panel: Axes) -> None:
    panel.set_xlabel("batch")
    panel.grid(alpha=0.3)
    panel.spines[["top", "right"]].set_visible(False)
