"""Random GROUP BY and DISTINCT around the random joins of `support.generate`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random

from support import oracles
from support.cases import Case, Column
from support.values import FAMILY

#: DuckDB's names of types, where they differ from Spark's.
_TYPES = {"integer": "int", "varchar": "string", "blob": "binary"}

#: Whole numbers of which a product of two is known to fit its type.
_FACTORS = ("tinyint", "smallint", "int", "integer")


def grouped(case: Case, seed: int) -> Case:
    """The case with its rows in groups: some in groups of groups, some with
    conditions, some in one group.
    """
    rng = Random(seed * 13 + 5)
    columns = [column for column in columns_of(case) if FAMILY.get(column.type) not in (None, "floating")]
    rng.shuffle(columns)
    # Spark and DuckDB return either of two zeros, and add doubles in any order.
    keys = columns[: rng.choice((0, 1, 1, 1, 2, 3))]
    if keys and rng.random() < 0.2:
        sql = f"SELECT DISTINCT {_list(key.name for key in keys)} FROM ({case.sql}) q"
    else:
        sql = _group_by(rng, case.sql, keys, columns)
        if keys and rng.random() < 0.25:
            sql = f"SELECT n, COUNT(*) AS m, SUM(CAST(n AS decimal(20,0))) AS s FROM ({sql}) g GROUP BY n"
    return replace(case, name=f"grouped-{case.name}", sql=sql)


def total_of_cycle(case: Case, seed: int) -> Case:
    """Totals over triangles of the case's tables: per corner or side, with another relation, with a condition."""
    rng = Random(seed * 17 + 3)
    sides = [rng.choice(case.tables) for _ in range(3)]
    text = (
        f"{sides[0].name} p JOIN {sides[1].name} q ON p.c1 = q.c0 JOIN {sides[2].name} r ON q.c1 = r.c0 AND r.c1 = p.c0"
    )
    if rng.random() < 0.4:
        corner = rng.choice(("p.c0", "q.c0", "r.c0"))
        side = rng.choice(("", " AND s.c1 = p.c1")) if corner == "p.c0" else ""
        text += f" JOIN {rng.choice(case.tables).name} s ON s.c0 = {corner}{side}"
    text += rng.choice(
        ("", "", " WHERE p.c0 < q.c0", " WHERE p.c0 < q.c0 AND q.c0 < r.c0", " WHERE r.c0 IS NOT NULL AND q.c1 <> q.c0")
    )
    columns = (
        f"{name}.{column.name}" for name, table in zip("pqr", sides, strict=True) for column in table.columns[:5]
    )
    joined = replace(case, sql=f"SELECT {_list(f'{column} AS x{i}' for i, column in enumerate(columns))} FROM {text}")
    found = [column for column in columns_of(joined) if FAMILY.get(column.type) not in (None, "floating")]
    vertices = [column for column in found if column.name in ("x0", "x1")] if rng.random() < 0.6 else []
    keys = rng.sample(vertices, rng.randint(0, len(vertices)))
    return replace(case, name=f"total-{case.name}", sql=_group_by(rng, joined.sql, keys, found))


def _group_by(rng: Random, sql: str, keys: Sequence[Column], columns: Sequence[Column]) -> str:
    items = [key.name for key in keys if rng.random() < 0.8] + ["COUNT(*) AS n"]
    for i in range(rng.choice((0, 1, 1, 2, 3))):
        items.append(f"{_aggregate(rng, columns)} AS a{i}")
    rng.shuffle(items)
    by = f" GROUP BY {_list(key.name for key in keys)}" if keys else ""
    having = rng.choice(("", "", " HAVING COUNT(*) > 1", " HAVING COUNT(*) % 2 = 0")) if keys else ""
    return f"SELECT {', '.join(items)} FROM ({sql}) q{by}{having}"


def _aggregate(rng: Random, columns: Sequence[Column]) -> str:
    column = rng.choice(columns) if columns else Column("1", "int")
    where = f" FILTER (WHERE {rng.choice(columns).name} IS NOT NULL)" if columns and rng.random() < 0.3 else ""
    name = column.name
    factors = [c.name for c in columns if c.type in _FACTORS]
    if len(factors) > 1 and rng.random() < 0.25:
        left, right = (f"CAST({factor} AS decimal(12,0))" for factor in rng.sample(factors, 2))
        case = f"CASE WHEN {rng.choice(columns).name} IS NOT NULL THEN {left} ELSE 0 END"
        return f"SUM({rng.choice((f'{left} * {right}', f'{left} - {right}', case))}){where}"
    match FAMILY[column.type]:
        case "integer":
            return rng.choice(
                (f"SUM({name} % 1000){where}", f"COUNT({name}){where}", f"SUM(CAST({name} AS decimal(20,0))){where}")
            )
        case "decimal":
            return rng.choice((f"SUM({name}){where}", f"COUNT({name}){where}"))
        case _:
            return f"COUNT({name}){where}"


def _list(items: Iterable[str]) -> str:
    return ", ".join(items)


def columns_of(case: Case) -> list[Column]:
    """Names and types of the columns of the query."""
    connection = oracles.DuckDb(case).connection
    rows = connection.execute(f"DESCRIBE {oracles.dialect(case.sql)}").fetchall()
    return [Column(name, _TYPES.get(type_.lower(), type_.lower())) for name, type_, *_ in rows]
