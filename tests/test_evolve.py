"""`evolve`, and `replace` from stored rows: over Delta tables whose files are gone, so that nothing that
is said to be stored can be read again.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import joinless
from support import database, oracles
from support.shop import Shop

JOINED = "SELECT c.city, o.item, o.pieces FROM orders o JOIN customers c ON o.customer = c.id"
#: Each takes all rows from what the one before has stored.
CHANGED = [
    "SELECT c.city, COUNT(*) AS n, MAX(o.pieces) AS most"
    " FROM orders o JOIN customers c ON o.customer = c.id WHERE o.pieces > 1 GROUP BY c.city",
    "SELECT o.pieces, c.city, o.pieces * 2 AS twice"
    " FROM orders o JOIN customers c ON o.customer = c.id WHERE o.pieces > 1 AND c.city IS NOT NULL",
]
WITH_ITEMS = f"SELECT j.*, i.name FROM ({JOINED}) j JOIN items i ON i.id = j.item"


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Iterator[Shop]:
    """The shop's tables in a database."""
    with database.shop_in(spark, "evolved", tmp_path) as shop:
        yield shop


def check(shop: Shop, query: str, view: str) -> None:
    """Whether the view has the rows of the query."""
    assert oracles.bag(shop.session.table(view).collect()) == oracles.bag(shop.session.sql(query).collect()), query


def without_files(shop: Shop, *tables: str) -> dict[Path, bytes]:
    """Removes the rows of tables, and returns them: the logs stay."""
    files = [
        file for table in tables for file in (shop.folder / table).rglob("*.parquet") if "_delta_log" not in str(file)
    ]
    assert files
    contents = {file: file.read_bytes() for file in files}
    for file in files:
        file.unlink()
    return contents


def put_back(contents: dict[Path, bytes]) -> None:
    for file, content in contents.items():
        file.write_bytes(content)


def test_a_view_takes_the_rows_that_it_has_stored(shop: Shop) -> None:
    rng = random.Random(7)
    database.kept(JOINED, "view")
    for query in CHANGED:
        shop.random_commit(rng)  # the old query has not read it
        contents = without_files(shop, "orders", "customers")
        put_back({file: content for file, content in contents.items() if "_change_data" in str(file)})
        plan = joinless.replace("view", query, dry_run=True)
        assert plan.read_again == {}
        assert sorted(name.rpartition(".")[2] for name in plan.stored) == ["customers", "orders"]
        begun = joinless.replace("view", query, cells=rng.choice([1, 2, 3]), trigger="availableNow")
        begun.awaitTermination()
        put_back(contents)
        check(shop, query, "view")
        shop.random_commit(rng)
        database.kept(query, "view")
        check(shop, query, "view")
        assert joinless.verify("view").is_equal
    joinless.replace("view", trigger="availableNow").awaitTermination()  # reads all tables again
    check(shop, CHANGED[-1], "view")


def test_what_lacks_rows_is_read_again(shop: Shop) -> None:
    database.kept(CHANGED[0], "view")
    shop.session.sql("CREATE OR REPLACE TABLE customers (id INT, city STRING) USING delta")
    shop.session.sql("INSERT INTO customers VALUES (1, 'here'), (2, 'there')")
    query = "SELECT o.id, c.city FROM orders o JOIN customers c ON o.customer = c.id WHERE o.pieces > 1"
    plan = joinless.replace("view", query, dry_run=True)
    names = {name.rpartition(".")[2]: why for name, why in plan.read_again.items()}
    assert names == {"orders": "its id is not stored", "customers": "it was created anew"}
    assert str(plan).splitlines()[0].endswith("orders: is read again, since its id is not stored")
    joinless.replace("view", query, trigger="availableNow").awaitTermination()
    check(shop, query, "view")
    assert joinless.replace("view", dry_run=True).read_again.keys() == plan.read_again.keys()
    for lacking, why in {
        "SELECT o.customer FROM orders o JOIN customers c ON o.customer = c.id": "only its rows where",
        "SELECT o.id FROM orders o LEFT JOIN customers c ON o.customer = c.id WHERE o.pieces > 1": "its rows without",
        "SELECT id FROM orders WHERE pieces > 1 AND customer IS NOT NULL AND item > 1": "its item is not stored",
    }.items():
        again = joinless.replace("view", lacking, dry_run=True).read_again
        assert any(reason.startswith(why) for reason in again.values()), (lacking, again)


