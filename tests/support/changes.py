"""A case as a change stream: rows are inserted and deleted, and after every batch the changes of
the result add up to the oracles.

The tables of a random case are given by their changes: insertions and deletions, updates as pairs,
rows carried over, duplicates, deletions that precede their insertions in a file, batches without
changes and batches that empty a table. Some tables have change types, some signed weights, some are
append-only.
"""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import joinless
from joinless.changes import Form
from support import oracles
from support.batches import MicroBatches
from support.cases import Case, Column, Row, Table
from support.run import ORACLE_CONFS, check_difference, code

#: The form of a table's changes; `appended` tables have none.
KINDS = ("types", "weights", "appended")

_INSERTS = ("insert", "update_postimage", "INSERT", "Update_After")
_DELETES = ("delete", "update_preimage", "DELETE", "Update_Before")

Change = tuple[Row, int]


@dataclass(frozen=True)
class Changes:
    """The changes of one table: its kind, and per batch its changes in the order of
    the file (None: no file).
    """

    table: Table
    kind: str
    batches: tuple[tuple[Change, ...] | None, ...]

    @property
    def schema(self) -> str:
        """The columns of the stream as Spark DDL."""
        return self.table.schema + {"types": ", _change_type STRING", "weights": ", n INT", "appended": ""}[self.kind]


def random_changes(case: Case, seed: int) -> list[Changes]:
    """Changes that insert the rows that arrive in a case, and delete many of them again."""
    rng = Random(seed * 7 + 1)
    inputs = []
    for table in case.tables:
        kind = rng.choices(KINDS, weights=(6, 3, 1))[0]
        present: Counter[Row] = Counter()
        emptied = rng.randrange(case.batches) if rng.random() < 0.2 else -1
        batches: list[tuple[Change, ...] | None] = []
        for number, arrival in enumerate(table.arrivals):
            if not arrival:
                batches.append(None)
                continue
            rows = [row for file in arrival for row in file]
            if kind == "appended":
                batches.append(tuple((row, 1) for row in rows))
                continue
            changes = _batch(rng, rows, present, everything=number == emptied)
            for row, weight in changes:
                present[row] += weight
            assert all(count >= 0 for count in present.values())
            rng.shuffle(changes)
            batches.append(tuple(changes))
        inputs.append(Changes(table, kind, tuple(batches)))
    return inputs


def _batch(rng: Random, rows: list[Row], present: Counter[Row], everything: bool) -> list[Change]:
    before = list(present.elements())
    deleted = before if everything else rng.sample(before, int(len(before) * rng.choice((0.0, 0.2, 0.5))))
    changes = [(row, 1) for row in rows] + [(row, -1) for row in deleted]
    stays = list((present - Counter(deleted)).elements())
    for row in rng.sample(stays, min(len(stays), 3)):
        if rng.random() < 0.5:  # carried over
            changes += [(row, -1), (row, 1)]
        else:  # updated in one column
            at = rng.randrange(len(row))
            changes += [(row, -1), ((*row[:at], rng.choice(before)[at], *row[at + 1 :]), 1)]
    for row in rng.sample(rows, min(len(rows), 2)):  # inserted and deleted, or inserted twice
        changes.append((row, rng.choice((-1, 1))))
    return changes


def at_once(case: Case, inputs: list[Changes], seed: int) -> tuple[Case, list[Changes]]:
    """The same changes in one batch, in any order."""
    rng = Random(seed)
    merged = []
    for changes in inputs:
        every = [change for batch in changes.batches if batch is not None for change in batch]
        rng.shuffle(every)
        merged.append(replace(changes, batches=(tuple(every),)))
    tables = tuple(
        replace(table, arrivals=(tuple(a for arrival in table.arrivals for a in arrival),)) for table in case.tables
    )
    return replace(case, tables=tables), merged


