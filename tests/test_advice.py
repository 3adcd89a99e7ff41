"""The advice of every error works, followed to the letter: each case of bad input is
corrected as its text says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import joinless
from conftest import ROOT
from joinless.errors import PACKAGE
from support.bad_corpus import CASES
from support.bad_input import PAIR, Bad
from support.world import FEED, PATH, World, unfinished

BAD = {bad.name: bad for bad in CASES}

SEMI = "SELECT a.src FROM e a JOIN e b ON a.dst = b.src LEFT SEMI JOIN e c ON b.dst = c.src"
IN_SUBQUERY = "SELECT src FROM e WHERE dst IN (SELECT src FROM e)"


def fresh(w: World) -> StreamingQuery:
    """The query with a new checkpoint."""
    return w.run(w.session.sql(PATH))


def copied(w: World) -> StreamingQuery:
    """The query with a copy of its checkpoint."""
    checkpoint = unfinished(w.copy())
    return w.run(w.session.sql(PATH), checkpoint)


def unset(w: World, *names: str) -> SparkSession:
    for name in names:
        w.session.conf.unset(f"spark.joinless.{name}")
    return w.session


TIMED = "src AS k, timestamp_seconds(dst) AS at"


def timed(w: World, columns: str = TIMED) -> DataFrame:
    return w.session.table("e").selectExpr(*columns.split(", "))


def aged(df: DataFrame) -> DataFrame:
    return joinless.expire(df, "at", "1 hour")


#: Cases that the corpus lacks, since other tests cover them.
MORE = [
    Bad(
        "changelog: both",
        "JOINLESS_CHANGE_COLUMN.TWO_GIVEN",
        None,
        "",
        lambda w: joinless.changelog(w.feed, "_change_type", weight="amount"),
    ),
    Bad(
        "expire: two of the name",
        "JOINLESS_EXPIRY.AMBIGUOUS",
        None,
        "",
        lambda w: aged(timed(w, f"{TIMED}, timestamp_seconds(src) AS at")),
    ),
    Bad("expire: a number", "JOINLESS_EXPIRY.NOT_A_TIMESTAMP", None, "", lambda w: aged(timed(w, "dst AS at"))),
    Bad("expire: no watermark", "JOINLESS_EXPIRY.NO_WATERMARK", None, "", lambda w: aged(timed(w))),
    Bad(
        "expire: twice",
        "JOINLESS_EXPIRY.TWICE",
        None,
        "",
        lambda w: aged(aged(timed(w).withWatermark("at", "1 hour"))),
    ),
    Bad(
        "not started",
        "JOINLESS_STREAM_NOT_STARTED",
        None,
        "",
        lambda w: joinless.enumerate_deltas(w.session.sql(PAIR)).collect(),
    ),
    Bad(
        "state: another filter",
        "JOINLESS_STATE_MISMATCH.FILTER",
        None,
        "",
        lambda w: w.run(joinless.enumerate_deltas(w.session.sql(f"{PAIR} AND o.amount > 0")), begun(w)),
    ),
]


def begun(w: World) -> Path:
    """A checkpoint of changes."""
    checkpoint = w.folder / "begun"
    if not checkpoint.exists():
        w.run(joinless.enumerate_deltas(w.session.sql(PAIR)), checkpoint)
    return checkpoint


BAD |= {bad.name: bad for bad in MORE}

#: A case of bad input by its name, and the advice of its error.
ADVICE: dict[str, Callable[[World], object]] = {
    # changelogs
    "changelog: no such column": lambda w: joinless.changelog(w.feed, change_type="_change_type"),
    "changelog: no such weight": lambda w: joinless.changelog(w.feed.selectExpr("*", "1L AS n"), weight="n"),
    "changelog: types are numbers": lambda w: [
        joinless.changelog(w.feed.withColumn("n", F.lit(1)), weight="n"),
        joinless.changelog(w.feed.drop("_change_type").withColumn("amount", F.col("amount").cast("string")), "amount"),
    ],
    "changelog: weights are fractions": lambda w: joinless.changelog(
        w.feed.withColumn("amount", F.col("amount").cast("BIGINT")), weight="amount"
    ),
    "changelog: two of the name": lambda w: joinless.changelog(
        w.feed.selectExpr("'insert' AS _change_type", "_change_type AS op", "id"), "op"
    ),
    "changelog: a table": lambda w: joinless.changelog(w.session.readStream.schema(FEED).csv(str(w.folder / "feed"))),
    "a change type that is none": lambda w: w.changes("insert,1,2"),
    "no weight": lambda w: w.changes("1,1,2", weight=True),
    "one delete too many": lambda w: [
        w.changes("2,1,2", "-2,1,2", weight=True),
        w.at(deleteOfAbsentRow="negative") and w.changes("2,1,2", "-3,1,2", weight=True),
    ],
    "weights beyond 64 bits": lambda w: w.changes("5,1,2", "1,1,2", weight=True),
    "changelog: both": lambda w: [
        joinless.changelog(w.feed, "_change_type"),
        joinless.changelog(w.feed.selectExpr("*", "1L AS n"), weight="n"),
    ],
    # rows that expire
    "expire: two of the name": lambda w: aged(
        timed(w, f"{TIMED}, timestamp_seconds(src) AS other").withWatermark("at", "1 hour")
    ),
    "expire: a number": lambda w: aged(timed(w).withWatermark("at", "1 hour")),
    "expire: no watermark": lambda w: aged(timed(w).withWatermark("at", "1 hour")),
    "expire: twice": lambda w: [
        aged(timed(w).withWatermark("at", "1 hour")),
        joinless.expire(timed(w).withWatermark("at", "1 hour"), "at", "2 hours"),
    ],
    # queries
    "not started": lambda w: w.delta(PAIR),
    "forced: a cycle": lambda w: w.at(mode="auto") and w.run(w.session.sql(PATH)),
    "a stream in a subquery, and no changes requested": lambda w: [
        w.delta(IN_SUBQUERY),
        w.run(
            w.at(mode="force").sql(
                "SELECT a.src FROM e a JOIN e b ON a.dst = b.src LEFT SEMI JOIN e c ON b.dst = c.src"
            )
        ),
    ],
    "a changelog's join as plain rows": lambda w: w.delta(PAIR),
    "a reserved column, types": lambda w: w.delta("SELECT id, 'x' AS kind FROM orders"),
    "a form that is none": lambda w: [
        joinless.enumerate_deltas(w.session.sql(PAIR), output="change_type"),
        joinless.enumerate_deltas(w.session.sql(PAIR), output="weight"),
    ],
    "a form that is none, in SQL": lambda w: [
        w.table(f"incremental_enumerate(TABLE({PAIR}), '{form}')") for form in ("change_type", "weight", "on_close")
    ],
    # settings and states
    "more shares than partitions": lambda w: w.run(unset(w, "placement.shares").sql(PATH)),
    "state: another equi-join condition": lambda w: [copied(w), fresh(w)],
    "state: another output": lambda w: [copied(w), fresh(w)],
    "state: another filter": lambda w: [
        w.run(joinless.enumerate_deltas(w.session.sql(PAIR)), begun(w)),
        w.delta(f"{PAIR} AND o.amount > 0"),
    ],
    "state: a newer format": fresh,
    "state: no such share": lambda w: [copied(w), fresh(w)],
    "state: more stores than cells": lambda w: [copied(w), fresh(w)],
    "state: a delta that is cut off": lambda w: [copied(w), fresh(w)],
    "state: more than the bound": lambda w: w.run(w.at(cache_maxBytes=str(2**30)).sql(PATH)),
    # readings
    "reading: no such folder": lambda w: w.read(w.good),
    "reading: an empty folder": lambda w: w.read(w.good),
    "reading: no file system, by the query": lambda w: w.read(w.good),
    "reading: no such batch": lambda w: w.read(batchId=1),
    "reading: other columns": lambda w: (
        w.session.read.format("joinless").load(str(w.good)).selectExpr("CAST(src AS INT)")
    ),
    "reading: as a stream": lambda w: w.delta(PATH),
    "reading: written to, append": lambda w: w.delta(PATH),
    "changelog in SQL: no table": lambda w: w.table(
        "changelog(TABLE(SELECT src, 'insert' AS _change_type FROM e), _change_type)"
    ),
    "latest in SQL: no order": lambda w: w.table("latest(TABLE(e), src, dst)"),
    "expire in SQL: no table": lambda w: w.table("expire(TABLE(w1), 'w1t', INTERVAL '1' HOUR)"),
    "expire in SQL: a name as time": lambda w: [
        w.table(f"expire(TABLE(w1), 'w1t', '{after}')") for after in ("1 hour", "30 days")
    ],
}

#: Conditions whose advice a test of another file follows, here or in Scala; or why none can.
ELSEWHERE = {
    "JOINLESS_APPLY_CHANGES.COLUMNS_DIFFER": "test_a_view_of_other_columns_or_conditions_works_as_its_error_advises",
    "JOINLESS_EVOLVE.BEGUN": "test_a_query_takes_over_from_another_one_and_both_go_on",
    "JOINLESS_EVOLVE.OTHER_QUERY": "test_a_first_batch_that_is_killed_runs_again",
    "JOINLESS_APPLY_CHANGES.KEY_NOT_UNIQUE": "test_a_key_that_is_not_unique_is_left_out_as_its_error_advises",
    "JOINLESS_APPLY_CHANGES.TARGET_NOT_EMPTY": "test_a_table_that_holds_rows_is_filled_as_its_error_advises",
    "JOINLESS_APPLY_CHANGES.CHECKPOINT_BEHIND": "test_a_checkpoint_that_is_an_older_copy_is_refused",
    "JOINLESS_APPLY_CHANGES.TARGET_REPLACED": "test_a_table_that_was_made_anew_is_refused",
    "JOINLESS_APPLY_CHANGES.TARGET_TAKEN": "test_a_table_that_two_queries_found_empty_belongs_to_the_later_one",
    "JOINLESS_APPLY_CHANGES.NO_APP_ID": "test_a_target_is_made_as_its_errors_say",
    "JOINLESS_APPLY_CHANGES.NO_CHANGES": "test_a_target_is_made_as_its_errors_say",
    "JOINLESS_APPLY_CHANGES.TARGET_NOT_DELTA": "test_a_target_is_made_as_its_errors_say",
    "JOINLESS_APPLY_CHANGES.TARGET_NOT_FOUND": "test_a_target_is_made_as_its_errors_say",
    "JOINLESS_APPLY_CHANGES.UNKNOWN_KEY": "test_a_target_is_made_as_its_errors_say",
    "JOINLESS_APPLY_CHANGES.UNSUPPORTED_TYPE": "test_a_target_is_made_as_its_errors_say",
    "JOINLESS_APPLY_CHANGES.NOT_NULL_PART": "test_columns_with_parts_that_are_not_null_are_refused",
    "JOINLESS_APPLY_CHANGES.PADDED_TYPE": "test_columns_that_pad_their_values_are_refused",
    "JOINLESS_APPLY_CHANGES.VALUE_NOT_KEPT": "test_values_that_a_partition_does_not_keep_are_refused",
    "JOINLESS_APPLY_CHANGES.UNKNOWN_CHANGE_TYPE": "test_names_and_spellings_of_others_are_understood",
    "JOINLESS_APPLY_CHANGES.ROW_NOT_IN_TARGET": "test_views_are_made_and_stay_equal_to_their_queries",
    "JOINLESS_APPLY_CHANGES.TARGET_GONE": "test_a_checkpoint_without_its_table_is_refused",
    "JOINLESS_APPLY_CHANGES.NO_DELTA": "JoinlessCatalogSpec",
    "JOINLESS_ARGUMENT_FAILS": "SummedJoinsSpec",
    "JOINLESS_BATCH_NOT_READ": "test_sinks.py goes on with an action on all rows",
    "JOINLESS_BATCH_NOT_AVAILABLE.CLEANED_UP": "as NOT_COMMITTED",
    "JOINLESS_BATCH_NOT_AVAILABLE.STATE_GONE": "as NOT_COMMITTED",
    "JOINLESS_CONNECT_UNSUPPORTED": "test_a_plain_join_is_rewritten_there_and_the_format_reads_its_result",
    "JOINLESS_CORRUPT_STATE": "as STATE_NOT_LOADED",
    "JOINLESS_COUNT_OVERFLOW.*": "ResultsOnDemandSpec",
    "JOINLESS_DEBEZIUM.*": "test_what_the_errors_of_a_topic_advise_works",
    "JOINLESS_DEBEZIUM_ARGUMENTS.*": "test_a_topic_that_cannot_be_read_as_requested_is_refused",
    "JOINLESS_UPSERTS.*": "test_keys_of_upserts_are_columns_of_the_result_by_which_its_rows_differ",
    "JOINLESS_EXTENSION_NOT_INSTALLED": "ExtensionMissingSpec",
    "JOINLESS_ESTIMATE.*": "test_what_is_no_sample_is_refused",
    "JOINLESS_EXTENSION_NOT_INSTALLED.*": "test_packaging.py makes sessions as they say",
    "JOINLESS_KEY.*": "test_keys_that_cannot_be_declared_are_named",
    "JOINLESS_KEY_VIOLATION": "test_a_second_row_of_a_changelog",
    "JOINLESS_LOOKUP.*": "LookupSpec",
    "JOINLESS_ON_DEMAND.*": "ResultsOnDemandSpec",
    "JOINLESS_PROCEDURE.*": "test_calls_that_are_refused_have_conditions",
    "JOINLESS_QUERY_NOT_FOUND.AMBIGUOUS": "test_a_query_may_be_given_by_name_or_id",
    "JOINLESS_QUERY_NOT_FOUND.NOT_ACTIVE": "test_a_query_may_be_given_by_name_or_id",
    "JOINLESS_RESULT_NOT_RECORDED": "test_full_enumeration.py reads by the query",
    "JOINLESS_ROWS_FORGOTTEN": "the rows are in a table of the user's",
    "JOINLESS_ROWS_NOT_STORED": "test_full_enumeration.py reads by the query that runs",
    "JOINLESS_SAMPLE.*": "test_sizes_out_of_range_are_refused",
    "JOINLESS_SEVERAL_JOINS": "test_full_enumeration.py reads by the number",
    "JOINLESS_SPARK_VERSION": "another Spark than that of the tests",
    "JOINLESS_STATE_MISMATCH.TREE": "as UNREADABLE",
    **{
        f"JOINLESS_APPLY_CHANGES.{what}": "test_targets_and_columns_are_named_as_their_errors_say"
        for what in ("COLUMN_NAME", "TARGET_IS_READ", "TARGET_NAME")
    },
    "JOINLESS_STATIC_TABLE_CHANGED": "StaticTablesSpec",
    "JOINLESS_VIEW.*": "test_what_cannot_be_compared_is_named",
    "JOINLESS_TABLE_FUNCTION_WITH": "test_relations_of_an_outer_with_are_refused",
    "JOINLESS_TABLE.*": "test_texts_that_are_no_query_over_tables_are_refused",
    "JOINLESS_UNKNOWN_CONF": "test_confs_that_do_not_exist_are_refused_when_a_query_starts",
}

#: These errors state what is wrong, or what exists, and no more.
WITHOUT_ADVICE = {
    "JOINLESS_CHANGE_COLUMN.NO_COLUMNS",
    "JOINLESS_CHECKPOINT_NOT_FOUND.NO_JOIN",
    "JOINLESS_EXPIRY.NOT_FOUND",
    "JOINLESS_INVALID_OPTION",
}


@pytest.fixture(scope="module")
def world(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(spark, tmp_path_factory.mktemp("advice"))


@pytest.fixture(autouse=True)
def _settings(world: World) -> object:
    yield
    world.forget_settings()


@pytest.mark.parametrize("name", ADVICE)
def test_what_an_error_advises_works(name: str, world: World) -> None:
    bad = BAD[name]
    with pytest.raises(PySparkException) as refused:
        bad.act(world)
    assert (refused.value.getCondition() or "").startswith(bad.condition)
    ADVICE[name](world)


def test_every_condition_has_its_place_in_the_table() -> None:
    declared = json.loads(
        (ROOT / "spark-plugin/plugin/src/main/resources/error/joinless-error-conditions.json").read_text()
    )
    conditions = {*PACKAGE}
    for name, entry in declared.items():
        conditions |= {f"{name}.{sub}" for sub in entry["subClass"]} if "subClass" in entry else {name}
    followed = {BAD[name].condition for name in ADVICE} | set(ELSEWHERE) | WITHOUT_ADVICE
    assert {c for c in conditions if c not in followed and f"{c.split('.')[0]}.*" not in followed} == set()
    tests = "".join(file.read_text() for file in (ROOT / "tests").glob("test_*.py"))
    for test in ELSEWHERE.values():
        assert not test.startswith("test_") or " " in test or f"def {test}(" in tests, test


def test_a_target_is_made_as_its_errors_say(spark: SparkSession, tmp_path: Path) -> None:
    session, name = spark.newSession(), f"delta.`{tmp_path}/target`"
    plain, change = "SELECT 1 AS k, map('a', 1) AS m", ", 'insert' AS _change_type"

    def refused(condition: str, sql: str, target: str = name, **options: str) -> str:
        with pytest.raises(joinless.ApplyChangesError) as raised:
            joinless.apply_changes(target, **options)(session.sql(sql), 0)  # type: ignore[arg-type]
        assert raised.value.getCondition() == f"JOINLESS_APPLY_CHANGES.{condition}"
        return str(raised.value)

    refused("NO_APP_ID", plain + change)
    refused("NO_CHANGES", plain, app_id="w")
    refused("UNSUPPORTED_TYPE", plain + change, app_id="w")  # before a table is created that would not be usable
    converted = (plain + change).replace("map('a', 1)", "to_json(map('a', 1))")
    statement = re.search(r"CREATE TABLE .* USING delta", refused("TARGET_NOT_FOUND", converted, app_id="w"))
    assert statement
    session.sql(statement[0])
    refused("UNKNOWN_KEY", converted, app_id="w", key="no")
    session.createDataFrame([(1,)], "k int").write.parquet(str(tmp_path / "files"))
    refused("TARGET_NOT_DELTA", "SELECT 1 AS k" + change, f"parquet.`{tmp_path}/files`", app_id="w")
    joinless.apply_changes(name, key="k", app_id="w")(session.sql(converted), 0)
    assert session.table(name).collect() == [(1, '{"a":1}')]
