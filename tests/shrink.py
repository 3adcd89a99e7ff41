"""Makes a failing case small: drops files, halves of files, single rows, for as long as it still fails.

    .venv/bin/python tests/shrink.py .build/failing-cases/seed-17.json

writes the smallest case found to tests/regressions/<name>.json. The query stays as it is.
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
from support import cases
from support.cases import Arrival, Case
from support.run import check_case


def smaller(case: Case) -> Iterator[Case]:
    """Cases with less data, the boldest first."""
    for t, table in enumerate(case.tables):
        for b, arrival in enumerate(table.arrivals):
            for less in smaller_arrivals(arrival):
                arrivals = (*table.arrivals[:b], less, *table.arrivals[b + 1 :])
                tables = (*case.tables[:t], replace(table, arrivals=arrivals), *case.tables[t + 1 :])
                yield replace(case, tables=tables)


def smaller_arrivals(arrival: Arrival) -> Iterator[Arrival]:
    """Without a file, with half of it, without one row."""
    for f, rows in enumerate(arrival):
        before, after = arrival[:f], arrival[f + 1 :]
        yield (*before, *after)
        if len(rows) > 3:
            yield (*before, rows[: len(rows) // 2], *after)
            yield (*before, rows[len(rows) // 2 :], *after)
        elif len(rows) > 1:
            for r in range(len(rows)):
                yield (*before, (*rows[:r], *rows[r + 1 :]), *after)


def shrink(spark: SparkSession, case: Case) -> Case:
    """The smallest failing case that greedy steps lead to."""
    attempts = count()

    def fails(candidate: Case) -> bool:
        try:
            check_case(spark, candidate, Path(tempfile.mkdtemp()) / str(next(attempts)))
        except Exception:
            return True
        return False

    if not fails(case):
        sys.exit("the case does not fail")
    while found := next((candidate for candidate in smaller(case) if fails(candidate)), None):
        case = found
        print(sum(len(rows) for t in case.tables for a in t.arrivals for rows in a), "rows", flush=True)
    return case


if __name__ == "__main__":
    session = joinless.configure(quiet_builder()).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    source = cases.load(Path(sys.argv[1]))
    target = ROOT / "tests" / "regressions" / f"{source.name}.json"
    shrink(session, source).save(target)
    print(target)
