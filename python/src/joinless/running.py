"""Figures of the operators of a running query in its last batch, and the error that stopped it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from joinless import _arguments, _door, _reports
from joinless.errors import ExtensionNotInstalledError, JoinlessError


@dataclass(frozen=True)
class Totals:
    """Sums over batches.

    Attributes:
        batches: the number of batches.
        duration_ms: the time that they took.
        input_rows: rows read from the sources.
        rows_out: result rows written.
        rows_late: rows dropped because they arrived later than a watermark allows.
    """

    batches: int
    duration_ms: int
    input_rows: int
    rows_out: int
    rows_late: int


@dataclass(frozen=True)
class Progress:
    """Figures of the last batch, added up over cells and join blocks.

    The last batch may have no data; ``with_rows`` is the last one that read rows.

    Attributes:
        batch_id: the id of the batch.
        duration_ms: the time of the batch, planning and sink included.
        input_rows: rows read from the sources.
        memory_bytes: memory held by the operators: view trees, and the memory that state stores
            report.
        group_entries: entries in the stores of groups after the batch: one per group, and one per
            value or row that the group needs.
        groups_touched: groups of which rows were inserted or deleted.
        group_rows_out: changes of groups, old and new rows, those of inner queries included.
        rows_removed: stored rows that were deleted or evicted: deletes of changelogs left no copy
            of them, or no later row can join them.
        rows_late: rows dropped because they arrived later than a watermark allows, by joins and by
            groups that close. A row counts once for each operator that drops it.
        rows_in: rows sent to cells; a row replicated to three cells counts three times.
        rows_netted: rows of changelogs cancelled or merged within the batch.
        rows_forgotten: stored rows evicted because no later row can join them.
        rows_expired: rows whose time has passed (`joinless.expire`), stored ones and arriving ones.
        key_errors: rows left out because a join key could not be computed.
        rows_out: result rows written.
        propagation_steps: counts changed because a key was inserted or deleted below; the work of
            updates.
        cursor_moves: lists entered or advanced; the work of enumeration.
        results_enumerated: results found, without those that residual conditions reject.
        stored_rows: rows stored after the batch, each once per cell, whatever its roles; rows with
            a negative multiplicity included.
        negative_rows: rows of changelogs with a negative multiplicity: deleted before they were
            inserted.
        log_rows: entries in the log.
        live_tuples: tuples of inner nodes that are part of a result.
        keys: distinct keys on the edges of the join trees.
        arena_bytes: memory held by the view trees.
        watermark: the watermark of the batch, in UTC; None if no input has one. Rows up to it are
            late in the next batch.
        newest_event_time: the newest event time of the batch's rows, in UTC; None if no row has
            one.
        next_end: the watermark at which the next stored row is evicted, in UTC; None if no row has
            an end.
        cache_hits: cells whose view tree was in the executor's cache.
        batches_rolled_back: cached view trees rolled back by one batch, which is computed again.
        rebuilds: cells whose view tree was rebuilt from the log.
        propagate_ms, enumerate_ms, commit_ms, rebuild_ms: task time in milliseconds.
        total: sums over all batches of this run that Spark remembers
            (``spark.sql.streaming.numRecentProgressUpdates``, 100).
        steps_saved: percentage of the propagation steps that another join tree would save, if
            relations change in proportion to the rows that they have now; the maximum over the
            joins.
        result_size: the number of results of which a sample is kept (`joinless.sample`); of the
            largest, if there are several samples. None if the query keeps no sample, and where
            conditions other than equi-joins between relations, or a cycle of equi-joins, are
            checked on results: `joinless.count` counts these.
        rows_of: the number of rows of each relation, by name; the larger number if two joins have a
            relation of that name.
        advice: what to check, in whole sentences: an input that holds the watermark back, late
            rows, results that operators above would drop as late, rows without an end, a join tree
            that does not suit the sizes of the relations. Joinless itself changes nothing. Empty on
            Spark Connect, where ``CALL joinless.status()`` has it.
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
    negative_rows: int
    log_rows: int
    live_tuples: int
    keys: int
    arena_bytes: int
    cache_hits: int
    batches_rolled_back: int
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
    result_size: int | None
    rows_of: Mapping[str, int]
    advice: tuple[str, ...]
    _with_rows: Progress | None = field(default=None, repr=False)

    @property
    def with_rows(self) -> Progress:
        """The figures of the last batch that read rows: these, or those of an earlier batch.

        If the watermark evicts rows or closes groups, Spark runs a batch without data after the
        last rows. The number of late rows, for example, is in the figures of the batch that read
        them.
        """
        return self._with_rows or self

    @property
    def steps_per_row(self) -> float:
        """Propagation steps per inserted, deleted or evicted row; 0 in a batch without them."""
        rows = self.rows_in + self.rows_forgotten + self.rows_expired
        return self.propagation_steps / rows if rows else 0.0

    @property
    def bytes_per_row(self) -> float:
        """Memory of the view trees per stored row; 0 if no row is stored."""
        return self.arena_bytes / self.stored_rows if self.stored_rows else 0.0

    @property
    def output_amplification(self) -> float:
        """Result rows per row sent to a cell; 0 in a batch without rows."""
        return self.rows_out / self.rows_in if self.rows_in else 0.0


