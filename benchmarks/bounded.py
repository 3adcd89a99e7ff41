"""A join of three streams with bounds in time, in Joinless and in Spark alone, over a stream ten windows long.

    python benchmarks/bounded.py --out docs/benchmarks [--rows 20000] [--runs 2]

Orders, payments up to ten minutes later, and shipments up to ten minutes after these. A batch is one minute of each stream,
slightly out of order; a hundred batches are ten windows of ten minutes. Both systems run the same SQL over the same files, by turns,
in one session; the first of ten windows is left out of the figures. Spark refuses two event times in one intermediate result, so the query
hides that of orders, which helps Spark and not Joinless. The rows of both are compared. Left behind in the folder: bounded.json.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "python" / "src")]

import tpch  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAMS = ("orders", "payments", "shipments")
BATCHES, WINDOW = 100, 10
START = 1_700_000_000
SQL = """
    SELECT x.id, x.paid, s.ts AS shipped, s.v AS v
    FROM (SELECT o.id, p.ts AS paid FROM orders o
          JOIN payments p ON p.id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTES) x
    JOIN shipments s ON s.id = x.id AND s.ts BETWEEN x.paid AND x.paid + INTERVAL 10 MINUTES
"""


def write(folder: Path, rows: int) -> None:
    """The files of all batches: `rows` of each stream per batch, on as many ids that come again and again."""
    draw = random.Random(1)
    for stream in STREAMS:
        (folder / stream).mkdir()
        for batch in range(BATCHES):
            lines = (
                f"{draw.randrange(10 * rows)},{START + 60 * batch + draw.randrange(60)},{draw.randrange(1000)}"
                for _ in range(rows)
            )
            (folder / stream / f"{batch:03}.csv").write_text("\n".join(lines))


def run(spark: SparkSession, folder: Path, ours: bool) -> dict[str, Any]:
    """Seconds of each batch, rows and bytes of state behind it, and the number of result rows with a sum over them."""
    spark.conf.set("spark.joinless.enabled", str(ours).lower())
    live = Path(tempfile.mkdtemp())
    for stream in STREAMS:
        (live / stream).mkdir()
        rows = spark.readStream.schema("id LONG, second LONG, v LONG").csv(str(live / stream))
        timed = rows.selectExpr("id", "timestamp_seconds(second) AS ts", "v").withWatermark("ts", "10 seconds")
        timed.createOrReplaceTempView(stream)
    told: list[tuple[int, int]] = []

    def sink(df: Any, _: int) -> None:
        row = df.selectExpr("COUNT(*)", "COALESCE(SUM(hash(id, paid, shipped, v)), 0)").first()
        told.append((row[0], row[1]))

    query = spark.sql(SQL).writeStream.foreachBatch(sink).option("checkpointLocation", str(live / "cp")).start()
    seconds, state, memory = [], [], []
    for batch in range(BATCHES):
        start = time.perf_counter()
        for stream in STREAMS:
            (live / stream / f"{batch:03}.csv").hardlink_to(folder / stream / f"{batch:03}.csv")
        query.processAllAvailable()
        seconds.append(time.perf_counter() - start)
        operators = query.lastProgress["stateOperators"]
        state.append(sum(o["numRowsTotal"] for o in operators))
        memory.append(sum(o["memoryUsedBytes"] for o in operators))
    query.stop()
    steady = slice(BATCHES // WINDOW, None)
    return {
        "seconds": sum(seconds[steady]),
        "stateRows": max(state[steady]),
        "stateRowsAtEnd": state[-1],
        "stateBytes": max(memory[steady]),
        "rows": sum(n for n, _ in told),
        "sum": sum(h for _, h in told),
        "batches": len(told),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--runs", type=int, default=2)
    options = parser.parse_args()
    spark = tpch.session()
    folder = Path(tempfile.mkdtemp())
    write(folder, options.rows)
    runs: dict[str, list[dict[str, Any]]] = {"joinless": [], "spark": []}
    for _ in range(options.runs):
        for system in runs:
            runs[system].append(run(spark, folder, system == "joinless"))
            print(system, runs[system][-1], flush=True)
    answers = {(r["rows"], r["sum"]) for several in runs.values() for r in several}
    if len(answers) != 1:
        sys.exit(f"the rows differ: {answers}")
    figures = {
        system: {name: statistics.median(r[name] for r in several) for name in several[0]}
        for system, several in runs.items()
    }
    (options.out / "bounded.json").write_text(
        json.dumps({"rowsPerBatch": options.rows, "batches": BATCHES, "runs": options.runs} | figures, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
