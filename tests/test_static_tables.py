"""Static tables in views: tables of files, DataFrames and Delta tables at a version, which are read
once, beside Delta tables as they change.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

import joinless
from support import oracles
from support.database import kept, shop_in
from support.shop import Shop

PRICED = """SELECT o.id, p.price * o.pieces AS total, k.name
            FROM orders o JOIN prices p ON o.item = p.item LEFT JOIN kinds VERSION AS OF 1 k ON k.id = o.item"""
UNSOLD = "SELECT p.item FROM prices p WHERE p.item NOT IN (SELECT item FROM orders)"
PER_PRICE = """SELECT p.price, COUNT(*) AS n, SUM(o.pieces) AS pieces FROM orders o JOIN prices p ON o.item = p.item
               WHERE o.customer IN (SELECT id FROM customers) GROUP BY p.price"""
TOP = """SELECT item, price FROM prices UNION ALL SELECT id, CAST(id AS DOUBLE) FROM items
         WHERE id > (SELECT MIN(item) FROM prices)"""


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Iterator[Shop]:
    """The shop's tables, a table of files, and a Delta table with versions."""
    with shop_in(spark, "priced", tmp_path) as shop:
        spark.sql("CREATE TABLE prices USING parquet AS SELECT CAST(id AS INT) AS item, id / 2 AS price FROM range(3)")
        spark.sql("CREATE TABLE kinds (id INT, name STRING) USING delta")
        spark.sql("INSERT INTO kinds VALUES (1, 'fruit'), (2, 'bread')")
        spark.sql("UPDATE kinds SET name = 'later'")
        yield shop


def check(shop: Shop, view: str, sql: str) -> None:
    """The view is equal to its query."""
    spark = shop.session
    assert oracles.bag(spark.table(view).collect()) == oracles.bag(spark.sql(sql).collect()), sql
    compared = joinless.verify(view)
    assert compared.is_equal, compared


@pytest.mark.parametrize("sql", [PRICED, UNSOLD, PER_PRICE, TOP])
def test_a_view_over_static_tables_is_equal_to_batch_sql(shop: Shop, sql: str) -> None:
    rng = random.Random(sql)
    for _ in range(3):
        kept(sql, "view")
        check(shop, "view", sql)
        for _ in range(3):
            shop.random_commit(rng)


def test_rows_stay_as_the_first_batch_has_read_them(shop: Shop) -> None:
    spark = shop.session
    sql = "SELECT o.id, p.price FROM orders o JOIN prices p ON o.item = p.item"
    kept(sql, "view")
    before = oracles.bag(spark.table("view").collect())
    spark.sql("INSERT INTO prices VALUES (1, 99.0)")
    kept(sql, "view")
    assert oracles.bag(spark.table("view").collect()) == before
    shop.commit("orders", "INSERT INTO {t} VALUES (500, 1, 1, 1)")
    kept(sql, "view")
    assert spark.sql("SELECT price FROM view WHERE id = 500").collect() == [(0.5,)]
    with pytest.raises(AnalysisException, match=r"JOINLESS_VIEW.STATIC_TABLE_CHANGED.*prices"):
        joinless.verify("view")
    (advice,) = joinless.status("view").collect()[0]["advice"]
    assert "prices has changed" in advice
    assert "joinless.replace reads it again" in advice
    joinless.replace("view", sql).stop()
    check(shop, "view", sql)
    assert joinless.status("view").collect()[0]["advice"] == []
    with pytest.raises(AnalysisException, match="JOINLESS_STATE_MISMATCH"):
        kept(f"{sql} WHERE p.price < 1", "view")


def test_a_delta_table_is_read_as_it_changes_or_at_a_version(shop: Shop) -> None:
    spark = shop.session
    query = spark.sql("SELECT * FROM kinds")
    orders = joinless.table("orders")
    joined = orders.join(query, orders["item"] == query["id"]).select(orders["id"], query["name"])
    with pytest.raises(AnalysisException, match="STATIC_SIDE_OF_CHANGELOG") as refused:
        kept(joined, "view")
    assert "joinless.table(name), or name its version, VERSION AS OF" in str(refused.value)
    with pytest.raises(AnalysisException, match="STATIC_PART_OF_UNION"):
        kept(orders.select("id").unionAll(query.select("id")), "view")
    pinned = spark.sql("SELECT * FROM kinds VERSION AS OF 1")
    kept(orders.join(pinned, orders["item"] == pinned["id"]).select(orders["id"], pinned["name"]), "view")
    names = {row["name"] for row in spark.table("view").collect()}
    assert names == {"fruit", "bread"}


def forget_commits(shop: Shop, view: str) -> None:
    """The view has its rows, and its last batch runs again: as after a kill between the two commits."""
    for file in (shop.folder / view / "_joinless" / "commits").iterdir():
        file.unlink()


def test_a_first_batch_runs_again_with_the_same_rows_and_the_view_goes_on(shop: Shop) -> None:
    kept(PRICED, "view")
    forget_commits(shop, "view")
    for i in range(3):
        shop.commit("orders", f"INSERT INTO {{t}} VALUES ({600 + i}, 1, 1, 1)")
    kept(PRICED, "view")
    check(shop, "view", PRICED)


@pytest.mark.parametrize("how", ["the table is another one", "the reader has other options", "the function is another"])
def test_a_first_batch_that_would_have_other_rows_is_refused(shop: Shop, tmp_path: Path, how: str) -> None:
    spark = shop.session
    (tmp_path / "rates.csv").write_text("1,1\n2,2\n2,3\n")

    def rates(change: bool) -> None:
        rows = spark.range(1, 3).selectExpr("CAST(id AS INT) AS id", "id AS rate")
        if how == "the table is another one":
            spark.sql("DROP TABLE IF EXISTS made")
            rows.withColumn("rate", rows["rate"] + int(change)).write.format("delta").saveAsTable("made")
            rows = spark.sql("SELECT * FROM made VERSION AS OF 0")
        elif how == "the reader has other options":
            reader = spark.read.schema("id INT, rate BIGINT").option("header", not change)
            rows = reader.csv(str(tmp_path / "rates.csv"))
        else:
            times = udf(lambda x: x * (3 if change else 2), "BIGINT")
            rows = rows.withColumn("rate", times(rows["rate"]))
        rows.createOrReplaceTempView("rates")

    sql = "SELECT o.id, r.rate FROM orders o LEFT JOIN rates r ON o.item = r.id"
    rates(change=False)
    kept(sql, "view")
    forget_commits(shop, "view")
    rates(change=True)
    with pytest.raises(StreamingQueryException, match="JOINLESS_STATIC_TABLE_CHANGED"):
        kept(sql, "view")
    rates(change=False)
    if how != "the table is another one":  # it was made anew once more
        kept(sql, "view")
        check(shop, "view", sql)


def test_threads_start_views_over_a_table_whose_feed_is_off(shop: Shop) -> None:
    views = [f"view{i}" for i in range(4)]
    with ThreadPoolExecutor(len(views)) as pool:  # its threads have no active session
        list(pool.map(lambda view: kept("SELECT customer, item FROM orders", view), views))
    for view in views:
        check(shop, view, "SELECT customer, item FROM orders")


def test_explain_names_what_is_read_once(shop: Shop) -> None:
    explained = joinless.explain(joinless.sql(PRICED))
    places = "p (spark_catalog.priced.prices), k (spark_catalog.priced.kinds@v1)"
    assert f"Read once, in the first batch: {places}\n" in explained.text
    assert json.loads(explained.json())["readOnce"] == places.split(", ")
