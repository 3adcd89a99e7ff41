"""Debezium topics as tables, and changes as records of a compacted topic, without a broker: random
changes agree with batch SQL, and each record that cannot be read is an error by name.
"""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

import joinless
from support import debezium
from support.debezium import RECORD, Topic
from support.folders import Folders

SHOP = {
    "customers": {"id": debezium.LONG, "city": debezium.STRING, "since": debezium.DATE},
    "items": {"id": debezium.LONG, "name": debezium.STRING, "price": debezium.DECIMAL},
    "orders": {"id": debezium.LONG, "customer": debezium.LONG, "item": debezium.LONG, "at": debezium.MICROS},
}
SCHEMAS = {
    "customers": "id BIGINT, city STRING, since DATE",
    "items": "id BIGINT, name STRING, price DECIMAL(10, 2)",
    "orders": "id BIGINT, customer BIGINT, item BIGINT, at TIMESTAMP_NTZ",
}
QUERY = """SELECT o.id, c.city, c.since, i.name, i.price, o.at
           FROM orders o JOIN customers c ON o.customer = c.id JOIN items i ON o.item = i.id"""


class Shop:
    """Three tables that change at random, each with a topic."""

    def __init__(self, folder: Path, seed: int, **options: Any) -> None:
        self.random = Random(seed)
        self.topics = {name: Topic(folder / name, columns, **options) for name, columns in SHOP.items()}

    def row(self, table: str, key: int) -> dict[str, Any]:
        """A random row."""
        r = self.random
        values: dict[str, Any] = {
            "city": r.choice(["Berlin", "Lima", 'Québec "1"', "", None]),
            "since": r.choice([date(1969, 12, 31), date(2026, 1, 31), None]),
            "name": r.choice(["apple", "bread"]),
            "price": r.choice([Decimal("0.05"), Decimal("-12.30"), Decimal("99999999.99")]),
            "customer": r.randrange(8),
            "item": r.randrange(6),
            "at": datetime(2026, 1, 31, 10, 0, 0, r.choice([0, 1, 123456])),
        }
        return {"id": key} | {column: values[column] for column in SHOP[table] if column != "id"}

    def change(self, changes: int, op: str = "c", repeated: int = 0) -> None:
        """Random changes, which become one file of each topic; the last records come twice."""
        for name, topic in self.topics.items():
            for _ in range(changes):
                key = self.random.randrange({"customers": 8, "items": 6, "orders": 40}[name])
                if key not in topic.rows:
                    topic.insert(self.row(name, key), op)
                elif self.random.random() < 0.6:
                    topic.update(self.row(name, key))
                else:
                    topic.delete(key, tombstone=self.random.random() < 0.8)
            topic.repeat(repeated)
            topic.publish()


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Folders:
    return Folders(spark, tmp_path)


def stream(tables: Folders, topic: Topic) -> DataFrame:
    reader = tables.session.readStream.schema(RECORD).option("maxFilesPerTrigger", 1)
    return reader.json(str(topic.folder))


def expected(tables: Folders, shop: Shop) -> dict[str, Any]:
    """The result by batch SQL, a JSON object per key."""
    for name, topic in shop.topics.items():
        rows = [tuple(row.values()) for row in topic.rows.values()]
        tables.session.createDataFrame(rows, SCHEMAS[name]).createOrReplaceTempView(name)
    result = tables.session.sql(QUERY).collect()
    return {json.dumps({"id": row.id}, separators=(",", ":")): plain(row.asDict()) for row in result}


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """Values as JSON has them."""
    text = row["at"].strftime("%Y-%m-%dT%H:%M:%S.%f")
    return row | {"since": row["since"] and row["since"].isoformat(), "at": text}


@pytest.mark.parametrize(
    ("key", "schemas", "befores"),
    [(None, True, True), ("id", False, True), ("id", True, False)],
    ids=["changes", "newest rows", "newest rows, no rows before"],
)
def test_random_changes_become_records_that_fold_to_the_result(
    tables: Folders, tmp_path: Path, key: str | None, schemas: bool, befores: bool
) -> None:
    shop = Shop(tmp_path, seed=7, schemas=schemas, befores=befores)
    unknown = {} if schemas else {"decimals": "precise", "timestamps": "micros"}
    folded: dict[str, Any] = {}
    tombstones = 0

    def fold(batch: DataFrame, _: int) -> None:
        nonlocal tombstones
        records = batch.collect()
        assert len({record.key for record in records}) == len(records), "a key has two records in a batch"
        for record in records:
            if record.value is None:
                tombstones += 1
                del folded[record.key]  # a tombstone is of a key that was there
            else:
                folded[record.key] = json.loads(record.value, parse_float=Decimal)

    sizes = []
    for run in range(3):
        for _ in range(2):
            shop.change(25, op="c" if run else "r", repeated=5 if key else 0)
        for name, topic in shop.topics.items():
            table = joinless.debezium(stream(tables, topic), SCHEMAS[name], key=key, **unknown)
            table.createOrReplaceTempView(name)
        deltas = joinless.enumerate_deltas(tables.session.sql(QUERY), "weight" if run % 2 else "change_type")
        writer = joinless.upserts(deltas, "id").writeStream.foreachBatch(fold)
        writer = writer.option("checkpointLocation", str(tables.at("cp"))).trigger(availableNow=True)
        writer.start().awaitTermination()
        assert folded == expected(tables, shop)
        sizes.append(len(folded))
    assert min(sizes) > 3
    assert tombstones > 3


