"""The corpus of bad input: plans, settings, changed queries, corrupt and foreign state, wrong
versions, wrong calls.

Each case names the condition, the SQLSTATE and a part of the user's message. None of them loses
anything: the checkpoints involved are compared before and after, and continue where they should.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import joinless
from support.bad_corpus import CASES
from support.bad_input import Bad
from support.world import PATH, World


@pytest.fixture(scope="module")
def world(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(spark, tmp_path_factory.mktemp("bad"))


@pytest.fixture(autouse=True)
def _settings(world: World) -> object:
    """Restores the settings after each case."""
    yield
    world.forget_settings()


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
        ("changelog(TABLE(SELECT src, dst AS copies FROM e), copies)", "src"),
        ("latest(TABLE(e), (src, dst), dst)", "dst"),
    ):
        assert world.table(call).columns[-1] == column


def test_functions_describe_themselves(world: World) -> None:
    for name, example in (("expire", "expire(TABLE(readings), 'ts'"), ("incremental_enumerate", "TABLE(SELECT src, ")):
        described = " ".join(row[0] for row in world.session.sql(f"DESCRIBE FUNCTION EXTENDED {name}").collect())
        assert f"{name}(TABLE(query)" in described
        assert example in described
        assert "N/A" not in described


def test_the_columns_of_a_result_may_be_given(world: World) -> None:
    shown = world.session.read.format("joinless").load(str(world.good))
    assert world.session.read.format("joinless").schema(shown.schema).load(str(world.good)).count() == shown.count()
