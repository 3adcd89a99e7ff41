"""What the operators of a running query did in its last batch, and the error that stopped it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timezone

from pyspark.errors import PySparkException
from pyspark.sql.streaming.listener import StateOperatorProgress, StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from joinless import _arguments, _jvm
from joinless.errors import JoinlessError


@dataclass(frozen=True)
class Totals:
    """Sums over batches.

    Attributes:
        batches: how many batches.
        duration_ms: how long they took.
        input_rows: rows read from the sources.
        rows_out: result rows written.
    """

    batches: int
    duration_ms: int
    input_rows: int
    rows_out: int


@dataclass(frozen=True)
class Progress:
    """Figures of the last batch, added up over cells (and over join blocks, where a query has several).

    Attributes:
        batch_id: the batch.
        duration_ms: how long the batch took, planning and sink included.
        input_rows: rows read from the sources.
        memory_bytes: what the operators hold: view trees, and what state stores count as theirs.
        group_entries: what the stores of groups hold after the batch: an entry per group, and one per value or row
            that it needs.
        groups_touched: groups of which rows came or went.
        group_rows_out: changes of groups, old and new rows, those of inner queries included.
        rows_removed: stored rows that went: deletes of changelogs left no copy of them, or no later row can join them.
        rows_late: rows dropped because they came later than a watermark allows.
        rows_in: rows that came to cells; a row replicated to three cells counts three.
        rows_netted: rows of changelogs cancelled or merged within the batch.
        rows_forgotten: stored rows that went because no later row can join them.
        rows_expired: rows whose time has passed (`joinless.expire`), also when they came.
        key_errors: rows left out because a join key could not be computed.
        rows_out: result rows written.
        propagation_steps: counts changed because a key came or went below; the work of updates.
        cursor_moves: lists entered or advanced; the work of enumeration.
        results_enumerated: results found; those that residual conditions reject do not count.
        stored_rows: rows held after the batch, each once per cell, whatever its roles; owed ones included.
        rows_owed: rows of changelogs with a negative count: deleted before they were inserted.
        log_rows: entries in the log.
        live_tuples: tuples of inner nodes that are part of a result.
        keys: distinct keys on the edges of the join trees.
        arena_bytes: memory held by the view trees.
        watermark: of the batch, in UTC; None where no input has one. Rows up to it are late in the next batch.
        newest_event_time: the newest one of the batch's rows, in UTC; None where none has one.
        next_end: the watermark at which the next stored row goes, in UTC; None where no row has an end.
        cache_hits: cells whose view tree was in the executor's cache.
        batches_taken_back: cached view trees rolled back by one batch, which is computed again.
        rebuilds: cells whose view tree was rebuilt from the log.
        propagate_ms, enumerate_ms, commit_ms, rebuild_ms: task time in milliseconds.
        total: figures of all batches of this run that Spark remembers
            (``spark.sql.streaming.numRecentProgressUpdates``, 100).
        steps_saved: percent of the steps of changes that another join tree would save, if relations change as often as
            they have rows now; the most of any join.
        rows_of: rows that each relation of the joins has, by name; where two joins have one of that name, the larger
            number.
        advice: what to look at, in whole sentences: an input that holds the watermark back, many late rows, rows
            without an end, a join tree that does not suit the sizes of the relations. Nothing changes by itself.
    """

    batch_id: int
    duration_ms: int
    input_rows: int
    memory_bytes: int
    group_entries: int
    groups_touched: int
    group_rows_out: int
    rows_removed: int
    rows_late: int
    rows_in: int
    rows_netted: int
    rows_forgotten: int
    rows_expired: int
    key_errors: int
    rows_out: int
    propagation_steps: int
    cursor_moves: int
    results_enumerated: int
    stored_rows: int
    rows_owed: int
    log_rows: int
    live_tuples: int
    keys: int
    arena_bytes: int
    cache_hits: int
    batches_taken_back: int
    rebuilds: int
    propagate_ms: int
    enumerate_ms: int
    commit_ms: int
    rebuild_ms: int
    watermark: datetime | None
    newest_event_time: datetime | None
    next_end: datetime | None
    total: Totals
    steps_saved: int
    rows_of: Mapping[str, int]
    advice: tuple[str, ...]

    @property
    def steps_per_row(self) -> float:
        """Propagation steps per row that came or went; 0 in a batch without such rows."""
        rows = self.rows_in + self.rows_forgotten + self.rows_expired
        return self.propagation_steps / rows if rows else 0.0

    @property
    def bytes_per_row(self) -> float:
        """Memory of the view trees per stored row; 0 while nothing is stored."""
        return self.arena_bytes / self.stored_rows if self.stored_rows else 0.0

    @property
    def output_amplification(self) -> float:
        """Result rows per row that came in; 0 in a batch without rows."""
        return self.rows_out / self.rows_in if self.rows_in else 0.0


def progress(query: StreamingQuery | str) -> Progress | None:
    """Figures of a query's last batch; None before the first, or where neither joins nor groups of it are ours.

    They come from ``stateOperators[i].customMetrics`` of the batch's report in ``query.recentProgress``, where a
    listener finds them as well. Reports that Spark repeats while a query is idle are left out.

    Args:
        query: what ``start()`` returned, or the name or id of an active query.

    Raises:
        AnalysisException: ``JOINLESS_QUERY_NOT_FOUND``, with the names of the active queries.
        TypeError, ValueError: an argument of another kind.
    """
    running = found("joinless.progress", query)
    recent = running.recentProgress
    if not recent:
        return None
    batches = _batches(recent)
    last = batches[-1] if batches else recent[-1]  # idle for so long that Spark has forgotten the batch
    ours, groups = _joinless_operators(last), _groups(last)
    if not ours and not groups:
        return None
    return Progress(
        batch_id=last.batchId if batches else last.batchId - 1,
        duration_ms=last.batchDuration,
        input_rows=last.numInputRows,
        memory_bytes=sum(operator.memoryUsedBytes for operator in ours + groups),
        group_entries=sum(operator.numRowsTotal for operator in groups),
        groups_touched=_sum(groups, "groupsTouched"),
        group_rows_out=_sum(groups, "rowsOut"),
        rows_removed=sum(operator.numRowsRemoved for operator in ours),
        rows_late=sum(operator.numRowsDroppedByWatermark for operator in ours),
        watermark=_instant(last.eventTime.get("watermark")),
        newest_event_time=_instant(last.eventTime.get("max")),
        next_end=_next_end(last),
        total=_totals(batches),
        steps_saved=max((_steps_saved(operator) for operator in ours), default=0),
        rows_of=_largest(_rows_of(operator) for operator in ours),
        advice=tuple(_advice(batches)),
        **{name: _sum(ours, _camel(name)) for name in _METRICS},
    )


def _batches(recent: Sequence[StreamingQueryProgress]) -> list[StreamingQueryProgress]:
    """The reports of batches: while it is idle, Spark repeats the last batch's figures under the next one's number."""
    return [report for report in recent if "addBatch" in report.durationMs]


def _totals(reports: Sequence[StreamingQueryProgress]) -> Totals:
    batches = [(batch, ours) for batch in reports if (ours := _joinless_operators(batch)) or _groups(batch)]
    return Totals(
        batches=len(batches),
        duration_ms=sum(batch.batchDuration for batch, _ in batches),
        input_rows=sum(batch.numInputRows for batch, _ in batches),
        rows_out=sum(_sum(ours, "rowsOut") for _, ours in batches),
    )


def _instant(text: str | None) -> datetime | None:
    """A time of Spark's reports."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


