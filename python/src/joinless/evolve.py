"""`evolve`: a query that begins with the rows that another one has stored."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from joinless import _arguments, _door
from joinless.tables import of_query


@dataclass(frozen=True)
class Evolution:
    """From what a changed query begins. ``str()`` shows it as text.

    Attributes:
        batch: the batch of the old query whose stored rows are taken; None if there is none.
        stored: the tables and streams that begin with stored rows, by name.
        read_again: the tables and streams that are read from their beginning, with the reason.
    """

    batch: int | None
    stored: tuple[str, ...]
    read_again: Mapping[str, str]

    @staticmethod
    def of(found: Mapping[str, Any]) -> Evolution:
        """What the plugin has found."""
        return Evolution(found["batch"], tuple(found["stored"]), found["again"])

    def __str__(self) -> str:
        lines = [f"{name}: stored rows, as of batch {self.batch}" for name in self.stored]
        return "\n".join([*lines, *(f"{name}: is read again, since {why}" for name, why in self.read_again.items())])


def evolve(
    old_checkpoint: str | os.PathLike[str],
    query: DataFrame | str,
    new_checkpoint: str | os.PathLike[str],
    tables: Mapping[str, DataFrame] | None = None,
    dry_run: bool = False,
) -> Evolution:
    """Lets a changed query begin with the rows that the old one has stored.

    Start the changed query with the new checkpoint then. Its first batch has the stored rows, and
    emits their complete result as inserts. It goes on where the old query stood in each table or
    stream of which the stored rows have all that it needs, and reads the others from their
    beginning. The old query may run meanwhile, and is not changed. `replace` does all of this for a
    view of `materialize`.

    >>> pairs = "SELECT a.src, b.dst FROM links a JOIN links b ON a.dst = b.src"
    >>> joinless.materialize(pairs, "pairs", checkpoint, trigger="availableNow").awaitTermination()
    >>> changed = f"{pairs} WHERE a.src <> b.dst"
    >>> print(joinless.evolve(checkpoint, changed, checkpoint + "-changed"))
    spark_catalog.default.links: stored rows, as of batch 0
    >>> query = joinless.materialize(changed, "others", checkpoint + "-changed", trigger="availableNow")
    >>> query.awaitTermination()
    >>> spark.table("others").count()
    2

    Args:
        old_checkpoint: the checkpoint of a query whose changes were requested. It must not be
            removed before the first batch of the changed query is done.
        query: the changed query, as `materialize` takes it.
        new_checkpoint: the folder of a checkpoint that has not begun.
        tables: DataFrames that the text calls by these names, as for `joinless.sql`.
        dry_run: only says what would happen.

    Returns:
        Which tables and streams begin with stored rows, and which are read again.

    Raises:
        AnalysisException: ``JOINLESS_EVOLVE.BEGUN`` if the new checkpoint has begun, the errors of
            `enumerate_full` if the old one is not there or has no batch, and those of
            `materialize` if the changes of the query cannot be emitted.
        TypeError, ValueError: an argument of another type or value.
        ExtensionNotInstalledError: the session runs without Joinless.
    """
    old = _arguments.as_path("joinless.evolve", "old_checkpoint", old_checkpoint)
    new = _arguments.as_path("joinless.evolve", "new_checkpoint", new_checkpoint)
    _arguments.flag("joinless.evolve", "dry_run", dry_run)
    df = of_query("joinless.evolve", query, tables)
    return Evolution.of(_door.of(df, "joinless.evolve").evolve(df, old, new, dry_run))