#: The columns of the table `typed`, as Debezium's messages have them.
TYPED = """id BIGINT, ok BOOLEAN, tiny SMALLINT, n INT NOT NULL, r FLOAT, d DOUBLE, price DECIMAL(10, 2),
           anyn DECIMAL(20, 6), name STRING, note STRING, day DATE, at TIMESTAMP_NTZ, at3 TIMESTAMP_NTZ,
           seen TIMESTAMP, t BIGINT, doc STRING, u STRING"""
BOB = {
    "id": 1,
    "ok": True,
    "tiny": 7,
    "n": -5,
    "r": 1.100000023841858,
    "d": 0.1,
    "price": Decimal("0.00"),
    "anyn": Decimal("1.234567"),
    "name": "Bob",
    "note": "é",
    "raw": b"\x00\xff",
    "day": date(2026, 1, 31),
    "at": datetime(2026, 1, 31, 10, 0, 0, 123456),
    "at3": datetime(2026, 1, 31, 10, 0, 0, 123000),
    "seen": datetime(2026, 1, 31, 8, 0, 0, 123456),
    "t": 36000000000,
    "doc": '{"a": 1}',
    "u": "00000000-0000-0000-0000-000000000001",
}


def recorded(tables: Folders, name: str, topic: str, ops: str = "rcudm") -> DataFrame:
    """Records of a topic as Debezium 3.6.1 wrote them from PostgreSQL 15, tombstones among them."""
    folder = tables.at(f"{name}-{topic}-{ops}")
    folder.mkdir()
    source = Path(__file__).parent / "support" / "recorded" / f"{name}.jsonl"
    records = [json.loads(line) for line in source.read_text().splitlines()]
    of_topic = [record for record in records if record["topic"] == f"shop.{topic}"]
    kept = [record for record in of_topic if record["value"] is None or operation(record["value"]) in ops]
    lines = [json.dumps({**record, "partition": 0, "offset": i}) for i, record in enumerate(kept)]
    (folder / "0.json").write_text("\n".join(lines))
    return tables.session.readStream.schema(RECORD).json(str(folder))


def operation(value: str) -> str:
    message = json.loads(value)
    return str(message.get("payload", message).get("op", "r"))


def net(tables: Folders, table: DataFrame) -> list[dict[str, Any]]:
    """The rows of a table after all its changes, in one batch."""
    rows = tables.run(joinless.enumerate_deltas(table, "weight"), f"cp-{len(list(tables.folder.iterdir()))}")
    assert all(row[-1] == 1 for row in rows), rows
    return [dict(zip(table.columns, row, strict=False)) for row in rows]


@pytest.mark.parametrize("key", [None, "id"])
@pytest.mark.parametrize("name", ["schemas", "plain"])
def test_a_table_of_each_type_is_read_as_debezium_wrote_it(tables: Folders, name: str, key: str | None) -> None:
    typed = recorded(tables, name, "public.typed")
    if name == "schemas":
        table = joinless.debezium(typed, TYPED + ", raw BINARY", key=key)
        expected = BOB
    else:
        unknown = {"decimals": "precise", "timestamps": "micros"}
        columns = TYPED.replace("at3 TIMESTAMP_NTZ", "at3 BIGINT")  # in milliseconds, which its message does not say
        table = joinless.debezium(typed, columns, key=key, **unknown)
        expected = {**BOB, "at3": 1769853600123}
        del expected["raw"]
    rows = {row["id"]: row for row in net(tables, table)}
    assert set(rows) == {1, 4}
    assert rows[1] == expected
    assert {column for column, value in rows[4].items() if value is not None} == {"id", "n"}


