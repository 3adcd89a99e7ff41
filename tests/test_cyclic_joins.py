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


@pytest.mark.parametrize("begun", ["true", "false"])
def test_a_total_goes_on_as_it_was_begun(begun: str, spark: SparkSession, tmp_path: Path) -> None:
    """Results that are listed and counted above stay so, and the other way round."""
    session = spark.newSession()
    edges = tmp_path / "edges"
    edges.mkdir()
    stream = session.readStream.schema("src INT, dst INT, _change_type STRING").csv(str(edges))
    joinless.changelog(stream).createOrReplaceTempView("e")
    found: Counter[int] = Counter()

    def add(batch: DataFrame, _: int) -> None:
        for n, weight in batch.collect():
            found[n] += weight

    def play(counts: str, name: str, changes: str) -> None:
        (edges / f"{name}.csv").write_text(changes)
        session.conf.set("spark.joinless.aggregates.enabled", counts)
        result = session.sql(TRIANGLES.format(a="a", b="b", c="c").replace(COLUMNS, "SELECT COUNT(*) AS n"))
        writer = joinless.enumerate_deltas(result, output="weight").writeStream.foreachBatch(add)
        writer = writer.option("checkpointLocation", str(tmp_path / "cp")).trigger(availableNow=True)
        writer.start().awaitTermination()

    play(begun, "first", "1,2,insert\n2,3,insert\n3,1,insert\n2,1,insert\n")
    assert +found == {3: 1}
    play("false" if begun == "true" else "true", "second", "2,3,delete\n1,1,insert\n")
    # the loop alone, and the loop with the way to 2 and back, begun at each of its three edges
    assert +found == {4: 1}


COLUMNS = "SELECT a.src AS x, b.src AS y, c.src AS z"
TRIANGLES = """SELECT {a}.src AS x, {b}.src AS y, {c}.src AS z FROM e {a} JOIN e {b} ON {a}.dst = {b}.src
               JOIN e {c} ON {b}.dst = {c}.src AND {c}.dst = {a}.src"""


@pytest.mark.parametrize("begun", ["true", "false"])
def test_a_checkpoint_goes_on_as_it_was_begun(begun: str, spark: SparkSession, tmp_path: Path) -> None:
    """Whatever the setting says later, and whatever its relations are called."""
    session = spark.newSession()
    edges = tmp_path / "edges"
    edges.mkdir()
    stream = session.readStream.schema("src INT, dst INT, _change_type STRING").csv(str(edges))
    joinless.changelog(stream).createOrReplaceTempView("e")
    found: Counter[tuple[int, int, int]] = Counter()

    def add(batch: DataFrame, _: int) -> None:
        for x, y, z, weight in batch.collect():
            found[x, y, z] += weight

    def play(setting: str, names: str, changes: str) -> None:
        (edges / f"{setting}.csv").write_text(changes)
        session.conf.set("spark.joinless.cyclicJoins.enabled", setting)
        result = session.sql(TRIANGLES.format(**dict(zip("abc", names, strict=True))))
        deltas = joinless.enumerate_deltas(result, output="weight")
        writer = deltas.writeStream.foreachBatch(add).trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / "cp")).start().awaitTermination()

    play(begun, "abc", "1,2,insert\n2,3,insert\n3,1,insert\n2,1,insert\n")
    assert sum(found.values()) == 3
    play("false" if begun == "true" else "true", "pqr", "2,3,delete\n1,5,insert\n5,2,insert\n")
    around = [(1, 5, 2), (5, 2, 1), (2, 1, 5)]
    assert {row for row, n in found.items() if n} == set(around)
