"""`table`, `sql`, and `materialize` with a text: Delta tables as they change, and queries over them.

The oracle is the same text as batch SQL.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

import joinless
from support import oracles
from support.database import kept, shop_in
from support.shop import TABLES, Shop

PER_CITY = """SELECT c.city, COUNT(*) AS orders, SUM(o.pieces) AS pieces
              FROM orders o LEFT JOIN customers c ON o.customer = c.id GROUP BY c.city"""

#: What names can stand for, and where they can stand.
QUERIES = {
    "a join and groups": PER_CITY,
    "a table under its full name, joined with itself": """
        SELECT a.id, b.id AS other FROM spark_catalog.tables.orders a JOIN tables.orders b
        ON a.customer = b.customer AND a.item < b.item""",
    "a common table expression of a table's name": """
        WITH orders AS (SELECT id FROM customers)
        SELECT a.id, b.pieces FROM orders a LEFT JOIN tables.orders b ON a.id = b.customer""",
    "common table expressions over one another": """
        WITH n AS (SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer),
             many AS (SELECT * FROM n WHERE n > 1)
        SELECT n.customer, many.n FROM n LEFT JOIN many ON n.customer = many.customer""",
    "subqueries": """
        SELECT id, pieces FROM orders WHERE pieces > (SELECT AVG(pieces) FROM orders)
        AND EXISTS (SELECT 1 FROM customers WHERE customers.id = orders.customer)
        AND item NOT IN (SELECT id + 2 FROM items)""",
    "a view of the catalog": "SELECT v.name, c.city FROM bought v LEFT JOIN customers c ON v.customer = c.id",
    "a union": "SELECT city AS name FROM customers UNION ALL SELECT name FROM items",
    "the last rows": "SELECT id, pieces FROM orders ORDER BY pieces DESC, id LIMIT 3",
}


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Iterator[Shop]:
    """The shop's tables in a database; their change data feeds are off."""
    with shop_in(spark, "tables", tmp_path) as shop:
        spark.sql("CREATE VIEW bought AS SELECT o.customer, i.name FROM orders o JOIN items i ON o.item = i.id")
        yield shop


def bag(df: DataFrame) -> oracles.Bag:
    return oracles.bag(df.collect())


def test_views_are_equal_to_batch_sql_over_the_tables_of_their_texts(tables: Shop) -> None:
    spark, rng = tables.session, random.Random(5)
    done: list[str] = []
    for _ in range(3):
        for i, (what, sql) in enumerate(QUERIES.items()):
            kept(sql, f"view{i}")
            assert bag(spark.table(f"view{i}")) == bag(spark.sql(sql)), f"{what}, {done}"
        done += [tables.random_commit(rng) for _ in range(3)]


def test_the_session_is_as_it_was(tables: Shop) -> None:
    spark = tables.session
    before = spark.sql("SHOW TABLES").collect()
    clicks = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    joined = joinless.sql("SELECT * FROM clicks JOIN orders ON value = id", tables={"clicks": clicks})
    assert joined.columns == ["timestamp", "value", "id", "customer", "item", "pieces"]
    assert spark.sql("SHOW TABLES").collect() == before
    assert SparkSession.getActiveSession() == spark
    assert not spark.table("orders").isStreaming
    query = joinless.materialize(PER_CITY, "by_city")
    assert [active.name for active in spark.streams.active] == ["by_city"]
    query.stop()


def test_given_relations_go_before_tables_of_their_names(tables: Shop) -> None:
    spark = tables.session
    spark.createDataFrame([(1, "Rome"), (2, "Oslo")], TABLES["customers"]).createOrReplaceTempView("customers")
    try:
        moved = joinless.table("tables.customers").selectExpr("id", "city || '!' AS city")
        kept("SELECT city FROM customers WHERE id < 3", "given", tables={"customers": moved})
        assert bag(spark.table("given")) == bag(spark.sql("SELECT city || '!' FROM tables.customers WHERE id < 3"))
        with pytest.raises(AnalysisException, match="NOTHING_CHANGES"):
            joinless.sql("SELECT city FROM customers")  # the view, which has no table
    finally:
        spark.catalog.dropTempView("customers")


