"""Queries that stop and start again: every row exactly once, and no restart on
state of another meaning.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import joinless
from support.cases import Case, Column, Table
from support.generate import random_case
from support.run import OPERATOR, Run, operators_of

STATE = "org.apache.spark.sql.execution.streaming.state"
ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": f"{STATE}.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
STORES = {
    "hdfs": {},
    "rocksdb": ROCKSDB,
    "rocksdb-v2": {**ROCKSDB, "spark.sql.streaming.stateStore.checkpointFormatVersion": "2"},
    "no-cache": {"spark.joinless.cache.enabled": "false"},
}


def lively(seed: int) -> Case:
    """The next seed's case in which all sources are busy in most batches."""
    case = random_case(seed)
    busy = not any(len(case.idle(b)) == len(case.tables) for b in range(case.batches))
    return case if busy else lively(seed + 1)


def run_to_end(query: StreamingQuery) -> None:
    query.processAllAvailable()
    query.stop()


@pytest.mark.parametrize("store", STORES)
def test_a_restart_after_every_batch_loses_and_repeats_nothing(spark: SparkSession, tmp_path: Path, store: str) -> None:
    case = lively(2000 + 10 * list(STORES).index(store))
    run = Run(spark, case, tmp_path, durable=True, confs=STORES[store])
    for batch in range(case.batches):
        run.feed.arrive(batch)
        query = run.start()
        run_to_end(query)
        run.check(batch)
        assert operators_of(query) <= {OPERATOR}


@pytest.mark.parametrize("store", ["hdfs", "rocksdb-v2"])
def test_a_batch_without_its_commit_runs_again_with_the_same_result(
    spark: SparkSession, tmp_path: Path, store: str
) -> None:
    case = lively(2100)
    run = Run(spark, case, tmp_path, durable=True, confs=STORES[store])
    for batch in range(case.batches):
        run.feed.arrive(batch)
        run_to_end(run.start())
        last = max((int(p.name) for p in (run.checkpoint / "commits").iterdir() if p.name.isdigit()), default=-1)
        for log in (run.checkpoint / "commits", run.sink / "_spark_metadata"):
            for file in (log / str(last), log / f".{last}.crc"):
                file.unlink(missing_ok=True)
        run_to_end(run.start())
        run.check(batch)


def test_another_query_is_refused_before_state_is_touched(spark: SparkSession, tmp_path: Path) -> None:
    edges = tuple(((("1", "2"), ("2", str(3 + i)), (str(3 + i), "9")),) for i in range(4))
    table = Table("e", (Column("src", "bigint"), Column("dst", "bigint")), edges)
    path = "SELECT a.src, b.dst, c.dst AS last FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"
    case = Case("another-query", (table,), path, 4, None)
    run = Run(spark, case, tmp_path, durable=True)
    run.feed.arrive(0)
    run.feed.arrive(1)
    run_to_end(run.start())
    before = state_files(run.checkpoint)
    run.feed.arrive(2)
    run.feed.arrive(3)
    assert_mismatch(lambda: run.start(path.replace("a.dst = b.src", "a.src = b.src")))
    assert state_files(run.checkpoint) == before
    run_to_end(run.start())  # the first one continues, and nothing is lost
    run.check(3)


