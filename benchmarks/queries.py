"""Grouped queries of the benchmark, as data: relations, join conditions, and
the aggregates per group.

A `Query` joins relations with named columns of whole numbers (NULL is allowed where only `IS NULL`
reads it). Columns are written `alias.column`. A row of its result is the group's columns and then
its aggregates. A group without a result of the join is no row. Without aggregates the rows are
SELECT DISTINCT.

`plan` is the plan that an expert writes by hand for systems that do not push counts below joins:
views, each the sums per key of one relation (or view) joined with views before it on their keys,
and the products that make up a result row. It is equivalent to the query, and never enumerates a
join; tests compare the two. DuckDB and Flink get their SQL from it, and the exact answers are
computed by it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Relation:
    """A table of the stream under an alias."""

    alias: str
    table: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Aggregate:
    """One aggregate per group: `count` of results, `sum` of a linear form of a relation's columns
    modulo a number, `distinct` values.
    """

    kind: str  # count | sum | distinct
    of: str = ""  # the column of `distinct`, the alias of `sum`
    factors: tuple[int, ...] = ()  # of `sum`: one per column of the relation
    modulus: int = 1

    def term(self, columns: Sequence[str], alias: str = "") -> str:
        """The summand of `sum`, in SQL, over the relation's columns."""
        prefix = f"{alias or self.of}."
        form = " + ".join(f"{f} * {prefix}{c}" for f, c in zip(self.factors, columns, strict=True))
        return f"({form}) % {self.modulus}"


@dataclass(frozen=True)
class Lookup:
    """A joined view: its first key columns equal these columns of the source; the other
    ones are called `more` here.
    """

    view: str
    by: tuple[str, ...]
    more: tuple[str, ...] = ()


@dataclass(frozen=True)
class View:
    """Per key over a source and views joined to it: n, the sum of the products of their n; and
    where there is a sum, s, of their s.

    A view is `distinct` if the views and queries that join it see 1 per key, whatever its n.
    """

    name: str
    source: str  # a table, or a view before it
    columns: tuple[str, ...]  # of the source
    key: tuple[str, ...]
    lookups: tuple[Lookup, ...] = ()
    where: str = ""  # a condition on the source alone
    term: str = ""  # what `s` adds up of a row of the source
    sums: bool = False  # the view has an s: of its term, or of the one lookup that has one
    distinct: bool = False


