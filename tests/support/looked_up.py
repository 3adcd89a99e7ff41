"""Look-ups of random keys in the result of a query that runs, each compared with the result as of a
batch, computed by DuckDB.

    python -m support.looked_up FOLDER KIND KEYS

does so on a cluster of two executors, one of which is killed in between, and prints `right` or what
is wrong.

File n of the input is batch n. A call may begin while a batch runs and end after it, so its answer
must be that of one batch that was the last committed one between the two.
"""

from __future__ import annotations

import datetime
import decimal
import os
import signal
import sys
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import Any

import duckdb
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import joinless

COLUMNS = "src INT, dst BIGINT, name STRING, day DATE, money DECIMAL(9, 2)"
SQL = """
    SELECT a.src, b.src AS via, b.dst, c.dst AS last, a.name, c.day, b.money
    FROM r a JOIN r b ON a.dst = b.src JOIN r c ON b.dst = c.src
"""
NAMES = ("src", "via", "dst", "last", "name", "day", "money")
TYPES = ("INT", "INT", "BIGINT", "BIGINT", "STRING", "DATE", "DECIMAL(9, 2)")
#: Columns on which relations join, all of an edge's or not, and columns that join nothing.
BY = [("via",), ("dst",), ("via", "dst"), ("src",), ("name",), ("day",), ("money", "dst"), ("last", "via", "name")]
Row = tuple[Any, ...]
_VALUES = 9


