"""Kills executors and drivers of running pipelines by SIGKILL at random points, and
counts wrong rows at the end.

    python -m faults [--seed 1] [--kills 30] [--kinds appended changes]

Prints kills, lost tasks, rebuilds, batches rolled back and `rows wrong: 0`; exits
with 1 if rows are wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import duckdb

from faults.pipeline import COLUMNS, FINAL, LASTS, OF_CHANGES, QUERIES, SETTLED

FILES_AT_ONCE = 14
EXECUTOR = b"CoarseGrainedExecutorBackend"


@dataclass
class Input:
    """The files a pipeline reads: rows that are inserted, or inserted and deleted, minute by
    minute; and the rows that remain.
    """

    folder: Path
    kind: str
    rng: Random
    files: int = 0
    present: list[tuple[int, int, int]] = field(default_factory=list)

    def add(self) -> None:
        """A file of about forty rows over few keys."""
        lines = []
        if self.kind in OF_CHANGES:
            self.rng.shuffle(self.present)
            deleted = [self.present.pop() for _ in range(len(self.present) // 4)]
            lines += [f"delete,{k},{v},{minute}" for k, v, minute in deleted]
        for _ in range(40):
            # Minute 0 would be late from the first batch on.
            row = (self.rng.randrange(30), self.rng.randrange(30), 1 + self.files)
            self.present.append(row)
            lines.append(("insert," if self.kind in OF_CHANGES else "") + ",".join(map(str, row)))
        staged = self.folder / f"{self.files:04d}.csv"
        staged.write_text("\n".join(lines) + "\n")
        os.utime(staged, (1_750_000_000 + self.files,) * 2)  # files are read in the order of their times
        (self.folder / "in").mkdir(exist_ok=True)
        staged.rename(self.folder / "in" / staged.name)
        self.files += 1


def table_of(kind: str, present: list[tuple[int, int, int]]) -> duckdb.DuckDBPyConnection:
    """A database with the final table `r` of the queries."""
    db = duckdb.connect()
    db.execute(f"CREATE TABLE r ({COLUMNS}, ts TIMESTAMP AS (TIMESTAMP '1970-01-01' + to_minutes(minute)))")
    db.executemany("INSERT INTO r VALUES (?, ?, ?)", present)
    if kind == "expiring":  # by the watermark, a second behind the newest row
        db.execute(f"DELETE FROM r WHERE minute + {LASTS} < (SELECT max(minute) FROM r)")
    return db


def rows_wrong(folder: Path, kind: str, present: list[tuple[int, int, int]]) -> tuple[int, int]:
    """Rows that are missing or too many in the output, counted with their
    copies; and rows that are right.
    """
    db = table_of(kind, present)
    columns = "x, y, z" if kind in OF_CHANGES else "x, y, z, w"
    emitted = f"x <= (SELECT max(minute) FROM r) - {SETTLED}" if kind in FINAL else "true"
    query = f"SELECT {columns}, count(*) AS n FROM ({QUERIES[kind]}) WHERE {emitted} GROUP BY ALL"
    db.execute(f"CREATE TABLE expected AS {query}")
    weight = "sum(_weight)" if kind in OF_CHANGES else "count(*)"
    written = (
        f"SELECT {columns}, {weight} AS n FROM read_parquet('{folder}/out/*/*.parquet') WHERE {emitted} GROUP BY ALL"
    )
    db.execute(f"CREATE TABLE found AS SELECT * FROM ({written}) WHERE n <> 0")
    both = f"SELECT sum(abs(coalesce(f.n, 0) - coalesce(e.n, 0))) FROM found f FULL JOIN expected e USING ({columns})"
    wrong = db.execute(both).fetchall()[0][0]
    right = db.execute("SELECT sum(n) FROM expected").fetchall()[0][0]
    return int(wrong or 0), int(right or 0)


def batches_done(folder: Path) -> int:
    """How many batches Spark has marked as done."""
    return len(list((folder / "checkpoint" / "commits").glob("[0-9]*")))


class Worker:
    """A pipeline in a process group of its own, executors included."""

    def __init__(self, folder: Path, kind: str, *arguments: str) -> None:
        self.folder = folder
        paths = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]))
        with (folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "faults.pipeline", str(folder), kind, *arguments],
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": paths},
            )

    def executors(self) -> list[int]:
        """Processes of the group that are executors."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if os.getpgid(int(entry.name)) == self.process.pid and EXECUTOR in (entry / "cmdline").read_bytes():
                        found.append(int(entry.name))
                except OSError:
                    continue
        return found

    def waits_for(self, batches: int) -> bool:
        """Waits until there are executors and so many batches are done; returns whether the
        pipeline still runs then.
        """
        while self.process.poll() is None:
            if batches_done(self.folder) >= batches and self.executors():
                return True
            time.sleep(0.05)
        return False

    def kill(self) -> None:
        """Kills the driver, and the executors that remain."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def run(folder: Path, kind: str, kills: int, seed: int) -> Counter[str]:
    """Runs a pipeline to its end through so many kills; returns figures of the
    run, `rows wrong` among them.
    """
    rng = Random(seed)
    figures: Counter[str] = Counter()
    source = Input(folder, kind, rng)
    finished = False
    while not finished:
        if figures["kills"] < kills or source.files == 0:
            for _ in range(FILES_AT_ONCE):
                source.add()
        worker = Worker(folder, kind)
        figures["starts"] += 1
        while worker.process.poll() is None:
            if figures["kills"] >= kills:
                worker.process.wait()
                break
            # Somewhere in one of the next batches, or of a new driver before its first.
            if not worker.waits_for(batches_done(folder) + rng.randrange(4)):
                continue
            time.sleep(rng.uniform(0.0, 1.5))
            executors = worker.executors()
            if worker.process.poll() is not None or not executors:
                continue
            figures["kills"] += 1
            if rng.random() < 0.5:
                try:
                    os.kill(rng.choice(executors), signal.SIGKILL)
                    figures["executors killed"] += 1
                except ProcessLookupError:
                    figures["kills"] -= 1
            else:
                worker.kill()
                figures["drivers killed"] += 1
        if worker.process.returncode not in (0, -signal.SIGKILL):
            raise SystemExit(f"{kind}: the pipeline failed\n" + (folder / "log").read_text()[-4000:])
        finished = worker.process.returncode == 0 and figures["kills"] >= kills
    log = (folder / "log").read_text(errors="replace")
    figures["retries"] = log.count("Lost task")
    figures["lost executors"] = log.count("Lost executor")
    for line in (folder / "progress.jsonl").read_text().splitlines():
        try:
            progress = json.loads(line)
        except ValueError:  # cut off by a kill
            continue
        figures["batches"] += 1
        for operator in progress["stateOperators"]:
            figures["rebuilds"] += operator["customMetrics"].get("rebuilds", 0)
            figures["batches rolled back"] += operator["customMetrics"].get("batchesRolledBack", 0)
    figures["rows wrong"], figures["rows right"] = rows_wrong(folder, kind, source.present)
    figures["files"] = source.files
    return figures


def main() -> int:
    """Runs one pipeline after the other; returns 1 if a row is wrong."""
    parser = argparse.ArgumentParser(prog="faults", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=30, help="how many, over all pipelines (30)")
    parser.add_argument("--kinds", nargs="+", choices=sorted(QUERIES), default=sorted(QUERIES))
    args = parser.parse_args()
    wrong = 0
    for i, kind in enumerate(args.kinds):
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="joinless-faults-") as folder:
            share = args.kills // len(args.kinds) + (1 if i < args.kills % len(args.kinds) else 0)
            figures = run(Path(folder), kind, share, args.seed + i)
        wrong += figures["rows wrong"]
        text = ", ".join(f"{name}: {figures[name]}" for name in NAMES)
        print(f"{kind} (seed {args.seed + i}, {time.monotonic() - started:.0f} s): {text}", flush=True)
    print(f"rows wrong: {wrong}")
    return 1 if wrong else 0


NAMES = (
    "kills",
    "executors killed",
    "drivers killed",
    "starts",
    "files",
    "batches",
    "lost executors",
    "retries",
    "rebuilds",
    "batches rolled back",
    "rows right",
    "rows wrong",
)

if __name__ == "__main__":
    sys.exit(main())
