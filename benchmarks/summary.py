"""The summary of a benchmark run: small enough to read, with everything that the
table and the pictures show.
"""

from __future__ import annotations

import statistics
from typing import Any

from counted import is_counted


def is_stream(case: dict[str, Any]) -> bool:
    """Whether a case is about a whole stream; others are about single batches and
    have a table of their own.
    """
    return case["case"]["tail"] is None and case["case"]["batches"] <= 100


def is_grouped(case: dict[str, Any]) -> bool:
    """Whether a case is a grouped query; they have tables of their own."""
    return is_counted(case["case"]["workload"])


def summarised(everything: dict[str, Any]) -> dict[str, Any]:
    """Raw runs without their events: the figures of each result for the tables and
    pictures, and its settings.
    """
    cases = [
        {**case, "results": {name: of(result, is_stream(case)) for name, result in case["results"].items()}}
        for case in everything["cases"]
    ]
    return {**everything, "cases": cases}


def of(result: dict[str, Any], curve: bool = False) -> dict[str, Any]:
    """The figures of one result.

    batches: how many the first run finished.

    spent: seconds they took.

    settled: median seconds of a batch, over all runs but without the first batch of each, which
    plans, compiles and opens stores.

    curve: per batch of the last run, its number, seconds and rows of state.
    """
    events = [e for e in result["events"] if e["event"] == "batch"]
    first = [e["seconds"] for e in events if e["run"] == 0]
    latest = max((e["run"] for e in events), default=0)
    last = [e for e in events if e["run"] == latest]
    later = [e["seconds"] for e in events if e["batch"] > 0]
    rest = {key: value for key, value in result.items() if key != "events"}
    return {
        **rest,
        "settings": next((e.get("settings") for e in result["events"] if e["event"] == "start"), None),
        "batches": len(first),
        "spent": sum(first),
        "settled": statistics.median(later) if later else None,
        "curve": [[e["batch"], round(e["seconds"], 4), e.get("state_rows")] for e in last] if curve else [],
    }
