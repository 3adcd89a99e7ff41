"""Advice on a running query, in whole sentences, from the reports of its batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql.streaming.listener import StreamingQueryProgress

from joinless import _reports

#: At least this many batches with rows are needed for advice.
_ENOUGH_BATCHES = 5

#: The percentage of steps, and the number of rows, from which another tree is recommended.
_WORTHWHILE, _ENOUGH_ROWS = 25, 1000


def advice(batches: Sequence[StreamingQueryProgress]) -> Iterator[str]:
    """All advice that follows from the batches that Spark remembers."""
    if batches:
        yield from _trees(batches[-1])
    busy = [batch for batch in batches if batch.numInputRows and batch.eventTime.get("watermark")]
    recent = busy[-_ENOUGH_BATCHES:] if len(busy) >= _ENOUGH_BATCHES else []
    if recent:
        yield from _held_watermark(recent)
    yield from _late_rows(batches)
    yield from _late_results(batches)
    if recent:
        yield from _endless_rows(recent)


def _held_watermark(recent: Sequence[StreamingQueryProgress]) -> Iterator[str]:
    """An input without rows that holds the watermark back, so that state grows."""
    watermark, newest = recent[-1].eventTime["watermark"], max(batch.eventTime.get("max", "") for batch in recent)
    idle = [
        source.description
        for number, source in enumerate(recent[-1].sources)
        if not any(batch.sources[number].numInputRows for batch in recent)
    ]
    if idle and recent[0].eventTime["watermark"] == watermark < newest:
        yield (
            f"The watermark has stood at {watermark} for {len(recent)} batches or more, "
            f"and rows up to {newest} arrived. No rows arrived from {' and '.join(idle)}. "
            "The watermark is the least of all inputs that have one, so stored rows stay until such an input goes on. "
            "If the query does not use its time, leave withWatermark out there."
        )


def _late_rows(batches: Sequence[StreamingQueryProgress]) -> Iterator[str]:
    """Rows that were dropped as late, however few: their columns, and the watermark by which the
    last of them was late.
    """
    late = sum(map(_reports.late, batches))
    if not late:
        return
    columns = _reports.late_by(batches)
    by = ", ".join(f"{rows:,} by {times}" for times, rows in sorted(columns.items()))
    last = max(number for number, batch in enumerate(batches) if _reports.late(batch))
    # rows are late by the watermark of the batch before
    watermark = batches[last - 1].eventTime.get("watermark") if last else None
    then = f"The watermark stood at {watermark} when the last of them arrived, in batch {batches[last].batchId}. "
    yield (
        f"Late rows were dropped: {late:,}{f' ({by})' if by else ''}. {then if watermark else ''}"
        "A longer delay in withWatermark keeps such rows. "
        "Stored rows then stay longer, and final rows are emitted later."
    )


def _late_results(batches: Sequence[StreamingQueryProgress]) -> Iterator[str]:
    """Results that Spark's own operators may treat as late, reported before there are any."""
    times = sorted(_reports.any_age(batches[-1])) if batches else []
    if times:
        lost = sum(map(_reports.late_for_spark, batches))
        so_far = f" Late rows that they have dropped so far: {lost:,}." if lost else ""
        yield (
            f"Results of the join can have a time {' or '.join(times)} of any age, and operators above it drop results "
            f"whose time the watermark has passed.{so_far} joinless.why_not says what bounds such a time."
        )


def _endless_rows(recent: Sequence[StreamingQueryProgress]) -> Iterator[str]:
    """A watermark by which no row is evicted."""
    joins = _reports.joins(recent[-1])
    if joins and not any(_reports.next_end(batch) for batch in recent):
        yield (
            f"The query has a watermark, and none of {sum(j.numRowsTotal for j in joins):,} stored rows has an end. "
            "joinless.explain says which condition is missing; joinless.expire lets rows expire by their age."
        )


def _trees(batch: StreamingQueryProgress) -> Iterator[str]:
    """Join trees that were chosen for other sizes of the relations."""
    for operator in _reports.joins(batch):
        saved = _reports.steps_saved(operator)
        if saved >= _WORTHWHILE and operator.numRowsTotal >= _ENOUGH_ROWS:
            sizes = _reports.rows_of(operator)
            hint = ",".join(f"{relation}={max(rows, 1)}" for relation, rows in sorted(sizes.items()))
            yield (
                f"Another join tree of {', '.join(sorted(sizes))} would take {saved} % fewer steps, if they change "
                f"as often as they have rows. spark.joinless.relationSizes={hint} chooses it, with a new checkpoint."
            )
