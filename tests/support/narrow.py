"""Random groups over joins of narrow tables: often a row consists only of its key, or only
of the projected columns.

The relations of a query form a tree: each joins one before it on one or two columns, in any
order; several are roles of one table. There are few distinct values, so that keys are inserted,
deleted and inserted again.
"""

from __future__ import annotations

from random import Random

from support.cases import Arrival, Case, Column, Table

#: Batches of a case.
BATCHES = 6

_TYPES = ("int", "int", "int", "bigint", "string", "date", "decimal(25,2)")


def narrow_case(seed: int) -> Case:
    """The case of a seed: tables of one to three columns of one type, a join of two
    to five roles, and groups.
    """
    rng = Random(seed * 31 + 7)
    type_ = rng.choice(_TYPES)
    domain = rng.choice((2, 3, 5))
    tables = tuple(_table(rng, f"t{i}", type_, domain) for i in range(rng.randint(1, 3)))
    relations = [rng.choice(tables) for _ in range(rng.choice((2, 3, 3, 4, 5)))]
    return Case(f"narrow-{seed}", tables, _groups(rng, relations), rng.choice((1, 2, 4)), None)


def _table(rng: Random, name: str, type_: str, domain: int) -> Table:
    columns = tuple(Column(f"c{i}", type_) for i in range(rng.choice((1, 2, 2, 3))))

    def arrival(batch: int) -> Arrival:
        if batch > 0 and rng.random() < 0.15:
            return ()
        return (tuple(tuple(_value(rng, type_, domain) for _ in columns) for _ in range(rng.randint(1, 5))),)

    return Table(name, columns, tuple(arrival(batch) for batch in range(BATCHES)))


def _value(rng: Random, type_: str, domain: int) -> str | None:
    n = rng.randrange(domain)
    if rng.random() < 0.05:
        return None
    return {"string": f"s{n}" * (1 + 3 * n), "date": f"2024-01-{1 + n:02d}", "decimal(25,2)": f"{n}.25"}.get(
        type_, str(n)
    )


def _groups(rng: Random, relations: list[Table]) -> str:
    columns = [f"r{i}.{column.name}" for i, table in enumerate(relations) for column in table.columns]
    by = rng.sample(columns, min(len(columns), rng.choice((0, 1, 1, 2, 2, 3))))
    projected = [f"{column} AS k{i}" for i, column in enumerate(by)]
    source = f"FROM {_joined(rng, relations)}"
    if by and rng.random() < 0.35:
        return f"SELECT DISTINCT {', '.join(projected)} {source}"
    once = rng.random() < 0.5  # whatever the number of results of a row
    found = [_aggregate(rng, columns, once) for _ in range(rng.randint(1, 2))]
    items = projected + [f"{aggregate} AS a{i}" for i, aggregate in enumerate(found)]
    return f"SELECT {', '.join(items)} {source}" + (f" GROUP BY {', '.join(by)}" if by else "")


def _aggregate(rng: Random, columns: list[str], once: bool) -> str:
    column = rng.choice(columns)
    if once:
        return rng.choice((f"COUNT(DISTINCT {column})", f"MIN({column})", f"MAX({column})"))
    return rng.choice(("COUNT(*)", f"COUNT({column})"))


def _joined(rng: Random, relations: list[Table]) -> str:
    text = f"{relations[0].name} r0"
    for i, table in enumerate(relations[1:], start=1):
        before = rng.randrange(i)
        both = min(len(table.columns), len(relations[before].columns), rng.choice((1, 1, 2)))
        mine, theirs = (rng.sample(t.columns, both) for t in (table, relations[before]))
        equals = rng.choice(("=", "=", "=", "<=>"))
        on = " AND ".join(f"r{i}.{a.name} {equals} r{before}.{b.name}" for a, b in zip(mine, theirs, strict=True))
        text += f" JOIN {table.name} r{i} ON {on}"
    return text
