"""Pipelines of Spark: ours, Spark's own joins, and two floors; all read the same files and write to
the same counting sink.

    python benchmarks/systems/spark.py SYSTEM JOB REPORT

runs one job (see jobs.py) in this process. `null` is the sources, their union and one exchange;
`dedup` the union and dropDuplicates, the lightest stateful pipeline of Spark. `null-groups` is the
floor of a grouped query, Spark's own count of the same rows per value of their first column, in
update mode. None of them joins: their counts are of input rows and are not compared with the
answer.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "python" / "src")]

from jobs import MODULUS, Job, Report  # noqa: E402
from queries import Query  # noqa: E402
from systems import System  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CLASSES = ROOT / "spark-plugin" / "bench" / "target" / "scala-2.13" / "classes"
STATE = "org.apache.spark.sql.execution.streaming.state."
STORES = {"rocksdb": STATE + "RocksDBStateStoreProvider", "hdfs": STATE + "HDFSBackedStateStoreProvider"}
SINK = "io.joinless.bench.CheckingSink"
FLOORS = ("null", "dedup", "null-groups")
PARTITIONS = int(os.environ.get("JOINLESS_BENCH_PARTITIONS", "4"))


def session(system: str, job: Job) -> SparkSession:
    """A local session with the system's settings."""
    from pyspark.sql import SparkSession

    import joinless

    settings = {
        "spark.driver.memory": job.memory,
        "spark.driver.extraClassPath": str(CLASSES),
        "spark.executor.extraClassPath": str(CLASSES),
        "spark.executor.memory": job.memory,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": str(PARTITIONS),
        "spark.sql.streaming.stateStore.providerClass": STORES["hdfs" if system.endswith("hdfs") else "rocksdb"],
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.numRecentProgressUpdates": str(job.batches + 10),
    }
    if system == "spark-rocksdb":
        settings["spark.sql.streaming.join.stateFormatVersion"] = "3"
    if system == "joinless-apart":
        settings["spark.joinless.shareSources"] = "false"
    if system.endswith("cluster"):  # executors in processes of their own, one core each
        master = f"local-cluster[{job.cores},1,{int(job.memory.removesuffix('g')) * 1024}]"
    else:
        master = f"local[{1 if system.endswith('1core') else job.cores}]"
    builder = SparkSession.builder.master(master).appName(system)
    for key, value in settings.items():
        builder = builder.config(key, value)
    if system.startswith("joinless"):
        builder = joinless.configure(builder)
    return builder.getOrCreate()


def edges(spark: SparkSession, job: Job, folder: str) -> DataFrame:
    """The stream of one folder, a file per batch."""
    columns = ", ".join(f"{c} BIGINT" for c in job.table_columns(folder))
    schema = ("_change_type STRING, " if job.window else "") + columns
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).csv(folder)


def plan(spark: SparkSession, system: str, job: Job) -> DataFrame:
    """The streaming query."""
    import joinless

    if job.query:
        return grouped_plan(spark, system, job, job.query)
    if system in ("null", "dedup"):
        union = edges(spark, job, job.inputs[0])
        for folder in job.inputs[1:]:
            union = union.unionAll(edges(spark, job, folder))
        return union.repartition("src") if system == "null" else union.dropDuplicates(union.columns)
    for i, folder in enumerate(job.inputs, start=1):
        stream = edges(spark, job, folder)
        (joinless.changelog(stream) if job.window else stream).createOrReplaceTempView(f"e{i}")
    columns = ", ".join(f"{v} AS x{i}" for i, v in enumerate(job.vertices(), start=1))
    joins = job.conditions()
    tables = "e1 r1" + "".join(f" JOIN e{i} r{i} ON {c}" for i, c in enumerate(joins[:-1], start=2))
    joined = spark.sql(f"SELECT {columns} FROM {tables} WHERE {joins[-1]}")
    return joinless.enumerate_deltas(joined) if job.window else joined


def grouped_plan(spark: SparkSession, system: str, job: Job, query: Query) -> DataFrame:
    """The streaming query of a grouped job."""
    import joinless

    if system == "null-groups":
        return groups_without_join(spark, job)
    names = {folder: f"t{i}" for i, folder in enumerate(job.tables)}
    for folder, name in names.items():
        stream = edges(spark, job, folder)
        (joinless.changelog(stream) if job.window else stream).createOrReplaceTempView(name)
    tables = {r.table: names[folder] for folder, r in zip(job.inputs, query.relations, strict=True)}
    groups = spark.sql(query.sql(tables))
    return groups if system == "joinless-plain" else joinless.enumerate_deltas(groups)


def groups_without_join(spark: SparkSession, job: Job) -> DataFrame:
    """The multiplicity of each value of the tables' first columns."""
    from pyspark.sql import functions as f

    sign = f.when(f.col("_change_type") == "delete", -1).otherwise(1) if job.window else f.lit(1)
    parts = [
        edges(spark, job, folder).select(f.col(job.table_columns(folder)[0]).alias("x1"), sign.alias("n"))
        for folder in job.tables
    ]
    union = parts[0]
    for part in parts[1:]:
        union = union.unionAll(part)
    count = f.sum("n") if job.window else f.count("*")
    return union.groupBy("x1").agg(count.alias("x2"))


