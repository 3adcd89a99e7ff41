"""A session with Hive support, whose catalog outlives its process.

Its analyzer ignores injected hint-resolution rules (SPARK-59081), which the plugin adds itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from conftest import ROOT

PROGRAM = """
import json, os, signal, sys
sys.path.insert(0, sys.argv[1])
import joinless
from conftest import JAVA_OPTIONS
from pyspark.sql import SparkSession
from support import delta_jars
from support.shop import SMALL

folder, step = sys.argv[2:]
os.chdir(folder)
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.host", "127.0.0.1")
builder = builder.config("spark.databricks.delta.snapshotPartitions", "1")
builder = builder.config("spark.driver.extraJavaOptions", JAVA_OPTIONS)
for setting, small in SMALL.items():
    builder = builder.config(setting, small)
builder = builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
builder = builder.config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
builder = builder.enableHiveSupport()
spark = joinless.configure(delta_jars.configure(builder)).getOrCreate()

per_city = '''SELECT c.city, COUNT(o.id) AS orders FROM open c LEFT JOIN orders o ON o.customer = c.id
              GROUP BY c.city'''

def keep(**options):
    query = joinless.materialize(per_city, into="per_city", **options)
    if options:
        query.awaitTermination()

if step == "begin":
    spark.sql("CREATE TABLE customers (id INT, city STRING) USING delta")
    spark.sql("CREATE TABLE orders (id INT, customer INT) USING delta")
    spark.sql("CREATE VIEW open AS SELECT * FROM customers WHERE city <> 'Lima'")
    spark.sql("INSERT INTO customers VALUES (1, 'Oslo'), (2, 'Bern'), (3, 'Bern')")
    spark.sql("INSERT INTO orders VALUES (1, 1), (2, 2), (3, 2)")
    keep(trigger="availableNow")
    keep()
    spark.sql("UPDATE customers SET city = 'Lima' WHERE id = 3")
    spark.sql("UPDATE orders SET customer = 1 WHERE id = 2")
    os.killpg(0, signal.SIGKILL)  # Java, too
keep(trigger="availableNow")
spark.readStream.table("orders").createOrReplaceTempView("added")
marked = {
    "hint": "SELECT /*+ INCREMENTAL */ customer, COUNT(*) AS n FROM added GROUP BY customer",
    "name": "SELECT * FROM incremental_enumerate(TABLE(SELECT customer FROM added), weight)",
}
columns = {what: spark.sql(query).columns for what, query in marked.items()}
spark.conf.set("spark.joinless.enabled", "false")
rows = lambda table: sorted(map(list, spark.table(table).collect()))
print(json.dumps([rows("per_city"), sorted(map(list, spark.sql(per_city).collect())), columns]))
"""


def run(folder: Path, step: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, str(ROOT / "tests"), str(folder), step]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, start_new_session=True)


def test_a_view_goes_on_by_name_after_its_process_was_killed(tmp_path: Path) -> None:
    begun = run(tmp_path, "begin")
    assert begun.returncode == -9, begun.stderr[-2000:]
    ended = run(tmp_path, "end")
    assert ended.returncode == 0, ended.stderr[-2000:]
    kept, expected, columns = json.loads(ended.stdout.strip().splitlines()[-1])
    assert kept == expected == [["Bern", 1], ["Oslo", 2]]
    assert columns == {"hint": ["customer", "n", "_change_type"], "name": ["customer", "_weight"]}
