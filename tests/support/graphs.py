"""Streams of graph edges in files, and the queries of the benchmarks and truth tables over them."""

from __future__ import annotations

import importlib.util
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession

EDGE = "src bigint, dst bigint"
L3 = """SELECT a.src AS x1, a.dst AS x2, b.dst AS x3, c.dst AS x4
        FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"""
STAR4 = """SELECT a.src AS x1, a.dst AS x2, b.dst AS x3, c.dst AS x4, d.dst AS x5
           FROM e a JOIN e b ON a.src = b.src JOIN e c ON a.src = c.src JOIN e d ON a.src = d.src
           WHERE a.part = 0 AND b.part = 1 AND c.part = 2 AND d.part = 3"""
L4 = """SELECT a.src AS x1, a.dst AS x2, b.dst AS x3, c.dst AS x4
        FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src JOIN e d ON c.dst = d.src"""
L4_FULL = L4.replace("c.dst AS x4", "c.dst AS x4, d.dst AS x5")


@dataclass(frozen=True)
class Graph:
    """A shared benchmark graph: its edges in arrival order, thresholds and exact answers."""

    name: str
    src: Any
    dst: Any
    thresholds: dict[str, int]
    truth: dict[str, dict[str, int]]

    def write(self, folder: Path, batches: int = 20) -> None:
        """One CSV file per batch."""
        folder.mkdir(parents=True)
        for i, part in enumerate(np.array_split(np.arange(len(self.src)), batches)):
            edges = np.column_stack([self.src[part], self.dst[part]])
            np.savetxt(folder / f"{i:03d}.csv", edges, fmt="%d", delimiter=",")

    def write_window(self, folder: Path, batches: int = 20, window: int = 4) -> None:
        """One CSV file per batch: the edges of the batch `window` before are deleted, those
        of the batch are inserted.

        Rows: change type, source, target, and the edge's position in arrival order modulo 4.
        """
        folder.mkdir(parents=True)
        written = int(time.time()) - batches
        positions = np.arange(len(self.src), dtype=np.int64)
        batch = positions * batches // len(positions)
        for i in range(batches):
            with (folder / f"{i:03d}.csv").open("w") as file:
                for change, part in (("delete", batch == i - window), ("insert", batch == i)):
                    for p in positions[part]:
                        file.write(f"{change},{self.src[p]},{self.dst[p]},{p % 4}\n")
            # Files with the same time stamp would be read in any order.
            os.utime(folder / f"{i:03d}.csv", (written + i, written + i))


def load_graph(shared: Path, name: str) -> Graph:
    """Reads a graph as the shared benchmark streams define it."""
    spec = importlib.util.spec_from_file_location("streams", shared / "bench" / "streams.py")
    assert spec
    assert spec.loader
    streams = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(streams)
    graph: Callable[[str], tuple[Any, Any]] = streams.graph
    src, dst = graph(name)
    truth = json.loads((shared / "bench" / "truth.json").read_text())
    return Graph(name, src, dst, streams.thresholds(dst), truth)


def changes(session: SparkSession, folder: Path) -> DataFrame:
    """The CSV files that `Graph.write_window` wrote as a stream of changes of edges."""
    reader = session.readStream.schema(f"_change_type string, {EDGE}, part int").option("maxFilesPerTrigger", 1)
    return reader.csv(str(folder))


def stream(session: SparkSession, folder: Path, *, files_per_trigger: int | None = 1) -> DataFrame:
    """The CSV files of a folder as a stream of edges."""
    reader = session.readStream.schema(EDGE)
    if files_per_trigger:
        reader = reader.option("maxFilesPerTrigger", files_per_trigger)
    return reader.csv(str(folder))
