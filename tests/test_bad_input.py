"""The corpus of bad input: plans, settings, changed queries, corrupt and foreign state, wrong versions, wrong calls.

Each case names the condition, the SQLSTATE and a part of the message that the user gets. Nothing is lost by any:
the checkpoints that they meet are compared before and after, and go on where they should.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import joinless
from support.world import CHAIN, PATH, World, cut_deltas, edit, foreign, stateless, truncate, unfinished

TRIANGLE = "SELECT a.src FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src"
PAIR = "SELECT o.id, p.id AS other FROM orders o JOIN orders p ON o.customer = p.customer"


@dataclass(frozen=True)
class Bad:
    """A thing not to do, and what it must say."""

    name: str
    condition: str
    sql_state: str | None
    message: str
    act: Callable[[World], object]


def forced(name: str, reason: str, sql: str, message: str = "", **confs: str) -> Bad:
    """A query that stays with Spark, while `mode=force` wants it rewritten."""
    return Bad(
        f"forced: {name}",
        "JOINLESS_NOT_REWRITTEN",
        "0A000",
        rf"{reason}.*{message}",
        lambda world: world.run(world.at(mode="force", **confs).sql(sql)),
    )


def untold(name: str, reason: str, sql: str, message: str = "") -> Bad:
    """A query whose changes cannot be told."""
    return Bad(f"changes: {name}", "JOINLESS_NOT_REWRITTEN", "0A000", rf"{reason}.*{message}", lambda w: w.delta(sql))


def setting(name: str, value: str, message: str) -> Bad:
    """A value that a setting does not take, refused when it is set."""
    return Bad(
        f"setting: {name}={value}",
        "INVALID_CONF_VALUE",
        "22022",
        message,
        lambda world: world.session.conf.set(f"spark.joinless.{name}", value),
    )


def state(
    name: str, kind: str, message: str, sql: str = PATH, tamper: Callable[[Path], object] = lambda _: None
) -> Bad:
    """A checkpoint that does not fit the query."""
    return Bad(f"state: {name}", f"JOINLESS_STATE_MISMATCH.{kind}", "55019", message, lambda w: w.again(sql, tamper))


def column(name: str, kind: str, message: str, make: Callable[[World], DataFrame]) -> Bad:
    """A stream that is no changelog."""
    return Bad(f"changelog: {name}", f"JOINLESS_CHANGE_COLUMN.{kind}", "42703", message, make)


def reading(name: str, condition: str, sql_state: str, message: str, act: Callable[[World], object]) -> Bad:
    """A complete result that cannot be read."""
    return Bad(f"reading: {name}", condition, sql_state, message, act)


TWO = {"minRelations": "2"}
CASES = [
    forced("a cycle", "CYCLIC_JOIN_GRAPH", TRIANGLE, "a, b, c"),
    forced("too few", "TOO_FEW_RELATIONS", "SELECT a.src FROM e a JOIN e b ON a.dst = b.src", "joins 2 relations"),
    forced("too few for the setting", "TOO_FEW_RELATIONS", PATH, "from 4 on", minRelations="4"),
    forced("too many", "TOO_MANY_RELATIONS", PATH, "up to 2", maxRelations="2"),
    forced(
        "an outer join",
        "OUTER_JOIN",
        "SELECT a.k FROM w1 a LEFT JOIN w2 b ON a.k = b.k AND a.w1t = b.w2t",
        "LEFT OUTER is not an inner join: spark.joinless.outerJoins.enabled is false",
        minRelations="2",
        outerJoins_enabled="false",
    ),
    forced(
        "a cross product",
        "CROSS_PRODUCT",
        "SELECT a.src FROM e a JOIN e b ON a.dst = b.src CROSS JOIN e c",
        "switched off",
        crossProducts_enabled="false",
    ),
    forced(
        "no equation",
        "NON_EQUI_JOIN",
        "SELECT a.src FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst < c.src",
        "no equation",
        crossProducts_enabled="false",
    ),
    forced(
        "an equation of three relations",
        "NON_EQUI_JOIN",
        "SELECT c.dst FROM (SELECT a.src + b.dst AS x FROM e a JOIN e b ON a.dst = b.src) y JOIN e c ON y.x = c.src",
        crossProducts_enabled="false",
    ),
    forced(
        "a random condition between joins",
        "NONDETERMINISTIC_CONDITION",
        "SELECT x.s FROM (SELECT a.src AS s, b.dst AS m FROM e a JOIN e b ON a.dst = b.src WHERE rand(1) < 0.5) x "
        "JOIN e d ON x.m = d.src",
        "rand",
    ),
    forced(
        "a static table between two streams",
        "STREAM_STATIC_JOIN",
        f"{PATH} JOIN classes k ON k.customer = a.src AND k.class = c.dst",
        "exactly one streaming relation",
    ),
    forced("a static table with none", "STREAM_STATIC_JOIN", f"SELECT a.src, k.class {CHAIN} CROSS JOIN classes k"),
    untold(
        "sessions",
        "UNSUPPORTED_AGGREGATE",
        "SELECT COUNT(*) AS n FROM orders GROUP BY session_window(timestamp_seconds(id), '1 minute')",
        "session_window",
    ),
    untold(
        "a collated group",
        "UNSUPPORTED_GROUP_KEY",
        "SELECT collate(string(id), 'UNICODE_CI') AS c FROM orders GROUP BY 1",
    ),
    untold(
        "distinct collated values",
        "UNSUPPORTED_AGGREGATE_TYPE",
        "SELECT COUNT(DISTINCT collate(string(id), 'UNICODE_CI')) AS n FROM orders",
        "UNICODE_CI",
    ),
    untold(
        "literals in a union",
        "STATIC_PART_OF_UNION",
        "SELECT id FROM orders UNION ALL VALUES (5L)",
        "in which batch they come",
    ),
    untold("a sample", "UNSUPPORTED_OPERATOR", "SELECT id FROM orders TABLESAMPLE (10 PERCENT)"),
    untold(
        "an outer join with a static side",
        "STATIC_SIDE_OF_CHANGELOG",
        "SELECT o.id, k.class FROM orders o LEFT JOIN classes k ON o.customer = k.customer",
        "static side classes|static side k",
    ),
    Bad(
        "a stream in a subquery, and no changes asked",
        "JOINLESS_STREAM_IN_SUBQUERY",
        "0A000",
        "incrementalEnumerate",
        lambda w: w.run(w.session.sql("SELECT src FROM e WHERE dst IN (SELECT src FROM e)")),
    ),
    untold("a random filter", "NONDETERMINISTIC_EXPRESSION", "SELECT id FROM orders WHERE rand() < 0.5", "rand"),
    untold("a random column", "NONDETERMINISTIC_EXPRESSION", "SELECT id, uuid() AS u FROM orders", "uuid"),
    untold(
        "a condition on the clock",
        "TIME_DEPENDENT_EXPRESSION",
        "SELECT id FROM orders WHERE timestamp_seconds(id) > current_timestamp()",
    ),
    untold(
        "a subquery over a table",
        "STATIC_SIDE_OF_CHANGELOG",
        "SELECT id FROM orders WHERE id IN (SELECT customer FROM classes)",
        "static side classes",
    ),
    untold(
        "a static side",
        "STATIC_SIDE_OF_CHANGELOG",
        "SELECT o.id FROM orders o JOIN classes k ON o.customer = k.customer",
        "static side k",
    ),
    untold("a watermark", "WATERMARK_ON_CHANGELOG", "SELECT id, at FROM late", "at"),
    Bad(
        "changes: complete mode",
        "JOINLESS_NOT_REWRITTEN",
        "0A000",
        "UNSUPPORTED_OUTPUT_MODE.*complete",
        lambda w: w.run(joinless.enumerate_deltas(w.session.sql(PAIR)), mode="complete"),
    ),
    Bad(
        "changes: switched off",
        "JOINLESS_NOT_REWRITTEN",
        "0A000",
        "DISABLED",
        lambda w: w.run(joinless.enumerate_deltas(w.at(enabled="false").sql(PAIR))),
    ),
    Bad(
        "a changelog's join as plain rows",
        "JOINLESS_RETRACTIONS_NOT_REPRESENTABLE",
        "0A000",
        "incrementalEnumerate",
        lambda w: w.run(w.session.sql(PAIR)),
    ),
    Bad(
        "a changelog as plain rows",
        "JOINLESS_RETRACTIONS_NOT_REPRESENTABLE",
        "0A000",
        "customer",
        lambda w: w.run(w.session.table("orders")),
    ),
    Bad(
        "a reserved column, types",
        "JOINLESS_RESERVED_COLUMN",
        "42939",
        "_change_type",
        lambda w: joinless.enumerate_deltas(w.session.sql("SELECT id, 'x' AS _change_type FROM orders")),
    ),
    Bad(
        "a reserved column, weights",
        "JOINLESS_RESERVED_COLUMN",
        "42939",
        "_weight",
        lambda w: joinless.enumerate_deltas(w.session.sql("SELECT id AS _weight FROM orders"), output="weight"),
    ),
    Bad(
        "a form that is none",
        "JOINLESS_DELTA_FORM",
        "22023",
        "rows",
        lambda w: joinless.enumerate_deltas(w.session.sql(PAIR), output="rows"),  # type: ignore[arg-type]
    ),
    Bad(
        "a form that is none, in SQL",
        "JOINLESS_DELTA_FORM",
        "22023",
        "rows",
        lambda w: w.session.sql(f"SELECT * FROM incremental_enumerate(TABLE({PAIR}), 'rows')"),
    ),
    column("no such column", "NOT_FOUND", "there are: ", lambda w: joinless.changelog(w.feed, "nothing")),
    column("types are numbers", "NOT_A_STRING", "DOUBLE", lambda w: joinless.changelog(w.feed, "amount")),
    column(
        "weights are strings", "NOT_AN_INTEGER", "STRING", lambda w: joinless.changelog(w.feed, weight="_change_type")
    ),
    column("weights are fractions", "NOT_AN_INTEGER", "DOUBLE", lambda w: joinless.changelog(w.feed, weight="amount")),
    column("no such weight", "NOT_FOUND", "copies", lambda w: joinless.changelog(w.feed, weight="copies")),
    column("nothing else", "NO_COLUMNS", "no other", lambda w: joinless.changelog(w.feed.select("_change_type"))),
    column(
        "two of the name",
        "AMBIGUOUS",
        "several",
        lambda w: joinless.changelog(w.feed.selectExpr("*", "'insert' AS _change_type")),
    ),
    Bad(
        "changelog: a table",
        "JOINLESS_NOT_STREAMING",
        "42K0A",
        "readStream",
        lambda w: joinless.changelog(w.session.range(3).toDF("n"), weight="n"),
    ),
    Bad(
        "explain: a table",
        "JOINLESS_NOT_STREAMING",
        "42K0A",
        "readStream",
        lambda w: joinless.explain(w.session.range(3)),
    ),
    Bad(
        "why_not: a table",
        "JOINLESS_NOT_STREAMING",
        "42K0A",
        "readStream",
        lambda w: joinless.why_not(w.session.range(3)),
    ),
    Bad(
        "a change type that is none",
        "JOINLESS_UNKNOWN_CHANGE_TYPE",
        "22023",
        "upsert",
        lambda w: w.changes("upsert,1,2"),
    ),
    Bad("no change type", "JOINLESS_UNKNOWN_CHANGE_TYPE", "22023", "NULL|null", lambda w: w.changes(",1,2")),
    Bad("no weight", "JOINLESS_NULL_WEIGHT", "22004", "NULL", lambda w: w.changes(",1,2", weight=True)),
    Bad(
        "a delete of what is not there",
        "JOINLESS_DELETE_OF_ABSENT_ROW",
        "22000",
        "deleteOfAbsentRow=owe",
        lambda w: w.changes("insert,1,2", "delete,1,3"),
    ),
    Bad(
        "one delete too many",
        "JOINLESS_DELETE_OF_ABSENT_ROW",
        "22000",
        "by -1|there 0 times|is there",
        lambda w: w.changes("2,1,2", "-3,1,2", weight=True),
    ),
    Bad(
        "weights beyond 64 bits",
        "JOINLESS_WEIGHT_OVERFLOW",
        "22003",
        "64 bits",
        lambda w: w.changes(f"{2**63 - 1},1,2", "1,1,2", weight=True),
    ),
    Bad(
        "products beyond 64 bits",
        "JOINLESS_WEIGHT_OVERFLOW",
        "22003",
        "64 bits",
        lambda w: w.changes(f"{2**40},1,2", weight=True),
    ),
    setting("minRelations", "0", "at least 1"),
    setting("maxRelations", "64", "between 1 and 63"),
    setting("mode", "always", "auto, force"),
    setting("placement.maxReplication", "0.5", "at least 1"),
    setting("placement.shares", "a.dst", "name=number"),
    setting("relationSizes", "a=many", "name=number"),
    *[
        setting(name, value, message)
        for name in ("placement.shares", "relationSizes")
        for value, message in ((f"a.x={2**63}", f"numbers from 1 to {2**63 - 1}"), ("a.x=1,a.x=2", "each name once"))
    ],
    setting("cache.maxBytes", "-1", "not be negative"),
    setting("deleteOfAbsentRow", "ignore", "fail, owe"),
    setting("enabled", "perhaps", "boolean"),
    setting("crossProducts.enabled", "2", "boolean"),
    Bad(
        "shares of a column that joins nothing",
        "JOINLESS_INVALID_SHARES",
        "22023",
        "a.weight|a.nothing",
        lambda w: w.run(w.at(placement_shares="a.nothing=1").sql(PATH)),
    ),
    Bad(
        "more shares than partitions",
        "JOINLESS_INVALID_SHARES",
        "22023",
        "partitions",
        lambda w: w.run(w.at(placement_shares="a.dst=8").sql(PATH)),
    ),
    *[
        Bad(
            f"shares of {cells} cells",
            "JOINLESS_INVALID_SHARES",
            "22023",
            f"{shares}.*makes {cells} cells",
            lambda w, shares=shares: w.run(w.at(placement_shares=shares).sql(PATH)),  # type: ignore[misc]
        )
        for shares, cells in (
            (f"a.dst={2**32}", 2**32),
            (f"a.dst={2**32},b.dst={2**32}", 2**64),
            (f"a.dst={2**63 - 1},b.dst=2", 2**64 - 2),
        )
    ],
    Bad(
        "shares of one attribute twice",
        "JOINLESS_INVALID_SHARES",
        "22023",
        "a.dst and b.src are one attribute",
        lambda w: w.run(w.at(placement_shares="a.dst=1,b.src=1").sql(PATH)),
    ),
    state("another equation", "QUERY", "", PATH.replace("b.dst = c.src", "b.src = c.src")),
    state("a relation more", "QUERY", "3 relations.*4", f"{PATH.replace('c.dst', 'd.dst')} JOIN e d ON c.dst = d.src"),
    state("a relation less", "QUERY", "3 relations.*2", "SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src"),
    state("another output", "COLUMNS", "", PATH.replace("c.dst AS last", "c.dst + 1 AS last, a.dst AS more")),
    state("a column less", "COLUMNS", "", f"SELECT a.src, b.dst {CHAIN}"),
    state(
        "no join any more",
        "QUERY",
        "a, b, c",
        "SELECT src, dst, dst AS last FROM e UNION ALL SELECT src, dst, 1L FROM e UNION ALL SELECT src, dst, 2L FROM e",
    ),
    state("a newer format", "FORMAT", "release", tamper=edit(r'(specVersion\\":)2', r"\g<1>7")),
    state("no such share", "UNREADABLE", "copy", tamper=edit(r"shares\\\":\[", r"\g<0>9,")),
    Bad(
        "state: a delta that is cut off",
        "JOINLESS_STATE_NOT_LOADED",
        "XX001",
        "state of cell 0 of operator 0, as of batch 0",
        lambda w: w.run(w.session.sql(PATH), cut_deltas(unfinished(w.copy()))),
    ),
    state("cut off", "UNREADABLE", "copy", tamper=truncate),
    state("more stores than cells", "CELLS", "", tamper=edit(r'("numPartitions":)1', r"\g<1>3")),
    Bad(
        "state: more than the bound",
        "JOINLESS_STATE_TOO_LARGE",
        "53200",
        "bytes",
        lambda w: w.run(w.at(cache_maxBytes="100").sql(PATH)),
    ),
    Bad(
        "state: Spark's own, while forced",
        "JOINLESS_NOT_REWRITTEN",
        "0A000",
        "EXISTING_SPARK_STATE",
        lambda w: w.run(
            (foreign(w), w.at(mode="force", **TWO))[1].sql("SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src"),
            unfinished(shutil.copytree(foreign(w), w.folder / f"foreign-{w.runs}")),
        ),
    ),
    reading(
        "no such folder", "JOINLESS_CHECKPOINT_NOT_FOUND.FOLDER", "42K03", "exist", lambda w: w.read(w.folder / "no")
    ),
    reading(
        "an empty folder",
        "JOINLESS_CHECKPOINT_NOT_FOUND.NO_BATCH",
        "42K03",
        "committed",
        lambda w: w.read(w.empty("none")),
    ),
    reading(
        "Spark's joins", "JOINLESS_CHECKPOINT_NOT_FOUND.NO_JOIN", "42K03", "Spark's own", lambda w: w.read(foreign(w))
    ),
    reading(
        "no join at all",
        "JOINLESS_CHECKPOINT_NOT_FOUND.NO_JOIN",
        "42K03",
        "no stateful",
        lambda w: w.read(stateless(w)),
    ),
    reading("no such batch", "JOINLESS_BATCH_NOT_AVAILABLE.NOT_COMMITTED", "22023", "99", lambda w: w.read(batchId=99)),
    reading("no such join", "JOINLESS_CHECKPOINT_NOT_FOUND.NO_JOIN", "42K03", "", lambda w: w.read(operator=5)),
    reading("a batch in words", "JOINLESS_INVALID_OPTION", "22023", "last", lambda w: w.read(batchId="last")),
    reading("a join in words", "JOINLESS_INVALID_OPTION", "22023", "first", lambda w: w.read(operator="first")),
    reading("no such relation", "JOINLESS_INVALID_OPTION", "22023", "a, b, c", lambda w: w.read(inputs="d")),
    reading(
        "no checkpoint",
        "JOINLESS_INVALID_OPTION",
        "22023",
        "checkpointLocation",
        lambda w: w.session.read.format("joinless").load(),
    ),
    *[
        reading(
            f"no file system: {folder}",
            "JOINLESS_CHECKPOINT_NOT_FOUND.UNREACHABLE",
            "42K03",
            "looked into",
            lambda w, folder=folder: w.session.read.format("joinless").load(folder),  # type: ignore[misc]
        )
        for folder in ("nosuch://x/y", "::", "http://localhost/x")
    ],
    reading(
        "no file system, by the query",
        "JOINLESS_CHECKPOINT_NOT_FOUND.UNREACHABLE",
        "42K03",
        "nosuch",
        lambda w: joinless.enumerate_full(w.session.sql(PATH), "nosuch://x/y"),
    ),
    reading(
        "other columns",
        "JOINLESS_FORMAT.SCHEMA",
        "0A000",
        r"\(a INT\).*\(src",
        lambda w: w.session.read.format("joinless").schema("a INT").load(str(w.good)).collect(),
    ),
    reading(
        "as a stream",
        "JOINLESS_FORMAT.STREAM",
        "0A000",
        "incrementalEnumerate",
        lambda w: w.session.readStream.format("joinless").load(str(w.good)),
    ),
    reading(
        "as a stream of other columns",
        "JOINLESS_FORMAT",
        "0A000",
        "",
        lambda w: w.session.readStream.format("joinless").schema("a INT").load(str(w.good)),
    ),
    *[
        reading(
            f"written to, {mode}",
            "JOINLESS_FORMAT.SINK",
            "0A000",
            "to a table",
            lambda w, mode=mode: w.session.range(1).write.format("joinless").mode(mode).save(str(w.good)),  # type: ignore[misc]
        )
        for mode in ("error", "append", "overwrite")
    ],
    *[
        Bad(f"{call.split('(')[0]} in SQL: {name}", condition, state, message, lambda w, call=call: w.table(call))  # type: ignore[misc]
        for name, call, condition, state, message in (
            ("no table", "expire('e', 'dst', '1 hour')", "JOINLESS_EXPIRY.ARGUMENTS", "42703", "takes a table"),
            ("no such name", "expire(TABLE(w1), nothing, '1 hour')", "JOINLESS_EXPIRY.NOT_FOUND", "42703", "nothing"),
            ("NULL", "expire(TABLE(w1), NULL, '1 hour')", "JOINLESS_EXPIRY.ARGUMENTS", "42703", "NULL"),
            ("a number", "expire(TABLE(w1), 5, '1 hour')", "JOINLESS_EXPIRY.ARGUMENTS", "42703", "5"),
            ("a name as time", "expire(TABLE(w1), w1t, w1t)", "JOINLESS_EXPIRY.INTERVAL", "42703", "'w1t'"),
            ("parts", "incremental_enumerate(TABLE(e) PARTITION BY src)", "JOINLESS_DELTA_FORM", "22023", "PARTITION"),
            ("a name", "incremental_enumerate(TABLE(e), rows)", "JOINLESS_DELTA_FORM", "22023", "`rows`"),
            ("a table less", "incremental_enumerate('weight')", "JOINLESS_DELTA_FORM", "22023", "weight"),
        )
    ],
    reading(
        "another query's",
        "JOINLESS_STATE_MISMATCH.QUERY",
        "55019",
        "",
        lambda w: joinless.enumerate_full(
            w.session.sql(PATH.replace("b.dst = c.src", "b.src = c.src")), checkpoint=str(w.good)
        ).collect(),
    ),
]


@pytest.fixture(scope="module")
def world(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(spark, tmp_path_factory.mktemp("bad"))


@pytest.fixture(autouse=True)
def _settings(world: World) -> object:
    """Settings as they were, after each case."""
    yield
    names = [row.key for row in world.session.sql("SET").collect() if row.key.startswith("spark.joinless.")]
    for name in names:
        world.session.conf.unset(name)


@pytest.mark.parametrize("bad", CASES, ids=lambda bad: bad.name)
def test_bad_input_is_refused_by_name(bad: Bad, world: World) -> None:
    with pytest.raises(Exception) as refused:  # noqa: PT011
        bad.act(world)
    error = refused.value
    assert isinstance(error, PySparkException), f"{type(error)}: {error}"
    assert (error.getCondition() or "").startswith(bad.condition), error
    assert error.getSqlState() == bad.sql_state, error
    assert re.search(bad.message, str(error), re.DOTALL), error
    assert "JavaPackage" not in str(error)


def test_the_corpus_is_large_and_the_checkpoint_still_good(world: World) -> None:
    assert len(CASES) >= 60
    assert len({bad.name for bad in CASES}) == len(CASES)
    assert len({bad.condition for bad in CASES}) >= 25
    checkpoint = world.copy()
    (world.folder / "edges" / "2.csv").write_text("5,6\n")
    world.run(world.session.sql(PATH), checkpoint)
    rows = sorted(tuple(row) for row in world.read(checkpoint))  # type: ignore[attr-defined]
    assert rows == [(1, 3, 4), (1, 3, 5), (2, 5, 6)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda df: joinless.enumerate_full(df), "either checkpoint= or query="),
        (lambda df: df.incrementalEnumerate("both"), "'delta' or 'full'"),
        (lambda df: df.incrementalEnumerate(checkpoint="x"), "mode='full'"),
        (lambda df: df.incrementalEnumerate("delta", batch_id=3), "mode='full'"),
        (lambda df: df.incrementalEnumerate("full"), "either checkpoint= or query="),
        (lambda df: df.incrementalEnumerate("full", checkpoint="x", output="nonsense"), "output is 'nonsense'"),
        (lambda df: joinless.materialize(df, "t", "cp", trigger="once"), "takes an interval.* and got 'once'"),
        (lambda df: joinless.materialize(df, "t", "cp", trigger="5"), "takes an interval.* and got '5'"),
        (lambda df: joinless.materialize(df, "t", "cp", trigger="-1 second"), "takes an interval"),
        (lambda df: joinless.materialize(df, "t", "cp", trigger="1 month"), "takes an interval"),
        (lambda df: joinless.apply_changes("t")(df, 1), "takes a batch as df, and got a stream"),
    ],
)
def test_python_calls_that_make_no_sense(world: World, call: Callable[[DataFrame], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(world.session.sql(PATH))


def test_a_name_stands_for_its_text_in_sql(world: World) -> None:
    for call, column in (
        ("expire(TABLE(w1), w1t, INTERVAL '1' HOUR)", "w1t"),
        ("expire(TABLE(SELECT k, w1t FROM w1), w1t, '1 hour')", "w1t"),
        ("incremental_enumerate(TABLE(e), weight)", "_weight"),
    ):
        assert world.table(call).columns[-1] == column


def test_functions_describe_themselves(world: World) -> None:
    for name, example in (("expire", "expire(TABLE(readings), 'ts'"), ("incremental_enumerate", "TABLE(SELECT src, ")):
        told = " ".join(row[0] for row in world.session.sql(f"DESCRIBE FUNCTION EXTENDED {name}").collect())
        assert f"{name}(TABLE(query)" in told
        assert example in told
        assert "N/A" not in told


def test_the_columns_of_a_result_may_be_given(world: World) -> None:
    shown = world.session.read.format("joinless").load(str(world.good))
    assert world.session.read.format("joinless").schema(shown.schema).load(str(world.good)).count() == shown.count()
