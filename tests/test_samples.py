"""Samples that are kept: a Delta table that is a uniform sample of a join, while tables change."""

from __future__ import annotations

import random
from collections import Counter
from threading import Thread
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

import joinless
from support.shop import Shop

BOUGHT = "SELECT c.city, i.name FROM orders o JOIN customers c ON o.customer = c.id JOIN items i ON o.item = i.id"


def updated(shop: Shop, into: str, size: int, **options: Any) -> Counter[Any]:
    """The rows of the sample after the newest commits."""
    shop.streams()
    kept = joinless.sample(shop.session.sql(BOUGHT), size, **options)
    checkpoint = shop.folder / f"{into}-checkpoint"
    joinless.materialize(kept, shop.at(into), checkpoint, trigger="availableNow").awaitTermination()
    return Counter(shop.session.read.format("delta").load(str(shop.folder / into)).collect())


def bought(shop: Shop) -> Counter[Any]:
    return Counter(shop.now(BOUGHT).collect())


def test_a_sample_of_a_join_is_a_table(shop: Shop) -> None:
    rng = random.Random(49)
    shop.fill(customers=5, items=4, orders=40)
    for _ in range(3):
        sample, all_rows = updated(shop, "sampled", 12), bought(shop)
        assert sample <= all_rows
        assert sample.total() == min(12, all_rows.total())
        for _ in range(4):
            shop.random_commit(rng)


def test_the_operator_reports_how_many_results_are_sampled(shop: Shop) -> None:
    shop.fill(customers=5, items=4, orders=40)
    shop.streams()
    kept = joinless.sample(shop.session.sql(BOUGHT), 3, seed=7)
    assert "sample: 3 results are kept in each cell, merged by their keys" in str(
        joinless.explain(joinless.enumerate_deltas(kept))
    )
    query = (
        joinless.enumerate_deltas(kept, output="weight")
        .writeStream.format("noop")
        .trigger(availableNow=True)
        .option("checkpointLocation", str(shop.folder / "counted"))
        .start()
    )
    query.awaitTermination()
    report = joinless.progress(query)
    assert report is not None
    assert report.result_size == bought(shop).total()


@pytest.mark.parametrize("last", ["length(i.name) = length(c.city)", "i.id + c.id > 4"])
def test_where_results_are_checked_their_number_is_counted(shop: Shop, last: str) -> None:
    """A cycle, and a condition that is no equi-join: the operator has counted too many."""
    shop.fill(customers=6, items=6, orders=60)
    shop.streams()
    sql = f"""SELECT o.id, c.city, i.name FROM orders o JOIN customers c ON o.customer = c.id
              JOIN items i ON i.id = o.item AND {last}"""
    kept = joinless.sample(shop.session.sql(sql), 3, seed=7)
    checkpoint = str(shop.folder / "checked")
    writer = joinless.enumerate_deltas(kept, output="weight").writeStream.format("noop").trigger(availableNow=True)
    query = writer.option("checkpointLocation", checkpoint).start()
    query.awaitTermination()
    report = joinless.progress(query)
    assert report is not None
    assert report.result_size is None
    counted: list[int] = []
    thread = Thread(target=lambda: counted.append(joinless.count(checkpoint)))
    thread.start()
    thread.join()
    assert counted == [shop.now(sql).count()]
    assert 3 < counted[0] < shop.now(sql.replace(last, "true")).count()


@pytest.mark.parametrize("size", [0, 10_000_001])
def test_sizes_out_of_range_are_refused(shop: Shop, size: int) -> None:
    shop.streams()
    with pytest.raises(AnalysisException, match="JOINLESS_SAMPLE"):
        joinless.sample(shop.session.sql(BOUGHT), size)


def test_a_sample_of_each_group_is_a_table(shop: Shop) -> None:
    rng = random.Random(50)
    shop.fill(customers=5, items=4, orders=40)
    for _ in range(3):
        sample, all_rows = updated(shop, "grouped", 3, by=["city"]), bought(shop)
        assert sample <= all_rows
        assert by_city(sample) == {city: min(3, n) for city, n in by_city(all_rows).items()}
        for _ in range(4):
            shop.random_commit(rng)


def by_city(rows: Counter[Any]) -> dict[str | None, int]:
    sizes: Counter[str | None] = Counter()
    for row, copies in rows.items():
        sizes[row.city] += copies
    return dict(sizes)


@pytest.mark.parametrize(
    ("by", "condition"),
    [
        (["town"], "COLUMN_NOT_FOUND"),
        (["city", "CITY"], "COLUMN_TWICE"),
        ([], "NO_COLUMNS"),
        ("name", "COLUMN_AMBIGUOUS"),
        ("tags", "COLUMN_TYPE"),
    ],
)
def test_groups_that_are_none_are_refused(shop: Shop, by: list[str], condition: str) -> None:
    shop.streams()
    rows = shop.session.sql("SELECT city, city AS name, id AS name, MAP('a', city) AS tags FROM customers")
    with pytest.raises(AnalysisException) as refused:
        joinless.sample(rows, 3, by=by)
    assert refused.value.getCondition() == f"JOINLESS_SAMPLE.{condition}"


def test_groups_in_sql_are_named_after_the_seed(shop: Shop) -> None:
    shop.streams()
    kept = shop.session.sql(f"SELECT * FROM sample(TABLE({BOUGHT}), 3, 7, city)")
    assert "sample: 3 results of each group by c.city are kept in each cell" in str(
        joinless.explain(joinless.enumerate_deltas(kept))
    )
    with pytest.raises(AnalysisException, match=r"JOINLESS_SAMPLE\.ARGUMENTS"):
        shop.session.sql(f"SELECT * FROM sample(TABLE({BOUGHT}), 3, 7, 1.5)")


def test_a_sample_is_refused_where_no_changes_are_requested(shop: Shop) -> None:
    shop.streams()

    def started(df: DataFrame) -> None:
        writer = df.writeStream.format("noop").option("checkpointLocation", str(shop.folder / "plain"))
        writer.start().awaitTermination()

    with pytest.raises(Exception, match="JOINLESS_RETRACTIONS_NOT_REPRESENTABLE"):
        started(joinless.sample(shop.session.sql("SELECT id FROM orders"), 3))
    with pytest.raises(ValueError, match="without replacement"):
        joinless.sample(shop.session.sql(BOUGHT), 3, replacement=True)
