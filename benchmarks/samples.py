"""A sample of paths of three hops that is kept up to date, and counts, pages and samples on demand.

    python benchmarks/samples.py --out docs/benchmarks --graphs FOLDER [--part kept] [--rsjoin FILE]

Epinions, in `BATCHES` batches of random order; 3.7 billion paths of three hops in the end.

- kept: seconds of a query that keeps a sample, from the first batch to the end, for each size; and
  of a query that reads and drops the same rows. By turns, each in a session that ran before.
- demand: COUNT(*), a page of 20 rows at offset 3,000,000,000, and a sample of 1,000, of the running
  query, and of its checkpoint in a new process for each.
- engine: the engine alone, each run in a process of its own. `--rsjoin` is the program of the
  paper's authors, built from their sources; then it runs by turns on the same file.

The folder then has samples.json; figures of parts that were not chosen stay.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "python" / "src"), str(ROOT / "tests")]

import tpch  # noqa: E402
from bench import load  # noqa: E402
from streams import Graph  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCHES = 20
SIZES = [1_000, 100_000]
#: Columns: the first and the last vertex of a path, and those between.
HOPS = """SELECT a.src, a.dst AS via, b.dst AS via2, c.dst AS last
          FROM edges a JOIN edges b ON b.src = a.dst JOIN edges c ON c.src = b.dst"""
#: The engine alone: shape, relations, batches, sizes of the sample, seconds after which a run is given up.
CELLS = [
    ("path", 3, 20, [10_000, 100_000, 1_000_000]),
    ("path", 3, 2_000, [10_000, 100_000]),
    ("path", 4, 20, [10_000, 100_000]),
    ("star", 4, 20, [10_000, 100_000, 1_000_000]),
]
LONGEST = 900
OFFSET, PAGE, SAMPLE = 3_000_000_000, 20, 1_000


def edges(graphs: Path) -> list[tuple[int, int]]:
    graph = load("epinions", graphs)
    assert isinstance(graph, Graph)
    return list(zip(graph.src, graph.dst, strict=True))


def session() -> SparkSession:
    from pyspark.sql import SparkSession

    import joinless

    builder = SparkSession.builder.master("local[2]").appName("samples")
    for key, value in (tpch.SETTINGS | {"spark.joinless.minRelations": "2"}).items():
        builder = builder.config(key, value)
    return joinless.configure(builder).getOrCreate()


def write(rows: list[tuple[int, int]], folder: Path) -> None:
    """One file per batch."""
    rows = rows.copy()
    random.Random(3).shuffle(rows)
    folder.mkdir(parents=True)
    for b in range(BATCHES):
        part = rows[len(rows) * b // BATCHES : len(rows) * (b + 1) // BATCHES]
        (folder / f"{b:03}.csv").write_text("\n".join(f"{src},{dst}" for src, dst in part))


def stream(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema("src BIGINT, dst BIGINT").option("maxFilesPerTrigger", 1).csv(str(folder))


def kept(spark: SparkSession, folder: Path, rounds: int) -> dict[str, Any]:
    """Seconds of each query, by turns."""
    import joinless

    def null() -> DataFrame:
        return stream(spark, folder)

    def sample(size: int) -> Callable[[], DataFrame]:
        def query() -> DataFrame:
            stream(spark, folder).createOrReplaceTempView("edges")
            return joinless.sample(spark.sql(HOPS), size=size, seed=1).incrementalEnumerate()

        return query

    queries = {"null": null} | {str(size): sample(size) for size in SIZES}
    seconds: dict[str, list[float]] = {name: [] for name in queries}
    for r in range(rounds + 1):
        for name, query in queries.items():
            checkpoint = tempfile.mkdtemp()
            start = time.perf_counter()
            running = query().writeStream.format("noop").option("checkpointLocation", checkpoint).start()
            running.processAllAvailable()
            elapsed = time.perf_counter() - start
            if name != "null":
                print(name, joinless.progress(running).result_size, f"{elapsed:.2f}", flush=True)
            running.stop()
            shutil.rmtree(checkpoint)
            if r > 0:
                seconds[name].append(elapsed)
    return seconds


def reads(full: Callable[[], DataFrame]) -> dict[str, Callable[[], Any]]:
    """What is read of a complete result."""
    import joinless

    return {
        "count": lambda: full().count(),
        "page": lambda: joinless.page(full(), offset=OFFSET, size=PAGE).collect(),
        "sample": lambda: joinless.sample(full(), size=SAMPLE, seed=1).collect(),
    }


def read_cold(checkpoint: str, what: str) -> None:
    """Prints the seconds of a first and a second read of a checkpoint."""
    spark = session()
    spark.range(10).count()
    action = reads(lambda: spark.read.format("joinless").load(checkpoint))[what]
    print(json.dumps([clocked(action), clocked(action)]))


def demand(spark: SparkSession, folder: Path) -> dict[str, Any]:
    """Seconds of each read: of the running query, then of its checkpoint in a process for each."""
    import joinless

    checkpoint = tempfile.mkdtemp()
    stream(spark, folder).createOrReplaceTempView("edges")
    hops = spark.sql(HOPS)
    query = hops.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
    query.processAllAvailable()

    running = reads(lambda: joinless.enumerate_full(hops, query=query))
    figures = {"running": {what: [clocked(action) for _ in range(6)] for what, action in running.items()}}
    query.stop()
    figures["checkpoint"] = {}
    for what in running:
        program = [sys.executable, __file__, "--cold", checkpoint, what]
        output = subprocess.run(program, stdout=subprocess.PIPE, text=True, check=True, timeout=LONGEST).stdout
        figures["checkpoint"][what] = json.loads(output.strip().splitlines()[-1])
    shutil.rmtree(checkpoint)
    return figures


def clocked(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def engine(rows: list[tuple[int, int]], rsjoin: Path | None, runs: int) -> list[dict[str, Any]]:
    """Seconds with parsing, and megabytes, of each cell."""
    classpath = (ROOT / "spark-plugin/bench/target/classpath.txt").read_text().strip()
    figures = []
    for shape, relations, batches, sizes in CELLS:
        with tempfile.TemporaryDirectory() as folder:
            file, theirs = Path(folder) / "edges.txt", Path(folder) / "theirs.txt"
            lines = [f"{i}|1,{src},{dst}" for i in range(relations) for src, dst in rows]
            random.Random(relations).shuffle(lines)
            file.write_text("\n".join(lines) + "\n")
            theirs.write_text("\n".join([*lines, "-"]) + "\n")
            job = ["java", "-Xmx6g", "-cp", classpath, "io.joinless.bench.SampleJob", shape, str(relations), str(file)]
            name = "line_join" if shape == "path" else "star_join"
            for size in sizes:
                cell: dict[str, Any] = {"shape": shape, "relations": relations, "batches": batches, "size": size}
                ours, others = [], []
                for _ in range(runs):
                    ours.append(run_ours([*job, str(batches), str(size), "3"]))
                    if rsjoin:
                        others.append(run_theirs([str(rsjoin), name, str(relations), str(theirs), str(size)]))
                figures.append(cell | {"ours": ours, "rsjoin": others})
                print(figures[-1], flush=True)
    return figures


def run_ours(command: list[str]) -> dict[str, Any]:
    """The first run of a process and the last one, and what the state holds."""
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LONGEST).stdout
    found = re.findall(r"^([\d.]+) s, (\d+) results, .* (\d+) MB counted, (\d+) MB held", output, re.MULTILINE)
    return {
        "cold": float(found[0][0]),
        "warm": float(found[-1][0]),
        "results": int(found[0][1]),
        "megabytes": int(found[-1][3]),
    }


def run_theirs(command: list[str]) -> dict[str, Any]:
    start = time.perf_counter()
    program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    output = program.stdout.read()
    program.wait(timeout=LONGEST)
    elapsed = time.perf_counter() - start
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return {"seconds": elapsed, "output": output.strip().splitlines()[-3:], "mostMegabytesOfAny": most >> 10}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--graphs", type=Path, help="folder of the known graphs' files")
    parser.add_argument("--part", choices=["kept", "demand", "engine"], help="all of them where left out")
    parser.add_argument("--rsjoin", type=Path, help="the program to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cold", nargs=2, metavar=("CHECKPOINT", "READ"), help="only one read of a checkpoint")
    options = parser.parse_args()
    if options.cold:
        read_cold(*options.cold)
        return
    if options.out is None or options.graphs is None:
        parser.error("--out and --graphs are needed")
    rows = edges(options.graphs)
    file = options.out / "samples.json"
    figures: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    if options.part in (None, "engine"):
        figures["engine"] = engine(rows, options.rsjoin, options.rounds)
    if options.part in (None, "kept", "demand"):
        folder = Path(tempfile.mkdtemp()) / "edges"
        write(rows, folder)
        spark = session()
        if options.part in (None, "kept"):
            figures["kept"] = kept(spark, folder, options.rounds)
        if options.part in (None, "demand"):
            figures["demand"] = demand(spark, folder)
        shutil.rmtree(folder.parent)
    file.write_text(json.dumps(figures, indent=1) + "\n")
    for part in ("kept", "demand"):
        print(part, figures.get(part))


if __name__ == "__main__":
    main()
