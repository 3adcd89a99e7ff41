"""`apply_changes`: a Delta table that is kept equal to the result of a query, from the changes of each
batch. The plugin writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import DataFrame

from joinless import _arguments, _door


def apply_changes(
    target: str, key: str | Sequence[str] | None = None, *, app_id: str | None = None, shared: bool = False
) -> Callable[[DataFrame, int], None]:
    """Returns a ``foreachBatch`` function that applies the changes of each batch to a Delta table.

    >>> pairs = spark.sql("SELECT a.src, b.dst FROM follows a JOIN follows b ON a.dst = b.src")
    >>> writer = pairs.incrementalEnumerate().writeStream.foreachBatch(joinless.apply_changes("reached"))
    >>> query = writer.option("checkpointLocation", checkpoint + "-reached").start()
    >>> query.processAllAvailable()
    >>> spark.table("reached").collect()
    [Row(src=1, dst=3)]

    The rows of a batch have the target's columns and either ``_change_type`` (``insert``,
    ``delete``, and the update images of Delta and Spark, in upper or lower case) or
    ``_weight BIGINT``. They need not be net.

    Args:
        target: a Delta table, by its name or as ``delta.`/path` `` in SQL's spelling. It exists, is
            empty when the query is new, and has exactly the columns of the query, in any order.
        key: columns that are unique in the result. A deleted and an inserted row with the same key
            become one update; NULL is a key like others. Without a key the target is a bag: of *m*
            copies, *m - k* remain after *k* were deleted.
        app_id: the name under which Delta remembers the batches of this writer in the target; by
            default the id of the streaming query, which is stored in its checkpoint. Needed if one
            query writes twice into a table, and outside of streaming. Batch ids of one name must
            never restart: a batch that is not newer than the last one counts as a repetition and is
            skipped.
        shared: other writers fill the table, too, so it need not be empty when this query is new.
            Their rows stay; a key must be unique over all rows.

    Returns:
        A function of a DataFrame and a batch id.

    Raises (from the function, with nothing written):
        ApplyChangesError: ``JOINLESS_APPLY_CHANGES.`` and the problem: the target does not exist,
            is not a Delta table, has other columns, is not empty in batch 0, is filled by another
            query or would not preserve a value; the key is not unique; a deleted row is not in the
            target. docs/reference.md lists them all.
        TypeError, ValueError: from `apply_changes` itself, an argument of another type or value.
        ExtensionNotInstalledError: the session runs without Joinless.
        ConnectUnsupportedError: the session is Spark Connect's. Write the changes there by
            ``writeStream.format("joinless").option("into", target)``.
    """
    _arguments.text("joinless.apply_changes", "target", target)
    _arguments.text("joinless.apply_changes", "app_id", app_id, optional=True)
    _arguments.flag("joinless.apply_changes", "shared", shared)
    session = _door.any_session()
    if session is not None:
        _door.of_session(session).check_functions("joinless.apply_changes", target)
    return _Changes(target, _arguments.as_columns("joinless.apply_changes", "key", key), app_id, shared)


class _Changes:
    """The function that `apply_changes` returns. The plugin remembers what it has checked."""

    def __init__(self, target: str, key: list[str] | None, app_id: str | None, shared: bool) -> None:
        self._arguments = (target, key, app_id, shared)
        self._target: Any = None

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        """Applies the changes of a batch."""
        _arguments.batch("joinless.apply_changes", df, batch_id)
        door = _door.of(df, "joinless.apply_changes")
        if self._target is None:
            self._target = door.changes_to(df, *self._arguments)
        door.apply_changes(self._target, df, batch_id)
