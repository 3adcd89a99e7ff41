"""Streams into a target: batches that run again, checkpoints and tables that were exchanged."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from delta import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import joinless
from support.target import Target


@pytest.fixture
def target(spark: SparkSession, tmp_path: Path) -> Target:
    return Target(spark.newSession(), tmp_path)


class Stream:
    """CSV files of changes as a stream into a target."""

    def __init__(self, target: Target, folder: Path, key: str | None = None) -> None:
        self.target, self.files, self.checkpoint, self.key = target, folder / "files", folder / "checkpoint", key
        self.files.mkdir()

    def arrive(self, number: int, text: str) -> None:
        """Adds a file."""
        (self.files / f"{number}.csv").write_text(text)

    def start(self) -> StreamingQuery:
        """Starts a query over the files that have arrived, one file per batch."""
        schema = f"{self.target.schema}, _change_type string"
        df = self.target.session.readStream.schema(schema).option("maxFilesPerTrigger", 1).csv(str(self.files))
        writer = df.writeStream.foreachBatch(joinless.apply_changes(self.target.name, self.key))
        return writer.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True).start()

    def run(self) -> None:
        """Applies the files that have arrived."""
        self.start().awaitTermination()

    def repeat(self, batch_id: int) -> None:
        """Runs again as after a crash before the commit of the last batch; fails if the target changes."""
        version = self.target.version()
        for name in (str(batch_id), f".{batch_id}.crc"):
            (self.checkpoint / "commits" / name).unlink(missing_ok=True)
        self.run()
        assert self.target.version() == version


def test_a_batch_that_a_restarted_query_repeats_changes_nothing(target: Target, tmp_path: Path) -> None:
    stream = Stream(target, tmp_path, "k")
    stream.arrive(0, "1,a,0.5,insert\n2,b,0.5,insert\n")
    stream.arrive(1, "1,a,0.5,delete\n1,c,0.5,insert\n")
    stream.run()
    target.rows = Counter([(1, "c", 0.5), (2, "b", 0.5)])
    target.check()
    stream.repeat(1)
    stream.arrive(2, "2,b,0.5,delete\n")
    stream.run()
    target.rows = Counter([(1, "c", 0.5)])
    target.check()


@pytest.mark.parametrize("key", [None, "k"])
def test_batch_0_that_is_repeated_after_its_write_is_not_refused(
    target: Target, tmp_path: Path, key: str | None
) -> None:
    stream = Stream(target, tmp_path, key)
    stream.arrive(0, "1,a,0.5,insert\n2,b,0.5,insert\n")
    stream.run()
    stream.repeat(0)
    stream.arrive(1, "1,a,0.5,delete\n")
    stream.run()
    target.rows = Counter([(2, "b", 0.5)])
    target.check()
    shutil.rmtree(stream.checkpoint)
    query = stream.start()
    with pytest.raises(PySparkException, match=r"JOINLESS_APPLY_CHANGES\.TARGET_NOT_EMPTY"):
        query.awaitTermination()
    assert "shared=True" in str(joinless.error(query))
    target.check()


@pytest.mark.parametrize("later", [1, 2])
def test_a_checkpoint_that_is_an_older_copy_is_refused(
    target: Target, tmp_path: Path, later: int, subtests: pytest.Subtests
) -> None:
    target.session.conf.set("spark.databricks.delta.commitInfo.userMetadata", "nightly")
    stream = Stream(target, tmp_path)
    for batch in range(later + 1):
        stream.arrive(batch, f"{batch},a,0.5,insert\n")
        stream.run()
        if batch == 0:
            shutil.copytree(stream.checkpoint, tmp_path / "copy")
    newest = DeltaTable.forPath(target.session, target.path).history(1).collect()[0]
    assert newest["userMetadata"].startswith('nightly {"joinless"')
    stream.checkpoint.rename(tmp_path / "newest")
    (tmp_path / "copy").rename(stream.checkpoint)
    query = stream.start()
    with pytest.raises(PySparkException, match=rf"CHECKPOINT_BEHIND.* holds batch {later} .* another batch 1:"):
        query.awaitTermination()
    with subtests.test("the newest one goes on, as the error advises"):
        shutil.rmtree(stream.checkpoint)
        (tmp_path / "newest").rename(stream.checkpoint)
        stream.arrive(later + 1, f"{later + 1},a,0.5,insert\n")
        stream.run()
        target.rows = Counter((batch, "a", 0.5) for batch in range(later + 2))
        target.check()


def test_a_table_that_was_made_anew_is_refused(target: Target, tmp_path: Path) -> None:
    stream = Stream(target, tmp_path)
    stream.arrive(0, "1,a,0.5,insert\n")
    stream.run()
    shutil.rmtree(target.path)
    target.create()
    stream.arrive(1, "2,a,0.5,insert\n")
    query = stream.start()
    with pytest.raises(PySparkException, match=r"TARGET_REPLACED.*a new checkpoint"):
        query.awaitTermination()
    shutil.rmtree(stream.checkpoint)
    stream.run()
    target.rows = Counter([(1, "a", 0.5), (2, "a", 0.5)])
    target.check()


def test_the_error_of_a_batch_stops_the_stream_and_has_its_name(target: Target, tmp_path: Path) -> None:
    stream = Stream(target, tmp_path)
    stream.arrive(0, "1,a,0.5,delete\n")
    query = stream.start()
    with pytest.raises(PySparkException, match=r"JOINLESS_APPLY_CHANGES\.ROW_NOT_IN_TARGET"):
        query.awaitTermination()
    error = joinless.error(query)
    assert error is not None
    assert error.getCondition() == "JOINLESS_APPLY_CHANGES.ROW_NOT_IN_TARGET"
    assert target.session.table(target.name).isEmpty()
