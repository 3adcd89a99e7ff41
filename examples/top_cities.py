"""Two tables of a shop: revenue by city and month, and the ten best of these. Both are
maintained as orders change.

Orders, their lines and customers are Delta tables with change data feed. `joinless.materialize`
keeps each view in a Delta table while orders are placed, corrected and cancelled, and customers
move. After each round both are compared with the same queries as batch SQL: the exit code is 0 only
if they agree each time.

Run it with .venv/bin/python examples/top_cities.py; Delta's jar is fetched the first time. It
takes less than a minute.
"""

from __future__ import annotations

import sys
import tempfile
import time

from pyspark.sql import DataFrame, SparkSession

import joinless
from delta_cdc import create_tables, rows, say, start_session, streams_of

TABLES = {
    "customers": "id INT, city STRING",
    "orders": "id INT, customer INT, day DATE",
    "lines": "of_order INT, pieces INT, price DECIMAL(8,2)",
}

REVENUE = """SELECT c.city, date_format(o.day, 'yyyy-MM') AS month,
                    SUM(l.pieces * l.price) AS revenue, COUNT(DISTINCT o.id) AS orders
             FROM orders o JOIN lines l ON l.of_order = o.id JOIN customers c ON o.customer = c.id
             GROUP BY 1, 2"""

VIEWS = {
    "revenue": REVENUE,
    "top_ten": f"SELECT city, month, revenue FROM ({REVENUE}) ORDER BY revenue DESC, city, month LIMIT 10",
}

CITIES = "element_at(array('Berlin', 'Lima', 'Oslo', 'Quito', 'Rome'), int(id % 5) + 1)"

#: The commits, in words and in SQL.
ROUNDS = {
    "the shop opens": [
        f"INSERT INTO customers SELECT int(id), {CITIES} FROM range(40)",
        "INSERT INTO orders SELECT int(id), int(id * 7 % 41), date_add('2026-01-05', int(id % 120)) FROM range(300)",
        "INSERT INTO lines SELECT int(id % 300), int(id % 4) + 1, decimal(id % 97 + 0.25) FROM range(900)",
    ],
    "customers move, orders are cancelled": [
        "UPDATE customers SET city = 'Oslo' WHERE city = 'Rome' AND id < 20",
        "DELETE FROM orders WHERE id % 50 = 3",
    ],
    "prices are corrected, a late order arrives": [
        "UPDATE lines SET price = price * 2 WHERE of_order % 10 = 1",
        "INSERT INTO orders VALUES (300, 4, DATE'2026-02-01')",
        "INSERT INTO lines VALUES (300, 1000, 99.99)",
    ],
    "the large order is cancelled again": ["DELETE FROM orders WHERE id = 300"],
}


def main() -> int:
    """Runs all rounds; returns the exit code."""
    started = time.monotonic()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        spark = start_session(folder)
        create_tables(spark, TABLES)
        for words, statements in ROUNDS.items():
            for statement in statements:
                spark.sql(statement)
            bring_up_to_date(spark, folder)
            say(f"\n{words}: the best of {spark.table('revenue').count()} months and cities")
            for row in spark.table("top_ten").sort("revenue", ascending=False).limit(3).collect():
                say(f"  {row['city']:6} {row['month']} {row['revenue']:>10}")
            failures += sum(not agrees(spark, view, query) for view, query in VIEWS.items())
        spark.stop()
    say(f"{'FAILED' if failures else 'OK'} after {time.monotonic() - started:.0f} s")
    return 1 if failures else 0


def bring_up_to_date(spark: SparkSession, folder: str) -> None:
    """Runs both views over the commits since the last round. Without the
    trigger they would run for ever.
    """
    streams = streams_of(spark, TABLES)
    views = [
        joinless.materialize(streams.sql(query), into=view, checkpoint=f"{folder}/{view}-cp", trigger="availableNow")
        for view, query in VIEWS.items()
    ]
    for view in views:
        view.awaitTermination()


def agrees(spark: SparkSession, view: str, query: str) -> bool:
    """Whether the table equals the result of batch SQL."""
    table, batch = texts(spark.table(view)), texts(spark.sql(query))
    if table != batch:
        say(f"FAILED: {view} holds {table}; batch SQL gives {batch}")
    return table == batch


def texts(df: DataFrame) -> list[str]:
    """All rows in a fixed order."""
    return [str(row) for row in rows(df)]


if __name__ == "__main__":
    sys.exit(main())
