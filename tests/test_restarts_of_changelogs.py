"""A restarted query over changelogs treats a delete as it treated the insert: filters may not change."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import joinless
from support.folders import Folders

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
    told = tables.run(joined(tables, *before), "cp")
    assert len(told) == 2
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
    """The log says first that a row is there and later, in a merged block, that it is gone."""
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
