"""`replace`: another query for a view, interrupted anywhere.

The oracle is the new query as batch SQL; until the switch, the rows that the view had.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import SparkSession

import joinless
from support import database, oracles
from support.shop import Shop

#: Queries of one result schema, and of others.
COUNTS = "SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer"
LARGE = "SELECT customer, COUNT(*) AS n FROM orders WHERE pieces > 1 GROUP BY customer"
NAMED = """SELECT c.city, COUNT(*) AS n, MAX(o.pieces) AS most
           FROM orders o JOIN customers c ON o.customer = c.id GROUP BY c.city"""
BAG = """SELECT o.customer, n.n FROM orders o
         LEFT JOIN (SELECT item, COUNT(*) AS n FROM orders GROUP BY item) n ON o.item = n.item"""

#: The setting of the greatest number of cells.
CELLS = "spark.joinless.placement.maxCells"

#: Commits to the table of the view.
COMMITS = r"/view/_delta_log/\d+\.json$"

#: Where a replacement is interrupted: before the n-th operation on a file of this name.
KILLED_BEFORE = {
    "the switch": (COMMITS, 1),
    "the rows are replaced": (COMMITS, 2),
    "the end is recorded": (COMMITS, 3),
    "what is left is removed": (r"/view/_joinless_2_rows$", 1),
}


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Iterator[Shop]:
    """The shop's tables in a database."""
    with database.shop_in(spark, "replaced", tmp_path) as shop:
        yield shop


def kept(query: str) -> None:
    """Brings the view up to date."""
    database.kept(query, "view")


def killed_before(shop: Shop, path: str, n: int, new: str) -> None:
    """Begins a replacement that is interrupted there."""
    files = shop.session._jvm.io.joinless.spark.LocalFiles  # type: ignore[union-attr]
    files.failBefore(path, n)
    try:
        with pytest.raises(Exception, match="killed before"):
            joinless.replace("view", new, trigger="availableNow")
    finally:
        assert not files.cancel()


def check(shop: Shop, query: str, view: str = "view") -> None:
    """Whether the view has the rows of the query."""
    assert oracles.bag(shop.session.table(view).collect()) == oracles.bag(shop.session.sql(query).collect()), query


def folders(shop: Shop) -> set[str]:
    """What views keep in the folder of the table."""
    return {path.name for path in (shop.folder / "view").glob("_joinless*")}


def test_a_view_goes_on_with_each_new_query(shop: Shop) -> None:
    rng = random.Random(2)
    kept(COUNTS)
    for number, query in enumerate([LARGE, NAMED, BAG], start=2):
        shop.random_commit(rng)
        joinless.replace("view", query, trigger="availableNow").awaitTermination()
        check(shop, query)
        assert joinless.verify("view").is_equal
        assert folders(shop) == {f"_joinless_{number}", f"_joinless_{number - 1}".removesuffix("_1")}
        shop.random_commit(rng)
        kept(query)
        check(shop, query)
    with pytest.raises(AnalysisException, match="STATE_MISMATCH"):
        kept(COUNTS)


def test_a_view_is_divided_into_other_numbers_of_cells(shop: Shop) -> None:
    rng = random.Random(5)
    sums = """SELECT c.city, o.item, COUNT(*) AS n, SUM(o.pieces) AS pieces
              FROM orders o JOIN customers c ON o.customer = c.id GROUP BY c.city, o.item"""
    kept(sums)
    settings = {name: shop.session.conf.get(name) for name in ("spark.sql.shuffle.partitions", CELLS)}
    for number, cells in enumerate((2, 6, 1), start=2):
        shop.random_commit(rng)
        running = joinless.replace("view", cells=cells, trigger="0 seconds")
        running.processAllAvailable()
        check(shop, sums)
        stores = shop.folder / "view" / f"_joinless_{number}" / "state"
        for operator in (folder for folder in stores.iterdir() if folder.name.isdecimal()):
            assert len([part for part in operator.iterdir() if part.name.isdecimal()]) == cells
        shop.random_commit(rng)
        running.processAllAvailable()
        running.stop()
        check(shop, sums)
        kept(sums)  # goes on with the cells of its checkpoint
        check(shop, sums)
        assert settings == {name: shop.session.conf.get(name) for name in settings}
    assert joinless.verify("view").is_equal
    joinless.replace("view", joinless.table("items"), trigger="availableNow").awaitTermination()
    with pytest.raises(joinless.ViewError, match=r"NO_NEW_QUERY.*The view view has a query given as a DataFrame"):
        joinless.replace("view", cells=2)


