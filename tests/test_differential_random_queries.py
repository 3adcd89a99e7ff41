"""Seeded random join queries over random append streams: after every batch, all output so far
equals the oracles'.

Every sixth seed is a streaming query; for the others the micro-batches are played without one, in a
third of the time. A seed that fails is written to .build/failing-cases/; tests/shrink.py makes it
small, for tests/regressions/sql/.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from itertools import chain, combinations

import pytest
from pyspark.sql import SparkSession

from support import sql_case
from support.ahead import run_ahead, seeds
from support.generate import PARTITIONS, families, random_case
from support.run import check_batches, check_case
from support.values import FAMILIES


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    seeds(metafunc, "seed", "--queries")


@pytest.fixture(scope="module")
def ahead(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[int, Future[None]]]:
    """The seeds, run ahead."""
    folder = tmp_path_factory.mktemp("random")

    def run(seed: int) -> None:
        case = random_case(seed)
        with sql_case.saving_appends(case):
            (check_case if seed % 6 == 0 else check_batches)(spark, case, folder / case.name)

    yield from run_ahead(request, "seed", run)


def test_every_batch_equals_batch_sql_and_duckdb(seed: int, ahead: dict[int, Future[None]]) -> None:
    ahead[seed].result()


def test_no_seed_of_another_file_runs_ahead(ahead: dict[int, Future[None]], pytestconfig: pytest.Config) -> None:
    first = pytestconfig.getoption("--first-seed")
    assert set(ahead) <= set(range(first, first + pytestconfig.getoption("--queries")))


def test_the_seeds_cover_what_they_must() -> None:
    """Every subset of idle sources, every partition count, every family of types, in
    the seeds that always run.
    """
    generated = [random_case(seed) for seed in range(60)]
    for tables in (1, 2, 3, 4):
        idle = {case.idle(b) for case in generated if len(case.tables) == tables for b in range(case.batches)}
        subsets = chain.from_iterable(combinations(range(tables), n) for n in range(tables + 1))
        assert idle == {frozenset(subset) for subset in subsets}, f"{tables} sources"
    assert {case.partitions for case in generated} == set(PARTITIONS)
    assert set().union(*map(families, generated)) == set(FAMILIES)
    text = " ".join(case.sql for case in generated)
    for construct in ("<=>", "CROSS JOIN", "(SELECT", " OR ", "lower(", " + 1", "CASE WHEN"):
        assert construct in text
    assert any(len(table.columns) > 64 for case in generated for table in case.tables)


def test_a_seed_always_gives_the_same_case() -> None:
    assert random_case.__wrapped__(11) == random_case(11)


@pytest.mark.parametrize("kept", [3, 11, 40])
def test_a_failing_case_is_a_file_that_is_read(kept: int) -> None:
    case = sql_case.of_appends(random_case(kept))
    read = sql_case.parse(case.name, sql_case.render(case))
    assert read == case
    rows = sum(len(file) for table in random_case(kept).tables for arrival in table.arrivals for file in arrival)
    assert sum(len(batch.lines) for batch in read.batches) == rows
