"""`materialize`: a Delta table that stays equal to a query."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced

from pyspark.errors import IllegalArgumentException, PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from joinless import _arguments, _jvm
from joinless._record import ViewRecord
from joinless._staged import Staged
from joinless._target import Target
from joinless.apply import apply_changes
from joinless.changes import enumerate_deltas
from joinless.tables import of_query

#: The trigger that processes the available data and ends.
_AVAILABLE = "availableNow"

_TRIGGERS = f"an interval in a string, such as '10 seconds', or {_AVAILABLE!r}"

#: The default time between batches: idle views poll their sources that often.
_INTERVAL = "10 seconds"


def materialize(
    query: DataFrame | str,
    into: str,
    checkpoint: str | os.PathLike[str] | None = None,
    key: str | Sequence[str] | None = None,
    trigger: str | None = None,
    name: str | None = None,
    tables: Mapping[str, DataFrame] | None = None,
) -> StreamingQuery:
    """Keeps a Delta table equal to a query while its inputs change.

    It combines `incrementalEnumerate` and `apply_changes`: each batch is one commit to the table,
    or none if nothing changes. A batch that runs again after a failure changes nothing.

    >>> query = joinless.materialize(
    ...     "SELECT src, COUNT(*) AS n FROM follows GROUP BY src", into="per_src", trigger="availableNow"
    ... )
    >>> query.awaitTermination()
    >>> spark.table("per_src").sort("src").collect()
    [Row(src=1, n=1), Row(src=2, n=1)]

    Args:
        query: the text of a query, whose Delta tables are read as they change (`joinless.sql`), or
            a streaming DataFrame.
        into: the table, by its name or as ``delta.`/path` `` in SQL's spelling. If it does not
            exist, it is created with the columns of the query. With a new checkpoint it must be
            empty. A name outlives the process only if the catalog does; a path always does.
        checkpoint: a folder that belongs to this view alone. With the same folder, the view
            continues where it stopped. By default the one that the table names, or ``_joinless`` in
            the folder of a new table, so that a dropped table takes it along.
        key: columns that are unique in the result. By default the key of the query: the columns of
            its GROUP BY, of DISTINCT, or of `latest`. If the query has none, the table is a bag.
        trigger: how often a batch begins, by default every ``"10 seconds"``. With ``"0 seconds"``
            each batch begins when the previous one has ended. ``"availableNow"`` processes the
            available data and ends.
        name: the name of the query, for Spark's pages and logs, `joinless.progress` and
            `joinless.error`; by default `into`.
        tables: DataFrames that the text calls by these names, as for `joinless.sql`.

    Returns:
        The running query. ``stop()`` it, wait for it, or use it as any other.

    Raises:
        AnalysisException: ``JOINLESS_NOT_REWRITTEN`` with the reason if the changes of the query
            cannot be emitted, and the errors of `enumerate_deltas` and `joinless.sql`; then no
            table is created.
        ApplyChangesError: ``JOINLESS_APPLY_CHANGES.TARGET_GONE`` if the checkpoint has begun and
            the table does not exist: to create a view anew, remove both. ``NO_DELTA`` if the
            session cannot create a Delta table. ``COLUMNS_DIFFER``, ``UNKNOWN_KEY``,
            ``UNSUPPORTED_TYPE`` and ``COLUMN_NAME`` of the same condition if columns, key or types
            do not fit, ``TARGET_NOT_DELTA``, ``TARGET_IS_READ`` if the query reads the table, and
            ``TARGET_NOT_EMPTY`` with a new checkpoint. Other errors of `apply_changes` are raised
            by a batch; `joinless.error(query)` returns them.
        TypeError, ValueError: an argument of another type or value, or a trigger that is no
            interval.
        ViewError: ``JOINLESS_VIEW.RUNNING`` if this process runs the view already.
        IllegalArgumentException: a query of this name runs already.
        ExtensionNotInstalledError: the session runs without Joinless.
        ConnectUnsupportedError: the DataFrame belongs to a Spark Connect session.
    """
    _arguments.text("joinless.materialize", "into", into)
    given = None if checkpoint is None else _arguments.as_path("joinless.materialize", "checkpoint", checkpoint)
    return start(prepared("joinless.materialize", query, key, trigger, name, tables), into, given, name)


@dataclass(frozen=True)
class Prepared:
    """A view that can be started.

    Attributes:
        deltas: the changes of its result.
        writer: writes them, as often as the trigger says.
        key: the columns that were given as its key.
        found: the key of its query.
        record: what its table is to say of it, without the checkpoint.
    """

    deltas: DataFrame
    writer: DataStreamWriter
    key: list[str]
    found: list[str]
    record: ViewRecord


def prepared(
    function: str,
    query: DataFrame | str,
    key: str | Sequence[str] | None,
    trigger: str | None,
    name: str | None,
    tables: Mapping[str, DataFrame] | None,
    database: str | None = None,
) -> Prepared:
    """The view that these arguments of a function describe. Nothing is created.

    Args:
        database: names in a text without a database belong to this one; None for the current one.
    """
    _check_trigger(function, trigger)
    _arguments.text(function, "name", name, optional=True)
    columns = _arguments.as_columns(function, "key", key)
    df = of_query(function, query, tables, database)
    deltas = enumerate_deltas(df, "weight")
    record = ViewRecord(None, None, (), None)
    if isinstance(query, str):
        record = ViewRecord(query, database or _jvm.database(df.sparkSession), tuple(tables or ()), None)
    writer = _every(deltas.writeStream, function, trigger)
    return Prepared(deltas, writer, columns or [], _jvm.result_key(df), record)


def start(view: Prepared, into: str, checkpoint: str | None, name: str | None) -> StreamingQuery:
    """Starts a view, with the checkpoint that its table names if none is given."""
    session, target = view.deltas.sparkSession, Target(into)
    there = target.found(session)
    if begun := Staged.begun(session, target, there):
        begun.finish()
        there = target.found(session)
    if there is not None:
        _jvm.check_not_running(session, into, there.location)
    before = None if there is None else ViewRecord.of(there.properties)
    if checkpoint is None and before is not None:
        checkpoint = before.checkpoint
    record = replaced(view.record, checkpoint=checkpoint)
    location = target.create(view.deltas, view.key, record, there)
    # While the view runs, its start is refused, and a change of the table could stop its batch.
    runs = any(active.name == (name or into) for active in session.streams.active)
    changed = there is not None and record != before and not runs
    if changed:
        target.record(session, record, before)
    writer = view.writer.foreachBatch(apply_changes(into, view.key or view.found or None)).queryName(name or into)
    try:
        started = writer.option("checkpointLocation", record.folder(location)).start()
    except PySparkException:
        if changed and before is not None:  # the checkpoint is still that of the view before
            target.record(session, before, record)
        raise
    _jvm.started(session, location, started)
    return started


def _check_trigger(function: str, trigger: object) -> None:
    message = f"{function} takes {_TRIGGERS} as trigger, and got {trigger!r}"
    if trigger is not None and not isinstance(trigger, str):
        raise TypeError(message)
    if isinstance(trigger, str) and not trigger.strip():
        raise ValueError(message)


def _every(writer: DataStreamWriter, function: str, trigger: str | None) -> DataStreamWriter:
    if trigger == _AVAILABLE:
        return writer.trigger(availableNow=True)
    try:
        return writer.trigger(processingTime=trigger or _INTERVAL)
    except IllegalArgumentException as error:
        raise ValueError(f"{function} takes {_TRIGGERS} as trigger, and got {trigger!r}") from error
