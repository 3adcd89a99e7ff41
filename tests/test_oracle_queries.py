"""Hand-written queries around a join block: operators below, above and next to
it. Oracle: Spark batch SQL.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import joinless
from streams import Graph
from support import graphs, oracles
from support.oracles import Bag
from support.run import OPERATOR, operators_of

FILES = 4


class Edges:
    """A stream `e` and a static table `s` of the same edges' vertices; in the
    oracle's session `e` is batch.
    """

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.folder = folder
        graph = Graph.power_law(400, seed=9, vertices=60)
        (folder / "edges").mkdir()
        for i in range(FILES):
            rows = zip(graph.src[i::FILES].tolist(), graph.dst[i::FILES].tolist(), strict=True)
            (folder / "edges" / f"{i}.csv").write_text("".join(f"{a},{b}\n" for a, b in rows))
        self.session, self.oracle = spark.newSession(), spark.newSession()
        for session in (self.session, self.oracle):
            session.conf.set("spark.sql.shuffle.partitions", "3")
            names = session.range(60).selectExpr("id", "concat('v', id % 7) AS name")
            names.createOrReplaceTempView("s")
        graphs.stream(self.session, folder / "edges").createOrReplaceTempView("e")
        self.oracle.read.schema(graphs.EDGE).csv(str(folder / "edges")).createOrReplaceTempView("e")

    def run(self, df: DataFrame, mode: str = "append") -> tuple[Bag, set[str]]:
        """Output over all files and the operators that ran; in update mode the
        last row per first column.
        """
        batches: list[list[tuple[object, ...]]] = []

        def keep(batch: DataFrame, _: int) -> None:
            batches.append([tuple(row) for row in batch.collect()])

        writer = df.writeStream.foreachBatch(keep).outputMode(mode).trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(self.folder / "cp")).start()
        query.awaitTermination()
        rows = [row for batch in batches for row in batch]
        if mode == "update":
            rows = list({row[0]: row for row in rows}.values())
        return oracles.bag(rows), operators_of(query)

    def expected(self, sql: str) -> Bag:
        """The answer of batch SQL."""
        return oracles.bag(self.oracle.sql(sql).collect())

    def check(self, sql: str, mode: str = "append", beside: str | None = None) -> None:
        """The query gives the oracle's rows, and its joins ran as one operator of ours."""
        rows, operators = self.run(self.session.sql(sql), mode)
        assert oracles.difference(rows, self.expected(sql)) == ""
        assert rows
        assert operators == ({OPERATOR, beside} if beside else {OPERATOR})


@pytest.fixture
def edges(spark: SparkSession, tmp_path: Path) -> Edges:
    return Edges(spark, tmp_path)


PATH = "e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"


def test_a_static_table_belongs_to_the_stream_it_is_joined_with(edges: Edges) -> None:
    edges.check(f"SELECT a.src, s.name, c.dst FROM {PATH} JOIN s ON c.dst = s.id WHERE s.name <> 'v3'")


def test_a_static_table_may_stand_between_the_streams(edges: Edges) -> None:
    edges.check(
        "SELECT a.src, s.name, c.dst "
        "FROM e a JOIN s ON a.src = s.id JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"
    )


def test_update_mode_of_a_join_is_append(edges: Edges) -> None:
    sql = f"SELECT a.src, b.src AS v, b.dst AS w, c.dst FROM {PATH}"
    batches: list[Row] = []
    writer = edges.session.sql(sql).writeStream.outputMode("update").trigger(availableNow=True)
    writer = writer.foreachBatch(lambda batch, _: batches.extend(batch.collect()))
    running = writer.option("checkpointLocation", str(edges.folder / "cp")).start()
    running.awaitTermination()
    assert oracles.difference(oracles.bag(batches), edges.expected(sql)) == ""
    assert operators_of(running) == {OPERATOR}


def test_sparks_aggregate_runs_above_the_block(edges: Edges) -> None:
    sql = f"SELECT a.src, count(*) AS n, sum(c.dst) AS total FROM {PATH} GROUP BY a.src"
    edges.check(sql, "update", beside="stateStoreSave")


