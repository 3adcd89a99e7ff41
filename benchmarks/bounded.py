"""Joins of three streams with bounds in time, over a stream ten windows long, in Joinless, in
Spark alone and in Flink.

    python benchmarks/bounded.py --out docs/benchmarks [--workload orders] [--rows 5000] [--runs 1] [--graphs FOLDER]

A window is ten minutes. A batch is one minute of each stream, slightly out of
order, and there are a hundred.

- orders: orders, payments up to a window later, and shipments up to a window after these.
- optional: orders, with the payment and the shipment that follow within a window, if any: two LEFT
  JOINs. Not in Flink.
- paths: three edges one after the other, of which any two are at most a window apart. `expire` is
  Joinless again, over the edges of the last window: it also emits which paths are deleted. The
  edges are drawn at random, so no vertex has many.
- trust: the same over the edges of Epinions, a hundredth of them per minute, for a tenth of the
  last vertices. Few vertices have most of the edges. It needs `--graphs`.

`--rows` is the number of rows that each stream has per minute; for trust it follows from the graph.
Joinless and Spark run the same SQL over the same files, by turns, in one session with RocksDB.
Flink runs its own, with state on the heap, in a process of its own. The first of ten windows is
left out of the figures. Spark refuses two event times in one intermediate result, so the queries
hide one of them, which helps Spark and not Joinless.

The rows of all systems are compared; those of `expire`, at the end, with the result of DuckDB over
the edges that have not expired. The folder then has bounded.json, in which the figures of workloads
that were not chosen stay.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "python" / "src")]

import duckdb  # noqa: E402

import tpch  # noqa: E402
from bench import load  # noqa: E402
from streams import Graph  # noqa: E402
from systems import flink  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCHES, WINDOW, DELAY = 100, 10, 10
START = 1_700_000_000
#: The measured part of the stream.
STEADY = slice(BATCHES // WINDOW, None)


@dataclass(frozen=True)
class Workload:
    """A query whose last column is a number that identifies the row.

    Attributes:
        streams: three columns of each stream, one of them the second.
        keys: how many distinct values the join columns have, for each row of a batch.
        sql: of Spark and Joinless; flink: of Flink, if it has one.
        expire: over the rows of the last window alone.
        graph: whose edges are the rows, where they are not drawn.
    """

    name: str
    streams: dict[str, tuple[str, str, str]]
    keys: int
    sql: str
    flink: str | None = None
    expire: str | None = None
    graph: str | None = None


_ORDERS = """
    SELECT x.id, {paid} AS paid, s.ts AS shipped, MOD(x.id, 1009) * 7 + MOD(x.sec, 86400) * 3 + MOD(s.sec, 86400) + s.v AS n
    FROM (SELECT o.id, p.ts AS paid, p.sec FROM orders o
          JOIN payments p ON p.id = o.id AND p.ts BETWEEN o.ts AND o.ts + INTERVAL {ten} MINUTE{s}) x
    JOIN shipments s ON s.id = x.id AND s.ts BETWEEN x.paid AND x.paid + INTERVAL {ten} MINUTE{s}
"""
#: Unmatched rows are emitted later in one system than in the other, so those of the last windows do
#: not count in `n`.
_OPTIONAL = f"""
    SELECT o.id, o.v, p.v AS paid, s.v AS shipped, CASE WHEN o.sec < {START + 60 * (BATCHES - 4 * WINDOW)} THEN
        MOD(o.id, 1009) * 7 + MOD(o.sec, 86400) * 3 + COALESCE(p.v, 1001) * 5 + COALESCE(s.v, 1002) ELSE 0 END AS n
    FROM orders o
    LEFT JOIN (SELECT id, v, ts AS paid FROM payments) p
        ON p.id = o.id AND p.paid BETWEEN o.ts AND o.ts + INTERVAL {WINDOW} MINUTES
    LEFT JOIN (SELECT id, v, ts AS shipped FROM shipments) s
        ON s.id = o.id AND s.shipped BETWEEN o.ts AND o.ts + INTERVAL {WINDOW} MINUTES
"""
_PATHS = """
    SELECT x.a, x.b, x.c, e.dst AS d, MOD(x.a, 1009) * 7 + MOD(x.b, 1013) * 3 + MOD(x.c, 1019) * 11 + MOD(e.dst, 1021) AS n
    FROM (SELECT f.src AS a, f.dst AS b, g.dst AS c, g.ts AS ts, f.sec AS sec FROM edges f
          JOIN edges g ON f.dst = g.src AND g.ts BETWEEN f.ts - INTERVAL {ten} MINUTE{s} AND f.ts + INTERVAL {ten} MINUTE{s}) x
    JOIN edges e ON e.src = x.c AND e.ts BETWEEN x.ts - INTERVAL {ten} MINUTE{s} AND x.ts + INTERVAL {ten} MINUTE{s}
        AND e.sec <= x.sec + 600 AND x.sec <= e.sec + 600{top}
