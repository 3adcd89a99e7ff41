"""`replace`: another query for the table of a view, or another number of cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace as replaced
from typing import Literal, overload

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from joinless import _arguments, _jvm
from joinless._staged import Staged
from joinless._target import Target
from joinless.evolve import Evolution, evolution
from joinless.tables import active
from joinless.view import prepared, start


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
        ViewError: ``JOINLESS_VIEW.NOT_A_VIEW`` if `materialize` does not keep the table.
        AnalysisException, ApplyChangesError: the errors of `materialize`. Nothing is changed then.
        StreamingQueryException: the new query has failed. Nothing is changed then.
        TypeError, ValueError: an argument of another type or value; no `query`, and the view was
            given a DataFrame or reads one.
        ExtensionNotInstalledError: the session runs without Joinless.
        ConnectUnsupportedError: the session is Spark Connect's.
    """
    _arguments.text("joinless.replace", "view", view)
    _arguments.number("joinless.replace", "cells", cells, bits=31, least=1)
    _arguments.flag("joinless.replace", "dry_run", dry_run)
    database, anew = None, False
    if query is None:
        _, now = Target(view).view(active("joinless.replace"))
        if now.query is None or (now.given and tables is None):
            raise ValueError(f"joinless.replace takes the query of {view}, which was given a DataFrame or reads one")
        query, database, anew = now.query, now.database, cells is None
    new = prepared("joinless.replace", query, key, trigger, name, tables, database)
    session, target = new.deltas.sparkSession, Target(view)
    there, before = target.view(session)
    target.check_not_read(new.deltas, there)
    anew = anew or (query == before.query and cells is None)
    old = before.folder(there.location)
    stored = not anew and _jvm.has_batch(session, old)
    if dry_run:
        return evolution(new.deltas, old) if stored else _of_nothing(new.deltas, anew)
    if begun := Staged.begun(session, target, there):  # its rows are in folders that the next one removes
        begun.finish()
    staged = Staged.new(session, target, there.location, before)
    key, called = new.key or new.found, f"{name or view} (replacement)"
    try:
        if stored:
            _jvm.evolve(session, staged.checkpoint, old)
        staged.fill(new.deltas, key, called, cells)
    except StreamingQueryException as error:
        if not stored or not _jvm.is_of_tables(error):
            raise
        staged = Staged.new(session, target, there.location, before)
        staged.fill(new.deltas, key, called, cells)
    staged.switch(replaced(new.record, checkpoint=staged.name), before)
    return start(new, view, None, name)


def _of_nothing(df: DataFrame, anew: bool) -> Evolution:
    """That of a view which begins anew, or has stored no rows yet."""
    why = "the view begins anew" if anew else "the view has not completed a batch"
    return Evolution(None, (), dict.fromkeys(_jvm.places(df), why))
