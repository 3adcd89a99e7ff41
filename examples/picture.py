"""Draws the results of the examples: state and time per batch of several systems, coefficients per
batch of a regression.
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


def _tidy(panel: Axes) -> None:
    panel.set_xlabel("batch")
    panel.grid(alpha=0.3)
    panel.spines[["top", "right"]].set_visible(False)