def _next_end(batch: StreamingQueryProgress) -> datetime | None:
    ends = [operator.customMetrics.get("nextEnd", 0) for operator in _joinless_operators(batch)]
    return min((datetime.fromtimestamp(end / 1000, timezone.utc) for end in ends if end), default=None)


def _rows_of(operator: StateOperatorProgress) -> dict[str, int]:
    figures = operator.customMetrics.items()
    return {name.removeprefix(_ROWS_OF): rows for name, rows in figures if name.startswith(_ROWS_OF)}


def _largest(sizes: Iterable[Mapping[str, int]]) -> dict[str, int]:
    largest: dict[str, int] = {}
    for rows_of in sizes:
        largest |= {name: max(rows, largest.get(name, 0)) for name, rows in rows_of.items()}
    return largest


def _advice(batches: Sequence[StreamingQueryProgress]) -> Iterator[str]:
    """Looks at the batches with rows that Spark remembers."""
    if batches:
        yield from _trees(batches[-1])
    busy = [batch for batch in batches if batch.numInputRows and batch.eventTime.get("watermark")]
    recent = busy[-_ENOUGH_BATCHES:]
    if len(recent) < _ENOUGH_BATCHES:
        return
    watermark, newest = recent[-1].eventTime["watermark"], max(batch.eventTime.get("max", "") for batch in recent)
    idle = [
        source.description
        for number, source in enumerate(recent[-1].sources)
        if not any(batch.sources[number].numInputRows for batch in recent)
    ]
    if idle and recent[0].eventTime["watermark"] == watermark < newest:
        yield (
            f"The watermark has stood at {watermark} for {len(recent)} batches or more, and rows up to {newest} came. "
            f"No rows came from {' and '.join(idle)}. "
            "The watermark is the least of all inputs that have one, so stored rows stay until such an input goes on. "
            "If the query does not use its time, leave withWatermark out there."
        )
    rows = sum(batch.numInputRows for batch in busy)
    late = sum(operator.numRowsDroppedByWatermark for batch in busy for operator in _joinless_operators(batch))
    if late > rows * _MANY_LATE:
        yield (
            f"{late:,} of {rows:,} rows were late, and dropped. A longer delay in withWatermark keeps more of them, "
            "and stored rows longer."
        )
    joins = _joinless_operators(recent[-1])
    if joins and not any(_next_end(batch) for batch in recent):
        yield (
            f"The query has a watermark, and none of {sum(j.numRowsTotal for j in joins):,} stored rows has an end. "
            "joinless.explain says which condition is missing; joinless.expire lets rows go by their age."
        )


