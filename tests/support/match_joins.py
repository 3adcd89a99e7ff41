"""Random joins other than inner ones around the random joins of `support.generate`: outer joins,
EXISTS, IN, subqueries.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from support.cases import Case, Column
from support.grouping import columns_of
from support.values import FAMILY


def with_match_join(case: Case, seed: int) -> Case:
    """The case with its rows joined to one of its tables by such a join; the case itself if no
    columns can be compared.
    """
    rng = Random(seed * 29 + 3)
    mine = [column for column in columns_of(case) if FAMILY.get(column.type) not in (None, "floating")]
    pairs = [(c, t, d) for t in case.tables for c in mine for d in t.columns if c.type == d.type]
    if not pairs:
        return case
    column, table, other = rng.choice(pairs)
    match = f"r.{other.name} = q.{column.name}" if rng.random() < 0.8 else f"r.{other.name} <=> q.{column.name}"
    match += _further(rng, [p for p in pairs if p[1] is table])
    rows, right = f"({case.sql}) q", f"{table.name} r"
    sql = rng.choice(
        (
            f"SELECT q.* FROM {rows} WHERE EXISTS (SELECT 1 FROM {right} WHERE {match})",
            f"SELECT q.* FROM {rows} WHERE NOT EXISTS (SELECT 1 FROM {right} WHERE {match})",
            f"SELECT q.* FROM {rows} WHERE q.{column.name} IN (SELECT r.{other.name} FROM {right})",
            f"SELECT q.* FROM {rows} WHERE q.{column.name} NOT IN (SELECT r.{other.name} FROM {right})",
            f"SELECT q.*, r.{other.name} AS match_value FROM {rows} LEFT JOIN {right} ON {match}",
            f"SELECT q.*, r.{other.name} AS match_value FROM {rows} FULL JOIN {right} ON {match}",
            f"SELECT q.*, (SELECT COUNT(*) FROM {right} WHERE {match}) AS match_count FROM {rows}",
            f"SELECT q.* FROM {rows} WHERE (SELECT COUNT(*) FROM {right}) > 4 "
            f"OR EXISTS (SELECT 1 FROM {right} WHERE {match})",
            f"SELECT q.{column.name} FROM {rows} EXCEPT SELECT r.{other.name} FROM {right}",
            f"SELECT q.{column.name} FROM {rows} INTERSECT SELECT r.{other.name} FROM {right}",
        )
    )
    return replace(case, name=f"matches-{case.name}", sql=sql)


def _further(rng: Random, pairs: list[tuple[Column, object, Column]]) -> str:
    """A further condition, or none."""
    if rng.random() < 0.6:
        return ""
    column, _, other = rng.choice(pairs)
    return f" AND r.{other.name} {rng.choice(('<>', '<', '>='))} q.{column.name}"
