"""A database of its own for tests that name tables, in the shared session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from support.shop import SMALL


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
    yield
    for query in spark.streams.active:
        query.stop()
    for setting, value in settings.items():
        spark.conf.set(setting, str(value))
    spark.sql("USE default")
    spark.sql(f"DROP DATABASE {name} CASCADE")
