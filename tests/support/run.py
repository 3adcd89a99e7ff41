"""Runs a case as a streaming query, batch by batch, and compares all output so far
with the oracles after each.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from zlib import crc32

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from support import oracles
from support.batches import MicroBatches
from support.cases import Case, Table

#: The `operatorName` of our operator in a query's progress.
OPERATOR = "joinFree"

#: Expressions are interpreted: to compile a plan takes longer than to run it over a few rows.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
#: Spark's default.
GENERATED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
#: Fast for few rows: none of these changes a result.
ORACLE_CONFS = {"spark.sql.shuffle.partitions": "1", "spark.sql.adaptive.enabled": "false", **INTERPRETED}


def code(case: Case) -> Mapping[str, str]:
    """Every third case runs with generated code, as users' queries do."""
    return INTERPRETED if crc32(case.name.encode()) % 3 else GENERATED


class Feed:
    """The folders that a case's streams read; files appear in them atomically, as a real
    producer should write them.
    """

    def __init__(self, case: Case, folder: Path) -> None:
        self.case, self.folder, self.files = case, folder, 0
        self.oracle = oracles.DuckDb(case)
        (folder / "staging").mkdir(parents=True)
        for table in case.tables:
            self.path(table).mkdir()

    def path(self, table: Table) -> Path:
        """The folder of a table's stream."""
        return self.folder / table.name

    def arrive(self, batch: int) -> dict[Path, list[Path]]:
        """Adds the files of a batch to the streams and to DuckDB.

        Returns:
            the new files by the folder of their stream, in order of arrival.
        """
        staged: list[tuple[Path, Path]] = []
        for table in self.case.tables:
            for rows in table.arrivals[batch]:
                self.files += 1
                file = self.folder / "staging" / f"{table.name}-{self.files:04d}.parquet"
                self.oracle.connection.execute(f"CREATE OR REPLACE TABLE arriving AS FROM {table.name} LIMIT 0")
                self.oracle.insert(Table("arriving", table.columns, ()), rows)
                self.oracle.connection.execute(f"COPY arriving TO '{file}' (FORMAT parquet)")
                self.oracle.connection.execute(f"INSERT INTO {table.name} FROM arriving")
                staged.append((file, self.path(table) / file.name))
        arrived: dict[Path, list[Path]] = {}
        for file, target in staged:
            file.rename(target)
            arrived.setdefault(target.parent, []).append(target)
        return arrived


class Run:
    """A streaming query of a case, in a session of its own, writing to memory or
    (durable) to Parquet files.
    """

    def __init__(
        self,
        spark: SparkSession,
        case: Case,
        folder: Path,
        *,
        native: bool = False,
        durable: bool = False,
        confs: Mapping[str, str] | None = None,
    ) -> None:
        self.case, self.durable = case, durable
        self.feed = Feed(case, folder / "feed")
        self.checkpoint, self.sink = folder / "checkpoint", folder / "output"
        self.session = spark.newSession()
        self.session.conf.set("spark.sql.shuffle.partitions", str(case.partitions))
        self.session.conf.set("spark.joinless.enabled", str(not native).lower())
        for key, value in {**code(case), **(confs or {})}.items():
            self.session.conf.set(key, value)
        self.batch_session = spark.newSession()
        for key, value in ORACLE_CONFS.items():
            self.batch_session.conf.set(key, value)
        for table in case.tables:
            reader = self.session.readStream.schema(table.schema)
            if case.max_files_per_trigger:
                reader = reader.option("maxFilesPerTrigger", case.max_files_per_trigger)
            reader.parquet(str(self.feed.path(table))).createOrReplaceTempView(table.name)

    def start(self, sql: str | None = None) -> StreamingQuery:
        """Starts the case's query, or another one over the same checkpoint."""
        writer = self.session.sql(sql or self.case.sql).writeStream
        writer = writer.option("checkpointLocation", str(self.checkpoint))
        if self.durable:
            return writer.format("parquet").option("path", str(self.sink)).start()
        return writer.format("memory").queryName("output").start()

    def output(self) -> oracles.Bag:
        """All rows the query has written, in this run and earlier ones."""
        if not self.durable:
            return oracles.bag(self.session.table("output").collect())
        schema = self.session.sql(self.case.sql).schema
        return oracles.bag(self.batch_session.read.schema(schema).parquet(str(self.sink)).collect())

    def check(self, batch: int) -> None:
        """Fails if the output differs from an oracle."""
        actual = self.output()
        check_difference(self.case, batch, "DuckDB", actual, self.feed.oracle.result())
        check_difference(self.case, batch, "Spark batch SQL", actual, self.spark_batch())

    def spark_batch(self) -> oracles.Bag:
        """Spark's batch SQL over the current files."""
        for table in self.case.tables:
            batch = self.batch_session.read.schema(table.schema).parquet(str(self.feed.path(table)))
            batch.createOrReplaceTempView(table.name)
        return oracles.spark_batch(self.batch_session, self.case)


