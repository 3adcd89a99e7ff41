"""What Delta says of a table, without a count of its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from joinless import _jvm


@dataclass(frozen=True)
class Detail:
    """A Delta table.

    Attributes:
        name: with catalog and database; None if the table is given by its path.
        location: the URI of its folder.
        properties: of the table.
        partition_columns: their names.
        files: their number; None if it is not known without reading the log.
    """

    name: str | None
    location: str
    properties: Mapping[str, str]
    partition_columns: tuple[str, ...]
    files: int | None


def detail(session: SparkSession, table: str) -> Detail | str:
    """Returns what Delta says of a table, or the format of a table that is not Delta's.

    ``DESCRIBE DETAIL`` counts files, for which Delta reads them all from its log after each commit.
    So it is asked only where the log cannot be asked directly.
    """
    if (known := _jvm.delta_detail(session, table)) is not None:
        return Detail(**{**known, "partition_columns": tuple(known["partition_columns"])})
    row = session.sql(f"DESCRIBE DETAIL {table}").collect()[0]
    if row["format"] != "delta":
        return str(row["format"])
    return Detail(row["name"], row["location"], row["properties"], tuple(row["partitionColumns"]), row["numFiles"])
