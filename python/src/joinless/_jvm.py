"""The only access to the JVM: no other file uses py4j, and this one calls only
``io.joinless.spark.api.PythonApi``.

An obstacle (no jar, no extension) is raised as a named error, never as
``'JavaPackage' object is not callable``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from py4j.java_gateway import JavaClass
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from joinless._literals import literals
from joinless.errors import EXTENSION_CLASS, ExtensionNotInstalledError, named_errors

#: A view of the plugin that can be started.
WantedView: TypeAlias = Any


class Plan:
    """How a query would run; each part is computed when it is read."""

    def __init__(self, df: DataFrame, is_view: bool, lookups: Sequence[list[str]]) -> None:
        self._api, self._df, self._is_view, self._lookups = _api(df, "joinless.explain"), df, is_view, list(lookups)

    @property
    def text(self) -> str:
        """Join trees and reasons, as text for people."""
        return str(self._api.explainText(self._df._jdf, self._is_view))

    @property
    def mermaid(self) -> str:
        """Join trees as a Mermaid graph."""
        return str(self._api.explainMermaid(self._df._jdf))

    @property
    def json(self) -> str:
        """Join trees, steps and reasons."""
        return str(self._api.explainJson(self._df._jdf, self._is_view))

    @property
    def reasons(self) -> str:
        """Reasons of the join blocks left to Spark, as a JSON array."""
        return str(self._api.whyNotJson(self._df._jdf, self._is_view))

    @property
    def lookups(self) -> list[str]:
        """What the look-ups will cost."""
        return list(self._api.lookupTexts(self._df._jdf, self._lookups))


def plan(df: DataFrame, is_view: bool, lookups: Sequence[list[str]]) -> Plan:
    """How a query would run."""
    return Plan(df, is_view, lookups)


def changelog(df: DataFrame, change_type: str | None, weight: str | None) -> DataFrame:
    """Returns the relation whose changes are the rows of `df`."""
    return DataFrame(_api(df, "joinless.changelog").changelog(df._jdf, change_type, weight), df.sparkSession)


def debezium(
    df: DataFrame, schema: str, key: list[str], added: list[str], decimals: str | None, timestamps: str | None
) -> DataFrame:
    """Returns the table whose changes the records `df` are."""
    made = _api(df, "joinless.debezium").debezium(df._jdf, schema, key, added, decimals, timestamps)
    return DataFrame(made, df.sparkSession)


def upserts(df: DataFrame, key: list[str]) -> DataFrame:
    """Returns the changes `df` as records of keys."""
    return DataFrame(_api(df, "joinless.upserts").upserts(df._jdf, key), df.sparkSession)


def evolve(df: DataFrame, old: str, new: str, dry_run: bool) -> dict[str, Any]:
    """Lets the query that will have a checkpoint take over from that of another one, and says from
    what it begins.
    """
    api = _api(df, "joinless.evolve")
    found = dict(json.loads(api.evolution(df._jdf, old)))
    if not dry_run:
        api.evolve(df.sparkSession._jsparkSession, new, old)
    return found


def rows(df: DataFrame) -> DataFrame:
    """Returns `df`, marked so that each change counts as a row."""
    return DataFrame(_api(df, "joinless.rows").rows(df._jdf), df.sparkSession)


def expire(df: DataFrame, column: str, after: str) -> DataFrame:
    """Returns the rows of `df` that are not older than `after`."""
    return DataFrame(_api(df, "joinless.expire").expire(df._jdf, column, after), df.sparkSession)


def key(df: DataFrame, columns: list[str]) -> DataFrame:
    """Returns the rows of `df`, of which at most one has the same values in these columns."""
    return DataFrame(_api(df, "joinless.key").key(df._jdf, columns), df.sparkSession)


def table(session: SparkSession, name: str) -> DataFrame:
    """The Delta table of this name as it changes."""
    return DataFrame(_installed(session, "joinless.table").table(session._jsparkSession, name), session)


def sql(session: SparkSession, query: str, given: dict[str, DataFrame]) -> DataFrame:
    """The query over the Delta tables that it names, as they change."""
    return DataFrame(_python_api(session._jvm).sql(session._jsparkSession, query, _frames(given)), session)


def view_of_text(
    session: SparkSession, query: str, given: dict[str, DataFrame], key: list[str], trigger: str | None
) -> WantedView:
    """The view of the text of a query."""
    return _python_api(session._jvm).view(session._jsparkSession, query, _frames(given), key, trigger)


def view_of(df: DataFrame, what: str, key: list[str], trigger: str | None) -> WantedView:
    """The view of a query."""
    return _api(df, what).view(df._jdf, key, trigger)


def view_again(
    session: SparkSession, view: str, given: dict[str, DataFrame] | None, key: list[str], trigger: str | None
) -> WantedView:
    """The view that a table has, with its query of now."""
    frames = None if given is None else _frames(given)
    with named_errors():
        return _python_api(session._jvm).viewAgain(session._jsparkSession, view, frames, key, trigger)


def materialize(view: WantedView, into: str, checkpoint: str | None, name: str | None) -> StreamingQuery:
    """Starts a view."""
    with named_errors():
        return StreamingQuery(_running_api().materialize(view, into, checkpoint, name))


def replace(wanted: WantedView, view: str, cells: int | None, name: str | None) -> StreamingQuery:
    """Gives a view another query, or another number of cells."""
    with named_errors():
        return StreamingQuery(_running_api().replace(wanted, view, cells, name))


def replacement(wanted: WantedView, view: str, cells: int | None) -> dict[str, Any]:
    """From what the new query of a view would begin."""
    with named_errors():
        return dict(json.loads(_running_api().replacement(wanted, view, cells)))


def drop(session: SparkSession, view: str) -> None:
    """Stops a view and removes its table."""
    with named_errors():
        _python_api(session._jvm).drop(session._jsparkSession, view)


def changes_to(df: DataFrame, target: str, key: list[str] | None, app_id: str | None, shared: bool) -> Any:
    """Applies the changes of batches to a Delta table."""
    return _api(df, "joinless.apply_changes").changesTo(target, key, app_id, shared)


def check_functions(what: str, target: str) -> None:
    """Nothing: functions of ``foreachBatch`` run in this process."""


def apply_changes(target: Any, df: DataFrame, batch_id: int) -> None:
    """Applies the changes of one batch to what `changes_to` returned."""
    with named_errors():
        target.apply(df._jdf, batch_id)


def failure(query: StreamingQuery) -> str | None:
    """Why a query has stopped, in one line with its condition; None if it is no query of Spark."""
    if not hasattr(query, "_jsq"):
        return None
    found = _running_api().failure(query._jsq)
    return None if found is None else str(found)


def status(session: SparkSession, views: list[str] | None) -> DataFrame:
    """What views are doing, a row for each; all views of the current database by default."""
    api = _installed(session, "joinless.status")
    with named_errors():
        return DataFrame(api.status(session._jsparkSession, views), session)


def verify(session: SparkSession, view: str, query: str | None) -> dict[str, Any]:
    """The table of a view, compared with its query: figures and rows."""
    with named_errors():
        found = _python_api(session._jvm).verify(session._jsparkSession, view, query)
    figures = {name: getattr(found, name)() for name in ("version", "batch", "rows", "missing", "extra", "rounded")}
    return figures | {"differences": DataFrame(found.differences(), session)}


def advice(query: StreamingQuery) -> tuple[str, ...]:
    """Advice on a query, in whole sentences."""
    return tuple(_running_api().advice(query._jsq))


def default_session() -> SparkSession | None:
    """The session that Spark uses in threads without one of their own."""
    context = SparkContext._active_spark_context
    if context is None or context._jvm is None:
        return None
    found = context._jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession()
    return SparkSession(context, found.get()) if found.isDefined() else None


def deltas(df: DataFrame, form: str) -> DataFrame:
    """Returns the changes of the result of `df`."""
    return DataFrame(_api(df, "incrementalEnumerate").deltas(df._jdf, form), df.sparkSession)


def result_key(df: DataFrame) -> list[str]:
    """Columns by which all rows of the result of `df` differ; none if the
    query does not guarantee any.
    """
    return list(_api(df, "joinless.materialize").resultKey(df._jdf))


def full(df: DataFrame, checkpoint: str, batch_id: int | None, operator: int | None) -> DataFrame:
    """The complete result of the query `df` as of a committed batch."""
    return DataFrame(_api(df, "joinless.enumerate_full").full(df._jdf, checkpoint, batch_id, operator), df.sparkSession)


def count(df: DataFrame) -> int:
    """The exact number of rows."""
    return int(_api(df, "joinless.count").count(df._jdf))


def page(df: DataFrame, offset: int, size: int) -> DataFrame:
    """The rows of a complete result from number `offset` on."""
    return DataFrame(_api(df, "joinless.page").page(df._jdf, str(offset), size), df.sparkSession)


def is_streaming(df: DataFrame, what: str) -> bool:
    """Whether a DataFrame of a session with Joinless reads a stream."""
    _api(df, what)
    return bool(df.isStreaming)


def kept_sample(df: DataFrame, size: int, seed: int, by: list[str] | None) -> DataFrame:
    """A sample of the result of the streaming query `df`, or of each group of it, that is kept up to date."""
    return DataFrame(_api(df, "joinless.sample").keptSample(df._jdf, size, seed, by), df.sparkSession)


def sample(df: DataFrame, size: int, seed: int, replacement: bool) -> DataFrame:
    """A uniform sample of a complete result."""
    api = _api(df, "joinless.sample")
    return DataFrame(api.sample(df._jdf, size, seed, replacement), df.sparkSession)


def lookup(df: DataFrame, values: dict[str, Any]) -> DataFrame:
    """The rows of a complete result with these values of columns."""
    api = _api(df, "joinless.lookup")
    return DataFrame(api.lookup(df._jdf, list(values), _literals(df, values)), df.sparkSession)


def lookup_all(df: DataFrame, keys: DataFrame) -> DataFrame:
    """The rows of a complete result with the values of a row of `keys`."""
    return DataFrame(_api(df, "joinless.lookup").lookup(df._jdf, keys._jdf), df.sparkSession)


def weight_of(df: DataFrame, values: dict[str, Any]) -> int:
    """How often a complete result has a row."""
    return int(_api(df, "joinless.weight_of").weightOf(df._jdf, list(values), _literals(df, values)))


def _literals(df: DataFrame, values: dict[str, Any]) -> list[Any]:
    return [value._jc for value in literals(df, values)]


def full_of(df: DataFrame, query: StreamingQuery | str, batch_id: int | None, operator: int | None) -> DataFrame:
    """The complete result of the query `df`, which is running."""
    running = active_query(df.sparkSession, query) if isinstance(query, str) else query
    return full(df, str(_api(df, "joinless.enumerate_full").checkpoint(running._jsq)), batch_id, operator)


def active_query(session: SparkSession, name_or_id: str) -> StreamingQuery:
    """The running query of that name or id, of any session."""
    if not _is_loaded(session._jvm):
        raise ExtensionNotInstalledError("NO_JAR")
    return StreamingQuery(_python_api(session._jvm).query(name_or_id))


def errors_of_functions() -> list[BaseException]:
    """The errors that functions given to ``foreachBatch`` have raised: Spark passes on the text,
    and PySpark keeps the error.
    """
    gateway = SparkContext._gateway
    functions = list(gateway.gateway_property.pool.dict.values()) if gateway is not None else []
    return [function.error for function in functions if isinstance(getattr(function, "error", None), BaseException)]


def running_version(session: SparkSession) -> str:
    """The version of the plugin in the running session."""
    return str(_python_api(session._jvm).version())


def check_running_session(jar: Path) -> None:
    """Raises `ExtensionNotInstalledError` if a JVM already runs and a builder can no
    longer give it the extension.

    Under `spark-submit` and `pyspark` the JVM runs before Python does.
    """
    context = SparkContext._active_spark_context
    if context is not None and EXTENSION_CLASS not in _extensions(context):
        raise ExtensionNotInstalledError("OTHER_SESSION")
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if submitted:
        SparkContext._ensure_initialized()
    if SparkContext._jvm is not None and not _is_loaded(SparkContext._jvm):
        if submitted:
            raise ExtensionNotInstalledError("NO_JAR_SUBMITTED", jar=str(jar))
        raise ExtensionNotInstalledError("OTHER_JVM")


def is_started() -> bool:
    """Whether a JVM already runs: in this process or, under `spark-submit`, started before it."""
    return SparkContext._jvm is not None


def _frames(given: Mapping[str, DataFrame]) -> dict[str, Any]:
    return {name: df._jdf for name, df in given.items()}


def _running_api() -> Any:
    """The door of the JVM of this process."""
    return _python_api(SparkContext._jvm)


def _api(df: DataFrame, what: str) -> Any:
    return _installed(df.sparkSession, what)


def _installed(session: SparkSession, what: str) -> Any:
    if not _is_loaded(session._jvm):
        raise ExtensionNotInstalledError("NO_JAR")
    api = _python_api(session._jvm)
    if not api.isInstalled(session._jsparkSession):
        raise ExtensionNotInstalledError("NOT_SWITCHED_ON")
    return api


def _python_api(jvm: Any) -> Any:
    """The door of the plugin. It is looked up once: py4j searches all jars for each part of its name."""
    found = _DOORS.get(jvm)
    if found is None:
        found = jvm.io.joinless.spark.api.PythonApi
        if isinstance(found, JavaClass):
            _DOORS[jvm] = found
    return found


#: The door of each JVM that has the plugin.
_DOORS: WeakKeyDictionary[Any, JavaClass] = WeakKeyDictionary()


def _is_loaded(jvm: Any) -> bool:
    return isinstance(_python_api(jvm), JavaClass)


def _extensions(context: SparkContext) -> list[str]:
    return [name.strip() for name in context.getConf().get("spark.sql.extensions", "").split(",")]
