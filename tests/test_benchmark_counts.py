"""Counts and sums per group in the benchmark: every system finds the known answer after every batch.

The answers that systems are compared with are computed along a plan by hand (queries.py); here the query itself runs
beside it.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import duckdb
import pytest

import bench
from jobs import MODULUS, Job, row_check
from streams import Graph, answer, make_job
from systems import System, differential, duck, engine

WORKLOADS = ["L3CNT", "L3SUM", "L4CNT", "STAR4CNT"]
SYSTEMS = [*engine.SYSTEMS[:1], *duck.SYSTEMS, *(s for s in differential.SYSTEMS if s.name == "differential-best")]
PARAMETERS = [
    pytest.param(s, id=s.name, marks=[pytest.mark.long] if s in differential.SYSTEMS else []) for s in SYSTEMS
]


def small_job(workload: str, folder: Path, *, window: bool) -> Job:
    graph = Graph.power_law(400)
    return make_job(graph, workload, folder, window=window, batches=6, runs=1, warm_up=2, limit=30.0, memory="1g")


@pytest.mark.parametrize("window", [False, True], ids=["ins", "win"])
@pytest.mark.parametrize("workload", WORKLOADS)
def test_oracle_the_answer_is_that_of_the_query_as_it_is_written(workload: str, window: bool, tmp_path: Path) -> None:
    job = small_job(workload, tmp_path, window=window)
    query, known = job.query, answer(job)
    assert query is not None
    rows = duckdb.connect()
    for i, folder in enumerate(job.tables):
        edges: set[tuple[str, str]] = set()
        for path in job.files(job.inputs.index(folder)):
            for line in path.read_text().splitlines():
                *operation, src, dst = line.split(",")
                (edges.discard if operation == ["delete"] else edges.add)((src, dst))
        rows.execute(f"create table t{i} (src bigint, dst bigint)")
        rows.execute(f"insert into t{i} values {', '.join(f'({a}, {b})' for a, b in edges)}")
    tables = {r.table: f"t{job.tables.index(i)}" for i, r in zip(job.inputs, query.relations, strict=True)}
    groups = rows.execute(query.sql(tables)).fetchall()
    assert groups
    assert known.plus - known.minus == len(groups)
    assert known.check == sum(row_check([int(x) for x in row]) for row in groups) % MODULUS


@pytest.mark.parametrize("window", [False, True], ids=["ins", "win"])
@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("system", PARAMETERS)
def test_oracle_systems_find_the_groups_of_every_batch(
    system: System, workload: str, window: bool, tmp_path: Path
) -> None:
    job = small_job(workload, tmp_path, window=window)
    reason = system.missing() or system.refuses(job)
    if reason:
        pytest.skip(f"{system.name}: {reason}")
    result = bench.run(system, job, tmp_path)
    known = answer(job)
    assert "failed" not in result, result["failed"]
    assert len(result["runs"]) == 1
    assert all("check" in e for e in result["events"] if e["event"] == "batch")
    assert bench.wrong(system, known, result) is None
    last = dataclasses.replace(known, check=(known.check + 1) % MODULUS)
    assert bench.wrong(system, last, result) is not None
