"""Cyclic joins over the edges of a graph, which arrive in twenty batches: in Joinless, in Spark
alone, and a query that only reads the edges.

    python benchmarks/cycles.py --graphs FOLDER [--graph epinions] [--shapes triangle,square] [--out docs/benchmarks]

- triangle: a to b, b to c, c to a
- square: four edges in a circle
- diamond: two triangles that share an edge
- clique: four vertices, each with an edge to all later ones
- dumbbell: two triangles, and an edge from one to the other; triangles of distinct smallest vertices

Each system runs the same SQL over the same files, with one partition and RocksDB, in one
session. The sink counts the rows and adds up a number of each. The figures are seconds of the whole
stream, after one unmeasured run over its first batches, the number of results, and bytes of state
per edge. The rows are compared with those of DuckDB. A run of Spark that takes longer than
`--limit` seconds is stopped. The folder then has cycles.json, in which other graphs and shapes stay.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "python" / "src")]

import duckdb  # noqa: E402

import tpch  # noqa: E402
from bench import load  # noqa: E402
from streams import Graph  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCHES = 20
#: FROM and WHERE of each shape, and the vertices that a result row shows.
SHAPES = {
    "triangle": (
        "e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src AND c.dst = a.src",
        ("a.src", "b.src", "c.src"),
    ),
    "square": (
        "e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src JOIN e d ON c.dst = d.src AND d.dst = a.src",
        ("a.src", "b.src", "c.src", "d.src"),
    ),
    "diamond": (
        "e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src AND c.dst = a.src"
        " JOIN e d ON d.src = a.dst JOIN e f ON f.src = d.dst AND f.dst = a.src",
        ("a.src", "b.src", "c.src", "d.dst"),
    ),
    "clique": (
        "e a JOIN e b ON a.src = b.src JOIN e c ON a.src = c.src JOIN e d ON d.src = a.dst AND d.dst = b.dst"
        " JOIN e f ON f.src = a.dst AND f.dst = c.dst JOIN e g ON g.src = b.dst AND g.dst = c.dst",
        ("a.src", "a.dst", "b.dst", "c.dst"),
    ),
    "dumbbell": (
        "e a JOIN e b ON a.dst = b.src AND a.src < b.src JOIN e c ON b.dst = c.src AND c.dst = a.src AND a.src < c.src"
        " JOIN e m ON m.src = a.src JOIN e d ON d.src = m.dst JOIN e f ON d.dst = f.src AND d.src < f.src"
        " JOIN e g ON f.dst = g.src AND g.dst = d.src AND d.src < g.src",
        ("a.src", "b.src", "c.src", "d.src", "f.src", "g.src"),
    ),
}


def sql(shape: str) -> str:
    """The query: the vertices of a result, and a number that all of them decide."""
    joined, vertices = SHAPES[shape]
    columns = ", ".join(f"{v} AS x{i}" for i, v in enumerate(vertices))
    number = " + ".join(f"(({v}) % 1009) * {2 * i + 3}" for i, v in enumerate(vertices))
    return f"SELECT {columns}, {number} AS n FROM {joined}"


def run(spark: SparkSession, files: Path, query: str, system: str, batches: int, limit: float) -> dict[str, Any]:
    """Plays the batches; `stopped` where the limit was reached."""
    spark.conf.set("spark.joinless.enabled", str(system == "joinless").lower())
    live = Path(tempfile.mkdtemp())
    (live / "e").mkdir()
    spark.readStream.schema("src LONG, dst LONG").csv(str(live / "e")).createOrReplaceTempView("e")
    rows, total = 0, 0

    def sink(df: Any, _: int) -> None:
        nonlocal rows, total
        # one action reads all columns
        row = df.selectExpr("COUNT(*)", "SUM(n)", f"MAX(hash({', '.join(df.columns)}))").first()
        rows, total = rows + row[0], total + (row[1] or 0)

    text = "SELECT src, dst, src + dst AS n FROM e" if system == "read" else query
    writer = spark.sql(text).writeStream.foreachBatch(sink)
    running = writer.option("checkpointLocation", str(live / "cp")).start()
    start, done, state = time.perf_counter(), 0, 0
    while done < batches and time.perf_counter() - start < limit:
        (live / "e" / f"{done:05}.csv").hardlink_to(files / f"{done:05}.csv")
        running.processAllAvailable()
        progress = running.lastProgress
        state = max(state, sum(o["memoryUsedBytes"] for o in progress["stateOperators"]) if progress else 0)
        done += 1
    seconds = time.perf_counter() - start
    running.stop()
    found = {"seconds": round(seconds, 2), "rows": rows, "sum": total, "stateBytes": state}
    return found if done == batches else found | {"stopped": done}


def expected(files: Path, shape: str) -> tuple[int, int]:
    """The number of results and the sum of their numbers, by DuckDB."""
    connection = duckdb.connect()
    connection.execute(
        f"CREATE TABLE e AS SELECT * FROM read_csv('{files}/*.csv', header=false, columns={{'src': 'BIGINT', 'dst': 'BIGINT'}})"
    )
    found = connection.execute(f"SELECT COUNT(*), SUM(n) FROM ({sql(shape)})").fetchone()
    assert found
    return int(found[0]), int(found[1] or 0)


def measure(spark: SparkSession, graph: Graph, shape: str, systems: list[str], limit: float) -> dict[str, Any]:
    files = graph.write(Path(tempfile.mkdtemp()), BATCHES, window=False)
    figures: dict[str, Any] = {"edges": len(graph.src)}
    for system in systems:
        run(spark, files, sql(shape), system, 2, limit)
        figures[system] = run(spark, files, sql(shape), system, BATCHES, limit)
        print(shape, system, figures[system], flush=True)
    answer = expected(files, shape)
    for system in systems:
        whole = system != "read" and "stopped" not in figures[system]
        if whole and (figures[system]["rows"], figures[system]["sum"]) != answer:
            sys.exit(f"{system} has {figures[system]}, and DuckDB {answer}")
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--graphs", type=Path, required=True, help="folder of the known graphs' files")
    parser.add_argument("--graph", default="epinions", help="one of them")
    parser.add_argument("--shapes", default="triangle", help=", ".join(SHAPES))
    parser.add_argument("--systems", default="read,joinless,spark")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of a run")
    options = parser.parse_args()
    graph = load(options.graph, options.graphs)
    assert isinstance(graph, Graph)
    spark = tpch.session()
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    systems = options.systems.split(",")
    figures = {
        f"{options.graph}/{shape}": measure(spark, graph, shape, systems, options.limit)
        for shape in options.shapes.split(",")
    }
    if options.out:
        file = options.out / "cycles.json"
        others = json.loads(file.read_text()) if file.exists() else {}
        file.write_text(json.dumps(others | figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
