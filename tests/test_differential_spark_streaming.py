"""Spark's own streaming joins agree with both oracles on cases of the same generator, as ours do.

So all three of them (Spark streaming, Spark batch, DuckDB) give one answer, and that answer is
ours. The cases have no NULLs: Spark 4.2's streaming joins rely on inferred IS NOT NULL filters,
lose them in batches with an idle source, and then let NULL keys match.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from pyspark.sql import SparkSession

from support.cases import Case
from support.generate import random_case
from support.run import check_case

SEEDS = range(1000, 1012)


def small_case(seed: int) -> Case:
    return random_case(seed, relations=(3, 3), batches=3, connected=True, nulls=False)


@pytest.fixture(scope="module")
def ahead(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[tuple[int, bool], Future[None]]]:
    folder = tmp_path_factory.mktemp("native")
    pool = ThreadPoolExecutor(2)

    def run(seed: int, native: bool) -> None:
        check_case(spark, small_case(seed), folder / f"{seed}-{native}", native=native)

    yield {(seed, native): pool.submit(run, seed, native) for seed in SEEDS for native in (True, False)}
    pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_spark_streaming_joins_give_the_same_batches(seed: int, ahead: dict[tuple[int, bool], Future[None]]) -> None:
    ahead[seed, True].result()
    ahead[seed, False].result()