class ChangeRun:
    """A streaming query over change streams, in a session of its own; its changes
    are added up batch by batch.
    """

    def __init__(
        self,
        spark: SparkSession,
        case: Case,
        inputs: list[Changes],
        folder: Path,
        form: Form,
        confs: Mapping[str, str] | None = None,
    ) -> None:
        self.case, self.inputs, self.folder, self.form = case, inputs, folder, form
        self.oracle = oracles.DuckDb(case)
        self.present: dict[str, Counter[Row]] = defaultdict(Counter)
        self.result: oracles.Bag = Counter()
        self.files = 0
        self.checkpoint = folder / "checkpoint"
        self.session, self.batch_session = spark.newSession(), spark.newSession()
        self.session.conf.set("spark.sql.shuffle.partitions", str(case.partitions))
        for key, value in {**code(case), **(confs or {})}.items():
            self.session.conf.set(key, value)
        for key, value in ORACLE_CONFS.items():
            self.batch_session.conf.set(key, value)
        (folder / "staging").mkdir(parents=True)
        for changes in inputs:
            path = folder / changes.table.name
            path.mkdir()
            stream = self.session.readStream.schema(changes.schema).parquet(str(path))
            if changes.kind == "types":
                stream = joinless.changelog(stream)
            elif changes.kind == "weights":
                stream = joinless.changelog(stream, weight="n")
            stream.createOrReplaceTempView(changes.table.name)

    def query(self) -> DataFrame:
        """The query whose changes are requested."""
        return self.session.sql(self.case.sql)

    def deltas(self) -> DataFrame:
        """The changes of the query."""
        return joinless.enumerate_deltas(self.query(), output=self.form)

    def start(self) -> StreamingQuery:
        """Starts the query, or restarts it."""
        writer = self.deltas().writeStream.foreachBatch(self.take).option("checkpointLocation", str(self.checkpoint))
        return writer.start()

    def take(self, batch: DataFrame, number: int) -> None:
        """Adds the changes of a batch to the result; fails if they are not net."""
        inserted: Counter[tuple[object, ...]] = Counter()
        deleted: Counter[tuple[object, ...]] = Counter()
        for *row, change in batch.collect():
            key = tuple(oracles.canonical(value) for value in row)
            if self.form == "weight":
                assert change != 0
                assert key not in inserted
                assert key not in deleted, f"{self.case.name}: several rows for {key} in batch {number}"
                (inserted if change > 0 else deleted)[key] += abs(change)
            else:
                {"insert": inserted, "delete": deleted}[change][key] += 1
        both = inserted.keys() & deleted.keys()
        assert not both, (
            f"{self.case.name}: {len(both)} rows are inserted and deleted in batch {number}, such as {next(iter(both))}"
        )
        missing = deleted - self.result
        assert not missing, f"{self.case.name}: batch {number} deletes what is not there: {missing.most_common(3)}"
        self.result = self.result + inserted - deleted

    def arrive(self, batch: int) -> dict[Path, list[Path]]:
        """Adds the changes of a batch to the streams and to the oracles; returns the
        new files by their folders.
        """
        staged: list[tuple[Path, Path]] = []
        for changes in self.inputs:
            arriving = changes.batches[batch]
            if arriving is None:
                continue
            rng = Random(batch)
            extra = {
                "types": Column("_change_type", "string"),
                "weights": Column("n", "int"),
            }
            columns = changes.table.columns + ((extra[changes.kind],) if changes.kind in extra else ())
            rows: list[Row] = []
            for row, weight in arriving:
                if changes.kind == "types":
                    row = (*row, rng.choice(_INSERTS if weight > 0 else _DELETES))
                elif changes.kind == "weights":
                    row = (*row, str(weight))
                rows.append(row)
            self.files += 1
            file = self.folder / "staging" / f"{changes.table.name}-{self.files:04d}.parquet"
            self._write(replace(changes.table, name="arriving", columns=columns), rows, file)
            staged.append((file, self.folder / changes.table.name / file.name))
            present = self.present[changes.table.name]
            for row, weight in arriving:
                present[row] += weight
            self.oracle.connection.execute(f"DELETE FROM {changes.table.name}")
            self.oracle.insert(changes.table, (+present).elements())
        for file, target in staged:
            file.rename(target)
        return {target.parent: [target] for _, target in staged}

    def _write(self, table: Table, rows: list[Row], file: Path) -> None:
        self.oracle.connection.execute(f"CREATE OR REPLACE TABLE {table.name} ({table.schema})")
        self.oracle.insert(table, rows)
        self.oracle.connection.execute(f"COPY {table.name} TO '{file}' (FORMAT parquet)")

    def check(self, batch: int) -> None:
        """Fails if the changes do not add up to the result of an oracle. DuckDB checks each batch.
        Spark's batch SQL, which takes as long as the batch, checks the middle one, where some
        restart, and the last one. There is no check before the first row.
        """
        if not self.files:
            return
        check_difference(self.case, batch, "DuckDB", self.result, self.oracle.result())
        if batch in (self.case.batches // 2, self.case.batches - 1):
            check_difference(self.case, batch, "Spark batch SQL", self.result, self.spark_batch())

    def check_full(self, batch: int, grouped: bool) -> None:
        """Fails if the complete result, read from the checkpoint in two ways, is
        not the sum of its changes.

        The format returns the rows that are joined, not their groups.
        """
        by_query = joinless.enumerate_full(self.query(), checkpoint=str(self.checkpoint))
        check_difference(self.case, batch, "full enumeration", oracles.bag(by_query.collect()), self.result)
        if grouped:
            return
        reader = self.batch_session.read.format("joinless").option("checkpointLocation", str(self.checkpoint))
        check_difference(self.case, batch, "the format", oracles.bag(reader.load().collect()), self.result)

    def spark_batch(self) -> oracles.Bag:
        """Spark's batch SQL over the current tables."""
        for table in self.case.tables:
            file = self.folder / f"{table.name}-now.parquet"
            file.unlink(missing_ok=True)
            self.oracle.connection.execute(f"COPY {table.name} TO '{file}' (FORMAT parquet)")
            batch = self.batch_session.read.schema(table.schema).parquet(str(file))
            batch.createOrReplaceTempView(table.name)
        return oracles.spark_batch(self.batch_session, self.case)


def check_at_once(spark: SparkSession, case: Case, inputs: list[Changes], seed: int, folder: Path) -> None:
    """Runs all changes of a case as one batch; fails if they do not give the
    same result as one by one.
    """
    merged_case, merged = at_once(case, inputs, seed)
    run = ChangeRun(spark, merged_case, merged, folder, "change_type")
    query = run.start()
    try:
        run.arrive(0)
        query.processAllAvailable()
        run.check(0)
    finally:
        query.stop()
    shutil.rmtree(folder)


def check_change_batches(
    spark: SparkSession, case: Case, seed: int, folder: Path, form: Form, one_block: bool = True
) -> None:
    """Like `check_changes`, but plays the micro-batches without a streaming query;
    no checkpoint can be read.
    """
    run = ChangeRun(spark, case, random_changes(case, seed), folder, form)
    with played(run, seed) as batches:
        # below groups and windows, rows of one stream that are only inserted are not stored by themselves
        in_groups = any(f" {word} " in case.sql for word in ("GROUP BY", "OVER", "LIMIT"))
        if " r1" in case.sql or not in_groups or batches.blocks > 0:
            assert batches.blocks == 1 if one_block else batches.blocks > 0
    shutil.rmtree(folder)


@contextmanager
def played(run: ChangeRun, seed: int) -> Iterator[MicroBatches]:
    """Plays the micro-batches of a run without a streaming query, a third with a restart; checks each."""
    batches = MicroBatches(run.session, run.deltas(), run.folder / "state")
    try:
        for batch in range(run.case.batches):
            if batch == run.case.batches // 2 and seed % 3 == 0:
                batches.restart()
            files = run.arrive(batch)
            if files:
                run.take(batches.play(files), batch)
            run.check(batch)
        yield batches
    finally:
        batches.close()


def check_changes(spark: SparkSession, case: Case, seed: int, folder: Path, form: Form, grouped: bool = False) -> None:
    """Runs a case's change streams to their end, some with a restart; fails if
    the changes are not exact.
    """
    stream(ChangeRun(spark, case, random_changes(case, seed), folder, form), seed, grouped)
    shutil.rmtree(folder)


def stream(run: ChangeRun, seed: int, grouped: bool) -> None:
    """Runs a streaming query, a third with a restart; checks each batch, and every other complete result."""
    query = run.start()
    try:
        for batch in range(run.case.batches):
            if batch == run.case.batches // 2 and seed % 3 == 0:
                query.stop()
                query = run.start()
            run.arrive(batch)
            query.processAllAvailable()
            run.check(batch)
            if run.files and batch % 2 == seed % 2:  # before the first row there is no batch to read
                run.check_full(batch, grouped)
    finally:
        query.stop()
