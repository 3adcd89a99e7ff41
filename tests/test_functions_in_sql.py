"""The table functions of SQL give what the functions of the package give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import joinless
from support.database import database

PAIRS = "SELECT a.src, b.dst FROM l a JOIN l b ON a.dst = b.src"


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session with the table `links`, its changes `l`, and the complete result `result` of PAIRS."""
    folder = tmp_path_factory.mktemp("functions")
    with database(spark, "functions", folder / "database"):
        spark.sql("CREATE TABLE links (src INT, dst INT) USING delta")
        spark.sql("INSERT INTO links SELECT id % 7, id * id % 11 FROM range(40)")
        spark.sql("SELECT * FROM joinless_table('links')").createOrReplaceTempView("l")
        query = started(spark, f"SELECT * FROM incremental_enumerate(TABLE({PAIRS}))", folder / "checkpoint", "pairs")
        full = f"SELECT * FROM enumerate_full(TABLE({PAIRS}), checkpoint => '{folder}/checkpoint')"
        spark.sql(full).createOrReplaceTempView("result")
        yield spark
        query.stop()


def started(session: SparkSession, sql: str, checkpoint: Path, name: str) -> StreamingQuery:
    writer = session.sql(sql).writeStream.format("noop").queryName(name)
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    query.processAllAvailable()
    return query


def bag(df: DataFrame) -> Counter[Any]:
    return Counter(map(tuple, df.collect()))


def refused(session: SparkSession, sql: str) -> str | None:
    with pytest.raises(PySparkException) as error:
        session.sql(sql).collect()
    return error.value.getCondition()


def test_the_complete_result_and_its_rows(session: SparkSession) -> None:
    expected = bag(session.sql("SELECT a.src, b.dst FROM links a JOIN links b ON a.dst = b.src"))
    result = session.table("result")
    assert bag(result) == expected
    by_name = session.sql(f"SELECT * FROM enumerate_full(TABLE({PAIRS}), query => 'pairs', batch_id => 0)")
    assert bag(by_name) == expected
    of_one = Counter({row: n for row, n in expected.items() if row[0] == 1})
    assert of_one
    assert bag(session.sql("SELECT * FROM lookup(TABLE(result), src => 1)")) == of_one
    assert bag(session.sql("SELECT * FROM lookup(TABLE(result), SRC => 3 - 2)")) == of_one
    assert bag(session.sql("SELECT * FROM lookup(TABLE(result), TABLE(SELECT DISTINCT 1 AS src FROM links))")) == of_one
    assert not bag(session.sql("SELECT * FROM lookup(TABLE(result), src => NULL, dst => 5)"))
    (src, dst), copies = expected.most_common(1)[0]
    weights = session.sql(f"SELECT * FROM weight_of(TABLE(result), dst => {dst}, src => {src})").collect()
    assert [row.weight for row in weights] == [copies]
    assert joinless.weight_of(result, {"src": src, "dst": dst}) == copies
    assert copies > 1


def test_pages_and_samples(session: SparkSession) -> None:
    result = session.table("result")
    pages = [session.sql(f"SELECT * FROM page(TABLE(result), {first}, 50)") for first in range(0, result.count(), 50)]
    assert sum(map(bag, pages), Counter()) == bag(result)
    assert pages[1].collect() == joinless.page(result, 50, 50).collect()
    for drawn in ("10, 7", "10, 7, replacement => true", "10", "seed => 7, size => 10", "10, replacement => true"):
        found = session.sql(f"SELECT * FROM sample(TABLE(result), {drawn})")
        assert found.count() == 10
        assert not found.isStreaming
    same = joinless.sample(result, 10, seed=7)
    assert bag(session.sql("SELECT * FROM sample(TABLE(result), 10, 7)")) == bag(same)
    assert session.sql(f"SELECT * FROM sample(TABLE({PAIRS}), 10, 7, src)").isStreaming


