"""`materialize`: a Delta table is created, and stays equal to a query; its
key is that of the query.
"""

from __future__ import annotations

import random
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException, StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import joinless
from joinless import _jvm
from support.process import run_python
from support.shop import Shop

FIRST_ORDERS = """SELECT id, customer FROM (
                    SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY id) AS n FROM orders)"""
PER_CITY = """SELECT c.city, COUNT(*) AS orders, SUM(o.pieces) AS pieces
              FROM orders o LEFT JOIN customers c ON o.customer = c.id GROUP BY c.city"""
BEST = f"SELECT city, pieces FROM ({PER_CITY}) ORDER BY pieces DESC, city LIMIT 2"
BOUGHT = "SELECT c.city, i.name FROM orders o JOIN customers c ON o.customer = c.id JOIN items i ON o.item = i.id"


def materialized(shop: Shop, sql: str, into: str, **options: Any) -> None:
    """Updates a view to the newest commits."""
    shop.streams()
    checkpoint = shop.folder / f"{into}-checkpoint"
    query = joinless.materialize(shop.session.sql(sql), shop.at(into), checkpoint, trigger="availableNow", **options)
    query.awaitTermination()


def test_views_are_made_and_stay_equal_to_their_queries(shop: Shop) -> None:
    rng = random.Random(17)
    shop.fill(customers=5, items=4, orders=30)
    views = {"per_city": PER_CITY, "best": BEST, "bought": BOUGHT}
    statements: list[str] = []
    for _ in range(3):
        for view, sql in views.items():
            materialized(shop, sql, view)
            shop.check(view, sql, "\n".join(statements))
        statements += [shop.random_commit(rng) for _ in range(4)]
    assert shop.version("per_city") > 1


@pytest.mark.parametrize(
    ("sql", "key"),
    [
        (PER_CITY, ["city"]),
        (BEST, ["city"]),
        (BOUGHT, []),
        (f"SELECT DISTINCT city AS place, name FROM ({BOUGHT})", ["place", "name"]),
        (f"SELECT pieces FROM ({PER_CITY})", []),
        ("SELECT COUNT(*) AS n FROM orders", []),
        (f"SELECT upper(city) AS city, orders FROM ({PER_CITY})", []),
        (f"SELECT city AS c, orders, RANK() OVER (ORDER BY orders) AS r FROM ({PER_CITY}) WHERE orders > 1", ["c"]),
        ("SELECT id FROM customers INTERSECT SELECT customer FROM orders", ["id"]),
        (f"WITH p AS ({PER_CITY}) SELECT pieces, city FROM p WHERE pieces > (SELECT AVG(pieces) FROM p)", ["city"]),
        (FIRST_ORDERS + " WHERE n = 1", ["customer"]),
        (FIRST_ORDERS + " WHERE n <= 2", []),
    ],
)
def test_the_key_is_what_the_query_says(shop: Shop, sql: str, key: list[str]) -> None:
    shop.streams()
    assert sorted(_jvm.result_key(shop.session.sql(sql))) == sorted(key)


def test_the_key_of_latest(shop: Shop) -> None:
    shop.streams()
    newest = joinless.latest(shop.session.table("orders"), key=["customer", "item"], order="id")
    assert _jvm.result_key(newest.where("pieces > 0")) == ["customer", "item"]
    assert _jvm.result_key(newest.drop("item")) == []


def test_what_cannot_be_a_view_makes_no_table(shop: Shop) -> None:
    shop.streams()
    with pytest.raises(AnalysisException, match="NONDETERMINISTIC_EXPRESSION"):
        materialized(shop, "SELECT id, rand() AS r FROM orders", "random")
    with pytest.raises(joinless.ApplyChangesError, match="town") as unknown:
        materialized(shop, PER_CITY, "random", key="town")
    assert unknown.value.getCondition() == "JOINLESS_APPLY_CHANGES.UNKNOWN_KEY"
    with pytest.raises(joinless.ApplyChangesError) as type_of_column:
        materialized(shop, "SELECT city, MAP(id, city) AS names FROM customers", "random")
    assert type_of_column.value.getCondition() == "JOINLESS_APPLY_CHANGES.UNSUPPORTED_TYPE"
    with pytest.raises(ValueError, match="got 'often'"):
        joinless.materialize(shop.session.sql(PER_CITY), shop.at("random"), shop.folder / "cp", trigger="often")
    assert not (shop.folder / "random").exists()


