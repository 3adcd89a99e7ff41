"""Plays a case of SQL in every way in which its result can be kept; the
answers are those of the file.

Two oracles, DuckDB and Spark's batch SQL, check the answers once per case; plays need none.
"""

from __future__ import annotations

import shutil
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

import joinless
from support import oracles
from support.batches import MicroBatches
from support.cases import Row, Table
from support.changes import ChangeRun
from support.run import ORACLE_CONFS
from support.sql_case import SqlCase, present

_PROVIDER = "org.apache.spark.sql.execution.streaming.state"
STORES = {"memory": f"{_PROVIDER}.HDFSBackedStateStoreProvider", "rocksdb": f"{_PROVIDER}.RocksDBStateStoreProvider"}
#: With these settings every case is ours: cross products, and joins of two relations.
CONFS = {"spark.joinless.crossProducts.enabled": "true", "spark.joinless.minRelations": "1"}
_READERS: dict[str, Callable[[str], object]] = {
    "boolean": lambda text: text.lower() == "true",
    "string": str,
    "binary": str.encode,
    "float": float,
    "double": float,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "timestamp_ntz": datetime.fromisoformat,
}


class WrongAnswerError(AssertionError):
    """A result differs from the answer of the file."""


@dataclass(frozen=True)
class Play:
    """One way to play a case.

    Args:
        kind: one of `support.sql_case.KINDS`.
        how: `batches` are played without a streaming query, with a restart after each; `once` the
            same with all changes in one batch; a `stream` is a streaming query that is stopped and
            restarted after each batch.
    """

    kind: str
    how: str
    partitions: int = 1
    store: str = "memory"
    keyed: bool = False

    @property
    def name(self) -> str:
        """Readable, and unique among the plays of a case."""
        key = "-keyed" if self.keyed else ""
        return f"{self.kind}-{self.how}-{self.partitions}-{self.store}{key}"


def plays(case: SqlCase) -> list[Play]:
    """All ways in which a case can be played."""
    return [play for kind in case.kinds for play in _plays_of(kind, case)]


def _plays_of(kind: str, case: SqlCase) -> Iterator[Play]:
    other = case.partitions or 3
    match kind:
        case "changelog":
            yield from (Play(kind, "batches", n, store) for n in (1, other) for store in STORES)
            yield from (Play(kind, "once", n) for n in (1, other))
            yield from (Play(kind, "stream", 1), Play(kind, "stream", other, "rocksdb"))
        case "append" | "plain":
            yield from (Play(kind, "batches", 1), Play(kind, "batches", other, "rocksdb"), Play(kind, "once", other))
            yield Play(kind, "stream", other)
        case _:
            yield Play(kind, "stream", 1)
            if case.key:
                yield Play(kind, "stream", 1, keyed=True)


def of_gate(case: SqlCase) -> Play | None:
    """The play of the gate: always the same for a case, another one for the next.
    None if it would be a stream.

    The tests in Scala play changelogs batch by batch, so that here all changes are in one batch.
    """
    begins = case.gate or f"{case.kinds[0]}-once"
    chosen = [play for play in plays(case) if play.name.startswith(begins)]
    return chosen[zlib.crc32(case.name.encode()) % len(chosen)] if chosen else None


# -- the answers ------------------------------------------------------------------------------------------------------


def check_answers(spark: SparkSession, case: SqlCase, every: bool) -> None:
    """Fails if the answers of a file are not those of both oracles, or if an oracle that is
    marked as wrong is right.

    DuckDB checks every batch. Spark, which takes longer, checks only the last
    one unless `every` is set.
    """
    differ: dict[str, str] = {}
    last = len(case.batches)
    frames = [_batch_sql(spark, case, number) for number in range(1 if every else last, last + 1)]
    expected = answers(case, frames[-1].schema)
    for oracle in ("duckdb", "spark"):
        try:
            found = ask_duckdb(case) if oracle == "duckdb" else [oracles.bag(frame.collect()) for frame in frames]
        except (duckdb.Error, PySparkException) as e:
            differ[oracle] = str(e)
            continue
        for number, bag in enumerate(found, last - len(found) + 1):
            difference = oracles.difference(bag, expected[number - 1])
            if difference:
                differ.setdefault(oracle, f"batch {number}: {difference}")
    for oracle, difference in differ.items():
        assert oracle in case.wrong, f"{case.name}: {oracle} has another answer, {difference}\n{case.query}"
    for oracle, why in case.wrong.items():
        assert oracle in differ, f"{case.name}: {oracle} agrees by now. Remove its line `wrong`: {why}"


