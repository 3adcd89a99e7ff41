"""The queries of TPC-H maintained while all tables change, compared with computing them anew in
Spark and in DuckDB.

    python benchmarks/tpch.py --scale 0.1 --out docs/benchmarks [--queries 1,3,5] [--enumerated]

One session for all queries, one query after the other. The first batch inserts four fifths of each
table. In each of the four others, of each table 1 % is inserted, 4 % is deleted and 4 % is updated,
or a part of that (`--one-in`). A batch is timed from when its files are present to the end of its
sink, which collects the changes; the answers it is compared with read the current tables after the
batch. The result is compared with Spark's after every batch, and a wrong one ends the run.

The folder then has tpch.json, or NAME.json; `report.py` makes the table of it. With `--enumerated`
results of joins are enumerated even where counting them is enough; a table compares such a run,
tpch-enumerated.json, with the other.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "python" / "src"), str(ROOT / "tests")]

import duckdb  # noqa: E402

import tpc  # noqa: E402
from support import oracles  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCHES = 5
STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SETTINGS = {
    "spark.driver.memory": "6g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.streaming.stateStore.providerClass": STORE,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}


def session() -> SparkSession:
    """A local session with two cores."""
    from pyspark.sql import SparkSession

    import joinless

    builder = SparkSession.builder.master("local[2]").appName("tpch")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return joinless.configure(builder).getOrCreate()


def timed(body: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and the result of the call."""
    started = time.perf_counter()
    answer = body()
    return time.perf_counter() - started, answer


class View:
    """One query over its streams, batch by batch."""

    def __init__(self, spark: SparkSession, data: tpc.ChangingTables, text: str, folder: Path) -> None:
        import joinless

        self.data, self.folder, self.result = data, folder, Counter[tuple[object, ...]]()
        self.rows_out = 0
        streaming = spark.newSession()
        counted = "spark.joinless.aggregates.enabled"
        streaming.conf.set(counted, spark.conf.get(counted) or "true")
        for table in data.tables:
            (folder / table).mkdir()
            schema = spark.read.parquet(str(data.folder / "changes" / "0" / f"{table}.parquet")).schema
            stream = streaming.readStream.schema(schema).parquet(str(folder / table))
            joinless.changelog(stream).createOrReplaceTempView(table)
        deltas = joinless.enumerate_deltas(streaming.sql(text))
        self.explained = str(joinless.explain(deltas))
        writer = deltas.writeStream.foreachBatch(self._take)
        self.query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()

    def _take(self, batch: DataFrame, _: int) -> None:
        rows = batch.collect()
        self.rows_out += len(rows)
        for *row, change in rows:
            self.result[tuple(oracles.canonical(value) for value in row)] += 1 if change == "insert" else -1

    def bring(self, batch: int) -> dict[str, Any]:
        """Writes the files of a batch, and returns the time of the batch."""
        self.rows_out = 0
        for table in self.data.tables:
            file = self.data.folder / "changes" / str(batch) / f"{table}.parquet"
            (self.folder / table / f"{batch}.parquet").hardlink_to(file)
        seconds, _ = timed(self.query.processAllAvailable)
        operators = [op for progress in self.query.recentProgress[-1:] for op in progress.stateOperators]
        return {
            "seconds": seconds,
            "rows_out": self.rows_out,
            "state_rows": sum(op.numRowsTotal for op in operators),
            "state_bytes": sum(op.memoryUsedBytes for op in operators),
            "disk_bytes": sum(
                f.stat().st_size for f in (self.folder / "checkpoint" / "state").rglob("*") if f.is_file()
            ),
            "operators": len(operators),
        }


def measured(spark: SparkSession, data: tpc.ChangingTables, text: str) -> tuple[str, list[dict[str, Any]]]:
    """The output of explain, and the figures of each batch of a query."""
    batches = []
    with tempfile.TemporaryDirectory(prefix="joinless-tpch-") as folder:
        view = View(spark, data, text, Path(folder))
        try:
            for batch in range(BATCHES):
                figures = view.bring(batch)
                anew = spark.newSession()
                duck = duckdb.connect()
                duck.execute("SET threads = 2")
                for table in data.tables:
                    now = str(data.folder / "now" / str(batch) / f"{table}.parquet")
                    anew.read.parquet(now).createOrReplaceTempView(table)
                    duck.execute(f"CREATE VIEW {table} AS FROM '{now}'")
                query = text

                def by_spark(anew: SparkSession = anew, query: str = query) -> list[Any]:
                    return anew.sql(query).collect()

                def by_duck(duck: Any = duck, query: str = query) -> list[Any]:
                    return duck.execute(query).fetchall()

                figures["spark"], expected = timed(by_spark)
                figures["duckdb"], _ = timed(by_duck)
                wrong = oracles.difference(+view.result, oracles.bag(expected))
                if wrong:
                    raise SystemExit(f"batch {batch} is wrong: {wrong}\n{text}")
                batches.append(figures)
        finally:
            view.query.stop()
    return view.explained, batches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="0.1")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--one-in", type=int, default=25, help="of so many rows one is deleted and one is updated (25)")
    parser.add_argument("--name", default="tpch", help="of the file that is left behind (tpch)")
    parser.add_argument("--enumerated", action="store_true", help="enumerate the results of all joins")
    parser.add_argument("--queries", default=",".join(map(str, range(1, 23))))
    arguments = parser.parse_args()
    source = tpc.generated("tpch", arguments.scale)
    texts = tpc.queries(source)
    spark = session()
    spark.conf.set("spark.joinless.aggregates.enabled", str(not arguments.enumerated).lower())
    with tempfile.TemporaryDirectory(prefix="joinless-tpch-") as folder:
        data = tpc.ChangingTables("tpch", source, Path(folder), BATCHES, arguments.one_in)
        rows = {t: [data.rows(t, batch) for batch in range(BATCHES)] for t in data.tables}
        measured(spark, data, texts[6])  # warms up
        figures, explained = {}, {}
        for number in map(int, arguments.queries.split(",")):
            explained[number], figures[number] = measured(spark, data, texts[number])
            later = statistics.median(b["seconds"] for b in figures[number][1:])
            print(f"Q{number}: load {figures[number][0]['seconds']:.2f} s, later {later:.2f} s", flush=True)
    spark.stop()
    everything = {"scale": arguments.scale, "changes": rows, "queries": figures, "explained": explained}
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / f"{arguments.name}.json").write_text(json.dumps(everything, indent=1) + "\n")


if __name__ == "__main__":
    main()