@dataclass(frozen=True)
class Query:
    """A grouped query; see the top of the file."""

    relations: tuple[Relation, ...]
    equi_joins: tuple[tuple[str, str], ...]
    group: tuple[str, ...]
    aggregates: tuple[Aggregate, ...] = ()
    below: tuple[tuple[str, int], ...] = ()  # columns, and what they are below
    null: tuple[str, ...] = ()  # columns that are NULL
    unequal: tuple[tuple[str, str], ...] = ()
    plan: tuple[View, ...] = ()
    products: tuple[
        tuple[int, tuple[str, ...]], ...
    ] = ()  # signed products of views on one key that add up to the result

    @property
    def columns(self) -> int:
        """Columns of a result row."""
        return len(self.group) + len(self.aggregates)

    def position(self, column: str) -> tuple[int, int]:
        """The numbers of a column's relation and of the column in it."""
        alias, name = column.split(".")
        relation = next(i for i, r in enumerate(self.relations) if r.alias == alias)
        return relation, self.relations[relation].columns.index(name)

    def sql(self, tables: dict[str, str] | None = None) -> str:
        """The query in SQL, its relations joined in their order; `tables` renames tables."""
        tables = tables or {}
        known: list[str] = []
        source = ""
        for r in self.relations:
            equi_joins = [f"{a} = {b}" for a, b in self.equi_joins if r.alias in (_of(a), _of(b))]
            on = [e for e in equi_joins if all(_of(side) in [*known, r.alias] for side in e.split(" = "))]
            known.append(r.alias)
            name = f"{tables.get(r.table, r.table)} AS {r.alias}"
            source += f" JOIN {name} ON {' AND '.join(on)}" if source else name
        conditions = [
            *(f"{column} < {limit}" for column, limit in self.below),
            *(f"{column} IS NULL" for column in self.null),
            *(f"{a} <> {b}" for a, b in self.unequal),
        ]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        names = [f"{c} AS x{i}" for i, c in enumerate(self.group, start=1)]
        if not self.aggregates:
            return f"SELECT DISTINCT {', '.join(names)} FROM {source}{where}"
        first = len(self.group) + 1
        values = [f"{self._aggregate(a)} AS x{i}" for i, a in enumerate(self.aggregates, start=first)]
        return f"SELECT {', '.join([*names, *values])} FROM {source}{where} GROUP BY {', '.join(self.group)}"

    def _aggregate(self, a: Aggregate) -> str:
        if a.kind == "count":
            return "COUNT(*)"
        if a.kind == "distinct":
            return f"COUNT(DISTINCT {a.of})"
        return f"SUM({a.term(next(r.columns for r in self.relations if r.alias == a.of))})"

    def clauses(self) -> list[str]:
        """The query in words with numbers for columns, as the engine's program
        reads it; without the plan.
        """
        at = {c: "{} {}".format(*self.position(c)) for c in self._named()}
        return [
            *(f"equal {at[a]} {at[b]}" for a, b in self.equi_joins),
            *(f"below {at[c]} {limit}" for c, limit in self.below),
            *(f"null {at[c]}" for c in self.null),
            *(f"unequal {at[a]} {at[b]}" for a, b in self.unequal),
            *(f"group {at[c]}" for c in self.group),
            *(self._clause(a, at) for a in self.aggregates),
        ]

    def _clause(self, a: Aggregate, at: dict[str, str]) -> str:
        if a.kind == "sum":
            relation = next(i for i, r in enumerate(self.relations) if r.alias == a.of)
            return f"sum {relation} {a.modulus} {' '.join(map(str, a.factors))}"
        return f"distinct {at[a.of]}" if a.kind == "distinct" else "count"

    def _named(self) -> list[str]:
        pairs = [c for pair in (*self.equi_joins, *self.unequal) for c in pair]
        distinct = [a.of for a in self.aggregates if a.kind == "distinct"]
        return [*pairs, *(c for c, _ in self.below), *self.null, *self.group, *distinct]

    @staticmethod
    def of(fields: dict[str, Any]) -> Query:
        """The query from its fields as in JSON."""
        plain = {k: _tuples(v) for k, v in fields.items() if k not in ("relations", "aggregates", "plan")}
        views = [{**v, "lookups": tuple(Lookup(**_fields(x)) for x in v["lookups"])} for v in fields["plan"]]
        return Query(
            relations=tuple(Relation(**_fields(r)) for r in fields["relations"]),
            aggregates=tuple(Aggregate(**_fields(a)) for a in fields["aggregates"]),
            plan=tuple(View(**_fields(v)) for v in views),
            **plain,
        )


def _of(column: str) -> str:
    return column.split(".")[0]


def _tuples(value: Any) -> Any:
    return tuple(_tuples(v) for v in value) if isinstance(value, list | tuple) else value


def _fields(fields: dict[str, Any]) -> dict[str, Any]:
    return {k: _tuples(v) for k, v in fields.items()}


def qualified(text: str, columns: Sequence[str], alias: str) -> str:
    """A condition or a term over a source's columns, with the source's alias."""
    return re.sub(r"\b(" + "|".join(columns) + r")\b", rf"{alias}.\1", text)


