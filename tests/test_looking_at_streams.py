"""Frames over changelogs and of changes, inspected instead of started: explained, or
refused as Spark refuses them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import joinless

FRAMES = ("changelog", "of a changelog", "of a changelog in SQL", "changes", "changes of plain streams", "on top")

#: Actions that Spark starts for a DataFrame.
ACTIONS: dict[str, Callable[[DataFrame], Any]] = {
    "show": lambda df: df.show(),
    "count": lambda df: df.count(),
    "collect": lambda df: df.collect(),
    "isEmpty": lambda df: df.isEmpty(),
    "head": lambda df: df.head(),
    "foreach": lambda df: df.foreach(print),
    "cache": lambda df: df.cache(),
    "checkpoint": lambda df: df.localCheckpoint(),
    "describe": lambda df: df.describe().collect(),
    "write": lambda df: df.write.format("noop").mode("overwrite").save(),
    "table": lambda df: df.write.saveAsTable("nothing"),
}


@pytest.fixture(scope="module")
def frames(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, DataFrame]:
    session, folder = spark.newSession(), tmp_path_factory.mktemp("looked-at")
    (folder / "1.csv").write_text("insert,1,2\n")
    rows = session.readStream.schema("_change_type STRING, src INT, dst INT").csv(str(folder))
    changelog = joinless.changelog(rows)
    changelog.createOrReplaceTempView("follows")
    joinless.rows(rows).select("src", "dst").createOrReplaceTempView("plain")
    changes = joinless.enumerate_deltas(session.sql(f"{PATHS} {JOINED.format(t='follows')}"))
    a, b = changelog.alias("a"), changelog.alias("b")
    return {
        "changelog": changelog,
        "of a changelog": a.join(b, F.expr("a.dst = b.src")).select("a.src", "b.dst"),
        "of a changelog in SQL": session.sql(f"{PATHS} {JOINED.format(t='follows')}"),
        "changes": changes,
        "changes of plain streams": joinless.enumerate_deltas(session.sql(f"{PATHS} {JOINED.format(t='plain')}")),
        "on top": changes.where("src > 1").selectExpr("src + 1 AS more", "_change_type"),
    }


PATHS = "SELECT a.src, b.dst FROM"
JOINED = "{t} a JOIN {t} b ON a.dst = b.src"


@pytest.mark.parametrize("frame", FRAMES)
def test_an_action_says_that_streams_are_started(
    frames: dict[str, DataFrame], frame: str, subtests: pytest.Subtests
) -> None:
    for name, action in ACTIONS.items():
        with subtests.test(name), pytest.raises(AnalysisException) as refused:
            action(frames[frame])
        text = str(refused.value)
        assert "writeStream.start()" in text or "CALL_ON_STREAMING_DATASET_UNSUPPORTED" in text
    with pytest.raises(AnalysisException) as refused:
        frames[frame].select("*").count()
    assert refused.value.getCondition() == "JOINLESS_STREAM_NOT_STARTED"
    assert 'incrementalEnumerate("full", query=...)' in str(refused.value)


@pytest.mark.parametrize("mode", ["simple", "extended", "formatted", "cost", "codegen"])
def test_explain_prints_the_plan(
    frames: dict[str, DataFrame], mode: str, capsys: pytest.CaptureFixture[str], subtests: pytest.Subtests
) -> None:
    for name, df in frames.items():
        with subtests.test(name):
            df.select("*").explain(mode)
            printed = capsys.readouterr().out
            if mode == "codegen":
                assert "WholeStageCodegen subtrees" in printed
                continue
            assert "Exception" not in printed
            marked = "of a" in name or name == "changelog"
            for node in ("Changelog",) if marked else ("DeltaRows", "JoinFree", "RolesAndCells"):
                assert node in printed, printed


def test_sql_explain_says_what_it_says_of_plain_streams(frames: dict[str, DataFrame]) -> None:
    session = frames["changes"].sparkSession
    frames["changes"].createOrReplaceTempView("changes")
    for view in ("changes", "follows", "plain"):
        plan = session.sql(f"EXPLAIN SELECT * FROM {view}").collect()
        assert "writeStream.start()" in "\n".join(row[0] for row in plan)


def test_looking_leaves_the_query_as_it_was(frames: dict[str, DataFrame], tmp_path: Path) -> None:
    changes = frames["changes"]
    changes.explain()
    with pytest.raises(AnalysisException):
        changes.count()
    writer = changes.writeStream.format("memory").queryName("looked_at").option("checkpointLocation", str(tmp_path))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    assert changes.sparkSession.table("looked_at").count() == 0
    report = joinless.progress(query)
    assert report is not None
    assert report.stored_rows > 0
