"""Relations given by their changes, and the changes of a query's result.

Importing ``joinless`` adds the method `incrementalEnumerate` to every classic ``DataFrame``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Literal, overload

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from joinless import _arguments, _door

Form = Literal["change_type", "weight"]
Emit = Literal["changes", "on_close"]

#: A column that numbers the rows of a key.
_NUMBER = "_joinless_row_number"


def changelog(df: DataFrame, change_type: str | None = None, weight: str | None = None) -> DataFrame:
    """Returns the relation whose changes are the rows of a streaming DataFrame.

    The relation can be used in SQL like any table. In SQL the mark itself is
    ``SELECT * FROM changelog(TABLE(feed))``.

    A row with the change type ``insert``, ``update_postimage`` or ``update_after`` is inserted, one
    with ``delete``, ``update_preimage`` or ``update_before`` is deleted (in upper or lower case).
    Delta's change data feed, ``spark.readStream.changes`` and Iceberg's changelogs write these
    types. The relation has the plain columns: neither the column of change types nor
    ``_commit_version``, ``_commit_timestamp``, ``_change_ordinal`` and ``_commit_snapshot_id``.

    >>> changes = spark.readStream.schema("_change_type STRING, src INT, dst INT").csv(folder)
    >>> joinless.changelog(changes).createOrReplaceTempView("follows")
    >>> spark.table("follows").columns
    ['src', 'dst']

    The stream of a Delta table is
    ``spark.readStream.option("readChangeFeed", "true").table("follows")``.

    Args:
        df: rows of a change stream.
        change_type: name of a STRING column, ``_change_type`` if neither this nor `weight` is
            given.
        weight: instead of a change type, name of an integer column: how many copies of the row are
            inserted or, with a minus sign, deleted.

    Returns:
        A streaming DataFrame. Write a query over it through `incrementalEnumerate`; without it the
        start of the query fails with ``JOINLESS_RETRACTIONS_NOT_REPRESENTABLE``.

    Raises:
        AnalysisException: ``JOINLESS_CHANGE_COLUMN`` if the column cannot hold changes, or both are
            given; ``JOINLESS_NOT_STREAMING`` if `df` reads no stream.
        TypeError, ValueError: an argument of another type or value.
        ExtensionNotInstalledError: the session runs without Joinless.
    """
    _arguments.text("joinless.changelog", "change_type", change_type, optional=True)
    _arguments.text("joinless.changelog", "weight", weight, optional=True)
    return _door.of(df, "joinless.changelog").changelog(df, change_type, weight)


def rows(df: DataFrame) -> DataFrame:
    """Returns a change feed in which each change counts as a row.

    The result is the log itself, not the table whose changes it contains.

    A query that reads an unmarked change feed is refused, or stays with Spark, with the reason
    ``UNMARKED_CHANGE_FEED``: deletions and old values would count as rows of the table. This
    function marks a feed where that is intended. It changes nothing else.

    >>> changes = spark.readStream.schema("_change_type STRING, src INT, dst INT").csv(folder)
    >>> joinless.rows(changes.where("_change_type = 'delete'")).createOrReplaceTempView("unfollows")
    >>> spark.table("unfollows").columns
    ['_change_type', 'src', 'dst']

    Args:
        df: a streaming DataFrame.

    Returns:
        A streaming DataFrame with the columns of `df`.

    Raises:
        AnalysisException: ``JOINLESS_NOT_STREAMING`` if `df` reads no stream.
        TypeError: an argument of another type.
        ExtensionNotInstalledError: the session runs without Joinless.
    """
    return _door.of(df, "joinless.rows").rows(df)


def expire(df: DataFrame, column: str, after: str | timedelta) -> DataFrame:
    """Returns the rows of a streaming DataFrame that are not older than a given time.

    A row belongs to the relation from its arrival until the watermark of the query reaches its time
    plus `after`. Then it is evicted, and its results are deleted. A query over the rows, written
    through `incrementalEnumerate`, emits inserts and deletes. A row that has already expired when
    it arrives never belongs to the relation, nor does a row without a time.

    >>> readings = spark.readStream.schema("src INT, dst INT, ts TIMESTAMP").csv(folder)
    >>> joinless.expire(readings.withWatermark("ts", "1 minute"), "ts", "1 hour").createOrReplaceTempView("recent")
    >>> spark.table("recent").columns
    ['src', 'dst', 'ts']

    Args:
        df: an append-only stream or a `changelog`, with a watermark on `column`. A row of a
            changelog is removed by its delete or by time, whichever is first.
        column: name of a TIMESTAMP column, or of a window, whose end counts.
        after: how long a row is kept after its time: an interval without months or years, such as
            ``"1 hour"`` or ``timedelta(hours=1)``, not negative.

    Returns:
        A streaming DataFrame. Write a query over it through `incrementalEnumerate`; without it the
        start of the query fails with ``JOINLESS_RETRACTIONS_NOT_REPRESENTABLE``.

    Raises:
        AnalysisException: ``JOINLESS_EXPIRY`` if the column does not exist, has no watermark or is
            not a time, or if the interval is invalid; ``JOINLESS_NOT_STREAMING`` if `df` reads no
            stream.
        TypeError, ValueError: an argument of another type or value.
        ExtensionNotInstalledError: the session runs without Joinless.
    """
    _arguments.text("joinless.expire", "column", column)
    if isinstance(after, timedelta):
        after = f"{after // timedelta(microseconds=1)} microseconds"
    _arguments.text("joinless.expire", "after", after)
    return _door.of(df, "joinless.expire").expire(df, column, after)


def key(df: DataFrame, columns: str | Sequence[str]) -> DataFrame:
    """Returns the rows of a streaming DataFrame, and says that some columns determine a row.

    At most one row has the same values in these columns, at any time. Each batch is checked. A
    second row of a key fails the batch, also one that is equal to the first: the error is
    ``JOINLESS_KEY_VIOLATION``, and has the relation, the key and its values. Nothing of the batch
    is applied. Started again with corrected rows, the query goes on after the last complete batch.

    The changes of a batch are netted before: a row of a changelog that is deleted and inserted with
    other values is an update. A row of an append-only stream is never replaced. NULL is a value as
    others are.

    >>> people = spark.readStream.schema("id INT, city STRING").json(folder)
    >>> joinless.key(people, ["id"]).createOrReplaceTempView("people")
    >>> spark.table("people").columns
    ['id', 'city']

    The state has one entry per key, with its row, beside what joins store. In SQL:
    ``SELECT * FROM key(TABLE(people), id)``, with several columns ``key(TABLE(people), (shop, id))``.

    Args:
        df: an append-only stream, a `changelog`, or a query over them. A watermark and `expire`
            stand below the key.
        columns: the columns of the key. Their types can be compared.

    Returns:
        A streaming DataFrame with the columns of `df`. Write a query over it through
        `incrementalEnumerate`; without it the start of the query fails with ``JOINLESS_KEY``.

    Raises:
        AnalysisException: ``JOINLESS_KEY`` if a column does not exist, is given twice or cannot be
            compared, or if there is a key already; ``JOINLESS_NOT_STREAMING`` if `df` reads no
            stream.
        TypeError, ValueError: an argument of another type or value.
        ExtensionNotInstalledError: the session runs without Joinless.
    """
    given = _arguments.some_columns("joinless.key", "columns", columns)
    return _door.of(df, "joinless.key").key(df, given)


def latest(df: DataFrame, key: str | Sequence[str], order: str | Sequence[str]) -> DataFrame:
    """Returns the newest row of each key of an upsert stream.

    An upsert stream has a whole row for each change of a key: a compacted topic, or a feed without
    old values. The function is the SQL pattern
    ``ROW_NUMBER() OVER (PARTITION BY key ORDER BY order DESC NULLS LAST) = 1``. An older row that
    arrives later does not replace a newer one. If the stream marks deleted keys, filter the marked
    rows out of the result. In SQL: ``SELECT * FROM latest(TABLE(upserts), id, at)``, with several
    columns ``latest(TABLE(upserts), (shop, id), (at, version))``.

    >>> upserts = spark.readStream.schema("id INT, city STRING, at BIGINT, deleted BOOLEAN").json(folder)
    >>> customers = joinless.latest(upserts, key="id", order="at").where("deleted IS NOT TRUE").drop("deleted")

    Args:
        df: rows, each of them the state of its key at some time. Of an append-only stream one row
            per key is stored, of a changelog all rows.
        key: columns that identify the row.
        order: columns whose greatest value is the newest; later columns break ties of earlier ones.
            Of rows that are equal in all of them one is chosen, always the same.

    Returns:
        A DataFrame with the columns of `df`; streaming if `df` is. Write a query over it through
        `incrementalEnumerate`.

    Raises:
        AnalysisException: ``UNRESOLVED_COLUMN`` if `df` has no such column.
        TypeError, ValueError: an argument of another type or value.
    """
    keys = _arguments.some_columns("joinless.latest", "key", key)
    orders = _arguments.some_columns("joinless.latest", "order", order)
    if not hasattr(df, "sparkSession"):
        raise TypeError(f"joinless.latest takes a DataFrame, and got {df!r}")
    newest = Window.partitionBy(*keys).orderBy(*[F.col(column).desc_nulls_last() for column in orders])
    numbered = df.withColumn(_NUMBER, F.row_number().over(newest))
    return numbered.where(F.col(_NUMBER) == 1).drop(_NUMBER)


def enumerate_deltas(df: DataFrame, output: Form = "change_type", emit: Emit = "changes") -> DataFrame:
    """Returns the changes of a streaming query's result by batch, or its rows once they are final.

    Within a batch the changes are net: no row is both inserted and deleted. Inputs are changelogs
    and append-only streams, one or more of them. In SQL:
    ``SELECT * FROM incremental_enumerate(TABLE(<query>))`` or ``SELECT /*+ INCREMENTAL */ ...``.

    >>> pairs = spark.sql("SELECT a.src, b.dst FROM follows a JOIN follows b ON a.dst = b.src")
    >>> deltas = joinless.enumerate_deltas(pairs)
    >>> query = deltas.writeStream.format("memory").queryName("pairs").option("checkpointLocation", checkpoint).start()
    >>> query.processAllAvailable()
    >>> spark.table("pairs").collect()
    [Row(src=1, dst=3, _change_type='insert')]

    With ``emit="on_close"`` each row is emitted once, when nothing can change it any more, and then
    forgotten: Spark's append mode, for every query. A row of a join is final when it is inserted. A
    group is final when the watermark has reached its window or its time, an unmatched row when no
    match can arrive any more. In SQL the form is ``'on_close'``.

    >>> sales = spark.readStream.schema("item STRING, n INT, ts TIMESTAMP").json(folder).withWatermark("ts", "1 minute")
    >>> sales.createOrReplaceTempView("sales")
    >>> hours = spark.sql("SELECT window(ts, '1 hour') AS hour, item, SUM(n) AS n FROM sales GROUP BY 1, 2")
    >>> joinless.enumerate_deltas(hours, emit="on_close").columns
    ['hour', 'item', 'n']

    Args:
        df: joins of every kind, subqueries, filters, projections, unions, GROUP BY, DISTINCT, ORDER
            BY with LIMIT and window functions over streams, in any nesting.
        output: ``"change_type"``: the columns of the query and ``_change_type`` (``insert`` or
            ``delete``), one row per copy. ``"weight"``: the columns of the query and
            ``_weight BIGINT``, one row for all copies.
        emit: ``"changes"``: inserts and deletes. ``"on_close"``: final rows, with the columns of
            the query only. Then inputs are append-only streams, and each GROUP BY, DISTINCT and
            window function has, among its grouping columns, one with a watermark, or its
            ``window``.

    Returns:
        A streaming DataFrame, for the output modes append and update.

    Raises:
        AnalysisException: at ``start()`` ``JOINLESS_NOT_REWRITTEN`` with the reason if the query
            has no such form; here ``JOINLESS_RESERVED_COLUMN`` if it already has a column
            ``_change_type`` or ``_weight``, and ``JOINLESS_DELTA_FORM`` if `output` is neither
            form.
        TypeError, ValueError: an argument of another type or value.
        ExtensionNotInstalledError: the session runs without Joinless.
    """
    _arguments.text("joinless.enumerate_deltas", "output", output)
    _arguments.text("joinless.enumerate_deltas", "emit", emit)
    if emit not in ("changes", "on_close"):
        raise ValueError(f"emit is {emit!r}: use 'changes' or 'on_close'")
    if emit == "on_close" and output != "change_type":
        raise ValueError(f"output is {output!r}: rows that are final have no column of changes, so leave output out")
    return _door.of(df, "incrementalEnumerate").deltas(df, emit if emit == "on_close" else output)


def enumerate_full(
    df: DataFrame,
    checkpoint: str | os.PathLike[str] | None = None,
    query: StreamingQuery | str | None = None,
    batch_id: int | None = None,
    operator: int | None = None,
) -> DataFrame:
    """Returns the complete current result of a streaming query, read from its state.

    The result is not stored. It is the result of exactly one committed batch, whatever the running
    query does meanwhile. Rows are enumerated while they are read, with constant delay, one Spark
    partition per cell. Filters, projections and limits above it work, and so do ORDER BY and LIMIT
    in the query. Groups are computed from the rows that joins have stored. Without the query,
    ``spark.read.format("joinless")`` reads the result of the join.

    >>> joinless.enumerate_full(pairs, query=query).limit(10).collect()
    [Row(src=1, dst=3)]

    Args:
        df: the streaming query, as it was started (without `incrementalEnumerate`).
        checkpoint: its ``checkpointLocation``.
        query: instead of `checkpoint`, the running query, or its name or id.
        batch_id: an older batch that the checkpoint still has; by default the last committed one.
        operator: the number of the join, if several joins of the checkpoint fit `df` (the sides of
            a union, for example).

    Returns:
        A batch DataFrame.

    Raises:
        AnalysisException: ``JOINLESS_CHECKPOINT_NOT_FOUND``; ``JOINLESS_BATCH_NOT_AVAILABLE``;
            ``JOINLESS_STATE_MISMATCH`` if the checkpoint belongs to another query;
            ``JOINLESS_SEVERAL_JOINS`` if several of its joins fit and `operator` is not given;
            ``JOINLESS_QUERY_NOT_FOUND``.
        ValueError: not exactly one of `checkpoint` and `query` is given.
        TypeError, ValueError: an argument of another type or value.
        ExtensionNotInstalledError: the session runs without Joinless.
    """
    if (checkpoint is None) == (query is None):
        raise ValueError("give either checkpoint= or query=")
    _arguments.number("joinless.enumerate_full", "batch_id", batch_id)
    _arguments.number("joinless.enumerate_full", "operator", operator)
    if query is None:
        folder = _arguments.as_path("joinless.enumerate_full", "checkpoint", checkpoint)
        return _door.of(df, "joinless.enumerate_full").full(df, folder, batch_id, operator)
    _arguments.query("joinless.enumerate_full", query)
    return _door.of(df, "joinless.enumerate_full").full_of(df, query, batch_id, operator)


@overload
def incrementalEnumerate(
    self: DataFrame, mode: Literal["delta"] = ..., *, output: Form = ..., emit: Emit = ...
) -> DataFrame: ...
@overload
def incrementalEnumerate(
    self: DataFrame,
    mode: Literal["full"],
    *,
    checkpoint: str | os.PathLike[str] | None = ...,
    query: StreamingQuery | str | None = ...,
    batch_id: int | None = ...,
    operator: int | None = ...,
) -> DataFrame: ...
def incrementalEnumerate(
    self: DataFrame,
    mode: Literal["delta", "full"] = "delta",
    *,
    output: Form = "change_type",
    emit: Emit = "changes",
    checkpoint: str | os.PathLike[str] | None = None,
    query: StreamingQuery | str | None = None,
    batch_id: int | None = None,
    operator: int | None = None,
) -> DataFrame:
    """`enumerate_deltas` (mode ``"delta"``) or `enumerate_full` (mode ``"full"``) as a method."""
    if mode == "full":
        for name, given, default in (("emit", emit, "changes"), ("output", output, "change_type")):
            if given != default:
                raise ValueError(f"{name} is {given!r}: it belongs to mode='delta'")
        return enumerate_full(self, checkpoint, query, batch_id, operator)
    if mode != "delta":
        raise ValueError(f"mode is {mode!r}: use 'delta' or 'full'")
    if any(option is not None for option in (checkpoint, query, batch_id, operator)):
        raise ValueError("checkpoint, query, batch_id and operator belong to mode='full'")
    return enumerate_deltas(self, output, emit)


def install() -> None:
    """Adds the method to ``DataFrame``; called once, by the import of ``joinless``."""
    DataFrame.incrementalEnumerate = incrementalEnumerate  # type: ignore[attr-defined]