def test_rows_that_are_equal_stay(shop: Shop) -> None:
    spark = shop.session
    kept(COUNTS)
    spark.sql("ALTER TABLE view SET TBLPROPERTIES (delta.enableChangeDataFeed = true)")
    before = shop.version("view")
    joinless.replace("view", f"{COUNTS} HAVING COUNT(*) <> 4", trigger="availableNow").awaitTermination()
    changed = spark.sql(f"SELECT * FROM table_changes('view', {before + 1})").groupBy("_change_type").count().collect()
    fours = spark.sql(f"SELECT * FROM ({COUNTS}) WHERE n = 4").count()
    assert {row["_change_type"]: row["count"] for row in changed} == ({"delete": fours} if fours else {})


def test_the_old_query_runs_until_the_switch_and_not_after_it(shop: Shop) -> None:
    spark = shop.session
    old = joinless.materialize(COUNTS, "view", trigger="0 seconds")
    old.processAllAvailable()
    new = joinless.replace("view", LARGE, trigger="0 seconds")
    assert not old.isActive
    assert old.exception() is None
    assert [query.name for query in spark.streams.active] == ["view"]
    shop.commit("orders", "INSERT INTO {t} VALUES (900, 1, 1, 9)")
    new.processAllAvailable()
    check(shop, LARGE)


def test_an_old_query_elsewhere_can_write_no_more(shop: Shop) -> None:
    """As one of another application, which `replace` cannot stop: its next batch."""
    old = joinless.materialize(COUNTS, "view", trigger="0 seconds")
    old.processAllAvailable()
    joinless.replace("view", LARGE, trigger="availableNow", name="new").awaitTermination()
    change = shop.session.sql("SELECT 9L AS customer, 1L AS n, 1 AS _weight").selectExpr(
        "CAST(customer AS INT)", "n", "_weight"
    )
    with pytest.raises(joinless.ApplyChangesError, match="TARGET_TAKEN"):
        joinless.apply_changes("view", ["customer"], app_id=str(old.id))(change, 1)
    shop.commit("orders", "INSERT INTO {t} VALUES (900, 1, 1, 9)")
    kept(LARGE)
    check(shop, LARGE)


@pytest.mark.parametrize(
    ("before", "new"),
    [(before, LARGE) for before in KILLED_BEFORE] + [(before, NAMED) for before in list(KILLED_BEFORE)[1:3]],
    ids=[
        *(f"{before}, the same columns" for before in KILLED_BEFORE),
        *(f"{before}, other columns" for before in list(KILLED_BEFORE)[1:3]),
    ],
)
def test_a_replacement_that_is_killed(shop: Shop, before: str, new: str) -> None:
    kept(COUNTS)
    rows = oracles.bag(shop.session.table("view").collect())
    shop.commit("orders", "DELETE FROM {t} WHERE id = 3")
    killed_before(shop, *KILLED_BEFORE[before], new)
    recorded = {row["key"]: row["value"] for row in shop.session.sql("SHOW TBLPROPERTIES view").collect()}
    assert recorded["joinless.query"] == (COUNTS if before == "the switch" else new)
    if before in ("the switch", "the rows are replaced"):
        assert oracles.bag(shop.session.table("view").collect()) == rows
    if before == "the switch":
        kept(COUNTS)
        check(shop, COUNTS)
        joinless.replace("view", new, trigger="availableNow").awaitTermination()
        assert folders(shop) == {"_joinless", "_joinless_2"}
    else:
        shop.commit("orders", "INSERT INTO {t} VALUES (900, 1, 1, 9)")
        kept(new)
    check(shop, new)
    assert joinless.verify("view").is_equal


def test_a_replacement_after_one_that_is_killed_is_killed(shop: Shop) -> None:
    kept(COUNTS)
    killed_before(shop, COMMITS, 2, LARGE)
    killed_before(shop, COMMITS, 3, NAMED)  # the rows of the one before are replaced first
    kept(LARGE)
    check(shop, LARGE)
    assert joinless.verify("view").is_equal


