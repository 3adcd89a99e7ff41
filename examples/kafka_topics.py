"""Three Debezium topics, a join of their tables, and a compacted topic that stays equal to its result, while the
program that joins them and the broker are killed.

A broker runs in a process of its own. Changes of customers, items and orders are written to topics in the form in
which Debezium writes them, without schemas. Another process reads the topics (`joinless.debezium`), joins the tables
and writes the changes of the result as records of orders (`joinless.upserts`). It and the broker are killed in between,
and go on. In the end the last record of each key is compared with the same join as batch SQL: the exit code is 0 only
if they are equal.

Run it with `make kafka`; the broker and Spark's connector are fetched the first time. It takes about two minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import joinless
from kafka_broker import JARS, Broker

LOGGING = Path(__file__).with_name("log4j2.properties").resolve()

#: The columns of each table but its id: types, and values as SQL of the id and a version `v`.
TABLES = {
    "customers": {"city": ("STRING", "element_at(array('Berlin', 'Lima', 'Oslo', 'Quito'), pmod(hash(id, v), 4) + 1)")},
    "items": {
        "name": ("STRING", "'item ' || id"),
        "price": ("DECIMAL(8, 2)", "CAST(pmod(hash(id, v), 100000) / 100 AS DECIMAL(8, 2))"),
    },
    "orders": {
        "customer": ("BIGINT", "pmod(hash(id, v, 1), {customers})"),
        "item": ("BIGINT", "pmod(hash(id, v, 2), {items})"),
        "at": (
            "TIMESTAMP_NTZ",
            "TIMESTAMP_NTZ'2026-01-31 10:00:00' + make_dt_interval(0, 0, 0, pmod(hash(id, v, 3), 9))",
        ),
    },
}
#: Of so many changes, how many are of each table.
SHARES = {"customers": 0.16, "items": 0.04, "orders": 0.8}
#: The average number of changes of a row.
PER_ROW = 3.2

QUERY = """SELECT o.id, c.city, i.name, i.price, o.at
           FROM orders o JOIN customers c ON o.customer = c.id JOIN items i ON o.item = i.id"""
RESULT = "id BIGINT, city STRING, name STRING, price DECIMAL(8, 2), at TIMESTAMP_NTZ"


def main() -> int:
    """Runs all of it; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=40_000, help="how many changes the topics have (40,000)")
    parser.add_argument("--batches", type=int, default=12, help="in about so many batches they are read (12)")
    parser.add_argument("--kills", type=int, default=2, help="how often driver and broker are killed, each (2)")
    parser.add_argument("--seed", type=int, default=1, help="decides when they are killed (1)")
    parser.add_argument("--join", nargs=2, metavar=("SERVERS", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.join:
        servers, folder = given.join
        join(servers, folder, given.changes, given.batches)
        return 0
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(Path(folder) / "broker")
        broker.start()
        try:
            equal = play(broker, Path(folder), given)
        finally:
            broker.kill()
    say(f"{'OK' if equal else 'FAILED'} after {time.monotonic() - started:.0f} s")
    return 0 if equal else 1


def play(broker: Broker, folder: Path, given: argparse.Namespace) -> bool:
    """Writes the topics, has them joined through all kills, and compares the result with batch SQL."""
    spark = start_session(folder, given.changes)
    make_topics(spark, broker.servers)
    sizes = {table: max(4, round(given.changes * share / PER_ROW)) for table, share in SHARES.items()}
    begun = time.monotonic()
    changes = sum(write_changes(spark, broker.servers, table, sizes) for table in TABLES)
    say(f"{changes:,} changes of {sum(sizes.values()):,} rows in three topics, {time.monotonic() - begun:.0f} s")
    begun = time.monotonic()
    survived = join_through_kills(broker, folder, given)
    say(f"joined in {time.monotonic() - begun:.0f} s")
    return survived and compare(spark, broker.servers, sizes)


def start_session(folder: Path, changes: int) -> SparkSession:
    """A small local session with Joinless and Spark's connector for Kafka, for about so many changes."""
    jars = sorted(map(str, (JARS / "connector").glob("*.jar")))
    builder = SparkSession.Builder().master("local[2]").appName("kafka").config("spark.jars", ",".join(jars))
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.host", "127.0.0.1")
    builder = builder.config("spark.driver.memory", "2g").config("spark.sql.session.timeZone", "UTC")
    builder = builder.config("spark.sql.warehouse.dir", f"{folder}/tables")
    options = f"-Dlog4j2.configurationFile={LOGGING.as_uri()}"
    if changes < 100_000:  # code lives shorter than its compilation would take
        options += " -XX:TieredStopAtLevel=1"
        builder = builder.config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        builder = builder.config("spark.sql.codegen.wholeStage", "false")
    builder = builder.config("spark.driver.extraJavaOptions", options)
    return joinless.configure(builder).getOrCreate()


# The topics -----------------------------------------------------------------------------------------------------------


def make_topics(spark: SparkSession, servers: str) -> None:
    """Makes the topics, that of the result compacted as often as the broker can."""
    java = spark._jvm
    assert java is not None
    admin = java.org.apache.kafka.clients.admin.Admin.create({"bootstrap.servers": servers})
    often = {"segment.ms": "1000", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "0"}
    topics = []
    for name in [*TABLES, "result"]:
        topic = java.org.apache.kafka.clients.admin.NewTopic(name, 2, 1)
        topics.append(topic.configs({"cleanup.policy": "compact", **often}) if name == "result" else topic)
    admin.createTopics(topics).all().get()
    admin.close()


def write_changes(spark: SparkSession, servers: str, table: str, sizes: dict[str, int]) -> int:
    """Writes the topic of a table: each row has versions, and may be deleted in the end, with a tombstone behind it.
    The changes of a row are in their order; those of different rows are mixed. Returns how many changes there are.
    """
    after, before = (f"named_struct({fields(table, sizes, v)})" for v in ("p", "p - 1"))
    envelope = f"""to_json(named_struct(
        'before', CASE WHEN p BETWEEN 1 AND versions THEN {before} END,
        'after', CASE WHEN p < versions THEN {after} END,
        'source', named_struct('connector', 'postgresql', 'table', '{table}'),
        'op', CASE WHEN p = 0 THEN 'c' WHEN p < versions THEN 'u' ELSE 'd' END, 'ts_ms', 0L
    ), map('ignoreNullFields', 'false'))"""
    records = spark.sql(
        f"""SELECT '{table}' AS topic, to_json(named_struct('id', id)) AS key,
                   CASE WHEN p <= versions THEN {envelope} END AS value, id, p
            FROM (SELECT *, explode(sequence(0, versions - 1 + IF(gone, 2, 0))) AS p FROM ({keys(sizes[table])}))"""
    )
    ordered = records.repartition(2, "id").sortWithinPartitions("p", "id").select("topic", "key", "value")
    ordered.write.format("kafka").option("kafka.bootstrap.servers", servers).save()
    return int(spark.sql(f"SELECT sum(versions + INT(gone)) FROM ({keys(sizes[table])})").collect()[0][0])


def keys(size: int) -> str:
    """The rows of a table: how many versions each has, and whether it is deleted after the last."""
    return f"SELECT id, 1 + pmod(hash(id, 7), 5) AS versions, pmod(hash(id, 8), 5) = 0 AS gone FROM range({size})"


def fields(table: str, sizes: dict[str, int], version: str, plain: bool = False) -> str:
    """Names and values of a row's columns in a version, as Debezium writes them, or as plain values.

    A decimal is a text (decimal.handling.mode=string), a time without a zone a number of microseconds.
    """
    written = {"DECIMAL(8, 2)": "CAST({} AS STRING)", "TIMESTAMP_NTZ": "unix_micros(CAST({} AS TIMESTAMP))"}
    parts = ["'id'", "id"]
    for column, (kind, value) in TABLES[table].items():
        sql = value.format(**sizes).replace("id, v", f"id, {version}")
        parts += [f"'{column}'", sql if plain else written.get(kind, "{}").format(sql)]
    return ", ".join(parts)


# The join -------------------------------------------------------------------------------------------------------------


def join(servers: str, folder: str, changes: int, batches: int) -> None:
    """Reads the topics to their end, and keeps the topic of the result. Customers are read by their key, the other
    tables by the rows before and after each change.
    """
    spark = start_session(Path(folder), changes)
    for table, share in SHARES.items():
        reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", table)
        reader = reader.option("startingOffsets", "earliest")
        records = reader.option("maxOffsetsPerTrigger", max(1, round(changes * share / batches))).load()
        columns = ", ".join(["id BIGINT", *(f"{column} {kind}" for column, (kind, _) in TABLES[table].items())])
        key = "id" if table == "customers" else None
        rows = joinless.debezium(records, columns, key=key, decimals="string", timestamps="micros")
        rows.createOrReplaceTempView(table)
    deltas = joinless.enumerate_deltas(spark.sql(QUERY))
    writer = joinless.upserts(deltas, key="id").writeStream.format("kafka").option("topic", "result")
    writer = writer.option("kafka.bootstrap.servers", servers).option("checkpointLocation", f"{folder}/checkpoint")
    writer.trigger(availableNow=True).start().awaitTermination()


def join_through_kills(broker: Broker, folder: Path, given: argparse.Namespace) -> bool:
    """Runs `join` in a process that is killed and started again, as the broker is, until it has read the topics to
    their end. Returns whether there was time for all kills.
    """
    chance = random.Random(given.seed)
    places = sorted(chance.sample(range(1, given.batches - 1), 2 * given.kills))
    kills = [(batch, ("driver", "broker")[i % 2]) for i, batch in enumerate(places)]
    command = [sys.executable, __file__, "--join", broker.servers, str(folder)]
    command += ["--changes", str(given.changes), "--batches", str(given.batches)]
    process = subprocess.Popen(command, start_new_session=True)
    failures, last, since, seconds = 0, -1, time.monotonic(), 1.0
    try:
        while process.poll() != 0:
            if committed(folder) > last:
                last, since, seconds = committed(folder), time.monotonic(), min(10.0, time.monotonic() - since)
            if process.poll() is not None:
                failures += 1
                if failures > 2 * given.kills + 2:
                    raise RuntimeError("the process that joins fails again and again")
                say("the process that joins has failed; another one goes on")
                process = subprocess.Popen(command, start_new_session=True)
            if kills and last >= kills[0][0]:
                batch, what = kills.pop(0)
                time.sleep(chance.random() * seconds)  # somewhere in the next batch: while it reads, joins or writes
                say(f"after batch {batch}: the {what} is killed")
                if what == "broker":
                    broker.kill()
                    time.sleep(1)
                    broker.start()
                else:
                    kill(process)
                    process = subprocess.Popen(command, start_new_session=True)
            time.sleep(0.05)
    finally:
        kill(process)
    if kills:
        say(f"FAILED: no time for the kills {kills}")
    return not kills


def committed(folder: Path) -> int:
    """The last batch of the query's checkpoint that is done; -1 if none is."""
    return max((int(file.name) for file in folder.glob("checkpoint/commits/[0-9]*")), default=-1)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and its Java at once."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


# The result -----------------------------------------------------------------------------------------------------------


def compare(spark: SparkSession, servers: str, sizes: dict[str, int]) -> bool:
    """Compares the last record of each key with batch SQL over the tables as they are in the end."""
    records = spark.read.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", "result").load()
    records.createOrReplaceTempView("records")
    for table in TABLES:
        last = f"SELECT inline(array(named_struct({fields(table, sizes, 'versions - 1', plain=True)})))"
        spark.sql(f"{last} FROM ({keys(sizes[table])}) WHERE NOT gone").createOrReplaceTempView(table)
    expected = spark.sql(QUERY).cache()
    found = spark.sql(
        f"""SELECT r.* FROM (SELECT from_json(CAST(newest.value AS STRING), '{RESULT}', map('mode', 'FAILFAST')) AS r
                             FROM (SELECT max_by(struct(value), offset) AS newest FROM records GROUP BY key)
                             WHERE newest.value IS NOT NULL)"""
    ).cache()
    facts = spark.sql(
        """SELECT (SELECT sum(n) FROM (SELECT max(offset) + 1 AS n FROM records GROUP BY partition)) AS written,
                  count(*) AS left, count_if(value IS NULL) AS tombstones,
                  (SELECT count(*) FROM (SELECT key FROM records GROUP BY key HAVING min(partition) < max(partition)))
                      AS moved FROM records"""
    ).collect()[0]
    say(f"{facts.written:,} records were written; compaction has left {facts.left:,}, {facts.tombstones:,} tombstones")
    missing, extra = difference(expected, found), difference(found, expected)
    say(f"{expected.count():,} rows by batch SQL, {found.count():,} in the topic; {missing} missing, {extra} too many")
    return not missing and not extra and not facts.moved and expected.count() > 0


def difference(one: DataFrame, other: DataFrame) -> int:
    """How many rows of one the other lacks."""
    return one.exceptAll(other).count()


def say(text: str) -> None:
    """Prints at once."""
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
