"""The format `joinless` as a sink: a Delta table that is kept equal to a query, wherever streams are
started from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import joinless
from joinless import _jars
from support import sparks
from support.database import shop_in
from support.process import run_python
from support.shop import BY_CITY, BY_ORDER, Shop


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with shop_in(spark, "sinks", tmp_path_factory.mktemp("sinks")) as shop:
        yield shop


def start(
    shop: Shop, into: str, sql: str = BY_CITY, checkpoint: str | None = None, name: str | None = None, **options: str
) -> StreamingQuery:
    changes = joinless.enumerate_deltas(joinless.sql(sql))
    writer = changes.writeStream.format("joinless").option("into", into).options(**options).queryName(name or into)
    return writer.option("checkpointLocation", str(shop.folder / (checkpoint or f"cp_{into}"))).start()


def ended(query: StreamingQuery) -> str | None:
    """The condition of the error that stops a query, when it has taken what there is."""
    try:
        query.processAllAvailable()
    except PySparkException:
        error = joinless.error(query)
        return None if error is None else error.getCondition()
    query.stop()
    return None


def rows(shop: Shop, sql: str) -> Counter[object]:
    return Counter(map(tuple, shop.session.sql(sql).collect()))


@pytest.mark.parametrize(("into", "sql", "key"), [("bag", BY_CITY, ""), ("keyed", BY_ORDER, "order_id")])
def test_the_table_is_the_result_over_restarts(shop: Shop, into: str, sql: str, key: str) -> None:
    for _ in range(3):
        shop.session.sql("INSERT INTO orders SELECT id + 100, customer, item, pieces FROM orders LIMIT 3")
        assert ended(start(shop, into, sql, key=key)) is None
        assert rows(shop, f"SELECT * FROM {into}") == rows(shop, sql)
        shop.session.sql("DELETE FROM orders WHERE id >= 100")
        shop.session.sql("UPDATE customers SET city = concat(city, 'x') WHERE id < 3")
        assert ended(start(shop, into, sql, key=key)) is None
        assert rows(shop, f"SELECT * FROM {into}") == rows(shop, sql)
    (status,) = joinless.status(into).collect()
    assert (status["state"], status["query"]) == ("stopped", None)
    assert joinless.verify(into, query=sql).is_equal


def test_a_batch_that_runs_again_changes_nothing(shop: Shop) -> None:
    assert ended(start(shop, "again")) is None
    before = rows(shop, "SELECT * FROM again")
    commits = shop.folder / "cp_again" / "commits"
    for file in (commits / "0", commits / ".0.crc"):  # as if the process had ended before Spark marked the batch
        file.unlink(missing_ok=True)
    assert ended(start(shop, "again")) is None
    assert rows(shop, "SELECT * FROM again") == before
    assert shop.session.sql("DESCRIBE HISTORY again").where("operation = 'WRITE'").count() == 1


def test_tables_that_it_cannot_keep_are_refused(shop: Shop) -> None:
    assert ended(start(shop, "mine")) is None
    assert ended(start(shop, "mine", checkpoint="other")) == "JOINLESS_APPLY_CHANGES.TARGET_NOT_EMPTY"
    assert ended(start(shop, "orders", "SELECT * FROM orders")) == "JOINLESS_APPLY_CHANGES.TARGET_IS_READ"
    shop.session.sql("CREATE TABLE narrow (city STRING) USING delta")
    assert ended(start(shop, "narrow")) == "JOINLESS_APPLY_CHANGES.COLUMNS_DIFFER"
    shop.session.sql("CREATE TABLE plain USING parquet AS SELECT 1 AS a")
    assert ended(start(shop, "plain")) == "JOINLESS_APPLY_CHANGES.TARGET_NOT_DELTA"
    shop.session.sql("DROP TABLE mine")
    shop.session.sql("INSERT INTO orders SELECT id + 200, customer, item, pieces FROM orders LIMIT 1")
    assert ended(start(shop, "mine")) == "JOINLESS_APPLY_CHANGES.TARGET_GONE"


def test_a_table_that_another_query_keeps_is_refused(shop: Shop) -> None:
    running = start(shop, "taken")
    running.processAllAvailable()
    other = start(shop, "taken", "SELECT name AS city, name FROM items", "cp_taken_too", name="other")
    assert ended(other) == "JOINLESS_VIEW.RUNNING_OTHER"
    running.stop()


def test_what_cannot_be_written_is_refused_at_the_start(shop: Shop) -> None:
    for into, options, condition in (
        ("a", {"keys": "b"}, "JOINLESS_INVALID_OPTION"),
        (" ", {}, "JOINLESS_FORMAT.SINK"),
        ("a", {"key": "city, town"}, "JOINLESS_APPLY_CHANGES.UNKNOWN_KEY"),
    ):
        with pytest.raises(PySparkException) as refused:
            start(shop, into, name="refused", checkpoint="cp_refused", **options)
        assert refused.value.getCondition() == condition
    rows_only = shop.session.readStream.schema("a INT").json(str(shop.folder))
    changes = joinless.enumerate_deltas(joinless.sql(BY_CITY)).writeStream.format("joinless")
    with pytest.raises(PySparkException) as refused:
        changes.option("checkpointLocation", str(shop.folder / "cp_new")).start()
    assert refused.value.getCondition() == "JOINLESS_FORMAT.SINK"
    with pytest.raises(PySparkException) as refused:
        rows_only.writeStream.format("joinless").option("into", "a").option("checkpointLocation", "cp").start()
    assert refused.value.getCondition() == "JOINLESS_APPLY_CHANGES.NO_CHANGES"
    with pytest.raises(PySparkException) as refused:
        shop.session.sql("SELECT 1 AS a, 1L AS _weight").write.format("joinless").option("into", "a").mode(
            "append"
        ).save()
    assert refused.value.getCondition() == "JOINLESS_FORMAT.SINK"


WITHOUT = """
import sys
from pathlib import Path
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
jar, folder = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.jars", jar).config("spark.ui.enabled", "false")
spark = builder.config("spark.joinless.mode", "force").getOrCreate()
Path(folder, "in").mkdir()
stream = spark.readStream.schema("a INT").json(folder + "/in")
for writer in (stream.writeStream.format("noop"), stream.writeStream.format("joinless").option("into", "t")):
    for mode in ("force", "auto"):
        spark.conf.set("spark.joinless.mode", mode)
        try:
            query = writer.option("checkpointLocation", f"{folder}/{mode}").trigger(availableNow=True).start()
            query.awaitTermination()
            print("ran")
        except PySparkException as error:
            print(error.getCondition())
"""


def test_a_session_without_the_extension_does_not_run_in_silence(tmp_path: Path) -> None:
    done = run_python(WITHOUT, str(_jars.bundled(f"{sparks.running()}.0")), str(tmp_path))
    assert done.returncode == 0, done.stderr[-3000:]
    missing = "JOINLESS_EXTENSION_NOT_INSTALLED"
    assert done.stdout.split() == [missing, "ran", missing, missing]
