"""Seeded random queries over random change streams: after every batch, the sum of the changes
equals the oracles' result.

In every micro-batch the changes are net: no row is both inserted and deleted, and no absent row is
deleted. Every third seed is a streaming query, whose complete result is read as well; for the
others the micro-batches are played alone. A seed that fails is reproduced by its number alone; its
case is also written to .build/failing-cases/.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from joinless.changes import Form
from support import sql_case
from support.ahead import run_ahead, seeds
from support.cases import Case, Column, Table
from support.changes import KINDS, check_at_once, check_change_batches, check_changes, random_changes
from support.generate import PARTITIONS, random_case
from support.grouping import grouped
from support.match_joins import with_match_join
from support.narrow import narrow_case
from support.ordered import ordered

#: The number of seeds that always run.
SEEDS = 12


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    seeds(metafunc, "change_seed", "--change-queries")


@pytest.fixture(scope="module")
def ahead(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[int, Future[None]]]:
    """The seeds, run ahead."""
    folder = tmp_path_factory.mktemp("changes")

    def run(seed: int) -> None:
        case = random_case(seed, relations=(1, 5))
        form: Form = "change_type" if seed % 4 else "weight"
        for query, in_groups, one_block in (
            (case, False, True),
            (grouped(case, seed), True, True),
            (with_match_join(case, seed), True, False),
            (ordered(case, seed), True, False),
            (narrow_case(seed), True, True),
        ):
            with sql_case.saving_changes(query, seed):
                if seed % 3 == 0:
                    check_changes(spark, query, seed, folder / query.name, form, in_groups)
                else:
                    check_change_batches(spark, query, seed, folder / query.name, form, one_block)

    yield from run_ahead(request, "change_seed", run)


def test_changes_add_up_to_batch_sql_and_duckdb(change_seed: int, ahead: dict[int, Future[None]]) -> None:
    ahead[change_seed].result()


@pytest.mark.parametrize("seed", [9])
def test_both_forms_emit_the_same(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    case = random_case(seed, relations=(2, 4))
    check_changes(spark, case, seed, tmp_path / "rows", "change_type")
    check_changes(spark, case, seed, tmp_path / "weights", "weight")


@pytest.mark.parametrize("seed", [2, 7])
def test_the_same_changes_in_one_batch_give_the_same_result(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    case = random_case(seed, relations=(1, 4))
    inputs = random_changes(case, seed)
    check_at_once(spark, case, inputs, seed, tmp_path / "once")
    check_at_once(spark, case, inputs, seed + 1, tmp_path / "permuted")


def test_batches_of_more_than_a_thousand_changes(spark: SparkSession, tmp_path: Path) -> None:
    rng = Random(17)
    people = tuple((str(n), f"s{rng.randrange(40)}") for n in range(1000))
    visits = tuple((str(rng.randrange(1000)), str(rng.randrange(5))) for _ in range(1000))
    sizes = (0, 1000, 1001, 1002, 1500)
    tables = tuple(
        Table(name, (Column("k", "int"), Column("v", kind)), tuple((rows[a:b],) for a, b in pairwise(sizes)))
        for name, kind, rows in (("p", "string", people + people[:500]), ("q", "int", visits + visits[:500]))
    )
    case = Case("sizes", tables, "SELECT p.v, q.v AS w FROM p JOIN q ON p.k = q.k WHERE q.v < 4", 6, None)
    inputs = random_changes(case, 3)
    batch_sizes = {len(batch) for changes in inputs for batch in changes.batches if batch is not None}
    assert max(batch_sizes) > 1000
    check_changes(spark, case, 3, tmp_path / "sizes", "weight")


def test_the_seeds_cover_what_they_must() -> None:
    cases = [random_case(seed, relations=(1, 5)) for seed in range(SEEDS)]
    inputs = [changes for seed, case in enumerate(cases) for changes in random_changes(case, seed)]
    assert {changes.kind for changes in inputs} == set(KINDS)
    assert {case.partitions for case in cases} == set(PARTITIONS)
    assert any(case.sql.count(" r") == 1 for case in cases) or min(case.sql.count("JOIN") for case in cases) == 0
    batches = [batch for changes in inputs for batch in changes.batches]
    assert None in batches
    assert any(batch is not None and sum(weight for _, weight in batch) < -5 for batch in batches)
