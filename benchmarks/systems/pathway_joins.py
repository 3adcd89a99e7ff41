"""Pathway: binary joins from the filtered end on, the best order; it has no multi-way join and
keeps the given order.

Variants that were tried; the fastest that still keeps batches was chosen (3-hop joins, 50,000
edges, on a busy machine, so roughly):

- The stream is in memory as events with the time of their batch, which Pathway replays
  (`pw.debug.StreamGenerator`). A Python connector that commits each batch and waits for it took 7
  to 19 % more; a table from pandas with times about ten times as long, all batches as one.
- Count and check are aggregates inside Pathway, so Python is called once per
  batch and not once per row.
- The last join computes the check of a row at once, without a table of the
  result's vertices (8 % less).

A batch's seconds are those between the ends of times that Pathway reports. If it reports none,
nothing changed, and the time counts for the next batch. The rows of the aggregates are running
totals, so a batch reports by how much the result grew or shrank.

The job runs in Pathway's own virtual environment, which has none of our packages.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))  # where it runs as the job's process

from jobs import MODULUS, Job, Report
from systems import System, opponents

VERSION = "0.33.0"


def _python() -> Path:
    return opponents() / f"pathway-{VERSION}" / "bin" / "python"


def _missing() -> str | None:
    installed = _python().parent.parent / "installed"
    return None if installed.exists() else "not installed: benchmarks/install pathway"


def _command(job: Job, file: Path, report: Path) -> list[str]:
    return [str(_python()), __file__, str(file), str(report)]


SYSTEMS = [
    System(
        "pathway",
        "Pathway 0.33, threads as cores: binary joins in the best order by hand, from the filtered end on, the stream replayed from memory, "
        "count and check aggregated inside.",
        _command,
        _missing,
        lambda job: "grouped queries are not written for it" if job.query else None,
        nets=False,
    )
]

Edges = list[tuple[int, int, int, int]]  # (batch, weight, src, dst)


def read_edges(job: Job, relation: int) -> Edges:
    """The stream of a relation."""
    edges = []
    for batch, path in enumerate(job.files(relation)):
        for line in path.read_text().splitlines():
            row = line.split(",")
            edges.append((batch, -1 if row[0] == "delete" else 1, int(row[-2]), int(row[-1])))
    return edges


def result_checks(job: Job, relations: list[Any]) -> Any:
    """The query: a table of the checks of its rows."""
    n = job.relations
    last = relations[-1].filter(relations[-1].dst > job.threshold)
    shared = 1 if job.shape == "star" else n
    bound = last.select(**{f"x{shared}": last.src, f"x{n + 1}": last.dst})
    for i in range(n - 1, 0, -1):
        more = relations[i - 1]
        if job.shape == "star":
            joined, found = more.join(bound, more.src == bound.x1), {f"x{i + 1}": more.dst}
        else:
            joined, found = more.join(bound, more.dst == bound[f"x{i + 1}"]), {f"x{i}": more.src}
        columns = {**found, **{name: bound[name] for name in bound.column_names()}}
        if i == 1:
            return joined.select(check=_check([columns[f"x{k}"] for k in range(1, job.columns + 1)]))
        bound = joined.select(**columns)
    raise AssertionError("at least two relations")


def _check(vertices: list[Any]) -> Any:
    """`row_check` as an expression."""
    check = (vertices[0] + 7) * (vertices[-1] + 11)
    for i, x in enumerate(vertices, start=1):
        check = check + (2 * i + 1) * x
    return check


class Progress:
    """The reports of a run, time by time."""

    def __init__(self, report: Report | None, run: int) -> None:
        self.report, self.run = report, run
        self.rows = self.check = self.plus = self.minus = 0
        self.now = (0, 0)
        self.ended = self.started = time.perf_counter()

    def change(self, key: Any, row: dict[str, int], time: int, is_addition: bool) -> None:
        """New totals, or deleted old ones: without new ones the result is empty."""
        if is_addition:
            self.now = (row["rows"], row["check"])
        elif self.now == (row["rows"], row["check"]):
            self.now = (0, 0)

    def time_end(self, at: int) -> None:
        """The end of a batch."""
        ended = time.perf_counter()
        grown = self.now[0] - self.rows
        self.rows, self.check = self.now
        plus, minus = max(grown, 0), max(-grown, 0)
        self.plus, self.minus = self.plus + plus, self.minus + minus
        if self.report:
            self.report.batch(self.run, at // 2 - 1, ended - self.ended, plus=plus, minus=minus)
        self.ended = ended


def _run(job: Job, streams: list[Edges], report: Report | None, number: int) -> None:
    import pathway as pw
    from pathway.internals import api
    from pathway.internals.parse_graph import G

    G.clear()
    schema = pw.schema_from_types(src=int, dst=int)
    generator = pw.debug.StreamGenerator()
    generator.events.clear()
    tables = []
    for edges in streams:
        batches: dict[int, dict[int, list[tuple[int, Any, list[int]]]]] = {}
        for batch, weight, src, dst in edges:
            # Times are even and not 0; the key of a row makes its delete find it.
            batches.setdefault(2 * batch + 2, {0: []})[0].append((weight, api.ref_scalar(src, dst), [src, dst]))
        tables.append(generator._table_from_dict(batches, schema))
    folders = list(dict.fromkeys(job.inputs))
    progress = Progress(report, number)
    checks = result_checks(job, [tables[folders.index(folder)] for folder in job.inputs])
    totals = checks.reduce(rows=pw.reducers.count(), check=pw.reducers.sum(checks.check))
    pw.io.subscribe(totals, on_change=progress.change, on_time_end=progress.time_end)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE, persistence_config=generator.persistence_config())
    if report:
        seconds = time.perf_counter() - progress.started
        report.run(number, seconds, plus=progress.plus, minus=progress.minus, check=progress.check % MODULUS)


def run(job: Job, report: Report) -> None:
    """All runs of a job, until one reaches its limit."""
    os.environ["PATHWAY_THREADS"] = str(job.cores)
    logging.disable(logging.WARNING)
    report.start("pathway", VERSION, f"{job.cores} threads, no monitoring")
    streams = [read_edges(job, job.inputs.index(folder)) for folder in dict.fromkeys(job.inputs)]
    if job.warm_up:
        first = [[edge for edge in edges if edge[0] < job.warm_up] for edges in streams]
        _run(job, first, None, 0)
    for number in range(job.runs):
        # A run of Pathway can only be stopped with its process. The report is
        # flushed after each line.
        watch = threading.Timer(job.limit, os._exit, [0])
        watch.daemon = True
        watch.start()
        _run(job, streams, report, number)
        watch.cancel()


def main() -> None:
    """The process of one job."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", type=Path)
    parser.add_argument("report", type=Path)
    args = parser.parse_args()
    run(Job.read(args.job), Report(args.report))


if __name__ == "__main__":
    main()
