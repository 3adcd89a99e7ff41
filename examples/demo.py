"""The main use, on a stream of graph edges that arrive in files: three-hop paths and stars,
compared with Spark's own joins.

Run by `make demo`. It prints each query's plan before and after, and the progress of every batch,
and leaves a picture of state and time per batch in demo-output/. Every run is checked against
Spark's batch SQL over the same files: the exit code is 0 only if all rows agree.
"""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import statistics
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import joinless
from picture import draw
from power_law import write_edges

OUTPUT = Path(__file__).parent.parent / "demo-output"
LOGGING = Path(__file__).with_name("log4j2.properties").resolve()
EDGES, VERTICES, BATCHES = 40_000, 5_000, 12
#: Spark's own joins are stopped after this many seconds per query; the
#: picture shows their progress.
PATIENCE = 25.0

QUERIES = {
    "three-hop": """
        SELECT a.src, a.dst AS via, b.dst AS next, c.dst AS last
        FROM follows a JOIN follows b ON a.dst = b.src
                       JOIN follows c ON b.dst = c.src
        WHERE c.dst >= {threshold}""",
    "star": """
        SELECT a.src AS center, a.dst AS x, b.dst AS y, c.dst AS z
        FROM likes a JOIN shares b ON a.src = b.src
                     JOIN replies c ON a.src = c.src
        WHERE c.dst >= {threshold}""",
}
TABLES = ("follows", "likes", "shares", "replies")


@dataclass(frozen=True)
class Batch:
    """Time and state of one micro-batch."""

    seconds: float
    state_rows: int
    state_bytes: int


@dataclass(frozen=True)
class Outcome:
    """A run: its batches, and its rows as (how many, sum of their hashes)."""

    batches: list[Batch]
    result: tuple[int, int]
    plan: str


def main() -> int:
    """Runs everything; returns the exit code."""
    started = time.monotonic()
    shutil.rmtree(OUTPUT, ignore_errors=True)
    say(f"{EDGES:,} power-law edges in {BATCHES} files, and {EDGES:,} more over three streams for the star")
    thresholds = write_edges(OUTPUT / "data", EDGES, VERTICES, BATCHES, seed=7)
    spark = start_session()
    failures = 0
    drawn: dict[str, dict[str, list[Batch]]] = {}
    for name, template in QUERIES.items():
        sql = template.format(threshold=thresholds[name])
        say(f"\n== {name} ==\n{sql.strip()}")
        ours = run(spark, name, sql, joinless_enabled=True)
        native = run(spark, name, sql, joinless_enabled=False)
        say(f"\nPlan before (Spark's own joins):\n{native.plan}\n\nPlan after (Joinless):\n{ours.plan}")
        expected = batch_sql(spark, sql)
        say(f"\nrows: Joinless {ours.result[0]:,}, Spark batch SQL {expected[0]:,}")
        if ours.result != expected:
            say(f"FAILED: {name} differs from Spark's batch SQL")
            failures += 1
        if len(native.batches) == BATCHES and native.result != expected:
            say(f"FAILED: Spark's own joins differ on {name}")
            failures += 1
        say(compare(ours, native))
        drawn[name] = {"Joinless": ours.batches, "Spark's own joins": native.batches}
    picture = draw(OUTPUT, drawn)
    spark.stop()
    say(f"\npicture: {picture}")
    say(f"{'FAILED' if failures else 'OK'} after {time.monotonic() - started:.0f} s")
    return 1 if failures else 0


def start_session() -> SparkSession:
    """A local session with Joinless: the one line that differs from any other Spark program."""
    builder = SparkSession.Builder().master("local[2]").appName("joinless demo")
    builder = (
        builder.config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "3g")
    )
    builder = builder.config("spark.sql.shuffle.partitions", "4").config("spark.driver.host", "127.0.0.1")
    builder = builder.config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={LOGGING.as_uri()}")
    return joinless.configure(builder).getOrCreate()