def test_a_table_that_has_lost_changes_is_read_again(shop: Shop) -> None:
    spark = shop.session
    database.kept(JOINED, "view")
    spark.sql("UPDATE orders SET pieces = pieces + 1 WHERE customer < 3")
    for folder in (shop.folder / "orders").glob("_change_data"):
        for file in folder.iterdir():
            file.unlink()
    assert joinless.replace("view", CHANGED[0], dry_run=True).read_again == {}
    joinless.replace("view", CHANGED[0], trigger="availableNow").awaitTermination()
    check(shop, CHANGED[0], "view")
    with pytest.raises(StreamingQueryException, match="DIVIDE_BY_ZERO"):
        joinless.replace("view", CHANGED[0].replace("MAX(o.pieces)", "MAX(1 / (o.pieces - o.pieces))"))
    spark.sql("ALTER TABLE customers SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    database.kept(CHANGED[0], "view")
    spark.sql("ALTER TABLE customers DROP COLUMN city")
    spark.sql("ALTER TABLE customers ADD COLUMN city STRING")
    spark.sql("INSERT INTO customers VALUES (1, 'there')")
    joinless.replace("view", CHANGED[1], trigger="availableNow").awaitTermination()
    check(shop, CHANGED[1], "view")


def test_a_query_takes_over_from_another_one_and_both_go_on(shop: Shop, tmp_path: Path) -> None:
    rng = random.Random(3)
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    database.kept(JOINED, "before", checkpoint=old)
    found = joinless.evolve(old, WITH_ITEMS, new)
    assert [name.rpartition(".")[2] for name in found.read_again] == ["items"]
    assert len(found.stored) == 2
    for _ in range(2):
        shop.random_commit(rng)
        database.kept(WITH_ITEMS, "after", checkpoint=new)
        check(shop, WITH_ITEMS, "after")
        database.kept(JOINED, "before", checkpoint=old)
        check(shop, JOINED, "before")
    with pytest.raises(AnalysisException, match=r"JOINLESS_EVOLVE\.BEGUN.*Give the folder of a new one"):
        joinless.evolve(old, JOINED, new)
    with pytest.raises(AnalysisException, match="JOINLESS_CHECKPOINT_NOT_FOUND"):
        joinless.evolve(tmp_path / "nothing", JOINED, tmp_path / "newer")


def test_a_first_batch_that_is_killed_runs_again(shop: Shop, tmp_path: Path) -> None:
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    database.kept(JOINED, "before", checkpoint=old)
    joinless.evolve(old, joinless.sql(CHANGED[0]), new)
    shop.commit("orders", "INSERT INTO {t} VALUES (900, 1, 1, 9)")

    def start(query: str, fail: bool) -> None:
        write = joinless.apply_changes("after")

        def function(rows: DataFrame, batch: int) -> None:
            if fail:
                rows.collect()
                raise OSError("killed")
            write(rows, batch)

        writer = joinless.enumerate_deltas(joinless.sql(query)).writeStream.foreachBatch(function)
        writer.option("checkpointLocation", new).trigger(availableNow=True).start().awaitTermination()

    shop.session.sql("CREATE TABLE after (city STRING, n BIGINT, most INT) USING delta")
    with pytest.raises(StreamingQueryException, match="killed"):
        start(CHANGED[0], fail=True)
    other = CHANGED[0].replace("WHERE o.pieces > 1", "WHERE o.pieces > 2")
    with pytest.raises(
        (StreamingQueryException, AnalysisException), match=r"JOINLESS_(EVOLVE\.OTHER_QUERY|STATE_MISMATCH)"
    ):
        start(other, fail=False)
    start(CHANGED[0], fail=False)
    check(shop, CHANGED[0], "after")
