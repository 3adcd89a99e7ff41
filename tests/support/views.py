"""Random views over streams of (k INT, v INT, ts TIMESTAMP): joins, groups, DISTINCT, partners, one above the other."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

_COLUMNS = ("k", "v")
_COMPARISONS = ("<>", "<", ">=")


def random_view(rng: Random, streams: Sequence[str]) -> str:
    """A SELECT over one to four relations, in the words that Spark and DuckDB share."""
    text, columns = _joined(rng, streams, rng.choices((1, 2, 3, 4), weights=(2, 4, 3, 1))[0])
    where = _conditions(rng, streams, columns)
    kind = rng.choices(("rows", "groups", "distinct"), weights=(4, 4, 2))[0]
    if kind == "groups":
        return _grouped(rng, f"FROM {text}{where}", columns)
    shown = rng.sample(columns, rng.randint(1, min(4, len(columns))))
    items = ", ".join(f"{column} AS o{i}" for i, column in enumerate(shown))
    return f"SELECT {'DISTINCT ' if kind == 'distinct' else ''}{items} FROM {text}{where}"


def _joined(rng: Random, streams: Sequence[str], relations: int) -> tuple[str, list[str]]:
    """FROM, and what can be named. Each relation but the first meets one before it in one column."""
    text, columns = _relation(rng, streams), ["r0.k", "r0.v"]
    text += " r0"
    for i in range(1, relations):
        outer = i == relations - 1 and rng.random() < 0.25
        on = f"r{i}.{rng.choice(_COLUMNS)} = {rng.choice(columns)}"
        if rng.random() < 0.25:
            on += f" AND r{i}.{rng.choice(_COLUMNS)} {rng.choice(_COMPARISONS)} {rng.choice(columns)}"
        text += f" {'LEFT ' if outer else ''}JOIN {_relation(rng, streams)} r{i} ON {on}"
        columns += [f"r{i}.k", f"r{i}.v"]
    return text, columns


def _relation(rng: Random, streams: Sequence[str]) -> str:
    """A stream, or a view over one or two, with the columns k and v."""
    a, b = rng.choice(streams), rng.choice(streams)
    return rng.choices(
        (
            a,
            f"(SELECT k, {rng.choice(('COUNT(*)', 'MAX(v)', 'MIN(v)'))} AS v FROM {a} GROUP BY k)",
            f"(SELECT DISTINCT v AS k, k AS v FROM {a})",
            f"(SELECT k, v FROM {a} UNION ALL SELECT v, k FROM {b} WHERE k > 0)",
        ),
        weights=(14, 2, 1, 1),
    )[0]


def _conditions(rng: Random, streams: Sequence[str], columns: Sequence[str]) -> str:
    found = []
    if rng.random() < 0.3:
        found.append(rng.choice([f"{rng.choice(columns)} > 0", f"{rng.choice(columns)} IN (0, 2, 3)"]))
    if rng.random() < 0.3:
        # of the first relation, whose rows no outer join pads
        of, other = rng.choice(("r0.k", "r0.v")), rng.choice(_COLUMNS)
        match = f"e.{other} = {of}"
        if rng.random() < 0.4:
            match += f" AND e.{'v' if other == 'k' else 'k'} {rng.choice(_COMPARISONS)} r0.v"
        found.append(
            rng.choice(("EXISTS", "NOT EXISTS", "EXISTS")) + f" (SELECT 1 FROM {rng.choice(streams)} e WHERE {match})"
        )
    return f" WHERE {' AND '.join(found)}" if found else ""


def _grouped(rng: Random, rows: str, columns: Sequence[str]) -> str:
    keys = rng.sample(columns, rng.choice((0, 1, 1, 2)))
    items = [f"{key} AS g{i}" for i, key in enumerate(keys)] + ["COUNT(*) AS n"]
    for i in range(rng.choice((0, 1, 1, 2))):
        of = rng.choice(columns)
        items.append(
            f"{rng.choice(('SUM({})', 'MIN({})', 'MAX({})', 'COUNT({})', 'COUNT(DISTINCT {})')).format(of)} AS a{i}"
        )
    by = f" GROUP BY {', '.join(keys)}{rng.choice(('', '', ' HAVING COUNT(*) > 1'))}" if keys else ""
    return f"SELECT {', '.join(items)} {rows}{by}"
