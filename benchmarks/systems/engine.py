"""The engine without Spark around it, and the floor: a hand-written index for
one query. One core each.

Both run on the class path that `scripts/sbt bench/writeClasspath` leaves; the
programs are spark-plugin/bench.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from jobs import Job
from systems import System

ROOT = Path(__file__).resolve().parents[2]
CLASSPATH = ROOT / "spark-plugin/bench/target/classpath.txt"

# One core: the collector that has no threads of its own. There is next to nothing to collect, so
# that Parallel and G1 with one thread and a larger first heap all took the same CPU time within 5
# per cent; transparent huge pages, which not every machine grants, take 5 per cent off.
FLAGS = ("-XX:+UseSerialGC",)


def program(name: str, memory: str) -> list[str]:
    """The command of a program of spark-plugin/bench, without its arguments."""
    java = subprocess.run([ROOT / "scripts/java"], capture_output=True, text=True, check=True).stdout.strip()
    return [java, *FLAGS, f"-Xmx{memory}", "-cp", CLASSPATH.read_text(), f"io.joinless.bench.{name}"]


def _command(system: str, job: Job, job_file: Path, report: Path) -> list[str]:
    query = [str(job.columns), str(job.threshold)]
    if job.query:
        query = [";".join(job.query.clauses()), ";".join(str(len(r.columns)) for r in job.query.relations)]
    return [
        *program("EngineJob", job.memory),
        *(system, str(report), job.shape, *query),
        *(str(job.batches), str(job.runs), str(job.warm_up), *job.inputs),
    ]


def in_one_process(commands: Sequence[Sequence[str]]) -> list[str]:
    """The command of one process for several jobs of this module's systems: starting one takes
    longer than a tiny job.

    It runs without the JVM's second compiler, whose code would be ready too late for them.
    """
    first, *others = commands
    main = first.index("io.joinless.bench.EngineJob")
    jobs = [part for command in others for part in ("--", *command[main + 1 :])]
    return [first[0], "-XX:TieredStopAtLevel=1", *first[1:], *jobs]


def _missing() -> str | None:
    return None if CLASSPATH.exists() else "run scripts/sbt bench/writeClasspath first"


def _refuses_bare(job: Job) -> str | None:
    """As `BareIndex.refuses`."""
    folders = len(set(job.inputs))
    if job.columns == job.relations + 1 and (job.shape, job.relations, folders) in {("path", 3, 1), ("star", 4, 4)}:
        return None
    return "written for the path of 3 over one stream and the star of 4 over four"


SYSTEMS: list[System] = [
    System(
        name="joinless-engine",
        what="Joinless' engine without Spark: batches go into the view tree, a cursor visits every result row; of a grouped query "
        "into sums per key, and each group that changes is visited.",
        command=partial(_command, "engine"),
        missing=_missing,
    ),
    System(
        name="joinless-engine-wide",
        what="Joinless' engine over other rows: each vertex is a BIGINT and a STRING, rows have five columns more, which nobody reads, and columns "
        "are in another order.",
        command=partial(_command, "wide"),
        missing=_missing,
        refuses=lambda job: "its tables are not edges" if job.query else None,
    ),
    System(
        name="bare-index",
        what="The floor: hash tables and queues in arrays, written by hand for this one query.",
        command=partial(_command, "bare"),
        missing=_missing,
        refuses=_refuses_bare,
    ),
]
