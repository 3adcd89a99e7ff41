"""Two independent answers to a case: DuckDB and Spark's batch SQL, over the rows
that arrived so far, as bags.

Rows are compared after `canonical`: NaN equals NaN, -0.0 differs from 0.0, decimals and integers
are compared by value.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import duckdb
from pyspark.sql import SparkSession

from support.cases import Case, Table

Bag = Counter[tuple[Any, ...]]


def canonical(value: Any) -> Any:
    """A value such that two of them are equal exactly when they are the same SQL value."""
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        return ("float", value, math.copysign(1.0, value))
    if isinstance(value, bool) or value is None:
        return (value,)
    if isinstance(value, (int, Decimal)):
        return Decimal(value)
    return bytes(value) if isinstance(value, bytearray) else value


def bag(rows: Iterable[Iterable[Any]]) -> Bag:
    """Rows with their multiplicities."""
    return Counter(tuple(canonical(value) for value in row) for row in rows)


def difference(actual: Bag, expected: Bag, limit: int = 5) -> str:
    """Missing and surplus rows, in a few lines; empty if there are none."""
    missing, extra = expected - actual, actual - expected
    if not missing and not extra:
        return ""
    lines = [f"{actual.total()} rows, expected {expected.total()}"]
    lines += [f"  missing {n} x {row}" for row, n in missing.most_common(limit)]
    lines += [f"  extra   {n} x {row}" for row, n in extra.most_common(limit)]
    return "\n".join(lines)


class DuckDb:
    """The tables of a case in memory, filled batch by batch."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.connection = duckdb.connect(config={"threads": 1})
        for table in case.tables:
            self.connection.execute(f"CREATE TABLE {table.name} ({table.schema})")

    def insert(self, table: Table, rows: Iterable[tuple[str | None, ...]]) -> None:
        """Adds rows to a table."""
        values = ", ".join(f"({', '.join(map(_text, row))})" for row in rows)
        if values:
            self.connection.execute(f"INSERT INTO {table.name} VALUES {values}")

    def arrive(self, batch: int) -> None:
        """Adds the rows that arrive in a batch."""
        for table in self.case.tables:
            for file in table.arrivals[batch]:
                self.insert(table, file)

    def result(self) -> Bag:
        """The query's result now."""
        return bag(self.connection.execute(dialect(self.case.sql)).fetchall())


def dialect(sql: str) -> str:
    """Spark's SQL as DuckDB reads it."""
    return sql.replace(" <=> ", " IS NOT DISTINCT FROM ")


def duckdb_count(case: Case, limit: int) -> int:
    """Number of rows of the final result, counted up to a limit."""
    oracle = DuckDb(case)
    for batch in range(case.batches):
        oracle.arrive(batch)
    found = oracle.connection.execute(f"SELECT count(*) FROM ({dialect(case.sql)} LIMIT {limit})").fetchall()
    return int(found[0][0])


def spark_batch(session: SparkSession, case: Case) -> Bag:
    """The query's result over views of the session that hold all rows that arrived."""
    return bag(session.sql(case.sql).collect())


def _text(value: str | None) -> str:
    return "NULL" if value is None else "'" + value.replace("'", "''") + "'"