def progress(query: StreamingQuery | str) -> Progress | None:
    """Returns the figures of a query's last batch.

    Returns None before the first batch, or if Joinless runs neither joins nor groups of the
    query. The figures are read from ``stateOperators[i].customMetrics`` of the batch's report in
    ``query.recentProgress``, which a listener also gets. Reports that Spark repeats while a query
    is idle are skipped.

    Args:
        query: the query, as ``start()`` returned it, or the name or id of an active query.

    Raises:
        AnalysisException: ``JOINLESS_QUERY_NOT_FOUND``, with the names of the active queries.
        TypeError, ValueError: an argument of another type or value.
    """
    running = found("joinless.progress", query)
    recent = running.recentProgress
    if not recent:
        return None
    batches = _reports.of_batches(recent)
    last = batches[-1] if batches else recent[-1]  # idle for so long that Spark has forgotten the batch
    if not _reports.joins(last) and not _reports.groups(last):
        return None
    of_all: dict[str, Any] = {"total": _totals(batches), "advice": _door.of_query(running).advice(running)}
    busy = next((batch for batch in reversed(batches) if batch.numInputRows), last)
    before = None if busy is last else _of_batch(busy, busy.batchId, of_all)
    return _of_batch(last, last.batchId if batches else last.batchId - 1, of_all | {"_with_rows": before})


def _of_batch(report: StreamingQueryProgress, number: int, others: Mapping[str, Any]) -> Progress:
    """The figures of one report."""
    joins, groups = _reports.joins(report), _reports.groups(report)
    return Progress(
        batch_id=number,
        duration_ms=report.batchDuration,
        input_rows=report.numInputRows,
        memory_bytes=sum(operator.memoryUsedBytes for operator in joins + groups),
        group_entries=sum(operator.numRowsTotal for operator in groups),
        groups_touched=_reports.figure(groups, "groupsTouched"),
        group_rows_out=_reports.figure(groups, "rowsOut"),
        rows_removed=sum(operator.numRowsRemoved for operator in joins),
        rows_late=_reports.late(report),
        watermark=_reports.instant(report.eventTime.get("watermark")),
        newest_event_time=_reports.instant(report.eventTime.get("max")),
        next_end=_reports.next_end(report),
        steps_saved=max(map(_reports.steps_saved, joins), default=0),
        result_size=max((size for size in map(_reports.result_size, joins) if size is not None), default=None),
        rows_of=_reports.largest(map(_reports.rows_of, joins)),
        **(dict[str, Any](others) | {name: _reports.figure(joins, _camel(name)) for name in _METRICS}),
    )


def _totals(reports: Sequence[StreamingQueryProgress]) -> Totals:
    batches = [batch for batch in reports if _reports.joins(batch) or _reports.groups(batch)]
    return Totals(
        batches=len(batches),
        duration_ms=sum(batch.batchDuration for batch in batches),
        input_rows=sum(batch.numInputRows for batch in batches),
        rows_out=sum(_reports.figure(_reports.joins(batch), "rowsOut") for batch in batches),
        rows_late=sum(map(_reports.late, batches)),
    )


