"""Streams of edges for the jobs, in files, and their exact answers.

    python benchmarks/streams.py FOLDER --edges 2000 --batches 20

writes one generated power-law graph; `Graph.from_file` reads a real one.
Everything follows from the seed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import counted
from jobs import MODULUS, Job, check_in_sql
from queries import Query, counted_in_sql

WINDOW = 4  # how many batches an edge lives before it is deleted


@dataclass(frozen=True)
class Graph:
    """Distinct directed edges without loops, in order of arrival."""

    name: str
    src: Any  # int64 array
    dst: Any

    @staticmethod
    def power_law(edges: int, seed: int = 1, vertices: int | None = None) -> Graph:
        """A generated graph: vertex weight (rank + 8)^-0.75, by default as many edges per vertex as
        the known graphs have.
        """
        rng = np.random.default_rng(seed)
        vertices = vertices or max(16, int(edges / 6.65))
        weight = (np.arange(vertices) + 8.0) ** -0.75
        weight /= weight.sum()
        pairs = np.empty((0, 2), dtype=np.int64)
        while len(pairs) < edges:
            more = rng.choice(vertices, size=(2 * edges, 2), p=weight)
            pairs = np.unique(np.vstack([pairs, more[more[:, 0] != more[:, 1]]]), axis=0)
        pairs = pairs[rng.permutation(len(pairs))[:edges]]
        names = rng.permutation(vertices)
        return Graph(f"g{edges // 1000}k" if edges >= 1000 else f"g{edges}", names[pairs[:, 0]], names[pairs[:, 1]])

    @staticmethod
    def from_file(path: Path, name: str, *, relabel: bool) -> Graph:
        """Edges of a file, gzipped or not, two numbers a line; relabelled and shuffled with
        a fixed seed if requested.
        """
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
            delimiter = "," if ".csv" in path.name else None
            edges = np.loadtxt(file, dtype=np.int64, comments="#", delimiter=delimiter)
        if relabel:
            vertices, index = np.unique(edges, return_inverse=True)
            rng = np.random.default_rng(3)
            edges = rng.permutation(len(vertices))[index.reshape(edges.shape)]
            edges = edges[rng.permutation(len(edges))]
        return Graph(name, edges[:, 0], edges[:, 1])

    def threshold(self, percent: float) -> int:
        """The vertex above which `percent` per cent of the edges end."""
        ends = np.sort(self.dst)
        return int(ends[int(len(ends) * (1 - percent / 100))])

    def batch_of(self, batches: int, tail: int | None = None) -> Any:
        """The batch in which each edge arrives: equal parts, or batches of `tail` edges after a
        first one with the rest.
        """
        positions = np.arange(len(self.src), dtype=np.int64)
        if tail is None:
            return positions * batches // len(positions)
        first = len(positions) - tail * (batches - 1)
        return np.where(positions < first, 0, (positions - first) // tail + 1)

    def write(
        self,
        folder: Path,
        batches: int,
        *,
        window: bool,
        tail: int | None = None,
        part: int | None = None,
        parts: int = 1,
    ) -> Path:
        """Writes one file per batch of the edges whose position is `part` modulo
        `parts`, unless they exist.
        """
        batch = self.batch_of(batches, tail)
        here = np.ones(len(self.src), dtype=bool) if part is None else np.arange(len(self.src)) % parts == part
        rows = [f"{x},{y}" for x, y in zip(self.src[here], self.dst[here], strict=True)]
        return write_rows(folder, batches, rows, batch[here], window=window)

    def write_ends(self, folder: Path, batches: int, *, window: bool, src: bool, part: int, parts: int) -> Path:
        """As `write`, of one end of each edge only."""
        batch = self.batch_of(batches)
        here = np.arange(len(self.src)) % parts == part
        rows = [str(x) for x in (self.src if src else self.dst)[here]]
        return write_rows(folder, batches, rows, batch[here], window=window)


def write_rows(
    folder: Path, batches: int, rows: Sequence[str], batch: Any, *, window: bool, stays: bool = False
) -> Path:
    """Writes one file per batch of rows in the order of their batches; with `window` they are
    deleted four batches later, except for tables that stay.
    """
    done = folder / "done"
    if done.exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    borders = np.searchsorted(batch, np.arange(batches + 1))

    def of(i: int) -> Sequence[str]:
        return rows[borders[i] : borders[i + 1]] if i >= 0 else []

    for i in range(batches):
        path = folder / f"{i:05d}.csv"
        with path.open("w") as file:
            if window and not stays:
                file.writelines(f"delete,{row}\n" for row in of(i - WINDOW))
            operation = "insert," if window else ""
            file.writelines(f"{operation}{row}\n" for row in of(i))
        os.utime(path, (10**9 + i, 10**9 + i))  # Spark takes the files of a folder in the order of their times
    done.touch()
    return folder


@dataclass(frozen=True)
class Answer:
    """The answer that every system must find: rows gained and lost over the stream, and the check
    of the final result.
    """

    plus: int
    minus: int
    check: int
    batches: tuple[
        tuple[int, int], ...
    ] = ()  # of a grouped job: how many groups there are after each batch, and their check


def read_batches(job: Job, relation: int) -> list[tuple[Any, Any, Any]]:
    """(weight, src, dst) arrays of every batch of a relation."""
    batches = []
    for path in job.files(relation):
        rows = [line.split(",") for line in path.read_text().splitlines()]
        weights = np.array([-1 if row[0] == "delete" else 1 for row in rows], dtype=np.int64)
        ends = np.array([(int(row[-2]), int(row[-1])) for row in rows], dtype=np.int64).reshape(-1, 2)
        batches.append((weights, ends[:, 0], ends[:, 1]))
    return batches


def answer(job: Job) -> Answer:
    """The exact answer by DuckDB: the net changes of every batch, from complete joins,
    and the check of the last.
    """
    if job.query:
        return grouped_answer(job)
    connection = duckdb.connect()
    final = _result(job)
    streams = {folder: read_batches(job, i) for i, folder in enumerate(job.inputs)}
    if not job.window:
        for i, folder in enumerate(job.inputs, start=1):
            _load(connection, f"r{i}", streams[folder])
        rows, check = connection.execute(final).fetchone() or (0, 0)
        return Answer(int(rows), 0, int(check or 0) % MODULUS)
    for i in range(1, job.relations + 1):
        connection.execute(f"create table r{i} (src bigint, dst bigint)")
    columns = ", ".join(f"{v} as x{i}" for i, v in enumerate(job.vertices(), start=1))
    sources = ", ".join(f"r{i}" for i in range(1, job.relations + 1))
    connection.execute(
        "create table before as select *, 0::hugeint as n from (" + f"select {columns} from {sources}) limit 0"
    )
    names = [f"x{i}" for i in range(1, job.columns + 1)]
    plus = minus = 0
    for b in range(job.batches):
        for i, folder in enumerate(job.inputs, start=1):
            weights, src, dst = streams[folder][b]
            change = {"w": weights, "src": src, "dst": dst}
            if len(weights):
                connection.execute(
                    f"delete from r{i} using (select src, dst from change where w < 0) d"
                    f" where r{i}.src = d.src and r{i}.dst = d.dst"
                )
                connection.execute(f"insert into r{i} select src, dst from change where w > 0")
            del change
        group = ", ".join(names)
        connection.execute(
            f"create table after as select {group}, count(*)::hugeint as n from (select {columns} from {sources}"
            f" where {' and '.join(job.conditions())}) group by all"
        )
        gained, lost = connection.execute(
            "select coalesce(sum(greatest(d, 0)), 0), coalesce(sum(greatest(-d, 0)), 0) from ("
            f"select {group}, sum(n) as d from (select * from after union all select {group}, -n from before) group by all)"
        ).fetchone() or (0, 0)
        plus, minus = plus + int(gained), minus + int(lost)
        connection.execute("drop table before; alter table after rename to before")
    _, check = connection.execute(final).fetchone() or (0, 0)
    return Answer(plus, minus, int(check or 0) % MODULUS)


def read_rows(connection: Any, table: str, path: Path, columns: Sequence[str], *, window: bool) -> None:
    """Makes a table of a batch's rows, with `n` 1 or -1 after their columns."""
    kinds = ", ".join([*(["'op': 'VARCHAR'"] if window else []), *(f"'{c}': 'BIGINT'" for c in columns)])
    sign = "if(op = 'delete', -1, 1)" if window else "1"
    connection.execute(
        f"create table {table} as select {', '.join(columns)}, {sign} as n"
        f" from read_csv('{path}', header = false, delim = ',', auto_detect = false, columns = {{{kinds}}})"
    )


