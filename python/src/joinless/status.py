"""`status`: what the views of a session are doing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from joinless import _arguments, _jvm, _started, running
from joinless._detail import Detail
from joinless._net import quoted
from joinless._record import ViewRecord
from joinless._target import Target
from joinless.errors import ViewError
from joinless.tables import active

#: The columns, in SQL's spelling.
_COLUMNS = (
    "view STRING, state STRING, error STRING, batch BIGINT, version BIGINT, updated TIMESTAMP, "
    "behind MAP<STRING, BIGINT>, stored_rows BIGINT, memory_bytes BIGINT, rows_late BIGINT, "
    "advice ARRAY<STRING>, query STRING"
)

_READ_AGAIN = "The static table {} has changed since the view read it. joinless.replace reads it again."


def status(views: str | Sequence[str] | None = None) -> DataFrame:
    """Returns one row for each view.

    >>> joinless.materialize("SELECT src FROM links", "sources", trigger="availableNow").awaitTermination()
    >>> joinless.status("sources").select("view", "state", "batch", "behind").collect()
    [Row(view='sources', state='stopped', batch=0, behind={'links': 0})]

    The columns:

    - ``view``: the table.
    - ``state``: ``running``, ``stopped`` or ``failed`` if this process has started the view, else
      ``unknown``: another process may run it.
    - ``error``: why a view has failed, in one line.
    - ``batch``: the last committed batch; NULL before the first.
    - ``version`` and ``updated``: the newest version of the table, and when it was written.
    - ``behind``: for each Delta table of the query, how many of its commits the view has not read;
      tables of the database that was current at `materialize` by their names alone. NULL if the
      query has no text, or reads anything else.
    - ``stored_rows``, ``memory_bytes``, ``rows_late``: those of `progress`, while the view runs and
      has figures. Late rows are those of all its batches that Spark remembers.
    - ``advice``: that of `progress`, and that a static table has changed since the view read it, where
      its files show it.
    - ``query``: the text of the query.

    Args:
        views: the tables of one or several views, as `materialize` takes them. By default all views
            among the tables of the current database.

    Returns:
        A batch DataFrame with these columns, as of now.

    Raises:
        ViewError: ``JOINLESS_VIEW.NOT_A_VIEW`` if `materialize` does not keep a table that is named.
        AnalysisException: Spark's errors if a table that is named does not exist.
        TypeError, ValueError: an argument of another type or value, or no session is active.
        ExtensionNotInstalledError: the session runs without Joinless.
        ConnectUnsupportedError: the active session is Spark Connect's.
    """
    named = _arguments.as_columns("joinless.status", "views", views)
    session = active("joinless.status")
    names = _tables(session) if named is None else named
    rows = []
    for name in names:
        try:
            there, record = Target(name).view(session)
        except (ViewError, AnalysisException):
            if named is not None:
                raise
            continue  # a table of the database that is no view
        rows.append(_row(session, name, there, record))
    return session.createDataFrame(rows, _COLUMNS)


def _tables(session: SparkSession) -> list[str]:
    """The tables of the current database."""
    found = session.sql("SHOW TABLES").collect()
    names = [row["tableName"] for row in found if not row["isTemporary"]]
    return [name if name.isidentifier() else quoted(name) for name in names]


def _row(session: SparkSession, view: str, there: Detail, record: ViewRecord) -> tuple[Any, ...]:
    checkpoint = record.folder(there.location)
    batch = _jvm.committed(session, checkpoint)
    newest = session.sql(f"DESCRIBE HISTORY {view} LIMIT 1").collect()[0]
    query = _started.last(there.location)
    figures = running.progress(query) if query is not None and query.isActive else None
    behind, changed = (None, []) if batch is None else _reads(session, record, checkpoint, batch)
    return (
        view,
        _state(query),
        _error(query),
        batch,
        newest["version"],
        newest["timestamp"],
        behind,
        None if figures is None else figures.stored_rows,
        None if figures is None else figures.memory_bytes,
        None if figures is None else figures.total.rows_late,
        [*(() if figures is None else figures.advice), *map(_READ_AGAIN.format, changed)],
        record.query,
    )


def _state(query: StreamingQuery | None) -> str:
    if query is None:
        return "unknown"
    if query.isActive:
        return "running"
    return "stopped" if query.exception() is None else "failed"


def _error(query: StreamingQuery | None) -> str | None:
    if query is None or query.isActive or (raised := query.exception()) is None:
        return None
    return str(running.error(query) or raised).splitlines()[0]


def _reads(
    session: SparkSession, record: ViewRecord, checkpoint: str, batch: int
) -> tuple[dict[str, int] | None, list[str]]:
    """The commits of each table that the batch has not read, and the static tables that have changed
    since they were read.
    """
    if record.query is None or record.given:
        return None, []
    try:
        commits, changed = _jvm.since(session, record.query, record.database, checkpoint, batch)
    except PySparkException:  # the query reads a stream, or a table is gone
        return None, []
    return {name.removeprefix(f"{record.database}."): number for name, number in sorted(commits.items())}, changed