def test_a_change_feed_that_nobody_marked_is_refused_before_a_table_is_made(shop: Shop) -> None:
    shop.fill(customers=4, items=2, orders=3)
    shop.commit("customers", "DELETE FROM {t} WHERE id = 2")
    reader = shop.session.readStream.format("delta").option("readChangeFeed", "true").option("startingVersion", 0)
    feed = reader.load(str(shop.folder / "customers"))
    feed.select("id", "city").createOrReplaceTempView("fed")
    per_city, three = (
        "SELECT city, COUNT(*) AS n FROM fed GROUP BY city",
        "fed a JOIN fed b USING (id) JOIN fed c USING (id)",
    )
    with pytest.raises(AnalysisException, match=r"UNMARKED_CHANGE_FEED.*joinless\.rows"):
        joinless.materialize(shop.session.sql(per_city), shop.at("view"), shop.folder / "cp")
    assert not (shop.folder / "view").exists()
    for sql in (per_city, f"SELECT a.city FROM {three}"):
        assert [reason.code for reason in joinless.why_not(shop.session.sql(sql))] == ["UNMARKED_CHANGE_FEED"]
        assert "is a change feed" in str(joinless.explain(shop.session.sql(sql)))
    shop.session.conf.set("spark.joinless.mode", "force")
    joined = shop.session.sql(f"SELECT a.city FROM {three}").writeStream.format("noop")
    with pytest.raises(AnalysisException, match="UNMARKED_CHANGE_FEED"):
        joined.option("checkpointLocation", str(shop.folder / "joined")).start()
    joinless.rows(feed).createOrReplaceTempView("log")
    log = shop.session.sql("SELECT _change_type AS change, COUNT(*) AS n FROM log GROUP BY 1")
    joinless.materialize(log, shop.at("log"), shop.folder / "cp", trigger="availableNow").awaitTermination()
    assert {tuple(row) for row in shop.session.table(shop.at("log")).collect()} >= {("insert", 4), ("delete", 1)}


def refused_with(shop: Shop, sql: str, into: str, condition: str, **options: Any) -> str:
    """The message of a view that is refused before anything runs."""
    before = sorted(path.name for path in shop.folder.iterdir())
    with pytest.raises(PySparkException) as refused:
        materialized(shop, sql, into, **options)
    assert refused.value.getCondition() == condition
    assert sorted(path.name for path in shop.folder.iterdir()) == before
    return str(refused.value)


def test_a_view_of_other_columns_or_conditions_works_as_its_error_advises(shop: Shop) -> None:
    shop.fill(customers=3, items=2, orders=5)
    materialized(shop, PER_CITY, "one")
    wider = PER_CITY.replace("SELECT", "SELECT MAX(o.id) AS newest,")
    advice = refused_with(shop, wider, "one", "JOINLESS_APPLY_CHANGES.COLUMNS_DIFFER")
    assert "call joinless.replace. A query of your own then needs a new target and a new checkpoint, both." in advice
    materialized(shop, wider, "wider")
    shop.check("wider", wider, advice)
    narrower = PER_CITY.replace("GROUP BY", "WHERE o.id > 1 GROUP BY")
    advice = refused_with(shop, narrower, "one", "JOINLESS_STATE_MISMATCH.QUERY")
    assert "give the changed one to joinless.replace" in advice
    assert "needs a new checkpoint and, where it fills a table, a new table." in advice
    materialized(shop, narrower, "narrower")
    shop.check("narrower", narrower, advice)


