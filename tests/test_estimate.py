"""Estimates from samples: bounds hold as often as they claim, complete samples give exact values, and
what is no sample of so many rows is an error.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import joinless
from joinless import _bounds
from joinless._bounds import Estimate, Sampled, Seen

REPETITIONS = 2000
#: 95 %, and four standard deviations of a share of so many repetitions.
EXPECTED = 0.95
TOLERANCE = 4 * math.sqrt(EXPECTED * (1 - EXPECTED) / REPETITIONS)

#: Whether a row is in the domain, and its value.
Rows = list[tuple[bool, float]]


def population(n: int, domain: float, rng: random.Random, sigma: float = 0.5) -> Rows:
    return [(rng.random() < domain, rng.lognormvariate(1, sigma)) for _ in range(n)]


def seen(rows: Rows) -> Seen:
    values = [value for counts, value in rows if counts]
    mean = math.fsum(values) / max(1, len(values))
    return Seen(len(values), math.fsum(values), math.fsum((x - mean) ** 2 for x in values) / max(1, len(values)))


def hits(rows: Rows) -> int:
    return sum(counts and value > 3 for counts, value in rows)


ESTIMATES: dict[str, Callable[[Sampled, Rows], Estimate]] = {
    "sum": lambda law, rows: law.sum(seen(rows)),
    "average": lambda law, rows: law.average(seen(rows)),
    "share": lambda law, rows: law.share(hits(rows), seen(rows).rows),
    "count": lambda law, rows: law.count(hits(rows)),
}


def repeated(what: str, rows: Rows, k: int, seed: int) -> Iterator[Estimate]:
    rng, law = random.Random(seed), Sampled(k, len(rows), EXPECTED)
    for _ in range(REPETITIONS):
        yield ESTIMATES[what](law, rng.sample(rows, k))


def truth(what: str, rows: Rows) -> float:
    exact = ESTIMATES[what](Sampled(len(rows), len(rows), EXPECTED), rows)
    assert exact.value is not None
    assert (exact.error, exact.low, exact.high) == (0, exact.value, exact.value)
    return exact.value


def covers(found: Estimate, true: float) -> bool:
    assert found.low is not None
    assert found.high is not None
    return found.low <= true <= found.high


@pytest.mark.parametrize("what", ESTIMATES)
@pytest.mark.parametrize("domain", [1.0, 0.4])
@pytest.mark.parametrize("k", [150, 600], ids=["few", "most"])
def test_bounds_hold_as_often_as_they_claim_and_errors_are_those_of_the_values(
    what: str, domain: float, k: int
) -> None:
    rows = population(800, domain, random.Random(11))
    true = truth(what, rows)
    found = list(repeated(what, rows, k, seed=12))
    covered = sum(covers(each, true) for each in found) / REPETITIONS
    assert abs(covered - EXPECTED) < TOLERANCE, covered
    values = [each.value for each in found if each.value is not None]
    errors = [each.error for each in found if each.error is not None]
    assert len(values) == len(errors) == REPETITIONS
    assert abs(statistics.fmean(values) - true) < 4 * statistics.stdev(values) / math.sqrt(REPETITIONS)
    assert abs(statistics.stdev(values) / math.sqrt(statistics.fmean(e * e for e in errors)) - 1) < 0.07


@pytest.mark.parametrize("what", ["sum", "average", "share", "count"])
def test_bounds_of_a_handful_of_rows_hold_at_least_as_often(what: str) -> None:
    """Of 20 rows of the domain 6 are drawn on average. Their values are about normal."""
    rows = population(4000, 0.005, random.Random(3), sigma=0.15)
    true = truth(what, rows)
    found = [each for each in repeated(what, rows, 1200, seed=4) if each.low is not None]
    assert len(found) > 0.95 * REPETITIONS
    assert sum(covers(each, true) for each in found) / len(found) > EXPECTED - TOLERANCE


def test_a_condition_that_no_drawn_row_satisfies_is_not_known_to_be_false_everywhere() -> None:
    law = Sampled(1000, 100_000, 0.95)
    none, everything = law.count(0), law.count(1000)
    assert (none.value, none.low) == (0, 0)
    assert none.high == pytest.approx(380, abs=10)  # Wilson: z² / (k + z²)
    assert (everything.value, everything.high) == (100_000, 100_000)
    assert everything.low == pytest.approx(100_000 - 380, abs=10)
    nearly = Sampled(99_999, 100_000, 0.95).count(500)
    assert nearly.low is not None
    assert nearly.high is not None
    assert nearly.low >= 500
    assert nearly.high <= 501


def test_more_confidence_needs_wider_bounds() -> None:
    rows = population(500, 0.5, random.Random(5))
    for what, estimated in ESTIMATES.items():
        widths = [
            (each.high or 0) - (each.low or 0)
            for each in (estimated(Sampled(100, 5000, confidence), rows[:100]) for confidence in (0.5, 0.9, 0.99))
        ]
        assert widths == sorted(set(widths)), what


@pytest.mark.parametrize(
    ("p", "degrees", "quantile"),
    [  # tables of Student's law
        (0.975, 1, 12.706205),
        (0.975, 2, 4.302653),
        (0.975, 3, 3.182446),
        (0.975, 10, 2.228139),
        (0.995, 3, 5.840909),
        (0.995, 30, 2.749996),
        (0.95, 1000, 1.646379),
    ],
)
def test_quantiles_are_those_of_students_law(p: float, degrees: int, quantile: float) -> None:
    assert _bounds.student(p, degrees) == pytest.approx(quantile, rel=0.01 if degrees < 10 else 1e-4)


def rows_of(df: DataFrame) -> dict[Any, Row]:
    return {(row[0], row["estimate"]) if "g" in df.columns else row["estimate"]: row for row in df.collect()}


@pytest.fixture(scope="module")
def numbers(spark: SparkSession) -> DataFrame:
    """600 rows: an exact number, a decimal with NULLs, a condition with NULLs, groups with NULL."""
    rng = random.Random(8)
    rows = [
        (
            rng.randrange(10**6),
            rng.choice([None, Decimal(rng.randrange(40_000)) / 4]),
            rng.choice([True, False, None]),
            rng.choice([1, 2, 3, None]),
        )
        for _ in range(600)
    ]
    return spark.createDataFrame(rows, "a INT, b DECIMAL(10,2), c BOOLEAN, g INT").coalesce(2)


@pytest.mark.parametrize("where", [None, "a % 3 = 1 AND c"])
@pytest.mark.parametrize("by", [None, "g"])
def test_a_sample_of_all_rows_gives_what_spark_computes(numbers: DataFrame, where: str | None, by: str | None) -> None:
    found = joinless.estimate(
        numbers, 600, sum=["a", "b * 2"], avg=["b", "c"], count_if=["c", "a > 500000"], where=where, by=by
    )
    kept = numbers.where(where) if where else numbers
    expected = (
        kept.groupBy(*([by] if by else []))
        .agg(*(_expressions(kept)))
        .selectExpr(
            *([by] if by else []),
            "stack(6, 'sum(a)', v0, 'sum(b * 2)', v1, 'avg(b)', v2, 'avg(c)', v3, 'count_if(c)', v4, "
            "'count_if(a > 500000)', v5) AS (estimate, value)",
        )
    )
    ours, wanted = rows_of(found), rows_of(expected)
    assert found.columns == ["g"] * (by is not None) + ["estimate", "value", "error", "low", "high", "sampled"]
    assert ours.keys() == wanted.keys()
    assert {key: row["value"] for key, row in ours.items()} == {key: row["value"] for key, row in wanted.items()}
    assert all((row["error"], row["low"], row["high"]) == (0, row["value"], row["value"]) for row in ours.values())


def _expressions(df: DataFrame) -> list[Any]:
    texts = (
        "DOUBLE(SUM(a))",
        "DOUBLE(SUM(b * 2))",
        "AVG(DOUBLE(b))",
        "AVG(DOUBLE(INT(c)))",
        "DOUBLE(COUNT_IF(c))",
        "DOUBLE(COUNT_IF(a > 500000))",
    )
    return [F.expr(text).alias(f"v{i}") for i, text in enumerate(texts)]


def test_spark_reads_of_a_sample_what_its_law_needs(numbers: DataFrame) -> None:
    """The same estimates in Python, from the rows."""
    law = Sampled(600, 10**30, 0.9)
    ours = rows_of(joinless.estimate(numbers, 10**30, sum="b", avg="a", count_if="c", where="g = 2", confidence=0.9))
    rows = [row for row in numbers.collect() if row["g"] == 2]
    b = [float(row["b"]) for row in rows if row["b"] is not None]
    a = [float(row["a"]) for row in rows]
    c = sum(row["c"] is True for row in rows)
    for name, expected, sampled in (
        ("sum(b)", law.sum(Seen(len(b), math.fsum(b), statistics.pvariance(b))), len(b)),
        ("avg(a)", law.average(Seen(len(a), math.fsum(a), statistics.pvariance(a))), len(a)),
        ("count_if(c)", law.count(c), c),
    ):
        row = ours[name]
        assert [row["value"], row["error"], row["low"], row["high"]] == pytest.approx(
            [expected.value, expected.error, expected.low, expected.high]
        )
        assert row["sampled"] == sampled


def test_groups_add_up_to_the_whole(numbers: DataFrame) -> None:
    whole = rows_of(joinless.estimate(numbers, 9000, sum="a"))["sum(a)"]
    groups = joinless.estimate(numbers, 9000, sum="a", by=["g"]).collect()
    assert math.fsum(row["value"] for row in groups) == pytest.approx(whole["value"])
    counted = joinless.estimate(numbers, 9000, by="g").collect()
    assert {row["estimate"] for row in counted} == {"count(*)"}
    assert math.fsum(row["value"] for row in counted) == pytest.approx(9000)
    assert len(counted) == 4


def test_what_the_sample_does_not_say_is_null(numbers: DataFrame) -> None:
    one = numbers.where("c").limit(1)
    row = rows_of(joinless.estimate(one, 10, sum="a", avg="a", count_if="c"))
    assert row["avg(a)"]["value"] == row["sum(a)"]["value"] / 10
    assert [row[name]["error"] for name in row] == [None] * 3
    assert row["avg(a)"]["low"] is None
    nothing = rows_of(joinless.estimate(numbers, 9000, sum="a", avg="a", count_if="c", where="false"))
    assert [nothing[name]["value"] for name in nothing] == [0, None, 0]
    assert nothing["sum(a)"]["high"] is None
    assert nothing["count_if(c)"]["high"] > 0
    assert joinless.estimate(numbers, 9000, sum="a", where="false", by="g").count() == 0


def test_a_result_without_rows_is_known(numbers: DataFrame) -> None:
    found = rows_of(joinless.estimate(numbers.where("false"), 0, sum="a", avg="a", count_if="c"))
    assert [row["value"] for row in found.values()] == [0, None, 0]
    assert [row["error"] for row in found.values()] == [0, None, 0]


@pytest.mark.parametrize(
    ("change", "results", "condition"),
    [
        (lambda df: df.where("false"), 5, "EMPTY"),
        (lambda df: df, 599, "MORE_THAN_RESULTS"),
        (lambda df: df, 0, "MORE_THAN_RESULTS"),
        (lambda df: df.selectExpr("*", "1L AS _weight"), 9000, "CHANGES"),
        (lambda df: df.selectExpr("*", "'insert' AS _change_type"), 9000, "CHANGES"),
        (lambda df: df.sparkSession.readStream.format("rate").load(), 9000, "STREAM"),
    ],
)
def test_what_is_no_sample_is_refused(
    numbers: DataFrame, change: Callable[[DataFrame], DataFrame], results: int, condition: str
) -> None:
    with pytest.raises(joinless.EstimateError) as refused:
        joinless.estimate(change(numbers), results)
    assert refused.value.condition == f"JOINLESS_ESTIMATE.{condition}"
    assert "<" not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"sum": "c"}, joinless.EstimateError, "the type BOOLEAN. Give a number."),
        ({"avg": "string(a)"}, joinless.EstimateError, "the type STRING. Give a number or a condition."),
        ({"count_if": ["c", "a"]}, joinless.EstimateError, "The expression a of count_if has the type INT"),
        ({"where": "a"}, joinless.EstimateError, "of where has the type INT. Give a condition."),
        ({"sum": "nowhere"}, AnalysisException, "nowhere"),
        ({"by": "nowhere"}, AnalysisException, "nowhere"),
    ],
)
def test_expressions_are_checked(numbers: DataFrame, options: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text.replace("(", r"\(")):
        joinless.estimate(**{"sample": numbers, "results": 9000, **options})
