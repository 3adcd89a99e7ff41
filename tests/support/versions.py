"""One round of three queries, for a process with a Spark of its own: `python -m support.versions FOLDER ROUND`.

Each round adds rows, updates and deletes, runs all queries to the end, and compares what they have
written with batch SQL. Rounds share a folder, so that a round goes on where the round before stood,
under whatever version of Spark. Prints a line per query, and fails where a result differs.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import DataFrame, SparkSession

import joinless
from support import delta_jars

PATHS = "SELECT a.src, b.src AS via, b.dst, c.dst AS last FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"
PER_CITY = """SELECT c.city, COUNT(*) AS n, SUM(l.amount) AS amount, MAX(l.amount) AS most
              FROM {} c JOIN {} o ON o.customer = c.id JOIN {} l ON l.order = o.id GROUP BY c.city"""
LAST = """SELECT l.order, l.amount, m.id FROM lines l LEFT JOIN LATERAL (
            SELECT o.id FROM orders o WHERE o.customer % 3 = l.order % 3 AND o.id <= l.amount ORDER BY o.id DESC LIMIT 1
          ) m ON true"""
AS_OF = """SELECT l.order, l.amount, o.id FROM lines l LEFT ASOF JOIN orders o MATCH_CONDITION (l.amount >= o.id)
           ON o.customer % 3 = l.order % 3"""
TABLES = {"customers": "id INT, city STRING", "orders": "id INT, customer INT", "lines": "order INT, amount INT"}


def main() -> None:
    folder, number = Path(sys.argv[1]), int(sys.argv[2])
    with_delta = bool(delta_jars.found())
    spark = session(folder, with_delta)
    print(f"Spark {pyspark.__version__}, round {number}:")
    paths(spark, folder / "paths", number)
    changes(spark, folder / "changes", number)
    if with_delta:
        view(spark, folder / "view", number)
    spark.stop()


def session(folder: Path, with_delta: bool) -> SparkSession:
    builder = (
        SparkSession.Builder()
        .master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.driver.extraJavaOptions", f"-XX:TieredStopAtLevel=1 -Dderby.system.home={folder / 'derby'}")
        .config("spark.log.level", "ERROR")
    )
    if with_delta:
        builder = (
            delta_jars.configure(builder)
            .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
            .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
            .config("spark.databricks.delta.snapshotPartitions", "1")
        )
    return joinless.configure(builder).getOrCreate()


def paths(spark: SparkSession, folder: Path, number: int) -> None:
    """A plain streaming join of three streams, appended to a table of files."""
    chance = random.Random(number)
    write(folder / "e" / f"{number}.csv", [f"{chance.randrange(12)},{chance.randrange(12)}" for _ in range(8)])
    spark.readStream.schema("src long, dst long").csv(str(folder / "e")).createOrReplaceTempView("e")
    query = spark.sql(PATHS)
    assert not joinless.why_not(query), joinless.why_not(query)
    writer = query.writeStream.format("parquet").option("checkpointLocation", str(folder / "cp"))
    running = writer.trigger(availableNow=True).start(str(folder / "out"))
    running.awaitTermination()
    spark.read.schema("src long, dst long").csv(str(folder / "e")).createOrReplaceTempView("e")
    compare("three-way join", rows(spark.read.parquet(str(folder / "out"))), rows(spark.sql(PATHS)))


def changes(spark: SparkSession, folder: Path, number: int) -> None:
    """Groups of a three-way join whose inputs insert and delete, as changes for a sink of our own, and read whole;
    as-of joins.
    """
    tables, changed = history(number)
    for name, fields in TABLES.items():
        write(folder / name / f"{number}.csv", [f"{sign},{','.join(map(str, row))}" for sign, row in changed[name]])
        feed = spark.readStream.schema(f"_change_type STRING, {fields}").csv(str(folder / name))
        joinless.changelog(feed).createOrReplaceTempView(name)
        spark.createDataFrame(tables[name], fields).createOrReplaceTempView(f"now_{name}")
    query = spark.sql(PER_CITY.format(*TABLES))
    expected = rows(spark.sql(PER_CITY.format(*(f"now_{name}" for name in TABLES))))
    compare("groups over changes", followed(query, folder), expected)
    compare("the whole result", rows(joinless.enumerate_full(query, checkpoint=str(folder / "cp"))), expected)
    as_of(spark, folder)


def as_of(spark: SparkSession, folder: Path) -> None:
    """As-of joins of the same changes; written as such where SQL has them."""
    expected = rows(spark.sql(LAST.replace("lines l", "now_lines l").replace("orders o", "now_orders o")))
    query = spark.sql(LAST)
    assert "s-of join" in joinless.explain(joinless.enumerate_deltas(query)).text
    compare("an as-of join", followed(query, folder / "last"), expected)
    if pyspark.__version__ >= "4.3":
        spark.conf.set("spark.sql.join.asofJoin.enabled", "true")
        query = spark.sql(AS_OF)
        assert "s-of join" in joinless.explain(joinless.enumerate_deltas(query)).text
        compare("ASOF JOIN", followed(query, folder / "as-of"), expected)


def followed(query: DataFrame, folder: Path) -> Counter[tuple[Any, ...]]:
    """The sum of all changes of a query, which goes on in this folder."""

    def keep(batch: DataFrame, number: int) -> None:
        batch.coalesce(1).write.mode("overwrite").parquet(str(folder / "out" / f"batch={number}"))

    writer = joinless.enumerate_deltas(query).writeStream.foreachBatch(keep)
    running = writer.option("checkpointLocation", str(folder / "cp")).trigger(availableNow=True).start()
    running.awaitTermination()
    found: Counter[tuple[Any, ...]] = Counter()
    for *row, change in query.sparkSession.read.parquet(str(folder / "out")).drop("batch").collect():
        found[tuple(row)] += 1 if change == "insert" else -1
    assert min(found.values(), default=0) >= 0, found
    return +found


def view(spark: SparkSession, folder: Path, number: int) -> None:
    """A Delta table equal to a query over Delta tables that are updated and deleted from."""
    tables, _ = history(number)
    names = {name: f"delta.`{folder / name}`" for name in TABLES}
    for name, fields in TABLES.items():
        spark.createDataFrame(tables[name], fields).createOrReplaceTempView("now")
        if number == 0:
            spark.sql(f"CREATE TABLE {names[name]} ({fields}) USING delta")
        spark.sql(f"DELETE FROM {names[name]}")
        spark.sql(f"INSERT INTO {names[name]} SELECT * FROM now")
    text = PER_CITY.format(*names.values())
    target = f"delta.`{folder / 'per_city'}`"
    joinless.materialize(text, into=target, trigger="availableNow").awaitTermination()
    compare("a Delta table", rows(spark.table(target)), rows(spark.sql(text)))
    assert joinless.verify(target).is_equal, joinless.verify(target)


Rows = dict[str, list[tuple[Any, ...]]]


def history(number: int) -> tuple[Rows, dict[str, list[tuple[str, tuple[Any, ...]]]]]:
    """The rows of all tables after a round, and what the round itself changed."""
    tables: Rows = {name: [] for name in TABLES}
    for one in range(number + 1):
        chance = random.Random(100 + one)
        changed = {}
        for name, table in tables.items():
            chance.shuffle(table)
            gone = [table.pop() for _ in range(len(table) // 3)]
            new = [random_row(name, one * 10 + i, chance) for i in range(10)]
            table.extend(new)
            changed[name] = [("delete", row) for row in gone] + [("insert", row) for row in new]
    return tables, changed


def random_row(table: str, number: int, chance: random.Random) -> tuple[Any, ...]:
    match table:
        case "customers":
            return number, chance.choice(["Lima", "Oslo", "Rome"])
        case "orders":
            return number, chance.randrange(24)
        case _:
            return chance.randrange(24), chance.randrange(100)


def rows(frame: DataFrame) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in frame.collect())


def compare(what: str, found: Counter[tuple[Any, ...]], expected: Counter[tuple[Any, ...]]) -> None:
    assert expected, f"{what}: there is nothing to compare"
    assert found == expected, f"{what}: {found - expected} too many, {expected - found} missing"
    print(f"  {what}: {expected.total()} rows as batch SQL has them")


def write(file: Path, lines: list[str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    hidden = file.with_name(f".{file.name}")
    hidden.write_text("".join(f"{line}\n" for line in lines))
    os.replace(hidden, file)


if __name__ == "__main__":
    main()
