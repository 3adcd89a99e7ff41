"""Rows of a key of a join that is too big to list: look-ups beside a running query, and a Delta table
of the same result.

    python benchmarks/lookups.py --out docs/benchmarks [--workload shop] [--scale 1] [--graphs FOLDER]

- shop: customers, orders and their lines; by customer, by order, and by item, which joins nothing.
- hops: two edges one after the other, of Epinions; by the vertex between them, and by the first,
  which joins nothing. It needs `--graphs`.

Nine tenths of the rows are there before anything is measured. The others come in `BATCHES` batches,
without a pause between them, three times: alone, with look-ups one after the other from one thread,
and with reads of the Delta table in their place. Each look-up asks anew for the last committed batch
and for one key drawn at random. By turns with them, Spark collects one row of no table: nothing in
Spark is faster. Then the same is measured while the query waits for data, and with
its checkpoint alone. The table is written once, by Spark, sorted by nothing, as a query would
append it; its bytes are those of its files, and it is not kept up to date. The rows of the look-ups at
rest are compared with the table's, row by row.

The folder then has lookups.json; figures of workloads that were not chosen stay.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "python" / "src"), str(ROOT / "tests")]

import tpch  # noqa: E402
from bench import load  # noqa: E402
from streams import Graph  # noqa: E402
from support import delta_jars  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

BATCHES, PAUSED, WARM = 40, 50, 10
DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
#: The rows of a table: what is there at first, and what each batch brings.
Rows = tuple[list[str], list[list[str]]]


@dataclass(frozen=True)
class Workload:
    """A query, its tables, and the columns by which rows are looked up.

    Attributes:
        tables: the columns of each.
        keys: for each column, how many values it has, from 0 on; those of a graph are drawn from
            its edges.
    """

    name: str
    tables: dict[str, str]
    sql: str
    keys: dict[str, int]


CUSTOMERS, ORDERS, LINES, ITEMS = 50_000, 400_000, 1_200_000, 20_000
SHOP = Workload(
    "shop",
    {
        "customers": "customer BIGINT, city BIGINT",
        "orders": "id BIGINT, customer BIGINT, day BIGINT",
        "lines": "order_id BIGINT, item BIGINT, amount BIGINT",
    },
    """SELECT c.customer, c.city, o.id, o.day, l.item, l.amount
       FROM orders o JOIN customers c ON c.customer = o.customer JOIN lines l ON l.order_id = o.id""",
    {"customer": CUSTOMERS, "id": ORDERS, "item": ITEMS},
)
HOPS = Workload(
    "hops",
    {"edges": "src BIGINT, dst BIGINT"},
    "SELECT a.src, a.dst AS via, b.dst AS last FROM edges a JOIN edges b ON b.src = a.dst",
    {"via": 0, "src": 0},
)
WORKLOADS = [SHOP, HOPS]


def shop_rows(scale: float) -> dict[str, Rows]:
    draw = random.Random(1)
    customers, orders, lines, items = (int(n * scale) for n in (CUSTOMERS, ORDERS, LINES, ITEMS))
    of_orders = [f"{i},{draw.randrange(customers)},{i % 365}" for i in range(orders)]
    of_lines = [f"{i * orders // lines},{draw.randrange(items)},{draw.randrange(100)}" for i in range(lines)]
    return {
        "customers": ([f"{i},{i % 100}" for i in range(customers)], [[] for _ in range(BATCHES)]),
        "orders": split(of_orders),
        "lines": split(of_lines),
    }


def hop_rows(graphs: Path) -> dict[str, Rows]:
    graph = load("epinions", graphs)
    assert isinstance(graph, Graph)
    return {"edges": split([f"{src},{dst}" for src, dst in zip(graph.src, graph.dst, strict=True)])}


def split(rows: list[str]) -> Rows:
    """Nine tenths, and the others in equal parts."""
    first, part = len(rows) * 9 // 10, len(rows) // 10 // BATCHES
    return rows[:first], [rows[first + i * part : first + (i + 1) * part] for i in range(BATCHES)]


def session() -> SparkSession:
    from pyspark.sql import SparkSession

    import joinless

    builder = SparkSession.builder.master("local[2]").appName("lookups")
    for key, value in (tpch.SETTINGS | DELTA | {"spark.joinless.minRelations": "2"}).items():
        builder = builder.config(key, value)
    return joinless.configure(delta_jars.configure(builder)).getOrCreate()


class Stream:
    """A running query that has read the rows that are there at first."""

    def __init__(self, spark: SparkSession, workload: Workload, rows: dict[str, Rows]) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.workload, self.rows, self.spark = workload, rows, spark
        for table, columns in workload.tables.items():
            (self.folder / table).mkdir()
            stream = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1).csv(str(self.folder / table))
            stream.createOrReplaceTempView(table)
        self.query_frame = spark.sql(workload.sql)
        self.checkpoint = self.folder / "cp"
        writer = self.query_frame.writeStream.format("noop").option("checkpointLocation", str(self.checkpoint))
        self.query: StreamingQuery = writer.start()
        self.write(0, {table: before for table, (before, _) in rows.items()})
        self.query.processAllAvailable()

    def write(self, number: int, parts: dict[str, list[str]]) -> None:
        """The files of a batch."""
        for table, lines in parts.items():
            if lines:
                (self.folder / f"{table}.tmp").write_text("\n".join(lines))
                (self.folder / f"{table}.tmp").rename(self.folder / table / f"{number:03}.csv")

    def play(self) -> float:
        """Rows per second of the other batches."""
        count = sum(len(part) for _, parts in self.rows.values() for part in parts)
        start = time.perf_counter()
        for i in range(BATCHES):
            self.write(i + 1, {table: parts[i] for table, (_, parts) in self.rows.items()})
        self.query.processAllAvailable()
        return count / (time.perf_counter() - start)

    def close(self) -> None:
        """Ends the query and deletes its files."""
        self.query.stop()
        shutil.rmtree(self.folder)


def beside(stream: Stream, reads: list[tuple[str, Callable[[], int]]]) -> dict[str, Any]:
    """Plays a stream while one thread reads, by turns; the rate and the seconds of each read."""
    seconds: dict[str, list[float]] = {name: [] for name, _ in reads}
    stop = threading.Event()
    failed: list[BaseException] = []

    def ask() -> None:
        try:
            while not stop.is_set():
                for name, read in reads:
                    start = time.perf_counter()
                    read()
                    seconds[name].append(time.perf_counter() - start)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=ask)
    if reads:
        for _, read in WARM * reads:
            read()
        thread.start()
    rate = stream.play()
    stop.set()
    if reads:
        thread.join()
    if failed:
        raise failed[0]
    return {"rowsPerSecond": rate} | {name: latency(several) for name, several in seconds.items()}


def repeated(read: Callable[[], int], times: int) -> dict[str, Any]:
    read()
    seconds = []
    rows = 0
    for _ in range(times):
        start = time.perf_counter()
        rows += read()
        seconds.append(time.perf_counter() - start)
    return latency(seconds) | {"rows": rows / times}


def latency(seconds: list[float]) -> dict[str, Any]:
    """Median and 99th percentile, in milliseconds."""
    ordered = sorted(seconds)
    return {
        "reads": len(seconds),
        "median": 1000 * statistics.median(ordered),
        "p99": 1000 * ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))],
    }


def measure(spark: SparkSession, workload: Workload, rows: dict[str, Rows], scale: float) -> dict[str, Any]:
    import joinless

    draw = random.Random(2)
    edges = rows["edges"][0] if "edges" in rows else []

    def key(column: str) -> int:
        if edges:
            return int(draw.choice(edges).split(",")[column == "via"])
        return draw.randrange(int(workload.keys[column] * scale))

    stream = Stream(spark, workload, rows)
    table = stream.folder / "table"

    def result() -> DataFrame:
        return joinless.enumerate_full(stream.query_frame, query=stream.query)

    def look_up(column: str) -> Callable[[], int]:
        return lambda: len(joinless.lookup(result(), {column: key(column)}).collect())

    def one_row() -> int:
        return len(spark.range(0, 1, 1, 1).selectExpr("id + 1").collect())

    def read_table(column: str) -> Callable[[], int]:
        return lambda: len(spark.read.format("delta").load(str(table)).where(f"{column} = {key(column)}").collect())

    figures: dict[str, Any] = {"alone": beside(stream, [])}
    stream.query.stop()
    stream = Stream(spark, workload, rows)
    figures["lookups"] = beside(stream, [("nothing", one_row), *((c, look_up(c)) for c in workload.keys)])
    print(json.dumps(figures), flush=True)
    figures["lookupsAtRest"] = {c: repeated(look_up(c), PAUSED) for c in workload.keys}
    figures["lookupsAtRest"]["nothing"] = repeated(one_row, PAUSED)
    print(json.dumps(figures["lookupsAtRest"]), flush=True)

    full = result()
    table = stream.folder / "table"
    full.write.format("delta").save(str(table))
    written = spark.read.format("delta").load(str(table))
    for column in workload.keys:
        for _ in range(3):
            value = key(column)
            found, expected = (Counter(map(tuple, r.where(f"{column} = {value}").collect())) for r in (full, written))
            if found != expected:
                sys.exit(f"{workload.name}, {column} = {value}: {len(found)} rows, and {len(expected)} in the table")
    figures["rows"] = written.count()
    figures["tableBytes"] = sum(file.stat().st_size for file in table.rglob("*.parquet"))
    figures["stateBytes"] = sum(o["memoryUsedBytes"] for o in stream.query.lastProgress["stateOperators"])
    figures["storeBytes"] = sum(f.stat().st_size for f in (stream.checkpoint / "state").rglob("*") if f.is_file())
    figures["tableAtRest"] = {c: repeated(read_table(c), PAUSED) for c in workload.keys}
    stream.query.stop()
    path = str(stream.checkpoint)
    figures["lookupsInCheckpoint"] = {
        c: repeated(
            lambda c=c: len(joinless.lookup(spark.read.format("joinless").load(path), {c: key(c)}).collect()), 10
        )
        for c in workload.keys
    }
    stream = Stream(spark, workload, rows)
    figures["table"] = beside(stream, [(c, read_table(c)) for c in workload.keys])
    stream.close()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--workload", choices=[w.name for w in WORKLOADS], help="all of them where left out")
    parser.add_argument("--scale", type=float, default=1.0, help="of shop, a part of its rows (1)")
    parser.add_argument("--graphs", type=Path, help="folder of the known graphs' files")
    options = parser.parse_args()
    chosen = [workload for workload in WORKLOADS if options.workload in (None, workload.name)]
    if HOPS in chosen and options.graphs is None:
        parser.error("hops reads a graph from a file: say where by --graphs, or choose another --workload")
    spark = session()
    figures = {
        w.name: measure(spark, w, shop_rows(options.scale) if w is SHOP else hop_rows(options.graphs), options.scale)
        for w in chosen
    }
    file = options.out / "lookups.json"
    others = json.loads(file.read_text()) if options.workload and file.exists() else {}
    file.write_text(json.dumps(others | figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
