"""Grouped queries of the benchmark: the known answer is that of plain SQL, and every system finds
it after every batch.

Opponents that are not installed (`benchmarks/install`) are skipped, by name and with the reason.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
from itertools import accumulate
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession

import bench
import counted
import snb
from jobs import MODULUS, Job, Report, row_check
from streams import Answer, Graph, answer, make_job
from systems import System, differential, duck, engine, flink
from systems import spark as pipelines

WORKLOADS = [*counted.GRAPH_WORKLOADS, *counted.SNB_WORKLOADS]
MODES = ["ins", "win"]
BATCHES = 7

OURS = next(system for system in engine.SYSTEMS if system.name == "joinless-engine")
OPPONENTS = [system for system in differential.SYSTEMS if system.name in ("differential-best", "differential-from")]

PARAMETERS = [
    *(pytest.param(system, id=system.name) for system in (OURS, *duck.SYSTEMS)),
    *(pytest.param(system, id=system.name, marks=[pytest.mark.long]) for system in OPPONENTS),
]


def tiny(folder: Path, workload: str, mode: str, rows: int = 400) -> Job:
    settings: dict[str, Any] = {"batches": BATCHES, "runs": 1, "warm_up": 2, "limit": 60.0, "memory": "1g"}
    if workload in counted.SNB_WORKLOADS:
        return snb.make_job(snb.Network.generate(rows), workload, folder, window=mode == "win", **settings)
    return make_job(Graph.power_law(rows), workload, folder, window=mode == "win", **settings)


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], tuple[Job, Answer]]:
    """A small job per workload and mode, with its answer."""
    folder = tmp_path_factory.mktemp("streams")
    made = {(workload, mode): tiny(folder, workload, mode) for workload in WORKLOADS for mode in MODES}
    return {name: (job, answer(job)) for name, job in made.items()}


def groups_after_each_batch(events: list[dict[str, Any]]) -> tuple[tuple[int, int], ...]:
    """How many groups there are, and their check."""
    batches = [e for e in events if e.get("event", "batch") == "batch"]
    groups = accumulate(e["plus"] - e["minus"] for e in batches)
    return tuple(zip(groups, (c % MODULUS for c in accumulate(e["check"] for e in batches)), strict=True))


@pytest.fixture(scope="module")
def engine_reports(
    jobs: dict[tuple[str, str], tuple[Job, Answer]], tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The reports of the engine on each job, all of them in one process, without warm-ups."""
    folder = tmp_path_factory.mktemp("engine")
    reports = {name: folder / f"{'-'.join(name)}.jsonl" for name in jobs}
    commands = [
        OURS.command(dataclasses.replace(job, warm_up=0), folder / "unread.json", reports[name])
        for name, (job, _) in jobs.items()
    ]
    subprocess.run(engine.in_one_process(commands), check=True, timeout=300)
    return {name: read_events(report) for name, report in reports.items()}


def read_events(report: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in report.read_text().splitlines()]