def answers(case: SqlCase, schema: StructType) -> list[oracles.Bag]:
    """The answers of the file as bags of values of the query's columns."""
    return [typed(batch.answer or (), schema) for batch in case.batches]


def typed(rows: Iterable[Row], schema: StructType) -> oracles.Bag:
    """Rows of texts as values of a query's columns."""
    readers = [_READERS.get(field.dataType.typeName(), Decimal) for field in schema]
    return oracles.bag(
        tuple(None if text is None else read(text) for read, text in zip(readers, row, strict=True)) for row in rows
    )


def ask_duckdb(case: SqlCase) -> list[oracles.Bag]:
    """DuckDB's result after each batch."""
    oracle = _duckdb(case)
    query = oracles.dialect(case.duckdb or case.query)
    found = []
    for number in range(1, len(case.batches) + 1):
        _fill(oracle, case, number)
        found.append(oracles.bag(oracle.connection.execute(query).fetchall()))
    return found


def answer_rows(case: SqlCase) -> SqlCase:
    """The case with DuckDB's answers in place of its own."""
    found = ask_duckdb(case)
    batches = [
        replace(batch, answer=tuple(sorted(map(_texts, bag.elements()), key=repr)))
        for batch, bag in zip(case.batches, found, strict=True)
    ]
    return case.with_batches(batches)


def _texts(row: tuple[Any, ...]) -> Row:
    return tuple(_text(value) for value in row)


def _text(value: Any) -> str | None:
    match value:
        case (None,):
            return None
        case (bool(),):
            return str(value[0]).lower()
        case ("float", number, _):
            return str(number)
        case bytes():
            return value.decode()
        case _:
            return str(value)


def _batch_sql(spark: SparkSession, case: SqlCase, batches: int) -> DataFrame:
    """The query as Spark's batch SQL over the rows after so many batches."""
    session = spark.newSession()
    for key, value in ORACLE_CONFS.items():
        session.conf.set(key, value)
    rows = present(case, batches)
    for table in case.tables:
        _rows(session, table, rows[table.name]).createOrReplaceTempView(table.name)
    _make_latest(session, case)
    return session.sql(case.query)


def _rows(session: SparkSession, table: Table, rows: Counter[Row]) -> DataFrame:
    """Rows of texts with a table's columns, as a relation that Spark knows without a job."""
    names = ", ".join(column.name for column in table.columns)
    values = ", ".join(f"({', '.join(map(_literal, row))})" for row in rows.elements())
    casts = ", ".join(f"CAST({column.name} AS {column.type}) AS {column.name}" for column in table.columns)
    nothing = f"({', '.join('NULL' for _ in table.columns)})"
    found = session.sql(f"SELECT {casts} FROM VALUES {values or nothing} AS t({names})")
    return found if values else found.limit(0)


def _literal(text: str | None) -> str:
    return "NULL" if text is None else "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _make_latest(session: SparkSession, case: SqlCase) -> None:
    for view in case.latest:
        newest = joinless.latest(session.table(view.table), key=view.key, order=view.order)
        newest.createOrReplaceTempView(view.name)


def _duckdb(case: SqlCase) -> oracles.DuckDb:
    oracle = oracles.DuckDb(case.as_case(1))
    for view in case.latest:
        columns = ", ".join(c.name for table in case.tables if table.name == view.table for c in table.columns)
        oracle.connection.execute(
            f"CREATE VIEW {view.name} AS SELECT {columns} FROM (SELECT *, ROW_NUMBER() OVER "
            f"(PARTITION BY {view.key} ORDER BY {view.order} DESC NULLS LAST) AS n FROM {view.table}) t WHERE n = 1"
        )
    return oracle


def _fill(oracle: oracles.DuckDb, case: SqlCase, batches: int) -> None:
    rows = present(case, batches)
    for table in case.tables:
        oracle.connection.execute(f"DELETE FROM {table.name}")
        oracle.insert(table, rows[table.name].elements())


# -- plays ------------------------------------------------------------------------------------------------------------


