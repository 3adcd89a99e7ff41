"""A restarted query over changelogs treats a delete as it treated the
insert: filters may not change.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import joinless
from support.folders import Folders
from support.process import run_python

CHANGE = "k long, v long, _change_type string"


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Folders:
    tables = Folders(spark, tmp_path)
    for name in "pr":
        joinless.changelog(tables.stream(name, CHANGE)).createOrReplaceTempView(name)
    return tables


def joined(tables: Folders, condition: str, value: str = "p.v") -> DataFrame:
    sql = f"SELECT p.k, {value} AS pv, r.v AS rv FROM p JOIN r ON p.k = r.k WHERE {condition}"
    return joinless.enumerate_deltas(tables.session.sql(sql), output="weight")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("p.v > 0", "p.v"), ("p.v > 5", "p.v")),
        (("p.v < r.v", "p.v"), ("p.v > r.v", "p.v")),
        (("p.v > 0", "p.v + 1"), ("p.v > 0", "p.v + 2")),
    ],
    ids=["a filter", "a condition on two relations", "a computed column"],
)
def test_a_changed_filter_is_refused_before_anything_is_touched(
    tables: Folders, before: tuple[str, str], after: tuple[str, str]
) -> None:
    tables.put("p", [(1, 3, "insert"), (1, 8, "insert")], CHANGE)
    tables.put("r", [(1, 50, "insert")], CHANGE)
    emitted = tables.run(joined(tables, *before), "cp")
    assert len(emitted) == 2
    tables.put("p", [(1, 3, "delete")], CHANGE)
    state = tables.contents("cp")
    with pytest.raises(Exception, match=r"JOINLESS_STATE_MISMATCH\.FILTER"):
        tables.run(joined(tables, *after), "cp")
    assert tables.contents("cp/state") == {k: v for k, v in state.items() if "/state/" in k}
    assert [row[-1] for row in tables.run(joined(tables, *before), "cp")] == [-1]


def test_a_changed_filter_below_the_mark_is_refused(tables: Folders) -> None:
    def deltas(filtered: str) -> DataFrame:
        joinless.changelog(tables.stream("p", CHANGE).where(filtered)).createOrReplaceTempView("q")
        return joinless.enumerate_deltas(tables.session.sql("SELECT q.k, r.v FROM q JOIN r ON q.k = r.k"), "weight")

    tables.put("p", [(1, 3, "insert"), (1, 8, "insert")], CHANGE)
    tables.put("r", [(1, 50, "insert")], CHANGE)
    assert len(tables.run(deltas("v > 2"), "cp")) == 1
    tables.put("p", [(1, 3, "delete")], CHANGE)
    with pytest.raises(Exception, match=r"JOINLESS_STATE_MISMATCH\.FILTER.*v > CAST.2"):
        tables.run(deltas("v > 5"), "cp")
    assert [row[-1] for row in tables.run(deltas("v > 2"), "cp")] == [-1]


def test_sources_that_change_places_are_refused(tables: Folders) -> None:
    def deltas(first: str, second: str) -> DataFrame:
        sql = f"SELECT a.k, a.v, b.v AS w FROM {first} a JOIN {second} b ON a.k = b.k"
        return joinless.enumerate_deltas(tables.session.sql(sql), output="weight")

    tables.put("p", [(1, 3, "insert")], CHANGE)
    tables.put("r", [(1, 50, "insert")], CHANGE)
    assert len(tables.run(deltas("p", "r"), "cp")) == 1
    with pytest.raises(Exception, match=r"JOINLESS_STATE_MISMATCH\.QUERY.*now read from"):
        tables.run(deltas("r", "p"), "cp")


def test_the_full_result_of_another_filter_is_refused(tables: Folders) -> None:
    tables.put("p", [(1, 3, "insert"), (1, 8, "insert")], CHANGE)
    tables.put("r", [(1, 50, "insert")], CHANGE)
    tables.run(joined(tables, "p.v > 0"), "cp")
    sql = "SELECT p.k, p.v AS pv, r.v AS rv FROM p JOIN r ON p.k = r.k WHERE p.v > 5"
    with pytest.raises(Exception, match=r"JOINLESS_STATE_MISMATCH\.FILTER"):
        joinless.enumerate_full(tables.session.sql(sql), checkpoint=str(tables.at("cp")))


def test_the_full_result_keeps_deleted_rows_away_from_every_filter(tables: Folders) -> None:
    """The log first has the row with a positive count and later, in a merged block, with 0."""
    tables.session.conf.set("spark.sql.shuffle.partitions", "1")
    query = tables.session.sql("SELECT p.k, p.v AS pv, r.v AS rv FROM p JOIN r ON p.k = r.k")
    deltas = joinless.enumerate_deltas(query, output="weight")
    tables.put("p", [(1, 1, "insert"), *((100 + i, i, "insert") for i in range(60))], CHANGE)
    tables.put("r", [(1, 1, "insert"), (1, 7, "insert")], CHANGE)
    tables.run(deltas, "cp")
    tables.put("p", [(1, 1, "delete")], CHANGE)
    tables.run(deltas, "cp")
    tables.put("r", [(1, 1, "insert"), (1, 9, "insert")], CHANGE)
    tables.run(deltas, "cp")
    full = joinless.enumerate_full(query, checkpoint=str(tables.at("cp")))
    reader = tables.session.read.format("joinless")
    assert full.collect() == []
    assert full.where("rv <> 1").collect() == []
    assert reader.load(str(tables.at("cp"))).where("rv > 1").collect() == []
    stored = reader.option("inputs", "p").load(str(tables.at("cp")))
    assert stored.where("row.k = 1").collect() == []
    assert stored.count() == 60


NAMED_BY_SPARK = [
    "SELECT k, count_if(v > 1) AS n, SUM(v) AS s FROM p GROUP BY k",
    "SELECT k, SUM(NULLIF(v * 2, 4)) AS s, COUNT(*) AS n FROM p GROUP BY k",
    "SELECT p.k, NULLIF(p.v + 1, 2) AS z, r.v FROM p JOIN r ON p.k = r.k AND p.v * r.v BETWEEN 0 AND 99",
    "SELECT p.k, r.v FROM p LEFT JOIN r ON NULLIF(p.k + 1, 1) = NULLIF(r.k + 1, 1)",
]

FIRST = """
import sys
from pathlib import Path
import joinless
from conftest import quiet_builder
from support.folders import Folders

