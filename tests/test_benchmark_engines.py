"""The benchmark's known answers, and the opponents that are engines of their
own: every one finds them.

Opponents that are not installed (`benchmarks/install`) are skipped, by name and with the reason.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs import MODULUS, Job, row_check
from streams import Answer, Graph, answer, make_job
from systems import System, differential, duck, pathway_joins

SYSTEMS: list[System] = [*duck.SYSTEMS, *differential.SYSTEMS, *pathway_joins.SYSTEMS]

#: DuckDB is always there; the others are opponents, which have to be installed.
PARAMETERS = [
    pytest.param(system, id=system.name, marks=[] if system in duck.SYSTEMS else [pytest.mark.long])
    for system in SYSTEMS
]

Edge = tuple[int, int]


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], tuple[Job, Answer]]:
    """Small jobs by workload and mode, with their answers."""
    folder = tmp_path_factory.mktemp("streams")
    graph = Graph.power_law(600)
    made = {}
    for workload in ("L3-10", "L4-1", "STAR4-30"):
        for mode in ("ins", "win"):
            job = make_job(graph, workload, folder, window=mode == "win", batches=5, runs=1, warm_up=2, limit=30.0)
            made[workload, mode] = (job, answer(job))
    return made


@pytest.mark.parametrize("mode", ["ins", "win"])
@pytest.mark.parametrize("workload", ["L3-10", "L4-1", "STAR4-30"])
@pytest.mark.parametrize("system", PARAMETERS)
def test_oracle_engine_finds_the_known_answer(
    system: System, workload: str, mode: str, jobs: dict[tuple[str, str], tuple[Job, Answer]], tmp_path: Path
) -> None:
    job, known = jobs[workload, mode]
    reason = system.missing() or system.refuses(job)
    if reason:
        pytest.skip(f"{system.name}: {reason}")
    assert known.plus > 0
    assert (known.minus > 0) == job.window
    events = _run(system, job, tmp_path)
    assert [event["event"] for event in events[:2]] == ["start", "batch"]
    assert events[0]["system"] == system.name
    batches, run = events[1:-1], events[-1]
    assert run["event"] == "run"
    for counts in (run, {name: sum(batch[name] for batch in batches) for name in ("plus", "minus")}):
        assert counts["plus"] - counts["minus"] == known.plus - known.minus
        if system.nets:
            assert (counts["plus"], counts["minus"]) == (known.plus, known.minus)
    assert run["check"] == known.check


@pytest.mark.parametrize("system", PARAMETERS)
def test_oracle_engine_stops_at_its_limit(
    system: System, jobs: dict[tuple[str, str], tuple[Job, Answer]], tmp_path: Path
) -> None:
    job, _ = jobs["L3-10", "ins"]
    reason = system.missing() or system.refuses(job)
    if reason:
        pytest.skip(f"{system.name}: {reason}")
    events = _run(system, Job(**{**job.__dict__, "warm_up": 0, "limit": 0.0001}), tmp_path)
    assert "run" not in {event["event"] for event in events}


def _run(system: System, job: Job, folder: Path) -> list[dict[str, Any]]:
    """The events that the job's process reported."""
    job.write(folder / "job.json")
    report = folder / "report.jsonl"
    command = system.command(job, folder / "job.json", report)
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in report.read_text().splitlines()]


@pytest.mark.parametrize("window", [False, True], ids=["ins", "win"])
@pytest.mark.parametrize("workload", ["L3-20", "L4-20", "STAR4-60"])
def test_oracle_answer_is_that_of_nested_loops(workload: str, window: bool, tmp_path: Path) -> None:
    job = make_job(Graph.power_law(160, seed=5), workload, tmp_path, window=window, batches=7)
    known = answer(job)
    before: Counter[tuple[int, ...]] = Counter()
    plus = minus = 0
    for relations in _relations_after_each_batch(job):
        after = Counter(row[: job.columns] for row in _nested_loops(job, relations, ()))
        plus, minus = plus + (after - before).total(), minus + (before - after).total()
        before = after
    check = sum(row_check(row) * count for row, count in before.items()) % MODULUS
    assert known == Answer(plus, minus, check)
    assert plus > 0
    assert (minus > 0) == window


def _relations_after_each_batch(job: Job) -> Iterator[list[list[Edge]]]:
    relations: list[list[Edge]] = [[] for _ in job.inputs]
    for batch in range(job.batches):
        for i, edges in enumerate(relations):
            for line in job.files(i)[batch].read_text().splitlines():
                *operation, src, dst = line.split(",")
                if operation == ["delete"]:
                    edges.remove((int(src), int(dst)))
                else:
                    edges.append((int(src), int(dst)))
        yield relations


def _nested_loops(job: Job, relations: list[list[Edge]], row: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The vertices of every result row that begins with `row`, as defined at the top of jobs.py."""
    i = max(len(row) - 1, 0)
    if i == job.relations:
        yield row
        return
    shared = row[:1] if job.shape == "star" else row[-1:]
    for src, dst in relations[i]:
        if shared in ((), (src,)) and (i + 1 < job.relations or dst > job.threshold):
            yield from _nested_loops(job, relations, (*(row or (src,)), dst))