def test_a_tampered_spec_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    case = lively(2300)
    run = Run(spark, case, tmp_path, durable=True)
    for batch in range(case.batches - 1):
        run.feed.arrive(batch)
    run_to_end(run.start())
    for file in (run.checkpoint / "state" / "0" / "_metadata" / "v2").iterdir():
        if file.name.isdigit():
            text = file.read_text()
            assert "specVersion" in text
            changed = text.replace('specVersion\\":2', 'specVersion\\":99')
            assert changed != text
            file.write_text(changed)
            (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    run.feed.arrive(case.batches - 1)
    before = state_files(run.checkpoint)
    assert_mismatch(run.start)
    assert state_files(run.checkpoint) == before


def test_a_checkpoint_of_sparks_own_joins_goes_on_with_them(spark: SparkSession, tmp_path: Path) -> None:
    case = random_case(2400, relations=(3, 3), connected=True, nulls=False)
    run = Run(spark, case, tmp_path, native=True, durable=True)
    for batch in range(case.batches):
        run.feed.arrive(batch)
        query = run.start()
        run_to_end(query)
        run.session.conf.set("spark.joinless.enabled", "true")
        assert operators_of(query) <= {"symmetricHashJoin"}
        run.check(batch)


def edges_case(table: str, partitions: int, batches: int = 2, limit: str = "") -> Case:
    """A three-hop self-join over random edges."""
    rng = Random(5)
    arrivals = tuple(
        (tuple((str(rng.randrange(40)), str(rng.randrange(40))) for _ in range(200)),) for _ in range(batches)
    )
    edges = Table(table, (Column("src", "bigint"), Column("dst", "bigint")), arrivals)
    sql = f"""SELECT a.src, b.src AS via, b.dst, c.dst AS last
              FROM {table} a JOIN {table} b ON a.dst = b.src JOIN {table} c ON b.dst = c.src WHERE c.dst < 5{limit}"""
    return Case(f"edges-{table}", (edges,), sql, partitions, None)


def test_two_queries_of_a_session_keep_apart(spark: SparkSession, tmp_path: Path) -> None:
    cases = [edges_case("e", 3), edges_case("f", 3, limit=" AND a.src <> c.dst")]
    runs = [Run(spark, case, tmp_path / case.name, durable=True) for case in cases]
    runs[1].session = runs[0].session
    stream = runs[0].session.readStream.schema(cases[1].tables[0].schema)
    stream.parquet(str(runs[1].feed.path(cases[1].tables[0]))).createOrReplaceTempView("f")
    queries = [run.start() for run in runs]
    try:
        for batch in range(2):
            for run in runs:
                run.feed.arrive(batch)
            for run, query in zip(runs, queries, strict=True):
                query.processAllAvailable()
                run.check(batch)
                assert operators_of(query) == {OPERATOR}
    finally:
        for query in queries:
            query.stop()


@pytest.mark.parametrize("stop_active", [True, False])
def test_two_sessions_on_one_checkpoint_follow_sparks_rule(
    spark: SparkSession, tmp_path: Path, stop_active: bool
) -> None:
    case = lively(2700)
    run = Run(spark, case, tmp_path, durable=True)
    other = spark.newSession()
    other.conf.set("spark.sql.streaming.stopActiveRunOnRestart", str(stop_active).lower())
    run.feed.arrive(0)
    first = run.start()
    first.processAllAvailable()
    run.feed.arrive(1)
    for table in case.tables:
        reader = other.readStream.schema(table.schema)
        if case.max_files_per_trigger:
            reader = reader.option("maxFilesPerTrigger", case.max_files_per_trigger)
        reader.parquet(str(run.feed.path(table))).createOrReplaceTempView(table.name)
    other.conf.set("spark.sql.shuffle.partitions", str(case.partitions))
    writer = other.sql(case.sql).writeStream.option("checkpointLocation", str(run.checkpoint))
    writer = writer.format("parquet").option("path", str(run.sink))
    if stop_active:
        second = writer.start()
        second.processAllAvailable()
        assert not first.isActive
        second.stop()
    else:
        with pytest.raises(Exception, match=r"CONCURRENT_QUERY|already active"):
            writer.start()
        first.processAllAvailable()
        first.stop()
    run.check(1)


def test_sparks_default_of_200_partitions_is_no_burden(spark: SparkSession, tmp_path: Path) -> None:
    run = Run(spark, edges_case("e", 200), tmp_path, durable=True)
    for batch in range(2):
        run.feed.arrive(batch)
        query = run.start()
        query.processAllAvailable()
        report = joinless.progress(query)
        (operator,) = next(p for p in reversed(query.recentProgress) if p.stateOperators).stateOperators
        query.stop()
        run.check(batch)
        assert report is not None
        (block,) = json.loads(joinless.explain(run.session.sql(run.case.sql)).json())["blocks"]
        assert operator.numStateStoreInstances == operator.numShufflePartitions == block["cells"] < 100
        assert report.stored_rows <= block["rowsStoredPerInputRow"] * 200 * (batch + 1)


def assert_mismatch(start: Callable[[], object]) -> None:
    """Refused when it starts, before there is a query."""
    with pytest.raises(PySparkException, match="JOINLESS_STATE_MISMATCH") as refused:
        start()
    assert str(refused.value.getCondition()).startswith("JOINLESS_STATE_MISMATCH")


def state_files(checkpoint: Path) -> dict[str, int]:
    """Every file under state/ with the time of its last change."""
    return {str(p): p.stat().st_mtime_ns for p in (checkpoint / "state").rglob("*") if p.is_file()}
