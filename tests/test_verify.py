"""`verify`: a view that differs from its query is found, and one that does not is not.

The oracle knows what was changed in the table behind the view's back.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import joinless
from support.database import kept, shop_in
from support.shop import Shop

PER_CITY = """SELECT c.city, COUNT(*) AS orders, SUM(o.pieces) AS pieces
              FROM orders o LEFT JOIN customers c ON o.customer = c.id GROUP BY c.city"""
BAG = "SELECT c.city, i.name FROM orders o JOIN customers c ON o.customer = c.id JOIN items i ON o.item = i.id"


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Iterator[Shop]:
    """The shop's tables in a database."""
    with shop_in(spark, "verified", tmp_path) as shop:
        yield shop


def refused(condition: str, view: str, **options: Any) -> str:
    """The message with which `verify` refuses."""
    with pytest.raises((joinless.ViewError, AnalysisException)) as raised:
        joinless.verify(view, **options)
    assert raised.value.getCondition() == condition
    return str(raised.value)


def test_a_view_is_compared_at_the_versions_it_has_read(shop: Shop) -> None:
    spark, rng = shop.session, random.Random(8)
    for view, sql in (("per_city", PER_CITY), ("bought", BAG)):
        kept(sql, view)
    for _ in range(4):
        shop.random_commit(rng)
    for view in ("per_city", "bought"):
        behind = joinless.verify(view)
        assert behind.is_equal, f"{behind}, {behind.differences.collect()}"
        assert (behind.batch, behind.rows) == (0, spark.table(view).count())
    kept(PER_CITY, "per_city")
    level = joinless.verify("per_city")
    assert level.is_equal, f"{level}, {level.differences.collect()}"
    assert level.batch == 1


def test_common_table_expressions_are_no_tables(shop: Shop) -> None:
    shop.session.range(3).write.parquet(str(shop.folder / "numbers"))
    with_twice = f"""WITH large AS (SELECT o.customer, o.pieces, n.id FROM orders o
                                    JOIN parquet.`{shop.folder}/numbers` n ON n.id = o.pieces)
                     SELECT l.*, (SELECT MAX(m.pieces) FROM large m WHERE m.customer = l.customer) AS most FROM large l
                     WHERE l.pieces >= (SELECT AVG(pieces) FROM large)"""
    kept(with_twice, "with_twice")
    shop.random_commit(random.Random(4))
    assert joinless.verify("with_twice").is_equal
    shop.session.sql("CALL joinless.verify(view => 'with_twice')").collect()
    assert joinless.status(["with_twice"]).first()["behind"] is not None  # type: ignore[index]


def test_what_was_changed_behind_its_back_is_found(shop: Shop) -> None:
    spark = shop.session
    kept(BAG, "bought")
    rows = Counter(map(tuple, spark.table("bought").collect()))
    row, copies = rows.most_common(1)[0]
    spark.sql(f"DELETE FROM bought WHERE city = '{row[0]}' AND name = '{row[1]}'")
    spark.sql("INSERT INTO bought VALUES ('Nowhere', NULL), ('Nowhere', NULL)")
    found = joinless.verify("bought")
    assert (found.missing, found.extra, found.rounded, found.is_equal) == (copies, 2, 0, False)
    assert found.rows == sum(rows.values()) - copies + 2
    assert set(map(tuple, found.differences.collect())) == {(*row, 0, copies), ("Nowhere", None, 2, 0)}
    assert f"{copies} rows are missing and 2 extra after batch 0" in str(found)
    spark.sql(f"RESTORE bought TO VERSION AS OF {found.version - 2}")
    assert joinless.verify("bought").is_equal


def test_while_a_view_runs_and_its_tables_change(shop: Shop) -> None:
    rng = random.Random(3)
    query = joinless.materialize(PER_CITY, "per_city", trigger="0 seconds")
    query.processAllAvailable()
    batches = set()
    for _ in range(6):
        shop.random_commit(rng)
        found = joinless.verify("per_city")
        assert found.is_equal, f"{found}, {found.differences.collect()}"
        batches.add(found.batch)
    query.processAllAvailable()
    query.stop()
    assert joinless.verify("per_city").is_equal
    assert len(batches) > 1, "the view went on meanwhile"


def test_sums_in_another_order_are_equal(shop: Shop) -> None:
    spark = shop.session
    spark.sql("CREATE TABLE amounts (k INT, x DOUBLE) USING delta")
    spark.sql("INSERT INTO amounts SELECT int(id % 2), 0.1D * id FROM range(200)")
    sums = "SELECT k, SUM(x) AS x, SUM(x) > 1 AS large FROM amounts GROUP BY k"
    kept(sums, "sums")
    spark.sql("UPDATE sums SET x = x * (1 + 1e-15) WHERE k = 1")
    found = joinless.verify("sums")
    assert (found.missing, found.extra, found.rounded) == (0, 0, 1), str(found)
    spark.sql("UPDATE sums SET x = x * (1 + 1e-6) WHERE k = 1")
    found = joinless.verify("sums")
    assert (found.missing, found.extra) == (1, 1)
    for value in ("NaN", "Infinity"):
        spark.sql(f"UPDATE sums SET x = CAST('{value}' AS DOUBLE) WHERE k = 1")
        assert joinless.verify("sums").extra == 1, value
    spark.sql("UPDATE sums SET large = NULL WHERE k = 0")
    assert joinless.verify("sums").extra == 2


