"""DuckDB: changes of the result by delta SQL written by hand, or the complete
join again after every batch.

Delta SQL. A batch is applied in two phases, its deletes and then its inserts, each with changes D
of one sign only. With T the tables without D (after the deletes, before the inserts), the rows lost
or gained are the disjoint union over i of

    T_1 x ... x T_{i-1} x D_i x (T_{i+1} + D_{i+1}) x ... x (T_n + D_n)

under the query's conditions, one SQL statement per phase. No row is both inserted and deleted
within a phase, and no edge is deleted and inserted in one batch, so plus and minus are net. `T + D`
is a `UNION ALL` on the probe side of a hash join; a second copy of each table, or the 2^n - 1 terms
without unions, were no faster. Indexes do not help DuckDB's joins, so each batch scans the tables:
its cost grows with them.

Grouped jobs are in duck_groups.py. Either way count and check are aggregates in SQL, so Python sees
one row per phase. The edges of each phase are a table in memory before a run begins.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))  # where it runs as the job's process

import duckdb

from jobs import MODULUS, Job, Report, check_in_sql
from streams import read_batches
from systems import System
from systems.duck_groups import GROUPED, GroupsAnew, GroupsByDelta, Tables

DELETES, INSERTS = -1, 1


class Database:
    """The stream of a job in a DuckDB, a table per phase of a batch, and the query over one table
    `e<k>` per distinct folder.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        folders = list(dict.fromkeys(job.inputs))
        self.table = [folders.index(folder) for folder in job.inputs]
        self.tables = range(len(folders))
        self.sql = _connect(job)
        self.has: set[tuple[int, int, int]] = set()
        for k, folder in enumerate(folders):
            self._load(k, read_batches(job, job.inputs.index(folder)))

    def _load(self, k: int, batches: list[tuple[Any, Any, Any]]) -> None:
        for b, (weights, src, dst) in enumerate(batches):
            for sign in (DELETES, INSERTS):
                if (weights == sign).any():
                    edges = {"src": src[weights == sign], "dst": dst[weights == sign]}
                    self.sql.execute(f"create table {_changes(k, b, sign)} as select * from edges")
                    self.has.add((k, b, sign))
                    del edges

    def clear(self) -> None:
        """Empties the tables, as before a run."""
        for k in self.tables:
            self.sql.execute(f"create or replace table e{k} (src bigint, dst bigint)")

    def apply(self, batch: int, sign: int) -> None:
        """Applies a phase of a batch to the tables."""
        for k in self.tables:
            if (k, batch, sign) in self.has:
                d = _changes(k, batch, sign)
                if sign == INSERTS:
                    self.sql.execute(f"insert into e{k} from {d}")
                else:
                    self.sql.execute(f"delete from e{k} using {d} where e{k}.src = {d}.src and e{k}.dst = {d}.dst")

    def count(self, sources: list[list[str]]) -> tuple[int, int]:
        """Count and check of the query over the relations, summed over several choices of them."""
        columns = ", ".join(f"{v} as x{i}" for i, v in enumerate(self.job.vertices(), start=1))
        where = " and ".join(self.job.conditions())
        rows = " union all ".join(
            f"select {columns} from {', '.join(f'{r} r{i}' for i, r in enumerate(relations, start=1))} where {where}"
            for relations in sources
        )
        check = check_in_sql([f"x{i}" for i in range(1, self.job.columns + 1)])
        count, total = self.sql.execute(f"select count(*), sum({check}) from ({rows})").fetchone() or (0, None)
        return int(count), int(total or 0)

    def changes(self, batch: int, sign: int) -> tuple[int, int]:
        """Count and check of the result rows that are deleted or inserted in a phase, over tables
        without the phase's edges.
        """
        has = [(k, batch, sign) in self.has for k in self.table]
        without = [f"e{k}" for k in self.table]
        changes = [_changes(k, batch, sign) for k in self.table]
        both = [
            f"(from {e} union all from {d})" if has[i] else e
            for i, (e, d) in enumerate(zip(without, changes, strict=True))
        ]
        return self.count([[*without[:i], changes[i], *both[i + 1 :]] for i in range(len(has)) if has[i]])

    def phases(self, batch: int) -> list[int]:
        """The phases in which a batch has edges."""
        return [sign for sign in (DELETES, INSERTS) if any((k, batch, sign) in self.has for k in self.tables)]


