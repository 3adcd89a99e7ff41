"""A linear regression that is maintained while its tables change: how many pieces are sold, by the
size of the store, price and weather.

Least squares needs only sums over the joined rows: of columns, and of products of two. One query
computes all of them, over sales ⋈ stores ⋈ items ⋈ weather, and `joinless.enumerate_deltas` emits
its one row anew when a batch changes it. The normal equations give the coefficients, in fractions:
nothing is rounded, so deleted rows leave no residue.

Rows are inserted and deleted: wrong bookings are corrected, forecasts are replaced by measurements,
items are removed from the catalogue. After each batch the coefficients are compared with a fit of
the current rows, joined in Python: the exit code is 0 only if they are equal each time.

Run it with .venv/bin/python examples/regression.py; it takes half a minute.
`--picture FILE` draws the coefficients.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import joinless

LOGGING = Path(__file__).with_name("log4j2.properties").resolve()

TABLES = {
    "sales": "store INT, item INT, day INT, pieces INT",
    "stores": "id INT, size INT",
    "items": "id INT, price INT",
    "weather": "day INT, degrees INT",
}

#: With z for the size of a store, p for a price, d for degrees and y for pieces. Products are
#: BIGINT, which they fit.
QUERY = """
    SELECT COUNT(*) AS n, SUM(st.size) AS z, SUM(i.price) AS p, SUM(w.degrees) AS d, SUM(s.pieces) AS y,
           SUM(CAST(st.size AS BIGINT) * st.size) AS zz,
           SUM(CAST(st.size AS BIGINT) * i.price) AS zp,
           SUM(CAST(st.size AS BIGINT) * w.degrees) AS zd,
           SUM(CAST(st.size AS BIGINT) * s.pieces) AS zy,
           SUM(CAST(i.price AS BIGINT) * i.price) AS pp,
           SUM(CAST(i.price AS BIGINT) * w.degrees) AS pd,
           SUM(CAST(i.price AS BIGINT) * s.pieces) AS py,
           SUM(CAST(w.degrees AS BIGINT) * w.degrees) AS dd,
           SUM(CAST(w.degrees AS BIGINT) * s.pieces) AS dy
    FROM sales s JOIN stores st ON s.store = st.id JOIN items i ON s.item = i.id JOIN weather w ON s.day = w.day"""

#: The normal equations by the names of the sums: the factor of each
#: coefficient, and the right side.
EQUATIONS = ("n z p d y", "z zz zp zd zy", "p zp pp pd py", "d zd pd dd dy")

#: The true coefficients of the pieces of a sale, in the order of the equations; chance adds up to
#: NOISE, or subtracts it.
TRUTH = {"base": 30, "per size": 3, "per price": -2, "per degree": 1}
NOISE = 8

Sums = Mapping[str, int]
Fit = list[Fraction]


def main() -> int:
    """Runs all batches; returns the exit code."""
    parser = argparse.ArgumentParser(description="A linear regression kept up to date over a join of four streams.")
    parser.add_argument("--batches", type=int, default=16, help="how many batches of changes (16)")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draws the coefficients of each batch")
    arguments = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        expected = [sums(rows) for rows in write_story(Path(folder), arguments.batches, random.Random(1))]
        emitted = run(Path(folder))
    failures = 0
    now: Sums = {}
    fits: list[Fit] = []
    say(f"\nbatch  rows joined {'the coefficients':^40}  {'by a join in Python':^40}  equal")
    for number, wanted in enumerate(expected):
        now = emitted.get(number, now)  # a batch that changes no sum emits none
        fits.append(fit(now))
        equal = now["n"] == wanted["n"] and fits[-1] == fit(wanted)
        failures += not equal
        say(f"{number:5} {now['n']:12} {text(fits[-1])}  {text(fit(wanted))}  {'yes' if equal else 'NO'}")
    say(f"{'what is true':>18} {text(TRUTH.values())}   ({', '.join(TRUTH)})\n")
    if arguments.picture:
        from picture import draw_coefficients

        draw_coefficients(arguments.picture, TRUTH, [list(map(float, coefficients)) for coefficients in fits])
    say(f"{'FAILED' if failures else 'OK'} after {time.monotonic() - started:.0f} s")
    return 1 if failures else 0


def run(folder: Path) -> dict[int, Sums]:
    """The sums emitted by each batch."""
    spark = start_session()
    for table, columns in TABLES.items():
        changes = spark.readStream.schema(f"{columns}, step INT").option("maxFilesPerTrigger", 1)
        joinless.changelog(changes.csv(str(folder / table)), weight="step").createOrReplaceTempView(table)
    emitted: dict[int, Sums] = {}

    def keep(batch: DataFrame, number: int) -> None:
        """Deletes the old row, inserts the new one."""
        inserted = batch.where("_change_type = 'insert'").drop("_change_type")
        emitted.update((number, row.asDict()) for row in inserted.collect())

    deltas = joinless.enumerate_deltas(spark.sql(QUERY))
    say(f"{QUERY.strip()}\n\n{joinless.explain(deltas)}")
    writer = deltas.writeStream.foreachBatch(keep).option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    spark.stop()
    return emitted


def fit(totals: Sums) -> Fit:
    """The coefficients that solve the normal equations, by elimination;
    ZeroDivisionError where several would.
    """
    rows = [[Fraction(totals[name]) for name in equation.split()] for equation in EQUATIONS]
    for i in range(len(rows)):
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for other in range(len(rows)):
            if other != i:
                rows[other] = [x - rows[other][i] * y for x, y in zip(rows[other], rows[i], strict=True)]
    return [row[-1] for row in rows]


def sums(rows: list[Sums]) -> Sums:
    """The sums of the query over joined rows: `zp` adds up the products of z and
    p, and n is 1 in each row.
    """
    names = set(" ".join(EQUATIONS).split())
    return {name: sum(math.prod(row[column] for column in name) for row in rows) for name in names}


class Shop:
    """The current rows of the four tables, and the changes since they were last written."""

    def __init__(self) -> None:
        self.rows: dict[str, list[tuple[int, ...]]] = {table: [] for table in TABLES}
        self.changes: dict[str, list[tuple[int, ...]]] = {table: [] for table in TABLES}

    def insert(self, table: str, *row: int) -> None:
        """Inserts a row."""
        self.rows[table].append(row)
        self.changes[table].append((*row, 1))

    def delete(self, table: str, *row: int) -> None:
        """Deletes a row."""
        self.rows[table].remove(row)
        self.changes[table].append((*row, -1))

    def write(self, folder: Path, number: int) -> None:
        """Writes the changes as one file per table."""
        for table, changes in self.changes.items():
            (folder / table).mkdir(exist_ok=True)
            file = folder / table / f"{number:03}.csv"
            file.write_text("".join(",".join(map(str, change)) + "\n" for change in changes))
            os.utime(file, (number, number))  # Spark reads files in the order of their times
            changes.clear()

    def join(self) -> list[Sums]:
        """The joined rows."""
        sizes, prices, degrees = (
            {row[0]: row[1] for row in self.rows[table]} for table in ("stores", "items", "weather")
        )
        return [
            {"n": 1, "z": sizes[store], "p": prices[item], "d": degrees[day], "y": pieces}
            for store, item, day, pieces in self.rows["sales"]
            if store in sizes and item in prices and day in degrees
        ]


def write_story(folder: Path, batches: int, rng: random.Random) -> Iterator[list[Sums]]:
    """Writes the story, a file per table and batch; returns the joined rows after each batch."""
    shop = Shop()
    sizes = [rng.randint(1, 12) for _ in range(batches + 4)]
    corrections: list[tuple[str, tuple[int, ...], tuple[int, ...]]] = []
    for number in range(batches):
        for table, wrong, right in corrections:
            shop.delete(table, *wrong)
            shop.insert(table, *right)
        corrections.clear()
        # A store opens. An item is inserted, another one is deleted: its
        # sales are no longer joined.
        for store in [number + 3] if number else range(4):
            shop.insert("stores", store, sizes[store])
        for item in [number + 19] if number else range(20):
            shop.insert("items", item, rng.randint(1, 9))
        if number:
            shop.delete("items", *shop.rows["items"][0])
        degrees = {day: rng.randint(0, 30) for day in range(5 * number, 5 * number + 5)}
        for day, measured in degrees.items():
            forecast = measured + rng.randint(-6, 6)
            shop.insert("weather", day, forecast)
            corrections.append(("weather", (day, forecast), (day, measured)))
        for _ in range(80):
            store = rng.randrange(min(number + 5, len(sizes)))  # the last one opens with the next batch
            item, price = rng.choice(shop.rows["items"])
            day = rng.choice(list(degrees))
            pieces = sold(sizes[store], price, degrees[day], rng)
            booked = 2 * pieces if rng.random() < 0.05 else pieces
            shop.insert("sales", store, item, day, booked)
            if booked != pieces:
                corrections.append(("sales", (store, item, day, booked), (store, item, day, pieces)))
        shop.write(folder, number)
        yield shop.join()


def sold(size: int, price: int, degrees: int, rng: random.Random) -> int:
    """The pieces of a sale."""
    terms = zip(TRUTH.values(), (1, size, price, degrees), strict=True)
    return sum(coefficient * value for coefficient, value in terms) + rng.randint(-NOISE, NOISE)


def start_session() -> SparkSession:
    """A small local session with Joinless."""
    builder = SparkSession.Builder().master("local[2]").appName("regression")
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.host", "127.0.0.1")
    # A program this short ends before Java's optimizing compiler pays off.
    options = f"-Dlog4j2.configurationFile={LOGGING.as_uri()} -XX:TieredStopAtLevel=1"
    builder = builder.config("spark.driver.extraJavaOptions", options)
    return joinless.configure(builder).getOrCreate()


def text(coefficients: Iterable[Fraction | int]) -> str:
    """The values in columns."""
    return " ".join(f"{float(c):9.3f}" for c in coefficients)


def say(line: str) -> None:
    """Prints at once."""
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
