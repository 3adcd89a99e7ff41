"""Two rates inside Spark that the main table does not have, for one job each.

    python benchmarks/floors.py constant --rows 200000000        # the most rows per second a plan passes on to the sink
    python benchmarks/floors.py restart JOB                      # view trees rebuilt from the log by a restarted query

`constant` writes one and the same row of `--columns` BIGINTs from two partitions to the counting
sink. `restart` runs JOB (see jobs.py) without its last batch, starts the query again with that
batch, and prints the rebuilds of its first batch. Both print JSON.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from jobs import Job
from systems import spark as pipelines


def constant(rows: int, columns: int, runs: int) -> dict[str, Any]:
    """Rows per second of a source that costs nothing, in each run."""
    job = Job("constant", "path", (), columns, 0, window=False, batches=1)
    spark = pipelines.session("null", job)
    rates = []
    for i in range(runs + 1):  # the first only warms up
        source = spark.read.format("io.joinless.bench.ConstantRows").option("rows", rows).option("columns", columns)
        sink = (
            source.load().write.format(pipelines.SINK).option("run", str(i)).option("columns", columns).mode("append")
        )
        start = time.monotonic()
        sink.save()
        rates.append(rows / (time.monotonic() - start))
        written = list(spark._jvm.io.joinless.bench.CheckingSink.results(str(i)))  # type: ignore[union-attr]
        if written[0] != rows:
            raise SystemExit(f"{written[0]} rows arrived, {rows} were sent")
    return {"rows": rows, "rows_per_second": rates[1:]}


def restart(job: Job) -> dict[str, Any]:
    """The rebuilds of the first batch of a restarted query."""
    spark = pipelines.session("joinless", job)
    with tempfile.TemporaryDirectory(prefix="joinless-bench-") as folder:
        inputs = {name: Path(folder) / str(i) for i, name in enumerate(dict.fromkeys(job.inputs))}
        moved = dataclasses.replace(job, inputs=tuple(str(inputs[name]) for name in job.inputs))

        def arrive(first: int, last: int) -> None:
            for i, name in enumerate(job.inputs):
                inputs[name].mkdir(exist_ok=True)
                for path in job.files(i)[first:last]:
                    shutil.copy2(path, inputs[name])

        def run() -> list[dict[str, Any]]:
            sink = pipelines.plan(spark, "joinless", moved).writeStream.format(pipelines.SINK).option("run", "restart")
            sink = sink.option("columns", job.columns).option("checkpointLocation", folder + "/checkpoint")
            query = sink.trigger(availableNow=True).start()
            query.awaitTermination()
            return [json.loads(p.json) for p in query.recentProgress if p.numInputRows > 0]

        arrive(0, job.batches - 1)
        before = run()[-1]["stateOperators"][0]["customMetrics"]
        arrive(job.batches - 1, job.batches)
        first = run()[0]
        figures = first["stateOperators"][0]["customMetrics"]
        return {
            "workload": job.workload,
            "rows": before["logRows"],
            "cells_rebuilt": figures["rebuilds"],
            "task_ms": figures["rebuildMs"],
            "rows_per_second_and_cell": before["logRows"] / max(1, figures["rebuildMs"]) * 1000,
            "first_batch_ms": first["durationMs"]["triggerExecution"],
        }


def main() -> None:
    """Prints one rate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("constant")
    one.add_argument("--rows", type=int, default=200_000_000)
    one.add_argument("--columns", type=int, default=4)
    one.add_argument("--runs", type=int, default=3)
    two = commands.add_parser("restart")
    two.add_argument("job", type=Path)
    args = parser.parse_args()
    result = constant(args.rows, args.columns, args.runs) if args.command == "constant" else restart(Job.read(args.job))
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