def _steps_saved(operator: StateOperatorProgress) -> int:
    return int(operator.customMetrics.get("stepsSaved", 0))


def _trees(batch: StreamingQueryProgress) -> Iterator[str]:
    """Trees that were chosen for other sizes."""
    for operator in _joinless_operators(batch):
        saved = _steps_saved(operator)
        if saved >= _WORTHWHILE and operator.numRowsTotal >= _ENOUGH_ROWS:
            sizes = _rows_of(operator)
            hint = ",".join(f"{relation}={max(rows, 1)}" for relation, rows in sorted(sizes.items()))
            yield (
                f"Another join tree of {', '.join(sorted(sizes))} would take {saved} % fewer steps, if they change "
                f"as often as they have rows. spark.joinless.relationSizes={hint} chooses it, with a new checkpoint."
            )


def _joinless_operators(batch: StreamingQueryProgress) -> list[StateOperatorProgress]:
    return [operator for operator in batch.stateOperators if "propagationSteps" in operator.customMetrics]


def _groups(batch: StreamingQueryProgress) -> list[StateOperatorProgress]:
    return [operator for operator in batch.stateOperators if "groupsTouched" in operator.customMetrics]


def _sum(operators: Sequence[StateOperatorProgress], metric: str) -> int:
    return sum(operator.customMetrics.get(metric, 0) for operator in operators)


