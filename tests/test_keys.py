"""Declared keys: at most one row has the same values in the columns of a key, whatever reads the rows.

A second row fails its batch by name, and a restart with corrected rows goes on.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import joinless
from support.database import database, kept
from support.folders import Folders

PERSON = "id long, city string"
CHANGE = f"{PERSON}, _change_type string"
ORDER = "person long, item string"
WANTED = "SELECT p.id, p.city, o.item FROM people p JOIN orders o ON o.person = p.id"


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Folders:
    tables = Folders(spark, tmp_path)
    tables.stream("orders", ORDER)
    tables.put("orders", [(1, "tea"), (2, "salt"), (2, "rice")], ORDER)
    return tables


def people(tables: Folders, schema: str = PERSON, key: str | list[str] = "id") -> None:
    """The stream of people, a changelog if it has change types, with its key."""
    stream = tables.stream("people", schema).alias("people")
    rows = joinless.changelog(stream) if "_change_type" in schema else stream
    joinless.key(rows, key).createOrReplaceTempView("people")


def changes(tables: Folders, sql: str = WANTED) -> list[tuple[Any, ...]]:
    return tables.run(joinless.enumerate_deltas(tables.session.sql(sql), output="weight"), "cp")


def violated(tables: Folders, sql: str = WANTED) -> str:
    """The message of a batch that must fail, after which the last complete one is as it was."""
    commits = tables.contents("cp/commits")
    with pytest.raises(PySparkException) as raised:
        changes(tables, sql)
    assert raised.value.getCondition() == "JOINLESS_KEY_VIOLATION"
    assert raised.value.getSqlState() == "23505"
    assert tables.contents("cp/commits") == commits
    return str(raised.value)


def corrected(tables: Folders, table: str, rows: Iterable[tuple[Any, ...]], schema: str) -> None:
    """Replaces the rows of the newest file of a table."""
    files = sorted(tables.at(table).glob("*.parquet"), key=lambda file: file.stat().st_mtime_ns)
    tables.put("corrections", rows, schema)
    [made] = tables.at("corrections").glob("*.parquet")
    shutil.move(made, files[-1])
    shutil.rmtree(tables.at("corrections"))
    (files[-1].parent / f".{files[-1].name}.crc").unlink(missing_ok=True)


def test_a_second_row_of_an_append_only_stream(tables: Folders) -> None:
    people(tables)
    tables.put("people", [(1, "Oslo"), (2, "Rome"), (None, "Bern")], PERSON)
    assert changes(tables) == [(1, "Oslo", "tea", 1), (2, "Rome", "rice", 1), (2, "Rome", "salt", 1)]
    tables.put("people", [(3, "Paris"), (2, "Lima")], PERSON)
    assert "people has the key id, and 2 rows with id=2." in violated(tables)
    corrected(tables, "people", [(3, "Paris"), (4, "Lima")], PERSON)
    tables.put("orders", [(4, "oil"), (2, "wine")], ORDER)
    assert changes(tables) == [(2, "Rome", "wine", 1), (4, "Lima", "oil", 1)]


@pytest.mark.parametrize("row", [(2, "Rome"), (None, "Bern")], ids=["an equal row", "NULL is a value"])
def test_rows_that_are_no_other_rows(tables: Folders, row: tuple[Any, ...]) -> None:
    people(tables)
    tables.put("people", [(2, "Rome"), (None, "Bern")], PERSON)
    assert len(changes(tables)) == 2
    tables.put("people", [row], PERSON)
    violated(tables)


def test_two_rows_in_the_first_batch(tables: Folders) -> None:
    people(tables)
    tables.put("people", [(7, "Rome")], PERSON)
    tables.put("people", [(7, "Oslo")], PERSON)
    assert "id=7" in violated(tables)


def test_an_update_in_a_batch_is_no_violation(tables: Folders) -> None:
    people(tables, CHANGE)
    tables.put("people", [(1, "Oslo", "insert"), (2, "Rome", "insert")], CHANGE)
    assert len(changes(tables)) == 3
    tables.put("people", [(1, "Bern", "insert"), (1, "Oslo", "delete"), (2, "Rome", "delete")], CHANGE)
    moved = [(1, "Bern", "tea", 1), (1, "Oslo", "tea", -1)]
    assert changes(tables) == [*moved, (2, "Rome", "rice", -1), (2, "Rome", "salt", -1)]
    tables.put("people", [(2, "Rome", "insert"), (1, "Bern", "delete"), (1, "Bern", "insert")], CHANGE)
    assert changes(tables) == [(2, "Rome", "rice", 1), (2, "Rome", "salt", 1)]


def test_a_second_row_of_a_changelog(tables: Folders) -> None:
    people(tables, CHANGE)
    tables.put("people", [(1, "Oslo", "insert")], CHANGE)
    assert len(changes(tables)) == 1
    tables.put("people", [(1, "Bern", "update_after")], CHANGE)
    assert "2 rows with id=1" in violated(tables)
    assert "2 rows with id=1" in violated(tables)
    corrected(tables, "people", [(1, "Oslo", "update_before"), (1, "Bern", "update_after")], CHANGE)
    assert changes(tables) == [(1, "Bern", "tea", 1), (1, "Oslo", "tea", -1)]


def test_a_composite_key(tables: Folders) -> None:
    people(tables, key=["city", "id"])
    tables.put("people", [(1, "Oslo"), (1, "Rome")], PERSON)
    assert len(changes(tables)) == 2
    tables.put("people", [(1, "Rome")], PERSON)
    assert "the key city, id, and 2 rows with city=Rome, id=1" in violated(tables)


def test_rows_that_the_query_does_not_read_are_checked(tables: Folders) -> None:
    people(tables)
    sql = "SELECT o.item FROM people p JOIN orders o ON o.person = p.id WHERE p.city = 'Oslo' AND p.id < 5"
    tables.put("people", [(1, "Oslo"), (9, "Rome")], PERSON)
    assert changes(tables, sql) == [("tea", 1)]
    tables.put("people", [(9, "Bern")], PERSON)
    violated(tables, sql)


@pytest.mark.parametrize(
    "sql",
    ["SELECT COUNT(*) AS n FROM people", "SELECT 1 AS one FROM people", "SELECT DISTINCT id FROM people"],
)
def test_queries_that_read_no_column(tables: Folders, sql: str) -> None:
    people(tables)
    tables.put("people", [(1, "Oslo"), (9, "Rome")], PERSON)
    assert changes(tables, sql)
    tables.put("people", [(9, "Bern")], PERSON)
    violated(tables, sql)


def test_rows_of_a_key_meet_however_the_join_places_them(tables: Folders) -> None:
    """The join is by another column, so two rows of a key are in different cells."""
    people(tables)
    tables.session.conf.set("spark.sql.shuffle.partitions", "4")
    tables.put("places", [(f"c{i}", i) for i in range(20)], "city string, zip long")
    tables.stream("places", "city string, zip long")
    sql = "SELECT p.id, q.zip FROM people p JOIN places q ON p.city = q.city"
    tables.put("people", [(i, f"c{i}") for i in range(10)], PERSON)
    assert len(changes(tables, sql)) == 10
    tables.put("people", [(3, "c15")], PERSON)
    assert "id=3" in violated(tables, sql)


def test_zeros_are_one_key(tables: Folders) -> None:
    schema = "x double, v long"
    joinless.key(tables.stream("points", schema), "x").createOrReplaceTempView("points")
    sql = "SELECT x, v FROM points"
    tables.put("points", [(-0.0, 1), (float("nan"), 2)], schema)
    found = changes(tables, sql)
    assert sorted(str(row[0]) for row in found) == ["-0.0", "nan"]
    tables.put("points", [(0.0, 3)], schema)
    violated(tables, sql)


def test_equal_values_of_a_collation_are_one_key(tables: Folders) -> None:
    stream = tables.stream("t", "name string, v long").selectExpr("name COLLATE UTF8_LCASE AS name", "v")
    joinless.key(stream, "name").createOrReplaceTempView("t")
    tables.put("t", [("Ann", 1)], "name string, v long")
    assert changes(tables, "SELECT * FROM t") == [("Ann", 1, 1)]
    tables.put("t", [("ANN", 1)], "name string, v long")
    assert "name=A" in violated(tables, "SELECT * FROM t")


@pytest.mark.parametrize("view", ["people", "changing"])
def test_a_query_that_takes_over_rows_has_their_keys(tables: Folders, view: str) -> None:
    """Rows of a changelog are taken from the block below the check, others are read again."""
    people(tables)
    joinless.key(joinless.changelog(tables.stream("changing", CHANGE)), "id").createOrReplaceTempView("changing")
    tables.put("people", [(1, "Oslo")], PERSON)
    tables.put("changing", [(1, "Oslo", "insert")], CHANGE)
    old, new = (WANTED.replace("people", view) + where for where in ("", " WHERE p.id < 9"))
    assert changes(tables, old) == [(1, "Oslo", "tea", 1)]
    joinless.evolve(str(tables.at("cp")), tables.session.sql(new), str(tables.at("evolved")))
    tables.put("people", [(1, "Bern")], PERSON)
    tables.put("changing", [(1, "Bern", "insert")], CHANGE)
    with pytest.raises(PySparkException, match=r"JOINLESS_KEY_VIOLATION.*2 rows with id=1"):
        tables.run(joinless.enumerate_deltas(tables.session.sql(new), output="weight"), "evolved")


def test_another_key_is_another_query(tables: Folders) -> None:
    people(tables)
    tables.put("people", [(1, "Oslo")], PERSON)
    assert changes(tables)
    people(tables, key=["id", "city"])
    with pytest.raises(PySparkException, match=r"JOINLESS_STATE_MISMATCH"):
        changes(tables)


def test_the_complete_result(tables: Folders) -> None:
    people(tables)
    tables.put("people", [(1, "Oslo")], PERSON)
    assert changes(tables)
    query: DataFrame = tables.session.sql(WANTED)
    full = joinless.enumerate_full(query, checkpoint=str(tables.at("cp")))
    assert [tuple(row) for row in full.collect()] == [(1, "Oslo", "tea")]


def keyed(stream: DataFrame, *columns: str) -> DataFrame:
    """The mark without the checks of arguments in Python, which refuse an empty key before."""
    return joinless.key(stream, list(columns))


@pytest.mark.parametrize(
    ("condition", "act"),
    [
        ("KEY.COLUMN_NOT_FOUND", lambda s: keyed(s, "ID2")),
        ("KEY.COLUMN_TWICE", lambda s: keyed(s, "id", "ID")),
        ("KEY.COLUMN_TYPE", lambda s: keyed(s, "tags")),
        ("KEY.COLUMN_AMBIGUOUS", lambda s: keyed(s.selectExpr("*", "1 AS id"), "id")),
        ("KEY.TWICE", lambda s: keyed(keyed(s, "id"), "at")),
        ("KEY.BELOW", lambda s: joinless.expire(keyed(s, "id"), "at", "1 hour")),
        ("NOT_STREAMING", lambda s: keyed(s.sparkSession.range(3), "id")),
    ],
)
def test_keys_that_cannot_be_declared_are_named(
    tables: Folders, condition: str, act: Callable[[DataFrame], DataFrame]
) -> None:
    stream = tables.stream("t", "id long, tags map<string, string>, at timestamp").withWatermark("at", "1 minute")
    with pytest.raises(PySparkException) as refused:
        act(stream)
    assert refused.value.getCondition() == f"JOINLESS_{condition}"
    # as the errors advise
    timed = joinless.key(joinless.expire(stream, "at", "1 hour"), ["id", "at"])
    assert tables.run(joinless.enumerate_deltas(timed), "advised") == []


def test_queries_that_check_no_key_are_refused(tables: Folders) -> None:
    people(tables)
    joined = tables.session.sql(WANTED)
    [reason] = [r for r in joinless.why_not(joined) if r.code == "CHANGES_NOT_REQUESTED"]
    assert "a declared key" in str(reason)
    final = joinless.enumerate_deltas(joined, emit="on_close")
    for query in (joined, final, tables.stream("people", PERSON).transform(joinless.key, "id")):
        with pytest.raises(PySparkException) as refused:
            tables.run(query, "plain")
        assert refused.value.getCondition() == "JOINLESS_KEY.NO_CHANGES"
    later = tables.stream("t", "id long, at timestamp").transform(joinless.key, "id").withWatermark("at", "1 minute")
    with pytest.raises(PySparkException) as refused:
        tables.run(joinless.enumerate_deltas(later), "later")
    assert refused.value.getCondition() == "JOINLESS_KEY.BELOW"


def test_explain_has_the_class_of_the_query_with_its_keys(tables: Folders) -> None:
    joinless.changelog(tables.stream("people", CHANGE)).createOrReplaceTempView("people")
    cities = joinless.changelog(tables.stream("cities", "name string, country string, _change_type string"))
    sql = "SELECT o.item, c.country FROM orders o JOIN people p ON o.person = p.id JOIN cities c ON p.city = c.name"
    cities.createOrReplaceTempView("cities")
    assert "class free-connex\n" in joinless.explain(tables.session.sql(sql)).text
    people(tables, CHANGE)
    joinless.key(cities, "name").createOrReplaceTempView("cities")
    text = joinless.explain(tables.session.sql(sql)).text
    assert "class free-connex; q-hierarchical by the keys p (id), c (name)" in text
    assert "(rows of p refer to c), O(lambda) otherwise" in text
    assert "Groups: the only row by the key name" in text


def test_the_keys_of_groups_count_as_well(tables: Folders) -> None:
    tables.stream("people", PERSON)
    tables.stream("cities", "name string, country string")
    sql = """SELECT o.item, c.n FROM orders o JOIN (SELECT id, MAX(city) AS city FROM people GROUP BY id) p
             ON o.person = p.id JOIN (SELECT name, COUNT(*) AS n FROM cities GROUP BY name) c ON p.city = c.name"""
    text = joinless.explain(joinless.enumerate_deltas(tables.session.sql(sql))).text
    assert "; q-hierarchical by the keys groups (id), groups_2 (name)" in text


def test_outer_joins_subqueries_and_groups_over_keys(tables: Folders) -> None:
    people(tables, CHANGE)
    sql = """SELECT p.city, COUNT(o.item) AS n FROM people p LEFT JOIN orders o ON o.person = p.id
             WHERE p.id IN (SELECT person FROM orders) OR p.id > 5 GROUP BY p.city"""
    tables.put("people", [(1, "Oslo", "insert"), (9, "Rome", "insert"), (4, "Bern", "insert")], CHANGE)
    assert changes(tables, sql) == [("Oslo", 1, 1), ("Rome", 0, 1)]
    tables.put("people", [(1, "Oslo", "delete"), (1, "Rome", "insert")], CHANGE)
    assert changes(tables, sql) == [("Oslo", 1, -1), ("Rome", 0, -1), ("Rome", 1, 1)]
    tables.put("people", [(4, "Rome", "insert")], CHANGE)
    violated(tables, sql)


def test_a_view_over_a_table_with_a_key(spark: SparkSession, tmp_path: Path) -> None:
    """It is the key of the view, checked in each batch, and left out by `verify`."""
    text = "SELECT id, n FROM key(TABLE(orders), id)"
    with database(spark, "keyed", tmp_path / "keyed"):
        spark.sql("CREATE TABLE orders (id INT, n INT) USING delta")
        spark.sql("INSERT INTO orders VALUES (1, 5), (2, 7)").collect()
        spark.sql("ALTER TABLE orders SET TBLPROPERTIES (delta.enableChangeDataFeed = true)").collect()
        assert "the key id" in joinless.explain(text).text
        kept(text, "v")
        spark.sql("UPDATE orders SET n = 6 WHERE id = 1").collect()
        kept(text, "v")
        assert sorted(spark.table("v").collect()) == [(1, 6), (2, 7)]
        assert joinless.verify("v").is_equal
        spark.sql("INSERT INTO orders VALUES (1, 6)").collect()
        query = joinless.materialize(text, "v", trigger="availableNow")
        with pytest.raises(PySparkException):
            query.awaitTermination()
        error = joinless.error(query)
        assert error is not None
        assert error.getCondition() == "JOINLESS_KEY_VIOLATION"
        assert "orders has the key id, and 2 rows with id=1." in str(error)


def test_in_sql(tables: Folders) -> None:
    tables.stream("people", PERSON)
    tables.put("people", [(1, "Oslo")], PERSON)
    sql = "SELECT p.id, o.item FROM key(TABLE(people), (id, city)) p JOIN orders o ON o.person = p.id"
    assert changes(tables, sql) == [(1, "tea", 1)]
    tables.put("people", [(1, "Oslo")], PERSON)
    assert "the key id, city" in violated(tables, sql)
