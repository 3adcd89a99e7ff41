"""Streams of Parquet folders that grow between the runs of a query."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import joinless


class Folders:
    """Tables in folders, and queries that read them to their end, each run a
    restart from its checkpoint.
    """

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.folder = folder
        self.session = spark.newSession()
        self.session.conf.set("spark.sql.shuffle.partitions", "2")

    def at(self, name: str) -> Path:
        """The path of a table or checkpoint."""
        return self.folder / name

    def put(self, table: str, rows: Iterable[tuple[Any, ...]], schema: str = "k long, v long") -> None:
        """Appends a file of rows."""
        frame = self.session.createDataFrame(list(rows), schema).coalesce(1)
        frame.write.mode("append").parquet(str(self.at(table)))

    def stream(self, table: str, schema: str = "k long, v long") -> DataFrame:
        """The table as a stream, registered under its name."""
        self.at(table).mkdir(exist_ok=True)
        stream = self.session.readStream.schema(schema).parquet(str(self.at(table)))
        stream.createOrReplaceTempView(table)
        return stream

    def run(self, query: DataFrame, checkpoint: str) -> list[tuple[Any, ...]]:
        """Runs the query over the new files; returns its rows, sorted.
        Raises the error that stops it.
        """
        rows: list[tuple[Any, ...]] = []
        writer = query.writeStream.foreachBatch(lambda batch, _: rows.extend(map(tuple, batch.collect())))
        writer = writer.option("checkpointLocation", str(self.at(checkpoint)))
        running = writer.trigger(availableNow=True).start()
        try:
            running.awaitTermination()
        except PySparkException:
            raise joinless.error(running) or running.exception() or RuntimeError("stopped") from None
        return sorted(rows, key=repr)

    def both(self, sql: str, name: str) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        """The rows of a new query, with Joinless and without."""
        found = []
        for on in ("true", "false"):
            self.session.conf.set("spark.joinless.enabled", on)
            found.append(self.run(self.session.sql(sql), f"{name}-{on}"))
        self.session.conf.set("spark.joinless.enabled", "true")
        return found[0], found[1]

    def contents(self, name: str) -> dict[str, bytes]:
        """Every file below a folder."""
        return {str(path): path.read_bytes() for path in sorted(self.at(name).rglob("*")) if path.is_file()}
