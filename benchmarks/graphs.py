"""Joins of edge streams, ours beside Spark's own joins and two floors, in one run.

    python benchmarks/graphs.py --streams STREAMS --workloads L3-1 L3-10 EMPTY --graph g50k --runs 3

STREAMS is a folder of edge streams (`<graph>/ins/NNN.csv` and `<graph>/meta.json`). Every system reads the same files, one per
source and batch, and writes to the `noop` sink, whose progress counts the rows; a count that differs from the known answer
(or, where none is known, from the other systems') fails the run. Prints one table of medians and writes raw runs as JSON.

Systems: `joinless`, `spark` (its own stream joins), `null` (same sources, union, one exchange, no state), `dedup`
(union, dropDuplicates: the lightest stateful pipeline Spark has). EMPTY feeds one new row per source and batch that joins nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

SCHEMA = "src BIGINT, dst BIGINT"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"

PATH3 = """SELECT a.src AS x1, b.src AS x2, b.dst AS x3, c.dst AS x4
           FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src WHERE c.dst > {threshold}"""
PATH4 = """SELECT a.src AS x1, b.src AS x2, c.src AS x3, d.src AS x4
           FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src JOIN e d ON c.dst = d.src WHERE d.dst > {threshold}"""
QUERIES = {"L3": PATH3, "L4": PATH4, "EMPTY": PATH3}


def session(memory: str, cores: int, partitions: int, store: str) -> SparkSession:
    import joinless

    builder = SparkSession.builder.master(f"local[{cores}]").config("spark.driver.memory", memory)
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.streaming.stateStore.providerClass": ROCKSDB if store == "rocksdb" else HDFS,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.metricsEnabled": "false",
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": "false",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    return joinless.configure(builder).getOrCreate()


def edges(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).csv(str(folder))


def plan(spark: SparkSession, system: str, workload: str, folder: Path, threshold: int) -> DataFrame:
    if system in ("joinless", "spark"):
        spark.conf.set("spark.joinless.enabled", str(system == "joinless").lower())
        edges(spark, folder).createOrReplaceTempView("e")
        return spark.sql(QUERIES[workload.split("-")[0]].format(threshold=threshold))
    sources = 4 if workload.startswith("L4") else 3
    union = edges(spark, folder)
    for _ in range(sources - 1):
        union = union.unionAll(edges(spark, folder))
    return union.repartition("src") if system == "null" else union.dropDuplicates(["src", "dst"])


def run(spark: SparkSession, df: DataFrame, limit: float) -> dict[str, Any]:
    """One query from its start to the end of its input: seconds, milliseconds per batch, rows written, state."""
    checkpoint = tempfile.mkdtemp(prefix="joinless-bench-")
    try:
        start = time.monotonic()
        query = (
            df.writeStream.format("noop").option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        )
        finished = query.awaitTermination(int(limit))
        seconds = time.monotonic() - start
        if not finished:
            query.stop()
        batches = [json.loads(p.json) for p in query.recentProgress]
        batches = [p for p in batches if p["numInputRows"] > 0]
        operators = batches[-1]["stateOperators"] if batches else []
        return {
            "seconds": seconds,
            "finished": bool(finished),
            "batches": len(batches),
            "batch_ms": [p["durationMs"].get("triggerExecution", 0) for p in batches],
            "phases_ms": [p["durationMs"] for p in batches],
            "rows": sum(max(0, p["sink"]["numOutputRows"]) for p in batches),
            "state_rows": sum(o["numRowsTotal"] for o in operators),
            "state_bytes": sum(o["memoryUsedBytes"] for o in operators),
            "metrics": [o["customMetrics"] for p in batches for o in p["stateOperators"]],
        }
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)


def empty_stream(folder: Path, batches: int) -> Path:
    """One edge per batch, each between two fresh vertices: nothing joins."""
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(batches):
        (folder / f"{i:03d}.csv").write_text(f"{10**9 + 2 * i},{10**9 + 2 * i + 1}\n")
        os.utime(folder / f"{i:03d}.csv", (10**9 + i, 10**9 + i))
    return folder


def rounds(systems: list[str], runs: int) -> Iterator[str]:
    for _ in range(runs):
        yield from systems


def measure(
    spark: SparkSession, workload: str, folder: Path, threshold: int, expected: int | None, args: argparse.Namespace
) -> dict[str, list[dict[str, Any]]]:
    results: dict[str, list[dict[str, Any]]] = {s: [] for s in args.systems}
    for system in rounds(args.systems, args.runs):
        if results[system] and (system in args.once or not results[system][-1]["finished"]):
            continue
        result = run(spark, plan(spark, system, workload, folder, threshold), args.limit)
        results[system].append(result)
        print(
            f"  {workload} {system}: {result['seconds']:.2f} s, {result['rows']} rows, {result['batches']} batches",
            flush=True,
        )
        if system in ("joinless", "spark") and result["finished"]:
            expected = result["rows"] if expected is None else expected
            if result["rows"] != expected:
                raise SystemExit(f"{workload} {system}: {result['rows']} rows, {expected} are right")
    return results


def table(workload: str, results: dict[str, list[dict[str, Any]]]) -> str:
    def median(system: str, of: Callable[[dict[str, Any]], float]) -> float:
        return statistics.median(of(r) for r in results[system])

    floor = median("null", lambda r: r["seconds"]) if results.get("null") else None
    lines = [
        f"{'workload':8} {'system':9} {'median s':>9} {'min':>7} {'max':>7} {'ms/batch':>9} {'/ null':>7} {'rows':>11} {'state rows':>11} {'state MB':>9}"
    ]
    for system, runs in results.items():
        seconds = [r["seconds"] for r in runs]
        # the first batch plans, compiles and opens stores
        per_batch = median(system, lambda r: statistics.median(r["batch_ms"][1:] or [0]))
        ratio = f"{statistics.median(seconds) / floor:7.2f}" if floor else "      -"
        note = "" if all(r["finished"] for r in runs) else f"  not finished: {runs[-1]['batches']} batches"
        lines.append(
            f"{workload:8} {system:9} {statistics.median(seconds):9.2f} {min(seconds):7.2f} {max(seconds):7.2f} {per_batch:9.0f} {ratio}"
            f" {runs[-1]['rows']:11d} {runs[-1]['state_rows']:11d} {runs[-1]['state_bytes'] / 1e6:9.1f}{note}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=Path, required=True)
    parser.add_argument("--graph", default="g50k")
    parser.add_argument(
        "--truth", type=Path, help="JSON of known answers: '<graph>/ins/<workload>' -> plus, '<graph>/T' -> thresholds"
    )
    parser.add_argument("--workloads", nargs="+", default=["L3-1", "EMPTY"])
    parser.add_argument("--systems", nargs="+", default=["joinless", "spark", "null", "dedup"])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--once", nargs="*", default=[], help="systems that run once only, because they are slow")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds per run")
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--memory", default="6g")
    parser.add_argument("--store", choices=["rocksdb", "hdfs"], default="rocksdb")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()

    truth = json.loads(args.truth.read_text()) if args.truth else {}
    meta = json.loads((args.streams / args.graph / "meta.json").read_text())
    thresholds = meta["T"]
    spark = session(args.memory, args.cores, args.partitions, args.store)
    spark.range(1000).selectExpr("sum(id)").collect()
    everything: dict[str, Any] = {"arguments": {k: str(v) for k, v in vars(args).items()}, "results": {}}
    tables = []
    for workload in args.workloads:
        if workload == "EMPTY":
            folder, threshold, expected = empty_stream(Path(tempfile.mkdtemp()) / "empty", 20), 0, 0
        else:
            folder = args.streams / args.graph / "ins"
            threshold = int(thresholds[workload.split("-")[1]])
            answer = truth.get(f"{args.graph}/ins/{workload}")
            expected = int(answer["plus"]) if answer else None
        results = measure(spark, workload, folder, threshold, expected, args)
        everything["results"][workload] = results
        tables.append(table(workload, results))
    print("\n" + "\n\n".join(tables))
    if args.out:
        args.out.write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