class Delta:
    """One run by delta SQL."""

    def __init__(self, database: Database) -> None:
        self.database = database
        database.clear()

    def batch(self, batch: int) -> tuple[int, int, int]:
        """Rows gained and lost in the next batch, and the check of what changed."""
        found = {DELETES: 0, INSERTS: 0}
        checks = 0
        for sign in self.database.phases(batch):
            if sign == DELETES:
                self.database.apply(batch, sign)
            found[sign], check = self.database.changes(batch, sign)
            if sign == INSERTS:
                self.database.apply(batch, sign)
            checks += sign * check
        return found[INSERTS], found[DELETES], checks


class Recompute:
    """One run by complete joins."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.rows = self.check = 0
        database.clear()

    def batch(self, batch: int) -> tuple[int, int, int]:
        """The growth of the result in the next batch, in rows and in its check."""
        for sign in self.database.phases(batch):
            self.database.apply(batch, sign)
        before, check = self.rows, self.check
        self.rows, self.check = self.database.count([[f"e{k}" for k in self.database.table]])
        return max(self.rows - before, 0), max(before - self.rows, 0), self.check - check


WAYS: dict[str, type[Delta | Recompute]] = {"duckdb-delta": Delta, "duckdb-recompute": Recompute}


def run(job: Job, way: str, report: Report) -> None:
    """All runs of a job, until one reaches its limit."""
    settings = f"{job.cores} threads, {job.memory} of memory, tables in memory"
    report.start(way, str(duckdb.__version__), settings)
    fresh: Callable[[], Delta | Recompute | GroupsAnew | GroupsByDelta]
    if job.query:
        tables = Tables(job, _connect(job))
        sql, fresh = tables.sql, lambda: GROUPED[way](tables)
    else:
        database = Database(job)
        sql, fresh = database.sql, lambda: WAYS[way](database)
    if job.warm_up:
        _run(job, fresh, min(job.warm_up, job.batches), None, 0)
    for number in range(job.runs):
        timer = threading.Timer(job.limit, sql.interrupt)
        timer.start()
        try:
            if not _run(job, fresh, job.batches, report, number):
                return
        except duckdb.InterruptException:
            return
        finally:
            timer.cancel()


def _run(job: Job, fresh: Callable[[], Any], batches: int, report: Report | None, number: int) -> bool:
    started = time.perf_counter()
    this = fresh()
    plus = minus = check = 0
    for batch in range(batches):
        begun = time.perf_counter()
        gained, lost, changed = this.batch(batch)
        ended = time.perf_counter()
        plus, minus, check = plus + gained, minus + lost, check + changed
        if report:
            report.batch(number, batch, ended - begun, plus=gained, minus=lost, check=changed % MODULUS)
            if ended - started > job.limit:
                return False
    if report:
        report.run(number, ended - started, plus=plus, minus=minus, check=check % MODULUS)
    return True


def _connect(job: Job) -> Any:
    sql = duckdb.connect(config={"threads": job.cores, "memory_limit": _bytes(job.memory)})
    sql.execute("set preserve_insertion_order = false")
    return sql


def _bytes(memory: str) -> str:
    """A Java size such as `6g` in DuckDB's words."""
    return memory[:-1] + {"k": "KiB", "m": "MiB", "g": "GiB"}[memory[-1].lower()]


def _changes(k: int, batch: int, sign: int) -> str:
    """The table of the edges that are deleted from a folder's table or inserted into
    it in a phase of a batch.
    """
    return f"d{k}_{batch}_{'in' if sign == INSERTS else 'out'}"


def _command(way: str) -> Any:
    return lambda job, file, report: [sys.executable, __file__, way, str(file), str(report)]


SYSTEMS = [
    System(
        "duckdb-delta",
        "DuckDB in memory, threads as cores: per batch one SQL statement by hand for the deletes and one for the inserts, "
        "with one term per relation, each by hash joins over the whole tables.",
        _command("duckdb-delta"),
    ),
    System(
        "duckdb-recompute",
        "DuckDB in memory, threads as cores: the complete join again after every batch.",
        _command("duckdb-recompute"),
        nets=False,
    ),
]


def main() -> None:
    """The process of one job."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("way", choices=sorted(WAYS))
    parser.add_argument("job", type=Path)
    parser.add_argument("report", type=Path)
    args = parser.parse_args()
    run(Job.read(args.job), args.way, Report(args.report))


if __name__ == "__main__":
    main()
