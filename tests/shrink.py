"""Makes a failing case small: drops batches and changes, for as long as it still fails.

    .venv/bin/python tests/shrink.py .build/failing-cases/seed-17.case

writes the smallest case found to tests/regressions/sql/, with DuckDB's answers.
The query stays as it is.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

from pyspark.sql import SparkSession

import joinless
from conftest import ROOT, quiet_builder
from support import sql_case
from support.sql_case import Batch, SqlCase, present
from support.sql_plays import Play, answer_rows, play_case, plays


def smaller(case: SqlCase) -> Iterator[SqlCase]:
    """Cases with fewer changes, the boldest first; only inserted rows are deleted in them."""
    for less in _smaller(case):
        rows = [present(less, number + 1) for number in range(len(less.batches))]
        if less.batches and all(n >= 0 for batch in rows for table in batch.values() for n in table.values()):
            yield less


def _smaller(case: SqlCase) -> Iterator[SqlCase]:
    for b, batch in enumerate(case.batches):
        before, after = case.batches[:b], case.batches[b + 1 :]
        yield case.with_batches([*before, *after])
        if after:
            yield case.with_batches([*before, Batch(batch.lines + after[0].lines, None), *after[1:]])
    for b, batch in enumerate(case.batches):
        before, after = case.batches[:b], case.batches[b + 1 :]
        size = len(batch.lines)
        for step in (size // 2, size // 4, 1):
            for at in range(0, size if 0 < step < size else 0, max(step, 1)):
                lines = batch.lines[:at] + batch.lines[at + step :]
                yield case.with_batches([*before, replace(batch, lines=lines), *after])


def failing(spark: SparkSession, case: SqlCase) -> tuple[Play, str] | None:
    """A way to play a case in which it fails, and the error."""
    found = ((play, failure(spark, case, play)) for play in plays(case))
    return next(((play, error) for play, error in found if error), None)


def failure(spark: SparkSession, case: SqlCase, play: Play) -> str:
    """The kind of error with which a case fails in one way; empty if it does not fail."""
    answered = answer_rows(case)
    try:
        play_case(spark, answered, play, Path(tempfile.mkdtemp()) / "play")
    except Exception as e:
        return type(e).__name__
    return ""


def shrink(spark: SparkSession, case: SqlCase) -> SqlCase:
    """The smallest case that greedy steps reach and that fails with the same kind of error."""
    found = failing(spark, case)
    if found is None:
        sys.exit("the case does not fail in any play")
    play, error = found
    print(f"fails in {play.name} with {error}", flush=True)
    for step in count(1):
        less = next((less for less in smaller(case) if failure(spark, less, play) == error), None)
        if less is None:
            break
        case = less
        print(f"step {step}: {sum(len(batch.lines) for batch in case.batches)} changes", flush=True)
    return replace(answer_rows(case), note=case.note or f"Failed in {play.name}.")


if __name__ == "__main__":
    session = joinless.configure(quiet_builder()).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    source = sql_case.load(Path(sys.argv[1]))
    target = ROOT / "tests" / "regressions" / "sql" / f"{source.name}.case"
    sql_case.save(shrink(session, source), target)
    print(target)
