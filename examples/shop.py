"""A shop: five Delta tables that change, and four views that stay equal to their queries.

`joinless.materialize` keeps the views while products are sold, corrected and returned, and customers
move. In the fourth round the process that keeps them is killed; the next one goes on. After the
sixth and the eighth round a view gets another query (`joinless.replace`), after the fifth and the
seventh another number of cells. After each round `joinless.verify` compares every view with its
query: the exit code is 0 only if all are equal each time.

Run it with .venv/bin/python examples/shop.py; Delta's jar is fetched the first time. It takes a
few minutes.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import joinless
from delta_cdc import say, start_session

TABLES = {
    "customers": "id INT, city STRING",
    "products": "id INT, name STRING, price DECIMAL(8,2)",
    "orders": "id INT, customer INT, day DATE",
    "lines": "id INT, of_order INT, product INT, pieces INT",
    "returned": "line INT, day DATE",
}

SOLD = "lines l JOIN products p ON l.product = p.id"
KEPT = "NOT EXISTS (SELECT 1 FROM returned r WHERE r.line = l.id)"
REVENUE = """SELECT c.city, date_format(o.day, 'yyyy-MM') AS month, SUM(l.pieces * p.price) AS revenue{more}
             FROM orders o JOIN customers c ON o.customer = c.id JOIN {sold} ON l.of_order = o.id
             WHERE {kept} GROUP BY 1, 2"""

VIEWS = {
    "revenue": REVENUE.format(more="", sold=f"({SOLD})", kept=KEPT),
    "best_sellers": f"""SELECT p.name, SUM(l.pieces) AS pieces FROM {SOLD}
                        GROUP BY p.name ORDER BY pieces DESC, name LIMIT 3""",
    "last_orders": """SELECT customer, id, day FROM
                      (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY day DESC, id DESC) AS n FROM orders)
                      WHERE n = 1""",
    "deliveries": f"""SELECT l.id AS line, c.city, p.name, l.pieces, r.day AS came_back
                      FROM {SOLD} JOIN orders o ON l.of_order = o.id LEFT JOIN customers c ON o.customer = c.id
                      LEFT JOIN returned r ON r.line = l.id""",
}

#: The key of a view whose query implies none.
KEYS = {"deliveries": "line"}

#: What follows a round: the view, and its new query.
NEW_QUERIES = {
    6: ("revenue", REVENUE.format(more=", COUNT(DISTINCT o.id) AS orders", sold=f"({SOLD})", kept=KEPT)),
    8: (
        "best_sellers",
        f"""SELECT p.name, SUM(l.pieces) AS pieces FROM {SOLD} WHERE {KEPT}
            GROUP BY p.name ORDER BY pieces DESC, name LIMIT 5""",
    ),
}

#: What follows a round: the view, and its number of cells.
NEW_CELLS = {5: ("deliveries", 6), 7: ("deliveries", 1)}

#: The round in which the process is killed.
KILLED = 4

CITIES = "element_at(array('Berlin', 'Lima', 'Oslo', 'Quito', 'Rome'), int(id % 5) + 1)"

#: The commits, in words and in SQL.
ROUNDS = {
    "the shop opens": [
        f"INSERT INTO customers SELECT int(id), {CITIES} FROM range(30)",
        "INSERT INTO products SELECT int(id), 'product ' || id, decimal(id % 17 + 0.25) FROM range(20)",
        "INSERT INTO orders SELECT int(id), int(id * 7 % 31), date_add('2026-01-05', int(id % 90)) FROM range(150)",
        "INSERT INTO lines SELECT int(id), int(id % 150), int(id * 3 % 21), int(id % 4) + 1 FROM range(400)",
    ],
    "first returns": ["INSERT INTO returned SELECT int(id * 13), DATE'2026-02-01' FROM range(20)"],
    "customers move": ["UPDATE customers SET city = 'Oslo' WHERE city = 'Rome' AND id < 20"],
    "orders are cancelled": ["DELETE FROM lines WHERE of_order % 50 = 3", "DELETE FROM orders WHERE id % 50 = 3"],
    "prices are corrected": ["UPDATE products SET price = price * 2 WHERE id % 10 = 1"],
    "a large order": [
        "INSERT INTO orders VALUES (500, 4, DATE'2026-03-01')",
        "INSERT INTO lines VALUES (900, 500, 7, 1000), (901, 500, 8, 900)",
    ],
    "half of it comes back": ["INSERT INTO returned VALUES (901, DATE'2026-03-09')"],
    "the catalogue is merged": [
        """MERGE INTO products t
           USING (SELECT * FROM VALUES (1, 'tea', 3.5), (2, NULL, 0), (30, 'salt', 1) AS v(id, name, price)) s
           ON t.id = s.id WHEN MATCHED AND s.name IS NULL THEN DELETE
           WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *""",
    ],
    "a return was a mistake": ["DELETE FROM returned WHERE line = 901", "UPDATE lines SET pieces = 2 WHERE id = 900"],
}


def main() -> int:
    """Runs all rounds, with a kill between; returns the exit code."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        rounds = range(1, len(ROUNDS) + 1)
        in_a_process(folder, rounds[:KILLED], killed=True)
        say("\nthe process was killed; another one goes on")
        failed = in_a_process(folder, rounds[KILLED - 1 :])
    say(f"{'FAILED' if failed else 'OK'} after {time.monotonic() - started:.0f} s")
    return 1 if failed else 0