spark = joinless.configure(quiet_builder()).getOrCreate()
tables = Folders(spark, Path(sys.argv[1]))
for name in "pr":
    joinless.changelog(tables.stream(name, sys.argv[2])).createOrReplaceTempView(name)
for i, sql in enumerate(sys.argv[3:]):
    print(len(tables.run(joinless.enumerate_deltas(tables.session.sql(sql), output="weight"), f"cp{i}")))
"""


def test_names_that_spark_makes_are_not_recorded(tables: Folders) -> None:
    """Their numbers differ in each process."""
    for name in "pr":
        tables.put(name, [(1, 3, "insert"), (2, 4, "insert")], CHANGE)
    first = run_python(FIRST, str(tables.folder), CHANGE, *NAMED_BY_SPARK)
    assert first.stdout.split() == ["2"] * len(NAMED_BY_SPARK), first.stderr[-3000:]
    tables.session.sql("SELECT NULLIF(id + 1, 2) FROM range(3) WHERE id * id BETWEEN 1 AND 2").collect()
    tables.put("p", [(1, 3, "delete")], CHANGE)
    for i, sql in enumerate(NAMED_BY_SPARK):
        query = tables.session.sql(sql)
        emitted = tables.run(joinless.enumerate_deltas(query, output="weight"), f"cp{i}")
        assert [row[-1] for row in emitted] == [-1], sql
        assert len(joinless.enumerate_full(query, checkpoint=str(tables.at(f"cp{i}"))).collect()) == 1


def test_the_full_result_is_that_of_the_session_in_every_thread(spark: SparkSession, tmp_path: Path) -> None:
    tables = Folders(spark, tmp_path)
    tables.session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    schema = "k long, ts timestamp, _change_type string"
    tables.session.sql("SELECT 1L k, TIMESTAMP'2026-03-01 00:00:00' ts, 'insert' _change_type").write.parquet(
        str(tables.at("t"))
    )
    joinless.changelog(tables.stream("t", schema)).createOrReplaceTempView("t")
    query = tables.session.sql("SELECT k FROM t WHERE ts >= TIMESTAMP'2026-01-01 00:00:00'")
    deltas = joinless.enumerate_deltas(query, output="weight")
    assert tables.run(deltas, "cp") == [(1, 1)]

    def full(condition: str) -> list[tuple[int, ...]]:
        requested = tables.session.sql(f"SELECT k FROM t WHERE ts >= TIMESTAMP'{condition}'")
        return [tuple(row) for row in joinless.enumerate_full(requested, checkpoint=str(tables.at("cp"))).collect()]

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(full, ["2026-01-01 00:00:00"] * 4)) == [[(1,)]] * 4
        # Nine hours later there, which is that text in UTC.
        for other in ("2026-01-01 09:00:00", "2025-12-31 15:00:00"):
            with pytest.raises(Exception, match="JOINLESS_STATE_MISMATCH"):
                pool.submit(full, other).result()