def test_a_table_that_holds_rows_is_filled_as_its_error_advises(shop: Shop) -> None:
    shop.fill(customers=2, items=2, orders=3)
    shop.session.sql(f"CREATE TABLE {shop.at('full')} USING delta AS SELECT 'Oslo' AS city, 1L AS orders, 2L AS pieces")
    advice = refused_with(shop, PER_CITY, "full", "JOINLESS_APPLY_CHANGES.TARGET_NOT_EMPTY")
    statement = re.search(r"Empty the target \((DELETE FROM .*?)\)", advice)
    assert statement
    shop.session.sql(statement[1])
    materialized(shop, PER_CITY, "full")
    shop.check("full", PER_CITY, advice)


def test_a_view_whose_tables_are_gone_says_what_to_do(shop: Shop) -> None:
    shop.fill(customers=2, items=2, orders=3)
    spark, orders, view = shop.session, shop.at("orders"), shop.at("per_item")
    text = f"SELECT item, COUNT(*) AS n FROM {orders} GROUP BY item"
    running = joinless.materialize(text, view, trigger="0 seconds")
    running.processAllAvailable()
    with pytest.raises(joinless.ViewError, match="keeps the result of another SELECT") as other:
        joinless.materialize(text.replace("COUNT(*)", "MAX(id)"), view)
    assert other.value.getCondition() == "JOINLESS_VIEW.RUNNING_OTHER"
    rows = spark.table(orders).collect()
    schema = spark.table(orders).schema
    shutil.rmtree(shop.folder / "orders")
    with pytest.raises(StreamingQueryException):
        running.awaitTermination(60)
    error = joinless.error(running)
    assert error is not None
    assert error.getCondition() == "JOINLESS_VIEW.TABLES"
    assert "_delta_log does not exist" in str(error)
    (advice,) = joinless.status(view).collect()[0]["advice"]
    assert "joinless.replace" in advice
    spark.createDataFrame(rows[1:], schema).write.format("delta").save(str(shop.folder / "orders"))
    joinless.replace(view, trigger="availableNow").awaitTermination()
    shop.check("per_item", text, str(error))
    # its checkpoint is lost
    for folder in (shop.folder / "per_item").glob("_joinless*"):
        shutil.rmtree(folder)
    lost = refused(shop, text, view)
    assert lost.getCondition() == "JOINLESS_VIEW.NO_CHECKPOINT"
    joinless.replace(view, trigger="availableNow").awaitTermination()
    shop.check("per_item", text, str(lost))


def refused(shop: Shop, text: str, view: str) -> joinless.ViewError:
    """The error with which a view is not started."""
    with pytest.raises(joinless.ViewError) as raised:
        joinless.materialize(text, view, trigger="availableNow")
    return raised.value


def test_random_columns_are_refused_by_the_advice_that_can_be_followed(shop: Shop) -> None:
    shop.fill(customers=2, items=2, orders=3)
    joined = f"{shop.at('orders')} o JOIN {shop.at('customers')} c ON o.customer = c.id"
    for text in (f"SELECT o.id, rand() AS r FROM {joined}", f"SELECT id, rand() AS r FROM (SELECT o.id FROM {joined})"):
        with pytest.raises(AnalysisException, match="NONDETERMINISTIC_EXPRESSION"):
            joinless.materialize(text, shop.at("random"))


def test_batch_0_that_is_in_the_table_but_not_in_the_checkpoint_goes_on(shop: Shop) -> None:
    shop.fill(customers=2, items=2, orders=3)
    materialized(shop, PER_CITY, "half")
    for name in ("0", ".0.crc"):
        (shop.folder / "half-checkpoint" / "commits" / name).unlink(missing_ok=True)
    version = shop.version("half")
    materialized(shop, PER_CITY, "half")
    assert shop.version("half") == version


def test_a_table_of_another_kind_is_refused_at_once(shop: Shop) -> None:
    shop.session.sql("SELECT 'Oslo' AS city, 1L AS orders, 2L AS pieces").createOrReplaceTempView("no_delta")
    shop.streams()
    with pytest.raises(joinless.ApplyChangesError) as refused:
        joinless.materialize(shop.session.sql(PER_CITY), "no_delta", shop.folder / "cp")
    assert refused.value.getCondition() == "JOINLESS_APPLY_CHANGES.TARGET_NOT_DELTA"