def first_batches(job: Job, folder: Path) -> Job:
    """The job over the first batches only: Spark's file source reads all files of a folder."""
    inputs = {}
    for i, name in enumerate(dict.fromkeys(job.inputs)):
        inputs[name] = folder / str(i)
        inputs[name].mkdir()
        for path in job.files(0 if name == job.inputs[0] else job.inputs.index(name))[: job.warm_up]:
            shutil.copy2(path, inputs[name])
    return Job(**{**job.__dict__, "inputs": tuple(str(inputs[n]) for n in job.inputs), "batches": job.warm_up})


def run(
    spark: SparkSession, system: str, job: Job, name: str, limit: float
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """One query from its start to the end of its input: figures of the run, and of each batch."""
    checkpoint = tempfile.mkdtemp(prefix="joinless-bench-")
    try:
        df = plan(spark, system, job)
        sink = df.writeStream.format(SINK).option("run", name)
        if system not in FLOORS:
            sink = sink.option("columns", job.columns)
        if system == "joinless-plain" and job.query:
            sink = sink.option("keys", len(job.query.group))
        if system in ("joinless-plain", "null-groups"):
            sink = sink.outputMode("update")
        start = time.monotonic()
        query = sink.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        finished = query.awaitTermination(int(limit))
        seconds = time.monotonic() - start
        if not finished:
            query.stop()
        progress = [json.loads(p.json) for p in query.recentProgress]
        progress = [p for p in progress if p["numInputRows"] > 0]
        counts = list(spark._jvm.io.joinless.bench.CheckingSink.results(name))  # type: ignore[union-attr]
        batches = [
            {
                "seconds": p["durationMs"].get("triggerExecution", 0) / 1000,
                "plus": counts[3 * i],
                "minus": counts[3 * i + 1],
                **({"check": counts[3 * i + 2] % MODULUS} if system not in FLOORS else {}),
                "state_bytes": sum(
                    o["memoryUsedBytes"] + o["customMetrics"].get("arenaBytes", 0) for o in p["stateOperators"]
                ),
                "state_rows": sum(o["numRowsTotal"] for o in p["stateOperators"]),
                "phases_ms": p["durationMs"],
                "metrics": [o["customMetrics"] for o in p["stateOperators"]],
            }
            for i, p in enumerate(progress)
            if 3 * i + 2 < len(counts)
        ]
        last = batches[-1] if batches else {}
        return {
            "finished": finished and len(batches) == job.batches,
            "seconds": seconds,
            "plus": sum(counts[0::3]),
            "minus": sum(counts[1::3]),
            "check": sum(counts[2::3]) % MODULUS,
            "state_rows": last.get("state_rows", 0),
            "state_bytes": max((b["state_bytes"] for b in batches), default=0),
        }, batches
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)


def main(system: str, job: Job, report: Report) -> None:
    """Runs the job and reports it."""
    import pyspark

    spark = session(system, job)
    report.start(
        system, pyspark.__version__, f"{PARTITIONS} partitions, {spark.sparkContext.master}, heap {job.memory}"
    )
    with tempfile.TemporaryDirectory() as folder:
        run(spark, system, first_batches(job, Path(folder)), "warm-up", job.limit)
    for i in range(job.runs):
        figures, batches = run(spark, system, job, f"run-{i}", job.limit)
        for b, batch in enumerate(batches):
            report.batch(i, b, **batch)
        if not figures.pop("finished"):
            break
        report.run(i, **figures)
    spark.stop()


def _missing() -> str | None:
    return None if (CLASSES / "io" / "joinless" / "bench").is_dir() else "not built: scripts/sbt bench/writeClasspath"


def _refuses(name: str, job: Job) -> str | None:
    if job.window and name.startswith("spark"):
        return "Spark's stream-stream joins take no deletes"
    if not job.query:
        return "for grouped queries" if name in ("joinless-plain", "null-groups") else None
    if name.startswith("spark"):
        return "behind Spark's stream-stream joins nothing is counted in update mode"
    if name in ("null", "dedup"):
        return "the floor of a grouped query is null-groups"
    if name == "joinless-plain":
        if job.window:
            return "plain streaming SQL takes no deletes"
        if any(a.kind == "distinct" for a in job.query.aggregates):
            return "Spark has no COUNT(DISTINCT) over streams"
    return None


def _system(name: str, what: str, *, answers: bool = True) -> System:
    return System(
        name=name,
        what=what,
        command=lambda job, file, report: [sys.executable, __file__, name, str(file), str(report)],
        missing=_missing,
        refuses=lambda job: _refuses(name, job),
        answers=answers,
    )


SYSTEMS = [
    _system("joinless", "Joinless in Spark; RocksDB store with changelog checkpointing"),
    _system("joinless-apart", "Joinless with a source for every place, as Spark has them"),
    _system("joinless-1core", "Joinless in Spark with one core"),
    _system("joinless-cluster", "Joinless in Spark with two executors of one core, in processes of their own"),
    _system("joinless-hdfs", "Joinless in Spark; Spark's default (HDFS) store"),
    _system("spark-rocksdb", "Spark's own joins; RocksDB store with changelog checkpointing"),
    _system("spark-hdfs", "Spark's own joins; Spark's default (HDFS) store"),
    _system("null", "the same sources, union, one exchange; no join, no state", answers=False),
    _system("joinless-plain", "Joinless under plain streaming SQL: GROUP BY in update mode; RocksDB store"),
    _system(
        "null-groups",
        "the same sources, union, Spark's own count per value of their first column in update mode; no join",
        answers=False,
    ),
    _system("dedup", "the same sources, union, dropDuplicates: Spark's lightest state", answers=False),
]

if __name__ == "__main__":
    main(sys.argv[1], Job.read(Path(sys.argv[2])), Report(Path(sys.argv[3])))
