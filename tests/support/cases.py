"""A case: tables whose rows arrive in batches, and one SQL join query over them. Plain data, so that it can be kept.

Values are texts (or NULL), cast to the column's type by whoever loads them: one notation for Spark, DuckDB and
files.
"""

from __future__ import annotations

from dataclasses import dataclass

Row = tuple[str | None, ...]
#: The files that arrive for one table in one batch: none (the source is idle), or each a list of rows, maybe empty.
Arrival = tuple[tuple[Row, ...], ...]


@dataclass(frozen=True)
class Column:
    """Column of a table; `type` is Spark's name."""

    name: str
    type: str


@dataclass(frozen=True)
class Table:
    """One stream: its columns and what arrives in each batch."""

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
        """How many times something arrives, or nothing does."""
        return len(self.tables[0].arrivals)

    def idle(self, batch: int) -> frozenset[int]:
        """Positions of the tables that get no file in a batch."""
        return frozenset(i for i, table in enumerate(self.tables) if not table.arrivals[batch])
