"""The form of each case of bad input: an action, and the condition, SQLSTATE and
words with which it must fail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame

from support.world import PATH, World

TRIANGLE = "SELECT a.src FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src"
PAIR = "SELECT o.id, p.id AS other FROM orders o JOIN orders p ON o.customer = p.customer"


@dataclass(frozen=True)
class Bad:
    """A forbidden action, and the error that it must raise."""

    name: str
    condition: str
    sql_state: str | None
    message: str
    act: Callable[[World], object]


def forced(name: str, reason: str, sql: str, message: str = "", **confs: str) -> Bad:
    """A query that stays with Spark, while `mode=force` requires a rewrite."""
    return Bad(
        f"forced: {name}",
        "JOINLESS_NOT_REWRITTEN",
        "0A000",
        rf"{reason}.*{message}",
        lambda world: world.run(world.at(mode="force", **confs).sql(sql)),
    )


def unemitted(name: str, reason: str, sql: str, message: str = "") -> Bad:
    """A query whose changes cannot be emitted."""
    return Bad(f"changes: {name}", "JOINLESS_NOT_REWRITTEN", "0A000", rf"{reason}.*{message}", lambda w: w.delta(sql))


def setting(name: str, value: str, message: str) -> Bad:
    """A value that a setting does not accept, refused when it is set."""
    return Bad(
        f"setting: {name}={value}",
        "INVALID_CONF_VALUE",
        "22022",
        message,
        lambda world: world.session.conf.set(f"spark.joinless.{name}", value),
    )


def state(
    name: str, kind: str, message: str, sql: str = PATH, tamper: Callable[[Path], object] = lambda _: None
) -> Bad:
    """A checkpoint that does not fit the query."""
    return Bad(f"state: {name}", f"JOINLESS_STATE_MISMATCH.{kind}", "55019", message, lambda w: w.again(sql, tamper))


def column(name: str, kind: str, message: str, make: Callable[[World], DataFrame]) -> Bad:
    """A stream that is no changelog."""
    return Bad(f"changelog: {name}", f"JOINLESS_CHANGE_COLUMN.{kind}", "42703", message, make)


def reading(name: str, condition: str, sql_state: str, message: str, act: Callable[[World], object]) -> Bad:
    """A complete result that cannot be read."""
    return Bad(f"reading: {name}", condition, sql_state, message, act)
