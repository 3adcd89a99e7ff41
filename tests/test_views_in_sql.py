"""Views in SQL alone: the procedures that start, replace and drop them."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Row, SparkSession

import joinless
from joinless import _jars
from joinless.errors import EXTENSION_CLASS
from support import database, delta_jars, oracles
from support.process import client_environment
from support.shop import Shop

COUNTS = "SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer"
NAMED = """SELECT c.city, COUNT(*) AS n, MAX(o.pieces) AS most
           FROM orders o JOIN customers c ON o.customer = c.id WHERE c.city <> 'it''s' GROUP BY c.city"""


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Iterator[Shop]:
    """The shop's tables in a database."""
    with database.shop_in(spark, "in_sql", tmp_path) as shop:
        yield shop


def called(shop: Shop, procedure: str, **arguments: Any) -> list[Row]:
    """The rows of a call, with its arguments as literals."""
    values = {name: database.in_sql(value) for name, value in arguments.items()}
    given = ", ".join(f"{name} => {value}" for name, value in values.items())
    return shop.session.sql(f"CALL joinless.{procedure}({given})").collect()


def check(shop: Shop, query: str, view: str = "view") -> None:
    """Whether the view has the rows of the query."""
    assert oracles.bag(shop.session.table(view).collect()) == oracles.bag(shop.session.sql(query).collect()), query


def test_the_life_of_a_view(shop: Shop) -> None:
    rng, spark = random.Random(4), shop.session
    for batch in range(2):
        [started] = called(shop, "materialize", query=COUNTS, into="view", trigger="availableNow")
        assert (started["view"], started["batch"]) == ("view", batch)
        check(shop, COUNTS)
        shop.random_commit(rng)
    [running] = called(shop, "materialize", query=COUNTS, into="view", trigger="0 seconds", name="counts")
    [query] = spark.streams.active
    assert (query.name, str(query.id)) == ("counts", running["query_id"] or started["query_id"])
    shop.commit("orders", "INSERT INTO {t} VALUES (900, 1, 1, 9)")
    query.processAllAvailable()
    check(shop, COUNTS)
    assert called(shop, "status", view="view")[0]["state"] == "running"
    plan = called(shop, "replace", view="view", query=NAMED, dry_run=True)
    assert {row["name"].rpartition(".")[2]: row["read_again"] for row in plan} == {"orders": True, "customers": True}
    assert query.isActive
    [replaced] = called(shop, "replace", view="view", query=NAMED, trigger="availableNow", cells=1)
    assert not query.isActive
    assert replaced["query_id"] != running["query_id"]
    check(shop, NAMED)
    shop.random_commit(rng)
    called(shop, "materialize", query=NAMED, into="view", trigger="availableNow")
    check(shop, NAMED)
    assert called(shop, "verify", view="view")[0]["is_equal"]
    called(shop, "replace", view="view", trigger="availableNow")  # all tables are read again
    check(shop, NAMED)
    assert called(shop, "drop", view="VIEW") == [("VIEW",)]
    assert not spark.catalog.tableExists("view")
    assert not (shop.folder / "view").exists()
    called(shop, "materialize", query=COUNTS, into="view", trigger="availableNow", key=["customer"])
    check(shop, COUNTS)


def test_a_view_that_runs_is_dropped_with_its_checkpoint(shop: Shop, tmp_path: Path) -> None:
    spark, checkpoint = shop.session, tmp_path / "checkpoint"
    spark.sql(f"CREATE TABLE outside (customer INT, n BIGINT) USING delta LOCATION '{tmp_path}/files'")
    query = joinless.materialize(COUNTS, "outside", checkpoint, trigger="0 seconds")
    query.processAllAvailable()
    check(shop, COUNTS, "outside")
    assert checkpoint.exists()
    joinless.drop("outside")
    assert not query.isActive
    assert query.exception() is None
    assert not checkpoint.exists()
    assert not spark.catalog.tableExists("outside")
    assert (tmp_path / "files").exists(), "as in SQL"
    joinless.materialize(COUNTS, f"delta.`{tmp_path}/of_path`", trigger="availableNow").awaitTermination()
    with pytest.raises(joinless.ViewError, match=r"JOINLESS_VIEW\.PATH.*delete the folder .*/of_path\."):
        joinless.drop(f"delta.`{tmp_path}/of_path`")
    with pytest.raises(joinless.ViewError, match=r"NOT_A_VIEW"):
        joinless.drop("orders")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        joinless.drop("nothing")
    assert spark.catalog.tableExists("orders")


def test_the_text_of_a_view_keeps_its_tables_in_another_database(shop: Shop, tmp_path: Path) -> None:
    spark = shop.session
    called(shop, "materialize", query=COUNTS, into="view", trigger="availableNow")
    qualified = COUNTS.replace("orders", "in_sql.orders")
    called(shop, "materialize", query=qualified, into="other", trigger="availableNow")
    spark.sql(f"CREATE DATABASE elsewhere LOCATION '{tmp_path}/elsewhere'")
    try:
        spark.sql("USE elsewhere")
        for there in (None, "CREATE TABLE orders (id INT, customer INT, item INT, pieces INT) USING delta"):
            if there is not None:
                spark.sql(there)
            with pytest.raises(PySparkException) as refused:
                called(shop, "materialize", query=COUNTS, into="in_sql.view", trigger="availableNow")
            missing = there is None
            condition = "TABLE_OR_VIEW_NOT_FOUND" if missing else "JOINLESS_VIEW.OTHER_DATABASE"
            assert refused.value.getCondition() == condition
        shop.commit("orders", "INSERT INTO {t} VALUES (900, 1, 1, 9)")
        called(shop, "materialize", query=qualified, into="in_sql.other", trigger="availableNow")
        assert called(shop, "verify", view="in_sql.other")[0]["is_equal"]
    finally:
        spark.sql("USE in_sql")
        spark.sql("DROP DATABASE elsewhere CASCADE")
    called(shop, "materialize", query=COUNTS, into="view", trigger="availableNow")
    check(shop, COUNTS)


