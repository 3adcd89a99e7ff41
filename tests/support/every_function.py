"""One program that calls every function of the package: what it answers must not depend on the kind
of session. The file is run by a client of Spark Connect as well, which has no JVM of its own.
"""

from __future__ import annotations

import datetime
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import joinless

#: Functions that no client of Spark Connect can call.
CLASSIC_ONLY = {"apply_changes", "configure"}

PAIRS = "SELECT a.src, b.dst FROM links a JOIN links b ON a.dst = b.src"


class Answers(dict[str, Any]):
    """Answers by name, each read when it is given."""

    def __setitem__(self, name: str, answer: object) -> None:
        super().__setitem__(name, plain(answer))


def play(spark: SparkSession, folder: Path) -> dict[str, Any]:
    """The answers of all functions, by name, over tables in a folder."""
    called = Answers()
    spark.sql(
        f"CREATE TABLE links (src INT, dst INT) USING delta LOCATION '{folder}/links' "
        "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
    ).collect()
    spark.sql("INSERT INTO links VALUES (1, 2), (2, 3), (1, 5), (3, 1), (2, 4), (2, 4)").collect()
    marks(spark, folder, called)
    links = called["table"] = joinless.table("links")
    called["sql"] = pairs = joinless.sql(PAIRS.replace("links b", "given b"), tables={"given": links})
    called["explain"] = joinless.explain(pairs, lookups=["src", ["src", "dst"]]).text.splitlines()[-4:]
    called["explain of a text"] = joinless.explain("SELECT src, COUNT(*) AS n FROM links GROUP BY src").text
    called["why_not"] = [str(reason) for reason in joinless.why_not(pairs)]
    running(spark, folder, pairs, called)
    views(spark, folder, pairs, called)
    errors(spark, folder, pairs, called)
    return dict(called)


def marks(spark: SparkSession, folder: Path, called: Answers) -> None:
    """Functions that mark streams."""
    (folder / "none").mkdir()

    def stream(columns: str) -> DataFrame:
        return spark.readStream.schema(columns).json(str(folder / "none"))

    called["changelog"] = joinless.changelog(stream("op STRING, n INT, x INT"), weight="n")
    called["changelog by type"] = joinless.changelog(stream("_change_type STRING, n INT"))
    called["rows"] = joinless.rows(stream("_change_type STRING, x INT"))
    timed = stream("ts TIMESTAMP, x INT").withWatermark("ts", "1 minute")
    called["expire"] = joinless.expire(timed, "ts", datetime.timedelta(hours=1))
    called["key"] = joinless.key(stream("shop INT, id INT, city STRING"), ["shop", "id"])
    called["latest"] = joinless.latest(stream("shop INT, id INT, at INT"), ["shop", "id"], "at")
    records = stream("key STRING, value STRING, offset BIGINT")
    called["debezium"] = joinless.debezium(records, "id BIGINT, city STRING", key="id", added=["city"])


def running(spark: SparkSession, folder: Path, pairs: DataFrame, called: Answers) -> None:
    """A query whose changes are requested, what is read of it while it runs, and of its checkpoint."""
    called["enumerate_deltas"] = deltas = joinless.enumerate_deltas(pairs, output="weight")
    called["upserts"] = joinless.upserts(deltas, key=["src", "dst"])
    checkpoint = str(folder / "checkpoint")
    writer = deltas.writeStream.format("joinless").option("into", "reached").queryName("reach")
    query = writer.option("checkpointLocation", checkpoint).start()
    query.processAllAvailable()
    called["the sink"] = spark.table("reached")
    figures = joinless.progress("reach")
    called["progress"] = None if figures is None else (figures.batch_id, figures.rows_out)
    called["error of none"] = joinless.error(query)
    called["enumerate_full"] = full = joinless.enumerate_full(pairs, query=query)
    called["by name"] = joinless.enumerate_full(pairs, query="reach").where("src = 1")
    query.stop()
    called["by checkpoint"] = joinless.enumerate_full(pairs, checkpoint=checkpoint, batch_id=0)
    called["count"] = [joinless.count(full), joinless.count(checkpoint)]
    called["page"] = [joinless.page(full, 0, 3).count(), joinless.page(full, 4, 9).count()]
    called["sample"] = joinless.sample(full, 100, seed=7)
    called["sample with replacement"] = joinless.sample(full, 100, seed=7, replacement=True).count()
    called["a kept sample"] = joinless.sample(pairs, 2, seed=-1, by=["src"])
    called["lookup"] = joinless.lookup(full, {"src": 1})
    called["lookup of NULL"] = joinless.lookup(full, {"src": None})
    called["lookup of keys"] = joinless.lookup(checkpoint, spark.createDataFrame([(2,), (3,)], "src INT"))
    called["weight_of"] = joinless.weight_of(full, {"src": 1, "dst": 4})
    called["estimate"] = joinless.estimate(joinless.sample(full, 100, seed=1), results=joinless.count(full), sum="dst")
    called["evolve"] = joinless.evolve(checkpoint, PAIRS + " WHERE a.src < 3", folder / "evolved")
    called["evolve of a DataFrame"] = joinless.evolve(checkpoint, pairs, folder / "unused", dry_run=True)


