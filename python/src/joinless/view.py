"""`materialize`: a Delta table that stays equal to a query."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from joinless import _arguments, _door
from joinless.tables import active, check_given, check_query

_TRIGGERS = "an interval in a string, such as '10 seconds', or 'availableNow'"


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
        ViewError: ``JOINLESS_VIEW.RUNNING`` if this process runs the view already,
            ``OTHER_DATABASE`` if the text of the view reads other tables in the current database.
        IllegalArgumentException: a query of this name runs already.
        ExtensionNotInstalledError: the session runs without Joinless.
    """
    function = "joinless.materialize"
    _arguments.text(function, "into", into)
    _arguments.text(function, "name", name, optional=True)
    given = None if checkpoint is None else _arguments.as_path(function, "checkpoint", checkpoint)
    with trigger_errors(function, trigger):
        door, view = wanted(function, query, key, trigger, tables)
        return door.materialize(view, into, given, name)


def wanted(
    function: str,
    query: DataFrame | str | None,
    key: str | Sequence[str] | None,
    trigger: str | None,
    tables: Mapping[str, DataFrame] | None,
    view: str | None = None,
) -> tuple[_door.Door, _door.WantedView]:
    """The view that these arguments of a function describe, and the door that starts it. Nothing is
    created.

    Args:
        view: has the query, if none is given.
    """
    _check_trigger(function, trigger)
    columns = _arguments.as_columns(function, "key", key) or []
    if query is not None or view is None:
        check_query(function, query, tables)
    given = None if tables is None else check_given(function, tables)
    if query is not None and not isinstance(query, str):
        door = _door.of(query, function)
        return door, door.view_of(query, function, columns, trigger)
    session = active(function)
    door = _door.of_session(session)
    if query is not None:
        return door, door.view_of_text(session, query, given or {}, columns, trigger)
    return door, door.view_again(session, view or "", given, columns, trigger)


@contextmanager
def trigger_errors(function: str, trigger: str | None) -> Iterator[None]:
    """The plugin's error of a trigger that is none is raised as one of the argument."""
    try:
        yield
    except AnalysisException as error:
        if error.getCondition() == "JOINLESS_VIEW.TRIGGER":
            raise ValueError(f"{function} takes {_TRIGGERS} as trigger, and got {trigger!r}") from None
        raise


def _check_trigger(function: str, trigger: object) -> None:
    message = f"{function} takes {_TRIGGERS} as trigger, and got {trigger!r}"
    if trigger is not None and not isinstance(trigger, str):
        raise TypeError(message)
    if isinstance(trigger, str) and not trigger.strip():
        raise ValueError(message)
