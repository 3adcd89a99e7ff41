"""Flink's own SQL joins on the heap, each job in one process with a mini cluster
(`flink/FlinkJob.java`).
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from jobs import Job
from systems import System, opponents

VERSION = "2.3.0"
SOURCES = Path(__file__).parent / "flink"

# Java 17 requires these opens; they are those of Flink's own configuration.
OPENS = [
    "java.lang", "java.lang.reflect", "java.net", "java.io", "java.nio", "java.text", "java.time", "java.util",
    "java.util.concurrent", "java.util.concurrent.atomic", "java.util.concurrent.locks", "sun.nio.ch",
]  # fmt: skip


def _jars() -> Path:
    return opponents() / f"flink-{VERSION}" / "pyflink" / "lib"


def missing() -> str | None:
    """Why Flink cannot run here."""
    if not (_jars() / f"flink-dist-{VERSION}.jar").exists():
        return f"no Flink {VERSION} in {opponents()}: benchmarks/install flink"
    if not shutil.which("java") or not shutil.which("javac"):
        return "no JDK: java and javac are needed"
    return None


def _classes() -> Path:
    """The folder of the compiled program, compiled anew whenever its sources change."""
    sources = sorted(SOURCES.glob("*.java"))
    state = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    classes = opponents() / "flink-job" / state
    if not classes.exists():
        classes.parent.mkdir(parents=True, exist_ok=True)
        fresh = tempfile.mkdtemp(dir=classes.parent)
        subprocess.run(["javac", "-nowarn", "-cp", f"{_jars()}/*", "-d", fresh, *map(str, sources)], check=True)
        Path(fresh).rename(classes)
    return classes


def program(main: str, memory: str, *arguments: str) -> list[str]:
    """The command that runs a class of the program."""
    return [
        "java",
        f"-Xmx{memory}",
        "-XX:+UseParallelGC",
        "-XX:+ExitOnOutOfMemoryError",
        f"-Djava.io.tmpdir={tempfile.gettempdir()}",
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENS),
        *("-cp", f"{_classes()}:{_jars()}/*"),
        *(f"joinless.bench.flink.{main}", *arguments),
    ]


def _command(name: str) -> Callable[[Job, Path, Path], list[str]]:
    def command(job: Job, job_file: Path, report: Path) -> list[str]:
        return program("FlinkJob", job.memory, name, str(job_file), str(report))

    return command


def _no_common_key(job: Job) -> str | None:
    if job.query:
        return "grouped queries are run with binary joins only"
    if job.shape == "star":
        return None
    return "Flink's MultiJoin needs a key that all relations share, and a path has none"


SETTINGS = (
    "state on the heap, object reuse, one slot per core, sources in memory that end each batch with a watermark and"
    " go on when it has reached the sink (buffers are sent after 1 ms), without the time to plan the query"
)


def _system(name: str, how: str, refuses: Callable[[Job], str | None] = lambda job: None) -> System:
    what = f"Flink {VERSION} SQL in a mini cluster, {how}; {SETTINGS}"
    return System(name=name, what=what, command=_command(name), missing=missing, refuses=refuses, nets=False)


SYSTEMS = [
    _system("flink", "binary joins in FROM order"),
    _system(
        "flink-best",
        "binary joins, by hand in the order that starts at the filtered relation; of grouped queries counted before they are joined",
    ),
    _system(
        "flink-multijoin",
        "its MultiJoin operator (table.optimizer.multi-join.enabled) from the filtered relation on",
        _no_common_key,
    ),
    _system(
        "flink-best-checkpoints",
        "as flink-best, with exactly-once checkpoints to a local folder every second",
    ),
]
