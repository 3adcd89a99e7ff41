"""A Delta table that stays equal to a join of three others, while rows of those are
updated, deleted and merged.

Orders, customers and items are Delta tables with change data feed. A streaming query joins their
changes, and `joinless.apply_changes` writes the net changes of the result to a fourth table. After
each round the target is compared with the same query as batch SQL: the exit code is 0 only if they
agree each time.

Run it with .venv/bin/python examples/delta_cdc.py; Delta's jar is fetched the first time.
It takes a minute or two.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from delta import configure_spark_with_delta_pip
from pyspark.sql import DataFrame, SparkSession

import joinless

LOGGING = Path(__file__).with_name("log4j2.properties").resolve()

TABLES = {
    "customers": "id INT, city STRING",
    "items": "id INT, name STRING",
    "orders": "id INT, customer INT, item INT, pieces INT",
}

QUERY = """SELECT o.id AS order_id, c.city, i.name, o.pieces
           FROM orders o JOIN customers c ON o.customer = c.id JOIN items i ON o.item = i.id"""

#: Settings that save time for few rows.
SMALL_TABLES = {
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}

#: The commits, in words and in SQL.
ROUNDS = {
    "the shop opens": [
        "INSERT INTO customers VALUES (1, 'Berlin'), (2, 'Lima'), (3, 'Oslo')",
        "INSERT INTO items VALUES (1, 'apple'), (2, 'bread')",
        "INSERT INTO orders VALUES (10, 1, 1, 5), (11, 2, 1, 1), (12, 2, 2, 2), (13, 4, 2, 1)",
    ],
    "a customer moves, a new one has ordered already": [
        "UPDATE customers SET city = 'Quito' WHERE id = 2",
        "INSERT INTO customers VALUES (4, 'Rome')",
    ],
    "an order is cancelled, another one corrected, and cancelled and placed again": [
        "DELETE FROM orders WHERE id = 11",
        "UPDATE orders SET pieces = 4 WHERE id = 10",
        "DELETE FROM orders WHERE id = 12",
        "INSERT INTO orders VALUES (12, 2, 2, 2)",
    ],
    "the catalogue is merged": [
        """MERGE INTO items t
           USING (SELECT * FROM VALUES (1, 'pear'), (2, NULL), (3, 'salt') AS v(id, name)) s ON t.id = s.id
           WHEN MATCHED AND s.name IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *""",
    ],
    "nothing that shows": ["UPDATE orders SET pieces = pieces"],
}


def main() -> int:
    """Runs all rounds; returns the exit code."""
    started = time.monotonic()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        spark = start_session(folder)
        create_tables(spark, TABLES)
        spark.sql("CREATE TABLE result (order_id INT, city STRING, name STRING, pieces INT) USING delta")
        for words, statements in ROUNDS.items():
            for statement in statements:
                spark.sql(statement)
            bring_up_to_date(spark, folder)
            say(f"\n{words}:")
            shown = rows(spark.table("result"))
            for row in shown:
                say(f"  {row}")
            if shown != rows(spark.sql(QUERY)):
                say(f"FAILED: batch SQL gives {rows(spark.sql(QUERY))}")
                failures += 1
        versions = spark.sql("DESCRIBE HISTORY result").where("operation = 'MERGE'").count()
        say(f"\n{versions} commits to the target for {len(ROUNDS)} rounds")
        failures += versions != len(ROUNDS) - 1  # the last one changes nothing
        spark.stop()
    say(f"{'FAILED' if failures else 'OK'} after {time.monotonic() - started:.0f} s")
    return 1 if failures else 0


def bring_up_to_date(spark: SparkSession, folder: str) -> None:
    """Runs the streaming query over the commits since the last round. Without the
    trigger it would run for ever.
    """
    streams = streams_of(spark, TABLES)
    deltas = joinless.enumerate_deltas(streams.sql(QUERY))
    writer = deltas.writeStream.foreachBatch(joinless.apply_changes("result", key="order_id"))
    writer = writer.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True)
    writer.start().awaitTermination()


def create_tables(spark: SparkSession, tables: dict[str, str]) -> None:
    """Creates tables with change data feed, from their names and columns."""
    for table, columns in tables.items():
        spark.sql(f"CREATE TABLE {table} ({columns}) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true)")


def streams_of(spark: SparkSession, tables: Iterable[str]) -> SparkSession:
    """A session where the names of the tables are the streams of their changes."""
    streams = spark.newSession()
    for table in tables:
        changes = streams.readStream.option("readChangeFeed", "true").option("startingVersion", 0).table(table)
        joinless.changelog(changes).createOrReplaceTempView(table)
    return streams


def rows(df: DataFrame) -> list[tuple[object, ...]]:
    """All rows in a fixed order."""
    return sorted(tuple(row) for row in df.collect())


def start_session(folder: str) -> SparkSession:
    """A small local session with Delta and Joinless."""
    builder = SparkSession.Builder().master("local[2]").appName("delta changes")
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.host", "127.0.0.1")
    # A program this short ends before Java's optimizing compiler pays off.
    options = f"-Dlog4j2.configurationFile={LOGGING.as_uri()} -XX:TieredStopAtLevel=1"
    builder = builder.config("spark.driver.extraJavaOptions", options)
    builder = builder.config("spark.sql.warehouse.dir", f"{folder}/tables")
    for name, value in SMALL_TABLES.items():
        builder = builder.config(name, value)
    builder = builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    catalog = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    builder = builder.config("spark.sql.catalog.spark_catalog", catalog)
    return joinless.configure(configure_spark_with_delta_pip(builder)).getOrCreate()


def say(text: str) -> None:
    """Prints at once."""
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