def test_a_table_begins_with_its_rows_and_goes_on_with_its_feed(tables: Shop) -> None:
    spark = tables.session
    for name in ("orders", "tables.orders", "`orders`", tables.at("orders")):
        assert joinless.table(name).columns == ["id", "customer", "item", "pieces"]
    feed = spark.sql("SHOW TBLPROPERTIES orders ('delta.enableChangeDataFeed')").collect()
    assert [row["value"] for row in feed] == ["true"]
    version = tables.version("orders")
    df = joinless.table("orders").where("pieces > 0").groupBy("item").count()
    assert tables.version("orders") == version, "it is switched on once"
    for statement in ("DELETE FROM orders WHERE item = 1", "UPDATE orders SET item = 9 WHERE item = 2"):
        query = joinless.materialize(df, "per_item", trigger="availableNow")
        query.awaitTermination()
        assert bag(spark.table("per_item")) == bag(spark.table("orders").where("pieces > 0").groupBy("item").count())
        spark.sql(statement)


def test_samples_of_tables_in_a_text(tables: Shop) -> None:
    spark = tables.session
    kept("SELECT * FROM sample(TABLE(orders), 7, 3)", "few")
    kept(
        "SELECT customer, COUNT(*) AS n FROM sample(TABLE(SELECT * FROM bought), 2, 3, customer) GROUP BY customer",
        "each",
    )
    sizes = {
        row["customer"]: min(row["n"], 2)
        for row in spark.sql("SELECT customer, COUNT(*) AS n FROM bought GROUP BY customer").collect()
    }
    assert {row["customer"]: row["n"] for row in spark.table("each").collect()} == sizes
    tables.commit("orders", "DELETE FROM {t} WHERE id > 4")
    kept("SELECT * FROM sample(TABLE(orders), 7, 3)", "few")
    assert bag(spark.table("few")) == bag(spark.table("orders"))
    with pytest.raises(AnalysisException, match="JOINLESS_NOT_STREAMING"):
        spark.sql("SELECT * FROM sample(TABLE(orders), 7, 3)")


def test_targets_and_columns_are_named_as_their_errors_say(tables: Shop) -> None:
    for sql, into, condition in (
        ("SELECT * FROM orders", "tables.ORDERS", "TARGET_IS_READ"),
        ("SELECT a.id FROM orders a WHERE a.id IN (SELECT id FROM items)", "items", "TARGET_IS_READ"),
        (f"SELECT * FROM {tables.at('orders')}", tables.at("orders"), "TARGET_IS_READ"),
        (f"SELECT * FROM {tables.at('orders')}", "orders", "TARGET_IS_READ"),
        ("SELECT * FROM orders", tables.at("orders"), "TARGET_IS_READ"),
        ("SELECT * FROM orders", "a b c", "TARGET_NAME"),
        ("SELECT * FROM orders", str(tables.folder / "orders"), "TARGET_NAME"),
        ("SELECT item, COUNT(*) FROM orders GROUP BY item", "never", "COLUMN_NAME"),
    ):
        with pytest.raises(joinless.ApplyChangesError) as refused:
            kept(sql, into)
        assert refused.value.getCondition() == f"JOINLESS_APPLY_CHANGES.{condition}", sql
    assert not tables.session.catalog.tableExists("never")
    named = "SELECT item, COUNT(*) AS name FROM orders GROUP BY item"
    kept(named, tables.at("named"))
    assert bag(tables.session.table(tables.at("named"))) == bag(tables.session.sql(named))
    kept("SELECT id FROM items", "ids")
    with pytest.raises(joinless.ApplyChangesError, match="TARGET_IS_READ"):
        joinless.replace("ids", "SELECT id FROM ids")
    kept("SELECT id FROM items", "ids")


def test_a_temporary_view_of_the_targets_name_is_named(tables: Shop) -> None:
    tables.session.range(1).createOrReplaceTempView("hidden")
    try:
        with pytest.raises(joinless.ApplyChangesError) as refused:
            kept(PER_CITY, "hidden")
        assert refused.value.getCondition() == "JOINLESS_APPLY_CHANGES.TARGET_NOT_DELTA"
    finally:
        tables.session.catalog.dropTempView("hidden")


def test_a_version_that_the_text_names_stays(tables: Shop) -> None:
    gone = "SELECT * FROM orders VERSION AS OF 1 EXCEPT SELECT * FROM orders"
    for most in (9, 3):
        tables.commit("orders", f"DELETE FROM {{t}} WHERE id > {most}")
        kept(gone, "gone")
        assert bag(tables.session.table("gone")) == bag(tables.session.sql(gone))
    assert tables.session.table("gone").count() > 0
    with pytest.raises(AnalysisException, match="NOTHING_CHANGES"):
        joinless.sql("SELECT * FROM orders VERSION AS OF 1")