def test_other_spellings_of_values_have_the_same_meaning(tables: Folders) -> None:
    texts, connect = (
        {row["id"]: row for row in net(tables, joinless.debezium(recorded(tables, name, "public.typed"), columns))}
        for name, columns in (
            ("texts", TYPED.replace("t BIGINT", "t STRING")),
            ("connect", TYPED.replace("t BIGINT", "t INT")),
        )
    )
    ann = {**BOB, "price": Decimal("12.30"), "name": 'Ann "A"'}
    del ann["raw"]
    assert texts[1] == {**ann, "t": "10:00:00Z"}
    assert connect[1] == {**ann, "t": 36000000, "at": ann["at3"]}  # Debezium has cut the microseconds off
    assert texts[3]["price"] == connect[3]["price"] == Decimal("-99999999.99")
    assert texts[3]["day"] == connect[3]["day"] == date(1969, 12, 31)


def test_a_table_whose_database_passes_on_no_rows_before_needs_a_key(tables: Folders) -> None:
    columns = "id INT, city STRING, n INT"
    brief = recorded(tables, "schemas", "public.brief")
    with pytest.raises(joinless.JoinlessError, match=r"operation 'u'.* or give key=") as refused:
        net(tables, joinless.debezium(brief, columns))
    assert refused.value.getCondition() == "JOINLESS_DEBEZIUM.NO_BEFORE"
    rows = net(tables, joinless.debezium(brief, columns, key="id"))
    assert rows == [{"id": 3, "city": "Lima", "n": 0}, {"id": 9, "city": None, "n": 1}]


def test_marks_of_transactions_are_no_rows(tables: Folders) -> None:
    assert net(tables, joinless.debezium(recorded(tables, "plain", "transaction"), "id INT")) == []


@pytest.mark.parametrize(
    ("name", "topic", "key", "condition"),
    [
        ("schemas", "public.big", "id", "UNAVAILABLE"),
        ("schemas", "public.brief", "id", "TRUNCATED"),
        ("plain", "public.brief", "id", "TRUNCATED"),
    ],
)
def test_what_a_message_does_not_have_is_not_guessed(
    tables: Folders, name: str, topic: str, key: str, condition: str
) -> None:
    columns = "id INT, n INT, body STRING" if topic.endswith("big") else "id INT, n INT"
    with pytest.raises(joinless.JoinlessError) as refused:
        net(tables, joinless.debezium(recorded(tables, name, topic, "rcudt"), columns, key=key))
    assert refused.value.getCondition() == f"JOINLESS_DEBEZIUM.{condition}"
    assert f"at topic shop.{topic}, partition 0, offset " in str(refused.value)
    if condition == "UNAVAILABLE":  # as it advises: without the column
        assert net(tables, joinless.debezium(recorded(tables, name, topic), "id INT, n INT", key="id")) == [
            {"id": 1, "n": 2}
        ]


#: What the errors of a record advise: the messages, the arguments that are refused, and those that are not.
LIMA, OSLO = {"id": 1, "city": "Lima"}, {"id": 1, "city": "Oslo"}
CITY = "id INT, city STRING"


def message(op: str, before: Any, after: Any) -> dict[str, Any]:
    return {"before": before, "after": after, "op": op}


ADVICE: dict[str, tuple[list[Any], dict[str, Any], list[Any], dict[str, Any]]] = {
    "KEY_CHANGED": (
        [message("u", LIMA, OSLO)],
        {"key": ["id", "city"]},
        [message("u", LIMA, OSLO)],
        {"key": "id"},
    ),
    "MALFORMED": ([LIMA], {}, [message("c", None, LIMA)], {}),
    "NO_BEFORE": ([message("u", None, OSLO)], {}, [message("u", None, OSLO)], {"key": "id"}),
    "NO_COLUMN": ([message("c", None, {"id": 1})], {}, [message("c", None, {"id": 1})], {"added": "city"}),
    "OPERATION": ([message("x", None, LIMA)], {}, [message("c", None, LIMA)], {}),
    "OTHER_KEY": ([message("c", None, LIMA)], {"key": "city"}, [message("c", None, LIMA)], {"key": ["city", "id"]}),
    "VALUE": (
        [message("c", None, {"id": "1", "city": "Lima"})],
        {},
        [message("c", None, {"id": "1", "city": "Lima"})],
        {"schema": "id STRING, city STRING"},
    ),
}