def in_a_process(folder: str, rounds: Sequence[int], killed: bool = False) -> bool:
    """Plays rounds in a process of its own; returns whether it failed. With `killed` it is killed,
    with its Java, while the views read what the last round has changed.
    """
    ready, last = os.pipe()
    process = os.fork()
    if process == 0:
        os.setsid()
        try:
            failures = Shop(folder).play(rounds, last if killed else None)
        except BaseException as error:  # the parent has another stack
            say(f"FAILED: {error}")
            os._exit(1)
        os._exit(1 if failures else 0)
    os.close(last)
    if killed:
        os.read(ready, 1)
        time.sleep(0.5)
        os.killpg(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    return not killed and status != 0


class Shop:
    """The tables in a folder, and the views of this process."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.spark: SparkSession = start_session(folder)
        for table, columns in TABLES.items():  # or finds it
            self.spark.sql(
                f"CREATE TABLE IF NOT EXISTS {table} ({columns}) USING delta LOCATION '{folder}/tables/{table}'"
            )
        self.views: dict[str, StreamingQuery] = {}

    def at(self, view: str) -> str:
        """The table of a view, as SQL names it."""
        return f"delta.`{self.folder}/views/{view}`"

    def play(self, rounds: Sequence[int], last: int | None) -> int:
        """Plays rounds. The first one of a process that follows another has committed already.

        Args:
            rounds: their numbers.
            last: a pipe to write to when the last round has been committed and not been read.

        Returns:
            The number of failures.
        """
        failures = 0
        for view, query in VIEWS.items():
            self.views[view] = joinless.materialize(query, self.at(view), key=KEYS.get(view), trigger="0 seconds")
        for number in rounds:
            words, statements = list(ROUNDS.items())[number - 1]
            if number == 1 or number > rounds[0]:
                for statement in statements:
                    self.spark.sql(statement)
            if last is not None and number == rounds[-1]:
                os.write(last, b".")
                time.sleep(60)
            for running in self.views.values():
                running.processAllAvailable()
            say(f"\nround {number}, {words}:")
            failures += sum(not self.is_right(view) for view in self.views)
            if number in NEW_QUERIES:
                failures += self.replace(*NEW_QUERIES[number])
            if number in NEW_CELLS:
                failures += self.divide(*NEW_CELLS[number])
        states = {row["state"] for row in joinless.status([self.at(view) for view in VIEWS]).collect()}
        for running in self.views.values():
            running.stop()
        self.spark.stop()
        return failures + (states != {"running"})

    def is_right(self, view: str) -> bool:
        """Whether a view is equal to its query."""
        found = joinless.verify(self.at(view))
        say(f"  {view}: {found.rows} rows" + ("" if found.is_equal else f", FAILED: {found}"))
        return found.is_equal

    def replace(self, view: str, query: str) -> int:
        """Gives a view another query, as the error says with which `materialize` refuses it."""
        self.views[view].stop()
        try:
            joinless.materialize(query, self.at(view))
        except PySparkException as refused:
            if "joinless.replace" not in str(refused):
                say(f"FAILED: no advice: {refused}")
                return 1
        say(f"  {view} gets another query")
        self.views[view] = joinless.replace(self.at(view), query, trigger="0 seconds")
        self.views[view].processAllAvailable()
        return 0 if self.is_right(view) else 1

    def divide(self, view: str, cells: int) -> int:
        """Divides the state of a view into another number of cells."""
        say(f"  {view} gets {cells} cells")
        self.views[view] = joinless.replace(self.at(view), key=KEYS.get(view), trigger="0 seconds", cells=cells)
        self.views[view].processAllAvailable()
        return 0 if self.is_right(view) else 1


if __name__ == "__main__":
    sys.exit(main())