def test_a_key_that_is_not_unique_is_left_out_as_its_error_advises(shop: Shop) -> None:
    shop.fill(customers=2, items=2, orders=6)
    with pytest.raises(StreamingQueryException, match=r"KEY_NOT_UNIQUE.*leave the key out"):
        materialized(shop, BOUGHT, "bought", key="city")
    materialized(shop, BOUGHT, "bought")
    shop.check("bought", BOUGHT, "without a key")


def test_a_checkpoint_without_its_table_is_refused(shop: Shop) -> None:
    shop.fill(customers=2, items=2, orders=3)
    shop.streams()
    checkpoint, query = shop.folder / "cp", shop.session.sql(PER_CITY)
    joinless.materialize(query, shop.at("one"), checkpoint, trigger="availableNow").awaitTermination()
    with pytest.raises(joinless.ApplyChangesError, match="is not there") as refused:
        joinless.materialize(query, shop.at("other"), checkpoint, trigger="availableNow")
    assert refused.value.getCondition() == "JOINLESS_APPLY_CHANGES.TARGET_GONE"
    assert not (shop.folder / "other").exists()
    joinless.materialize(query, shop.at("other"), shop.folder / "new", trigger="availableNow").awaitTermination()
    shop.check("other", PER_CITY, "Start with a new checkpoint to fill a new table")