@pytest.mark.parametrize("condition", ADVICE)
def test_what_the_errors_of_a_topic_advise_works(tables: Folders, condition: str) -> None:
    messages, refused_with, others, works_with = ADVICE[condition]

    def table(name: str, values: list[Any], given: dict[str, Any]) -> DataFrame:
        topic = Topic(tables.at(name), {"id": debezium.LONG}, schemas=False)
        for value in values:
            topic.put(1, value)
        topic.publish()
        return joinless.debezium(stream(tables, topic), **{"schema": CITY, **given})

    with pytest.raises(joinless.JoinlessError) as refused:
        net(tables, table("refused", messages, refused_with))
    assert refused.value.getCondition() == f"JOINLESS_DEBEZIUM.{condition}"
    assert refused.value.getSqlState() == "22000"
    assert len(net(tables, table("works", others, works_with))) == 1


@pytest.mark.parametrize(
    ("given", "condition", "message"),
    [
        ({"schema": "id INT", "key": "ID"}, "COLUMN_NOT_FOUND", "no column ID; it has: id. Did you mean id"),
        ({"schema": "id INT", "added": "city"}, "COLUMN_NOT_FOUND", "no column city"),
        ({"schema": "id INT, id INT"}, "COLUMN_TWICE", "column id twice"),
        ({"schema": "id INT, tags ARRAY<INT>"}, "COLUMN_TYPE", "the type ARRAY<INT>. Known are BOOLEAN"),
        ({"schema": "id INT, code CHAR(3)"}, "COLUMN_TYPE", "Known are"),
        ({"schema": "id INT city"}, "DDL", "'id INT city' cannot be read: .*PARSE_SYNTAX_ERROR"),
        ({"schema": StructType()}, "NO_COLUMNS", "no columns"),
    ],
)
def test_a_topic_that_cannot_be_read_as_requested_is_refused(
    tables: Folders, given: dict[str, Any], condition: str, message: str
) -> None:
    records = tables.session.readStream.schema(RECORD).json(str(tables.folder))
    with pytest.raises(AnalysisException, match=message) as refused:
        joinless.debezium(records, **given)
    assert refused.value.getCondition() == f"JOINLESS_DEBEZIUM_ARGUMENTS.{condition}"


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ("key STRING, offset BIGINT", "column value of .* is missing"),
        ("key STRING, value INT, offset BIGINT", "column value of .* has the type INT"),
        ("value STRING, offset BIGINT", "column key of .* is missing"),
        ("key STRING, value BINARY", "column offset of .* is missing.* offset as BIGINT"),
    ],
)
def test_records_without_their_columns_are_refused(tables: Folders, records: str, message: str) -> None:
    frame = tables.session.readStream.schema(records).json(str(tables.folder))
    with pytest.raises(AnalysisException, match=message) as refused:
        joinless.debezium(frame, "id INT", key="id")
    assert refused.value.getCondition() == "JOINLESS_DEBEZIUM_ARGUMENTS.SOURCE"
    joinless.debezium(tables.session.readStream.schema(RECORD).json(str(tables.folder)), "id INT", key="id")


def test_a_restart_reads_the_topic_as_before(tables: Folders, tmp_path: Path) -> None:
    topic = Topic(tmp_path / "cities", {"id": debezium.LONG, "city": debezium.STRING}, schemas=False)
    topic.insert({"id": 1, "city": "Lima"})
    topic.publish()

    def deltas(**given: Any) -> DataFrame:
        table = joinless.debezium(stream(tables, topic), **{"schema": CITY, **given})
        return joinless.enumerate_deltas(table.where("id > 0"), "weight")

    assert tables.run(deltas(), "cp") == [(1, "Lima", 1)]
    topic.update({"id": 1, "city": "Oslo"})
    topic.publish()
    for other in ({"added": "city"}, {"schema": "id BIGINT, city STRING"}, {"timestamps": "micros"}):
        with pytest.raises(Exception, match="JOINLESS_STATE_MISMATCH"):
            tables.run(deltas(**other), "cp")
    assert tables.run(deltas(), "cp") == [(1, "Lima", -1), (1, "Oslo", 1)]


def test_a_record_that_is_corrected_lets_the_query_go_on(tables: Folders, tmp_path: Path) -> None:
    topic = Topic(tmp_path / "cities", {"id": debezium.LONG, "city": debezium.STRING})
    topic.insert({"id": 1, "city": "Lima"})
    topic.put(2, {"op": "c"})
    topic.publish()
    table = joinless.debezium(stream(tables, topic), CITY)
    with pytest.raises(joinless.JoinlessError, match="MALFORMED"):
        tables.run(joinless.enumerate_deltas(table), "cp")
    (topic.folder / "0001.json").unlink()
    topic.rows.clear()
    topic.insert({"id": 1, "city": "Lima"})
    topic.files = 0
    topic.publish()
    assert tables.run(joinless.enumerate_deltas(table), "cp") == [(1, "Lima", "insert")]