def apply_rows(connection: Any, table: str, changes: str, columns: Sequence[str]) -> None:
    """Applies changes to a table: deletes remove one copy of a row each, then rows are inserted."""
    names = ", ".join(columns)
    same = " and ".join(f"t.{c} is not distinct from d.{c}" for c in columns)
    numbered = f"select *, row_number() over (partition by {names} order by key) as copy from"
    connection.execute(
        f"delete from {table} where rowid in (select t.key from"
        f" ({numbered} (select *, rowid as key from {table})) t join"
        f" ({numbered} (select {names}, rowid as key from {changes} where n < 0)) d on {same} and t.copy = d.copy)"
    )
    connection.execute(f"insert into {table} select {names} from {changes} where n > 0")


def grouped_answer(job: Job) -> Answer:
    """The exact answer of a grouped job: its groups after every batch, computed
    anew along the query's plan.
    """
    query = job.query
    assert query is not None
    connection = duckdb.connect()
    names = {folder: f"t{i}" for i, folder in enumerate(job.tables)}
    for folder, name in names.items():
        connection.execute(f"create table {name} ({', '.join(f'{c} bigint' for c in job.table_columns(folder))})")
    now = counted_in_sql(query, {r.table: names[i] for i, r in zip(job.inputs, query.relations, strict=True)})
    columns = [f"x{i}" for i in range(1, query.columns + 1)]
    connection.execute(f"create table before as from ({now}) limit 0")
    plus = minus = 0
    batches = []
    for batch in range(job.batches):
        for folder, name in names.items():
            path = job.files(job.inputs.index(folder))[batch]
            if path.stat().st_size:
                read_rows(connection, "d", path, job.table_columns(folder), window=job.window)
                apply_rows(connection, name, "d", job.table_columns(folder))
                connection.execute("drop table d")
        connection.execute(f"create table after as {now}")
        for sign, one, other in ((1, "after", "before"), (-1, "before", "after")):
            found = connection.execute(f"select count(*) from (from {one} except from {other})").fetchone()
            changed = int(found[0]) if found else 0
            plus, minus = plus + changed * (sign > 0), minus + changed * (sign < 0)
        check = check_in_sql([f"{c}::hugeint" for c in columns])
        groups, total = connection.execute(f"select count(*), sum({check}) from after").fetchone() or (0, 0)
        batches.append((int(groups), int(total or 0) % MODULUS))
        connection.execute("drop table before; alter table after rename to before")
    return Answer(plus, minus, batches[-1][1], tuple(batches))


