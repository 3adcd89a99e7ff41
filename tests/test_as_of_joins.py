"""Seeded random as-of joins over random change streams: after every batch the changes add up to
what DuckDB's own ASOF JOIN returns, and Spark's batch SQL.

The query is written as people write it without ASOF JOIN: LATERAL with ORDER BY and LIMIT 1, or
MAX_BY and MIN_BY. Every fourth seed is a streaming query, whose complete result is read, too; for
the others the micro-batches are played without one. A third are restarted in the middle.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from random import Random

import pytest
from pyspark.sql import SparkSession

import joinless
from joinless.changes import Form
from support import oracles
from support.ahead import run_ahead, seeds
from support.cases import Case, Column, Row, Table
from support.changes import ChangeRun, played, random_changes, stream
from support.run import check_difference

TYPES = ("TIMESTAMP", "INT", "BIGINT", "DATE", "DECIMAL(9,2)", "SMALLINT")


@dataclass(frozen=True)
class AsOf:
    """An as-of join of `l(k, g, ts, v)` with `r(k, g, ts, v)`, in both dialects.

    Rows of `r` with equal times are matches alike, so only their time is read.
    """

    case: Case
    duckdb: str


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    seeds(metafunc, "as_of_seed", "--as-of-queries")


def _value(rng: Random, kind: str) -> str | None:
    n = rng.randrange(40)
    if rng.random() < 0.1:
        return None
    if kind.startswith("TIMESTAMP"):
        return f"2026-03-01 10:00:{n // 2:02d}{'.5' if n % 2 else ''}"
    return f"2026-03-{n % 28 + 1:02d}" if kind == "DATE" else str(n - 20)


def _table(rng: Random, name: str, kind: str, batches: int) -> Table:
    columns = tuple(Column(*c) for c in (("k", "INT"), ("g", "STRING"), ("ts", kind), ("v", "INT")))

    def row() -> Row:
        key = rng.choice(("1", "2", "3", None))
        return (key, rng.choice(("x", "y", None)), _value(rng, kind), str(rng.randrange(9)))

    arrivals = tuple(
        () if rng.random() < 0.2 else (tuple(row() for _ in range(rng.randrange(1, 25))),) for _ in range(batches)
    )
    return Table(name, columns, arrivals)


def as_of(seed: int) -> AsOf:
    """The join of a seed: the same in every run."""
    rng = Random(seed)
    kind = TYPES[seed % len(TYPES)]
    tables = tuple(_table(rng, name, kind, 4) for name in ("l", "r"))
    sign = rng.choice((">=", ">", "<=", "<"))  # l.ts sign r.ts
    back = sign in (">=", ">")
    keys = rng.choice((["k"], ["k", "g"], ["k"], []))
    of_right = " AND r.v < 7" if rng.random() < 0.4 else ""
    of_left = " AND l.v > 1" if rng.random() < 0.3 else ""
    above = " WHERE l.v <> 4" if rng.random() < 0.4 else ""
    form = rng.choice(("lateral", "left lateral", "function", "limit"))
    on = "".join(f" AND r.{key} = l.{key}" for key in keys)
    rows = f"FROM r WHERE l.ts {sign} r.ts{on}{of_right}{of_left}"
    first = f"SELECT r.ts {rows} ORDER BY r.ts {'DESC' if back else 'ASC'} LIMIT 1"
    columns = "l.k, l.v, l.ts"
    if form in ("lateral", "left lateral"):
        join = "LEFT JOIN" if form == "left lateral" else "JOIN"
        sql = f"SELECT {columns}, m.ts AS found FROM l {join} LATERAL ({first}) m ON true{above}"
    elif form == "limit":
        sql = f"SELECT {columns}, ({first}) AS found FROM l{above}"
    else:
        function = "MAX_BY" if back else "MIN_BY"
        sql = f"SELECT {columns}, (SELECT {function}(r.ts, r.ts) {rows}) AS found FROM l{above}"
    outer = "" if form == "lateral" else "LEFT "
    right = f"(SELECT * FROM r WHERE ts IS NOT NULL{of_right}) r"
    # DuckDB takes conditions of the left side in WHERE only
    left = (
        "(SELECT *, CASE WHEN l.v > 1 THEN ts END AS since FROM l) l" if of_left else "(SELECT *, ts AS since FROM l) l"
    )
    duckdb = f"SELECT {columns}, r.ts AS found FROM {left} ASOF {outer}JOIN {right} ON l.since {sign} r.ts{on}{above}"
    if rng.random() < 0.3:
        sql = f"SELECT found, COUNT(*) AS n, SUM(v) AS s FROM ({sql}) GROUP BY found"
        duckdb = f"SELECT found, COUNT(*) AS n, SUM(v) AS s FROM ({duckdb}) GROUP BY found"
    return AsOf(Case(f"as-of-{seed}", tables, sql, 1 + seed % 3, None), duckdb)


class AsOfRun(ChangeRun):
    """Compares each batch with DuckDB's ASOF JOIN, too."""

    duckdb: str

    def check(self, batch: int) -> None:
        """Fails if the changes do not add up to the result of an oracle."""
        super().check(batch)
        if self.files:
            found = oracles.bag(self.oracle.connection.execute(oracles.dialect(self.duckdb)).fetchall())
            check_difference(self.case, batch, "ASOF JOIN", self.result, found)


@pytest.fixture(scope="module")
def ahead(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[int, Future[None]]]:
    """The seeds, run ahead."""
    folder = tmp_path_factory.mktemp("as-of")

    def run(seed: int) -> None:
        join = as_of(seed)
        form: Form = "weight" if seed % 2 else "change_type"
        run = AsOfRun(spark, join.case, random_changes(join.case, seed), folder / join.case.name, form)
        run.duckdb = join.duckdb
        assert "s-of join" in joinless.explain(run.deltas()).text, join.case.sql
        if seed % 4 == 0:
            stream(run, seed, grouped=True)
        else:
            with played(run, seed):
                pass

    yield from run_ahead(request, "as_of_seed", run)


def test_every_batch_equals_duckdbs_as_of_join(as_of_seed: int, ahead: dict[int, Future[None]]) -> None:
    ahead[as_of_seed].result()
