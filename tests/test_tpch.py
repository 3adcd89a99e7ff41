"""All queries of TPC-H over changing tables: after every batch, the changes so far add up to Spark batch SQL."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import joinless
from support import oracles, tpch

BATCHES = 5


@pytest.fixture(scope="module")
def changing(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tpch.ChangingTables]:
    try:
        source = tpch.generated("0.01")
    except tpch.Unavailable as e:
        pytest.skip(f"TPC-H's generator cannot be installed here: {e}")
    return source, tpch.ChangingTables(source, tmp_path_factory.mktemp("tpch"), BATCHES)


@pytest.mark.long
@pytest.mark.parametrize("number", range(1, 23))
def test_a_query_of_tpch_is_right_after_every_batch(
    number: int, changing: tuple[Path, tpch.ChangingTables], spark: SparkSession, tmp_path: Path
) -> None:
    source, data = changing
    text = tpch.queries(source)[number]
    streaming, batch_sql = spark.newSession(), spark.newSession()
    for session in (streaming, batch_sql):
        session.conf.set("spark.sql.shuffle.partitions", "2")
    result: Counter[tuple[object, ...]] = Counter()

    def take(batch: DataFrame, _: int) -> None:
        for *row, told in batch.collect():
            result[tuple(oracles.canonical(value) for value in row)] += 1 if told == "insert" else -1
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
        for batch in range(BATCHES):
            if batch == 3:
                query.stop()
                query = writer.start()
            for table in data.tables:
                name = f"{table}.parquet"
                (tmp_path / table / f"{batch}.parquet").hardlink_to(data.folder / "changes" / str(batch) / name)
                now = batch_sql.read.parquet(str(data.folder / "now" / str(batch) / name))
                now.createOrReplaceTempView(table)
            query.processAllAvailable()
            expected = oracles.bag(batch_sql.sql(text).collect())
            assert not oracles.difference(+result, expected), f"batch {batch}"
    finally:
        query.stop()
