"""DuckDB on grouped jobs: the groups' changes by delta SQL along the query's plan (queries.py), or
all groups anew after every batch.

Delta SQL. Each view of the plan is a table with its sums per key. A batch's changes of a view are
the sum over its sources and lookups, in their order, of the product with changes of that one, the
new ones before it and the old ones after it. A `distinct` lookup changes where a key's n reaches or
leaves 0. The views are updated one after the other, so that a view finds in its lookups the old
values, the changes, and the new values. Then the result's rows are read for the keys at which a
factor of a product changed, before and after. All of it is signed: a batch is one phase.

In memory all views are linear in the tables, and no join is enumerated. DuckDB scans
the tables for each batch.
"""

from __future__ import annotations

from typing import Any

from jobs import Job, check_in_sql
from queries import Query, View, counted_in_sql, result_in_sql, view_in_sql
from streams import apply_rows, read_rows


class Tables:
    """The stream of a job: a table per distinct folder, and one per batch of its changes."""

    def __init__(self, job: Job, sql: Any) -> None:
        assert job.query is not None
        self.job, self.query, self.sql = job, job.query, sql
        self.columns = {f"t{i}": job.table_columns(folder) for i, folder in enumerate(job.tables)}
        self.names = {r.table: f"t{job.tables.index(i)}" for i, r in zip(job.inputs, self.query.relations, strict=True)}
        self.has: set[tuple[str, int]] = set()
        for table, folder in zip(self.columns, job.tables, strict=True):
            for b, path in enumerate(job.files(job.inputs.index(folder))):
                if path.stat().st_size:
                    read_rows(sql, f"{table}_{b}", path, self.columns[table], window=job.window)
                    self.has.add((table, b))

    def clear(self) -> None:
        """Empties the tables, as before a run."""
        for table, columns in self.columns.items():
            self.sql.execute(f"create or replace table {table} ({', '.join(f'{c} bigint' for c in columns)})")

    def apply(self, table: str, batch: int) -> None:
        """Applies a batch to a table."""
        if (table, batch) in self.has:
            if self.job.window:
                apply_rows(self.sql, table, f"{table}_{batch}", self.columns[table])
            else:
                self.sql.execute(f"insert into {table} select {', '.join(self.columns[table])} from {table}_{batch}")


def net_counts(sql: Any, query: Query, changes: str) -> tuple[int, int, int]:
    """Rows gained, rows lost, and check, of rows x1, x2, ... with a sign `n`; rows that are
    inserted and deleted again are left out.
    """
    changes = f"select * exclude n, sum(n) as n from ({changes}) group by all having sum(n) <> 0"
    check = check_in_sql([f"x{i}::hugeint" for i in range(1, query.columns + 1)])
    found = sql.execute(
        f"select count(*) filter (n > 0), count(*) filter (n < 0), coalesce(sum(n * ({check})), 0) from ({changes})"
    ).fetchone()
    return int(found[0]), int(found[1]), int(found[2])


class GroupsAnew:
    """One run that counts everything anew."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.now = counted_in_sql(tables.query, tables.names)
        tables.clear()
        tables.sql.execute(f"create or replace table before as from ({self.now}) limit 0")

    def batch(self, batch: int) -> tuple[int, int, int]:
        """Groups' rows gained and lost in the next batch, and their check."""
        for table in self.tables.columns:
            self.tables.apply(table, batch)
        sql = self.tables.sql
        sql.execute(f"create table after as {self.now}")
        found = net_counts(
            sql, self.tables.query, "select *, 1 as n from after union all select *, -1 as n from before"
        )
        sql.execute("drop table before; alter table after rename to before")
        return found