def test_keys_of_upserts_are_columns_of_the_result_by_which_its_rows_differ(tables: Folders) -> None:
    tables.put("edges", [(1, 2), (1, 3)], "src INT, dst INT")
    edges = tables.stream("edges", "src INT, dst INT")
    deltas = joinless.enumerate_deltas(edges)
    with pytest.raises(AnalysisException, match=r"no column scr; there are: src, dst\. Did you mean src") as refused:
        joinless.upserts(deltas, "scr")
    assert refused.value.getCondition() == "JOINLESS_UPSERTS.COLUMN_NOT_FOUND"
    for frame in (edges, edges.selectExpr("*", "'insert' AS _change_type"), tables.session.range(1)):
        with pytest.raises(AnalysisException, match="has not the changes of a result") as refused:
            joinless.upserts(frame, "src")
        assert refused.value.getCondition() == "JOINLESS_UPSERTS.NO_CHANGES"
    twice = joinless.enumerate_deltas(edges.selectExpr("src", "dst AS src", "dst"))
    with pytest.raises(AnalysisException) as refused:
        joinless.upserts(twice, "src")
    assert refused.value.getCondition() == "JOINLESS_UPSERTS.COLUMN_AMBIGUOUS"
    with pytest.raises(joinless.JoinlessError, match=r'of the key \{"src":1\}, by the columns src') as raised:
        tables.run(joinless.upserts(deltas, "src"), "cp")
    assert raised.value.getCondition() == "JOINLESS_UPSERTS.KEY_NOT_UNIQUE"
    # as it advises
    assert tables.run(joinless.upserts(deltas, ["src", "dst"]), "cp-of-both") == [
        ('{"src":1,"dst":2}', '{"src":1,"dst":2}'),
        ('{"src":1,"dst":3}', '{"src":1,"dst":3}'),
    ]


def test_a_batch_that_runs_again_writes_the_same_records(tables: Folders, tmp_path: Path) -> None:
    shop = Shop(tmp_path, seed=3, schemas=False)
    for name, topic in shop.topics.items():
        given = {"key": "id"} if name == "items" else {}
        table = joinless.debezium(
            stream(tables, topic), SCHEMAS[name], decimals="precise", timestamps="micros", **given
        )
        table.createOrReplaceTempView(name)
    records = joinless.upserts(joinless.enumerate_deltas(tables.session.sql(QUERY)), "id")
    assert "One record per key id\n   +- [2] Join" in str(joinless.explain(records))
    for batch in range(2):
        shop.change(80)
        written = tables.run(records, "cp")
        assert len(written) > 3
        commit = tables.at("cp") / "commits" / str(batch)
        commit.unlink()  # as if the driver was killed before it had noted the batch
        commit.with_name(f".{batch}.crc").unlink(missing_ok=True)
        assert tables.run(records, "cp") == written
    assert None in {value for _, value in written}


def test_records_are_the_same_in_each_session(tables: Folders) -> None:
    session = tables.session
    batch = session.sql(
        """SELECT 1 AS id, CAST(NULL AS STRING) AS city, TIMESTAMP '2026-01-31 10:00:00.123456Z' AS seen,
                  TIMESTAMP_NTZ '2026-01-31 10:00:00' AS at, 'insert' AS _change_type"""
    )
    expected = '{"id":1,"city":null,"seen":"2026-01-31T10:00:00.123456Z","at":"2026-01-31T10:00:00.000000"}'
    for zone in ("UTC", "America/Lima"):
        session.conf.set("spark.sql.session.timeZone", zone)
        assert [tuple(row) for row in joinless.upserts(batch, "id").collect()] == [('{"id":1}', expected)]
    session.conf.set("spark.sql.session.timeZone", "UTC")


def test_a_delta_table_is_kept_equal_to_a_query_over_topics(tables: Folders, tmp_path: Path) -> None:
    shop = Shop(tmp_path, seed=5)
    target = f"delta.`{tmp_path}/bought`"
    for _ in range(2):
        shop.change(40)
        for name, topic in shop.topics.items():
            key = None if name == "orders" else "id"
            joinless.debezium(stream(tables, topic), SCHEMAS[name], key=key).createOrReplaceTempView(name)
        view = joinless.materialize(tables.session.sql(QUERY), into=target, key="id", trigger="availableNow")
        view.awaitTermination()
        rows = tables.session.table(target).collect()
        kept = {json.dumps({"id": row.id}, separators=(",", ":")): plain(row.asDict()) for row in rows}
        assert kept == expected(tables, shop)
        assert len(kept) > 3
