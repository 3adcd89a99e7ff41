"""`apply_changes` alone: hand-made changes are applied to Delta tables, and a bag in
Python has the expected rows.
"""

from __future__ import annotations

import random
import re
import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import joinless
from support.target import Changes, Row, Target


@pytest.fixture
def target(spark: SparkSession, tmp_path: Path) -> Target:
    return Target(spark.newSession(), tmp_path)


def random_rows(rng: random.Random, n: int) -> list[Row]:
    """Few values, so that equal rows recur; NULL and NaN among them."""
    xs = [None, 0.5, float("inf"), 3.0]
    return [(rng.choice([None, 1, 2, 3]), rng.choice([None, "", "a", "b`c"]), rng.choice(xs)) for _ in range(n)]


def test_random_changes_without_a_key_keep_the_bag(target: Target) -> None:
    rng = random.Random(5)
    for batch_id in range(4):
        changes: Changes = [(row, rng.randint(1, 3)) for row in random_rows(rng, 12)]
        there = [row for row, n in target.rows.items() if n]
        changes += [(row, -rng.randint(1, target.rows[row])) for row in rng.sample(there, len(there) // 2)]
        rng.shuffle(changes)
        df = target.changes(changes, rng.choice(["change_type", "weight"]))
        joinless.apply_changes(target.name, app_id="writer")(df, batch_id)
        target.check()
        if batch_id % 2:
            version = target.version()
            joinless.apply_changes(target.name, app_id="writer")(df, batch_id)
            assert target.version() == version


@pytest.mark.parametrize("key", ["k", ["K", "an odd {name}"]], ids=["one", "composite"])
def test_random_changes_with_a_key_become_updates(target: Target, key: str | list[str]) -> None:
    rng = random.Random(7)
    apply = joinless.apply_changes(target.name, key, app_id="writer")
    width = 1 if isinstance(key, str) else 2

    def key_of(row: Row) -> Row:
        return row[:width]

    for batch_id in range(3):
        old = {key_of(row): row for row, n in target.rows.items() if n}
        changes: Changes = []
        for row in {key_of(row): row for row in random_rows(rng, 4)}.values():
            if key_of(row) in old:
                changes.append((old[key_of(row)], -1))
            if key_of(row) not in old or rng.random() < 0.7:
                changes.append((row, 1))
        rng.shuffle(changes)
        df = target.changes(changes, rng.choice(["change_type", "weight"]))
        apply(df, batch_id)
        apply(df, batch_id)
        target.check()


def test_batch_0_over_a_target_that_is_not_empty_is_refused_and_writes_nothing(
    target: Target, subtests: pytest.Subtests
) -> None:
    there: Row = (1, "a", 0.5)
    target.insert(there)
    version = target.version()
    batches: dict[str, tuple[Changes, str | None]] = {
        "the same row": ([(there, 1)], None),
        "the same row under a key": ([(there, 1)], "k"),
        "another row under a key": ([((2, "b", None), 1)], "k"),
        "a delete": ([(there, -1)], None),
        "nothing": ([], None),
    }
    for name, (changes, key) in batches.items():
        with subtests.test(name):
            with pytest.raises(joinless.ApplyChangesError) as refused:
                joinless.apply_changes(target.name, key, app_id="writer")(target.changes(changes), 0)
            assert refused.value.getCondition() == "JOINLESS_APPLY_CHANGES.TARGET_NOT_EMPTY"
            assert f"DELETE FROM {target.name}" in str(refused.value)
    assert target.version() == version
    target.rows = Counter([there])
    for app_id in ("one", "two"):
        joinless.apply_changes(target.name, app_id=app_id, shared=True)(target.changes([((2, "b", None), 1)]), 0)
    target.check()


@pytest.mark.parametrize("key", [None, "k"])
def test_zeros_keep_their_sign(target: Target, key: str | None) -> None:
    def bits(rows: Iterable[Row]) -> list[tuple[Any, str]]:
        return sorted((k, repr(x)) for k, _, x in rows)

    def apply(batch_id: int, *changes: tuple[Row, int]) -> None:
        joinless.apply_changes(target.name, key, app_id="writer")(target.changes(changes), batch_id)

    nan = float("nan")
    apply(0, ((1, "a", -0.0), 1), ((2, "a", 0.0), 1), ((3, "a", -0.0), 1), ((4, "a", nan), 1))
    assert bits(target.session.table(target.name).collect()) == [(1, "-0.0"), (2, "0.0"), (3, "-0.0"), (4, "nan")]
    apply(1, ((1, "a", -0.0), -1), ((1, "a", 0.0), 1), ((3, "a", -0.0), -1), ((4, "a", nan), -1))
    assert bits(target.session.table(target.name).collect()) == [(1, "0.0"), (2, "0.0")]
    with pytest.raises(joinless.ApplyChangesError, match=r"ROW_NOT_IN_TARGET\].*-0\.0"):
        apply(2, ((1, "a", -0.0), -1))
    if key is None:
        apply(2, ((1, "a", -0.0), 2))
        apply(3, ((1, "a", -0.0), -1))
        assert bits(target.session.table(target.name).collect()) == [(1, "-0.0"), (1, "0.0"), (2, "0.0")]


def test_names_and_spellings_of_others_are_understood(target: Target) -> None:
    apply = joinless.apply_changes(target.name, "K", app_id="writer")
    rows = [(0.5, 1, "a", "INSERT"), (0.5, 2, "b", "update_AFTER"), (2.0, 3, None, "update_postimage")]
    apply(target.session.createDataFrame(rows, "X double, K int, `an odd {name}` string, _change_type string"), 0)
    rows = [(0.5, 1, "a", "Delete"), (0.5, 2, "b", "UPDATE_BEFORE"), (2.0, 3, None, "update_preimage")]
    rows += [(9.0, 2, "b", "update_after")]
    apply(target.session.createDataFrame(rows, "X double, K int, `an odd {name}` string, _change_type string"), 1)
    target.rows = Counter([(2, "b", 9.0)])
    target.check()


def test_batches_without_a_net_change_touch_nothing(target: Target) -> None:
    row = (1, "a", 0.5)
    for batch_id, changes in enumerate(([], [(row, 1), (row, -1)])):
        joinless.apply_changes(target.name, app_id="writer")(target.changes(changes), batch_id)
        joinless.apply_changes(target.name, "k", app_id="writer")(target.changes(changes), batch_id)
    assert target.version() == 1  # batch 0 has recorded who fills the table


def test_a_table_that_two_queries_found_empty_belongs_to_the_later_one(target: Target) -> None:
    def apply(writer: str, batch_id: int, *changes: tuple[Row, int], shared: bool = False) -> None:
        apply = joinless.apply_changes(target.name, app_id=writer, shared=shared)
        apply(target.changes(changes, "weight"), batch_id)

    one, two, three = (1, "a", 0.5), (2, "b", None), (3, "c", 1.5)
    apply("it's one", 0)
    apply("two", 0)
    apply("two", 0)  # runs again
    with pytest.raises(joinless.ApplyChangesError) as refused:
        apply("it's one", 1, (one, 1))
    assert refused.value.getCondition() == "JOINLESS_APPLY_CHANGES.TARGET_TAKEN"
    assert "The writer it's one fills" in str(refused.value)
    assert "a later one, two, has begun" in str(refused.value)
    target.rows.clear()
    apply("two", 1, (one, 1))
    apply("others", 0, (three, 1), shared=True)
    apply("two", 2, (one, -1), (two, 2))
    target.check()
    # emptied by its writer, it can be begun by another one, whose first batch has rows
    apply("others", 1, (three, -1), shared=True)
    apply("two", 3, (two, -2))
    apply("it's three", 0, (one, 1))
    with pytest.raises(joinless.ApplyChangesError, match="a later one, it's three,"):
        apply("two", 4, (one, 1))
    target.rows[one] -= 1
    target.check()


def test_a_batch_counts_once_per_app_id_and_leaves_no_setting_behind(target: Target) -> None:
    df = target.changes([((1, "a", 0.5), 2)])
    for app_id in ("one", "two", "one"):
        joinless.apply_changes(target.name, app_id=app_id)(df, 3)
    joinless.apply_changes(target.name, app_id="one")(df, 2)  # older than the last one: applied long ago
    target.rows[1, "a", 0.5] = 4
    target.check()
    assert target.session.conf.get("spark.databricks.delta.write.txnVersion", None) is None


def test_other_writes_of_the_session_are_not_in_its_transaction(target: Target) -> None:
    """Delta would skip the second one of them as a repetition."""
    df, seen = target.changes([((1, "a", 0.5), 2)]), set()
    writing = threading.Thread(target=lambda: joinless.apply_changes(target.name, app_id="one")(df, 0))
    writing.start()
    while writing.is_alive():
        seen.add(target.session.conf.get("spark.databricks.delta.write.txnAppId", None))
    assert seen == {None}
    target.check()


#: The rows of the target in the tests of refusals.
THERE: list[Row] = [(1, "a", 0.5), (2, "b", None), (None, "c", 0.5)]

#: Name: changes, key, condition, values in the message.
REFUSED: dict[str, tuple[Changes, str | None, str, tuple[str, ...]]] = {
    "absent": ([((7, "a", 0.5), -1), ((8, "b", 0.5), 1)], None, "ROW_NOT_IN_TARGET", ("holds 0", '"k":7')),
    "too many copies": ([((2, "b", None), -3)], None, "ROW_NOT_IN_TARGET", ("holds 1", "-3", '"x":null')),
    "absent under a key": ([((7, "a", 0.5), -1), ((8, "a", 0.5), 1)], "k", "ROW_NOT_IN_TARGET", ('"k":7',)),
    "other row under the key": ([((1, "z", 0.5), -1)], "k", "ROW_NOT_IN_TARGET", ('"z"',)),
    "update of another row": ([((1, "z", 0.5), -1), ((1, "c", 0.5), 1)], "k", "ROW_NOT_IN_TARGET", ('"z"',)),
    "two inserts of a key": ([((7, "a", 0.5), 1), ((7, "b", 0.5), 1)], "k", "KEY_NOT_UNIQUE", ("2 insertions",)),
    "two copies of a row": ([((7, "a", 0.5), 2)], "k", "KEY_NOT_UNIQUE", ('"k":7', "2 insertions")),
    "key that stays": ([((None, "b", 0.5), 1)], "k", "KEY_NOT_UNIQUE", ('"k":null', "row of the target")),
    "key twice in the target": ([((7, "a", 0.5), 1)], "x", "KEY_NOT_UNIQUE", ('"x":0.5', "2 rows")),
    "no such key": ([((7, "a", 0.5), 1)], "z", "UNKNOWN_KEY", ("z", "an odd {name}")),
}


def test_what_would_make_the_target_wrong_is_refused_and_writes_nothing(
    target: Target, subtests: pytest.Subtests
) -> None:
    target.insert(*THERE)
    version, before = target.version(), target.rows.copy()
    for name, (changes, key, condition, values) in REFUSED.items():
        with subtests.test(name):
            df = target.changes(changes)
            with pytest.raises(joinless.ApplyChangesError) as refused:
                joinless.apply_changes(target.name, key, app_id="writer")(df, 1)
            assert refused.value.getCondition() == f"JOINLESS_APPLY_CHANGES.{condition}"
            for value in (*values, target.path):
                assert value in str(refused.value)
            assert "<" not in str(refused.value)
    target.rows = before
    target.check()
    assert target.version() == version


#: Name: a batch, and the message of its refusal.
UNFIT = {
    "missing column": (
        "SELECT 1 AS k, 0.5D AS x, 'insert' AS _change_type",
        r"COLUMNS_DIFFER\].*the target .* has \(`k`",
    ),
    "column too many": ("SELECT *, 1 AS y, 'insert' AS _change_type FROM target", r"COLUMNS_DIFFER\]"),
    "other type": (
        "SELECT 1L AS k, `an odd {name}`, x, 1L AS _weight FROM target",
        r"COLUMNS_DIFFER\].*`k` BIGINT.*`k` INT",
    ),
    "a name twice": ("SELECT k, k, 0.5D AS x, 1L AS _weight FROM target", r"COLUMNS_DIFFER\]"),
    "no change column": ("SELECT * FROM target", r"NO_CHANGES\]"),
    "two change columns": ("SELECT *, 1L AS _weight, 'insert' AS _change_type FROM target", r"NO_CHANGES\]"),
    "unknown type": ("SELECT *, 'upsert' AS _change_type FROM target", r"UNKNOWN_CHANGE_TYPE\] .* says upsert,"),
    "NULL type": ("SELECT *, NULL AS _change_type FROM target", r"UNKNOWN_CHANGE_TYPE\] .* says NULL,"),
    "weight that is no whole number": (
        "SELECT *, 1.5D AS _weight FROM target",
        r"UNKNOWN_CHANGE_TYPE\].* says a weight of type DOUBLE,",
    ),
    "NULL weight": (
        "SELECT *, CAST(NULL AS INT) AS _weight FROM target",
        r"UNKNOWN_CHANGE_TYPE\] .* says NULL weight,",
    ),
}


def test_batches_that_do_not_fit_are_refused(target: Target, subtests: pytest.Subtests) -> None:
    target.insert(*THERE)
    target.session.table(target.name).createOrReplaceTempView("target")
    for name, (sql, message) in UNFIT.items():
        with subtests.test(name), pytest.raises(joinless.ApplyChangesError, match=message):
            joinless.apply_changes(target.name, app_id="writer")(target.session.sql(sql), 1)
    target.check()


def test_targets_that_cannot_be_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    df = session.createDataFrame([(1, "insert")], "k int, _change_type string")
    with pytest.raises(joinless.ApplyChangesError, match=r"TARGET_NOT_FOUND\].*\(`k` INT\) USING delta"):
        joinless.apply_changes("no_such_table", app_id="writer")(df, 0)
    with pytest.raises(joinless.ApplyChangesError, match=r"NO_APP_ID\]"):
        joinless.apply_changes("no_such_table")(df, 0)
    session.createDataFrame([(1,)], "k int").write.parquet(str(tmp_path / "files"))
    with pytest.raises(joinless.ApplyChangesError, match=r"TARGET_NOT_DELTA\]"):
        joinless.apply_changes(f"parquet.`{tmp_path}/files`", app_id="writer")(df, 0)
    target = Target(session, tmp_path, "k int, m map<string, int>")
    df = session.sql("SELECT 1 AS k, map('a', 1) AS m, 'insert' AS _change_type")
    with pytest.raises(joinless.ApplyChangesError, match=r"UNSUPPORTED_TYPE\].*column m of type map<string,int>"):
        joinless.apply_changes(target.name, app_id="writer")(df, 0)


@pytest.mark.parametrize("kind", ["CHAR(5)", "ARRAY<STRUCT<y: CHAR(5)>>", "VARCHAR(5)"])
def test_columns_that_pad_their_values_are_refused(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    session, name = spark.newSession(), f"delta.`{tmp_path}/target`"
    session.sql(
        f"CREATE TABLE {name} (k INT, `a c` {kind}) USING delta TBLPROPERTIES (delta.columnMapping.mode='name')"
    )
    plain = re.sub(r"(VAR)?CHAR\(5\)", "STRING", kind)
    value = "array(named_struct('y', 'ab'))" if "STRUCT" in kind else "'ab'"
    for batch_id, change in enumerate(["insert", "delete"]):
        df = session.sql(f"SELECT 1 AS k, CAST({value} AS {plain}) AS `a c`, '{change}' AS _change_type")
        if kind == "VARCHAR(5)":
            joinless.apply_changes(name, app_id="writer")(df, batch_id)
            assert session.table(name).count() == 1 - batch_id
        else:
            with pytest.raises(joinless.ApplyChangesError, match=r"PADDED_TYPE\].* The column a c .*\bchar\(5\)"):
                joinless.apply_changes(name, app_id="writer")(df, batch_id)


def test_columns_with_parts_that_are_not_null_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    session, name = spark.newSession(), f"delta.`{tmp_path}/target`"
    session.sql(f"CREATE TABLE {name} (k INT NOT NULL, s STRUCT<a: INT NOT NULL>) USING delta")
    df = session.sql("SELECT 1 AS k, named_struct('a', CAST('1' AS INT)) AS s, 'insert' AS _change_type")
    df = session.createDataFrame(df.collect(), "k INT, s STRUCT<a: INT>, _change_type STRING")
    with pytest.raises(joinless.ApplyChangesError, match=r"NOT_NULL_PART\].* STRUCT<a: INT NOT NULL>"):
        joinless.apply_changes(name, app_id="writer")(df, 0)


#: Types of partition columns: values that Delta preserves, and those that it reads as others.
#: Clocks in Rome have the hour from two to three twice on 25 October 2020; midnight of year 1 there
#: is year 0 in UTC.
PARTITIONS = {
    "STRING": (["' '", "'a/b=c%:'", "'null'", "'ü'", "NULL"], ["''", "'__HIVE_DEFAULT_PARTITION__'", "X'FF'"]),
    "TIMESTAMP": (
        ["timestamp_micros(1603585800000001)", "TIMESTAMP'1850-06-01 12:00:00.000001'"],
        ["timestamp_micros(1603589400000000)", "TIMESTAMP'0001-01-01 00:00:00'"],
    ),
    "BINARY": (["X'61'", "X'C3BC'", "NULL"], ["X''", "X'FF'"]),
    "TIMESTAMP_NTZ": (["TIMESTAMP_NTZ'1582-10-10 00:00:00.000001'", "NULL"], []),
    "DATE": (["DATE'0001-01-01'", "DATE'1582-10-10'"], []),
    "DOUBLE": (["DOUBLE('NaN')", "-0.0D", "4.9E-324D"], []),
}


@pytest.mark.parametrize("key", [None, "k"], ids=["bag", "key"])
def test_values_that_a_partition_does_not_keep_are_refused(
    spark: SparkSession, tmp_path: Path, key: str | None
) -> None:
    session, name = spark.newSession(), f"delta.`{tmp_path}/target`"
    session.conf.set("spark.sql.session.timeZone", "Europe/Rome")
    columns = {f"p{i}": kind for i, kind in enumerate(PARTITIONS)}
    ddl = ", ".join(f"{column} {kind}" for column, kind in columns.items())
    session.sql(f"CREATE TABLE {name} (k INT, {ddl}) USING delta PARTITIONED BY ({', '.join(columns)})")
    kept = [{c: PARTITIONS[kind][0][i % len(PARTITIONS[kind][0])] for c, kind in columns.items()} for i in range(5)]

    def batch(rows: list[dict[str, str]], change: str) -> DataFrame:
        cells = [[f"CAST({row[column]} AS {kind}) AS {column}" for column, kind in columns.items()] for row in rows]
        texts = [f"SELECT {i} AS k, {', '.join(row)}, '{change}' AS _change_type" for i, row in enumerate(cells)]
        return session.sql(" UNION ALL ".join(texts))

    apply = joinless.apply_changes(name, key, app_id="writer")
    for column, kind in columns.items():
        for value in PARTITIONS[kind][1]:
            with pytest.raises(joinless.ApplyChangesError, match=rf'VALUE_NOT_KEPT\] .*the value \{{"{column}":'):
                apply(batch([*kept, {**kept[0], column: value}], "insert"), 0)
    assert session.table(name).count() == 0
    for batch_id, change in enumerate(["insert", "delete"]):
        apply(batch(kept, change), batch_id)
        assert session.table(name).count() == (0 if batch_id else len(kept))
