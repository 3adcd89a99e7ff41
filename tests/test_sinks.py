"""Sinks, triggers and downstream operators, with restarts in between."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

import joinless
from support import oracles
from support.oracles import Bag
from support.run import OPERATOR, operators_of

PATH = """SELECT a.src, b.src AS via, b.dst, c.dst AS last
          FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"""
EDGE = "src BIGINT, dst BIGINT, t TIMESTAMP"
STATE = "org.apache.spark.sql.execution.streaming.state"


class Stream:
    """A stream `e` of edges in files, one per batch; event times of a file are ten
    minutes behind those before.
    """

    def __init__(
        self, spark: SparkSession, folder: Path, *, native: bool = False, watermark: str | None = None
    ) -> None:
        self.folder, self.files = folder, 0
        self.last: StreamingQuery  # the last one that was started
        (folder / "in").mkdir(parents=True, exist_ok=True)
        self.session, self.oracle = spark.newSession(), spark.newSession()
        self.session.conf.set("spark.joinless.enabled", str(not native).lower())
        stream = self.session.readStream.schema(EDGE).option("maxFilesPerTrigger", 1).csv(str(folder / "in"))
        (stream.withWatermark("t", watermark) if watermark else stream).createOrReplaceTempView("e")

    def add(self, edges: int = 30, vertices: int = 14, late: int = 0) -> None:
        """A file of random edges, of which some are an hour late."""
        rng = Random(self.files)
        minutes = 600 + 10 * self.files
        lines = []
        for i in range(edges):
            minute = minutes + rng.randrange(10) - (60 if i < late else 0)
            at = f"2026-01-01 {minute // 60:02d}:{minute % 60:02d}:00"
            lines.append(f"{rng.randrange(vertices)},{rng.randrange(vertices)},{at}\n")
        staged = self.folder / f"{self.files:03d}.csv"
        staged.write_text("".join(lines))
        os.utime(staged, (1_750_000_000 + self.files,) * 2)  # files are read in the order of their times
        staged.rename(self.folder / "in" / staged.name)
        self.files += 1

    def expected(self, sql: str = PATH) -> Bag:
        """Batch SQL over the files there are."""
        self.oracle.read.schema(EDGE).csv(str(self.folder / "in")).createOrReplaceTempView("e")
        return oracles.bag(self.oracle.sql(sql).collect())

    def run(self, writer: DataStreamWriter, **trigger: object) -> StreamingQuery:
        """Runs the query until it has read all files."""
        writer = writer.option("checkpointLocation", str(self.folder / "checkpoint"))
        writer = writer.trigger(**(trigger or {"availableNow": True}))  # type: ignore[call-overload]
        query = self.last = writer.start()
        if "processingTime" in trigger:
            query.processAllAvailable()
            query.stop()
        else:
            query.awaitTermination()
        assert operators_of(query) <= {OPERATOR}
        return query


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    return Stream(spark, tmp_path)


ACTIONS: dict[str, list[Callable[[DataFrame], object]]] = {
    "one": [],
    "two": [lambda batch: batch.count()],
    "three": [lambda batch: batch.groupBy("src").count().collect(), lambda batch: batch.count()],
    "isEmpty first": [lambda batch: batch.isEmpty()],
    "take first": [lambda batch: batch.take(2)],
}


@pytest.mark.parametrize("changes", [False, True], ids=["appended", "changes"])
@pytest.mark.parametrize("actions", ACTIONS)
def test_actions_on_a_batch_see_the_same_rows_and_rebuild_nothing(stream: Stream, actions: str, changes: bool) -> None:
    rows: dict[int, list[tuple[object, ...]]] = {}

    def write(batch: DataFrame, number: int) -> None:
        for action in ACTIONS[actions]:
            action(batch)
        rows[number] = [tuple(row) for row in batch.collect()]

    for _ in range(2):  # a restart
        for _ in range(3):
            stream.add()
        df = stream.session.sql(PATH)
        query = stream.run(
            (joinless.enumerate_deltas(df, output="weight") if changes else df).writeStream.foreachBatch(write)
        )
        found = [row for batch in rows.values() for row in batch]
        if changes:
            found = [row[:-1] for row in found for _ in range(row[-1])]  # type: ignore[call-overload]
        assert oracles.difference(oracles.bag(found), stream.expected()) == ""
        figures = [p.stateOperators[0].customMetrics for p in query.recentProgress if p.stateOperators]
        assert len(figures) >= 3
        assert sum(f["rebuilds"] for f in figures[1:]) == 0
        if actions in ("two", "three"):
            assert all(f["batchesRolledBack"] >= f["rebuilds"] for f in figures)
            assert sum(f["batchesRolledBack"] for f in figures) > 0


def test_sizes_are_not_added_up_over_actions(spark: SparkSession, tmp_path: Path) -> None:
    sizes = {}
    for actions in ("one", "three"):
        stream = Stream(spark, tmp_path / actions)
        stream.session.conf.set("spark.sql.shuffle.partitions", "4")
        stream.session.conf.set("spark.joinless.placement.maxReplication", "4")
        for _ in range(3):
            stream.add()

        def write(batch: DataFrame, _: int, actions: str = actions) -> None:
            for action in ACTIONS[actions]:
                action(batch)
            batch.collect()

        query = stream.run(stream.session.sql(PATH).writeStream.foreachBatch(write))
        last = query.recentProgress[-1].stateOperators[0]
        names = ("storedRows", "negativeRows", "logRows", "liveTuples", "keys")
        sizes[actions] = [last.numRowsTotal, *(last.customMetrics[name] for name in names)]
        assert last.customMetrics["arenaBytes"] < last.memoryUsedBytes < 2 * last.customMetrics["arenaBytes"] + 100000
    assert sizes["one"] == sizes["three"]
    assert sizes["one"][0] == sizes["one"][1] >= 90


def test_a_batch_without_results_may_be_looked_at_only(stream: Stream) -> None:
    stream.session.conf.set("spark.sql.shuffle.partitions", "4")
    stream.session.conf.set("spark.joinless.placement.maxReplication", "4")
    stream.add(edges=1)

    def look(batch: DataFrame, _: int) -> None:
        assert batch.isEmpty()

    stream.run(stream.session.sql(PATH).writeStream.foreachBatch(look))


@pytest.mark.parametrize(
    "peek", [lambda b: b.isEmpty(), lambda b: b.take(1), lambda b: None], ids=["isEmpty", "take", "none"]
)
def test_a_batch_that_was_only_looked_at_fails_by_name_and_can_run_again(
    stream: Stream, peek: Callable[[DataFrame], object]
) -> None:
    stream.session.conf.set("spark.sql.shuffle.partitions", "4")
    stream.session.conf.set("spark.joinless.placement.maxReplication", "4")
    rows: dict[int, list[tuple[object, ...]]] = {}
    for _ in range(2):
        stream.add()
    writer = stream.session.sql(PATH).writeStream

    def look(batch: DataFrame, _: int) -> None:
        peek(batch)

    with pytest.raises(StreamingQueryException):
        stream.run(writer.foreachBatch(look))
    error = joinless.error(stream.last)
    assert error is not None
    assert error.getCondition() == "JOINLESS_BATCH_NOT_READ"
    assert error.getSqlState() == "55000"
    assert "isEmpty" in str(error)
    assert "of 4 partitions" in str(error)
    assert not (stream.folder / "checkpoint" / "commits" / "0").exists()  # the batch is not done
    stream.run(
        stream.session.sql(PATH).writeStream.foreachBatch(
            lambda batch, number: rows.update({number: [tuple(row) for row in batch.collect()]})
        )
    )
    assert oracles.difference(oracles.bag(r for batch in rows.values() for r in batch), stream.expected()) == ""


def _written(stream: Stream, sink: str) -> Bag:
    out = str(stream.folder / "out")
    if sink == "to_json":
        lines = [json.loads(row.value) for row in stream.session.read.json(out).select("value").collect()]
        return oracles.bag(tuple(line.get(c) for c in ("src", "via", "dst", "last")) for line in lines)
    return oracles.bag(stream.session.read.format(sink).load(out).collect())


@pytest.mark.parametrize("sink", ["parquet", "delta", "to_json"])
def test_files_hold_every_row_once_over_restarts(stream: Stream, sink: str) -> None:
    for _ in range(2):
        stream.add()
        stream.add()
        df = stream.session.sql(PATH)
        if sink == "to_json":  # as the Kafka sink wants it
            df = df.select(F.col("src").cast("string").alias("key"), F.to_json(F.struct("*")).alias("value"))
        stream.run(
            df.writeStream.format("json" if sink == "to_json" else sink).option("path", str(stream.folder / "out"))
        )
        assert oracles.difference(_written(stream, sink), stream.expected()) == ""


def test_the_memory_sink_in_append_and_update_mode(spark: SparkSession, tmp_path: Path) -> None:
    for mode in ("append", "update"):
        stream = Stream(spark, tmp_path / mode)
        stream.add()
        stream.add()
        stream.run(stream.session.sql(PATH).writeStream.format("memory").queryName(f"out_{mode}").outputMode(mode))
        found = oracles.bag(stream.session.table(f"out_{mode}").collect())
        assert oracles.difference(found, stream.expected()) == ""


@pytest.mark.parametrize("trigger", [{"availableNow": True}, {"processingTime": "0 seconds"}, {"once": True}], ids=str)
def test_triggers(stream: Stream, trigger: dict[str, object]) -> None:
    out = str(stream.folder / "out")
    for _ in range(2):
        stream.add()
        stream.add()
        for _ in range(2 if "once" in trigger else 1):  # `once` reads one batch, of one file
            stream.run(stream.session.sql(PATH).writeStream.format("parquet").option("path", out), **trigger)
        assert oracles.difference(_written(stream, "parquet"), stream.expected()) == ""


def test_a_query_stopped_and_started_twenty_times(stream: Stream) -> None:
    out = str(stream.folder / "out")
    for start in range(20):
        stream.add(edges=8)
        query = stream.run(stream.session.sql(PATH).writeStream.format("parquet").option("path", out))
        assert sum(p.numInputRows for p in query.recentProgress) == 8, start
    assert oracles.difference(_written(stream, "parquet"), stream.expected()) == ""


WINDOWED = f"""SELECT window(t, '20 minutes').start AS w, count(*) AS n, sum(last) AS total
               FROM (SELECT a.t, c.dst AS last {PATH[PATH.index("FROM") :]}) GROUP BY window(t, '20 minutes')"""
TIMED = f"SELECT a.src, c.dst AS last, a.t {PATH[PATH.index('FROM') :]}"
DOWNSTREAM: dict[str, Callable[[SparkSession], DataFrame]] = {
    "windows": lambda session: session.sql(WINDOWED),
    "deduplication": lambda session: session.sql(TIMED).dropDuplicates(["src", "last"]).select("src", "last"),
    "deduplication by time": lambda session: session.sql(TIMED).dropDuplicates(["src", "last", "t"]),
    "union": lambda session: session.sql(TIMED).unionByName(session.sql("SELECT src, dst AS last, t FROM e")),
    "pruned time": lambda session: session.sql(PATH),
}


def _timed_run(spark: SparkSession, folder: Path, name: str, late: int, native: bool) -> tuple[Stream, Bag, int]:
    """Four files and a restart, late rows from the second file on: output, and how many
    rows were dropped as late.
    """
    stream = Stream(spark, folder, native=native, watermark="15 minutes")
    if native:  # four stores for each join and partition
        stream.session.conf.set("spark.sql.shuffle.partitions", "1")
    out, dropped = str(stream.folder / "out"), 0
    for stage in range(2):
        for i in range(2):
            stream.add(edges=20, late=late if stage or i == 1 else 0)
        df = DOWNSTREAM[name](stream.session)
        writer = df.writeStream.format("parquet").option("path", out)
        query = (
            writer.option("checkpointLocation", str(stream.folder / "checkpoint")).trigger(availableNow=True).start()
        )
        query.awaitTermination()
        assert (OPERATOR in operators_of(query)) != native
        operators = [o for p in query.recentProgress for o in p.stateOperators]
        dropped += sum(o.numRowsDroppedByWatermark for o in operators if o.operatorName == OPERATOR)
    stream.oracle.read.schema(EDGE).csv(str(stream.folder / "in")).createOrReplaceTempView("e")
    return stream, oracles.bag(stream.session.read.schema(df.schema).parquet(out).collect()), dropped


@pytest.mark.parametrize("late", [0, 6], ids=["in time", "late"])
@pytest.mark.parametrize("name", DOWNSTREAM)
def test_watermarks_and_what_stands_behind_them(spark: SparkSession, tmp_path: Path, name: str, late: int) -> None:
    """Late rows are dropped at their scan only: Spark's chained joins drop some in
    between, too, by FROM order.
    """
    _, theirs, _ = _timed_run(spark, tmp_path / "off", name, late, native=True)
    stream, ours, dropped = _timed_run(spark, tmp_path / "on", name, late, native=False)
    every = oracles.bag(DOWNSTREAM[name](stream.oracle).collect())
    assert theirs
    pruned = name in ("pruned time", "deduplication")  # no operator needs the time
    assert (dropped > 0) == (late > 0 and not pruned)
    if pruned:
        assert oracles.difference(ours, theirs) == ""
        assert oracles.difference(ours, every) == ""
    elif name == "windows":
        counts = [{row[0]: row[1] for row in bag} for bag in (theirs, ours, every)]
        assert counts[0].keys() <= counts[1].keys() <= counts[2].keys()
        assert all(n <= counts[1][w] for w, n in counts[0].items())
        assert all(n <= counts[2][w] for w, n in counts[1].items())
    else:
        assert not theirs - ours
        assert not ours - every
        if late == 0 and name != "deduplication by time":
            assert oracles.difference(ours, every) == ""
