"""Random plans with join blocks of ours next to, above and below operators of
Spark, with a restart each.

Oracles: batch SQL for every plan, and for every fourth one the same stream with the extension off,
where that is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future

import pytest
from pyspark.sql import SparkSession

from support.ahead import run_ahead, seeds
from support.mixed import check_plan, random_plan

_seen: Counter[str] = Counter()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    seeds(metafunc, "plan_seed", "--mixed-plans")


@pytest.fixture(scope="module")
def ahead(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[int, Future[None]]]:
    """The seeds, run ahead."""
    folder = tmp_path_factory.mktemp("mixed")

    def run(seed: int) -> None:
        _seen.update(check_plan(spark, seed, folder / str(seed)))

    yield from run_ahead(request, "plan_seed", run)


def test_every_plan_equals_batch_sql_and_spark_alone(plan_seed: int, ahead: dict[int, Future[None]]) -> None:
    ahead[plan_seed].result()


def test_the_plans_were_mixed(ahead: dict[int, Future[None]], pytestconfig: pytest.Config) -> None:
    """After all seeds: the operators that they covered."""
    for future in ahead.values():
        future.result()
    if pytestconfig.getoption("--mixed-plans") >= 100:
        for part in ("joinFree", "symmetricHashJoin", "dedupe", "stateStoreSave", "reason"):
            assert _seen[part] >= 10, _seen
        assert _seen["rows"] > 100_000, _seen
        assert _seen["Spark right"] > _seen["Spark wrong"], _seen


def test_a_seed_always_gives_the_same_plan() -> None:
    assert random_plan(3) == random_plan(3)
    assert {random_plan(seed).blocks for seed in range(100)} >= {1, 2, 3}
    assert {random_plan(seed).above for seed in range(100)} == {"nothing", "dropDuplicates", "aggregate"}