def check_batches(spark: SparkSession, case: Case, folder: Path) -> None:
    """Plays a case's micro-batches without a streaming query; fails if a batch's
    output differs from an oracle.

    Each batch is compared with DuckDB, the last one also with Spark's batch SQL: output
    is only appended, so an earlier error is still there at the end. Half of the cases
    are restarted in the middle.
    """
    run = Run(spark, case, folder)
    batches = MicroBatches(run.session, run.session.sql(case.sql), folder / "state")
    output: oracles.Bag = Counter()
    try:
        for batch in range(case.batches):
            if batch == case.batches // 2 and case.partitions % 2 == 0:
                batches.restart()
            arrived = run.feed.arrive(batch)
            for files in per_trigger(arrived, case.max_files_per_trigger):
                output += oracles.bag(batches.play(files).collect())
            check_difference(case, batch, "DuckDB", output, run.feed.oracle.result())
        check_difference(case, case.batches - 1, "Spark batch SQL", output, run.spark_batch())
        assert batches.blocks == 1, f"{case.name} has {batches.blocks} blocks\n{case.sql}"
    finally:
        batches.close()
    shutil.rmtree(folder)


def per_trigger(arrived: dict[Path, list[Path]], most: int | None) -> Iterator[dict[Path, list[Path]]]:
    """The rows of a batch in as many micro-batches as needed with at most so
    many files of each stream.
    """
    remaining = {folder: files for folder, files in arrived.items() if files}
    while remaining:
        yield {folder: files[:most] for folder, files in remaining.items()}
        remaining = {folder: files[most:] for folder, files in remaining.items() if most and files[most:]}


def check_case(spark: SparkSession, case: Case, folder: Path, *, native: bool = False) -> None:
    """Runs a case to its end; fails if a batch's output differs from an oracle or the
    plan is not the intended one.
    """
    run = Run(spark, case, folder, native=native)
    query = run.start()
    try:
        for batch in range(case.batches):
            run.feed.arrive(batch)
            query.processAllAvailable()
            run.check(batch)
        operators = operators_of(query)
        expected = "symmetricHashJoin" if native else OPERATOR
        assert operators == {expected}, f"{case.name} ran as {operators}, not as {expected}\n{case.sql}"
    finally:
        query.stop()
    shutil.rmtree(folder)


def operators_of(query: StreamingQuery) -> set[str]:
    """Names of the stateful operators that a query's batches ran."""
    return {operator.operatorName for progress in query.recentProgress for operator in progress.stateOperators}


def check_difference(case: Case, batch: int, oracle: str, actual: oracles.Bag, expected: oracles.Bag) -> None:
    difference = oracles.difference(actual, expected)
    assert not difference, f"{case.name}, batch {batch}, differs from {oracle}: {difference}\n{case.sql}"