class GroupsByDelta:
    """One run by delta SQL."""

    def __init__(self, tables: Tables) -> None:
        self.tables, self.query, self.sql = tables, tables.query, tables.sql
        self.sums = frozenset(v.name for v in self.query.plan if v.sums)
        self.views = {v.name: v for v in self.query.plan}
        tables.clear()
        for view in self.query.plan:
            columns = [f"k{i} bigint" for i in range(1, len(view.key) + 1)]
            columns += ["n hugeint", *(["s hugeint"] if view.sums else [])]
            for kind in ("now", "old", "d"):
                self.sql.execute(f"create or replace table {kind}_{view.name} ({', '.join(columns)})")

    def batch(self, batch: int) -> tuple[int, int, int]:
        """Groups' rows gained and lost in the next batch, and their check."""
        changed = {table for table, b in self.tables.has if b == batch}
        for table in changed:
            self.sql.execute(f"create or replace table old_{table} as from {table}")
            self.tables.apply(table, batch)
        for view in self.query.plan:
            self._update(view, changed, batch)
        return self._result(changed)

    def _update(self, view: View, changed: set[str], batch: int) -> None:
        parts = [self.tables.names.get(view.source, view.source), *(lookup.view for lookup in view.lookups)]
        terms = []
        for i, part in enumerate(parts):
            if part in changed:
                of = [self._new(p, view, j == 0) for j, p in enumerate(parts[:i])]
                of.append(self._delta(part, view, i == 0, batch))
                of += [self._old(p, changed, view) for p in parts[i + 1 :]]
                terms.append(view_in_sql(view, self.sums, of[0], of[1:], signed=True))
        if not terms:
            return
        keys = ", ".join(f"k{i}" for i in range(1, len(view.key) + 1))
        totals = ["n", *(["s"] if view.sums else [])]
        added = ", ".join(f"sum({t}) as {t}" for t in totals)
        nonzero = " or ".join(f"sum({t}) <> 0" for t in totals)
        name = view.name
        union = " union all ".join(f"({t})" for t in terms)
        self.sql.execute(
            f"create or replace table d_{name} as select {keys}, {added} from ({union}) group by {keys} having {nonzero}"
        )
        self.sql.execute(f"drop table old_{name}; alter table now_{name} rename to old_{name}")
        self.sql.execute(
            f"create table now_{name} as select {keys}, {added} from (from old_{name} union all from d_{name})"
            f" group by {keys} having {nonzero}"
        )
        changed.add(name)

    def _new(self, part: str, view: View, is_source: bool) -> str:
        return self._as(part, f"now_{part}", view) if part in self.views else f"(select *, 1 as n from {part})"

    def _old(self, part: str, changed: set[str], view: View) -> str:
        return self._as(part, f"old_{part}" if part in changed else f"now_{part}", view)

    def _as(self, part: str, table: str, view: View) -> str:
        """A view as its joins see it; with the names of its columns where it is the source."""
        columns = [f"k{i}" for i in range(1, len(self.views[part].key) + 1)]
        if view.source == part:
            columns = [f"{k} as {c}" for k, c in zip(columns, view.columns, strict=True)]
        totals = ["1 as n"] if self.views[part].distinct else ["n", *(["s"] if self.views[part].sums else [])]
        return f"(select {', '.join([*columns, *totals])} from {table})"

    def _delta(self, part: str, view: View, is_source: bool, batch: int) -> str:
        if part not in self.views:
            return f"{part}_{batch}"
        if not self.views[part].distinct:
            return self._as(part, f"d_{part}", view)
        size = len(self.views[part].key)
        keys = [f"d.k{i}" for i in range(1, size + 1)]
        names = view.columns if view.source == part else [f"k{i}" for i in range(1, size + 1)]
        columns = ", ".join(f"{k} as {c}" for k, c in zip(keys, names, strict=True))
        on = " and ".join(f"o.k{i} = d.k{i}" for i in range(1, size + 1))
        was, now = "coalesce(o.n, 0)", "coalesce(o.n, 0) + d.n"
        return (
            f"(select {columns}, ({now} > 0)::int - ({was} > 0)::int as n from d_{part} d left join old_{part} o on {on}"
            f" where ({now} > 0) <> ({was} > 0))"
        )

    def _result(self, changed: set[str]) -> tuple[int, int, int]:
        keys = ", ".join(f"k{i}" for i in range(1, len(self.query.group) + 1))
        used = list(dict.fromkeys(name for _, names in self.query.products for name in names))
        touched = " union ".join(f"select {keys} from d_{name}" for name in used if name in changed)
        if not touched:
            return 0, 0, 0
        self.sql.execute(f"create or replace table touched as {touched}")

        def at(kind: str) -> str:
            views = {}
            for name in used:
                table = f"old_{name}" if kind == "old" and name in changed else f"now_{name}"
                totals = (
                    "1 as n" if self.views[name].distinct else ", ".join(["n", *(["s"] if name in self.sums else [])])
                )
                views[name] = f"(select {keys}, {totals} from {table} semi join touched using ({keys}))"
            return result_in_sql(self.query, views)

        return net_counts(
            self.sql, self.query, f"select *, 1 as n from ({at('now')}) union all select *, -1 as n from ({at('old')})"
        )


GROUPED: dict[str, type[GroupsAnew | GroupsByDelta]] = {"duckdb-delta": GroupsByDelta, "duckdb-recompute": GroupsAnew}