"""
_ALIVE = """
    SELECT f.src, f.dst, g.dst, e.dst FROM edges f JOIN edges g ON f.dst = g.src JOIN edges e ON g.dst = e.src
"""
#: A tenth of the edges of Epinions end above this vertex, as `Graph.from_file` numbers them.
_TOP = 68170
_ENDS = f"e.dst > {_TOP}"
SPARK = {"ten": "10", "s": "S", "paid": "x.paid"}
FLINK = {"ten": "'10'", "s": "", "paid": "CAST(x.paid AS TIMESTAMP_LTZ(3))"}
_EDGES = {"edges": ("src", "dst", "sec")}
_SHOP = dict.fromkeys(("orders", "payments", "shipments"), ("id", "sec", "v"))
WORKLOADS = [
    Workload(
        "orders",
        _SHOP,
        10,
        _ORDERS.format(**SPARK),
        _ORDERS.format(**FLINK),
    ),
    Workload("optional", _SHOP, 10, _OPTIONAL),
    Workload(
        "paths",
        _EDGES,
        5,
        _PATHS.format(**SPARK, top=""),
        _PATHS.format(**FLINK, top=""),
        _ALIVE,
    ),
    Workload(
        "trust",
        _EDGES,
        0,
        _PATHS.format(**SPARK, top=f" AND {_ENDS}"),
        _PATHS.format(**FLINK, top=f" AND {_ENDS}"),
        f"{_ALIVE} WHERE {_ENDS}",
        "epinions",
    ),
]


def _file(folder: Path, stream: str, batch: int) -> Path:
    return folder / stream / f"{batch:03}.csv"


def write(folder: Path, workload: Workload, rows: int) -> None:
    """Writes the files of all batches: `rows` of each stream per batch, on
    keys that occur repeatedly.
    """
    draw = random.Random(1)
    keys = workload.keys * rows
    for stream, columns in workload.streams.items():
        (folder / stream).mkdir()
        for batch in range(BATCHES):

            def value(column: str, batch: int = batch) -> int:
                if column == "sec":
                    return START + 60 * batch + draw.randrange(60)
                return draw.randrange(1000 if column == "v" else keys)

            _file(folder, stream, batch).write_text(
                "\n".join(",".join(str(value(column)) for column in columns) for _ in range(rows))
            )


def write_graph(folder: Path, workload: Workload, graphs: Path) -> int:
    """Writes the files of all batches, each with as many edges of a graph, in its order;
    returns the number of rows.
    """
    graph = load(str(workload.graph), graphs)
    assert isinstance(graph, Graph)
    if graph.threshold(10) != _TOP:
        sys.exit(f"a tenth of the edges end above {graph.threshold(10)}, not {_TOP}")
    draw = random.Random(1)
    batch_of = graph.batch_of(BATCHES)
    (folder / "edges").mkdir()
    for batch in range(BATCHES):
        here = batch_of == batch
        edges = zip(graph.src[here], graph.dst[here], strict=True)
        lines = (f"{src},{dst},{START + 60 * batch + draw.randrange(60)}" for src, dst in edges)
        _file(folder, "edges", batch).write_text("\n".join(lines))
    return len(batch_of) // BATCHES


def run(spark: SparkSession, folder: Path, workload: Workload, system: str) -> dict[str, Any]:
    """Seconds of the stream without its first window, rows and bytes of state, and the number of
    result rows with a sum over them.
    """
    import joinless

    spark.conf.set("spark.joinless.enabled", str(system != "spark").lower())
    live = Path(tempfile.mkdtemp())
    for stream, columns in workload.streams.items():
        (live / stream).mkdir()
        rows = spark.readStream.schema(", ".join(f"{column} LONG" for column in columns)).csv(str(live / stream))
        timed = rows.selectExpr(*columns, "timestamp_seconds(sec) AS ts").withWatermark("ts", f"{DELAY} seconds")
        recent = joinless.expire(timed, "ts", f"{WINDOW} minutes") if system == "expire" else timed
        recent.createOrReplaceTempView(stream)
    emitted: list[tuple[int, int]] = []

    def sink(df: Any, _: int) -> None:
        # One action reads all columns, and nothing else.
        counted = "SUM(_weight), SUM(ABS(_weight))" if system == "expire" else "COUNT(*), SUM(n)"
        row = df.selectExpr(*counted.split(", "), f"MAX(hash({', '.join(df.columns)}))").first()
        emitted.append((row[0] or 0, row[1] or 0))

    query = spark.sql(workload.sql if system != "expire" else str(workload.expire))
    if system == "expire":
        query = joinless.enumerate_deltas(query.toDF("a", "b", "c", "d"), output="weight")
    running = query.writeStream.foreachBatch(sink).option("checkpointLocation", str(live / "cp")).start()
    seconds, state, memory = [], [], []
    for batch in range(BATCHES):
        start = time.perf_counter()
        for stream in workload.streams:
            _file(live, stream, batch).hardlink_to(_file(folder, stream, batch))
        running.processAllAvailable()
        seconds.append(time.perf_counter() - start)
        operators = running.lastProgress["stateOperators"]
        state.append(sum(o["numRowsTotal"] for o in operators))
        memory.append(sum(o["memoryUsedBytes"] for o in operators))
    running.stop()
    figures = {
        "seconds": sum(seconds[STEADY]),
        "stateRows": max(state[STEADY]),
        "stateRowsAtEnd": state[-1],
        "stateBytes": max(memory[STEADY]),
        "rows": sum(n for n, _ in emitted),
        "sum": sum(h for _, h in emitted),
        "batches": len(emitted),
    }
    if system == "expire":
        alive = _alive(folder, workload)
        if figures["rows"] != alive:
            sys.exit(f"{figures['rows']} paths are there at the end, and there should be {alive}")
    return figures


def _alive(folder: Path, workload: Workload) -> int:
    """The results at the end, over the rows whose time has not passed."""
    connection = duckdb.connect()
    newest = 0
    for stream, columns in workload.streams.items():
        names = ", ".join(f"'{column}': 'BIGINT'" for column in columns)
        connection.execute(
            f"CREATE TABLE {stream} AS SELECT * FROM read_csv('{folder / stream}/*.csv', header=false, columns={{{names}}})"
        )
        found = connection.execute(f"SELECT MAX(sec) FROM {stream}").fetchone()
        newest = max(newest, found[0] if found else 0)
        connection.execute(f"DELETE FROM {stream} WHERE sec + {60 * WINDOW} <= {newest - DELAY}")
    counted = connection.execute(f"SELECT COUNT(*) FROM ({workload.expire})").fetchone()
    return int(counted[0]) if counted else 0


def run_flink(folder: Path, workload: Workload) -> dict[str, Any] | None:
    if workload.flink is None:
        return None
    if missing := flink.missing():
        print("flink:", missing)
        return None
    job, report = Path(tempfile.mkdtemp()) / "job.json", Path(tempfile.mkdtemp()) / "report.json"
    tables = {name: {"folder": str(folder / name), "columns": columns} for name, columns in workload.streams.items()}
    job.write_text(
        json.dumps({"tables": tables, "delay": DELAY, "from": BATCHES // WINDOW, "sql": workload.flink}, default=list)
    )
    subprocess.run(flink.program("IntervalJob", "6g", str(job), str(report)), check=True)
    figures: dict[str, Any] = json.loads(report.read_text())
    return figures


def measure(spark: SparkSession, workload: Workload, rows: int, runs: int, graphs: Path | None) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp())
    if workload.graph:
        assert graphs
        rows = write_graph(folder, workload, graphs)
    else:
        write(folder, workload, rows)
    measured: dict[str, list[dict[str, Any]]] = {}
    for _ in range(runs):
        for system in ["joinless", "spark", *(["expire"] if workload.expire else [])]:
            measured.setdefault(system, []).append(run(spark, folder, workload, system))
            print(workload.name, system, measured[system][-1], flush=True)
        if figures := run_flink(folder, workload):
            measured.setdefault("flink", []).append(figures)
            print(workload.name, "flink", figures, flush=True)
    answers = {r["sum"] for system, several in measured.items() if system != "expire" for r in several}
    if len(answers) != 1:
        sys.exit(f"the rows differ: {answers}")
    return {"rowsPerBatch": rows} | {
        system: {
            name: statistics.median(r[name] for r in several)
            for name in several[0]
            if not isinstance(several[0][name], str)
        }
        for system, several in measured.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--workload", choices=[w.name for w in WORKLOADS], help="all of them where left out")
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--graphs", type=Path, help="folder of the known graphs' files")
    options = parser.parse_args()
    chosen = [workload for workload in WORKLOADS if options.workload in (None, workload.name)]
    if any(workload.graph for workload in chosen) and options.graphs is None:
        parser.error("trust reads a graph from a file: say where by --graphs, or choose another --workload")
    spark = tpch.session()
    figures = {
        workload.name: measure(spark, workload, options.rows, options.runs, options.graphs) for workload in chosen
    }
    file = options.out / "bounded.json"
    others = json.loads(file.read_text()) if options.workload and file.exists() else {}
    text = json.dumps(others | {"batches": BATCHES, "runs": options.runs} | figures, indent=1)
    file.write_text(text + "\n")


if __name__ == "__main__":
    main()