def test_names_mean_what_they_meant(shop: Shop) -> None:
    spark = shop.session
    kept(PER_CITY, "per_city")
    kept("SELECT id FROM items", shop.at("a path"), checkpoint=shop.folder / "cp")
    spark.sql("USE default")
    assert joinless.verify("verified.per_city").is_equal
    assert joinless.verify(shop.at("a path")).is_equal
    spark.sql("ALTER TABLE verified.per_city RENAME TO verified.renamed")
    assert joinless.verify("verified.renamed").is_equal, "its checkpoint went with it"


def test_a_table_that_was_empty_when_the_view_began(shop: Shop) -> None:
    spark = shop.session
    spark.sql("CREATE TABLE returns (id INT) USING delta")
    kept("SELECT id, pieces FROM orders WHERE id NOT IN (SELECT id FROM returns)", "stay")
    assert joinless.verify("stay").is_equal
    spark.sql("INSERT INTO returns VALUES (1), (2)")
    assert joinless.verify("stay").is_equal
    kept("SELECT id, pieces FROM orders WHERE id NOT IN (SELECT id FROM returns)", "stay")
    found = joinless.verify("stay")
    assert (found.batch, found.is_equal) == (1, True), found.differences.collect()


def test_what_cannot_be_compared_is_named(shop: Shop) -> None:
    spark = shop.session
    refused("JOINLESS_VIEW.NOT_A_VIEW", "orders")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        joinless.verify("nothing")
    kept(joinless.sql(PER_CITY), "of_dataframe")
    assert "query given as a DataFrame" in refused("JOINLESS_VIEW.NO_QUERY", "of_dataframe")
    assert joinless.verify("of_dataframe", query=PER_CITY).is_equal
    assert "town" in refused("JOINLESS_VIEW.COLUMNS", "of_dataframe", query="SELECT city AS town FROM customers")
    kept("SELECT id FROM some", "given", tables={"some": joinless.table("orders")})
    assert "(some)" in refused("JOINLESS_VIEW.NO_QUERY", "given")
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        kept("SELECT 1 / (id - 1) AS x FROM items", "failed")
    refused("JOINLESS_VIEW.NO_BATCH", "failed")
    kept("SELECT id FROM items", "replaced")
    spark.sql("DROP TABLE items")
    spark.sql("CREATE TABLE items (id INT, name STRING) USING delta")
    assert "items" in refused("JOINLESS_VIEW.REPLACED", "replaced")
    spark.sql("INSERT INTO items VALUES (7, 'new')")
    joinless.replace("replaced", "SELECT id FROM items", trigger="availableNow").awaitTermination()
    assert [row["id"] for row in spark.table("replaced").collect()] == [7]
    assert joinless.verify("replaced").is_equal


def test_a_start_that_is_refused_leaves_the_record(shop: Shop) -> None:
    spark = shop.session
    kept(PER_CITY, "per_city")
    version = shop.version("per_city")
    kept(PER_CITY, "per_city")
    assert shop.version("per_city") == version, "the same call records nothing again"
    with pytest.raises(AnalysisException, match="STATE_MISMATCH"):
        kept(PER_CITY.replace("LEFT JOIN", "JOIN"), "per_city")
    assert joinless.verify("per_city").is_equal
    recorded = {row["key"]: row["value"] for row in spark.sql("SHOW TBLPROPERTIES per_city").collect()}
    assert recorded["joinless.query"] == PER_CITY
    assert recorded["joinless.database"] == "spark_catalog.verified"


def test_a_view_is_compared_in_its_own_time_zone(shop: Shop) -> None:
    spark = shop.session
    spark.sql("CREATE TABLE clicks (id INT, ts TIMESTAMP) USING delta")
    spark.sql("INSERT INTO clicks VALUES (1, TIMESTAMP'2026-01-01 23:30:00'), (2, TIMESTAMP'2026-01-02 10:00:00')")
    per_day = "SELECT DATE(ts) AS day, COUNT(*) AS n FROM clicks GROUP BY DATE(ts)"
    kept(per_day, "per_day")
    zone = spark.conf.get("spark.sql.session.timeZone")
    try:
        spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        assert joinless.verify("per_day").is_equal
        spark.sql("UPDATE per_day SET n = 5 WHERE day = DATE'2026-01-01'")
        found = joinless.verify("per_day")
        assert (found.missing, found.extra) == (1, 1)
        assert {row["n"] for row in found.differences.collect()} == {1, 5}
        assert "1 row is missing and 1 extra" in str(found)
        assert spark.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(zone))