def views(spark: SparkSession, folder: Path, pairs: DataFrame, called: Answers) -> None:
    """The life of a view."""
    text = "SELECT src, COUNT(*) AS n FROM links GROUP BY src"
    query = joinless.materialize(text, "per_src", trigger="0 seconds")
    until(lambda: joinless.status("per_src").collect()[0]["batch"] == 0)
    called["materialize"] = spark.table("per_src")
    row = joinless.status(["per_src"]).collect()[0]
    called["status"] = [row[column] for column in ("view", "state", "batch", "behind", "query")]
    spark.sql("DELETE FROM links WHERE src = 3").collect()
    query.processAllAvailable()
    called["after a change"] = spark.table("per_src")
    wider = text.replace("COUNT(*) AS n", "COUNT(*) AS n, MAX(dst) AS last")
    called["replace dry"] = str(joinless.replace("per_src", wider, dry_run=True))
    joinless.replace("per_src", wider, trigger="availableNow").awaitTermination()
    called["replace"] = spark.table("per_src")
    found = joinless.verify("per_src")
    called["verify"] = [found.is_equal, found.rows, found.differences.columns]
    spark.sql("UPDATE per_src SET n = 7 WHERE src = 1").collect()
    called["verify of another"] = joinless.verify("per_src").differences
    joinless.drop("per_src")
    called["drop"] = [row["view"] for row in joinless.status().collect()]
    ended = joinless.materialize(pairs, "kept_pairs", trigger="availableNow", name="ends")
    ended.awaitTermination()
    called["of a DataFrame"] = [ended.name, ended.isActive, ended.exception()]
    given = {"l": joinless.table("links")}
    joinless.materialize("SELECT dst FROM l", "kept_ends", trigger="availableNow", tables=given).awaitTermination()
    called["with tables"] = spark.table("kept_ends")


def errors(spark: SparkSession, folder: Path, pairs: DataFrame, called: Answers) -> None:
    """Errors have their conditions."""
    writer = joinless.enumerate_deltas(pairs).writeStream.format("joinless").option("into", "reached")
    query = writer.option("checkpointLocation", str(folder / "another")).start()
    until(lambda: query.exception() is not None)
    error = joinless.error(query)
    called["error"] = error and error.getCondition()
    called["conditions"] = [
        condition(
            lambda: joinless.changelog(spark.readStream.schema("n STRING").json(str(folder / "none")), weight="n")
        ),
        condition(lambda: joinless.materialize("SELECT rand() AS r, src FROM links", "random")),
        condition(lambda: joinless.materialize(pairs, "links", trigger="availableNow")),
        condition(lambda: joinless.materialize(pairs, "never", trigger="now and then")),
        condition(lambda: joinless.replace("links", "SELECT 1")),
        condition(lambda: joinless.verify("links")),
        condition(lambda: joinless.drop("nothing")),
        condition(lambda: joinless.progress("nobody")),
        condition(lambda: joinless.enumerate_full(pairs, query="nobody")),
        condition(lambda: joinless.enumerate_full(pairs, checkpoint=str(folder / "nowhere"))),
        condition(lambda: joinless.lookup(str(folder / "checkpoint"), {"city": 1})),
        condition(lambda: joinless.weight_of(str(folder / "checkpoint"), {"src": 1})),
        condition(lambda: joinless.page(spark.range(3), 0, 1)),
        condition(lambda: joinless.sql("SELECT 1")),
    ]


def condition(act: Callable[[], object]) -> str | None:
    """The condition of the error that is raised, or its class."""
    try:
        act()
    except PySparkException as raised:
        return raised.getCondition()
    except (TypeError, ValueError) as raised:
        return type(raised).__name__
    return None


def until(done: Callable[[], bool]) -> None:
    """Waits, for a minute at most."""
    last = time.monotonic() + 60
    while not done():
        assert time.monotonic() < last, "this takes more than a minute"
        time.sleep(0.2)


def plain(answer: object) -> Any:
    """An answer as JSON has it: of a stream its columns, of another DataFrame its rows in some order."""
    if not isinstance(answer, DataFrame):
        return answer if isinstance(answer, (list, tuple, bool, int, type(None))) else str(answer)
    if answer.isStreaming:
        return [f"{field.name} {field.dataType.simpleString()}" for field in answer.schema.fields]
    return sorted(([*row] for row in answer.collect()), key=str)


def uncalled(answers: dict[str, Any]) -> set[str]:
    """Functions of the package that no answer is named after."""
    functions = {name for name in joinless.__all__ if callable(getattr(joinless, name)) and name[0].islower()}
    return functions - CLASSIC_ONLY - set(answers)


if __name__ == "__main__":
    session = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
    session.sql("CREATE DATABASE every_function").collect()
    session.sql("USE every_function").collect()
    print(json.dumps(play(session, Path(sys.argv[2])), default=str))
