"""A database of its own for tests that name tables, in the shared session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import joinless
from joinless import _literals
from support.shop import SMALL, TABLES, Shop


def make_active(session: SparkSession) -> None:
    """Makes a session the active one of this thread, whatever ran before."""
    session.createDataFrame([(1,)], "a INT")


@contextmanager
def database(spark: SparkSession, name: str, folder: Path) -> Iterator[None]:
    """A database in a folder, with settings for few rows; afterwards the session is restored."""
    make_active(spark)
    spark.sql(f"CREATE DATABASE {name} LOCATION '{folder}'")
    spark.sql(f"USE {name}")
    settings = {setting: spark.conf.get(setting) for setting in ("spark.sql.shuffle.partitions", *SMALL)}
    for setting, small in SMALL.items():
        spark.conf.set(setting, small)
    try:
        yield
    finally:
        for query in spark.streams.active:
            query.stop()
        for setting, value in settings.items():
            spark.conf.set(setting, str(value))
        spark.sql("USE default")
        spark.sql(f"DROP DATABASE {name} CASCADE")


@contextmanager
def shop_in(spark: SparkSession, name: str, folder: Path) -> Iterator[Shop]:
    """The shop's tables in a database of that name; their change data feeds are off."""
    with database(spark, name, folder):
        shop = Shop(spark, folder)
        for table, columns in TABLES.items():
            spark.sql(f"CREATE TABLE {table} ({columns}) USING delta")
        shop.fill(customers=5, items=4, orders=20)
        yield shop


def kept(query: Any, into: str, **options: Any) -> None:
    """Brings a view up to date."""
    joinless.materialize(query, into, trigger="availableNow", **options).awaitTermination()


def in_sql(value: Any) -> str:
    """A literal of SQL."""
    if isinstance(value, list):
        return f"array({', '.join(map(in_sql, value))})"
    if isinstance(value, str):
        return _literals.in_sql(value)
    return "NULL" if value is None else str(value)