def test_a_call_while_the_view_runs_is_refused_and_the_view_goes_on(shop: Shop) -> None:
    query = joinless.materialize(COUNTS, "view", trigger="0 seconds")
    query.processAllAvailable()
    version = shop.version("view")
    running = "is running, by the query view"
    for text, name, condition, message in [
        (COUNTS, None, "RUNNING", f"{running}. .*{query.id}"),
        (COUNTS, "another", "RUNNING", f"{running}. .*{query.id}"),
        (LARGE, None, "RUNNING_OTHER", f"{running}, and keeps .* joinless.replace"),
    ]:
        with pytest.raises(joinless.ViewError, match=message) as refused:
            joinless.materialize(text, "view", name=name)
        assert refused.value.getCondition() == f"JOINLESS_VIEW.{condition}"
    assert shop.version("view") == version
    shop.commit("orders", "INSERT INTO {t} VALUES (900, 1, 1, 9)")
    query.processAllAvailable()
    check(shop, COUNTS)


def test_a_replacement_that_fails_changes_nothing(shop: Shop) -> None:
    kept(COUNTS)
    version = shop.version("view")
    with pytest.raises(StreamingQueryException, match="DIVIDE_BY_ZERO"):
        joinless.replace("view", "SELECT customer, 1 / (id - 1) AS n FROM orders")
    with pytest.raises(AnalysisException, match="UNRESOLVED_COLUMN"):
        joinless.replace("view", "SELECT town FROM customers")
    assert shop.version("view") == version
    shop.commit("orders", "DELETE FROM {t} WHERE id = 3")
    kept(COUNTS)
    check(shop, COUNTS)
    with pytest.raises(joinless.ViewError, match="NOT_A_VIEW"):
        joinless.replace("orders", COUNTS)
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        joinless.replace("nothing", COUNTS)


def test_a_table_that_refuses_the_new_rows_keeps_its_view(shop: Shop) -> None:
    """The error is that of the switch, after the new query has run."""
    kept(COUNTS)
    shop.session.sql("ALTER TABLE view ADD CONSTRAINT positive CHECK (n > 0)")
    before = shop.session.sql("SHOW TBLPROPERTIES view").where("key LIKE 'joinless.%'").collect()
    for new in (
        "SELECT customer, -COUNT(*) AS n FROM orders GROUP BY customer",
        "SELECT customer, item, -COUNT(*) AS n FROM orders GROUP BY customer, item",
    ):
        with pytest.raises(Exception, match="CHECK constraint positive"):
            joinless.replace("view", new, trigger="availableNow")
        assert shop.session.sql("SHOW TBLPROPERTIES view").where("key LIKE 'joinless.%'").collect() == before
    shop.commit("orders", "INSERT INTO {t} VALUES (900, 1, 1, 9)")
    kept(COUNTS)
    check(shop, COUNTS)
    joinless.replace("view", LARGE, trigger="availableNow").awaitTermination()
    check(shop, LARGE)


def test_clustering_and_comments_stay_where_the_columns_differ(shop: Shop) -> None:
    spark = shop.session
    spark.sql("CREATE TABLE view (customer INT COMMENT 'who', n BIGINT) USING delta CLUSTER BY (customer)")
    kept(COUNTS)
    joinless.replace("view", COUNTS.replace("AS n", "AS n, MAX(id) AS last"), trigger="availableNow").awaitTermination()
    assert spark.table("view").columns == ["customer", "n", "last"]
    assert spark.sql("DESCRIBE DETAIL view").head()["clusteringColumns"] == ["customer"]  # type: ignore[index]
    assert spark.table("view").schema["customer"].metadata == {"comment": "who"}


def test_tables_that_are_read_in_parts_are_switched_to_as_a_whole(shop: Shop) -> None:
    """The first rows of a replacement may take several batches."""
    for i in range(4):
        shop.commit("orders", f"INSERT INTO {{t}} VALUES ({700 + i}, {i}, 1, 1)")
    kept(COUNTS)
    version = shop.version("view")
    parts = shop.session.readStream.option("readChangeFeed", "true").option("maxFilesPerTrigger", 1).table("orders")
    df = joinless.changelog(parts).where("pieces > 0").groupBy("customer").count().withColumnRenamed("count", "n")
    joinless.replace("view", df, trigger="availableNow").awaitTermination()
    check(shop, COUNTS.replace("orders", "orders WHERE pieces > 0"))
    batches = [file for file in (shop.folder / "view/_joinless_2/commits").iterdir() if file.name.isdecimal()]
    assert len(batches) > 2
    history = shop.session.sql("DESCRIBE HISTORY view").where(f"version > {version}").collect()
    written = [row["operation"] for row in history if "TBLPROPERTIES" not in row["operation"]]
    assert written in (["MERGE"], ["WRITE"]), "one commit"