def test_streams_and_plans(session: SparkSession) -> None:
    grouped = session.sql("SELECT * FROM joinless_sql('SELECT src, COUNT(*) AS n FROM g GROUP BY src', g => TABLE(l))")
    assert grouped.isStreaming
    assert grouped.columns == ["src", "n"]
    (plan,) = session.sql(f"SELECT * FROM joinless_plan(TABLE({PAIRS}), lookups => array(array('src')))").collect()
    explained = joinless.explain(session.sql(PAIRS), lookups=["src"])
    assert explained.text.startswith(plan.text)
    assert plan.lookups[0] in explained.text
    assert (plan.mermaid, plan.json) == (explained.mermaid(), explained.json())
    assert "CHANGES_NOT_REQUESTED" in plan.reasons
    (row,) = session.sql("SELECT * FROM committed_batch(query => 'pairs')").collect()
    assert row.batch == 0
    feed = session.readStream.option("readChangeFeed", "true").table("links")
    feed.createOrReplaceTempView("feed")
    assert session.sql("SELECT * FROM rows(TABLE(feed))").columns == feed.columns
    for changelog in ("", ", _change_type", ", change_type => _change_type"):
        assert session.sql(f"SELECT * FROM changelog(TABLE(feed){changelog})").columns == ["src", "dst"]
    records = session.readStream.schema("key STRING, value STRING, offset BIGINT").json(row.checkpoint)
    records.createOrReplaceTempView("records")
    table = session.sql("SELECT * FROM debezium(TABLE(records), 'id INT, city STRING', key => id, added => (city))")
    assert table.columns == ["id", "city"]
    deltas = f"SELECT * FROM incremental_enumerate(TABLE({PAIRS}))"
    assert session.sql(f"SELECT * FROM upserts(TABLE({deltas}), (src, dst))").columns == ["key", "value"]


def test_a_dataframe_in_a_statement_has_the_name_of_its_table(session: SparkSession) -> None:
    pairs = session.sql(
        "SELECT a.src, b.dst FROM {a} a JOIN {b} b ON a.dst = b.src", a=session.table("l"), b=session.table("l")
    )
    assert joinless.explain(pairs).text.startswith("Join-free join of a, b")
    alone = session.sql("SELECT {l}.src, r.dst FROM {l} JOIN l r ON {l}.dst = r.src", l=session.table("l"))
    assert "_pyspark" not in joinless.explain(alone).text


