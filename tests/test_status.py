"""`status` and `verify` over ten views, in Python, in SQL and on Spark Connect: running, stopped and
failed ones, one that is behind, one that was tampered with.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Row, SparkSession

import joinless
from conftest import JAVA_OPTIONS, QUICK
from joinless import _jars
from joinless.errors import EXTENSION_CLASS
from support import delta_jars
from support.database import kept, shop_in
from support.process import run_client
from support.shop import SMALL, TABLES, Shop

COUNTS = "SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer"
#: Views whose folders were copied: another process keeps them, for all that this one knows.
COPIES = [f"copy{i}" for i in range(5)]
VIEWS = {"runs", "ended", "failed", "of_frame", "tampered", *COPIES}


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Iterator[Shop]:
    """The shop's tables in a database."""
    with shop_in(spark, "not_looked_at", tmp_path) as shop:
        spark.sql("CREATE TABLE plain (id INT) USING parquet")
        yield shop


@pytest.fixture(scope="module")
def ten(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """The shop's tables in a database with ten views."""
    with shop_in(spark, "looked_at", tmp_path_factory.mktemp("ten")) as shop:
        runs = joinless.materialize(COUNTS, "runs", trigger="0 seconds")
        runs.processAllAvailable()
        kept("SELECT id FROM items WHERE id IN (SELECT item FROM orders)", "ended")
        failed = joinless.materialize("SELECT 1 / (pieces - 1000) AS x FROM orders", "failed", trigger="0 seconds")
        failed.processAllAvailable()
        kept(joinless.table("items"), "of_frame")
        kept("SELECT id, name FROM items", "tampered")
        spark.sql("INSERT INTO tampered VALUES (77, 'not sold'), (78, NULL)")
        spark.sql("CREATE TABLE plain (id INT) USING parquet")
        for copy in COPIES:
            shutil.copytree(shop.folder / "ended", shop.folder / copy)
            spark.sql(f"CREATE TABLE {copy} USING delta LOCATION '{shop.folder / copy}'")
        shop.commit("orders", "INSERT INTO {t} VALUES (900, 1, 1, 1000)")
        shop.commit("orders", "DELETE FROM {t} WHERE id = 1")
        with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
            failed.processAllAvailable()
        runs.processAllAvailable()
        yield shop


def of(view: str) -> Row:
    """The row of one view."""
    (row,) = joinless.status(view).collect()
    return row


def called(shop: Shop, procedure: str) -> list[Row]:
    """The rows of a procedure."""
    return shop.session.sql(f"CALL joinless.{procedure}").collect()


def refused(shop: Shop, procedure: str) -> str | None:
    """The condition with which a call is refused."""
    with pytest.raises(PySparkException) as raised:
        called(shop, procedure)
    return raised.value.getCondition()


def test_what_is_no_view_is_refused(shop: Shop) -> None:
    assert joinless.status().collect() == called(shop, "status()") == []
    for table in ("orders", "plain"):
        with pytest.raises(joinless.ViewError, match="NOT_A_VIEW"):
            joinless.status(table)
        assert refused(shop, f"status(view => '{table}')") == "JOINLESS_VIEW.NOT_A_VIEW"
        assert refused(shop, f"verify(view => '{table}')") == "JOINLESS_VIEW.NOT_A_VIEW"
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        joinless.status("nothing")


def test_views_that_run_that_have_ended_and_that_have_failed(ten: Shop) -> None:
    rows = {row["view"]: row for row in joinless.status().collect()}
    assert set(rows) == VIEWS
    assert {name: row["state"] for name, row in rows.items()} == {
        "runs": "running",
        "ended": "stopped",
        "failed": "failed",
        "of_frame": "stopped",
        "tampered": "stopped",
        **dict.fromkeys(COPIES, "unknown"),
    }
    assert rows["runs"]["behind"] == {"orders": 0}
    assert rows["ended"]["behind"] == {"orders": 2, "items": 0}
    assert rows["failed"]["behind"] == {"orders": 2}
    assert rows["of_frame"]["behind"] is None
    assert "DIVIDE_BY_ZERO" in rows["failed"]["error"]
    assert [row["error"] for name, row in rows.items() if name != "failed"] == [None] * 9
    assert rows["runs"]["query"] == COUNTS
    assert rows["runs"]["stored_rows"] > 0
    assert rows["runs"]["memory_bytes"] > 0
    assert rows["ended"]["batch"] == 0
    assert rows["runs"]["version"] == ten.version("runs")
    assert rows["runs"]["updated"] >= rows["ended"]["updated"]
    assert [row["view"] for row in joinless.status(["ended", ten.at("failed")]).collect()] == [
        "ended",
        ten.at("failed"),
    ]


def test_procedures_say_the_same_in_sql(ten: Shop) -> None:
    assert called(ten, "status()") == joinless.status().collect()
    assert called(ten, "STATUS(view => 'failed')") == joinless.status("failed").collect()
    right = {view: called(ten, f"verify(view => '{view}')")[0] for view in VIEWS - {"of_frame"}}
    assert {view for view, row in right.items() if not row["is_equal"]} == {"tampered"}
    found = joinless.verify("tampered")
    assert right["tampered"].asDict() == {
        "view": "tampered",
        "version": found.version,
        "batch": 0,
        "rows": found.rows,
        "missing": 0,
        "extra": 2,
        "rounded": 0,
        "is_equal": False,
    }
    assert right["ended"]["batch"] == 0, "although it is behind"
    assert right["runs"]["batch"] > 0
    differences = called(ten, "verify('tampered', differences => 100)")
    assert {tuple(row) for row in differences} == {(77, "not sold", 1, 0), (78, None, 1, 0)}
    assert sorted(differences) == sorted(found.differences.collect())
    assert len(called(ten, "verify('tampered', differences => 1)")) == 1
    (of_frame,) = called(ten, "verify('of_frame', query => 'SELECT * FROM items')")
    assert of_frame["is_equal"]
    assert "\n".join(row["plan"] for row in called(ten, f"explain('{COUNTS}')")) == joinless.explain(COUNTS).text


def test_calls_that_are_refused_have_conditions(ten: Shop) -> None:
    assert refused(ten, "verify(view => 'of_frame')") == "JOINLESS_VIEW.NO_QUERY"
    other_columns = "verify(view => 'ended', query => 'SELECT name FROM items')"
    assert refused(ten, other_columns) == "JOINLESS_VIEW.COLUMNS"
    assert refused(ten, "verify(view => 'ended', query => 'DROP TABLE items')") == "JOINLESS_TABLE.NOT_A_QUERY"
    assert refused(ten, "status(view => 'nothing')") == "TABLE_OR_VIEW_NOT_FOUND"
    assert refused(ten, "status(view => 'a b')") == "PARSE_SYNTAX_ERROR"
    assert refused(ten, "status(view => ' ')") == "JOINLESS_PROCEDURE.NO_VALUE"
    assert refused(ten, "verify(view => NULL)") == "JOINLESS_PROCEDURE.NO_VALUE"
    assert refused(ten, "verify('ended', differences => NULL)") == "JOINLESS_PROCEDURE.NO_VALUE"
    assert refused(ten, "verify('ended', differences => -1)") == "JOINLESS_PROCEDURE.NUMBER_OF_ROWS"
    assert refused(ten, "verify('ended', differences => 'few')") == "CAST_INVALID_INPUT"
    assert refused(ten, "verify(array('ended'))") == "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"
    assert refused(ten, "verify()") == "REQUIRED_PARAMETER_NOT_FOUND"
    assert refused(ten, "verify(veiw => 'ended')") == "UNRECOGNIZED_PARAMETER_NAME"
    assert refused(ten, "explain('SELECT * FROM plain')") == "JOINLESS_TABLE.NOTHING_CHANGES"
    assert refused(ten, "explain('')") == refused(ten, "explain(NULL)") == "JOINLESS_PROCEDURE.NO_VALUE"
    assert refused(ten, "verfy(view => 'ended')") == "JOINLESS_PROCEDURE.NOT_FOUND"
    assert refused(ten, "looked_at.verify(view => 'ended')") == "JOINLESS_PROCEDURE.NOT_FOUND"
    listed = ten.session.sql("SHOW PROCEDURES IN joinless").collect()
    assert [row["procedure_name"] for row in listed] == [
        "drop",
        "evolve",
        "explain",
        "materialize",
        "replace",
        "status",
        "verify",
    ]


#: A client of Spark Connect, whose server finds the same tables and views.
CLIENT = """
import json, sys, warnings
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
import joinless

warnings.simplefilter("ignore")
settings, folders = json.loads(sys.argv[1]), json.loads(sys.argv[2])
builder = SparkSession.builder.remote("local[2]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
spark.sql("CREATE DATABASE looked_at").collect()
spark.sql("USE looked_at").collect()
for table, folder in folders.items():
    spark.sql(f"CREATE TABLE {table} USING delta LOCATION '{folder}'").collect()


def called(procedure):
    return [row.asDict() for row in spark.sql(f"CALL joinless.{procedure}").collect()]


def refused(act):
    try:
        act()
    except PySparkException as e:
        return [e.getCondition(), str(e)]


print(json.dumps({
    "status": called("status()"),
    "python": [row.asDict() for row in joinless.status(["ended", "tampered"]).collect()],
    "verify": [called(f"verify(view => '{view}')")[0] for view in ("ended", "failed", "tampered")],
    "differences": called("verify(view => 'tampered', differences => 10)"),
    "kept": called("materialize('SELECT id FROM orders', into => 'of_client', trigger => '0 seconds')"),
    "replaced": called("replace('of_client', 'SELECT id, item FROM orders', trigger => 'availableNow')"),
    "equal": called("verify(view => 'of_client')"),
    "dropped": called("drop('of_client')"),
    "explain": called("explain('SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer')"),
    "refused": [refused(lambda: called(call)) for call in ("verify('of_frame')", "status('orders')", "verfy()")],
    "in python": [refused(lambda: joinless.status("orders")), refused(lambda: joinless.verify("of_frame"))],
}, default=str))
"""


def test_a_client_of_spark_connect_calls_them(ten: Shop) -> None:
    settings = {
        "spark.jars": ",".join([str(_jars.bundled(pyspark.__version__)), *delta_jars.paths()]),
        "spark.sql.extensions": f"{EXTENSION_CLASS},io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": JAVA_OPTIONS,
        **QUICK,
        **SMALL,
    }
    folders = {table: str(ten.folder / table) for table in [*TABLES, *sorted(VIEWS)]}
    client = run_client(CLIENT, json.dumps(settings), json.dumps(folders), folder=ten.folder)
    assert client.returncode == 0, client.stderr[-3000:]
    answers: dict[str, Any] = json.loads(client.stdout.splitlines()[-1])
    here = {row["view"]: row for row in joinless.status().collect()}
    assert {row["view"] for row in answers["status"]} == VIEWS
    for row in answers["status"]:
        for column in ("batch", "version", "behind", "query"):
            assert row[column] == here[row["view"]][column], (row["view"], column)
        assert row["state"] == "unknown", "another process runs them"
    assert answers["python"] == [row for row in answers["status"] if row["view"] in ("ended", "tampered")]
    assert [row["is_equal"] for row in answers["verify"]] == [True, True, False]
    assert {row["id"] for row in answers["differences"]} == {77, 78}
    assert [row["plan"] for row in answers["explain"]][:2] == ["Result", "|  customer, n"]
    [kept], [replaced], [equal] = answers["kept"], answers["replaced"], answers["equal"]
    assert kept["view"] == replaced["view"] == "of_client"
    assert kept["query_id"] != replaced["query_id"]
    assert equal["is_equal"]
    assert equal["rows"] > 0
    assert answers["dropped"] == [{"view": "of_client"}]
    conditions = [condition for condition, _ in answers["refused"]]
    assert conditions == ["JOINLESS_VIEW.NO_QUERY", "JOINLESS_VIEW.NOT_A_VIEW", "JOINLESS_PROCEDURE.NOT_FOUND"]
    assert "Did you mean verify?" in answers["refused"][2][1]
    of_orders, of_verify = answers["in python"]
    assert of_orders[0] == "JOINLESS_VIEW.NOT_A_VIEW"
    assert of_verify[0] == "JOINLESS_VIEW.NO_QUERY"


def test_a_view_whose_checkpoint_cannot_be_read_does_not_hide_the_others(ten: Shop) -> None:
    before = {row["view"]: row for row in joinless.status().collect()}
    ten.session.sql("ALTER TABLE copy4 SET TBLPROPERTIES ('joinless.checkpoint' = 'nosuch://bucket/folder')")
    rows = {row["view"]: row for row in joinless.status().collect()}
    ten.session.sql("ALTER TABLE copy4 UNSET TBLPROPERTIES ('joinless.checkpoint')")
    assert set(rows) == VIEWS
    assert {name: row for name, row in rows.items() if name != "copy4"} | {"copy4": before["copy4"]} == before
    assert "nosuch" in rows["copy4"]["error"]
    assert rows["copy4"]["batch"] is None
    assert rows["copy4"]["query"] == before["copy4"]["query"]


def test_a_view_that_another_process_has_started(ten: Shop) -> None:
    jvm = ten.session._jvm
    assert jvm is not None
    jvm.io.joinless.spark.views.StartedQueries.forget(f"file:{ten.folder}/runs")
    assert of("runs")["state"] == "unknown"
    assert of("runs")["behind"] == {"orders": 0}