def run(spark: SparkSession, name: str, sql: str, *, joinless_enabled: bool) -> Outcome:
    """Runs a query over all files, one per stream and batch."""
    label = "Joinless" if joinless_enabled else "Spark's own joins"
    session = spark.newSession()
    session.conf.set("spark.joinless.enabled", str(joinless_enabled).lower())
    for table in TABLES:
        reader = session.readStream.schema("src bigint, dst bigint").option("maxFilesPerTrigger", 1)
        reader.csv(str(OUTPUT / "data" / table)).createOrReplaceTempView(table)
    df = session.sql(sql)
    if joinless_enabled:
        say(f"\n{joinless.explain(df)}")
    say(f"\n{label}:")
    # The sink drops all rows; the fingerprint is taken on the way to it.
    writer = df.observe("output", *fingerprint_of(df)).writeStream.format("noop").trigger(availableNow=True)
    checkpoint = OUTPUT / "checkpoints" / f"{name}-{'joinless' if joinless_enabled else 'spark'}"
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    batches = follow(query, deadline=None if joinless_enabled else time.monotonic() + PATIENCE)
    plan = joins_of(query)
    spark.sparkContext.setLogLevel("OFF")  # the stop of a query is no error
    query.stop()
    spark.sparkContext.setLogLevel("ERROR")
    observed = [p.observedMetrics["output"] for p in query.recentProgress if "output" in p.observedMetrics]
    return Outcome(batches, (sum(row[0] for row in observed), sum(int(row[1] or 0) for row in observed)), plan)


def follow(query: StreamingQuery, deadline: float | None) -> list[Batch]:
    """Reports each batch as it ends, until the query does or the deadline passes."""
    batches: list[Batch] = []
    while True:
        active = query.isActive
        for progress in query.recentProgress[len(batches) :]:
            operators = progress.stateOperators
            ours = [o.customMetrics for o in operators if "storedRows" in o.customMetrics]
            rows = sum(m["storedRows"] for m in ours) if ours else sum(o.numRowsTotal for o in operators)
            held = sum(m["arenaBytes"] for m in ours) if ours else sum(o.memoryUsedBytes for o in operators)
            batch = Batch(progress.durationMs["triggerExecution"] / 1000, rows, held)
            batches.append(batch)
            say(f"  batch {progress.batchId:2}  {batch.seconds:6.2f} s  {rows:9,} state rows  {held / 1e6:7.1f} MB")
        if not active:
            return batches
        if deadline and time.monotonic() > deadline:
            say(f"  stopped after {PATIENCE:.0f} s, {len(batches)} of {BATCHES} batches done")
            return batches
        query.awaitTermination(1)


def joins_of(query: StreamingQuery) -> str:
    """The physical plan's lines that join, scan or exchange, shortened."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        query.explain()
    shown = re.compile(r"[ :+|*()\d-]*(Join|StreamingSymmetric|Exchange|FileScan|node|semi-join|projection)")
    lines = [line for line in text.getvalue().splitlines() if shown.match(line)]
    noise = r"#\d+L?|, (condition|state info|ENSURE|REQUIRED).*| Batched:.*"
    return textwrap.dedent("\n".join(re.sub(noise, "", line) for line in lines))


def batch_sql(spark: SparkSession, sql: str) -> tuple[int, int]:
    """The answer of Spark's batch SQL over the same files."""
    session = spark.newSession()
    for table in TABLES:
        session.read.schema("src bigint, dst bigint").csv(str(OUTPUT / "data" / table)).createOrReplaceTempView(table)
    return fingerprint(session.sql(sql))


def fingerprint(df: DataFrame) -> tuple[int, int]:
    """Number of rows and sum of their hashes: equal for equal bags, whatever the order."""
    row = df.agg(*fingerprint_of(df)).first()
    assert row is not None
    return int(row[0]), int(row[1] or 0)


def fingerprint_of(df: DataFrame) -> list[Column]:
    """The aggregates of a fingerprint."""
    return [F.count(F.lit(1)).alias("rows"), F.sum(F.xxhash64(*df.columns).cast("decimal(38,0)")).alias("hashes")]


def compare(ours: Outcome, native: Outcome) -> str:
    """One line that compares both on the batches that both finished, except the first one."""
    done = len(native.batches)
    if done < 2:
        return "Spark's own joins finished no batch after the first."
    mine, theirs = (statistics.median(b.seconds for b in run.batches[1:done]) for run in (ours, native))
    a, b = ours.batches[done - 1], native.batches[done - 1]
    return (
        f"after {done} batches: {a.state_rows:,} state rows against {b.state_rows:,} "
        f"({b.state_rows / a.state_rows:.1f}x); a batch takes {mine:.2f} s against {theirs:.2f} s (medians)"
    )


def say(text: str) -> None:
    """Prints at once."""
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
