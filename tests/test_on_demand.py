"""Counts, pages, samples and look-ups of complete results: Spark's own forms and ours, of a query that runs
and of its checkpoint.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import joinless
from support.world import EDGE

HOPS = "SELECT a.src, b.src AS via, b.dst, c.dst AS last FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    session = spark.newSession()
    folder = tmp_path_factory.mktemp("edges")
    (folder / "0.csv").write_text("".join(f"{i % 17},{i * i % 16}\n" for i in range(120)))
    session.readStream.schema(EDGE).csv(str(folder)).createOrReplaceTempView("e")
    session.read.schema(EDGE).csv(str(folder)).createOrReplaceTempView("stored")
    return session


def test_counts_pages_and_samples_of_a_query_and_of_its_checkpoint(session: SparkSession, tmp_path: Path) -> None:
    hops = session.sql(HOPS)
    expected = sorted(
        tuple(row) for row in session.sql(HOPS.replace("e a", "stored a").replace("JOIN e", "JOIN stored")).collect()
    )
    n = len(expected)
    query = hops.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).start()
    query.processAllAvailable()
    running = joinless.enumerate_full(hops, query=query)
    read = []
    for result in (running, running, session.read.format("joinless").load(str(tmp_path))):
        assert result.count() == joinless.count(result) == n
        pages = [joinless.page(result, start, n // 3).collect() for start in range(0, n, n // 3)]
        assert sorted(tuple(row) for page in pages for row in page) == expected
        assert result.offset(n // 3).limit(n // 3).collect() == pages[1]
        drawn = joinless.sample(result, size=50, seed=7).collect()
        assert len(drawn) == 50
        thinned = result.sample(fraction=0.1, seed=7).collect()
        result.createOrReplaceTempView("r")
        assert session.sql("SELECT * FROM r TABLESAMPLE (10 PERCENT) REPEATABLE (7)").collect() == thinned
        assert session.sql("SELECT COUNT(*) AS n FROM r WHERE src = 3").collect()[0].n == sum(
            row[0] == 3 for row in expected
        )
        assert len(joinless.sample(result, size=2 * n, replacement=True).collect()) == 2 * n
        assert joinless.lookup(result, {"via": 3, "src": 99}).count() == 0
        of_three = sorted(tuple(row) for row in joinless.lookup(result, {"via": 3}).collect())
        assert of_three == [row for row in expected if row[1] == 3]
        assert joinless.weight_of(result, dict(zip(result.columns, expected[0], strict=True))) == expected.count(
            expected[0]
        )
        keys = session.createDataFrame([(3, 9), (4, 0), (None, 1)], "via INT, dst BIGINT")
        assert sorted(tuple(row) for row in joinless.lookup(result, keys).collect()) == [
            row for row in expected if row[1:3] in ((3, 9), (4, 0))
        ]
        read.append((pages, drawn, thinned))
        query.stop()  # from the second result on
    assert read[0] == read[1] == read[2]
    assert joinless.count(tmp_path) == n


def test_spark_refuses_fractions_that_are_none(session: SparkSession, tmp_path: Path) -> None:
    hops = session.sql(HOPS)
    hops.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).trigger(
        availableNow=True
    ).start().awaitTermination()
    result = session.read.format("joinless").load(str(tmp_path))
    with pytest.raises((PySparkException, ValueError)):
        result.sample(fraction=-0.1).collect()
    with pytest.raises((PySparkException, ValueError)):
        result.sample(fraction=1.5).collect()
    result.createOrReplaceTempView("r")
    with pytest.raises(PySparkException, match="TABLESAMPLE"):
        session.sql("SELECT * FROM r TABLESAMPLE SYSTEM (10 PERCENT)").collect()