class LookedUp:
    """A query over files, and its result as of each of their batches.

    Attributes:
        changes: rows are also deleted.
        calls: how many look-ups were compared; found: how many rows they had.
    """

    def __init__(self, spark: SparkSession, folder: Path, changes: bool, batches: int, seed: int) -> None:
        self.spark, self.folder, self.changes = spark, folder, changes
        self.random = Random(seed)
        self.calls = self.found = self.written = 0
        self.files: list[str] = []
        self.results: list[dict[str, dict[Any, Counter[Row]]]] = []
        self.rows: list[Row] = []
        present: list[Row] = []
        db = duckdb.connect()
        for _ in range(batches):
            deleted = []
            if changes:
                self.random.shuffle(present)
                deleted = [present.pop() for _ in range(len(present) // 4)]
            inserted = [self._row() for _ in range(16 if changes else 6)]
            present += inserted
            self.files.append(self._text(deleted, "delete") + self._text(inserted, "insert"))
            db.execute(f"CREATE OR REPLACE TABLE r ({COLUMNS})")
            db.executemany("INSERT INTO r VALUES (?, ?, ?, ?, ?)", present)
            rows = db.execute(SQL).fetchall()
            self.rows += self.random.sample(rows, min(len(rows), 50))
            index: dict[str, dict[Any, Counter[Row]]] = {name: defaultdict(Counter) for name in NAMES}
            for row in rows:
                for name, value in zip(NAMES, row, strict=True):
                    index[name][value][row] += 1
            self.results.append(index)
        (folder / "in").mkdir(parents=True)
        self.frame = self._query()

    def _row(self) -> Row:
        draw = self.random
        return (
            draw.randrange(_VALUES) if draw.random() < 0.9 else None,
            draw.randrange(_VALUES),
            draw.choice([None, "a", "b", "a longer name"]),
            datetime.date(2024, 1, draw.randrange(1, 5)),
            decimal.Decimal(draw.randrange(5)) / 4,
        )

    def _text(self, rows: list[Row], change: str) -> str:
        first = f"{change}," if self.changes else ""
        return "".join(first + ",".join("" if v is None else str(v) for v in row) + "\n" for row in rows)

    def _query(self) -> DataFrame:
        schema = f"_change_type STRING, {COLUMNS}" if self.changes else COLUMNS
        stream = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).csv(str(self.folder / "in"))
        (joinless.changelog(stream) if self.changes else stream).createOrReplaceTempView("r")
        return self.spark.sql(SQL)

    def start(self) -> StreamingQuery:
        """Another run of the query, with its checkpoint."""
        emitted = joinless.enumerate_deltas(self.frame, output="weight") if self.changes else self.frame
        return emitted.writeStream.format("noop").option("checkpointLocation", str(self.folder / "cp")).start()

    def arrive(self) -> None:
        """The next file, if there is one."""
        if self.written < len(self.files):
            staged = self.folder / f"{self.written:04}.csv"
            staged.write_text(self.files[self.written])
            os.utime(staged, (1_750_000_000 + self.written,) * 2)
            staged.rename(self.folder / "in" / staged.name)
            self.written += 1

    def committed(self) -> int:
        """The last committed batch, -1 if there is none."""
        return max((int(f.name) for f in (self.folder / "cp" / "commits").glob("[0-9]*")), default=-1)

    def call(self, query: StreamingQuery | None, size: int) -> None:
        """Looks `size` keys up in one call, in the running query or in the checkpoint."""
        columns = self.random.choice(BY)
        keys = [self._key(columns) for _ in range(size)]
        first = self.committed()
        if query is not None:
            result = joinless.enumerate_full(self.frame, query=query)
        else:
            result = self.spark.read.format("joinless").load(str(self.folder / "cp"))
        if size == 1:
            found = joinless.lookup(result, dict(zip(columns, keys[0], strict=True)))
        else:
            types = ", ".join(f"{c} {TYPES[NAMES.index(c)]}" for c in columns)
            found = joinless.lookup(result, self.spark.createDataFrame(keys, types))
        answer = Counter(tuple(row) for row in found.collect())
        last = self.committed()
        fits = [batch for batch in range(first, last + 1) if answer == self._expected(batch, columns, keys)]
        assert fits, f"{columns} = {keys}: {answer} is the answer of none of the batches {first} to {last}"
        self.calls += 1
        self.found += answer.total()

    def _key(self, columns: tuple[str, ...]) -> Row:
        """Values of a row of some batch, of two such rows, or of none; NULL among them."""
        draw = self.random
        one, other = draw.choice(self.rows), draw.choice(self.rows)
        row = one if draw.random() < 0.7 else other
        key = [(row if i == 0 else one)[NAMES.index(c)] for i, c in enumerate(columns)]
        if draw.random() < 0.1:
            key[0] = None
        elif draw.random() < 0.1 and columns[0] in ("src", "via", "dst", "last"):
            key[0] = _VALUES + draw.randrange(9)
        return tuple(key)

    def _expected(self, batch: int, columns: tuple[str, ...], keys: list[Row]) -> Counter[Row]:
        expected: Counter[Row] = Counter()
        for key in set(keys):
            rows = self.results[batch][columns[0]].get(key[0], Counter())
            expected += Counter(
                {
                    row: n
                    for row, n in rows.items()
                    if all(row[NAMES.index(c)] == value for c, value in zip(columns, key, strict=True))
                }
            )
        return expected


def play(at: LookedUp, query: StreamingQuery, keys: int, together: int) -> None:
    """Looks so many keys up while files arrive, every third time many of them in one call."""
    while at.committed() < 0:
        at.arrive()
        query.processAllAvailable()
    done = 0
    while done < keys:
        if at.calls % 2 == 0:
            at.arrive()
        size = together if at.calls % 3 == 0 else 1
        at.call(query, size)
        done += size


def executors() -> list[int]:
    """The executors of this process's cluster."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if (
                entry.name.isdigit()
                and os.getpgid(int(entry.name)) == os.getpgid(0)
                and b"CoarseGrainedExecutorBackend" in (entry / "cmdline").read_bytes()
            ):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def main(folder: Path, kind: str, keys: int) -> None:
    from faults.pipeline import LOCAL, session

    spark = session(LOCAL, {"spark.speculation": "false"})
    spark.sparkContext.setLogLevel("ERROR")
    at = LookedUp(spark, folder, kind == "changes", 40, 7)
    query = at.start()
    play(at, query, keys // 2, keys // 20)
    before = executors()
    killing = threading.Timer(0.3, lambda: os.kill(before[0], signal.SIGKILL))
    killing.start()
    play(at, query, keys // 2, keys // 20)
    killing.join()
    until = time.monotonic() + 60
    while (before[0] in executors() or len(executors()) < len(before)) and time.monotonic() < until:
        time.sleep(0.1)
    assert before[0] not in executors()
    query.stop()
    query = at.start()  # of the same checkpoint
    play(at, query, keys // 4, keys // 20)
    query.stop()
    for _ in range(10):
        at.call(None, 1)
    assert at.found > keys
    print("right", at.calls, at.found, at.committed() + 1)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
