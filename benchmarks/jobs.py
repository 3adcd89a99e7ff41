"""One job of the benchmark: one query over one stream of edges, for one system, in a process of its
own; and its report.

A job is a JSON file. Its relations are edges `(src, dst)`, each read from a folder of `NNN.csv`,
one file per batch and in that order; the same folder twice is a self-join. Rows are `src,dst`, or
`op,src,dst` with op `insert` or `delete` where `window` is true (in each file the deletes are
first). The query, with relation i called r_i (n of them) and only edges of the last one whose dst
is above `threshold`:

    path: r_1.dst = r_2.src, r_2.dst = r_3.src, ...; vertices x_1 = r_1.src, ..., x_{n+1} = r_n.dst
    star: all r_i.src are equal;                     vertices x_1 = r_1.src, ..., x_{n+1} = r_n.dst

with x_2 = r_1.dst in both. Its result rows are the first `columns` of these vertices, as a bag.

If the job has a `query` (queries.py; its shape is `grouped`), relations have the columns it names,
a file's rows are `column,...` or `op,column,...` with nothing for NULL, and the result is a table
of groups: its rows are the group's columns and its aggregates, `columns` in all. A group that
changes loses its row and gains another one. So `plus` less `minus` is the number of groups now, and
`check` sums over all of them a quadratic form of key and values. For a system that emits no deletes
of groups (update mode), these figures are those of the groups that its sink keeps.

A system runs the query `runs` times over the whole stream, after one unmeasured run over the first
`warm_up` batches (our engine alone and the bare index run over all of it a thousand times, for five
seconds at most, unless `warm_up` is 0). It appends one JSON object per line to the report and
flushes, so that the report of a job that is stopped shows its progress:

    {"event": "start", "system": "...", "version": "...", "settings": "..."}
    {"event": "batch", "run": 0, "batch": 3, "seconds": 0.4, "plus": 120, "minus": 3}       # of this batch alone
    {"event": "run", "run": 0, "seconds": 8.1, "plus": 4711, "minus": 12, "check": 991, "state_rows": 5, "state_bytes": 7}

- `seconds` of a run is from the start of the query to the last result, without starting the
  process, reading input that a system may read beforehand, or the unmeasured run.
- `plus` and `minus` count inserted and deleted result rows.
- `check` is the sum over all of them of ±`row_check`, modulo 2^64; a batch of a grouped query has
  its own, of the changes of that batch, so that the answer of every batch is compared.
- `state_rows` are those at the end, `state_bytes` the most that the state held.

Keys that a system cannot report are left out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from queries import Query, counted_in_sql


@dataclass(frozen=True)
class Job:
    """One query over one stream; see the top of the file."""

    workload: str
    shape: str  # path | star | grouped
    inputs: tuple[str, ...]  # the folder of each relation
    columns: int
    threshold: int
    window: bool
    batches: int
    runs: int = 3
    warm_up: int = 3
    limit: float = 300.0  # seconds for one run
    cores: int = 2
    memory: str = "6g"  # of the heap, where a system has one
    query: Query | None = None  # of a grouped job

    @property
    def relations(self) -> int:
        """How many relations the query joins."""
        return len(self.inputs)

    def files(self, relation: int) -> list[Path]:
        """The batches of one relation, in order."""
        return sorted(Path(self.inputs[relation]).glob("*.csv"))[: self.batches]

    def first(self, batches: int) -> Job:
        """The job over its first batches only."""
        return replace(self, batches=min(batches, self.batches))

    def write(self, path: Path) -> None:
        """Saves the job; a grouped one with its SQL, as it is and along its plan, for
        programs that cannot write it.
        """
        fields = asdict(self)
        if self.query:
            tables = {
                r.table: f"t{self.tables.index(i)}" for i, r in zip(self.inputs, self.query.relations, strict=True)
            }
            fields["sql"] = {"plain": self.query.sql(tables), "planned": counted_in_sql(self.query, tables)}
        path.write_text(json.dumps(fields, indent=1))

    @property
    def tables(self) -> list[str]:
        """The folders that are read, each once."""
        return list(dict.fromkeys(self.inputs))

    def table_columns(self, folder: str) -> tuple[str, ...]:
        """The names of a folder's columns."""
        return self.query.relations[self.inputs.index(folder)].columns if self.query else ("src", "dst")

    @staticmethod
    def read(path: Path) -> Job:
        """The job that `write` saved."""
        fields = json.loads(path.read_text())
        fields.pop("sql", None)
        query = Query.of(fields["query"]) if fields["query"] else None
        return Job(**{**fields, "inputs": tuple(fields["inputs"]), "query": query})

    def conditions(self, alias: str = "r") -> list[str]:
        """The conditions of the query in SQL over the aliases r1, r2, ..."""
        n = self.relations
        if self.shape == "path":
            joins = [f"{alias}{i}.dst = {alias}{i + 1}.src" for i in range(1, n)]
        else:
            joins = [f"{alias}1.src = {alias}{i}.src" for i in range(2, n + 1)]
        return [*joins, f"{alias}{n}.dst > {self.threshold}"]

    def vertices(self, alias: str = "r") -> list[str]:
        """The result columns x1, x2, ... in SQL."""
        return [f"{alias}1.src", *(f"{alias}{i}.dst" for i in range(1, self.relations + 1))][: self.columns]


MODULUS = 2**64


def row_check(row: Sequence[int]) -> int:
    """The check of one result row: (x_1 + 7) (x_last + 11) + sum of (2 i + 1) x_i, i from 1."""
    return (row[0] + 7) * (row[-1] + 11) + sum((2 * i + 1) * x for i, x in enumerate(row, start=1))


def check_in_sql(columns: Sequence[str]) -> str:
    """`row_check` over the named columns, in SQL."""
    terms = [
        f"({columns[0]} + 7) * ({columns[-1]} + 11)",
        *(f"{2 * i + 1} * {c}" for i, c in enumerate(columns, start=1)),
    ]
    return " + ".join(terms)


class Report:
    """The report of one job, a line of JSON per event."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1)

    def start(self, system: str, version: str, settings: str) -> None:
        """Writes the system and its settings."""
        self._write(event="start", system=system, version=version, settings=settings)

    def batch(self, run: int, batch: int, seconds: float, **figures: int) -> None:
        """Writes one batch of a measured run."""
        self._write(event="batch", run=run, batch=batch, seconds=seconds, **figures)

    def run(self, run: int, seconds: float, **figures: Any) -> None:
        """Writes the end of a measured run."""
        self._write(event="run", run=run, seconds=seconds, **figures)

    def _write(self, **event: Any) -> None:
        self._file.write(json.dumps(event) + "\n")
        self._file.flush()
