"""A case: tables whose rows arrive in batches, and one SQL join query over them. Plain data, so
that it can be saved.

Values are texts (or NULL); each consumer casts them to the column's type: one notation
for Spark, DuckDB and files.
"""

from __future__ import annotations

from dataclasses import dataclass

Row = tuple[str | None, ...]
#: The files that arrive for one table in one batch: none (the source is idle), or each a list of
#: rows, maybe empty.
Arrival = tuple[tuple[Row, ...], ...]


@dataclass(frozen=True)
class Column:
    """Column of a table; `type` is Spark's name."""

    name: str
    type: str


@dataclass(frozen=True)
class Table:
    """One stream: its columns and the files that arrive in each batch."""

    name: str
    columns: tuple[Column, ...]
    arrivals: tuple[Arrival, ...]

    @property
    def schema(self) -> str:
        """The columns as Spark DDL."""
        return ", ".join(f"{column.name} {column.type}" for column in self.columns)


@dataclass(frozen=True)
class Case:
    """A query over streams; equal cases give equal runs."""

    name: str
    tables: tuple[Table, ...]
    sql: str
    partitions: int
    max_files_per_trigger: int | None

    @property
    def batches(self) -> int:
        """The number of batches, with or without files."""
        return len(self.tables[0].arrivals)

    def idle(self, batch: int) -> frozenset[int]:
        """Positions of the tables that get no file in a batch."""
        return frozenset(i for i, table in enumerate(self.tables) if not table.arrivals[batch])
