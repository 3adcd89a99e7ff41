"""Figures of our operators in Spark's reports of batches: joins, and groups that keep state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone

from pyspark.sql.streaming.listener import StateOperatorProgress, StreamingQueryProgress


def of_batches(recent: Sequence[StreamingQueryProgress]) -> list[StreamingQueryProgress]:
    """The reports of batches. While a query is idle, Spark repeats the last batch's figures under
    the next number; such reports are skipped.
    """
    return [report for report in recent if "addBatch" in report.durationMs]


def joins(batch: StreamingQueryProgress) -> list[StateOperatorProgress]:
    return [operator for operator in batch.stateOperators if "propagationSteps" in operator.customMetrics]


def groups(batch: StreamingQueryProgress) -> list[StateOperatorProgress]:
    return [operator for operator in batch.stateOperators if "groupsTouched" in operator.customMetrics]


def figure(operators: Sequence[StateOperatorProgress], metric: str) -> int:
    """The sum of a figure of several operators."""
    return sum(operator.customMetrics.get(metric, 0) for operator in operators)


def late(batch: StreamingQueryProgress) -> int:
    """Rows that our operators dropped as late."""
    return sum(operator.numRowsDroppedByWatermark for operator in joins(batch) + groups(batch))


def rows_of(operator: StateOperatorProgress) -> dict[str, int]:
    """The rows of each relation of a join."""
    return _of_each(operator, "rows.")


def result_size(operator: StateOperatorProgress) -> int | None:
    """The number of results of which the operator keeps a sample; None if it keeps none."""
    return operator.customMetrics.get("resultSize")


def steps_saved(operator: StateOperatorProgress) -> int:
    return int(operator.customMetrics.get("stepsSaved", 0))


def largest(sizes: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The greatest number of each name."""
    found: dict[str, int] = {}
    for several in sizes:
        found |= {name: max(rows, found.get(name, 0)) for name, rows in several.items()}
    return found


def instant(text: str | None) -> datetime | None:
    """A timestamp of Spark's reports."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


def next_end(batch: StreamingQueryProgress) -> datetime | None:
    """The watermark at which the next stored row is evicted."""
    ends = [operator.customMetrics.get("nextEnd", 0) for operator in joins(batch)]
    return min((datetime.fromtimestamp(end / 1000, timezone.utc) for end in ends if end), default=None)


def _of_each(operator: StateOperatorProgress, prefix: str) -> dict[str, int]:
    """The figures of one kind, by the name of their subject."""
    figures = operator.customMetrics.items()
    return {name.removeprefix(prefix): rows for name, rows in figures if name.startswith(prefix)}