def play_case(spark: SparkSession, case: SqlCase, play: Play, folder: Path) -> None:
    """Plays a case; fails if the result after a batch is not the answer."""
    if play.kind in ("append", "plain"):
        case = case.first(case.growing)
    if play.how == "once":
        case = case.at_once()
    run = (_KeptRun if play.kind in ("table", "feeds") else _Run)(spark, case, play, folder)
    expected = answers(case, run.query().schema)
    for number, (got, answer) in enumerate(zip(_results(run, case, play), expected, strict=True), 1):
        difference = oracles.difference(got, answer)
        if difference:
            raise WrongAnswerError(f"{case.name}, {play.name}, batch {number}: {difference}\n{case.note}\n{case.query}")
    shutil.rmtree(folder)


def _results(run: _Run, case: SqlCase, play: Play) -> Iterator[oracles.Bag]:
    """The result after each batch."""
    if isinstance(run, _KeptRun):
        return _kept(run, case)
    return _streamed(run, case) if play.how == "stream" else _played(run, case)


class _Run(ChangeRun):
    """A case's streams and its query, whose changes add up to `result`."""

    def __init__(self, spark: SparkSession, case: SqlCase, play: Play, folder: Path) -> None:
        self.plain = play.kind == "plain"
        inputs = case.changes("appended" if play.kind in ("append", "plain") else "types")
        confs = {"spark.sql.streaming.stateStore.providerClass": STORES[play.store], **CONFS}
        super().__init__(spark, case.as_case(play.partitions), inputs, folder, "change_type", confs)
        _make_latest(self.session, case)

    def deltas(self) -> DataFrame:
        return self.query() if self.plain else super().deltas()

    def take(self, batch: DataFrame, number: int) -> None:
        if self.plain:
            self.result = self.result + oracles.bag(batch.collect())
        else:
            super().take(batch, number)


def _played(run: _Run, case: SqlCase) -> Iterator[oracles.Bag]:
    batches = MicroBatches(run.session, run.deltas(), run.folder / "state")
    try:
        for number in range(len(case.batches)):
            run.take(batches.play(run.arrive(number)), number)
            yield run.result
            batches.restart()
    finally:
        batches.close()


def _streamed(run: _Run, case: SqlCase) -> Iterator[oracles.Bag]:
    for number in range(len(case.batches)):
        run.arrive(number)
        query = run.start()
        try:
            query.processAllAvailable()
        finally:
            query.stop()
        yield run.result


class _KeptRun(_Run):
    """A case's result as a Delta table; its tables are streams of files, or
    change feeds of Delta tables.
    """

    def __init__(self, spark: SparkSession, case: SqlCase, play: Play, folder: Path) -> None:
        super().__init__(spark, case, play, folder)
        self.feeds, self.key = play.kind == "feeds", case.key if play.keyed else None
        self.target = f"delta.`{folder / 'target'}`"
        if self.feeds:
            for table in case.tables:
                self._make_feed(table)

    def _feed(self, table: Table) -> str:
        return f"delta.`{self.folder / f'{table.name}-feed'}`"

    def _make_feed(self, table: Table) -> None:
        feed = f"({table.schema}) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true)"
        self.session.sql(f"CREATE TABLE {self._feed(table)} {feed}")
        reader = self.session.readStream.format("delta").option("readChangeFeed", "true")
        stream = reader.load(str(self.folder / f"{table.name}-feed"))
        joinless.changelog(stream).createOrReplaceTempView(table.name)

    def commit(self, case: SqlCase, number: int) -> None:
        """Writes the changes of a batch to the tables; a table with deleted rows is rewritten."""
        if not self.feeds:
            self.arrive(number)
            return
        grows = case.batches[number].grows
        before, after = present(case, number), present(case, number + 1)
        for table in case.tables:
            if before[table.name] != after[table.name]:
                rows = (after[table.name] - before[table.name]) if grows else after[table.name]
                writer = _rows(self.session, table, rows).write.format("delta")
                writer.mode("append" if grows else "overwrite").save(str(self.folder / f"{table.name}-feed"))

    def bring_up_to_date(self) -> StreamingQuery:
        query = joinless.materialize(self.query(), self.target, self.checkpoint, key=self.key, trigger="availableNow")
        query.awaitTermination()
        return query


def _kept(run: _KeptRun, case: SqlCase) -> Iterator[oracles.Bag]:
    for number in range(len(case.batches)):
        run.commit(case, number)
        run.bring_up_to_date()
        yield oracles.bag(run.session.sql(f"SELECT * FROM {run.target}").collect())
