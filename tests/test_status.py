"""`status`: running, stopped and failed views, and what they have not read yet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import Row, SparkSession

import joinless
from joinless import _started
from support.database import kept, shop_in
from support.shop import Shop


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Iterator[Shop]:
    """The shop's tables in a database."""
    with shop_in(spark, "looked_at", tmp_path) as shop:
        spark.sql("CREATE TABLE plain (id INT) USING parquet")
        yield shop


def of(view: str) -> Row:
    """The row of one view."""
    (row,) = joinless.status(view).collect()
    return row


def test_views_that_run_that_have_ended_and_that_have_failed(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = "SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer"
    runs = joinless.materialize(counts, "runs", trigger="0 seconds")
    runs.processAllAvailable()
    used = "SELECT id FROM items WHERE id IN (SELECT item FROM orders)"
    kept(used, "ended")
    failed = joinless.materialize("SELECT 1 / (pieces - 1000) AS x FROM orders", "failed", trigger="0 seconds")
    failed.processAllAvailable()
    kept(joinless.table("items"), "of_frame")
    shop.commit("orders", "INSERT INTO {t} VALUES (900, 1, 1, 1000)")
    shop.commit("orders", "DELETE FROM {t} WHERE id = 1")
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        failed.processAllAvailable()
    runs.processAllAvailable()
    rows = {row["view"]: row for row in joinless.status().collect()}
    assert set(rows) == {"runs", "ended", "failed", "of_frame"}
    assert {name: row["state"] for name, row in rows.items()} == {
        "runs": "running",
        "ended": "stopped",
        "failed": "failed",
        "of_frame": "stopped",
    }
    assert rows["runs"]["behind"] == {"orders": 0}
    assert rows["ended"]["behind"] == {"orders": 2, "items": 0}
    assert rows["failed"]["behind"] == {"orders": 2}
    assert rows["of_frame"]["behind"] is None
    assert "DIVIDE_BY_ZERO" in rows["failed"]["error"]
    assert [row["error"] for name, row in rows.items() if name != "failed"] == [None] * 3
    assert rows["runs"]["query"] == counts
    assert rows["runs"]["stored_rows"] > 0
    assert rows["runs"]["memory_bytes"] > 0
    assert rows["ended"]["batch"] == 0
    assert rows["runs"]["version"] == shop.version("runs")
    assert rows["runs"]["updated"] >= rows["ended"]["updated"]

    monkeypatch.setattr(_started, "_QUERIES", {})  # as in another process
    assert of("runs")["state"] == "unknown"
    assert of("runs")["behind"] == {"orders": 0}
    assert [row["view"] for row in joinless.status(["ended", shop.at("failed")]).collect()] == [
        "ended",
        shop.at("failed"),
    ]


def test_what_is_no_view_is_refused(shop: Shop) -> None:
    assert joinless.status().collect() == []
    for table in ("orders", "plain"):
        with pytest.raises(joinless.ViewError, match="NOT_A_VIEW"):
            joinless.status(table)
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        joinless.status("nothing")
