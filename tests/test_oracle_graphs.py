"""Graph queries with known answers: real Epinions and the shared synthetic
graphs, in twenty batches.

Edges are only inserted, or inserted and deleted through a window of four batches.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import DataFrame, SparkSession

import joinless
from support import graphs

QUERIES = ("L3-10", "L3-1", "L4-1", "L4P-1", "STAR4-1")


def opened(spark: SparkSession, shared: Path | None, graph: str) -> tuple[graphs.Graph, SparkSession]:
    """A shared graph, and a session of its own for its stream."""
    if shared is None:
        pytest.skip("the shared graphs are not here; say where by JOINLESS_SHARED")
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    return graphs.load_graph(shared, graph), session


@pytest.mark.parametrize(
    ("graph", "query", "rows"),
    [
        ("g50k", "L3-1", 251_662),
        ("g50k", "L3-10", 3_081_376),
        ("g50k", "L4-1", 6_151_136),
        pytest.param("epinions", "L3-1", 37_478_257, marks=pytest.mark.long),
    ],
)
def test_all_rows_of_a_known_graph(
    spark: SparkSession, shared: Path | None, tmp_path: Path, graph: str, query: str, rows: int
) -> None:
    known, session = opened(spark, shared, graph)
    assert known.truth[f"{graph}/ins/{query}"]["final"] == rows
    known.write(tmp_path / "edges")
    graphs.stream(session, tmp_path / "edges").createOrReplaceTempView("e")
    hops, percent = query.split("-")
    end = "c" if hops == "L3" else "d"
    df = session.sql(f"{graphs.L3 if hops == 'L3' else graphs.L4} WHERE {end}.dst > {known.thresholds[percent]}")
    assert joinless.why_not(df) == []

    counts: list[int] = []

    def count(batch: DataFrame, _: int) -> None:
        counts.append(batch.count())

    writer = df.writeStream.foreachBatch(count).trigger(availableNow=True)
    stream = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    stream.awaitTermination()
    assert len(counts) == 20
    assert sum(counts) == rows
    report = joinless.progress(stream)
    assert report is not None
    inputs = len(known.src)  # one stored row per edge, whatever the number of its roles ...
    if hops == "L4":  # ... but the last relation of L4 keeps other columns, of the edges above the threshold only
        inputs += int((known.dst > known.thresholds[percent]).sum())
    assert inputs <= report.stored_rows <= 2 * inputs  # in two cells at most
    if hops == "L3":
        assert report.bytes_per_row <= 100
    print(f"\n{graph} {query}: {report.bytes_per_row:.0f} bytes per stored row; {report}")


@pytest.mark.parametrize(
    ("graph", "query"),
    [
        *(("g50k", query) for query in QUERIES),
        ("epinions", "L3-1"),
        *(pytest.param("g150k", query, marks=pytest.mark.long) for query in QUERIES),
        pytest.param("epinions", "L3-10", marks=pytest.mark.long),
    ],
)
def test_all_changes_of_a_known_window(
    spark: SparkSession, shared: Path | None, tmp_path: Path, graph: str, query: str
) -> None:
    known, session = opened(spark, shared, graph)
    truth = known.truth[f"{graph}/win/{query.replace('P', '')}"]
    known.write_window(tmp_path / "edges")
    joinless.changelog(graphs.changes(session, tmp_path / "edges")).createOrReplaceTempView("e")
    hops, percent = query.split("-")
    sql, end = {
        "L3": (graphs.L3, "c"),
        "L4": (graphs.L4_FULL, "d"),
        "L4P": (graphs.L4, "d"),
        "STAR4": (graphs.STAR4, "d"),
    }[hops]
    sql += f" {'AND' if 'WHERE' in sql else 'WHERE'} {end}.dst > {known.thresholds[percent]}"
    counts = {"insert": 0, "delete": 0}
    batches: list[int] = []

    def count(batch: DataFrame, number: int) -> None:
        batches.append(number)
        for change, rows in batch.groupBy("_change_type").count().collect():
            counts[change] += rows

    writer = joinless.enumerate_deltas(session.sql(sql)).writeStream.foreachBatch(count).trigger(availableNow=True)
    stream = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    stream.awaitTermination()
    assert len(batches) == 20
    assert counts["insert"] - counts["delete"] == truth["final"]
    if hops == "L4P":  # paths that differ in their last edge only are equal rows, and cancel out within a batch
        assert truth["final"] < counts["insert"] < truth["plus"]
    else:
        assert counts == {"insert": truth["plus"], "delete": truth["minus"]}
    print(f"\n{graph} {query} window: {joinless.progress(stream)}")


@pytest.mark.parametrize(
    ("graph", "window"),
    [
        pytest.param("g50k", False, marks=pytest.mark.long),
        ("g50k", True),
        pytest.param("g150k", False, marks=pytest.mark.long),
        pytest.param("g150k", True, marks=pytest.mark.long),
    ],
)
def test_counts_and_sums_of_a_known_graph_per_group(
    spark: SparkSession, shared: Path | None, tmp_path: Path, graph: str, window: bool
) -> None:
    """All paths of three edges by their second vertex, after every batch, compared with DuckDB."""
    known, session = opened(spark, shared, graph)
    (known.write_window if window else known.write)(tmp_path / "edges")
    source = graphs.changes if window else graphs.stream
    edges = source(session, tmp_path / "edges")
    (joinless.changelog(edges) if window else edges).createOrReplaceTempView("e")
    paths = "FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"
    df = session.sql(f"SELECT b.src, COUNT(*) AS n, SUM(c.dst) AS s, AVG(a.src) AS m {paths} GROUP BY b.src")
    deltas = joinless.enumerate_deltas(df)
    assert "Join-free counts over a, b, c" in str(joinless.explain(deltas))
    duck = duckdb.connect()
    duck.execute("CREATE TABLE changes (change VARCHAR, src BIGINT, dst BIGINT, batch INT)")
    groups: set[tuple[Any, ...]] = set()
    batches: list[int] = []

    def check(batch: DataFrame, number: int) -> None:
        emitted = batch.collect()
        changed = [(row["_change_type"], (row.src, row.n, row.s, row.m)) for row in emitted]
        groups.difference_update(group for change, group in changed if change == "delete")
        groups.update(group for change, group in changed if change == "insert")
        file = tmp_path / "edges" / f"{number:03d}.csv"
        names = "'change': 'VARCHAR', 'src': 'BIGINT', 'dst': 'BIGINT'" + (", 'part': 'INT'" if window else "")
        columns = names if window else names.replace("'change': 'VARCHAR', ", "")
        change = "change" if window else "'insert'"
        rows = f"read_csv('{file}', header = false, columns = {{{columns}}})"
        duck.execute(f"INSERT INTO changes SELECT {change}, src, dst, {number} FROM {rows}")
        first = number - 3 if window else 0
        e = f"WITH e AS (SELECT src, dst FROM changes WHERE change = 'insert' AND batch >= {first})"
        expected = duck.execute(f"{e} SELECT b.src, COUNT(*), SUM(c.dst)::BIGINT, AVG(a.src) {paths} GROUP BY b.src")
        assert groups == set(expected.fetchall()), f"batch {number}"
        batches.append(number)

    writer = deltas.writeStream.foreachBatch(check).trigger(availableNow=True)
    stream = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    stream.awaitTermination()
    assert len(batches) == 20
    assert groups
