"""Kafka: the table whose changes a Debezium topic has, and changes of a result as the records of a
compacted topic.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from joinless import _arguments, _door

DECIMALS = ("precise", "string", "double")
UNITS = ("millis", "micros", "nanos")


def debezium(
    df: DataFrame,
    schema: str | StructType,
    key: str | Sequence[str] | None = None,
    added: str | Sequence[str] | None = None,
    decimals: str | None = None,
    timestamps: str | None = None,
) -> DataFrame:
    """Returns the table whose changes are the records of a Debezium topic in JSON.

    Use the result like a table in a query whose changes are requested. Without `key` it is a
    `changelog`: a record inserts the row after its change and deletes the row before. So records
    need both, and none may come twice. With `key` it is the newest row of each key, by the offset
    of its record. Then neither a row before nor a record that comes twice matters.

    A record whose rows are not certain stops the query with an error that names the record:
    nothing is guessed. Columns that the schema does not name are left out. Tombstones delete their
    key (with `key`) or are skipped, as are logical messages and marks of transactions.

    >>> records = spark.readStream.schema("key STRING, value STRING, offset BIGINT").json(folder)
    >>> customers = joinless.debezium(records, "id BIGINT, city STRING", key="id")
    >>> customers.columns
    ['id', 'city']

    Args:
        df: records as Spark's source for Kafka reads them (``format("kafka")``): ``value``, STRING
            or BINARY, and for `key` also ``key`` and ``offset``. A value has the fields ``before``,
            ``after`` and ``op``, with the converter's ``schemas.enable`` or without.
        schema: the columns, with the names that the records use, as DDL such as
            ``"id BIGINT, city STRING"`` or as a StructType. Types: BOOLEAN, TINYINT to BIGINT,
            FLOAT, DOUBLE, DECIMAL, STRING, BINARY, DATE, TIMESTAMP and TIMESTAMP_NTZ.
        key: columns that identify a row, among them all columns of the records' own key.
        added: columns that older records lack, since they were added to the table later: NULL
            there.
        decimals: how decimals are written where records have no schema, as in Debezium's
            ``decimal.handling.mode``: ``"precise"``, ``"string"`` or ``"double"``.
        timestamps: the unit of timestamps that are numbers, where records have no schema:
            ``"millis"``, ``"micros"`` or ``"nanos"``.

    Returns:
        A streaming DataFrame with the columns of the schema. Write a query over it through
        `incrementalEnumerate`. The query stops with ``JOINLESS_DEBEZIUM`` at a record that cannot
        be read.

    Raises:
        AnalysisException: ``JOINLESS_DEBEZIUM_ARGUMENTS`` if `df` has not these columns, or the
            schema cannot be read or lacks a column that is named; ``JOINLESS_NOT_STREAMING`` if
            `df` reads no stream.
        TypeError, ValueError: an argument of another type or value.
        ExtensionNotInstalledError: the session runs without Joinless.
    """
    function = "joinless.debezium"
    if isinstance(schema, StructType):
        columns = schema.json()
    else:
        _arguments.text(function, "schema", schema)
        columns = schema
    keys = _arguments.as_columns(function, "key", key) or []
    later = _arguments.as_columns(function, "added", added) or []
    _one_of(function, "decimals", decimals, DECIMALS)
    _one_of(function, "timestamps", timestamps, UNITS)
    return _door.of(df, function).debezium(df, columns, keys, later, decimals, timestamps)


def upserts(deltas: DataFrame, key: str | Sequence[str]) -> DataFrame:
    """Returns changes of a result as records for a compacted Kafka topic.

    A batch has one record for each key that it changes: the new row, or a tombstone (NULL) where
    the key has no row any more. After each batch, the last records of all keys are the result. A
    batch that runs again writes the same records again.

    >>> records = joinless.upserts(pairs.incrementalEnumerate(), key=["src", "dst"])
    >>> records.columns
    ['key', 'value']

    Write them with ``records.writeStream.format("kafka")``.

    Args:
        deltas: what `incrementalEnumerate` returns, in either form, or a batch of it in a function
            of ``foreachBatch``.
        key: columns by which all rows of the result differ.

    Returns:
        A DataFrame ``key STRING, value STRING``, streaming if `deltas` is: JSON objects, of the key
        columns and of all columns of the result. Times are in UTC, with microseconds; NULLs are
        written. A batch with two rows of one key stops with ``JOINLESS_UPSERTS.KEY_NOT_UNIQUE``.

    Raises:
        AnalysisException: ``JOINLESS_UPSERTS`` if `deltas` has not the changes of a result, or no
            such column.
        TypeError, ValueError: an argument of another type or value.
        ExtensionNotInstalledError: the session runs without Joinless.
    """
    keys = _arguments.some_columns("joinless.upserts", "key", key)
    return _door.of(deltas, "joinless.upserts").upserts(deltas, keys)


def _one_of(function: str, name: str, value: str | None, known: Sequence[str]) -> None:
    _arguments.text(function, name, value, optional=True)
    if value is not None and value not in known:
        raise ValueError(f"{function} takes one of {', '.join(map(repr, known))} as {name}, and got {value!r}")