def error(query: StreamingQuery | str) -> PySparkException | None:
    """Returns the error that stopped a query, without Spark's wrappers.

    Returns None if the query runs or ended without an error.

    Spark wraps an error inside a stream as ``STREAM_FAILED``. This function finds the cause. An
    error of Joinless is returned as a `JoinlessError`, also if a function given to ``foreachBatch``
    raised it, or if only texts of errors are left, as on Spark Connect. A view whose tables are gone,
    or were created anew, has the error ``JOINLESS_VIEW.TABLES``. If there is none, it is the first
    error of Spark or Delta that has a condition, such as ``DIVIDE_BY_ZERO``. All have
    ``getCondition()``, ``getMessageParameters()`` and ``getSqlState()``. For an error without a
    condition, such as one that your own function raised, the function returns None: call
    ``query.exception()``.

    Args:
        query: the query, as ``start()`` returned it; its name or id while it is active.

    Raises:
        AnalysisException: ``JOINLESS_QUERY_NOT_FOUND``, with the names of the active queries.
        TypeError, ValueError: an argument of another type or value.
    """
    running = found("joinless.error", query)
    causes = list(_causes(running.exception()))
    if (named := _named(causes)) is not None:
        return named
    texts = [str(cause) for cause in reversed(causes)]
    door = _door.of_query(running)
    raised_in_functions = door.errors_of_functions()
    if (raised := _raised_in_function(texts, raised_in_functions)) is not None:
        return raised
    failure = door.failure(running) or ""
    for parts in filter(None, map(_CONDITION_IN_TEXT.search, [*texts, failure])):
        return JoinlessError(parts[1], parts[2], None, parts[3])
    of_spark = _of_spark(causes) or _of_spark(_causes_in_function(texts, raised_in_functions)) or _error_at_end(texts)
    return of_spark or _error_at_end([failure])


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and its causes, in Java and in Python, each once."""
    waiting, seen = [error], set[int]()
    while waiting:
        cause = waiting.pop(0)
        if cause is not None and id(cause) not in seen:
            seen.add(id(cause))
            yield cause
            waiting += [getattr(cause, "_cause", None), cause.__cause__, cause.__context__]


def _named(causes: Iterable[BaseException]) -> JoinlessError | None:
    """The first of the errors that has a condition of ours."""
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


def _error_at_end(texts: Iterable[str]) -> PySparkException | None:
    """The error that a text names as the end of the query: errors of Delta Lake and of others
    arrive as texts only.
    """
    for parts in (found for text in texts for found in _ENDED_BY.finditer(text)):
        if parts[1] not in _WRAPPERS:
            return PySparkException(f"[{parts[1]}] {parts[2]}", errorClass=parts[1], messageParameters={})
    return None


def _causes_in_function(texts: Sequence[str], errors: Iterable[BaseException]) -> Iterator[BaseException]:
    """The error that a function of ``foreachBatch`` raised, and its causes, if a text names it."""
    for raised in errors:
        line = str(raised).partition("\n")[0]
        if line and any(line in text for text in texts):
            yield from _causes(raised)


def found(function: str, query: StreamingQuery | str) -> StreamingQuery:
    """The query, or the active one of that name or id."""
    _arguments.query(function, query)
    if not isinstance(query, str):
        return query
    session = _door.any_session()
    if session is None:
        raise ExtensionNotInstalledError("NO_JAR")
    return _door.of_session(session).active_query(session, query)


def _raised_in_function(texts: Sequence[str], errors: Iterable[BaseException]) -> JoinlessError | None:
    """The error of ours that a function of ``foreachBatch`` raised, or that
    caused it, if a text names it.
    """
    for raised in errors:
        error = _named(_causes(raised))
        if error and any(message in text for message in (str(error), str(raised)) if message for text in texts):
            return error
    return None


def _as_error(cause: PySparkException) -> JoinlessError:
    parts = _CONDITION_IN_TEXT.search(str(cause))
    sentence = parts[2] if parts else str(cause).splitlines()[0]
    return JoinlessError(cause.getCondition() or "", sentence, cause.getMessageParameters(), cause.getSqlState())


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(part.capitalize() for part in tail)


#: Conditions of Spark that only say where an error was raised.
_WRAPPERS = ("STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR")

_FROM_SPARK = {"batch_id", "duration_ms", "input_rows", "memory_bytes", "rows_removed", "rows_late", "total"}
_OF_GROUPS = {"group_entries", "groups_touched", "group_rows_out"}
_OF_TIME = {"watermark", "newest_event_time", "advice", "rows_of", "_with_rows"}
#: Of operators that keep a sample; others do not report it.
_OF_SAMPLES = {"result_size"}
#: A time of each operator, of which the least counts.
_LEAST = {"next_end"}
#: The same, of which the greatest counts.
_MOST = {"steps_saved"}
_OTHERS = _FROM_SPARK | _OF_GROUPS | _OF_TIME | _OF_SAMPLES | _LEAST | _MOST
_METRICS = [figure.name for figure in fields(Progress) if figure.name not in _OTHERS]
_ENDED_BY = re.compile(r"(?:\A|terminated with exception: )\[([A-Z][A-Z0-9_.]+)\] ((?:(?!terminated with exc)[^\n])*)")
_CONDITION_IN_TEXT = re.compile(r"\[(JOINLESS_[A-Z_.]+)\] (.*?)(?: SQLSTATE: (\w{5})|\n|\\n|$)")
