"""What Delta's log says of a table, against ``DESCRIBE DETAIL``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from support.database import database


def of(session: SparkSession, detail: Any) -> dict[str, Any]:
    """What a `DeltaDetail` says."""
    assert session._jvm is not None
    as_java = session._jvm.scala.jdk.javaapi.CollectionConverters.asJava
    return {
        "name": detail.name().get() if detail.name().isDefined() else None,
        "location": detail.location(),
        "properties": dict(as_java(detail.properties())),
        "partition_columns": list(as_java(detail.partitionColumns())),
        "files": detail.files().get() if detail.files().isDefined() else None,
    }


def known(session: SparkSession, table: str) -> dict[str, Any] | None:
    """What the log says of a table."""
    assert session._jvm is not None
    found = session._jvm.org.apache.spark.sql.joinless.DeltaDetail.apply(session._jsparkSession, table)
    return of(session, found.get()) if found.isDefined() else None


def described(session: SparkSession, table: str) -> dict[str, Any] | str:
    """The same, or what a statement says; or the format of a table that is not Delta's."""
    assert session._jvm is not None
    found = session._jvm.org.apache.spark.sql.joinless.DeltaDetail.described(session._jsparkSession, table)
    return of(session, found.toOption().get()) if found.isRight() else str(found.swap().toOption().get())


@pytest.fixture
def session(spark: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    with database(spark, "detailed", tmp_path):
        spark.sql("CREATE TABLE plain (id INT) USING delta")
        spark.sql(
            "CREATE TABLE parts (a INT, `b c` INT, d STRING) USING delta PARTITIONED BY (d, a) "
            "TBLPROPERTIES (delta.enableChangeDataFeed = true, mine = 'a \"quoted\" text', "
            "delta.columnMapping.mode = 'name')"
        )
        spark.sql("INSERT INTO parts VALUES (1, 2, 'x')")
        spark.sql("CREATE TABLE odd_name (id INT) USING delta")
        spark.sql("CREATE VIEW stored AS SELECT * FROM plain")
        spark.sql("CREATE TABLE files (id INT) USING parquet")
        yield spark


def test_the_log_says_what_describe_detail_says(session: SparkSession, tmp_path: Path) -> None:
    for table in ("plain", "PARTS", "detailed.parts", "spark_catalog.detailed.`odd_name`", f"delta.`{tmp_path}/parts`"):
        row = session.sql(f"DESCRIBE DETAIL {table}").collect()[0]
        assert known(session, table) == {
            "name": row["name"],
            "location": row["location"],
            "properties": row["properties"],
            "partition_columns": row["partitionColumns"],
            "files": row["numFiles"],
        }


def test_it_is_that_of_the_newest_version(session: SparkSession) -> None:
    for text in ("one", "two"):
        session.sql(f"ALTER TABLE plain SET TBLPROPERTIES (said = '{text}')")
        found = described(session, "plain")
        assert not isinstance(found, str)
        assert found["properties"]["said"] == text


def test_what_is_no_delta_table_is_left_to_delta(session: SparkSession) -> None:
    for table in ("stored", "files", "nothing"):
        assert known(session, table) is None
    assert described(session, "files") == "parquet"
    session.range(1).createOrReplaceTempView("plain")
    for table in ("stored", "nothing", "plain"):
        with pytest.raises(AnalysisException):
            described(session, table)
    session.catalog.dropTempView("plain")
