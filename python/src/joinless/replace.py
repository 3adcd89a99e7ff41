"""`replace`: another query for the table of a view, or another number of cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, overload

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from joinless import _arguments
from joinless.evolve import Evolution
from joinless.view import trigger_errors, wanted


@overload
def replace(
    view: str,
    query: DataFrame | str | None = None,
    key: str | Sequence[str] | None = None,
    trigger: str | None = None,
    name: str | None = None,
    tables: Mapping[str, DataFrame] | None = None,
    cells: int | None = None,
    dry_run: Literal[False] = False,
) -> StreamingQuery: ...


@overload
def replace(
    view: str,
    query: DataFrame | str | None = None,
    key: str | Sequence[str] | None = None,
    trigger: str | None = None,
    name: str | None = None,
    tables: Mapping[str, DataFrame] | None = None,
    cells: int | None = None,
    *,
    dry_run: Literal[True],
) -> Evolution: ...


def replace(
    view: str,
    query: DataFrame | str | None = None,
    key: str | Sequence[str] | None = None,
    trigger: str | None = None,
    name: str | None = None,
    tables: Mapping[str, DataFrame] | None = None,
    cells: int | None = None,
    dry_run: bool = False,
) -> StreamingQuery | Evolution:
    """Gives a view another query, or another number of cells.

    The new query begins with the rows that the old one has stored, as far as these have what it
    needs, and reads the other tables again, into a table of its own. Without another query or
    number of cells it reads all tables again. The view goes on meanwhile. Then one commit brings
    the view's table to the new result: rows that are equal stay, or all are written where the
    columns differ. The old query stops, and the new one continues. If this is interrupted, the view
    has the rows of the old query or of the new one: call `replace` again, or `materialize` with the
    new query once ``joinless.query`` in the properties of the table is its text.

    >>> joinless.materialize("SELECT dst FROM links", "seen", trigger="availableNow").awaitTermination()
    >>> query = joinless.replace("seen", "SELECT dst, COUNT(*) AS n FROM links GROUP BY dst")
    >>> spark.table("seen").columns
    ['dst', 'n']

    Args:
        view: the table that `materialize` keeps, by its name or as ``delta.`/path` ``.
        query: as for `materialize`. By default the text that the view has, in the database that was
            current then.
        key: as for `materialize`.
        trigger: of the new query, when it has replaced the old one; as for `materialize`.
        name: as for `materialize`.
        tables: as for `materialize`.
        cells: the number of parts, at least 1, into which the state of the new query is divided: at
            most so many for joins, exactly so many for groups. A batch has a task for each. By
            default as for a new view.
        dry_run: only says which tables the new query would read again.

    Returns:
        The running query, when the table has its rows; with `dry_run` an `Evolution`.

    Raises:
        ViewError: ``JOINLESS_VIEW.NOT_A_VIEW`` if `materialize` does not keep the table,
            ``NO_NEW_QUERY`` without `query` if the view was given a DataFrame or reads one.
        AnalysisException, ApplyChangesError: the errors of `materialize`. Nothing is changed then.
        StreamingQueryException: the new query has failed. Nothing is changed then.
        TypeError, ValueError: an argument of another type or value.
        ExtensionNotInstalledError: the session runs without Joinless.
    """
    _arguments.text("joinless.replace", "view", view)
    _arguments.number("joinless.replace", "cells", cells, bits=31, least=1)
    _arguments.flag("joinless.replace", "dry_run", dry_run)
    _arguments.text("joinless.replace", "name", name, optional=True)
    with trigger_errors("joinless.replace", trigger):
        door, new = wanted("joinless.replace", query, key, trigger, tables, view)
        if dry_run:
            return Evolution.of(door.replacement(new, view, cells))
        return door.replace(new, view, cells, name)
