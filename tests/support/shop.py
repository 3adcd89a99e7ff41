"""A shop in Delta tables with change data feed, the streams over their changes, and random commits.

Orders name a customer and an item; customers move, items are renamed, orders are cancelled,
corrected and placed again.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import joinless
from support import oracles

TABLES = {
    "customers": "id int, city string",
    "items": "id int, name string",
    "orders": "id int, customer int, item int, pieces int",
}

#: One row per order: `order_id` is a key.
BY_ORDER = """SELECT o.id AS order_id, c.id AS customer, c.city, i.name, o.pieces
              FROM orders o JOIN customers c ON o.customer = c.id JOIN items i ON o.item = i.id"""

#: The purchases: equal rows occur often.
BY_CITY = """SELECT c.city, i.name
             FROM orders o JOIN customers c ON o.customer = c.id JOIN items i ON o.item = i.id WHERE o.pieces > 1"""


#: Fast for few rows: none of these changes a result.
SMALL = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def dying(apply: Callable[[DataFrame, int], None], spark: SparkSession) -> Callable[[DataFrame, int], None]:
    """The function, with a kill of this process and Spark's after its second batch."""

    def apply_and_die(df: DataFrame, batch_id: int) -> None:
        apply(df, batch_id)
        if batch_id == 1:
            print("applied", flush=True)
            os.kill(spark.sparkContext._gateway.proc.pid, signal.SIGKILL)  # type: ignore[union-attr]
            os._exit(9)

    return apply_and_die


def dying_after_batch_1(spark: SparkSession) -> None:
    """Spark's process ends when the second batch of a query is in its target, and not marked as done."""
    assert spark._jvm is not None
    spark._jvm.io.joinless.spark.LocalFiles.haltBefore("/commits/1$")


class Shop:
    """The tables in a folder, and the targets."""

    def __init__(self, session: SparkSession, folder: Path) -> None:
        self.session, self.folder = session, folder
        for name, value in SMALL.items():
            session.conf.set(name, value)

    def create(self) -> None:
        """Makes the tables, empty, at version 0."""
        for table, columns in TABLES.items():
            self.session.sql(
                f"CREATE TABLE {self.at(table)} ({columns}) USING delta "
                "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
            )

    def at(self, table: str) -> str:
        """A table or target as SQL names it."""
        return f"delta.`{self.folder / table}`"

    # -- what happens ------------------------------------------------------------------------------------------------

    def commit(self, table: str, statement: str) -> None:
        """One commit to a table; `{t}` stands for it."""
        self.session.sql(statement.format(t=self.at(table))).collect()

    def fill(self, customers: int, items: int, orders: int) -> None:
        """The first commit of each table."""
        cities = "element_at(array('Berlin', 'Lima', 'Oslo'), int(id % 3) + 1)"
        self.commit("customers", f"INSERT INTO {{t}} SELECT int(id), {cities} FROM range({customers})")
        self.commit("items", f"INSERT INTO {{t}} SELECT int(id), 'item ' || id % 4 FROM range({items})")
        self.commit(
            "orders",
            "INSERT INTO {t} SELECT int(id), "
            f"int(id % {customers + 1}), int(id % {items + 1}), int(id % 3) FROM range({orders})",
        )

    def random_commit(self, rng: random.Random) -> str:
        """Inserts, updates, deletes or merges in one table; returns what it did."""
        n, m = rng.randrange(1, 6), rng.randrange(6)
        source = (
            f"(SELECT int(o) AS id, int(o % 5) AS customer, int((o + {n}) % 4) AS item, 2 AS pieces "
            f"FROM (SELECT explode(sequence({m}, {m + 40}, {n + 3})) AS o))"
        )
        table, statement = rng.choice(
            [
                ("orders", f"UPDATE {{t}} SET pieces = (pieces + 1) % 4 WHERE id % {n + 1} = {m % (n + 1)}"),
                ("orders", f"UPDATE {{t}} SET customer = (customer + {n}) % 7 WHERE id % 4 = {m % 4}"),
                ("orders", f"DELETE FROM {{t}} WHERE id % {n + 3} = {m % (n + 3)}"),
                (
                    "orders",
                    f"MERGE INTO {{t}} t USING {source} s ON t.id = s.id "
                    "WHEN MATCHED AND s.item = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET * "
                    "WHEN NOT MATCHED THEN INSERT *",
                ),
                ("customers", f"UPDATE {{t}} SET city = concat(city, '!') WHERE id % 3 = {m % 3}"),
                ("customers", f"DELETE FROM {{t}} WHERE id = {m}"),
                ("customers", f"MERGE INTO {{t}} t USING (SELECT {m} AS id, 'Oslo' AS city) s ON t.id = s.id "
                              "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"),
                ("items", f"UPDATE {{t}} SET name = 'item {m}' WHERE id % 2 = {n % 2}"),
                ("items", f"MERGE INTO {{t}} t USING (SELECT {m % 4} AS id, 'new' AS name) s ON t.id = s.id "
                          "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *"),
            ]
        )  # fmt: skip
        self.commit(table, statement)
        return f"{table}: {statement}"

    # -- the result --------------------------------------------------------------------------------------------------

    def now(self, sql: str) -> DataFrame:
        """The result by Spark's batch SQL."""
        for table in TABLES:
            self.session.table(self.at(table)).createOrReplaceTempView(table)
        return self.session.sql(sql)

    def deltas(self, sql: str) -> DataFrame:
        """The result's changes, as a stream."""
        self.streams()
        return joinless.enumerate_deltas(self.session.sql(sql))

    def streams(self) -> None:
        """The tables under their names, as changelogs."""
        for table in TABLES:
            reader = self.session.readStream.format("delta").option("readChangeFeed", "true")
            changes = reader.option("startingVersion", 0).load(str(self.folder / table))
            joinless.changelog(changes).createOrReplaceTempView(table)

    def create_target(self, target: str, sql: str) -> None:
        """An empty table for the result."""
        self.now(sql).limit(0).write.format("delta").save(str(self.folder / target))

    def start(self, target: str, sql: str, key: str | None) -> StreamingQuery:
        """Updates a target by the commits so far."""
        writer = self.deltas(sql).writeStream.foreachBatch(joinless.apply_changes(self.at(target), key))
        checkpoint = str(self.folder / f"{target}-checkpoint")
        return writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()

    def run(self, target: str, sql: str, key: str | None) -> StreamingQuery:
        """As `start`, until done."""
        query = self.start(target, sql, key)
        query.awaitTermination()
        return query

    def check(self, target: str, sql: str, what: str) -> None:
        """Fails if the target differs from the result."""
        actual = oracles.bag(self.session.table(self.at(target)).collect())
        difference = oracles.difference(actual, oracles.bag(self.now(sql).collect()))
        assert not difference, f"{what}\n{difference}"

    def version(self, target: str) -> int:
        """The newest version of a table or target."""
        return int(self.session.sql(f"DESCRIBE HISTORY {self.at(target)} LIMIT 1").collect()[0]["version"])
