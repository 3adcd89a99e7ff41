"""A target of `apply_changes`, and a bag in Python that says what it must contain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from delta import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from support import oracles
from support.shop import SMALL

Row = tuple[Any, ...]
Changes = list[tuple[Row, int]]

SCHEMA = "k int, `an odd {name}` string, x double"


class Target:
    """An empty Delta table, and the rows that it must contain."""

    def __init__(self, session: SparkSession, folder: Path, schema: str = SCHEMA) -> None:
        self.session, self.schema = session, schema
        self.path = str(folder / "target")
        self.name = f"delta.`{self.path}`"
        self.rows: Counter[Row] = Counter()
        for name, value in SMALL.items():
            session.conf.set(name, value)
        self.create()

    def create(self) -> None:
        """Makes the table, empty."""
        writer = self.session.createDataFrame([], self.schema).write.format("delta")
        writer.option("delta.columnMapping.mode", "name").save(self.path)  # any column name

    def changes(self, changes: Iterable[tuple[Row, int]], form: str = "change_type") -> DataFrame:
        """Signed rows as a DataFrame in one of the two forms, and the target's bag with them."""
        changes = list(changes)
        for row, weight in changes:
            self.rows[row] += weight
        if form == "weight":
            return self.session.createDataFrame([(*r, w) for r, w in changes], f"{self.schema}, _weight bigint")
        typed = [(*r, "insert" if w > 0 else "delete") for r, w in changes for _ in range(abs(w))]
        return self.session.createDataFrame(typed, f"{self.schema}, _change_type string")

    def insert(self, *rows: Row) -> None:
        """Fills the table without `apply_changes`."""
        self.rows.update(rows)
        self.session.createDataFrame(rows, self.schema).write.format("delta").mode("append").save(self.path)

    def check(self) -> None:
        """Fails if the table has other rows."""
        expected = oracles.bag(row for row, n in self.rows.items() for _ in range(n))
        assert min(self.rows.values(), default=0) >= 0
        assert not oracles.difference(oracles.bag(self.session.table(self.name).collect()), expected)

    def version(self) -> int:
        """The table's newest version."""
        return int(DeltaTable.forPath(self.session, self.path).history(1).collect()[0]["version"])
