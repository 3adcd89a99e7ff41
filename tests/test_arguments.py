"""Invalid arguments are reported at the call: another type, a typing error,
a query that does not run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import joinless
from joinless import _jvm
from joinless.changes import incrementalEnumerate as enumerate_changes

WRONG_TEXT: list[Any] = [5, b"a", ["a"], object()]
BLANK: list[Any] = ["", "  "]


class Frame:
    """Stands for a DataFrame: any use of it before its arguments are checked fails the test."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was asked for")


FRAME: Any = Frame()


#: Relations by name that are none, and names that are none.
NO_TABLES: list[Any] = [5, "orders", [FRAME], {"orders"}, {5: FRAME}, {"orders": "orders"}, {"orders": None}]
NO_NAMES: list[Any] = [{"": FRAME}, {"shop.orders": FRAME}, {"`orders`": FRAME}]


class Batch:
    """Stands for the batch that foreachBatch passes."""

    isStreaming = False
    sparkSession = None


BATCH: Any = Batch()

#: Public function and argument: how it is called with a value, values of
#: another type, invalid values.
ARGUMENTS: dict[str, tuple[Callable[[Any], Any], list[Any], list[Any]]] = {
    "configure builder": (lambda v: joinless.configure(v), [None, 5, SparkSession], []),
    "explain query": (lambda v: joinless.explain(v), [None, 5], BLANK),
    "explain tables": (lambda v: joinless.explain("SELECT 1", tables=v), NO_TABLES, NO_NAMES),
    "explain lookups": (
        lambda v: joinless.explain(FRAME, lookups=v),
        [5, "src", [5], [["src", 5]], {"src"}, [None]],
        [[[]], [""], [["src", " "]]],
    ),
    "why_not query": (lambda v: joinless.why_not(v), [None, 5], BLANK),
    "why_not tables": (lambda v: joinless.why_not("SELECT 1", v), NO_TABLES, NO_NAMES),
    "changelog df": (lambda v: joinless.changelog(v), [None, 5, "SELECT 1"], []),
    "changelog change_type": (lambda v: joinless.changelog(FRAME, v), WRONG_TEXT, BLANK),
    "changelog weight": (lambda v: joinless.changelog(FRAME, weight=v), WRONG_TEXT, BLANK),
    "rows df": (lambda v: joinless.rows(v), [None, 5, "SELECT 1"], []),
    "expire df": (lambda v: joinless.expire(v, "ts", "1 hour"), [None, 5, "SELECT 1"], []),
    "expire column": (lambda v: joinless.expire(FRAME, v, "1 hour"), [None, *WRONG_TEXT], BLANK),
    "expire after": (lambda v: joinless.expire(FRAME, "ts", v), [None, *WRONG_TEXT], BLANK),
    "key df": (lambda v: joinless.key(v, "k"), [None, 5, "SELECT 1"], []),
    "key columns": (lambda v: joinless.key(FRAME, v), [None, 5, b"k", ["k", 5], {"k"}], [[], "", ["k", " "]]),
    "latest df": (lambda v: joinless.latest(v, "k", "at"), [None, 5, "SELECT 1"], []),
    "latest key": (lambda v: joinless.latest(FRAME, v, "at"), [None, 5, b"k", ["k", 5], {"k"}], [[], "", ["k", " "]]),
    "latest order": (lambda v: joinless.latest(FRAME, "k", v), [None, 5, b"k", ["k", 5], {"k"}], [[], "", ["k", " "]]),
    "debezium df": (lambda v: joinless.debezium(v, "id INT"), [None, 5, "SELECT 1"], []),
    "debezium schema": (lambda v: joinless.debezium(FRAME, v), [None, *WRONG_TEXT], BLANK),
    "debezium key": (lambda v: joinless.debezium(FRAME, "id INT", v), [5, b"k", ["k", 5]], [[], "", ["k", " "]]),
    "debezium added": (
        lambda v: joinless.debezium(FRAME, "id INT", added=v),
        [5, b"k", ["k", 5]],
        [[], "", ["k", " "]],
    ),
    "debezium decimals": (lambda v: joinless.debezium(FRAME, "id INT", decimals=v), WRONG_TEXT, [*BLANK, "bytes"]),
    "debezium timestamps": (lambda v: joinless.debezium(FRAME, "id INT", timestamps=v), WRONG_TEXT, [*BLANK, "ms"]),
    "upserts deltas": (lambda v: joinless.upserts(v, "id"), [None, 5, "SELECT 1"], []),
    "upserts key": (lambda v: joinless.upserts(FRAME, v), [None, 5, b"k", ["k", 5], {"k"}], [[], "", ["k", " "]]),
    "enumerate_deltas df": (lambda v: joinless.enumerate_deltas(v), [None, 5, "SELECT 1"], []),
    "enumerate_deltas output": (lambda v: joinless.enumerate_deltas(FRAME, v), [None, *WRONG_TEXT], BLANK),
    "enumerate_deltas emit": (
        lambda v: joinless.enumerate_deltas(FRAME, emit=v),
        [None, *WRONG_TEXT],
        [*BLANK, "final"],
    ),
    "enumerate_full df": (lambda v: joinless.enumerate_full(v, "cp"), [None, 5, "SELECT 1"], []),
    "enumerate_full checkpoint": (lambda v: joinless.enumerate_full(FRAME, v), WRONG_TEXT, [None, *BLANK]),
    "enumerate_full query": (lambda v: joinless.enumerate_full(FRAME, query=v), [5, b"q", StreamingQuery], BLANK),
    "enumerate_full batch_id": (
        lambda v: joinless.enumerate_full(FRAME, "cp", batch_id=v),
        ["1", 1.5, True],
        [-1, 2**63],
    ),
    "enumerate_full operator": (
        lambda v: joinless.enumerate_full(FRAME, "cp", operator=v),
        ["1", 1.5, True],
        [-1, 2**63],
    ),
    "count result": (lambda v: joinless.count(v), [None, 5], BLANK),
    "page result": (lambda v: joinless.page(v, 0, 10), [None, 5, "SELECT 1"], []),
    "page offset": (lambda v: joinless.page(FRAME, v, 10), [None, "1", 1.5, True], [-1, 2**63]),
    "page size": (lambda v: joinless.page(FRAME, 0, v), [None, "1", 1.5, True], [-1, 2**63]),
    "sample result": (lambda v: joinless.sample(v, 10, 7), [None, 5, "SELECT 1"], []),
    "sample size": (lambda v: joinless.sample(FRAME, v, 7), [None, "1", 1.5, True], [-1, 2**63]),
    "sample seed": (lambda v: joinless.sample(FRAME, 10, v), ["1", 1.5, True], [2**63, -(2**63) - 1]),
    "sample by": (lambda v: joinless.sample(FRAME, 10, 7, by=v), [5, b"k", ["k", 5], {"k"}], ["", ["k", " "]]),
    "sample replacement": (lambda v: joinless.sample(FRAME, 10, 7, v), [None, 1, "yes"], []),
    "estimate sample": (lambda v: joinless.estimate(v, 9), [None, 5, "SELECT 1", DataFrame], []),
    "estimate results": (lambda v: joinless.estimate(FRAME, v), [None, "1", 1.5, True], [-1, 2**127]),
    "estimate sum": (lambda v: joinless.estimate(FRAME, 9, sum=v), [5, b"x", ["x", 5], {"x"}], [[], "", ["x", " "]]),
    "estimate avg": (lambda v: joinless.estimate(FRAME, 9, avg=v), [5, b"x", ["x", 5], {"x"}], [[], "", ["x", " "]]),
    "estimate count_if": (
        lambda v: joinless.estimate(FRAME, 9, count_if=v),
        [5, b"x", ["x", 5], {"x"}],
        [[], "", ["x", " "]],
    ),
    "estimate where": (lambda v: joinless.estimate(FRAME, 9, where=v), WRONG_TEXT, BLANK),
    "estimate by": (
        lambda v: joinless.estimate(FRAME, 9, by=v),
        [5, b"x", ["x", 5], {"x"}],
        [[], "", ["x", " "], "value", ["low"]],
    ),
    "estimate confidence": (lambda v: joinless.estimate(FRAME, 9, confidence=v), [None, "95 %", True], [0, 1, 95]),
    "lookup result": (lambda v: joinless.lookup(v, {"src": 1}), [None, 5], BLANK),
    "lookup key": (lambda v: joinless.lookup(FRAME, v), [None, 5, "src", ["src"], {5: 1}, {"src": [1]}], []),
    "weight_of result": (lambda v: joinless.weight_of(v, {"src": 1}), [None, 5], BLANK),
    "weight_of row": (lambda v: joinless.weight_of(FRAME, v), [None, 5, "src", FRAME, {"src": {1}}], []),
    "apply_changes target": (lambda v: joinless.apply_changes(v), [None, *WRONG_TEXT], BLANK),
    "apply_changes key": (lambda v: joinless.apply_changes("t", v), [5, b"k", ["k", 5], {"k"}], [[], "", ["k", " "]]),
    "apply_changes app_id": (lambda v: joinless.apply_changes("t", app_id=v), WRONG_TEXT, BLANK),
    "apply_changes shared": (lambda v: joinless.apply_changes("t", shared=v), [None, 1, "yes"], []),
    "apply_changes df": (lambda v: joinless.apply_changes("t")(v, 1), [None, 5, "SELECT 1", DataFrame], []),
    "apply_changes batch_id": (lambda v: joinless.apply_changes("t")(BATCH, v), ["1", 1.5, True], [-1, 2**63]),
    "materialize query": (lambda v: joinless.materialize(v, "t", "cp"), [None, 5, ["SELECT 1"]], BLANK),
    "materialize into": (lambda v: joinless.materialize(FRAME, v, "cp"), [None, *WRONG_TEXT], BLANK),
    "materialize checkpoint": (lambda v: joinless.materialize(FRAME, "t", v), WRONG_TEXT, BLANK),
    "materialize key": (
        lambda v: joinless.materialize(FRAME, "t", "cp", v),
        [5, b"k", ["k", 5], {"k"}],
        [[], "", ["k", " "]],
    ),
    "materialize name": (lambda v: joinless.materialize(FRAME, "t", "cp", name=v), WRONG_TEXT, BLANK),
    "materialize trigger": (
        lambda v: joinless.materialize(FRAME, "t", "cp", trigger=v),
        [*WRONG_TEXT, 1.5, True],
        BLANK,
    ),
    "materialize tables": (lambda v: joinless.materialize("SELECT 1", "t", tables=v), NO_TABLES, NO_NAMES),
    "sql query": (lambda v: joinless.sql(v), [None, *WRONG_TEXT, FRAME], BLANK),
    "sql tables": (lambda v: joinless.sql("SELECT 1", v), NO_TABLES, NO_NAMES),
    "table name": (lambda v: joinless.table(v), [None, *WRONG_TEXT, FRAME], BLANK),
    "replace view": (lambda v: joinless.replace(v, FRAME), [None, *WRONG_TEXT, FRAME], BLANK),
    "replace query": (lambda v: joinless.replace("t", v), [5, ["SELECT 1"]], BLANK),
    "replace key": (lambda v: joinless.replace("t", FRAME, v), [5, b"k", ["k", 5], {"k"}], [[], "", ["k", " "]]),
    "replace trigger": (lambda v: joinless.replace("t", FRAME, trigger=v), [*WRONG_TEXT, 1.5, True], BLANK),
    "replace name": (lambda v: joinless.replace("t", FRAME, name=v), WRONG_TEXT, BLANK),
    "replace cells": (lambda v: joinless.replace("t", FRAME, cells=v), ["2", 1.5, True], [0, -1, 2**31]),
    "replace tables": (lambda v: joinless.replace("t", "SELECT 1", tables=v), NO_TABLES, NO_NAMES),
    "replace dry_run": (lambda v: joinless.replace("t", FRAME, dry_run=v), [None, 1, "yes"], []),
    "evolve old_checkpoint": (lambda v: joinless.evolve(v, FRAME, "cp"), [None, *WRONG_TEXT], BLANK),
    "evolve query": (lambda v: joinless.evolve("old", v, "cp"), [None, 5, ["SELECT 1"]], BLANK),
    "evolve new_checkpoint": (lambda v: joinless.evolve("old", FRAME, v), [None, *WRONG_TEXT], BLANK),
    "evolve tables": (lambda v: joinless.evolve("old", "SELECT 1", "cp", v), NO_TABLES, NO_NAMES),
    "evolve dry_run": (lambda v: joinless.evolve("old", FRAME, "cp", dry_run=v), [None, 1, "yes"], []),
    "status views": (lambda v: joinless.status(v), [5, b"k", ["k", 5], {"k"}], [[], "", ["k", " "]]),
    "drop view": (lambda v: joinless.drop(v), [None, *WRONG_TEXT, FRAME], BLANK),
    "verify view": (lambda v: joinless.verify(v), [None, *WRONG_TEXT, FRAME], BLANK),
    "verify query": (lambda v: joinless.verify("t", v), [*WRONG_TEXT, FRAME], BLANK),
    "progress query": (lambda v: joinless.progress(v), [None, 5, FRAME.__class__, StreamingQuery], BLANK),
    "error query": (lambda v: joinless.error(v), [None, 5, StreamingQuery], BLANK),
    "incrementalEnumerate mode": (lambda v: enumerate_changes(FRAME, v), [], [None, 5, "all"]),
    "incrementalEnumerate emit": (
        lambda v: enumerate_changes(FRAME, "full", emit=v, query="q"),  # type: ignore[call-overload]
        [],
        ["on_close"],
    ),
    "incrementalEnumerate output": (lambda v: enumerate_changes(FRAME, output=v, emit="on_close"), [], ["weight"]),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_of_another_kind_are_named(name: str) -> None:
    call, wrong, senseless = ARGUMENTS[name]
    function, argument = name.split()
    for kind, values in ((TypeError, wrong), (ValueError, senseless)):
        for value in values:
            with pytest.raises(kind) as refused:
                call(value)
            message = str(refused.value)
            assert argument in message or "DataFrame" in message or function in message, message
            assert repr(value) in message or value is None, message


class Ended:
    """A query that has ended with an error, as classic Spark or Spark Connect show it."""

    lastProgress = None

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def exception(self) -> BaseException:
        """The error that stopped it."""
        return self.error


def caused(error: BaseException, cause: BaseException | None, how: str) -> BaseException:
    setattr(error, how, cause)
    return error


NOT_EMPTY = joinless.ApplyChangesError(
    PySparkException("The target t is full.", errorClass="JOINLESS_APPLY_CHANGES.TARGET_NOT_EMPTY")
)
ERROR_TEXT = "joinless.errors.ApplyChangesError: [JOINLESS_APPLY_CHANGES.TARGET_NOT_EMPTY] The target t is full."

#: Errors that contain one of ours, by where it is.
WRAPPED: dict[str, BaseException] = {
    "itself": NOT_EMPTY,
    "cause of Spark's": caused(PySparkException("[STREAM_FAILED] failed"), NOT_EMPTY, "_cause"),
    "cause of Python's": caused(RuntimeError("no"), NOT_EMPTY, "__cause__"),
    "context of a cause": caused(PySparkException("no"), caused(ValueError(), NOT_EMPTY, "__context__"), "_cause"),
    "text": PySparkException(f"[STREAM_FAILED] failed\n\nJVM stacktrace:\nCaused by: {ERROR_TEXT}\n  at x.y"),
    "text above other causes": caused(
        PySparkException(f"failed: {ERROR_TEXT}\n at x"), OSError("broken pipe"), "_cause"
    ),
    "text of a trace in a text": PySparkException(f"Return Message: 'Traceback:\\n{ERROR_TEXT}\\n  File x'"),
    "a circle": caused(PySparkException(ERROR_TEXT), caused(OSError(), None, "_cause"), "_cause"),
}
WRAPPED["a circle"]._cause._cause = WRAPPED["a circle"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("where", WRAPPED)
def test_our_error_is_found_wherever_it_stands(where: str) -> None:
    found = joinless.error(cast("StreamingQuery", Ended(WRAPPED[where])))
    assert found is not None
    assert found.getCondition() == "JOINLESS_APPLY_CHANGES.TARGET_NOT_EMPTY"
    assert (found.getMessage() or str(found)).rstrip(".").endswith("full")
    other = joinless.error(cast("StreamingQuery", Ended(PySparkException("[OTHER] JOINLESS"))))
    assert other is not None
    assert other.getCondition() == "OTHER"


def test_without_an_error_of_ours_it_is_that_of_spark_below_its_wrappers(monkeypatch: pytest.MonkeyPatch) -> None:
    def named(condition: str) -> PySparkException:
        return PySparkException(f"{condition} failed.", errorClass=condition, messageParameters={})

    inner = named("DIVIDE_BY_ZERO")
    below = caused(named("FOREACH_BATCH_USER_FUNCTION_ERROR"), caused(OSError("lost"), inner, "_cause"), "_cause")
    for error, found in (
        (caused(named("STREAM_FAILED"), below, "_cause"), inner),
        (caused(named("STREAM_FAILED"), caused(inner, named("OTHER"), "_cause"), "_cause"), inner),
        (caused(named("STREAM_FAILED"), ValueError("of a function"), "_cause"), None),
    ):
        assert joinless.error(cast("StreamingQuery", Ended(error))) is found
    monkeypatch.setattr(_jvm, "errors_of_functions", lambda: [named("OF_ANOTHER_QUERY"), inner])
    wrapped = PySparkException(f"Return Message: Traceback: PySparkException: {inner}\n at x")
    assert joinless.error(cast("StreamingQuery", Ended(wrapped))) is inner
    wrapped = PySparkException(
        "[STREAM_FAILED] Query q terminated with exception: [DELTA_GONE] It is gone. SQLSTATE: 1\n"
    )
    of_delta = joinless.error(cast("StreamingQuery", Ended(wrapped)))
    assert of_delta is not None
    assert of_delta.getCondition() == "DELTA_GONE"
    assert "It is gone." in str(of_delta)
    assert of_delta.getSqlState() is None


def test_every_argument_of_every_public_function_is_in_the_table() -> None:
    import inspect

    functions = [getattr(joinless, name) for name in joinless.__all__]
    public = {
        f"{function.__name__} {argument}"
        for function in functions
        if inspect.isfunction(function)
        for argument in inspect.signature(function).parameters
    }
    assert public <= set(ARGUMENTS)


@pytest.fixture
def session(spark: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    """A session with streams of changes `follows` and of plain rows `edges`."""
    session = spark.newSession()
    for name in ("edges", "changes"):
        (tmp_path / name).mkdir()
    (tmp_path / "edges" / "1.csv").write_text("1,2\n2,3\n")
    (tmp_path / "changes" / "1.csv").write_text("insert,1,2,1\ninsert,2,3,1\n")
    edges = session.readStream.schema("src INT, dst INT").csv(str(tmp_path / "edges"))
    edges.createOrReplaceTempView("edges")
    changes = session.readStream.schema("_change_type STRING, src INT, dst INT, n INT").csv(str(tmp_path / "changes"))
    changes.createOrReplaceTempView("changes")
    joinless.changelog(changes.drop("n")).createOrReplaceTempView("follows")
    yield session
    for query in session.streams.active:
        query.stop()


def paths(session: SparkSession) -> DataFrame:
    return session.sql("SELECT a.src, b.dst FROM follows a JOIN follows b ON a.dst = b.src")


def start(df: DataFrame, folder: Path, name: str) -> StreamingQuery:
    writer = df.writeStream.format("memory").queryName(name).option("checkpointLocation", str(folder / name))
    return writer.start()


def condition(call: Callable[[], Any]) -> tuple[str, str]:
    with pytest.raises(AnalysisException) as refused:
        call()
    return str(refused.value.getCondition()), str(refused.value)


def test_change_type_and_weight_exclude_each_other(session: SparkSession) -> None:
    changes = session.table("changes")
    refused, text = condition(lambda: joinless.changelog(changes, "_change_type", "n"))
    assert refused == "JOINLESS_CHANGE_COLUMN.TWO_GIVEN"
    assert "change_type= or weight=" in text
    assert joinless.changelog(changes, weight="n").columns == ["_change_type", "src", "dst"]


def test_a_query_may_be_given_by_name_or_id(session: SparkSession, spark: SparkSession, tmp_path: Path) -> None:
    query = start(joinless.enumerate_deltas(paths(session)), tmp_path, "found_by_name")
    query.processAllAvailable()
    for given in (query, "found_by_name", str(query.id)):
        assert paths(session).incrementalEnumerate("full", query=given).collect() == [(1, 3)]  # type: ignore[operator]
        assert joinless.enumerate_full(paths(session), query=given).count() == 1
        report = joinless.progress(given)
        assert report is not None
        assert report.stored_rows > 0
        assert joinless.error(given) is None
    assert joinless.enumerate_full(paths(session), tmp_path / "found_by_name").count() == 1
    other = start(spark.newSession().readStream.format("rate").load(), tmp_path / "other", "found_by_name")
    refused, text = condition(lambda: joinless.progress("found_by_name"))
    assert refused == "JOINLESS_QUERY_NOT_FOUND.AMBIGUOUS"
    assert str(query.id) in text
    assert str(other.id) in text
    other.stop()
    for call in (
        lambda: joinless.enumerate_full(paths(session), query="nobody"),
        lambda: joinless.progress("nobody"),
        lambda: joinless.error("nobody"),
    ):
        refused, text = condition(call)
        assert refused == "JOINLESS_QUERY_NOT_FOUND.NOT_ACTIVE"
        assert "found_by_name" in text
    query.stop()


def test_confs_that_do_not_exist_are_refused_when_a_query_starts(session: SparkSession, tmp_path: Path) -> None:
    session.conf.set("spark.jointless.minRelations", "2")
    session.conf.set("spark.joinless.minrelation", "2")
    for call in (
        lambda: start(session.table("edges"), tmp_path, "slip"),
        lambda: joinless.why_not(paths(session).incrementalEnumerate()),  # type: ignore[operator]
    ):
        refused, text = condition(call)
        assert refused == "JOINLESS_UNKNOWN_CONF"
        assert "spark.joinless.minrelation in" in text
        assert "Did you mean spark.joinless.minRelations?" in text
    session.conf.set("spark.joinless.enabled", "false")
    start(session.table("edges"), tmp_path, "plain").stop()


def test_options_that_do_not_exist_are_refused(session: SparkSession, tmp_path: Path) -> None:
    query = start(joinless.enumerate_deltas(paths(session)), tmp_path, "options")
    query.processAllAvailable()
    query.stop()
    reader = session.read.format("joinless")
    assert reader.option("CHECKPOINTLOCATION", str(tmp_path / "options")).option("batchid", "0").load().count() == 1
    refused, text = condition(lambda: reader.option("batchIDs", "0").load())
    assert refused == "JOINLESS_INVALID_OPTION"
    assert "there is no such option. Did you mean batchId? Known are checkpointLocation, " in text


def test_an_error_inside_foreach_batch_has_its_parameters(session: SparkSession, tmp_path: Path) -> None:
    def in_the_batch(df: DataFrame, batch_id: int) -> None:
        df.collect()

    def of_a_call(df: DataFrame, batch_id: int) -> None:
        joinless.apply_changes("no_such_table")(df, batch_id)

    def wrapped(df: DataFrame, batch_id: int) -> None:
        try:
            of_a_call(df, batch_id)
        except joinless.ApplyChangesError as error:
            raise RuntimeError(f"could not write: {error}") from error

    def hidden(df: DataFrame, batch_id: int) -> None:
        try:
            of_a_call(df, batch_id)
        except joinless.ApplyChangesError:
            raise RuntimeError("could not write") from None

    (tmp_path / "changes" / "2.csv").write_text("delete,7,8,1\n")
    expected = {
        in_the_batch: ("JOINLESS_DELETE_OF_ABSENT_ROW", {"relation": "a", "row": "src=7, dst=8"}),
        of_a_call: ("JOINLESS_APPLY_CHANGES.TARGET_NOT_FOUND", {"target": "no_such_table"}),
        wrapped: ("JOINLESS_APPLY_CHANGES.TARGET_NOT_FOUND", {"target": "no_such_table"}),
        hidden: ("JOINLESS_APPLY_CHANGES.TARGET_NOT_FOUND", {"target": "no_such_table"}),
    }
    for function, (name, parameters) in expected.items():
        writer = joinless.enumerate_deltas(paths(session)).writeStream.foreachBatch(function)
        query = writer.option("checkpointLocation", str(tmp_path / function.__name__)).start()
        with pytest.raises(PySparkException, match=r"JOINLESS_|could not write"):
            query.awaitTermination()
        error = joinless.error(query)
        assert error is not None
        assert error.getCondition() == name
        assert parameters.items() <= (error.getMessageParameters() or {}).items()
        assert error.getSqlState()
