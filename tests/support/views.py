"""Random views over streams of (k INT, v INT, ts TIMESTAMP): joins, groups, DISTINCT, outer and
semi joins, one above the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

_NUMBERS = ("k", "v")
_COMPARISONS = ("<>", "<", ">=")


def random_view(rng: Random, streams: Sequence[str]) -> str:
    """A SELECT over one to four relations, in the dialect that Spark and DuckDB share."""
    relations = rng.choices((1, 2, 3, 4), weights=(2, 4, 3, 1))[0]
    rows = f"FROM {_joined(rng, streams, relations)}{_conditions(rng, streams, relations)}"
    kind = rng.choices(("rows", "groups", "distinct"), weights=(4, 4, 2))[0]
    if kind == "groups":
        return _grouped(rng, rows, relations)
    projected = rng.sample(_numbers(relations) + _times(relations), rng.randint(1, 3))
    items = ", ".join(f"{column} AS o{i}" for i, column in enumerate(projected))
    return f"SELECT {'DISTINCT ' if kind == 'distinct' else ''}{items} {rows}"


def _numbers(relations: int) -> list[str]:
    return [f"r{i}.{column}" for i in range(relations) for column in _NUMBERS]


def _times(relations: int) -> list[str]:
    return [f"r{i}.ts" for i in range(relations)]


def _joined(rng: Random, streams: Sequence[str], relations: int) -> str:
    """Each relation except the first joins one before it on one column."""
    text = f"{_relation(rng, streams)} r0"
    for i in range(1, relations):
        outer = i == relations - 1 and rng.random() < 0.25
        on = f"r{i}.{rng.choice(_NUMBERS)} = {rng.choice(_numbers(i))}"
        if rng.random() < 0.25:
            on += f" AND r{i}.{rng.choice(_NUMBERS)} {rng.choice(_COMPARISONS)} {rng.choice(_numbers(i))}"
        if rng.random() < 0.2:
            on += f" AND r{i}.ts {rng.choice(_COMPARISONS)} {rng.choice(_times(i))}"
        text += f" {'LEFT ' if outer else ''}JOIN {_relation(rng, streams)} r{i} ON {on}"
    return text


def _relation(rng: Random, streams: Sequence[str]) -> str:
    """A stream, or a view over one or two, with the same columns."""
    a, b = rng.choice(streams), rng.choice(streams)
    number, time = rng.choice(("COUNT(*)", "MAX(v)", "MIN(v)")), rng.choice(("MAX(ts)", "MIN(ts)"))
    return rng.choices(
        (
            a,
            f"(SELECT k, {number} AS v, {time} AS ts FROM {a} GROUP BY k)",
            f"(SELECT k, {number} AS v, ts FROM {a} GROUP BY k, ts)",
            f"(SELECT DISTINCT v AS k, k AS v, ts FROM {a})",
            f"(SELECT k, v, ts FROM {a} UNION ALL SELECT v, k, ts FROM {b} WHERE k > 0)",
        ),
        weights=(14, 2, 1, 1, 1),
    )[0]


def _conditions(rng: Random, streams: Sequence[str], relations: int) -> str:
    found = []
    if rng.random() < 0.3:
        column = rng.choice(_numbers(relations))
        found.append(rng.choice((f"{column} > 0", f"{column} IN (0, 2, 3)")))
    if rng.random() < 0.3:
        # Of the first relation, whose rows no outer join pads.
        mine, other = rng.choice(_NUMBERS), rng.choice(_NUMBERS)
        match = f"e.{other} = r0.{mine}"
        if rng.random() < 0.5:
            column = rng.choice(("ts", "v" if other == "k" else "k"))
            match += f" AND e.{column} {rng.choice(_COMPARISONS)} r0.{'ts' if column == 'ts' else 'v'}"
        exists = rng.choice(("EXISTS", "NOT EXISTS"))
        found.append(f"{exists} (SELECT 1 FROM {rng.choice(streams)} e WHERE {match})")
    return f" WHERE {' AND '.join(found)}" if found else ""


def _grouped(rng: Random, rows: str, relations: int) -> str:
    keys = rng.sample(_numbers(relations) + _times(relations), rng.choice((0, 1, 1, 2)))
    items = [f"{key} AS g{i}" for i, key in enumerate(keys)] + ["COUNT(*) AS n"]
    for i in range(rng.choice((0, 1, 1, 2))):
        if rng.random() < 0.3:
            items.append(f"{rng.choice(('MIN', 'MAX', 'COUNT'))}({rng.choice(_times(relations))}) AS a{i}")
        else:
            function = rng.choice(("SUM(", "MIN(", "MAX(", "COUNT(", "COUNT(DISTINCT "))
            items.append(f"{function}{rng.choice(_numbers(relations))}) AS a{i}")
    by = f" GROUP BY {', '.join(keys)}{rng.choice(('', '', ' HAVING COUNT(*) > 1'))}" if keys else ""
    return f"SELECT {', '.join(items)} {rows}{by}"
