"""`status`: what the views of a session are doing."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from joinless import _arguments, _door
from joinless.tables import active


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
        AnalysisException: Spark's errors if a table that is named does not exist, or the server of a
            Spark Connect session runs without Joinless.
        TypeError, ValueError: an argument of another type or value, or no session is active.
        ExtensionNotInstalledError: the session runs without Joinless.
    """
    named = _arguments.as_columns("joinless.status", "views", views)
    session = active("joinless.status")
    return _door.of_session(session).status(session, named)
