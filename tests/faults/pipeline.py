"""The pipeline that is killed: a join on a cluster of two executors, speculation on, each
batch written as a whole.

    python -m faults.pipeline FOLDER KIND [MASTER [SETTING=VALUE ...]]

Reads FOLDER/in to its end, one file per batch, each of which is a minute, and writes batch n to
FOLDER/out/n (a batch that runs again replaces its output), with one or two actions on it. Figures
of each batch are written to FOLDER/progress.jsonl. On a MASTER with several hosts, the first task
of each batch is delayed so that Spark starts a second attempt of it.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import joinless

_OF_CHANGES = "SELECT a.k AS x, b.k AS y, b.v AS z FROM r a JOIN r b ON a.v = b.k JOIN r c ON a.k = c.v"
QUERIES = {
    "appended": "SELECT a.k AS x, b.k AS y, c.k AS z, c.v AS w FROM r a JOIN r b ON a.v = b.k JOIN r c ON b.v = c.k",
    "bounded": """
        SELECT a.k AS x, b.k AS y, c.k AS z, c.v AS w FROM r a
        JOIN r b ON a.v = b.k AND b.ts BETWEEN a.ts - INTERVAL 3 MINUTES AND a.ts + INTERVAL 3 MINUTES
        JOIN r c ON b.v = c.k AND c.ts BETWEEN b.ts AND b.ts + INTERVAL 3 MINUTES""",
    "changes": _OF_CHANGES,
    "expiring": _OF_CHANGES,
    "final": """
        SELECT a.minute AS x, a.k AS y, COUNT(*) AS z, COUNT(b.v) AS w FROM r a
        LEFT JOIN r b ON a.v = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 3 MINUTES GROUP BY a.ts, a.minute, a.k""",
    "optional": """
        SELECT a.minute AS x, a.v AS y, COALESCE(b.v, -1) AS z, COALESCE(c.k, -1) AS w FROM r a
        LEFT JOIN r b ON a.v = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 3 MINUTES
        LEFT JOIN r c ON a.k = c.v AND c.ts BETWEEN a.ts - INTERVAL 2 MINUTES AND a.ts""",
}
#: Pipelines that read and write changes; rows of one of them also expire.
OF_CHANGES = ("changes", "expiring")
LASTS = 5  # minutes
#: Pipelines that emit a row when it is final; `x` is its minute, and `SETTLED` later ones
#: have been read by then.
FINAL = ("final", "optional")
SETTLED = 5
COLUMNS = "k BIGINT, v BIGINT, minute BIGINT"
LOCAL = "local-cluster[2,1,1024]"


def session(master: str, settings: dict[str, str]) -> SparkSession:
    """Two executors of one core; lost ones are always replaced, tasks have many attempts."""
    builder = SparkSession.builder.master(master).appName("faults")
    defaults = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "WARN",
        "spark.task.maxFailures": "20",
        "spark.stage.maxConsecutiveAttempts": "20",
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.speculation": "true",
        "spark.speculation.interval": "20ms",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.minTaskRuntime": "10ms",
        "spark.sql.shuffle.partitions": "4",
    }
    for key, value in (defaults | settings).items():
        builder = builder.config(key, value)
    return joinless.configure(builder).getOrCreate()


def held(result: DataFrame, folder: Path) -> DataFrame:
    """The result, whose first task waits after its join's commit until there is a second attempt,
    which waits as well.

    In odd batches the first attempt wins, in the others the second. Both leave
    a file in FOLDER/attempts.
    """
    attempts = folder / "attempts"
    attempts.mkdir(exist_ok=True)

    def wait(x: int) -> int:
        task = TaskContext.get()
        assert task is not None
        if task.partitionId() == 0:
            batch, attempt = int(task.getLocalProperty("streaming.sql.batchId") or 0), task.attemptNumber()
            until = time.monotonic() + 90
            try:
                (attempts / f"{batch}-{attempt}").touch(exist_ok=False)
            except FileExistsError:  # another row
                return x
            while time.monotonic() < until and (attempt == batch % 2 or not (attempts / f"{batch}-1").exists()):
                time.sleep(0.1)
        return x

    return result.withColumn("x", F.udf(wait, "bigint").asNondeterministic()("x"))


def main(folder: Path, kind: str, master: str = LOCAL, *settings: str) -> None:
    """Runs the query until it has read all input."""
    spark = session(master, dict(setting.split("=") for setting in settings))
    schema = f"_change_type STRING, {COLUMNS}" if kind in OF_CHANGES else COLUMNS
    rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).csv(str(folder / "in"))
    if kind in ("bounded", "expiring", *FINAL):
        rows = rows.withColumn("ts", F.timestamp_seconds(60 * rows.minute)).withWatermark("ts", "1 second")
    if kind in OF_CHANGES:
        rows = joinless.changelog(rows)
    if kind == "expiring":
        rows = joinless.expire(rows, "ts", f"{LASTS} minutes")
    rows.createOrReplaceTempView("r")
    result = spark.sql(QUERIES[kind])
    if kind in OF_CHANGES:
        result = joinless.enumerate_deltas(result, output="weight")
    if kind == "final":
        result = joinless.enumerate_deltas(result, emit="on_close")
    several_hosts = master != LOCAL
    if several_hosts:
        result = held(result, folder)

    def write(batch: DataFrame, number: int) -> None:
        if not several_hosts and number % 3 == 1:
            batch.isEmpty()
        if not several_hosts and number % 3 == 2:
            batch.count()
        batch.write.mode("overwrite").parquet(str(folder / "out" / str(number)))

    writer = result.writeStream.foreachBatch(write).option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    written = -1
    with (folder / "progress.jsonl").open("a") as file:
        active = True
        while active:
            active = query.isActive
            for progress in query.recentProgress:
                if progress.batchId > written:
                    written = progress.batchId
                    file.write(progress.json.replace("\n", " ") + "\n")
            file.flush()
            time.sleep(0.1)
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
