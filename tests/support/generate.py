"""Seeded random cases: streams that arrive in files, and a SQL join query over them, acyclic unless
cycles are asked for.

An acyclic query is so by construction. Groups of relations are merged two by two, each time along
equi-join conditions between *one* relation of the left group and *one* of the right (or classes
that hold that relation), so the relations form a tree in which every class of equated columns is
connected. Some merges get no equi-join condition at all (a cross product).

Around that the generator writes everything that SQL allows: any FROM order and nesting, computed
columns and filters in subselects, keys that are expressions, `<=>`, conditions in ON or WHERE,
residuals over several relations.

The idle sources follow a cycle through all subsets, so that a suite of seeds
covers every one of them.
"""

from __future__ import annotations

from functools import cache
from random import Random

from support import oracles
from support.cases import Arrival, Case, Column, Table
from support.query import random_query
from support.values import FAMILY, random_type, random_value

PARTITIONS = (1, 2, 4, 6, 7)
MAX_RESULTS = 6_000


@cache
def random_case(
    seed: int,
    relations: tuple[int, int] = (3, 6),
    batches: int = 4,
    connected: bool = False,
    nulls: bool = True,
    cycles: bool = False,
) -> Case:
    """The case of a seed: the same in every run and on every machine.

    Args:
        seed: any number.
        relations: fewest and most relations of the query.
        batches: the number of batches.
        connected: leave out cross products.
        nulls: let values be NULL.
        cycles: most join graphs are cyclic.
    """
    rng = Random(seed)
    sources = min(1 + seed % 4, relations[1])
    count = rng.randint(max(sources, relations[0]), relations[1])
    rows = rng.choice((12, 25, 60, 120))
    for attempt in range(40):
        tables = _random_tables(rng, seed, sources, rows, batches, nulls)
        sql = random_query(rng, tables, count, connected, cycles)
        case = Case(
            f"{'cycle' if cycles else 'seed'}-{seed}",
            tables,
            sql,
            PARTITIONS[seed % len(PARTITIONS)],
            1 if rng.random() < 0.4 else None,
        )
        results = oracles.duckdb_count(case, MAX_RESULTS + 1)
        if results > MAX_RESULTS:
            rows = max(4, rows * 2 // 3)
        elif results > 0 or attempt > 20:
            return case
    raise AssertionError(f"seed {seed}: no query with at most {MAX_RESULTS} results found")


def _random_tables(rng: Random, seed: int, count: int, rows: int, batches: int, with_nulls: bool) -> tuple[Table, ...]:
    key_family = rng.choices(["integer", "string", "floating", "decimal", "time"], weights=[8, 3, 2, 2, 2])[0]
    domain = max(3, int(rows * rng.uniform(0.2, 0.8)))
    nulls = rng.choice((0.0, 0.05, 0.2)) if with_nulls else 0.0
    return tuple(
        _random_table(
            rng, f"t{i}", key_family, rows, domain, nulls, [_idle(seed, b, batches, i, count) for b in range(batches)]
        )
        for i in range(count)
    )


def _idle(seed: int, batch: int, batches: int, table: int, tables: int) -> bool:
    return bool((seed // 4 * batches + batch) % (1 << tables) >> table & 1)


def _random_table(
    rng: Random, name: str, key_family: str, rows: int, domain: int, nulls: float, idle: list[bool]
) -> Table:
    types = [random_type(rng, key_family) for _ in range(rng.randint(2, 3))]
    types += [random_type(rng) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.08:  # wide rows: more than one word of null bits
        types += [random_type(rng) for _ in range(64)]
    columns = tuple(Column(f"c{i}", type_) for i, type_ in enumerate(types))
    busy = max(1, idle.count(False))

    def file(size: int) -> tuple[tuple[str | None, ...], ...]:
        found = [tuple(random_value(rng, type_, domain, nulls) for type_ in types) for _ in range(size)]
        if found and rng.random() < 0.3:
            found.append(rng.choice(found))  # a duplicate
        return tuple(found)

    def arrival(is_idle: bool) -> Arrival:
        if is_idle:
            return ()
        if rng.random() < 0.1:
            return (file(0),)
        size = max(1, round(rows / busy * rng.uniform(0.5, 1.5)))
        return (file(size),) if rng.random() < 0.7 else (file(size // 2), file(size - size // 2))

    return Table(name, columns, tuple(arrival(is_idle) for is_idle in idle))


def families(case: Case) -> set[str]:
    """Families of the types that occur in a case."""
    return {FAMILY[column.type] for table in case.tables for column in table.columns}
