"""Random queries of the benchmark: they are played to their end, and two reports are compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shapes


def test_shapes_are_played_and_compared(tmp_path: Path) -> None:
    shapes.play(tmp_path / "a.json", 0, 2, 1, 30000)
    report = [json.loads(line) for line in (tmp_path / "a.json").read_text().splitlines()]
    assert [shape["seed"] for shape in report] == [0, 1]
    assert [shape["deletes"] for shape in report] == [False, True]
    assert all(shape["results"] >= 1000 for shape in report)
    text = shapes.compare(report, report)
    assert "all: 1.00 times as fast, from 1.00 to 1.00" in text
    assert text.endswith("bytes: 1.00 times as many")


def test_reports_that_differ_are_not_compared() -> None:
    shape = {
        "seed": 1,
        "rows": 9,
        "relations": 2,
        "deletes": True,
        "results": 5,
        "check": 7,
        "state_bytes": 8,
        "seconds": [0.5],
    }
    with pytest.raises(SystemExit, match="differ"):
        shapes.compare([shape], [shape | {"check": 8}])
    assert "changes: 2.00 times as fast" in shapes.compare([shape], [shape | {"seconds": [0.25]}])
