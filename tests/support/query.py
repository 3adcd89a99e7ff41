"""The random SQL of `support.generate`: groups of relations, merged two by two into one SELECT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random

from support.cases import Table
from support.values import FAMILY, literal, random_value


@dataclass(frozen=True)
class Ref:
    """An expression that a query can name in one scope: its SQL, its type, and the relation it
    comes from (None: several).
    """

    sql: str
    type: str
    relation: int | None
    plain: bool = True


@dataclass
class Group:
    """The relations joined so far: their FROM text, the expressions that can be named, and
    conditions still to be written.
    """

    text: str
    refs: list[Ref]
    compound: bool = False
    pending: list[str] = field(default_factory=list)
    #: Plain columns equated with each other, by SQL text.
    equal: dict[str, list[Ref]] = field(default_factory=dict)


def random_query(
    rng: Random, tables: Sequence[Table], relations: int, connected: bool = False, cycles: bool = False
) -> str:
    """A SELECT over `relations` relations; their join graph is acyclic, unless `cycles`: then most have some."""
    return _Query(rng, tables, connected, cycles).build(relations)


class _Query:
    def __init__(self, rng: Random, tables: Sequence[Table], connected: bool, cycles: bool) -> None:
        self.rng = rng
        self.tables = tables
        self.names = 0
        self.connected = connected
        self.cycles = cycles
        self.commas = rng.random() < 0.25
        self.crosses = cycles or (not connected and rng.random() < 0.12)
        self.bushy = 0.0 if self.commas else rng.choice((0.0, 0.4))
        self.wraps = rng.choice((0.0, 0.0, 0.3))

    def build(self, relations: int) -> str:
        groups = [self.relation(i) for i in range(relations)]
        while len(groups) > 1:
            left = groups.pop(0)
            right = groups.pop(self.rng.randrange(len(groups)) if self.rng.random() < self.bushy else 0)
            merged = self.merge(left, right)
            if len(groups) and self.rng.random() < self.wraps:
                merged = self.wrap(merged)
            at = len(groups) if self.rng.random() < self.bushy else 0
            groups.insert(at, merged)
        if self.cycles:
            for _ in range(self.rng.choice((1, 1, 2))):
                groups[0].pending += self.cycle(groups[0])
        return self.select(groups[0])

    # -- relations ---------------------------------------------------------------------------------------------

    def relation(self, ordinal: int) -> Group:
        table = self.tables[ordinal] if ordinal < len(self.tables) else self.rng.choice(self.tables)
        alias = f"r{ordinal}"
        refs = [Ref(f"{alias}.{column.name}", column.type, ordinal) for column in table.columns]
        group = Group(f"{table.name} {alias}", refs)
        if self.rng.random() < 0.35:
            group.pending.append(self.filter(self.rng.choice(refs)))
        if self.rng.random() < 0.15:
            group = self.wrap(group)
        return group

    def filter(self, ref: Ref) -> str:
        x, rng = ref.sql, self.rng
        if rng.random() < 0.25:
            return f"{x} IS NOT NULL"
        value = literal(ref.type, random_value(rng, ref.type, 12, 0.0) or "0")
        match FAMILY[ref.type]:
            case "integer":
                return rng.choice((f"{x} > 1", f"{x} % 2 = 0", f"{x} IN (0, 1, 2, 3, 5, {value})", f"{x} <> {value}"))
            case "string":
                return rng.choice((f"{x} LIKE 's%'", f"length({x}) < 9", f"{x} <> {value}"))
            case "boolean":
                return rng.choice((x, f"NOT {x}", f"{x} = {value}"))
            case _:
                return rng.choice((f"{x} >= {value}", f"{x} <> {value}", f"({x} IS NULL OR {x} < {value})"))

    # -- merging -----------------------------------------------------------------------------------------------

    def merge(self, left: Group, right: Group) -> Group:
        links = [] if self.crosses and self.rng.random() < 0.5 else self.links(left, right)
        pending = left.pending + right.pending
        if self.rng.random() < 0.15:
            pending += self.residual(left, right)
        merged = Group("", left.refs + right.refs, True, pending, {**left.equal, **right.equal})
        conditions = [self.equi_join_condition(merged, a, b) for a, b in links]
        inner = f"({right.text})" if right.compound else right.text
        if self.commas:
            merged.text = f"{left.text}, {inner}"
            merged.pending += conditions
            return merged
        on = [c for c in conditions if self.rng.random() < 0.85]
        if self.connected and not on:
            on = conditions
        merged.pending += [c for c in conditions if c not in on]
        if on and self.rng.random() < 0.3:  # any other condition that is possible here
            on, merged.pending = on + merged.pending, []
        self.rng.shuffle(on)
        join = self.rng.choice(("JOIN", "INNER JOIN"))
        merged.text = f"{left.text} {join} {inner} ON {' AND '.join(on)}" if on else f"{left.text} CROSS JOIN {inner}"
        return merged

    def links(self, left: Group, right: Group) -> list[tuple[Ref, Ref]]:
        """One to three pairs of terms, all between the same two relations."""
        pairs = [
            (a, b)
            for a, b in product(left.refs, right.refs)
            if a.relation is not None and b.relation is not None and FAMILY[a.type] == FAMILY[b.type]
        ]
        keys = [(a, b) for a, b in pairs if FAMILY[a.type] not in ("boolean", "binary")]
        if not keys:
            return []
        a, b = self.rng.choice(keys)
        same = [p for p in pairs if p[0].relation == a.relation and p[1].relation == b.relation and p != (a, b)]
        more = self.rng.choices((0, 1, 2), weights=(70, 25, 5))[0]
        chosen = [(a, b), *self.rng.sample(same, min(more, len(same)))]
        return [(self.member(left, x), self.member(right, y)) for x, y in chosen]

    def cycle(self, group: Group) -> list[str]:
        """Equi-join conditions that link three or four relations in a circle, each by two columns."""
        rng = self.rng
        by_family: dict[str, dict[int, list[Ref]]] = {}
        for ref in group.refs:
            if ref.relation is not None and FAMILY[ref.type] not in ("boolean", "binary"):
                by_family.setdefault(FAMILY[ref.type], {}).setdefault(ref.relation, []).append(ref)
        pairs = [{r: rng.sample(refs, 2) for r, refs in of.items() if len(refs) > 1} for of in by_family.values()]
        possible = [columns for columns in pairs if len(columns) > 2]
        if not possible:
            return []
        columns = rng.choice(possible)
        around = rng.sample(sorted(columns), min(len(columns), rng.choice((3, 3, 4))))
        return [
            f"{columns[a][1].sql} {'<=>' if rng.random() < 0.15 else '='} {columns[b][0].sql}"
            for a, b in zip(around, around[1:] + around[:1], strict=True)
        ]

    def member(self, group: Group, ref: Ref) -> Ref:
        """Another column that already equals this one, or sometimes an expression over it."""
        roll = self.rng.random()
        if roll < 0.2 and (others := [r for r in group.equal.get(ref.sql, []) if r in group.refs]):
            return self.rng.choice(others)
        if roll < 0.3 and FAMILY[ref.type] == "integer":
            return Ref(
                self.rng.choice((f"{ref.sql} + 1", f"{ref.sql} % 4", f"abs({ref.sql})")), "bigint", ref.relation, False
            )
        if roll < 0.3 and FAMILY[ref.type] == "string":
            return Ref(f"lower({ref.sql})", "string", ref.relation, False)
        return ref

    def equi_join_condition(self, group: Group, a: Ref, b: Ref) -> str:
        if a.plain and b.plain and a.type == b.type:
            members = {r.sql: r for r in [a, b, *group.equal.get(a.sql, []), *group.equal.get(b.sql, [])]}
            for sql in members:
                group.equal[sql] = [r for r in members.values() if r.sql != sql]
        if self.rng.random() < 0.5:
            a, b = b, a
        return f"{a.sql} {'<=>' if self.rng.random() < 0.15 else '='} {b.sql}"

    def residual(self, left: Group, right: Group) -> list[str]:
        pairs = [(a, b) for a, b in product(left.refs, right.refs) if FAMILY[a.type] == FAMILY[b.type] != "boolean"]
        if not pairs:
            return []
        (a, b), (c, d) = self.rng.choice(pairs), self.rng.choice(pairs)
        forms = [f"{a.sql} < {b.sql}", f"{a.sql} <> {b.sql}", f"({a.sql} >= {b.sql} OR {c.sql} < {d.sql})"]
        if FAMILY[a.type] == "integer":
            forms.append(f"{a.sql} % 3 + {b.sql} % 3 < 3")
        forms.append(f"({a.sql} IS NULL OR NOT {c.sql} <=> {d.sql})")
        return [self.rng.choice(forms)]

    # -- projections -------------------------------------------------------------------------------------------

    def wrap(self, group: Group) -> Group:
        """The group as a subselect: fewer columns, some computed, all renamed."""
        alias = self.fresh("q")
        kept = [ref for ref in group.refs if self.rng.random() < 0.8 or not self.spare(group, ref)]
        if len(kept) > 20:
            kept = kept[:6] + self.rng.sample(kept[6:], 8)
        items: list[str] = []
        refs: list[Ref] = []
        for ref in [*kept, *self.computed(group)]:
            name = self.fresh("n")
            items.append(f"{ref.sql} AS {name}")
            refs.append(Ref(f"{alias}.{name}", ref.type, ref.relation))
        where = f" WHERE {' AND '.join(group.pending)}" if group.pending else ""
        return Group(f"(SELECT {', '.join(items)} FROM {group.text}{where}) {alias}", refs)

    def spare(self, group: Group, ref: Ref) -> bool:
        return sum(r.relation == ref.relation for r in group.refs) > 3

    def computed(self, group: Group) -> list[Ref]:
        """Columns that no table has; over one relation they can be keys."""
        rng = self.rng
        found: list[Ref] = []
        for _ in range(rng.choice((0, 1, 1, 2))):
            a, b = rng.choice(group.refs), rng.choice(group.refs)
            relation = a.relation if a.relation == b.relation else None
            match FAMILY[a.type], FAMILY[b.type]:
                case "integer", "integer":
                    found.append(Ref(f"CAST({a.sql} AS bigint) - {b.sql} % 5", "bigint", relation, False))
                case "string", "string":
                    found.append(Ref(f"{a.sql} || '-' || {b.sql}", "string", relation, False))
                case "integer", _:
                    found.append(Ref(f"coalesce({a.sql} % 10, 0)", a.type, a.relation, False))
                case "string", _:
                    found.append(Ref(f"upper({a.sql})", "string", a.relation, False))
                case _:
                    text = f"CASE WHEN {a.sql} IS NULL OR {b.sql} IS NULL THEN 1 ELSE 2 END"
                    found.append(Ref(text, "int", relation, False))
        return found

    def select(self, group: Group) -> str:
        rng = self.rng
        chosen = rng.sample(group.refs, min(len(group.refs), rng.randint(1, 10)))
        if len(group.refs) > 60 and rng.random() < 0.5:
            chosen = group.refs
        items = [ref.sql for ref in [*chosen, *self.computed(group)]]
        if rng.random() < 0.2:
            items.append(rng.choice(("7", "'constant'", "CAST(NULL AS int)", items[0])))
        rng.shuffle(items)
        columns = ", ".join(f"{item} AS o{i}" for i, item in enumerate(items))
        rng.shuffle(group.pending)
        where = f" WHERE {' AND '.join(group.pending)}" if group.pending else ""
        return f"SELECT {columns} FROM {group.text}{where}"

    def fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"
