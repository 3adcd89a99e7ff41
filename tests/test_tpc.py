"""Queries of TPC-H and TPC-DS over changing tables: after every batch, the changes so far
add up to Spark batch SQL.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import joinless
import tpc
from support import oracles

#: Batches of each benchmark; a query starts anew before the last but one.
BATCHES = {"tpch": 5, "tpcds": 4}

#: Some join more relations than are searched by default, and names stand in double quotes.
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.joinless.maxRelations": "20",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tpc")


@cache
def changing(name: str, folder: Path) -> tuple[Path, tpc.ChangingTables]:
    try:
        source = tpc.generated(name, "0.01")
    except tpc.Unavailable as e:
        pytest.skip(f"The generator of {name} cannot be installed here: {e}")
    return source, tpc.ChangingTables(name, source, folder / name, BATCHES[name])


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "number"), [*(("tpch", n) for n in range(1, 23)), *(("tpcds", n) for n in range(1, 100))]
)
def test_a_query_is_right_after_every_batch(
    name: str, number: int, folder: Path, spark: SparkSession, tmp_path: Path
) -> None:
    source, data = changing(name, folder)
    text = tpc.queries(source)[number]
    streaming, batch_sql = spark.newSession(), spark.newSession()
    for session in (streaming, batch_sql):
        for setting, value in SETTINGS.items():
            session.conf.set(setting, value)
    result: Counter[tuple[object, ...]] = Counter()

    def take(batch: DataFrame, _: int) -> None:
        for *row, change in batch.collect():
            result[tuple(oracles.canonical(value) for value in row)] += 1 if change == "insert" else -1
        assert min(result.values(), default=0) >= 0

    for table in data.tables:
        (tmp_path / table).mkdir()
        schema = spark.read.parquet(str(data.folder / "changes" / "0" / f"{table}.parquet")).schema
        stream = streaming.readStream.schema(schema).parquet(str(tmp_path / table))
        joinless.changelog(stream).createOrReplaceTempView(table)
    writer = joinless.enumerate_deltas(streaming.sql(text)).writeStream.foreachBatch(take)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.start()
    try:
        for batch in range(BATCHES[name]):
            if batch == BATCHES[name] - 2:
                query.stop()
                query = writer.start()
            for table in data.tables:
                file = f"{table}.parquet"
                (tmp_path / table / f"{batch}.parquet").hardlink_to(data.folder / "changes" / str(batch) / file)
                now = batch_sql.read.parquet(str(data.folder / "now" / str(batch) / file))
                now.createOrReplaceTempView(table)
            query.processAllAvailable()
            expected = oracles.bag(batch_sql.sql(text).collect())
            assert not oracles.difference(+result, expected), f"batch {batch}"
    finally:
        query.stop()


@pytest.mark.long
def test_the_pictures_of_tpch_have_the_names_of_their_queries(folder: Path, spark: SparkSession) -> None:
    source, data = changing("tpch", folder)
    session = spark.newSession()
    for setting, value in SETTINGS.items():
        session.conf.set(setting, value)
    for table in data.tables:
        schema = spark.read.parquet(str(data.folder / "changes" / "0" / f"{table}.parquet")).schema
        stream = session.readStream.schema(schema).parquet(str(data.folder / "changes" / "0"))
        joinless.changelog(stream).createOrReplaceTempView(table)
    for number, text in tpc.queries(source).items():
        explanation = joinless.explain(joinless.enumerate_deltas(session.sql(text)))
        words = set(re.findall(r"[A-Za-z_]\w*", re.sub(r"'[^']*'", "''", " ".join(_texts(explanation.json())))))
        columns = {word for word in words if "_" in word}
        assert columns <= set(re.findall(r"\w+", text)), number
        assert not words & {"groups", "total", "inline", "named_struct", *(f"r{i}" for i in range(1, 9))}
        assert explanation.picture()


def _texts(document: str) -> Iterator[str]:
    """The texts of the steps in the JSON of an explanation, without its sources."""
    steps = [json.loads(document)["steps"]]
    for step in steps:
        steps += step["inputs"]
        yield from (step["title"] if step["inputs"] else "", *step["details"], step["stores"] or "", step["cost"] or "")
