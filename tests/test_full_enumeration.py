"""The complete result, read from a checkpoint with `format("joinless")`, equals batch
SQL over the input so far.

Queries that stopped and queries that run, of all stores and cells; older batches;
operators above the read.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import joinless
from support import oracles
from support.cases import Case, Column, Table
from support.changes import ChangeRun, random_changes
from support.generate import random_case
from support.process import run_python
from support.run import Run, check_difference
from test_recovery import STORES, lively

#: Seeds of the random queries; some have expressions that no other session could read back.
SEEDS = range(3000, 3003)


#: RocksDB uploads a snapshot with every batch; loading one needs more of
#: Spark than loading changes.
COLD_STORE = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "false",
}


def read(session: SparkSession, checkpoint: Path, **options: object) -> DataFrame:
    """The result in a checkpoint."""
    return session.read.format("joinless").options(checkpointLocation=checkpoint, **options).load()  # type: ignore[arg-type]


def compare(case: Case, batch: int, actual: DataFrame, expected: oracles.Bag) -> None:
    check_difference(case, batch, "the full enumeration", oracles.bag(actual.collect()), expected)


COLD = """
import sys
import joinless
from conftest import quiet_builder

spark = joinless.configure(quiet_builder()).getOrCreate()
result = spark.read.format("joinless").option("checkpointLocation", sys.argv[1]).load()
print("rows:", len(result.limit(3).collect()), result.count())
"""


def test_a_process_that_never_streamed_reads_a_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    case = lively(3200)
    run = Run(spark, case, tmp_path / "run", confs=COLD_STORE)
    query = run.start()
    for batch in range(case.batches):
        run.feed.arrive(batch)
        query.processAllAvailable()
    query.stop()
    expected = run.feed.oracle.result().total()
    assert expected > 3
    cold = run_python(COLD, str(run.checkpoint))
    assert cold.stdout.strip() == f"rows: 3 {expected}", cold.stderr[-3000:]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_queries_are_read_as_batch_sql_has_them(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    case = random_case(seed)
    run = Run(spark, case, tmp_path)
    query = run.start()
    try:
        for batch in range(case.batches):
            run.feed.arrive(batch)
            query.processAllAvailable()
            if query.recentProgress and any(p.batchId >= 0 and p.stateOperators for p in query.recentProgress):
                compare(case, batch, read(run.batch_session, run.checkpoint), run.spark_batch())
    finally:
        query.stop()
    compare(case, case.batches, read(spark.newSession(), run.checkpoint), run.feed.oracle.result())


@pytest.mark.parametrize("seed", [1, 6])
def test_random_change_streams_are_read_as_batch_sql_has_them(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    case = random_case(seed, relations=(1, 4))
    run = ChangeRun(spark, case, random_changes(case, seed), tmp_path / "run", "change_type")
    query = run.start()
    try:
        for batch in range(case.batches):
            run.arrive(batch)
            query.processAllAvailable()
            if query.lastProgress:
                compare(case, batch, read(run.batch_session, run.checkpoint), run.oracle.result())
    finally:
        query.stop()


@pytest.mark.parametrize("store", STORES)
def test_every_batch_that_is_kept_can_be_read(spark: SparkSession, tmp_path: Path, store: str) -> None:
    case = lively(3100)
    run = Run(spark, case, tmp_path, confs=STORES[store])
    query = run.start()
    expected = []
    for batch in range(case.batches):
        run.feed.arrive(batch)
        query.processAllAvailable()
        progress = query.lastProgress
        assert progress
        expected.append((progress.batchId, run.feed.oracle.result()))
    query.stop()
    for batch, result in expected:
        compare(case, batch, read(spark.newSession(), run.checkpoint, batchId=batch), result)


def test_reading_sees_one_batch_while_the_query_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    """Each read is the result after some number of files; an earlier read does not change."""
    edges = [tuple((str(i % 7), str(j)) for j in range(i, i + 6)) for i in range(24)]
    table = Table("e", (Column("src", "bigint"), Column("dst", "bigint")), tuple((rows,) for rows in edges))
    sql = "SELECT a.src, b.dst AS mid, c.dst AS last FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"
    case = Case("while-running", (table,), sql, 4, 1)
    run = Run(spark, case, tmp_path)
    results = []
    for batch in range(case.batches):
        run.feed.arrive(batch)
        results.append(run.feed.oracle.result())
    query = run.start()
    other = spark.newSession()
    try:
        while not (run.checkpoint / "commits" / "0").exists():
            assert query.isActive
            time.sleep(0.05)
        first = read(other, run.checkpoint)
        opened = oracles.bag(first.collect())
        seen = 0
        while query.status["isDataAvailable"] or query.status["isTriggerActive"]:
            now = oracles.bag(read(other, run.checkpoint).collect())
            assert now in results
            seen += 1
        query.processAllAvailable()
        assert seen > 1
        assert opened in results
        assert oracles.bag(first.collect()) == opened
        compare(case, 24, read(other, run.checkpoint), results[-1])
        rebuilds = [int(op.customMetrics["rebuilds"]) for p in query.recentProgress for op in p.stateOperators]
        assert sum(rebuilds) == 0, "reading made the query rebuild its trees"
    finally:
        query.stop()


def test_what_stands_on_top_is_exact(spark: SparkSession, tmp_path: Path) -> None:
    case = lively(3200)
    run = Run(spark, case, tmp_path)
    query = run.start()
    for batch in range(case.batches):
        run.feed.arrive(batch)
    query.processAllAvailable()
    query.stop()
    session = run.batch_session
    run.spark_batch()
    read(session, run.checkpoint).createOrReplaceTempView("stored")
    columns = read(session, run.checkpoint).columns
    names = ", ".join(f"x{i}" for i in range(len(columns)))
    first, last = "x0", f"x{len(columns) - 1}"
    for top in (
        f"SELECT {first} FROM now",
        f"SELECT count(*), count({first}), count(DISTINCT {last}) FROM now",
        f"SELECT * FROM now WHERE {first} IS NOT NULL AND hash({first}) < hash({last})",
        f"SELECT {last} FROM now WHERE {first} IS NULL OR {last} IS NULL",
        f"SELECT {first} FROM now WHERE {first} IN (SELECT max({first}) FROM now)",
    ):
        of_store = session.sql(f"WITH now({names}) AS (SELECT * FROM stored) {top}")
        of_tables = session.sql(f"WITH now({names}) AS ({case.sql}) {top}")
        compare(case, 0, of_store, oracles.bag(of_tables.collect()))


def test_errors_reach_python_with_their_condition(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PySparkException) as missing:
        read(spark, tmp_path / "nothing")
    assert missing.value.getCondition() == "JOINLESS_CHECKPOINT_NOT_FOUND.FOLDER"
    with pytest.raises(PySparkException) as option:
        read(spark, tmp_path, batchId="last")
    assert option.value.getCondition() == "JOINLESS_INVALID_OPTION"


#: The query that ran, and the part that another query has in place of one of its parts.
OTHERS = [
    ("SELECT k, (SELECT COUNT(*) FROM u WHERE u.k = t.k AND u.v > 8) AS n FROM t", "u.v > 8", "u.v > 3"),
    ("SELECT k FROM t WHERE v < (SELECT COUNT(*) FROM u WHERE v > 8) + 1", "v > 8", "v > 3"),
    (
        "SELECT t.k, z.c FROM t JOIN (SELECT k, COUNT(*) AS c FROM u GROUP BY k) z ON t.k = z.k",
        "FROM u",
        "FROM u WHERE v > 8",
    ),
    ("SELECT t.k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.v > t.v + 5)", "> t.v + 5", "< t.v + 4"),
    (
        "SELECT t.k, z.v FROM t JOIN (SELECT k, v FROM u ORDER BY v, k LIMIT 2) z ON t.k = z.k",
        "v, k LIMIT 2",
        "v DESC, k LIMIT 1",
    ),
    ("SELECT k, COUNT(*) AS c FROM t GROUP BY k", "FROM t", "FROM u t"),
    ("SELECT k, v FROM t", "FROM t", "FROM u"),
    (
        "SELECT k, v FROM t EXCEPT SELECT k, v FROM u",
        "FROM t EXCEPT SELECT k, v FROM u",
        "FROM u EXCEPT SELECT k, v FROM t",
    ),
    ("SELECT x.k, y.v FROM t x JOIN t y ON x.k = y.k", "t y", "u y"),
    ("SELECT x.k, y.v FROM t x JOIN t y ON x.k = y.k WHERE x.v > 0", " WHERE x.v > 0", ""),
    ("SELECT k, SUM(v) AS s FROM t GROUP BY k HAVING SUM(v) > 1", "FROM t", "FROM t WHERE v > 1"),
    (
        "SELECT x.k, COUNT(*) AS n FROM t x JOIN t y ON x.k = y.k AND x.v <= y.v GROUP BY x.k",
        "x.v <= y.v",
        "y.v <= x.v",
    ),
    ("SELECT l, COUNT(*) AS n FROM (SELECT LAG(v) OVER (ORDER BY k) AS l FROM t) GROUP BY l", "LAG(v)", "LAG(k)"),
    (
        "SELECT p.k, b.v FROM (SELECT k, v FROM a WHERE v > 0 UNION ALL SELECT k, v FROM b) p JOIN b ON p.k = b.k",
        "v > 0",
        "v > 1",
    ),
    (
        "SELECT p.k, p.w FROM (SELECT k, v * 2 AS w FROM a UNION ALL SELECT k, v FROM b) p JOIN b ON p.k = b.k",
        "v * 2",
        "v * 3",
    ),
    ("SELECT k, COUNT(*) AS n FROM a WHERE v < (SELECT MAX(id) FROM small) GROUP BY k", "FROM small", "FROM large"),
]


def test_the_complete_result_of_another_query_is_never_that_of_the_one_that_ran(
    spark: SparkSession, tmp_path: Path
) -> None:
    session = spark.newSession()
    for table, rows in {"t": "insert,1,1\ninsert,2,2\n", "u": "insert,1,5\ninsert,1,9\ninsert,2,5\n"}.items():
        (tmp_path / table).mkdir()
        (tmp_path / table / "0.csv").write_text(rows)
        stream = session.readStream.schema("_change_type STRING, k INT, v INT").csv(str(tmp_path / table))
        joinless.changelog(stream).createOrReplaceTempView(table)
        plain = session.readStream.schema("kind STRING, k INT, v INT").csv(str(tmp_path / table))
        plain.createOrReplaceTempView({"t": "a", "u": "b"}[table])
    session.range(5).createOrReplaceTempView("small")
    session.range(50).createOrReplaceTempView("large")
    for i, (ran, before, after) in enumerate(OTHERS):
        query, checkpoint = session.sql(ran), tmp_path / str(i)
        writer = joinless.enumerate_deltas(query, "weight").writeStream.format("noop").trigger(availableNow=True)
        writer.option("checkpointLocation", str(checkpoint)).start().awaitTermination()
        assert not joinless.enumerate_full(query, checkpoint=checkpoint).isEmpty()
        requested = ran.replace(before, after)
        assert requested != ran
        with pytest.raises(PySparkException) as refused:
            joinless.enumerate_full(session.sql(requested), checkpoint=checkpoint).collect()
        assert refused.value.getCondition() in (
            "JOINLESS_STATE_MISMATCH.QUERY",
            "JOINLESS_STATE_MISMATCH.FILTER",
            "JOINLESS_STATE_MISMATCH.COLUMNS",
            "JOINLESS_ROWS_NOT_STORED",
        ), requested