def error(query: StreamingQuery | str) -> PySparkException | None:
    """The error that stopped a query, without what Spark wraps around it; None where it runs or ended well.

    Spark wraps what happens inside a stream as ``STREAM_FAILED``. This finds the cause: an error of ours as a
    `JoinlessError`, also where a function given to ``foreachBatch`` raised it, and where only texts of errors are left,
    as on Spark Connect. Where there is none of ours, it is the first of Spark's or Delta's that has a condition, such
    as ``DIVIDE_BY_ZERO``. All answer ``getCondition()``, ``getMessageParameters()`` and ``getSqlState()``. An error
    without a condition, as a function of yours may raise it, gives None: ask ``query.exception()``.

    Args:
        query: what ``start()`` returned. A name or id will do as long as the query is active.

    Raises:
        AnalysisException: ``JOINLESS_QUERY_NOT_FOUND``, with the names of the active queries.
        TypeError, ValueError: an argument of another kind.
    """
    causes = list(_causes(found("joinless.error", query).exception()))
    if (named := _named(causes)) is not None:
        return named
    texts = [str(cause) for cause in reversed(causes)]
    if (raised := _raised_in_function(texts)) is not None:
        return raised
    for told in filter(None, map(_CONDITION_IN_TEXT.search, texts)):
        return JoinlessError(told[1], told[2], None, told[3])
    return _of_spark(causes) or _of_spark(_causes_in_function(texts)) or _told_by_spark(texts)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what led to it, in Java and in Python, each once."""
    waiting, seen = [error], set[int]()
    while waiting:
        cause = waiting.pop(0)
        if cause is not None and id(cause) not in seen:
            seen.add(id(cause))
            yield cause
            waiting += [getattr(cause, "_cause", None), cause.__cause__, cause.__context__]


def _named(causes: Iterable[BaseException]) -> JoinlessError | None:
    """The first of the errors that is ours by its condition."""
    for cause in causes:
        if isinstance(cause, PySparkException) and (cause.getCondition() or "").startswith("JOINLESS_"):
            return _as_error(cause)
    return None


def _of_spark(causes: Iterable[BaseException]) -> PySparkException | None:
    """The first of the errors that has a condition and does not only wrap another."""
    for cause in causes:
        if isinstance(cause, PySparkException) and (cause.getCondition() or _WRAPPERS[0]) not in _WRAPPERS:
            return cause
    return None


def _told_by_spark(texts: Iterable[str]) -> PySparkException | None:
    """The error that a text names as what ended the query: those of Delta Lake, and of others, come as texts only."""
    for told in (found for text in texts for found in _ENDED_BY.finditer(text)):
        if told[1] not in _WRAPPERS:
            return PySparkException(f"[{told[1]}] {told[2]}", errorClass=told[1], messageParameters={})
    return None


def _causes_in_function(texts: Sequence[str]) -> Iterator[BaseException]:
    """What a function of ``foreachBatch`` raised, and what led to it, if a text tells it."""
    for raised in _jvm.errors_of_functions():
        line = str(raised).partition("\n")[0]
        if line and any(line in text for text in texts):
            yield from _causes(raised)


def found(function: str, query: StreamingQuery | str) -> StreamingQuery:
    """The query, or the active one of that name or id."""
    _arguments.query(function, query)
    return _jvm.active_query(query) if isinstance(query, str) else query


def _raised_in_function(texts: Sequence[str]) -> JoinlessError | None:
    """The error of ours that a function of ``foreachBatch`` raised, or that led to it, if a text tells one of both."""
    for raised in _jvm.errors_of_functions():
        error = _named(_causes(raised))
        if error and any(told in text for told in (str(error), str(raised)) if told for text in texts):
            return error
    return None


def _as_error(cause: PySparkException) -> JoinlessError:
    told = _CONDITION_IN_TEXT.search(str(cause))
    sentence = told[2] if told else str(cause).splitlines()[0]
    return JoinlessError(cause.getCondition() or "", sentence, cause.getMessageParameters(), cause.getSqlState())


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(part.capitalize() for part in tail)


#: Conditions of Spark's that only say where an error came from.
_WRAPPERS = ("STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR")

#: So many batches with rows say something.
_ENOUGH_BATCHES = 5

#: Percent of steps, and rows, from which on another tree is worth a word.
_WORTHWHILE, _ENOUGH_ROWS = 25, 1000

#: How the rows of a relation are called among the figures.
_ROWS_OF = "rows."

#: More late rows than this part are worth a word.
_MANY_LATE = 0.01

_FROM_SPARK = {"batch_id", "duration_ms", "input_rows", "memory_bytes", "rows_removed", "rows_late", "total"}
_OF_GROUPS = {"group_entries", "groups_touched", "group_rows_out"}
_OF_TIME = {"watermark", "newest_event_time", "advice", "rows_of"}
#: A moment of each operator, of which the least counts.
_LEAST = {"next_end"}
#: The same, of which the greatest counts.
_MOST = {"steps_saved"}
_OTHERS = _FROM_SPARK | _OF_GROUPS | _OF_TIME | _LEAST | _MOST
_METRICS = [field.name for field in fields(Progress) if field.name not in _OTHERS]
_ENDED_BY = re.compile(r"(?:\A|terminated with exception: )\[([A-Z][A-Z0-9_.]+)\] ((?:(?!terminated with exc)[^\n])*)")
_CONDITION_IN_TEXT = re.compile(r"\[(JOINLESS_[A-Z_.]+)\] (.*?)(?: SQLSTATE: (\w{5})|\n|\\n|$)")