def _result(job: Job) -> str:
    columns = ", ".join(f"{v} as x{i}" for i, v in enumerate(job.vertices(), start=1))
    sources = ", ".join(f"r{i}" for i in range(1, job.relations + 1))
    names = [f"x{i}" for i in range(1, job.columns + 1)]
    return (
        f"select count(*), sum(({check_in_sql(names)})::hugeint) from"
        f" (select {columns} from {sources} where {' and '.join(job.conditions())})"
    )


def _load(connection: Any, table: str, batches: list[tuple[Any, Any, Any]]) -> None:
    edges = {"src": np.concatenate([b[1] for b in batches]), "dst": np.concatenate([b[2] for b in batches])}
    connection.execute(f"create table {table} as select * from edges")
    del edges


def make_job(
    graph: Graph,
    workload: str,
    folder: Path,
    *,
    window: bool,
    batches: int = 20,
    tail: int | None = None,
    **settings: Any,
) -> Job:
    """The job of a workload over a graph.

    A grouped workload is one of counted.py's. The name of any other workload has shape, relations
    and the per cent of end vertices: `L3-1`, `L4-1`, `STAR4-1`. `EMPTY` is the path of three over
    one new edge per batch that joins nothing, whatever the graph.
    """
    if counted.is_counted(workload):
        return _grouped_job(graph, workload, folder, window=window, batches=batches, **settings)
    if workload == "EMPTY":
        lonely = np.arange(batches, dtype=np.int64)
        graph = Graph("empty", 10**9 + 2 * lonely, 10**9 + 2 * lonely + 1)
    name, _, percent = ("L3", "", "10") if workload == "EMPTY" else workload.partition("-")
    star = name.startswith("STAR")
    relations = int(name.removeprefix("STAR").removeprefix("L"))
    base = folder / graph.name / f"{'win' if window else 'ins'}-{batches}{'' if tail is None else f'-of-{tail}'}"
    if star:
        inputs = [
            graph.write(base / f"part{i}", batches, window=window, tail=tail, part=i, parts=relations)
            for i in range(relations)
        ]
    else:
        inputs = [graph.write(base / "all", batches, window=window, tail=tail)] * relations
    return Job(
        workload=workload,
        shape="star" if star else "path",
        inputs=tuple(str(i) for i in inputs),
        # The four-hop path drops its last vertex if rows are only inserted. If they are also
        # deleted, equal rows of a batch would cancel out.
        columns=4 if name == "L4" and not window else relations + 1,
        threshold=graph.threshold(float(percent)),
        window=window,
        batches=batches,
        **settings,
    )