def run(system: System, job: Job, folder: Path) -> list[dict[str, Any]]:
    job.write(folder / "job.json")
    report = folder / "report.jsonl"
    if system in duck.SYSTEMS:  # the test of the command runs its process
        duck.run(job, system.name, Report(report))
        return read_events(report)
    ended = subprocess.run(
        system.command(job, folder / "job.json", report), capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    return read_events(report)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_oracle_the_plan_by_hand_says_what_the_query_says(
    workload: str, mode: str, jobs: dict[tuple[str, str], tuple[Job, Answer]]
) -> None:
    """The answer is computed along the plan; here the query itself runs over the
    tables that Python keeps.
    """
    job, known = jobs[workload, mode]
    assert job.query is not None
    connection = duckdb.connect()
    rows: dict[str, list[tuple[int | None, ...]]] = {folder: [] for folder in job.tables}
    names = {folder: f"t{i}" for i, folder in enumerate(job.tables)}
    tables = {r.table: names[folder] for folder, r in zip(job.inputs, job.query.relations, strict=True)}
    found = []
    for batch in range(BATCHES):
        for folder, table in rows.items():
            columns = job.table_columns(folder)
            for line in job.files(job.inputs.index(folder))[batch].read_text().splitlines():
                fields = line.split(",")
                row = tuple(int(x) if x else None for x in fields[-len(columns) :])
                if fields[0] == "delete":
                    table.remove(row)
                else:
                    table.append(row)
            declared = ", ".join(f"{c} bigint" for c in columns)
            connection.execute(f"create or replace table {names[folder]} ({declared})")
            if table:
                connection.executemany(f"insert into {names[folder]} values ({', '.join('?' * len(columns))})", table)
        result = connection.execute(job.query.sql(tables)).fetchall()
        found.append((len(result), sum(map(row_check, result)) % MODULUS))
    assert tuple(found) == known.batches
    assert known.plus > 0
    assert found[-1][0] == known.plus - known.minus


def test_a_grouped_job_is_read_as_it_was_written(
    jobs: dict[tuple[str, str], tuple[Job, Answer]], tmp_path: Path
) -> None:
    for job, _ in jobs.values():
        job.write(tmp_path / "job.json")
        assert Job.read(tmp_path / "job.json") == job


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("system", PARAMETERS)
def test_oracle_every_engine_finds_every_batch(
    system: System,
    workload: str,
    mode: str,
    jobs: dict[tuple[str, str], tuple[Job, Answer]],
    engine_reports: dict[tuple[str, str], list[dict[str, Any]]],
    tmp_path: Path,
) -> None:
    job, known = jobs[workload, mode]
    reason = system.missing() or system.refuses(job)
    if reason:
        pytest.skip(f"{system.name}: {reason}")
    # A warm-up takes seconds and is not reported; the test of the command has it.
    quick = dataclasses.replace(job, warm_up=0)
    events = engine_reports[workload, mode] if system is OURS else run(system, quick, tmp_path)
    assert groups_after_each_batch(events) == known.batches
    whole = events[-1]
    assert (whole["event"], whole["check"]) == ("run", known.check)
    assert whole["plus"] - whole["minus"] == known.plus - known.minus
    if system.nets:
        assert (whole["plus"], whole["minus"]) == (known.plus, known.minus)


@pytest.mark.parametrize("system", [OURS, *duck.SYSTEMS], ids=lambda s: s.name)
def test_the_command_distinguishes_right_from_wrong(
    system: System, jobs: dict[tuple[str, str], tuple[Job, Answer]], tmp_path: Path
) -> None:
    job, known = jobs["L3SUM", "win"]
    result = bench.run(system, job, tmp_path)
    assert "failed" not in result, result["failed"]
    assert len(result["runs"]) == 1
    assert all("check" in e for e in result["events"] if e["event"] == "batch")
    assert bench.wrong(system, known, result) is None
    other = dataclasses.replace(known, check=(known.check + 1) % MODULUS)
    assert bench.wrong(system, other, result) is not None


@pytest.mark.long
@pytest.mark.skipif(flink.SYSTEMS[0].missing() is not None, reason=flink.SYSTEMS[0].missing() or "")
@pytest.mark.parametrize("system", flink.SYSTEMS[:2], ids=lambda s: s.name)
def test_oracle_flink_finds_every_batch(
    system: System, jobs: dict[tuple[str, str], tuple[Job, Answer]], tmp_path: Path
) -> None:
    """All jobs in one process, which the program allows: a start takes longer than the jobs."""
    command: list[str] = []
    for (workload, mode), (job, _) in jobs.items():
        file = tmp_path / f"{workload}-{mode}.json"
        job.write(file)
        whole = system.command(job, file, file.with_suffix(".jsonl"))
        command += whole[-3:] if command else whole
    command[1:1] = ["-XX:TieredStopAtLevel=1"]
    subprocess.run(command, check=True, timeout=600)
    for (workload, mode), (_, known) in jobs.items():
        lines = (tmp_path / f"{workload}-{mode}.jsonl").read_text().splitlines()
        events = [json.loads(line) for line in lines]
        assert groups_after_each_batch(events) == known.batches, (workload, mode)


#: Spark's pipelines take seconds each: every workload once, and of plain streaming
#: SQL and the floor a few.
IN_SPARK = [
    *(("joinless", MODES[i % 2], w) for i, w in enumerate(WORKLOADS)),
    ("joinless-plain", "ins", "L3SUM"),
    ("joinless-plain", "ins", "L3DISTINCT"),
    ("null-groups", "win", "STAR4CNT"),
]

#: The other modes, and the other workloads of plain streaming SQL and the floor.
ALSO_IN_SPARK = [
    case
    for case in (
        *((name, mode, w) for name in ("joinless", "null-groups") for mode in MODES for w in WORKLOADS),
        *(("joinless-plain", "ins", w) for w in WORKLOADS if w != "SNB4"),
    )
    if case not in IN_SPARK
]


@pytest.mark.parametrize(
    ("name", "mode", "workload"),
    [*IN_SPARK, *(pytest.param(*case, marks=[pytest.mark.long]) for case in ALSO_IN_SPARK)],
)
def test_oracle_pipelines_of_spark_find_every_batch(
    spark: SparkSession, name: str, mode: str, workload: str, jobs: dict[tuple[str, str], tuple[Job, Answer]]
) -> None:
    job, known = jobs[workload, mode]
    system = next(system for system in pipelines.SYSTEMS if system.name == name)
    assert system.refuses(job) is None
    session = spark.newSession()
    session.conf.set("spark.joinless.enabled", str(name.startswith("joinless")).lower())
    figures, batches = pipelines.run(session, name, job, f"{name}-{mode}-{workload}", 60.0)
    assert figures["finished"]
    assert len(batches) == BATCHES
    if system.answers:
        assert groups_after_each_batch(batches) == known.batches
        assert (figures["plus"], figures["minus"]) == (known.plus, known.minus)


def test_who_cannot_says_why(tmp_path: Path) -> None:
    by_name = {system.name: system for system in pipelines.SYSTEMS}
    job, window, distinct = (
        tiny(tmp_path, "L3CNT", "ins"),
        tiny(tmp_path, "L3CNT", "win"),
        tiny(tmp_path, "SNB4", "ins"),
    )
    for name, of in (("joinless-plain", window), ("joinless-plain", distinct), ("spark-rocksdb", job), ("null", job)):
        assert by_name[name].refuses(of), (name, of.workload)


def test_a_wrong_batch_is_found_where_the_end_is_right() -> None:
    known = Answer(3, 1, 7, ((1, 5), (2, 7)))
    right = [
        {"event": "batch", "run": 0, "batch": 0, "plus": 1, "minus": 0, "check": 5},
        {"event": "batch", "run": 0, "batch": 1, "plus": 2, "minus": 1, "check": 2},
    ]
    assert bench.wrong_batch(known, {"events": right}) is None
    wrong = [{**right[0], "check": 4}, {**right[1], "check": 3}]
    assert "after batch 0" in (bench.wrong_batch(known, {"events": wrong}) or "")
