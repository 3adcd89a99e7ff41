"""Sums, averages and counts of a result that is too big to list, estimated from a uniform sample.

The sample is read once, by one aggregate per group. What follows from it is in `_bounds`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    NumericType,
    StringType,
    StructField,
    StructType,
)

from joinless import _arguments
from joinless._bounds import Estimate, Sampled, Seen
from joinless.errors import EstimateError

_NAME = "joinless.estimate"

#: Columns of the changes of a query.
_OF_CHANGES = ("_weight", "_change_type")

_COLUMNS = [
    StructField("estimate", StringType(), nullable=False),
    *(StructField(name, DoubleType()) for name in ("value", "error", "low", "high")),
    StructField("sampled", LongType(), nullable=False),
]


def estimate(
    sample: DataFrame,
    results: int,
    *,
    sum: str | Sequence[str] | None = None,
    avg: str | Sequence[str] | None = None,
    count_if: str | Sequence[str] | None = None,
    where: str | None = None,
    by: str | Sequence[str] | None = None,
    confidence: float = 0.95,
) -> DataFrame:
    """Returns estimates of sums, averages and counts over a whole result, with their errors, from a
    uniform sample of it.

    Give the whole sample, not a part of it: its number of rows counts. Conditions go into `where`.
    Without `sum`, `avg` and `count_if` the rows are counted.

    >>> few = joinless.sample(joinless.enumerate_full(pairs, query=query), size=1000, seed=7)
    >>> joinless.estimate(few, results=1, sum="dst", count_if="src > dst").show()
    +-------------------+-----+-----+---+----+-------+
    |           estimate|value|error|low|high|sampled|
    +-------------------+-----+-----+---+----+-------+
    |           sum(dst)|  3.0|  0.0|3.0| 3.0|      1|
    |count_if(src > dst)|  0.0|  0.0|0.0| 0.0|      0|
    +-------------------+-----+-----+---+----+-------+
    <BLANKLINE>

    The errors are those of simple random sampling without replacement, with the finite population
    correction (Cochran, Sampling Techniques, chapters 2 and 3). They are exact, and 0, if the sample
    is the whole result. Bounds of sums and averages are Student's, with one degree of freedom less
    than the rows that count; those of counts and shares are Wilson's.

    Each bound is right with the chance of `confidence`; that all of many are is less likely. Bounds
    of sums and averages suppose that means of so many rows are about normal: do not trust them
    where ``sampled`` is small and a few values are much larger than the others. A group of which no
    row was drawn is missing.

    Args:
        sample: a batch DataFrame that is a uniform sample without replacement: what
            `joinless.sample` draws, the table of a sample that is kept, or its complete result. It
            may have further columns, such as computed ones, but neither more nor fewer rows.
        results: the number of rows of which it is a sample, as of the same batch:
            `joinless.count` of the query's checkpoint, or ``joinless.progress(query).result_size``,
            which is None where it is not known.
        sum: SQL expressions of numbers; NULL counts as 0.
        avg: SQL expressions of numbers, or conditions: the average of a condition is the share of
            the rows for which it is true. NULL is left out.
        count_if: SQL conditions; the number of rows for which each is true.
        where: an SQL condition; other rows are left out.
        by: columns; there are estimates for each of their values.
        confidence: the chance that a true value is between its bounds.

    Returns:
        A batch DataFrame of computed rows, one per group and expression: the columns `by`;
        ``estimate STRING``, the expression; ``value DOUBLE``; ``error DOUBLE``, the standard error;
        ``low DOUBLE`` and ``high DOUBLE``, the bounds; ``sampled BIGINT``, the number of sampled
        rows that count: with a value, or for which the condition is true. What a sample does not
        say, such as the error of an average of one row, is NULL.

    Raises:
        EstimateError: ``JOINLESS_ESTIMATE.EMPTY`` or ``MORE_THAN_RESULTS`` if the DataFrame cannot
            be a sample of so many results; ``CHANGES`` if it is the changes of a sample; ``STREAM``;
            ``TYPE`` if an expression is neither a number nor a condition.
        AnalysisException: an expression or a column does not exist.
        TypeError, ValueError: an argument of another type or value.
    """
    _arguments.number(_NAME, "results", results, optional=False, bits=127)
    _arguments.text(_NAME, "where", where, optional=True)
    _arguments.between_0_and_1(_NAME, "confidence", confidence)
    groups = _arguments.as_columns(_NAME, "by", by) or []
    if taken := {column.name for column in _COLUMNS} & set(groups):
        raise ValueError(f"{_NAME} has a column {min(taken)} of its own; give that of by, {by!r}, another name")
    given = [
        (name, text)
        for name, texts in (("sum", sum), ("avg", avg), ("count_if", count_if))
        for text in _arguments.as_columns(_NAME, name, texts, "string of SQL") or []
    ]
    _check(sample)
    wanted = [_Wanted(name, text, _type_of(sample, name, text)) for name, text in given]
    wanted = wanted or [_Wanted("count", "*", BooleanType())]
    if where is not None:
        _type_of(sample, "where", where)
    counts = F.lit(True) if where is None else F.coalesce(F.expr(where), F.lit(False))
    aggregates = [F.count(F.lit(1)), F.count(F.when(counts, 1))]
    read = sample.groupBy(*groups).agg(*aggregates, *(column for each in wanted for column in each.seen(counts)))
    schema = StructType([*read.schema.fields[: len(groups)], *_COLUMNS])
    rows = read.collect()
    law = _law((row[len(groups)] for row in rows), results, confidence)
    found: list[tuple[Any, ...]] = []
    for row in rows:
        key, (_, domain, *seen) = row[: len(groups)], row[len(groups) :]
        if domain or not groups:
            for i, each in enumerate(wanted):
                value, sampled = each.estimate(law, *seen[3 * i : 3 * i + 3])
                found.append((*key, each.name, value.value, value.error, value.low, value.high, sampled))
    return sample.sparkSession.createDataFrame(found, schema)


@dataclass(frozen=True)
class _Wanted:
    """One estimate: what is read for it of each group, and what follows."""

    function: str
    expression: str
    type: DataType

    @property
    def name(self) -> str:
        return f"{self.function}({self.expression})"

    def seen(self, counts: Column) -> tuple[Column, Column, Column]:
        """The rows with a value, the sum of the values, and their variance; of a condition the rows
        where it is known, and those where it is true.
        """
        value = F.lit(True) if self.expression == "*" else F.expr(self.expression)
        number = F.when(counts, value.cast(DoubleType()))
        return F.count(number), F.coalesce(F.sum(number), F.lit(0.0)), F.coalesce(F.var_pop(number), F.lit(0.0))

    def estimate(self, law: Sampled, rows: int, total: float, variance: float) -> tuple[Estimate, int]:
        """The estimate, and the number of sampled rows that count."""
        if self.function in ("count", "count_if"):
            return law.count(int(total)), int(total)
        if isinstance(self.type, BooleanType):
            return law.share(int(total), rows), rows
        seen = Seen(rows, total, variance)
        return (law.sum(seen) if self.function == "sum" else law.average(seen)), rows


def _check(sample: DataFrame) -> None:
    """Raises if this is nothing that can be a sample, before it is read."""
    if isinstance(sample, type) or not hasattr(sample, "sparkSession") or not hasattr(sample, "isStreaming"):
        raise TypeError(f"{_NAME} takes a DataFrame as sample, and got {sample!r}")
    if sample.isStreaming:
        raise EstimateError("STREAM")
    for column in _OF_CHANGES:
        if column in sample.columns:
            raise EstimateError("CHANGES", column=column)


def _type_of(sample: DataFrame, argument: str, expression: str) -> DataType:
    """The type of an expression, if it is one that the argument takes."""
    found = sample.select(F.expr(expression)).schema[0].dataType
    conditions, numbers = argument != "sum", argument in ("sum", "avg")
    if not (conditions and isinstance(found, BooleanType)) and not (numbers and isinstance(found, NumericType)):
        wanted = {"sum": "a number", "avg": "a number or a condition"}.get(argument, "a condition")
        raise EstimateError(
            "TYPE", expression=expression, argument=argument, type=found.simpleString().upper(), wanted=wanted
        )
    return found


def _law(counts: Iterable[int], results: int, confidence: float) -> Sampled:
    """The law of a sample whose groups have so many rows."""
    k = sum(counts)
    if k > results:
        raise EstimateError("MORE_THAN_RESULTS", rows=str(k), results=str(results))
    if results and not k:
        raise EstimateError("EMPTY", results=str(results))
    return Sampled(k, results, confidence)
