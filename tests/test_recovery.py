"""Queries that stop and start again: every row exactly once, and no restart on state that means something else."""

from __future__ import annotations

from pathlib import Path

import pytest
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
    assert_mismatch(run.start(path.replace("a.dst = b.src", "a.src = b.src")))
    assert state_files(run.checkpoint) == before
    run_to_end(run.start())  # the first one goes on, and nothing is lost
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
            changed = text.replace('specVersion\\":1', 'specVersion\\":99')
            assert changed != text
            file.write_text(changed)
            (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    run.feed.arrive(case.batches - 1)
    before = state_files(run.checkpoint)
    assert_mismatch(run.start())
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


def assert_mismatch(query: StreamingQuery) -> None:
    with pytest.raises(Exception, match="JOINLESS_STATE_MISMATCH"):
        query.processAllAvailable()
    error = joinless.error(query)
    assert error is not None
    assert error.condition.startswith("JOINLESS_STATE_MISMATCH")


def state_files(checkpoint: Path) -> dict[str, int]:
    """Every file under state/ with the time of its last change."""
    return {str(p): p.stat().st_mtime_ns for p in (checkpoint / "state").rglob("*") if p.is_file()}