@pytest.mark.parametrize(
    ("call", "condition"),
    [
        ("lookup(TABLE(result))", "JOINLESS_TABLE_FUNCTION"),
        ("lookup(TABLE(result), 1)", "JOINLESS_TABLE_FUNCTION"),
        ("lookup(TABLE(result), src => rand())", "JOINLESS_TABLE_FUNCTION"),
        ("lookup(TABLE(result), TABLE(result), src => 1)", "JOINLESS_TABLE_FUNCTION"),
        ("lookup(TABLE(result), src => 'x')", "JOINLESS_LOOKUP.VALUE"),
        ("lookup(TABLE(result), city => 1)", "JOINLESS_LOOKUP.UNKNOWN_COLUMN"),
        ("lookup(TABLE(links), src => 1)", "JOINLESS_LOOKUP.NO_RESULT"),
        ("weight_of(TABLE(result), src => 1)", "JOINLESS_LOOKUP.ROW"),
        ("page(TABLE(result), 1)", "JOINLESS_TABLE_FUNCTION"),
        ("page(TABLE(result), -1, 5)", "JOINLESS_ON_DEMAND.OFFSET"),
        ("page(TABLE(result), size => 5, size => 6, offset => 1)", "JOINLESS_TABLE_FUNCTION"),
        ("page(TABLE(links), 1, 5)", "JOINLESS_ON_DEMAND.NO_RESULT"),
        ("sample(TABLE(result), 0, 7)", "JOINLESS_ON_DEMAND.SAMPLE_SIZE"),
        ("sample(TABLE(l), 5, 7, replacement => true)", "JOINLESS_SAMPLE.ARGUMENTS"),
        ("sample(TABLE(links), 5, 7)", "JOINLESS_NOT_STREAMING"),
        ("sample(TABLE(result), 5, 7, src)", "JOINLESS_SAMPLE.ARGUMENTS"),
        ("sample(TABLE(result), 5, size => 7)", "JOINLESS_SAMPLE.ARGUMENTS"),
        ("sample(TABLE(result), 5, seeds => 7)", "JOINLESS_SAMPLE.ARGUMENTS"),
        ("enumerate_full(TABLE(l))", "JOINLESS_TABLE_FUNCTION"),
        ("enumerate_full(TABLE(l), '/x', query => 'pairs')", "JOINLESS_TABLE_FUNCTION"),
        ("enumerate_full(TABLE(l), query => 'nobody')", "JOINLESS_QUERY_NOT_FOUND.NOT_ACTIVE"),
        ("enumerate_full(TABLE(l), '/nowhere')", "JOINLESS_CHECKPOINT_NOT_FOUND.FOLDER"),
        ("changelog(TABLE(feed), weight => _change_type)", "JOINLESS_CHANGE_COLUMN.NOT_AN_INTEGER"),
        ("changelog(TABLE(feed), weight => src, change_type => _change_type)", "JOINLESS_CHANGE_COLUMN.TWO_GIVEN"),
        ("changelog(TABLE(feed), count => src)", "JOINLESS_TABLE_FUNCTION"),
        ("rows(TABLE(links))", "JOINLESS_NOT_STREAMING"),
        ("joinless_table(links)", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION"),
        ("joinless_table('nothing')", "TABLE_OR_VIEW_NOT_FOUND"),
        ("joinless_sql('SELECT 1')", "JOINLESS_TABLE.NOTHING_CHANGES"),
        ("joinless_sql('SELECT 1', TABLE(l))", "JOINLESS_TABLE_FUNCTION"),
        ("joinless_plan(TABLE(links))", "JOINLESS_NOT_STREAMING"),
        ("debezium(TABLE(records))", "JOINLESS_TABLE_FUNCTION"),
        ("debezium(TABLE(records), 'id INT', key => city)", "JOINLESS_DEBEZIUM_ARGUMENTS.COLUMN_NOT_FOUND"),
        ("upserts(TABLE(l), src)", "JOINLESS_UPSERTS.NO_CHANGES"),
        ("upserts(TABLE(l))", "JOINLESS_TABLE_FUNCTION"),
    ],
)
def test_calls_that_are_refused_have_conditions(session: SparkSession, call: str, condition: str) -> None:
    session.readStream.option("readChangeFeed", "true").table("links").createOrReplaceTempView("feed")
    session.readStream.schema("key STRING, value STRING, offset BIGINT").json(".").createOrReplaceTempView("records")
    assert refused(session, f"SELECT * FROM {call}") == condition


def test_relations_of_an_outer_with_are_refused(session: SparkSession) -> None:
    call = "SELECT * FROM enumerate_full(TABLE(q), query => 'pairs')"
    assert refused(session, f"WITH q AS ({PAIRS}) {call}") == "JOINLESS_TABLE_FUNCTION_WITH"
    inside = f"SELECT * FROM enumerate_full(TABLE(WITH q AS ({PAIRS}) SELECT * FROM q), query => 'pairs')"
    assert bag(session.sql(inside)) == bag(session.table("result"))
    looked_up = "SELECT * FROM lookup(TABLE(WITH w AS (SELECT * FROM result) SELECT * FROM w), src => 1)"
    assert bag(session.sql(looked_up)) == bag(session.sql("SELECT * FROM result WHERE src = 1"))


def test_every_function_describes_itself(session: SparkSession) -> None:
    for name in (
        "changelog",
        "committed_batch",
        "debezium",
        "enumerate_full",
        "expire",
        "incremental_enumerate",
        "joinless_plan",
        "joinless_sql",
        "joinless_table",
        "key",
        "latest",
        "lookup",
        "page",
        "rows",
        "sample",
        "upserts",
        "weight_of",
    ):
        lines = [row[0] for row in session.sql(f"DESCRIBE FUNCTION {name}").collect()]
        assert f"Usage: {name}(" in lines[-1], lines