def view_in_sql(view: View, sums: frozenset[str], source: str, lookups: Sequence[str], signed: bool = False) -> str:
    """A view as SELECT ... GROUP BY over a source and lookups given in SQL, each with columns k1,
    k2, ... n, s where it is a view.

    `signed`: source and lookups have n in any case (changes among them), groups that add up to
    nothing are left out.
    """
    names = {c: f"t.{c}" for c in view.columns}
    joins = ""
    for i, (lookup, sql) in enumerate(zip(view.lookups, lookups, strict=True)):
        on = " AND ".join(f"v{i}.k{j} = t.{c}" for j, c in enumerate(lookup.by, start=1))
        names |= {c: f"v{i}.k{j}" for j, c in enumerate(lookup.more, start=len(lookup.by) + 1)}
        joins += f" JOIN {sql} AS v{i} ON {on}"
    factors = [*(["t.n"] if signed else []), *(f"v{i}.n" for i in range(len(view.lookups)))]
    n = f"SUM({' * '.join(factors)})" if factors else "COUNT(*)"
    key = [names[c] for c in view.key]
    columns = [f"{c} AS k{i}" for i, c in enumerate(key, start=1)]
    totals = [f"{n} AS n"]
    if view.sums:
        carriers = [i for i, lookup in enumerate(view.lookups) if lookup.view in sums]
        terms = [f"v{i}.{'s' if i in carriers else 'n'}" for i in range(len(view.lookups))]
        own = [f"({qualified(view.term, view.columns, 't')})"] if view.term else []
        totals.append(f"SUM({' * '.join([*(['t.n'] if signed else []), *own, *terms])}) AS s")
    where = f" WHERE {qualified(view.where, view.columns, 't')}" if view.where else ""
    having = ""
    if signed:
        having = f" HAVING {n} <> 0" + (f" OR {totals[1].removesuffix(' AS s')} <> 0" if view.sums else "")
    return f"SELECT {', '.join([*columns, *totals])} FROM {source} AS t{joins}{where} GROUP BY {', '.join(key)}{having}"


def counted_in_sql(query: Query, tables: dict[str, str] | None = None) -> str:
    """The whole query in SQL along its plan, computed anew: every view a
    subquery, none enumerates a join.
    """
    tables = tables or {}
    sums = frozenset(v.name for v in query.plan if v.sums)
    made: dict[str, str] = {}
    for view in query.plan:
        if view.source in made:
            renamed = ", ".join(f"k{i} AS {c}" for i, c in enumerate(view.columns, start=1))
            source = f"(SELECT {renamed} FROM {made[view.source]} AS u)"
        else:
            source = tables.get(view.source, view.source)
        sql = view_in_sql(view, sums, source, [made[lookup.view] for lookup in view.lookups])
        if view.distinct:
            keys = ", ".join(f"k{i}" for i in range(1, len(view.key) + 1))
            sql = f"SELECT {keys}, 1 AS n FROM ({sql}) AS d"
        made[view.name] = f"({sql})"
    return result_in_sql(query, made)


def result_in_sql(query: Query, views: dict[str, str]) -> str:
    """The result's rows x1, x2, ... of views in SQL: the signed products, added
    up where there are several.
    """
    keys = range(1, len(query.group) + 1)
    sums = {v.name for v in query.plan if v.sums}
    parts = []
    for sign, names in query.products:
        columns = [f"p0.k{i} AS k{i}" for i in keys]
        columns.append(f"{sign} * {' * '.join(f'p{i}.n' for i in range(len(names)))} AS n")
        if sums:
            columns.append(f"{' * '.join(f'p{i}.' + ('s' if v in sums else 'n') for i, v in enumerate(names))} AS s")
        joins = f"{views[names[0]]} AS p0"
        for i, name in enumerate(names[1:], start=1):
            on = " AND ".join(f"p{i}.k{k} = p0.k{k}" for k in keys)
            joins += f" JOIN {views[name]} AS p{i} ON {on}"
        parts.append(f"SELECT {', '.join(columns)} FROM {joins}")
    whole = f"({' UNION ALL '.join(parts)}) AS r"
    totals = ["n", "s"][: len(query.aggregates)] if query.aggregates else []
    names_out = [f"k{i} AS x{i}" for i in keys] + [
        f"{t} AS x{i}" for i, t in enumerate(totals, start=len(query.group) + 1)
    ]
    if len(parts) > 1:
        group = ", ".join(f"k{i}" for i in keys)
        whole = f"(SELECT {group}, SUM(n) AS n FROM {whole} GROUP BY {group} HAVING SUM(n) <> 0) AS q"
    return f"SELECT {', '.join(names_out)} FROM {whole}"
