"""Rows that expire, against DuckDB: after every batch, the sum of the changes is the
query over the valid rows.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import joinless
from support.oracles import Bag, bag, difference
from support.shop import SMALL
from support.views import random_view

#: Runs of each query.
RUNS = int(os.environ.get("JOINLESS_TIME_RUNS", "1"))
#: The first of the random views.
SEED = int(os.environ.get("JOINLESS_TIME_SEED", "1"))
START = datetime(2026, 3, 1)
SCHEMA = "k INT, v INT, ts TIMESTAMP"
Row = tuple[int, int, "datetime | None"]

QUERIES = [
    "SELECT a.k, a.v, b.v AS w FROM a JOIN b ON a.k = b.k",
    "SELECT a.k, COUNT(*) AS n, SUM(b.v) AS s FROM a JOIN b ON a.k = b.k JOIN a c ON c.v = b.v GROUP BY a.k",
    "SELECT DISTINCT a.v FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.v <> a.v)",
    "SELECT a.k, a.v, b.v AS w FROM a LEFT JOIN b ON a.k = b.k AND b.v > 1",
    "SELECT k, MAX(v) AS h, MIN(ts) AS first FROM a GROUP BY k HAVING COUNT(*) > 1",
    "SELECT c.k, c.v, a.v AS w FROM c JOIN a ON a.k = c.k",
    "SELECT v, COUNT(*) AS n, MAX(k) AS h FROM c GROUP BY v",
    "SELECT a.k, a.v FROM a WHERE NOT EXISTS (SELECT 1 FROM c WHERE c.k = a.k AND c.v >= a.v)",
    "SELECT c.k, c.v, b.v AS w FROM c LEFT JOIN b ON b.k = c.k",
    "SELECT c.k, d.v, COUNT(*) AS n FROM c JOIN c d ON c.v = d.v GROUP BY c.k, d.v",
]
#: Two append-only streams, and one of changes.
STREAMS = "abc"


@pytest.fixture
def small(spark: SparkSession) -> Iterator[SparkSession]:
    """The session with few partitions; it is restored afterwards."""
    before: dict[str, Any] = {name: spark.conf.get(name, None) for name in (*SMALL, "spark.joinless.minRelations")}
    for name, small in SMALL.items():
        spark.conf.set(name, small)
    yield spark
    for query in spark.streams.active:
        query.stop()
    for name, value in before.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


@pytest.mark.parametrize("run", range(RUNS))
@pytest.mark.parametrize("sql", QUERIES)
def test_what_is_emitted_adds_up_to_what_is_true(sql: str, run: int, small: SparkSession, tmp_path: Path) -> None:
    _check_sums(sql, random.Random(f"{sql} {run}"), small, tmp_path)


@pytest.mark.parametrize("seed", range(SEED, SEED + (3 if RUNS == 1 else 12 * RUNS)))
def test_random_views_add_up_to_what_is_true(seed: int, small: SparkSession, tmp_path: Path) -> None:
    sql = random_view(random.Random(seed), STREAMS)
    print(f"seed {seed}: {sql}")
    _check_sums(sql, random.Random(seed), small, tmp_path)


def _check_sums(sql: str, draw: random.Random, small: SparkSession, tmp_path: Path) -> None:
    """Random rows, late, without a time or from the future; deletes; restarts; at
    the end only time advances.
    """
    lasts = {name: timedelta(seconds=draw.randrange(60)) for name in STREAMS}
    delays = {name: draw.randrange(20) for name in STREAMS}
    rows: dict[str, list[Row]] = {name: [] for name in STREAMS}  # those that were not late
    emitted: dict[int, list[tuple[Any, ...]]] = {}
    for name in STREAMS:
        (tmp_path / name).mkdir()

    def start() -> Any:
        for name in STREAMS:
            stream = small.readStream.schema(f"{SCHEMA}, w INT").json(str(tmp_path / name))
            timed = stream.withWatermark("ts", f"{delays[name]} seconds")
            given = joinless.changelog(timed, weight="w") if name == "c" else timed.drop("w")
            joinless.expire(given, "ts", lasts[name]).createOrReplaceTempView(name)
        changes = joinless.enumerate_deltas(small.sql(sql), output="weight")

        def sink(df: Any, batch: int) -> None:
            emitted[batch] = [tuple(row) for row in df.collect()]

        return changes.writeStream.foreachBatch(sink).option("checkpointLocation", str(tmp_path / "cp")).start()

    query, late, seen = start(), datetime.min, -1
    sums: Counter[tuple[Any, ...]] = Counter()
    for batch in range(9):
        ahead = 12 * batch if batch < 8 else 10_000
        arrived: dict[str, list[Row]] = {}
        for name in STREAMS:
            arrived[name] = [
                (
                    draw.randrange(4),
                    draw.randrange(4),
                    None
                    if draw.random() < 0.05
                    else START + timedelta(seconds=ahead + draw.randrange(15) - (60 if draw.random() < 0.15 else 0)),
                )
                for _ in range(draw.randrange(8) if batch < 8 else 1)
            ]
        # Some rows of the changelog are deleted, old ones and those just inserted.
        present = rows["c"] + arrived["c"]
        deleted = draw.sample(present, len(present) // 4)
        # All files exist before the folders are listed again.
        query.stop()
        for name, several in arrived.items():
            changes = [(1, *row) for row in several] + [(-1, *row) for row in (deleted if name == "c" else [])]
            lines = [
                json.dumps({"w": w, "k": k, "v": v, "ts": ts and f"{ts.isoformat()}Z"})
                for w, k, v, ts in draw.sample(changes, len(changes))
            ]
            if lines:
                (tmp_path / name / f"{batch}.json").write_text("\n".join(lines))
        query = start()
        query.processAllAvailable()
        first = True
        for progress in query.recentProgress:
            if "addBatch" not in progress["durationMs"]:
                continue
            if first:
                for name in STREAMS:
                    # No change of a changelog is late.
                    rows[name] += [row for row in arrived[name] if name == "c" or row[2] is None or row[2] > late]
                for row in deleted:
                    rows["c"].remove(row)
                first = False
            text = progress["eventTime"].get("watermark", "1970-01-01T00:00:00.000Z")
            late = datetime.fromisoformat(text.rstrip("Z"))
            for row in emitted[progress["batchId"]] if progress["batchId"] > seen else []:
                sums.update({row[:-1]: row[-1]})
            seen = max(seen, progress["batchId"])
        if seen < 0:
            continue  # a query that has read no row has emitted nothing, not even a total of none
        live = {
            name: [row for row in rows[name] if row[2] is not None and row[2] + lasts[name] > late] for name in STREAMS
        }
        assert all(n >= 0 for n in sums.values())
        actual = bag(row for row, n in sums.items() for _ in range(n))
        assert not difference(actual, _answer(sql, live)), f"batch {batch}"


def _answer(sql: str, rows: dict[str, list[Row]]) -> Bag:
    connection = duckdb.connect(config={"threads": 1})
    for name, several in rows.items():
        connection.execute(f"CREATE TABLE {name} (k INT, v INT, ts TIMESTAMP)")
        if several:
            connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", several)
    return bag(connection.execute(sql).fetchall())


@pytest.mark.parametrize(
    ("column", "after", "condition"),
    [
        ("ts", "1 month", "JOINLESS_EXPIRY.INTERVAL"),
        ("ts", timedelta(seconds=-1), "JOINLESS_EXPIRY.INTERVAL"),
        ("k", "1 hour", "JOINLESS_EXPIRY.NOT_A_TIMESTAMP"),
        ("time", "1 hour", "JOINLESS_EXPIRY.NOT_FOUND"),
        ("later", "1 hour", "JOINLESS_EXPIRY.NO_WATERMARK"),
    ],
)
def test_what_cannot_expire_is_named(
    column: str, after: str | timedelta, condition: str, spark: SparkSession, tmp_path: Path
) -> None:
    stream = spark.readStream.schema(f"{SCHEMA}, later TIMESTAMP").json(str(tmp_path)).withWatermark("ts", "1 second")
    with pytest.raises(AnalysisException) as refused:
        joinless.expire(stream, column, after)
    assert refused.value.getCondition() == condition


def test_progress_reports_what_holds_the_watermark_back(small: SparkSession, tmp_path: Path) -> None:
    """Two inputs, of which one stops: its name, the times, and that nothing
    is lost when it continues.
    """
    for name in "ab":
        (tmp_path / name).mkdir()
        stream = small.readStream.schema(SCHEMA).json(str(tmp_path / name))
        stream.withWatermark("ts", "1 second").createOrReplaceTempView(name)
    joined = small.sql(
        "SELECT a.v, b.v AS w FROM a JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 10 SECONDS"
    )
    small.conf.set("spark.joinless.minRelations", "2")
    query = joined.writeStream.format("memory").queryName("held").start()

    def arrive(name: str, second: int) -> None:
        line = json.dumps({"k": 1, "v": second, "ts": f"{(START + timedelta(seconds=second)).isoformat()}Z"})
        (tmp_path / name / f"{second}.json").write_text(line)
        query.processAllAvailable()

    arrive("b", 0)
    for second in range(10, 70, 10):
        arrive("a", second)
    progress = joinless.progress(query)
    assert progress is not None
    start = START.replace(tzinfo=timezone.utc)
    assert progress.watermark == start - timedelta(seconds=1)
    assert progress.newest_event_time == start + timedelta(seconds=60)
    assert progress.next_end == start  # that of b's row
    assert progress.stored_rows == 7
    (held,) = progress.advice
    assert held.startswith(
        "The watermark has stood at 2026-02-28T23:59:59.000Z for 5 batches or more, and rows up to 2026-03-01T00:01:00"
    )
    assert str(tmp_path / "b") in held
    assert str(tmp_path / "a") not in held
    arrive("b", 55)
    progress = joinless.progress(query)
    assert progress is not None
    assert progress.advice == ()
    assert progress.rows_late == progress.total.rows_late == 0
    assert progress.with_rows.input_rows == 1
    assert [tuple(row) for row in small.table("held").collect()] == [(50, 55)]
    with pytest.raises(AnalysisException) as forgotten:
        joined.incrementalEnumerate("full", query=query)  # type: ignore[operator]
    assert forgotten.value.getCondition() == "JOINLESS_ROWS_FORGOTTEN"
    query.stop()


def test_progress_reports_rows_that_are_late_or_have_no_end(small: SparkSession, tmp_path: Path) -> None:
    stream = small.readStream.schema(SCHEMA).json(str(tmp_path)).withWatermark("ts", "0 seconds")
    stream.createOrReplaceTempView("a")
    joined = small.sql(
        "SELECT a.ts, b.ts AS u, c.ts AS w FROM a JOIN a b ON a.k = b.k JOIN a c ON c.k = b.k AND c.v = 0"
    )
    query = joined.writeStream.format("noop").start()
    for batch in range(6):
        for behind in (0, 190):  # behind the watermark of the batch before
            second = 100 * batch - behind
            line = json.dumps({"k": 1, "v": batch, "ts": f"{(START + timedelta(seconds=second)).isoformat()}Z"})
            (tmp_path / f"{batch} {behind}.json").write_text(line)
            query.processAllAvailable()
    progress = joinless.progress(query)
    query.stop()
    assert progress is not None
    late, endless = progress.advice
    assert progress.total.rows_late == 10
    assert late.startswith("Late rows were dropped: 10 (5 by a.ts, 5 by b.ts). ")
    assert endless.startswith(f"The query has a watermark, and none of {progress.stored_rows} stored rows has an end.")
    assert progress.next_end is None


def test_progress_reports_a_late_row_behind_a_batch_without_data(small: SparkSession, tmp_path: Path) -> None:
    """One row of four is late, where groups close: the next batch has no
    rows, and does not hide it.
    """
    stream = small.readStream.schema(SCHEMA).json(str(tmp_path)).withWatermark("ts", "1 minute")
    stream.createOrReplaceTempView("a")
    window = "window(ts, '10 minutes')"
    counted = small.sql(f"SELECT {window}.start AS w, COUNT(*) AS n FROM a GROUP BY {window}")
    query = counted.incrementalEnumerate(emit="on_close").writeStream.format("noop").start()  # type: ignore[operator]
    for hours in [(1,), (2,), (0, 3)]:
        times = [f"{(START + timedelta(hours=hour)).isoformat()}Z" for hour in hours]
        lines = [json.dumps({"k": 1, "v": 1, "ts": time}) for time in times]
        (tmp_path / f"{hours[0]}.json").write_text("\n".join(lines))
        query.processAllAvailable()
    progress = joinless.progress(query)
    query.stop()
    assert progress is not None
    assert (progress.input_rows, progress.rows_late) == (0, 0)
    assert (progress.with_rows.input_rows, progress.with_rows.rows_late, progress.total.rows_late) == (2, 1, 1)
    assert progress.with_rows.with_rows == progress.with_rows
    assert progress.advice == (
        "Late rows were dropped: 1 (1 by window(ts, 10 minutes)). "
        "The watermark stood at 2026-03-01T01:59:00.000Z when the last of them arrived, "
        f"in batch {progress.batch_id - 1}. "
        "A longer delay in withWatermark keeps such rows. "
        "Stored rows then stay longer, and final rows are emitted later.",
    )


def test_progress_reports_beforehand_the_results_that_would_be_dropped(small: SparkSession, tmp_path: Path) -> None:
    """A row is joined an hour later, below Spark's GROUP BY: the first batch has the advice."""
    for name in "ab":
        (tmp_path / name).mkdir()
        stream = small.readStream.schema(SCHEMA).json(str(tmp_path / name))
        stream.withWatermark("ts", "1 second").createOrReplaceTempView(name)
    small.conf.set("spark.joinless.minRelations", "2")
    grouped = small.sql("SELECT window(a.ts, '1 minute') AS w, COUNT(*) AS n FROM a JOIN b ON a.k = b.k GROUP BY 1")
    (reason,) = joinless.why_not(grouped)
    assert reason.code == "LATE_RESULTS"
    assert "b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' HOUR" in reason.advice
    query = grouped.writeStream.format("memory").queryName("lost").start()

    def advised(*rows: tuple[str, int, int]) -> tuple[str, ...]:
        for name, k, second in rows:
            line = json.dumps({"k": k, "v": 0, "ts": f"{(START + timedelta(seconds=second)).isoformat()}Z"})
            (tmp_path / name / f"{k} {second}.json").write_text(line)
        query.processAllAvailable()
        progress = joinless.progress(query)
        assert progress is not None
        return tuple(text for text in progress.advice if "of any age" in text)

    (first,) = advised(("a", 1, 0), ("b", 2, 0))
    assert first.startswith("Results of the join can have a time a.ts of any age, and operators above it drop")
    assert "so far" not in first
    advised(("a", 2, 3600), ("b", 3, 3600))
    (then,) = advised(("a", 3, 3600), ("b", 1, 3601))
    query.stop()
    assert "dropped so far: 1. " in then
