"""The pipeline that gets killed: a join on a cluster of two executors, speculation on, each batch written as a whole.

    python -m faults.pipeline FOLDER KIND

Reads FOLDER/in to its end, one file per batch, and writes batch n to FOLDER/out/n (a batch that runs again replaces
what it wrote), with one or two actions on it. Figures of each batch go to FOLDER/progress.jsonl.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import joinless

QUERIES = {
    "appended": "SELECT a.k AS x, b.k AS y, c.k AS z, c.v AS w FROM r a JOIN r b ON a.v = b.k JOIN r c ON b.v = c.k",
    "changes": "SELECT a.k AS x, b.k AS y, b.v AS z FROM r a JOIN r b ON a.v = b.k JOIN r c ON a.k = c.v",
}
PAIR = "k BIGINT, v BIGINT"
SCHEMAS = {"appended": PAIR, "changes": f"_change_type STRING, {PAIR}"}


def session() -> SparkSession:
    """Two executors of one core; lost ones come back for ever, tasks are tried often."""
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("faults")
    settings = {
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
    for key, value in settings.items():
        builder = builder.config(key, value)
    return joinless.configure(builder).getOrCreate()


def main(folder: Path, kind: str) -> None:
    """Runs the query until it has read all there is."""
    spark = session()
    stream = spark.readStream.schema(SCHEMAS[kind]).option("maxFilesPerTrigger", 1).csv(str(folder / "in"))
    (joinless.changelog(stream) if kind == "changes" else stream).createOrReplaceTempView("r")
    result = spark.sql(QUERIES[kind])
    if kind == "changes":
        result = joinless.enumerate_deltas(result, output="weight")

    def write(batch: DataFrame, number: int) -> None:
        if number % 3 == 1:
            batch.isEmpty()
        if number % 3 == 2:
            batch.count()
        batch.write.mode("overwrite").parquet(str(folder / "out" / str(number)))

    writer = result.writeStream.foreachBatch(write).option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    told = -1
    with (folder / "progress.jsonl").open("a") as file:
        active = True
        while active:
            active = query.isActive
            for progress in query.recentProgress:
                if progress.batchId > told:
                    told = progress.batchId
                    file.write(progress.json.replace("\n", " ") + "\n")
            file.flush()
            time.sleep(0.1)
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
