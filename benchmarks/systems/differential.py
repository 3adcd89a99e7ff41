"""Differential dataflow, alone and on one core: our own small program (`differential/`) on its
crates, which `benchmarks/install` builds.

One worker reads batch after batch. A batch is done when a probe after the result says so; every row
of the result's changes is visited, counted and checked. The query's orders, indexes and tie rules
are written by hand in `differential/src/main.rs`, which explains them. Rows that are inserted and
deleted within one batch are counted as both, so only plus less minus is compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from jobs import Job
from systems import System, opponents

SOURCES = Path(__file__).parent / "differential"
JOINED_WHOLE = ("L3CNT", "L4CNT", "STAR4CNT", "SNB4")  # grouped queries that `from` joins and counts


def _binary() -> Path:
    return opponents() / "differential" / "release" / "joinless-differential"


def _missing() -> str | None:
    sources = [SOURCES / "Cargo.toml", SOURCES / "Cargo.lock", *sorted((SOURCES / "src").glob("*.rs"))]
    built_from = opponents() / "differential" / "sources"
    if not _binary().exists() or not built_from.exists():
        return "not built: benchmarks/install differential"
    if built_from.read_text().strip() != hashlib.sha256(b"".join(s.read_bytes() for s in sources)).hexdigest():
        return "built from other sources: benchmarks/install differential"
    return None


def _refuses(variant: str, job: Job) -> str | None:
    if job.query and (variant == "best" or (variant == "from" and job.workload in JOINED_WHOLE)):
        return None
    if job.query:
        return f"of grouped queries only best is written, and from for {', '.join(JOINED_WHOLE)}"
    return None if 2 <= job.relations <= 4 else "only two to four relations are written"


def _command(variant: str) -> Callable[[Job, Path, Path], list[str]]:
    return lambda job, file, report: [str(_binary()), variant, str(file), str(report)]


def _system(variant: str, what: str) -> System:
    name = f"differential-{variant}"
    what = f"Differential dataflow 0.25 without anything around it, one worker, u32 vertices: {what}."
    return System(name, what, _command(variant), _missing, lambda job: _refuses(variant, job), nets=False)


SYSTEMS = [
    _system("dogs3", "delta query of half joins towards the filtered end first, over shared indexes of the edges only"),
    _system("dogs3-semijoin", "the same delta query after one semijoin by hand with the filtered end"),
    _system(
        "best",
        "binary joins in the best order by hand, from the filtered end on, intermediate results indexed; counts pushed below the joins of grouped queries",
    ),
    _system(
        "from",
        "binary joins in the order of the query, intermediate results indexed; grouped queries joined whole, then counted",
    ),
]