def _grouped_job(graph: Graph, workload: str, folder: Path, *, window: bool, batches: int, **settings: Any) -> Job:
    base = folder / graph.name / f"{'win' if window else 'ins'}-{batches}"
    query = counted.query(workload)

    def write(table: str) -> Path:
        if table in ("v1", "v2"):
            first = table == "v1"
            return graph.write_ends(base / table, batches, window=window, src=first, part=0 if first else 1, parts=5)
        if table == "e":
            return graph.write(base / "all", batches, window=window)
        return graph.write(base / f"part{table[1:]}", batches, window=window, part=int(table[1:]), parts=4)

    inputs = tuple(str(write(r.table)) for r in query.relations)
    return grouped_job(workload, query, inputs, window=window, batches=batches, **settings)


def grouped_job(
    workload: str, query: Query, inputs: tuple[str, ...], *, window: bool, batches: int, **settings: Any
) -> Job:
    """The job of a grouped query over the folders of its relations."""
    return Job(workload, "grouped", inputs, query.columns, 0, window=window, batches=batches, query=query, **settings)


def main() -> None:
    """Writes a generated graph with one job per workload and mode, and prints the answers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--edges", type=int, default=2000)
    parser.add_argument("--batches", type=int, default=20)
    args = parser.parse_args()
    graph = Graph.power_law(args.edges)
    for workload in ("L3-10", "L3-1", "L4-1", "STAR4-1", *counted.GRAPH_WORKLOADS):
        for window in (False, True):
            job = make_job(graph, workload, args.folder.resolve(), window=window, batches=args.batches)
            path = args.folder / f"{graph.name}-{workload}-{'win' if window else 'ins'}.json"
            job.write(path)
            print(path, json.dumps(answer(job).__dict__))


if __name__ == "__main__":
    main()
