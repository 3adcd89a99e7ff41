"""Ten million groups in a process with a heap of 1 GB: RocksDB holds them, and
every one of them is right.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

BATCHES, GROUPS = 20, 500_000

PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
import joinless

folder = sys.argv[1]
builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "1g").config("spark.log.level", "ERROR")
builder = builder.config("spark.sql.shuffle.partitions", "4").config("spark.ui.enabled", "false")
builder = builder.config("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true").config(
    "spark.sql.streaming.stateStore.providerClass",
    "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
)
spark = joinless.configure(builder).getOrCreate()
emitted = []


def take(batch, _):
    (row,) = batch.selectExpr("sum(_weight)", "sum(_weight * n)", "sum(_weight * s)", "sum(_weight * n * k)").collect()
    emitted.append(list(row))


rows = spark.readStream.schema("k BIGINT, v DOUBLE").option("maxFilesPerTrigger", 1).parquet(folder + "/rows")
groups = rows.groupBy("k").agg(F.count("*").alias("n"), F.sum("v").alias("s"))
writer = groups.incrementalEnumerate(output="weight").writeStream.foreachBatch(take).trigger(availableNow=True)
query = writer.option("checkpointLocation", folder + "/checkpoint").start()
query.awaitTermination()
seconds = [progress.batchDuration / 1000 for progress in query.recentProgress]
full = groups.incrementalEnumerate("full", checkpoint=folder + "/checkpoint")
complete = full.selectExpr("count(*)", "sum(n)", "sum(s)", "sum(n * k)", "count(DISTINCT k)").collect()[0]
heap = spark.sparkContext._jvm.java.lang.Runtime.getRuntime().maxMemory()
print(json.dumps({"emitted": emitted, "complete": list(complete), "heap": heap, "seconds": seconds}))
"""


@pytest.mark.long
def test_groups_outgrow_the_heap(tmp_path: Path) -> None:
    connection = duckdb.connect()
    (tmp_path / "rows").mkdir()
    expected = []
    connection.execute("CREATE TABLE rows (k BIGINT, v DOUBLE)")
    for batch in range(BATCHES):
        first = batch * GROUPS
        new = f"SELECT i AS k, i % 1000 / 4 AS v FROM range({first}, {first + GROUPS}) r(i)"
        some = f"range({first}, {first + GROUPS // 10}) r(i)"
        known = f"SELECT (hash(i) % {max(first, 1)})::BIGINT, i % 7 / 8 FROM {some}"
        connection.execute(f"CREATE OR REPLACE TABLE arriving AS {new} UNION ALL {known}")
        connection.execute(f"COPY arriving TO '{tmp_path}/rows/{batch:03}.parquet' (FORMAT parquet)")
        connection.execute("INSERT INTO rows FROM arriving")
        groups = "SELECT k, count(*) AS n, sum(v) AS s FROM rows GROUP BY k"
        (row,) = connection.execute(f"SELECT count(*), sum(n), sum(s), sum(n * k) FROM ({groups})").fetchall()
        expected.append([float(value) for value in row])
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, timeout=3000, check=False
    )
    assert run.returncode == 0, run.stderr[-3000:]
    answer = json.loads(run.stdout.splitlines()[-1])
    sums = [0.0] * 4
    for batch, emitted in enumerate(answer["emitted"]):
        sums = [so_far + change for so_far, change in zip(sums, emitted, strict=True)]
        assert sums == expected[batch], f"batch {batch}"
    assert len(answer["emitted"]) == BATCHES
    assert [float(value) for value in answer["complete"]] == [*expected[-1], float(BATCHES * GROUPS)]
    assert answer["heap"] <= 1 << 30
    print(f"seconds of batches: {answer['seconds']}")