#: A call that is refused: procedure, arguments, condition.
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "no query": ("materialize", {"query": None, "into": "v"}, "JOINLESS_PROCEDURE.NO_VALUE"),
    "a blank table": ("materialize", {"query": COUNTS, "into": " "}, "JOINLESS_PROCEDURE.NO_VALUE"),
    "a key of nothing": ("materialize", {"query": COUNTS, "into": "v", "key": []}, "JOINLESS_PROCEDURE.NO_VALUE"),
    "no such key": ("materialize", {"query": COUNTS, "into": "v", "key": ["x"]}, "JOINLESS_APPLY_CHANGES.UNKNOWN_KEY"),
    "no trigger": ("materialize", {"query": COUNTS, "into": "v", "trigger": "often"}, "JOINLESS_VIEW.TRIGGER"),
    "a table that is there": (
        "materialize",
        {"query": COUNTS, "into": "items"},
        "JOINLESS_APPLY_CHANGES.COLUMNS_DIFFER",
    ),
    "random": ("materialize", {"query": "SELECT id, rand() AS r FROM orders", "into": "v"}, "JOINLESS_NOT_REWRITTEN"),
    "no such column": ("materialize", {"query": "SELECT town FROM orders", "into": "v"}, "UNRESOLVED_COLUMN"),
    "no statement": ("materialize", {"query": "DROP TABLE orders", "into": "v"}, "JOINLESS_TABLE.NOT_A_QUERY"),
    "no view": ("replace", {"view": "orders", "query": COUNTS}, "JOINLESS_VIEW.NOT_A_VIEW"),
    "no cells": ("replace", {"view": "view", "query": COUNTS, "cells": 0}, "JOINLESS_VIEW.CELLS"),
    "its own rows": (
        "replace",
        {"view": "view", "query": "SELECT * FROM view"},
        "JOINLESS_APPLY_CHANGES.TARGET_IS_READ",
    ),
    "nothing to drop": ("drop", {"view": "orders"}, "JOINLESS_VIEW.NOT_A_VIEW"),
}


def test_calls_that_change_nothing_have_conditions(shop: Shop, subtests: pytest.Subtests) -> None:
    called(shop, "materialize", query=COUNTS, into="view", trigger="availableNow")
    before = shop.session.sql("SHOW TBLPROPERTIES view").where("key LIKE 'joinless.%'").collect()
    for what, (procedure, arguments, condition) in REFUSED.items():
        with subtests.test(what):
            with pytest.raises(PySparkException) as refused:
                called(shop, procedure, **arguments)
            assert (refused.value.getCondition() or "").startswith(condition), str(refused.value)
    assert not shop.session.catalog.tableExists("v")
    assert shop.session.sql("SHOW TBLPROPERTIES view").where("key LIKE 'joinless.%'").collect() == before
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):  # that of the query itself
        called(shop, "materialize", query="SELECT 1 / (id - id) AS n FROM orders", into="v", trigger="availableNow")
    check(shop, COUNTS)


#: A script that is run twice: it makes tables and a view, changes a table, and brings the view up to date.
SCRIPT = """
CREATE TABLE IF NOT EXISTS orders (id INT, item STRING) USING delta;
INSERT INTO orders VALUES (1, 'it''s'), (2, 'pear'), (3, 'pear');
CALL joinless.materialize('SELECT item, COUNT(*) AS n FROM orders GROUP BY item',
                          into => 'per_item', trigger => 'availableNow');
SELECT concat_ws(' ', item, n) AS line FROM per_item ORDER BY item;
CALL joinless.verify(view => 'per_item');
"""


@pytest.mark.long
def test_a_script_for_spark_sql_can_be_run_again(tmp_path: Path) -> None:
    home = Path(str(pyspark.__file__)).parent
    (tmp_path / "views.sql").write_text(SCRIPT)
    settings = {
        "spark.sql.extensions": f"{EXTENSION_CLASS},io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={tmp_path}/metastore;create=true",
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
    }
    jars = [str(_jars.bundled(pyspark.__version__)), *delta_jars.paths()]
    options = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    command = [
        str(home / "bin/spark-sql"),
        "--master",
        "local[2]",
        "--jars",
        ",".join(jars),
        *options,
        "-f",
        "views.sql",
    ]
    for times in (1, 2):
        environment = client_environment() | {"SPARK_HOME": str(home)}
        run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
        assert run.returncode == 0, run.stderr[-3000:]
        lines = run.stdout.splitlines()
        assert [line for line in lines if line.startswith(("it's", "pear"))] == [f"it's {times}", f"pear {2 * times}"]
        assert lines[-1].startswith("per_item"), run.stdout
        assert lines[-1].endswith("true"), run.stdout
