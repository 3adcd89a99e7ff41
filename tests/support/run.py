"""Runs a case as a streaming query, batch by batch, and compares all output so far with the oracles after each."""

from __future__ import annotations

import shutil
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from support import oracles
from support.cases import Case, Table

#: `operatorName` of our operator in a query's progress.
OPERATOR = "joinFree"

#: Fast for little data: none of these changes a result.
_ORACLE_CONFS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}


class Feed:
    """The folders a case's streams read; files appear in them all at once, as a real producer's should."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.case, self.folder, self.files = case, folder, 0
        self.oracle = oracles.DuckDb(case)
        (folder / "staging").mkdir(parents=True)
        for table in case.tables:
            self.path(table).mkdir()

    def path(self, table: Table) -> Path:
        """Where the stream of a table reads."""
        return self.folder / table.name

    def arrive(self, batch: int) -> None:
        """Adds the files of a batch, to the streams and to DuckDB."""
        staged = []
        for table in self.case.tables:
            for rows in table.arrivals[batch]:
                self.files += 1
                file = self.folder / "staging" / f"{table.name}-{self.files:04d}.parquet"
                self.oracle.connection.execute(f"CREATE OR REPLACE TABLE arriving AS FROM {table.name} LIMIT 0")
                self.oracle.insert(Table("arriving", table.columns, ()), rows)
                self.oracle.connection.execute(f"COPY arriving TO '{file}' (FORMAT parquet)")
                self.oracle.connection.execute(f"INSERT INTO {table.name} FROM arriving")
                staged.append((file, self.path(table) / file.name))
        for file, target in staged:
            file.rename(target)


class Run:
    """A streaming query of a case with a memory sink, in a session of its own."""

    def __init__(self, spark: SparkSession, case: Case, folder: Path, *, native: bool = False) -> None:
        self.case, self.native = case, native
        self.feed = Feed(case, folder / "feed")
        self.checkpoint = folder / "checkpoint"
        self.session = spark.newSession()
        self.session.conf.set("spark.sql.shuffle.partitions", str(case.partitions))
        self.session.conf.set("spark.joinless.enabled", str(not native).lower())
        self.batch_session = spark.newSession()
        for key, value in _ORACLE_CONFS.items():
            self.batch_session.conf.set(key, value)
        for table in case.tables:
            reader = self.session.readStream.schema(table.schema)
            if case.max_files_per_trigger:
                reader = reader.option("maxFilesPerTrigger", case.max_files_per_trigger)
            reader.parquet(str(self.feed.path(table))).createOrReplaceTempView(table.name)

    def start(self) -> StreamingQuery:
        """Starts the query; its output so far is the table `output` of the session."""
        writer = self.session.sql(self.case.sql).writeStream.format("memory").queryName("output")
        return writer.option("checkpointLocation", str(self.checkpoint)).start()

    def output(self) -> oracles.Bag:
        """All rows the query has written."""
        return oracles.bag(self.session.table("output").collect())

    def spark_batch(self) -> oracles.Bag:
        """Spark's batch SQL over the files there are."""
        for table in self.case.tables:
            batch = self.batch_session.read.schema(table.schema).parquet(str(self.feed.path(table)))
            batch.createOrReplaceTempView(table.name)
        return oracles.spark_batch(self.batch_session, self.case)


def check_case(spark: SparkSession, case: Case, folder: Path, *, native: bool = False) -> None:
    """Runs a case to its end; fails where a batch's output differs from an oracle or the plan is not the one meant."""
    run = Run(spark, case, folder, native=native)
    query = run.start()
    try:
        for batch in range(case.batches):
            run.feed.arrive(batch)
            query.processAllAvailable()
            actual = run.output()
            _check(case, batch, "DuckDB", actual, run.feed.oracle.result())
            _check(case, batch, "Spark batch SQL", actual, run.spark_batch())
        operators = {o.operatorName for p in query.recentProgress for o in p.stateOperators}
        expected = "symmetricHashJoin" if native else OPERATOR
        assert operators == {expected}, f"{case.name} ran as {operators}, not as {expected}\n{case.sql}"
    finally:
        query.stop()
    shutil.rmtree(folder)


def _check(case: Case, batch: int, oracle: str, actual: oracles.Bag, expected: oracles.Bag) -> None:
    difference = oracles.difference(actual, expected)
    assert not difference, f"{case.name}, batch {batch}, differs from {oracle}: {difference}\n{case.sql}"
