"""Look-ups by dates and times as PySpark returns them, in time zones whose clocks change."""

from __future__ import annotations

import datetime
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import joinless

SCHEMA = "id INT, day DATE, at TIMESTAMP, wall TIMESTAMP_NTZ"
TRIPLES = "SELECT a.*, b.wall AS other FROM t a JOIN t b ON a.id = b.id JOIN t c ON b.id = c.id"
#: Clocks in Berlin skip an hour, and repeat one; days that no Julian calendar has, and a year of three digits.
ROWS = [
    "1,2024-03-31,2024-03-31T01:30:00Z,2024-03-31T02:30:00",
    "2,2024-03-31,2024-03-31T02:30:00Z,2024-03-31T03:30:00",
    "3,2024-10-27,2024-10-27T00:30:00.000001Z,2024-10-27T02:30:00.000001",
    "4,2024-10-27,2024-10-27T01:30:00.000001Z,2024-10-27T02:30:00.000001",
    "5,1582-10-10,1582-10-10T12:00:00Z,1582-10-10T12:00:00",
    "6,1582-10-20,1582-10-20T12:00:00Z,1582-10-20T12:00:00",
    "7,0932-02-03,0932-02-03T04:05:06Z,0932-02-03T04:05:06",
    "8,,,",
    "1,2024-03-31,2024-03-31T01:30:00Z,2024-03-31T02:30:00",
]


@pytest.fixture(params=["UTC", "Europe/Berlin", "America/Los_Angeles"])
def _zone_of_python(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("_zone_of_python")
def test_rows_are_found_by_their_own_dates_and_times(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "0.csv").write_text("\n".join(ROWS))
    session.readStream.schema(SCHEMA).csv(str(tmp_path / "rows")).createOrReplaceTempView("t")
    stored = session.read.schema(SCHEMA).csv(str(tmp_path / "rows"))
    triples = session.sql(TRIPLES)
    triples.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "cp")).trigger(
        availableNow=True
    ).start().awaitTermination()
    result = session.read.format("joinless").load(str(tmp_path / "cp"))
    number = {row.id: row.n for row in stored.groupBy("id").agg({"*": "count"}).toDF("id", "n").collect()}
    rows = {row.id: row.asDict() for row in stored.selectExpr("*", "wall AS other").collect()}
    assert len(rows) == 8
    for i, row in rows.items():
        assert joinless.weight_of(result, row) == number[i] ** 3, row
        assert joinless.lookup(result, {"ID": i, "WALL": row["wall"]}).count() == number[i] ** 3, row
        assert [r.id for r in joinless.lookup(result, {"AT": row["at"]}).collect()] == [i] * number[i] ** 3, row
    days = Counter(row["day"] for row in rows.values())
    for i, row in rows.items():
        (day, n), keys = (row["day"], days[row["day"]]), stored.where(f"id = {i}")
        assert joinless.lookup(result, {"day": day}).select("id").distinct().count() == n, day
        assert joinless.lookup(result, keys.select("day")).select("id").distinct().count() == n, day
        assert joinless.lookup(result, keys.select("at", "id")).count() == number[i] ** 3, row
    aware = datetime.datetime(2024, 3, 31, 4, 30, tzinfo=datetime.timezone(datetime.timedelta(hours=3)))
    assert [r.id for r in joinless.lookup(result, {"at": aware}).distinct().collect()] == [1]
    assert [r.id for r in joinless.lookup(result, {"day": datetime.datetime(1582, 10, 20)}).collect()] == [6]
