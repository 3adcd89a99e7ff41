"""Random LIMIT and window functions around the random joins of `support.generate`."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from support.cases import Case, Column
from support.grouping import columns_of
from support.values import FAMILY


def ordered(case: Case, seed: int) -> Case:
    """The case with its rows in a total order, as first rows or with values
    computed from neighbouring rows.
    """
    rng = Random(seed * 31 + 7)
    # Spark and DuckDB return either of two zeros.
    columns = [column for column in columns_of(case) if FAMILY.get(column.type) not in (None, "floating")]
    if not columns:
        return case
    rng.shuffle(columns)
    names = [column.name for column in columns]
    rows = f"(SELECT {', '.join(names)} FROM ({case.sql}) s) q"
    order = ", ".join(f"{name} {_direction(rng)}" for name in names)
    sql = _limited(rng, rows, order) if rng.random() < 0.4 else _windows(rng, rows, order, columns)
    return replace(case, name=f"ordered-{case.name}", sql=sql)


def _limited(rng: Random, rows: str, order: str) -> str:
    sql = f"SELECT * FROM {rows} ORDER BY {order} LIMIT {rng.randrange(1, 9)}"
    return sql + (f" OFFSET {rng.randrange(6)}" if rng.random() < 0.4 else "")


def _windows(rng: Random, rows: str, order: str, columns: list[Column]) -> str:
    by = f"PARTITION BY {', '.join(c.name for c in columns[: rng.choice((1, 1, 2))])} " if rng.random() < 0.8 else ""
    if rng.random() < 0.4:
        number = f"ROW_NUMBER() OVER ({by}ORDER BY {order})"
        return f"SELECT * FROM (SELECT *, {number} AS n FROM {rows}) w WHERE n <= {rng.randrange(1, 4)}"
    names = [column.name for column in columns]
    some, by_one = rng.choice(names), f"{rng.choice(names)} {_direction(rng)}"
    whole = [column.name for column in columns if FAMILY[column.type] == "integer"]
    functions = [
        f"ROW_NUMBER() OVER ({by}ORDER BY {order})",
        f"RANK() OVER ({by}ORDER BY {by_one})",
        f"DENSE_RANK() OVER ({by}ORDER BY {by_one})",
        f"COUNT(*) OVER ({by})",
        f"COUNT({some}) OVER ({by}ORDER BY {by_one})",
        f"MAX({some}) OVER ({by})",
        f"LAG({some}) OVER ({by}ORDER BY {order})",
        f"FIRST_VALUE({some}) OVER ({by}ORDER BY {order})",
        f"MIN({some}) OVER ({by}ORDER BY {order} ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)",
    ]
    functions += [f"SUM({name} % 100) OVER ({by}ORDER BY {order})" for name in whole]
    picked = rng.sample(functions, rng.choice((1, 1, 2, 3)))
    return f"SELECT *, {', '.join(f'{f} AS w{i}' for i, f in enumerate(picked))} FROM {rows}"


def _direction(rng: Random) -> str:
    return f"{rng.choice(('ASC', 'DESC'))} NULLS {rng.choice(('FIRST', 'LAST'))}"
