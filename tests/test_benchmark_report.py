"""Tables and pictures made of the figures of a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import report


def case(name: str, changes: int, results: int, costs: dict[str, tuple[float, float]]) -> dict[str, Any]:
    """A stream that takes each system so many nanoseconds per change and per result."""
    runs = {
        system: {
            "runs": [{"seconds": (changes * x + results * y) / 1e9, "changes": changes, "plus": results, "minus": 0}],
            "peak_bytes": 1,
        }
        for system, (x, y) in costs.items()
    }
    graph, mode, _ = name.split("/")
    return {"name": name, "case": {"graph": graph, "mode": mode}, "results": runs}


COSTS = {"joinless-engine": (300.0, 20.0), "differential-best": (90.0, 25.0), "bare-index": (40.0, 6.5)}


def test_costs_of_changes_and_of_results_are_distinguished() -> None:
    everything = {
        "cases": [case("g/win/L3-1", 1_000_000, 50_000, COSTS), case("g/win/L3-10", 1_100_000, 9_000_000, COSTS)]
    }
    lines = report.floor(everything).splitlines()
    assert lines[2:] == ["| g/win | 1,000,000 | 50,000 and 9,000,000 | 300 | 90 | 40 | 20.0 | 25.0 | 6.5 |"]


def test_times_that_differ_too_little_give_no_cost() -> None:
    within_noise = {**COSTS, "bare-index": (80.0, -1.7)}
    streams = [
        case("g/win/L3-1", 1_000_000, 50_000, within_noise),
        case("g/win/L3-10", 1_000_000, 90_000, within_noise),
    ]
    assert report.floor({"cases": streams}).splitlines()[2].endswith("| 80 | 20.0 | 25.0 | – |")


def test_streams_of_a_graph_stand_together() -> None:
    names = ("g/ins/L3-1", "g/ins/L3-10", "h/ins/L3-1", "h/ins/L3-10", "g/win/L3-1", "g/win/L3-10")
    streams = [case(name, 100, 10 if name.endswith("-1") else 90, COSTS) for name in names]
    lines = report.floor({"cases": streams}).splitlines()[2:]
    assert [line.split(" | ")[0] for line in lines] == ["| g/ins", "| g/win", "| h/ins"]


@pytest.mark.parametrize("left_out", [*COSTS, "the other stream"])
def test_without_all_systems_and_both_streams_there_is_nothing_to_report(left_out: str) -> None:
    costs = {name: cost for name, cost in COSTS.items() if name != left_out}
    streams = [case("g/win/L3-1", 10, 10, costs)]
    if left_out != "the other stream":
        streams.append(case("g/win/L3-10", 11, 90, costs))
    assert len(report.floor({"cases": streams}).splitlines()) == 2


def test_tables_go_between_their_marks_and_nothing_else_changes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- floor -->\nold\n<!-- end -->\nb\n<!-- other -->\nkept\n<!-- end -->\n")
    report.fill(page, {"floor": "new\nrows", "unknown": "x"})
    assert page.read_text() == "a\n<!-- floor -->\nnew\nrows\n<!-- end -->\nb\n<!-- other -->\nkept\n<!-- end -->\n"
