"""Seeded random queries whose equi-join conditions form cycles, over random streams and change
streams: after every batch, the output equals DuckDB's and Spark's batch SQL.

Every sixth seed is a streaming query; for the others the micro-batches are played without one. Half
are restarted in the middle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import joinless
from support import sql_case
from support.ahead import run_ahead, seeds
from support.changes import check_change_batches, check_changes
from support.generate import random_case
from support.grouping import total_of_cycle
from support.run import check_batches, check_case


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    seeds(metafunc, "cycle_seed", "--cyclic-queries")
    seeds(metafunc, "total_seed", "--cyclic-queries")


@pytest.fixture(scope="module")
def ahead(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[int, Future[None]]]:
    """The seeds, run ahead."""
    folder = tmp_path_factory.mktemp("cycles")

    def run(seed: int) -> None:
        case = random_case(seed, relations=(3, 6), cycles=True)
        played = seed % 6 != 0
        with sql_case.saving_appends(case):
            (check_batches if played else check_case)(spark, case, folder / f"{case.name}-appends")
        with sql_case.saving_changes(case, seed):
            check = check_change_batches if played else check_changes
            check(spark, case, seed, folder / f"{case.name}-changes", "change_type")

    yield from run_ahead(request, "cycle_seed", run)


def test_every_batch_equals_batch_sql_and_duckdb(cycle_seed: int, ahead: dict[int, Future[None]]) -> None:
    ahead[cycle_seed].result()


@pytest.fixture(scope="module")
def totals_ahead(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[int, Future[None]]]:
    """The seeds, run ahead."""
    folder = tmp_path_factory.mktemp("totals")

    def run(seed: int) -> None:
        case = total_of_cycle(random_case(seed, relations=(3, 4), cycles=True), seed)
        with sql_case.saving_changes(case, seed):
            if seed % 6 == 0:
                check_changes(spark, case, seed, folder / case.name, "change_type", grouped=True)
            else:
                check_change_batches(spark, case, seed, folder / case.name, "change_type")

    yield from run_ahead(request, "total_seed", run)


def test_totals_over_triangles_equal_batch_sql_and_duckdb(
    total_seed: int, totals_ahead: dict[int, Future[None]]
) -> None:
    totals_ahead[total_seed].result()


def test_most_totals_are_kept_without_results(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    kept = 0
    for seed in range(12):
        case = total_of_cycle(random_case(seed, relations=(3, 4), cycles=True), seed)
        for table in case.tables:
            stream = session.readStream.schema(f"{table.schema}, _change_type STRING").parquet(str(tmp_path))
            joinless.changelog(stream).createOrReplaceTempView(table.name)
        kept += "amortised per change" in joinless.explain(session.sql(case.sql)).text
    assert kept >= 6


def test_most_queries_are_joined_by_intersection(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    intersected = 0
    for seed in range(12):
        case = random_case(seed, relations=(3, 6), cycles=True)
        for table in case.tables:
            session.readStream.schema(table.schema).parquet(str(tmp_path)).createOrReplaceTempView(table.name)
        intersected += "joined by intersection" in joinless.explain(session.sql(case.sql)).text
    assert intersected >= 6


TRIANGLES = """FROM e {a} JOIN e {b} ON {a}.dst = {b}.src
               JOIN e {c} ON {b}.dst = {c}.src AND {c}.dst = {a}.src"""


class Edges:
    """A changelog `e` of edges, and what a query over it has emitted: each row with its weight."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.session, self.folder = spark.newSession(), folder
        (folder / "edges").mkdir()
        stream = self.session.readStream.schema("src INT, dst INT, _change_type STRING").csv(str(folder / "edges"))
        joinless.changelog(stream).createOrReplaceTempView("e")
        self.found: Counter[tuple[int, ...]] = Counter()

    def play(self, setting: str, value: str, sql: str, changes: str) -> None:
        """Starts the query, or goes on with it, under a setting, with some more changes."""
        (self.folder / "edges" / f"{value}.csv").write_text(changes)
        self.session.conf.set(setting, value)
        deltas = joinless.enumerate_deltas(self.session.sql(sql), output="weight")
        writer = deltas.writeStream.foreachBatch(self._add).trigger(availableNow=True)
        writer.option("checkpointLocation", str(self.folder / "cp")).start().awaitTermination()

    def _add(self, batch: DataFrame, _: int) -> None:
        for *row, weight in batch.collect():
            self.found[tuple(row)] += weight


@pytest.fixture
def edges(spark: SparkSession, tmp_path: Path) -> Edges:
    return Edges(spark, tmp_path)


@pytest.mark.parametrize(("begun", "later"), [("true", "false"), ("false", "true")])
def test_a_total_goes_on_as_it_was_begun(begun: str, later: str, edges: Edges) -> None:
    """Results that are listed and counted above stay so, and the other way round."""
    setting = "spark.joinless.aggregates.enabled"
    sql = f"SELECT COUNT(*) AS n {TRIANGLES.format(a='a', b='b', c='c')}"
    edges.play(setting, begun, sql, "1,2,insert\n2,3,insert\n3,1,insert\n2,1,insert\n")
    assert +edges.found == {(3,): 1}
    edges.play(setting, later, sql, "2,3,delete\n1,1,insert\n")
    # the loop alone, and the loop with the way to 2 and back, begun at each of its three edges
    assert +edges.found == {(4,): 1}


@pytest.mark.parametrize(("begun", "later"), [("true", "false"), ("false", "true")])
def test_a_checkpoint_goes_on_as_it_was_begun(begun: str, later: str, edges: Edges) -> None:
    """Whatever the setting says later, and whatever its relations are called."""

    def sql(a: str, b: str, c: str) -> str:
        return f"SELECT {a}.src AS x, {b}.src AS y, {c}.src AS z {TRIANGLES.format(a=a, b=b, c=c)}"

    setting = "spark.joinless.cyclicJoins.enabled"
    edges.play(setting, begun, sql(*"abc"), "1,2,insert\n2,3,insert\n3,1,insert\n2,1,insert\n")
    assert sum(edges.found.values()) == 3
    edges.play(setting, later, sql(*"pqr"), "2,3,delete\n1,5,insert\n5,2,insert\n")
    around = [(1, 5, 2), (5, 2, 1), (2, 1, 5)]
    assert {row for row, n in edges.found.items() if n} == set(around)
