"""The complete result of an unfiltered 3-hop join, read from a cold checkpoint.

    python benchmarks/full_enumeration.py --streams STREAMS --graph epinions --work FOLDER

STREAMS is a folder of edge streams (`<graph>/ins/NNN.csv` and `<graph>/meta.json`). The first run
passes all edges through the streaming query (its rows go to the `noop` sink) and leaves the
checkpoint in FOLDER.

Each run then reads it in a new process: one row, ten rows, and the count of all rows whose last
vertex is in the top percent, a condition that is checked while the view trees are rebuilt. Seconds
include planning and the rebuild, not the start of the session.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from graphs import PATH3, edges, session

UNFILTERED = PATH3.split("WHERE")[0]


def write(streams: Path, work: Path) -> None:
    """Runs the streaming query over all edges."""
    spark = session("6g", 2, 4, "rocksdb")
    edges(spark, streams / "ins").createOrReplaceTempView("e")
    started = time.perf_counter()
    query = spark.sql(UNFILTERED).writeStream.format("noop").trigger(availableNow=True)
    running = query.option("checkpointLocation", str(work / "checkpoint")).start()
    running.awaitTermination()
    rows = sum(progress["sink"]["numOutputRows"] for progress in running.recentProgress)
    print(f"checkpoint written in {time.perf_counter() - started:.1f} s, {rows:,} rows in the result")
    (work / "rows.json").write_text(json.dumps({"rows": rows}))
    spark.stop()


def read(streams: Path, work: Path) -> None:
    """Times three reads of the checkpoint."""
    spark = session("6g", 2, 4, "rocksdb")
    spark.range(10).count()
    threshold = json.loads((streams / "meta.json").read_text())["T"]["1"]
    result = spark.read.format("joinless").option("checkpointLocation", str(work / "checkpoint")).load()

    def timed(what: str, count: int, body: object) -> None:
        started = time.perf_counter()
        found = body()  # type: ignore[operator]
        seconds = time.perf_counter() - started
        print(f"{what}: {seconds:.2f} s, {found:,} rows, {found / seconds:,.0f} rows/s")
        assert count < 0 or found == count

    for n in (1, 10, 10):
        timed(f"LIMIT {n}", n, lambda n=n: len(result.limit(n).collect()))
    timed("x4 in the top percent", -1, result.where(f"x4 > {threshold}").count)
    timed("x4 in the top percent, again", -1, result.where(f"x4 > {threshold}").count)
    spark.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=Path, required=True)
    parser.add_argument("--graph", default="g50k")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--step", choices=("write", "read"))
    arguments = parser.parse_args()
    streams = arguments.streams / arguments.graph
    if arguments.step == "write":
        write(streams, arguments.work)
    elif arguments.step == "read":
        read(streams, arguments.work)
    else:
        arguments.work.mkdir(parents=True, exist_ok=True)
        steps = ["read"] if (arguments.work / "rows.json").exists() else ["write", "read"]
        for step in steps:
            subprocess.run([sys.executable, *sys.argv, "--step", step], check=True)


if __name__ == "__main__":
    main()