def test_the_total_over_triangles_runs_below_sparks_aggregate(edges: Edges) -> None:
    sql = (
        "SELECT 'all' AS what, count(*) AS n, sum(a.src) AS total "
        "FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src AND c.dst = a.src"
    )
    assert "cost: O(sqrt(N)) amortised per change" in joinless.explain(edges.session.sql(sql)).text
    edges.check(sql, "update", beside="stateStoreSave")


def test_sparks_duplicate_removal_runs_above_the_block(edges: Edges) -> None:
    sql = f"SELECT a.src, c.dst FROM {PATH}"
    rows, operators = edges.run(edges.session.sql(sql).dropDuplicates())
    assert oracles.difference(rows, edges.expected(sql.replace("SELECT", "SELECT DISTINCT"))) == ""
    assert operators == {OPERATOR, "dedupe"}


def test_two_blocks_of_a_union_are_two_operators(edges: Edges) -> None:
    star = "e a JOIN e b ON a.src = b.src JOIN e c ON a.src = c.src"
    edges.check(f"SELECT a.src, c.dst FROM {PATH} UNION ALL SELECT a.dst, c.dst FROM {star} WHERE c.dst < 9")


def test_a_common_table_expression_used_three_times_is_a_self_join(edges: Edges) -> None:
    cte = "WITH f AS (SELECT src AS x, dst AS y FROM e WHERE src <> 5)"
    edges.check(f"{cte} SELECT a.x, b.y FROM f a, f b, f c WHERE a.y = b.x AND b.y = c.x AND c.y < a.x")


def test_the_dataframe_api_is_as_good_as_sql(edges: Edges) -> None:
    e = edges.session.table("e")
    a, b, c = e.alias("a"), e.alias("b"), e.alias("c")
    joined = a.join(b, F.col("a.dst") == F.col("b.src")).join(c, F.col("b.dst") == F.col("c.src"))
    df = joined.selectExpr("a.src", "c.dst * 2 AS twice")
    rows, operators = edges.run(df)
    expected = edges.expected(f"SELECT a.src, c.dst * 2 AS twice FROM {PATH}")
    assert oracles.difference(rows, expected) == ""
    assert operators == {OPERATOR}


def test_unbounded_watermarks_change_nothing_while_no_row_is_late(edges: Edges) -> None:
    e = edges.session.table("e").selectExpr("*", "timestamp_seconds(1000000 + src) AS t").withWatermark("t", "9 hours")
    e.createOrReplaceTempView("e")
    sql = f"SELECT a.src, b.src AS v, b.dst AS w, c.dst FROM {PATH}"
    rows, operators = edges.run(edges.session.sql(sql))
    assert oracles.difference(rows, edges.expected(sql)) == ""
    assert operators == {OPERATOR}


def test_a_second_action_in_foreach_batch_sees_the_same_rows(edges: Edges) -> None:
    sql = f"SELECT a.src, b.src AS v, b.dst AS w, c.dst FROM {PATH}"
    counts: list[tuple[int, int]] = []
    rows: list[tuple[object, ...]] = []

    def twice(batch: DataFrame, _: int) -> None:
        first = batch.collect()
        counts.append((len(first), batch.count()))
        rows.extend(map(tuple, first))

    writer = edges.session.sql(sql).writeStream.foreachBatch(twice).trigger(availableNow=True)
    writer.option("checkpointLocation", str(edges.folder / "cp")).start().awaitTermination()
    assert all(a == b for a, b in counts)
    assert oracles.difference(oracles.bag(rows), edges.expected(sql)) == ""


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT a.src FROM e a JOIN e b ON a.dst = b.src LEFT JOIN e c ON b.dst = c.src", "OUTER_JOIN"),
        ("SELECT a.src FROM e a JOIN e b ON a.dst = b.src", "TOO_FEW_RELATIONS"),
    ],
)
def test_what_stays_with_spark_says_why(edges: Edges, sql: str, code: str) -> None:
    assert code in {reason.code for reason in joinless.why_not(edges.session.sql(sql))}
