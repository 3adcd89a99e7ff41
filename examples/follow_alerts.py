"""Alerts from follows and unfollows: who can newly be met through a friend, and who no longer.

People follow and unfollow each other in a stream of files. Each path `who -> via -> whom` that
appears or disappears is an alert; a follow and an unfollow within one batch are none. The program
replays the story in Python and compares every batch: the exit code is 0 only if all alerts agree.

Run it with .venv/bin/python examples/follow_alerts.py; it takes half a minute.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import joinless

LOGGING = Path(__file__).with_name("log4j2.properties").resolve()
NAMES = ("Ann", "Bob", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana")
BATCHES = 12

Follow = tuple[str, str]
Path3 = tuple[str, str, str]
Alert = tuple[str, Path3]

QUERY = """SELECT a.who, b.who AS via, b.whom
           FROM follows a JOIN follows b ON a.whom = b.who
           WHERE a.who <> b.whom"""


def main() -> int:
    """Runs the story; returns the exit code."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        story = list(write_story(Path(folder) / "events", random.Random(4)))
        alerts = run(Path(folder))
    failures = 0
    before: set[Path3] = set()
    for number, (text, follows) in enumerate(story):
        after = paths(follows)
        expected = {("insert", path) for path in after - before} | {("delete", path) for path in before - after}
        emitted = alerts.get(number, [])
        say(f"\n{text}")
        for kind, (who, via, whom) in sorted(emitted, reverse=True):
            say(f"  {who} can {'now' if kind == 'insert' else 'no longer'} meet {whom} through {via}")
        if sorted(emitted) != sorted(expected):
            say(f"FAILED: expected {sorted(expected)}")
            failures += 1
        before = after
    say(f"\n{'FAILED' if failures else 'OK'} after {time.monotonic() - started:.0f} s")
    return 1 if failures else 0


def run(folder: Path) -> dict[int, list[Alert]]:
    """The alerts of each batch."""
    spark = start_session()
    events = spark.readStream.schema("who string, event string, whom string").option("maxFilesPerTrigger", 1)
    steps = F.expr("CASE event WHEN 'follow' THEN 1 WHEN 'unfollow' THEN -1 END").alias("step")
    follows = joinless.changelog(events.csv(str(folder / "events")).select("who", "whom", steps), weight="step")
    follows.createOrReplaceTempView("follows")
    alerts: dict[int, list[Alert]] = {}

    def alert(batch: DataFrame, number: int) -> None:
        """The text that an application would send to people."""
        alerts[number] = [(row["_change_type"], (row["who"], row["via"], row["whom"])) for row in batch.collect()]

    paths_of_two = spark.sql(QUERY)
    say(str(joinless.explain(joinless.enumerate_deltas(paths_of_two))))
    writer = joinless.enumerate_deltas(paths_of_two).writeStream.foreachBatch(alert)
    checkpoint = str(folder / "checkpoint")
    writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
    spark.stop()
    return alerts


def write_story(folder: Path, rng: random.Random) -> Iterator[tuple[str, set[Follow]]]:
    """Writes a file of events per batch; returns the events in words, and who
    follows whom after each batch.
    """
    folder.mkdir()
    follows: set[Follow] = set()
    for number in range(BATCHES):
        lines = []
        for _ in range(rng.randint(1, 4)):
            who, whom = rng.sample(NAMES, 2)
            event = "unfollow" if (who, whom) in follows else "follow"
            follows ^= {(who, whom)}
            lines.append((who, event, whom))
        if number == BATCHES // 2:  # a follow that is undone in the same batch: no alert
            who, whom = rng.sample(NAMES, 2)
            events = ("unfollow", "follow") if (who, whom) in follows else ("follow", "unfollow")
            lines += [(who, event, whom) for event in events]
        file = folder / f"{number:02}.csv"
        file.write_text("\n".join(map(",".join, lines)) + "\n")
        os.utime(file, (number, number))  # Spark takes files in the order of their times
        yield "; ".join(f"{who} {event}s {whom}" for who, event, whom in lines), set(follows)


def paths(follows: set[Follow]) -> set[Path3]:
    """All paths of two follows that do not lead back."""
    return {(who, via, whom) for who, via in follows for also, whom in follows if via == also and who != whom}


def start_session() -> SparkSession:
    """A small local session with Joinless."""
    builder = SparkSession.Builder().master("local[2]").appName("follow alerts")
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.host", "127.0.0.1")
    # A program this short ends before Java's optimizing compiler pays off.
    options = f"-Dlog4j2.configurationFile={LOGGING.as_uri()} -XX:TieredStopAtLevel=1"
    builder = builder.config("spark.driver.extraJavaOptions", options)
    return joinless.configure(builder).getOrCreate()


def say(text: str) -> None:
    """Prints at once."""
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