def test_the_checkpoint_is_in_the_folder_of_the_table(tables: Shop) -> None:
    spark = tables.session
    kept(PER_CITY, "by_city")
    assert (tables.folder / "by_city" / "_joinless" / "commits").is_dir()
    spark.sql("VACUUM by_city")
    tables.commit("orders", "DELETE FROM {t} WHERE id = 1")
    kept(PER_CITY, "by_city")
    assert bag(spark.table("by_city")) == bag(spark.sql(PER_CITY))
    spark.sql("DROP TABLE by_city")
    kept(f"SELECT city FROM ({PER_CITY})", "by_city")  # another view, with other columns
    assert spark.table("by_city").columns == ["city"]
    kept("SELECT city FROM customers", tables.at("a path"))
    assert bag(spark.table(tables.at("a path"))) == bag(spark.sql("SELECT city FROM customers"))
    kept(PER_CITY, "elsewhere", checkpoint=tables.folder / "cp")
    assert not (tables.folder / "elsewhere" / "_joinless").exists()


def test_a_table_without_its_rows_is_not_filled_from_the_middle(tables: Shop) -> None:
    """The folder of the table is there, and the table in it is another one."""
    spark = tables.session
    kept(PER_CITY, "by_city")
    spark.sql("CREATE OR REPLACE TABLE by_city (city STRING, orders BIGINT, pieces BIGINT) USING delta")
    tables.commit("orders", "DELETE FROM {t} WHERE id = 1")
    query = joinless.materialize(PER_CITY, "by_city", trigger="0 seconds")
    with pytest.raises(Exception, match="TARGET_REPLACED"):
        query.processAllAvailable()
    assert spark.table("by_city").isEmpty()


@pytest.mark.parametrize(
    ("text", "condition", "words"),
    [
        ("DROP TABLE orders", "JOINLESS_TABLE.NOT_A_QUERY", "DROP TABLE orders"),
        ("INSERT INTO orders SELECT * FROM orders", "JOINLESS_TABLE.NOT_A_QUERY", "Give a SELECT"),
        ("EXPLAIN SELECT 1", "JOINLESS_TABLE.NOT_A_QUERY", "EXPLAIN"),
        ("SELECT 1 AS x", "JOINLESS_TABLE.NOTHING_CHANGES", "SELECT 1 AS x"),
        ("SELECT *, _metadata.file_name FROM orders", "JOINLESS_TABLE.HIDDEN_COLUMN", "_metadata"),
        ("SELECT * FROM ordres", "TABLE_OR_VIEW_NOT_FOUND", "ordres"),
        ("SELECT town FROM customers", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "town"),
    ],
)
def test_texts_that_are_no_query_over_tables_are_refused(tables: Shop, text: str, condition: str, words: str) -> None:
    for function in (joinless.sql, lambda query: joinless.materialize(query, "never")):
        with pytest.raises(AnalysisException) as refused:
            function(text)
        assert refused.value.getCondition() == condition
        assert words in str(refused.value)
    assert not tables.session.catalog.tableExists("never")
    assert tables.session.table("orders").count() == 20


def test_what_is_no_delta_table_is_refused(tables: Shop) -> None:
    tables.session.sql("CREATE TABLE plain (id INT) USING parquet")
    with pytest.raises(AnalysisException) as refused:
        joinless.table("plain")
    assert refused.value.getCondition() == "JOINLESS_TABLE.FORMAT"
    assert "parquet" in str(refused.value)
    with pytest.raises(AnalysisException, match="bought"):
        joinless.table("bought")
    with pytest.raises(ParseException):
        joinless.sql("SELEC 1")


def test_a_feed_that_cannot_be_switched_on_is_an_error_with_the_statement(tables: Shop) -> None:
    tables.session.sql("CREATE TABLE reserved (id INT, _change_type STRING) USING delta")
    with pytest.raises(AnalysisException) as refused:
        joinless.sql("SELECT id FROM reserved")
    assert refused.value.getCondition() == "JOINLESS_TABLE.FEED_IS_OFF"
    statement = "ALTER TABLE spark_catalog.tables.reserved SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
    assert f"switches it on, fails: {statement} Remove the cause" in str(refused.value)
    assert "_change_type" in str(refused.value), "what Delta says"


def test_tables_are_for_texts_only(spark: SparkSession) -> None:
    df = spark.range(1)
    with pytest.raises(ValueError, match="only with the text of a query"):
        joinless.materialize(df, "never", tables={"a": df})
