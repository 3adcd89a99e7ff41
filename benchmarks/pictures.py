"""The picture of a case about a whole stream: seconds of every system as bars, time per batch and
rows of state over the stream.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

#: By the beginning of a system's name; variants of one system differ by their
#: dashes, up to seven of them.
COLOURS = {
    "joinless": "#1f6f8b",
    "spark": "#d1603d",
    "flink": "#8e5ea2",
    "pathway": "#b0903d",
    "duckdb": "#777777",
    "differential": "#4f9d69",
    "bare-index": "#222222",
    "null": "#b8b8b8",
    "dedup": "#cfa0a0",
}
DASHES: tuple[Any, ...] = (
    "-",
    "--",
    ":",
    "-.",
    (0, (6, 1)),
    (0, (4, 1, 1, 1, 1, 1)),
    (0, (1, 3)),
)

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "joinless",  # the same picture from the same figures, byte for byte
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
}


def draw(case: dict[str, Any], folder: Path) -> None:
    """Writes `folder/<case>.svg`.

    Args:
        case: of a summary (`summary.summarised`).
    """
    done = {name: result for name, result in case["results"].items() if result["batches"]}
    finished = sorted(
        (statistics.median(r["seconds"] for r in result["runs"]), n) for n, result in done.items() if result["runs"]
    )
    with matplotlib.rc_context(STYLE):
        height = max(3.4, 0.22 * len(done) + 1.2)
        figure, (bars, times, state) = pyplot.subplots(1, 3, figsize=(15, height), width_ratios=(1.1, 1, 1))
        bars.barh([n for _, n in finished], [s for s, _ in finished], color=[_colour(n) for _, n in finished])
        for i, (s, _) in enumerate(finished):
            bars.text(s, i, f" {s:.2g} s" if s < 10 else f" {s:.0f} s", va="center")
        bars.invert_yaxis()  # the fastest on top
        bars.grid(visible=False)
        bars.margins(x=0.15)
        bars.set_title("whole stream, seconds")
        _logarithmic(bars, "x")
        for name, result in done.items():
            line = {"color": _colour(name), "linestyle": _dashes(name, done), "label": name, "linewidth": 1.4}
            numbers, spent, rows = zip(*result["curve"], strict=True)
            times.plot(numbers, spent, **line)
            if any(rows):
                state.plot(numbers, [n or 0 for n in rows], **line)
        times.set_title("seconds per batch")
        _logarithmic(times, "y")
        state.set_title("rows of state")
        state.yaxis.set_major_formatter(FuncFormatter(lambda n, _: _short(n)))
        for axes in (times, state):
            axes.set_xlabel("batch")
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        handles, labels = times.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=8)
        figure.suptitle(case["name"], x=0.01, horizontalalignment="left", weight="bold")
        figure.set_layout_engine("constrained")
        figure.savefig(folder / (case["name"].replace("/", "-") + ".svg"), metadata={"Date": None})
        pyplot.close(figure)


def _colour(name: str) -> str:
    return next((colour for prefix, colour in COLOURS.items() if name.startswith(prefix)), "#000000")


def _dashes(name: str, names: dict[str, Any]) -> Any:
    alike = sorted((n for n in names if _colour(n) == _colour(name)), key=lambda n: (len(n), n))
    return DASHES[alike.index(name) % len(DASHES)]


def _logarithmic(axes: Axes, which: str) -> None:
    """A logarithmic axis with plain numbers at 1 and 3 of each power of ten."""
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:g}"))
    axis.set_minor_formatter(NullFormatter())


def _short(n: float) -> str:
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if n >= size:
            return f"{n / size:g} {unit}"
    return f"{n:g}"
