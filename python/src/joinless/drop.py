"""`drop`: the end of a view."""

from __future__ import annotations

from joinless import _arguments, _door
from joinless.tables import active


def drop(view: str) -> None:
    """Stops a view, drops its table, and deletes its checkpoint.

    A query of the view that another application runs is not stopped: it fails at its next batch.
    Files of a table that was created with a LOCATION stay, as in SQL.

    >>> joinless.materialize("SELECT src FROM links", "passing", trigger="availableNow").awaitTermination()
    >>> joinless.drop("passing")
    >>> spark.catalog.tableExists("passing")
    False

    Args:
        view: the table that `materialize` keeps, by its name.

    Raises:
        ViewError: ``JOINLESS_VIEW.NOT_A_VIEW`` if `materialize` does not keep the table, ``PATH`` if
            it is given by its path: delete the folder then.
        AnalysisException: Spark's error if there is no such table.
        TypeError, ValueError: an argument of another type or value, or no session is active.
        ExtensionNotInstalledError: the session runs without Joinless.
    """
    _arguments.text("joinless.drop", "view", view)
    session = active("joinless.drop")
    _door.of_session(session).drop(session, view)
