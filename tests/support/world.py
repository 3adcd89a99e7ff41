"""A session with streams, changelogs and static tables, and a checkpoint of ours: the
environment of bad input.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import joinless

EDGE = "src BIGINT, dst BIGINT"
FEED = "_change_type STRING, id BIGINT, customer BIGINT, amount DOUBLE"
CHAIN = "FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"
PATH = f"SELECT a.src, b.dst, c.dst AS last {CHAIN}"


class World:
    """Streams, changelogs and static tables of a session, and a checkpoint with state of ours."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.folder, self.runs = folder, 0
        self.session = session = spark.newSession()
        session.conf.set("spark.sql.shuffle.partitions", "1")
        for name, rows in (("edges", ["1,2\n2,3\n", "3,4\n3,5\n"]), ("feed", ["insert,1,7,0.5\n"])):
            (folder / name).mkdir()
            for i, text in enumerate(rows):
                (folder / name / f"{i}.csv").write_text(text)
        edges = session.readStream.schema(EDGE).option("maxFilesPerTrigger", 1).csv(str(folder / "edges"))
        edges.createOrReplaceTempView("e")
        self.feed = session.readStream.schema(FEED).csv(str(folder / "feed"))
        self.feed.createOrReplaceTempView("fed")
        joinless.changelog(self.feed).createOrReplaceTempView("orders")
        timed = self.feed.selectExpr("*", "timestamp_seconds(id) AS at").withWatermark("at", "1 hour")
        joinless.changelog(timed).createOrReplaceTempView("late")
        for name in ("w1", "w2"):
            watermarked = session.table("e").selectExpr("src AS k", f"timestamp_seconds(dst) AS {name}t")
            watermarked.withWatermark(f"{name}t", "1 hour").createOrReplaceTempView(name)
        session.range(9).selectExpr("id AS customer", "id % 3 AS class").createOrReplaceTempView("classes")
        self.good = folder / "good"
        self.run(session.sql(PATH), self.good)

    def at(self, **confs: str) -> SparkSession:
        """The session with other settings (underscores for dots); views are the same."""
        for name, value in confs.items():
            self.session.conf.set(f"spark.joinless.{name.replace('_', '.')}", value)
        return self.session

    def forget_settings(self) -> None:
        """Resets our settings."""
        for row in self.session.sql("SET").collect():
            if row.key.startswith("spark.joinless."):
                self.session.conf.unset(row.key)

    def run(
        self,
        df: DataFrame,
        checkpoint: Path | None = None,
        mode: str = "append",
        function: Callable[[DataFrame, int], None] | None = None,
    ) -> StreamingQuery:
        """Runs a query to the end of its input, with a function for its batches or none; raises the
        error that stops it.
        """
        self.runs += 1
        checkpoint = checkpoint or self.folder / f"checkpoint-{self.runs}"
        writer = df.writeStream.foreachBatch(function) if function else df.writeStream.format("noop")
        writer = writer.option("checkpointLocation", str(checkpoint)).outputMode(mode)
        query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        except PySparkException:
            error = joinless.error(query)
            if error is not None:
                raise error from None
            raise
        return query

    def delta(self, sql: str, output: str = "weight") -> StreamingQuery:
        """Runs the changes of a query."""
        return self.run(joinless.enumerate_deltas(self.session.sql(sql), output=output))  # type: ignore[arg-type]

    def table(self, call: str) -> DataFrame:
        """The rows of a table function, which are not read."""
        return self.session.sql(f"SELECT * FROM {call}")

    def changes(self, *rows: str, weight: bool = False) -> StreamingQuery:
        """Runs a join over a changelog of these rows."""
        self.runs += 1
        folder = self.folder / f"rows-{self.runs}"
        folder.mkdir()
        (folder / "0.csv").write_text("".join(f"{row}\n" for row in rows))
        schema = "n BIGINT, k BIGINT, v BIGINT" if weight else "_change_type STRING, k BIGINT, v BIGINT"
        stream = joinless.changelog(
            self.session.readStream.schema(schema).csv(str(folder)), weight="n" if weight else None
        )
        stream.createOrReplaceTempView("rows")
        return self.delta("SELECT a.v, b.v AS w FROM rows a JOIN rows b ON a.k = b.k")

    def copy(self) -> Path:
        """A checkpoint of its own with state of ours, and a file that it has not read."""
        self.runs += 1
        copy = self.folder / f"copy-{self.runs}"
        shutil.copytree(self.good, copy)
        return copy

    def again(self, sql: str = PATH, tamper: Callable[[Path], object] = lambda _: None) -> StreamingQuery:
        """Restarts from a copy of the good checkpoint that was tampered with; the
        state must stay unchanged.
        """
        checkpoint = self.copy()
        for crc in checkpoint.rglob(".*.crc"):
            crc.unlink()
        unfinished(checkpoint)
        tamper(checkpoint)
        before = contents(checkpoint / "state")
        try:
            return self.run(self.session.sql(sql), checkpoint)
        finally:
            assert contents(checkpoint / "state") == before, "state was touched"

    def read(self, checkpoint: Path | None = None, **options: object) -> object:
        """Reads the complete result of a checkpoint."""
        reader = self.session.read.format("joinless").option("checkpointLocation", str(checkpoint or self.good))
        for name, value in options.items():
            reader = reader.option(name, str(value))
        return reader.load().collect()

    def full(self) -> DataFrame:
        """The complete result in the good checkpoint."""
        return joinless.enumerate_full(self.session.sql(PATH), checkpoint=self.good)

    def empty(self, name: str) -> Path:
        """A folder with nothing in it."""
        (self.folder / name).mkdir(exist_ok=True)
        return self.folder / name


def unfinished(checkpoint: Path) -> Path:
    """Removes the last batch from the checkpoint, so that there is one to run."""
    for log in ("commits", "offsets"):
        for name in ("1", ".1.crc"):
            (checkpoint / log / name).unlink(missing_ok=True)
    return checkpoint


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def edit(old: str, new: str) -> Callable[[Path], object]:
    def edit(checkpoint: Path) -> None:
        (file,) = (p for p in (checkpoint / "state/0/_metadata/v2").iterdir() if p.name.isdigit())
        text = file.read_text()
        changed = re.sub(old, new, text)
        assert changed != text, text
        file.write_text(changed)

    return edit


def truncate(checkpoint: Path) -> None:
    (file,) = (p for p in (checkpoint / "state/0/_metadata/v2").iterdir() if p.name.isdigit())
    file.write_text(file.read_text()[:60])


def cut_deltas(checkpoint: Path) -> Path:
    """Truncates each file of the stores to half its length."""
    files = list((checkpoint / "state").rglob("*.delta"))
    assert files
    for file in files:
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    return checkpoint


def foreign(world: World) -> Path:
    """A checkpoint with Spark's own joins."""
    checkpoint = world.folder / "foreign"
    if not checkpoint.exists():
        world.session.conf.set("spark.joinless.enabled", "false")
        world.run(world.session.sql("SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src"), checkpoint)
        world.session.conf.set("spark.joinless.enabled", "true")
    return checkpoint


def stateless(world: World) -> Path:
    checkpoint = world.folder / "stateless"
    if not checkpoint.exists():
        world.run(world.session.sql("SELECT src FROM e"), checkpoint)
    return checkpoint
