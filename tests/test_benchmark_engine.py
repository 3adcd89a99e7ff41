"""The engine and its floor as systems of the benchmark: exact answers on a tiny graph."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from jobs import Job
from streams import Graph, answer, make_job
from systems import System
from systems.engine import ROOT, SYSTEMS, in_one_process

GRAPH = Graph.power_law(600)
BATCHES = 5
WORKLOADS = ["L3-10", "L4-1", "STAR4-10"]

#: The report of one job.
Events = list[dict[str, Any]]


def events(system: System, job: Job, folder: Path, warm_up: int = 0) -> Events:
    """The report of the job's process. A warm-up takes seconds and is not reported."""
    job = dataclasses.replace(job, warm_up=warm_up)
    job.write(folder / "job.json")
    report = folder / "report.jsonl"
    subprocess.run(in_one_process([system.command(job, folder / "job.json", report)]), check=True, timeout=60)
    return read_events(report)


def read_events(report: Path) -> Events:
    """The events of a report."""
    return [json.loads(line) for line in report.read_text().splitlines()]


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, bool], Job]:
    """A small job per workload, with and without deletes."""
    folder = tmp_path_factory.mktemp("streams")
    return {
        (workload, window): make_job(GRAPH, workload, folder, window=window, batches=BATCHES, runs=1, memory="1g")
        for workload in WORKLOADS
        for window in (False, True)
    }


@pytest.fixture(scope="module")
def reports(
    jobs: dict[tuple[str, bool], Job], tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str, bool], Events]:
    """The reports of every system on each job that it accepts, all of them in one process."""
    folder = tmp_path_factory.mktemp("reports")
    files = {
        (system.name, workload, window): folder / f"{system.name}-{workload}-{window}.jsonl"
        for system in SYSTEMS
        for (workload, window), job in jobs.items()
        if not system.refuses(job)
    }
    by_name = {system.name: system for system in SYSTEMS}
    commands = [
        by_name[system].command(dataclasses.replace(jobs[workload, window], warm_up=0), folder / "unread.json", report)
        for (system, workload, window), report in files.items()
    ]
    subprocess.run(in_one_process(commands), check=True, timeout=120)
    return {name: read_events(report) for name, report in files.items()}


@pytest.mark.parametrize("window", [False, True], ids=["ins", "win"])
@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("system", SYSTEMS, ids=lambda s: s.name)
def test_oracle_the_engine_alone_finds_the_answer(
    system: System,
    workload: str,
    window: bool,
    jobs: dict[tuple[str, bool], Job],
    reports: dict[tuple[str, str, bool], Events],
) -> None:
    assert system.missing() is None
    job = jobs[workload, window]
    if system.refuses(job):
        assert (system.name, workload) == ("bare-index", "L4-1")
        return
    start, *batches, run = reports[system.name, workload, window]
    expected = answer(job)
    assert start["event"] == "start"
    assert start["system"] == system.name
    assert [(b["event"], b["run"], b["batch"]) for b in batches] == [("batch", 0, i) for i in range(BATCHES)]
    assert expected.plus > 0
    assert (run["plus"], run["minus"], run["check"]) == (expected.plus, expected.minus, expected.check)
    assert (sum(b["plus"] for b in batches), sum(b["minus"] for b in batches)) == (expected.plus, expected.minus)
    assert run["state_bytes"] > 0
    assert run["state_rows"] > 0


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda s: s.name)
def test_oracle_results_inserted_and_deleted_in_one_batch_are_not_counted(system: System, tmp_path: Path) -> None:
    """Whole keys are replaced in several relations at once: the engine
    finds some transient results.
    """
    job = make_job(Graph.power_law(300), "L3-50", tmp_path, window=True, batches=10, runs=1, memory="1g")
    run = events(system, job, tmp_path, warm_up=1)[-1]
    expected = answer(job)
    assert (run["plus"], run["minus"], run["check"]) == (expected.plus, expected.minus, expected.check)


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda s: s.name)
def test_oracle_streams_that_end_empty(system: System, tmp_path: Path) -> None:
    """Every edge is deleted again, alone in its batch, and with it the last results."""
    edges = [(1, 2), (2, 3), (3, 9)]
    for i, (src, dst) in enumerate(edges):
        (tmp_path / f"{i:03d}.csv").write_text(f"insert,{src},{dst}\n")
        (tmp_path / f"{i + len(edges):03d}.csv").write_text(f"delete,{src},{dst}\n")
    job = Job("L3", "path", (str(tmp_path),) * 3, 4, 5, window=True, batches=6, runs=1, memory="1g")
    run = events(system, job, tmp_path)[-1]
    assert (run["plus"], run["minus"], run["check"], run["state_rows"]) == (1, 1, 0, 0)


def test_batching_single_edges_give_the_same_result(tmp_path: Path) -> None:
    graph = Graph.power_law(200)
    engine = SYSTEMS[0]
    runs = []
    for batches in (BATCHES, 200):
        folder = tmp_path / str(batches)
        folder.mkdir()
        job = make_job(graph, "L3-10", folder, window=False, batches=batches, runs=1, memory="1g")
        report = events(engine, job, folder)
        assert len(report) == batches + 2
        runs.append((report[-1]["plus"], report[-1]["check"]))
    assert runs[0] == runs[1]


def test_the_placement_stays_near_the_best_shares(tmp_path: Path) -> None:
    """The simulation of scale-out, tiny: the targets of docs/benchmarks.md
    for every number of cells.
    """
    classpath = (ROOT / "spark-plugin/bench/target/classpath-spark.txt").read_text()
    java = subprocess.run([ROOT / "scripts/java"], capture_output=True, text=True, check=True).stdout.strip()
    result = tmp_path / "placement.json"
    program = ["io.joinless.bench.PlacementSim", "edges=5000", "exponents=0.75", "cells=4,16", f"json={result}"]
    subprocess.run([java, "-XX:+UseSerialGC", "-cp", classpath, *program], check=True, capture_output=True, timeout=60)
    rows = json.loads(result.read_text())
    assert {(row["query"], row["cells"]) for row in rows} == {(q, c) for q in ("L3", "L4", "STAR4") for c in (4, 16)}
    for row in rows:
        assert 1 <= row["ratio"] <= 1.25, row
        assert row["replication"] <= row["stored"] + 1e-9, row
        assert row["stored"] <= row["bound"] + 1e-9, row