def test_progress_reports_groups(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    session.createDataFrame([(i % 3, i) for i in range(9)], "k INT, x INT").write.json(str(tmp_path / "rows"))
    rows = session.readStream.schema("k INT, x INT").json(str(tmp_path / "rows"))
    top = f"delta.`{tmp_path / 'top'}`"
    view = joinless.materialize(rows.groupBy("k").max("x").toDF("k", "x"), top, tmp_path / "cp")
    until = time.monotonic() + 60
    while view.status["message"] != "Waiting for next trigger" and time.monotonic() < until:
        time.sleep(0.05)
    progress = joinless.progress(top)  # a view has the name of its table
    waiting = view.status["message"]
    view.stop()
    assert waiting == "Waiting for next trigger"  # an idle view does not poll its sources without a pause
    assert progress is not None
    assert (progress.groups_touched, progress.group_entries, progress.group_rows_out) == (3, 3, 3)
    assert progress.stored_rows == 0
    assert progress.memory_bytes > 0
    assert progress.total.batches == 1


def test_an_upsert_stream_kept_as_a_table(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    rng = random.Random(3)
    folder, upserts = tmp_path / "upserts", []
    schema = "id INT, city STRING, at BIGINT, deleted BOOLEAN"
    for batch in range(4):
        rows = [
            (
                rng.randrange(6),
                rng.choice(["Oslo", "Lima", None]),
                rng.randrange(100) * 1000 + batch * 10 + i,
                rng.random() < 0.2,
            )
            for i in range(8)
        ]
        upserts += rows
        session.createDataFrame(rows, schema).coalesce(1).write.mode("append").json(str(folder))
        stream = session.readStream.schema(schema).json(str(folder))
        now = joinless.latest(stream, key="id", order="at").where("NOT deleted").select("id", "city")
        table = f"delta.`{tmp_path / 'customers'}`"
        joinless.materialize(now, table, tmp_path / "cp", key="id", trigger="availableNow").awaitTermination()
        newest = {row[0]: row for row in sorted(upserts, key=lambda row: row[2])}
        expected = sorted((id_, city) for id_, city, _, deleted in newest.values() if not deleted)
        assert sorted(map(tuple, session.table(table).collect()), key=lambda row: row[0]) == expected


#: Customers as an upsert stream, newest row first or last; orders and items are tables.
BOUGHT_NOW = """SELECT o.id AS order_id, c.city, i.name, o.pieces
                FROM orders o JOIN newest c ON o.customer = c.id JOIN items i ON o.item = i.id"""

#: Maintains that join in a process of its own, which is killed when its second
#: batch is in the table.
KILLED = """
import sys
from pathlib import Path
import joinless
from conftest import quiet_builder, set_permissions_without_processes, with_delta
from support.shop import Shop, dying_after_batch_1
from test_materialize import bought_now

spark = with_delta(joinless.configure(quiet_builder())).getOrCreate()
set_permissions_without_processes(spark)
dying_after_batch_1(spark)
bought_now(Shop(spark, Path(sys.argv[1]))).awaitTermination()
"""


def bought_now(shop: Shop) -> StreamingQuery:
    """The view over the customers so far, one file per batch."""
    shop.streams()
    stream = shop.session.readStream.schema("id INT, city STRING, at BIGINT, deleted BOOLEAN")
    upserts = stream.option("maxFilesPerTrigger", 1).json(str(shop.folder / "upserts"))
    joinless.latest(upserts, key="id", order="at").where("NOT deleted").createOrReplaceTempView("newest")
    into, checkpoint = shop.at("bought_now"), shop.folder / "bought-cp"
    return joinless.materialize(shop.session.sql(BOUGHT_NOW), into, checkpoint, key="order_id", trigger="availableNow")


def test_an_upsert_stream_joined_with_tables_is_killed_and_goes_on(shop: Shop) -> None:
    rng = random.Random(11)
    shop.fill(customers=6, items=4, orders=40)
    upserts: list[tuple[int, str, int, bool]] = []
    for batch in range(4):
        rows = [
            (
                rng.randrange(7),
                rng.choice(["Oslo", "Lima"]),
                rng.randrange(90) * 100 + batch * 10 + i,
                rng.random() < 0.2,
            )
            for i in range(9)
        ]
        upserts += rows
        frame = shop.session.createDataFrame(rows, "id INT, city STRING, at BIGINT, deleted BOOLEAN").coalesce(1)
        frame.write.mode("append").json(str(shop.folder / "upserts"))
    killed = run_python(KILLED, str(shop.folder))
    assert killed.stdout.strip() == "halted", killed.stderr[-3000:]
    bought_now(shop).awaitTermination()
    newest = {row[0]: row for row in sorted(upserts, key=lambda row: row[2])}
    now = [(id_, city) for id_, city, _, deleted in newest.values() if not deleted]
    shop.now("SELECT 1")
    shop.session.createDataFrame(now, "id INT, city STRING").createOrReplaceTempView("newest")
    actual = shop.session.table(shop.at("bought_now")).collect()
    assert sorted(actual) == sorted(shop.session.sql(BOUGHT_NOW).collect())
    assert len(actual) > 5
    assert shop.version("bought_now") > 2


def test_a_table_follows_rows_that_expire(spark: SparkSession, tmp_path: Path) -> None:
    """The table of the last hour's trips per town: a town whose trips have
    expired is no longer in it.
    """
    (tmp_path / "trips").mkdir()
    trips = spark.readStream.schema("town STRING, ts TIMESTAMP").json(str(tmp_path / "trips"))
    joinless.expire(trips.withWatermark("ts", "0 seconds"), "ts", "1 hour").createOrReplaceTempView("recent_trips")
    towns = spark.sql("SELECT town, COUNT(*) AS trips FROM recent_trips GROUP BY town")
    seen = []
    for hour, town in enumerate(["Bonn", "Bonn", "Kiel"], start=10):
        row = f'{{"town": "{town}", "ts": "2026-01-01T{hour}:{10 * (hour - 10):02}:00Z"}}'
        (tmp_path / "trips" / f"{hour}.json").write_text(row)
        query = joinless.materialize(towns, f"delta.`{tmp_path / 'towns'}`", tmp_path / "cp", trigger="availableNow")
        query.awaitTermination()
        seen.append([tuple(row) for row in spark.read.format("delta").load(str(tmp_path / "towns")).collect()])
    assert seen == [[("Bonn", 1)], [("Bonn", 1)], [("Kiel", 1)]]
