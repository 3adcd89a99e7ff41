"""The only access to the JVM: no other file uses py4j, and this one calls only
``io.joinless.spark.api.PythonApi``.

An obstacle (Connect, no jar, no extension) is raised as a named error, never as
``'JavaPackage' object is not callable``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from py4j.java_gateway import JavaClass
from pyspark import SparkContext
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from joinless._literals import literals
from joinless.errors import EXTENSION_CLASS, VIEW, ConnectUnsupportedError, ExtensionNotInstalledError, ViewError


def explain_text(df: DataFrame, is_view: bool) -> str:
    """Join trees and reasons of the plan, as text for people."""
    return str(_api(df, "joinless.explain").explainText(df._jdf, is_view))


def explain_mermaid(df: DataFrame) -> str:
    """Join trees as a Mermaid graph."""
    return str(_api(df, "joinless.explain").explainMermaid(df._jdf))


def explain_json(df: DataFrame, is_view: bool) -> str:
    """Join trees and reasons as JSON."""
    return str(_api(df, "joinless.explain").explainJson(df._jdf, is_view))


def lookup_texts(df: DataFrame, lookups: Sequence[list[str]]) -> list[str]:
    """What look-ups will cost, each by values of some columns."""
    return list(_api(df, "joinless.explain").lookupTexts(df._jdf, list(lookups)))


def why_not_json(df: DataFrame, is_view: bool) -> str:
    """Reasons of the join blocks left to Spark, as a JSON array."""
    return str(_api(df, "joinless.why_not").whyNotJson(df._jdf, is_view))


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


def evolution(df: DataFrame, checkpoint: str) -> dict[str, Any]:
    """From what a query would begin that takes over from the query of a checkpoint."""
    return dict(json.loads(_api(df, "joinless.evolve").evolution(df._jdf, checkpoint)))


def evolve(session: SparkSession, checkpoint: str, old: str) -> None:
    """Lets the query that will have a checkpoint take over from the query of another one."""
    _python_api(session._jvm).evolve(session._jsparkSession, checkpoint, old)


def has_batch(session: SparkSession, checkpoint: str) -> bool:
    """Whether a checkpoint has a committed batch."""
    return bool(_python_api(session._jvm).hasBatch(session._jsparkSession, checkpoint))


def rows(df: DataFrame) -> DataFrame:
    """Returns `df`, marked so that each change counts as a row."""
    return DataFrame(_api(df, "joinless.rows").rows(df._jdf), df.sparkSession)


def expire(df: DataFrame, column: str, after: str) -> DataFrame:
    """Returns the rows of `df` that are not older than `after`."""
    return DataFrame(_api(df, "joinless.expire").expire(df._jdf, column, after), df.sparkSession)


def table(session: SparkSession, name: str) -> DataFrame:
    """The Delta table of this name as it changes."""
    return DataFrame(_installed(session, "joinless.table").table(session._jsparkSession, name), session)


def sql(
    session: SparkSession, what: str, query: str, given: dict[str, DataFrame], database: str | None = None
) -> DataFrame:
    """The query over the Delta tables that it names, as they change; names without a database belong
    to this one, or to the current one.
    """
    api = _installed(session, what)
    frames = {name: df._jdf for name, df in given.items()}
    return DataFrame(api.sql(session._jsparkSession, query, frames, database), session)


def view(session: SparkSession, name: str) -> dict[str, Any]:
    """What the table of a view says of it."""
    with view_errors():
        return dict(json.loads(_python_api(session._jvm).view(session._jsparkSession, name)))


def view_properties(record: dict[str, Any]) -> dict[str, str]:
    """The properties of a table that name this view."""
    api = _running_api()
    return dict(api.viewProperties(record["query"], record["database"], record["given"], record["checkpoint"]))


def view_of(properties: Mapping[str, str]) -> dict[str, Any] | None:
    """The view that these properties of a table name; None if they name none."""
    found = _running_api().viewOf(dict(properties))
    return None if found is None else dict(json.loads(found))


def view_folder(checkpoint: str | None, location: str) -> str:
    """The folder of the checkpoint of a view whose table is at this location."""
    return str(_running_api().viewFolder(checkpoint, location))


def started(session: SparkSession, location: str, query: StreamingQuery) -> None:
    """Notes the query that keeps the table in this folder."""
    _python_api(session._jvm).started(location, query._jsq)


def check_not_running(session: SparkSession, view: str, location: str) -> None:
    """Raises a `ViewError` if a query of this process keeps the table in this folder."""
    with view_errors():
        _python_api(session._jvm).checkNotRunning(view, location)


def failure(query: StreamingQuery) -> str | None:
    """Why a query has stopped, in one line with its condition; None on Spark Connect."""
    if not hasattr(query, "_jsq"):
        return None
    found = _running_api().failure(query._jsq)
    return None if found is None else str(found)


def is_of_tables(error: PySparkException) -> bool:
    """Whether an error says that changes of a table cannot be read."""
    return bool(_running_api().isOfTables(str(error)))


def status(session: SparkSession, views: list[str] | None) -> DataFrame:
    """What views are doing, a row for each; all views of the current database by default."""
    api = _installed(session, "joinless.status")
    with view_errors():
        return DataFrame(api.status(session._jsparkSession, views), session)


def verify(session: SparkSession, view: str, query: str | None) -> dict[str, Any]:
    """The table of a view, compared with its query: figures and rows."""
    with view_errors():
        found = _python_api(session._jvm).verify(session._jsparkSession, view, query)
    figures = {name: getattr(found, name)() for name in ("version", "batch", "rows", "missing", "extra", "rounded")}
    return figures | {"differences": DataFrame(found.differences(), session)}


def advice(query: StreamingQuery) -> tuple[str, ...]:
    """Advice on a query, in whole sentences; none on Spark Connect, whose queries are elsewhere."""
    return tuple(_running_api().advice(query._jsq)) if hasattr(query, "_jsq") else ()


def delta_detail(session: SparkSession, table: str) -> dict[str, Any] | None:
    """What the log of a Delta table says; None if it cannot be read from here."""
    jvm = getattr(session, "_jvm", None)
    if jvm is None or not _is_loaded(jvm):
        return None
    found = _python_api(jvm).deltaDetail(session._jsparkSession, table)
    return None if found is None else dict(json.loads(found))


def database(session: SparkSession) -> str:
    """The current database, in SQL's spelling."""
    return str(_python_api(session._jvm).database(session._jsparkSession))


def places(df: DataFrame) -> list[str]:
    """The names or the paths of the tables that a streaming query reads."""
    return list(_api(df, "joinless.materialize").places(df._jdf))


def keep_folders(session: SparkSession, table: str, kept: list[str]) -> None:
    """Removes the folders that views keep in the folder of a table, but these."""
    _python_api(session._jvm).keepFolders(session._jsparkSession, table, kept)


def query_of(session: SparkSession, checkpoint: str) -> str:
    """The id of the query of a checkpoint with a committed batch."""
    return str(_python_api(session._jvm).queryOf(session._jsparkSession, checkpoint))


def default_session() -> SparkSession | None:
    """The session that Spark uses in threads without one of their own."""
    context = SparkContext._active_spark_context
    if context is None or context._jvm is None:
        return None
    found = context._jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession()
    return SparkSession(context, found.get()) if found.isDefined() else None


def is_remote(session: SparkSession) -> bool:
    """Whether a session is Spark Connect's."""
    return not hasattr(session, "_jvm")


def check_installed(session: SparkSession, what: str, in_sql: str | None = None) -> None:
    """Raises if the session is none with Joinless. On Spark Connect the error names a statement."""
    if in_sql is not None and is_remote(session):
        raise ConnectUnsupportedError(what, in_sql)
    _installed(session, what)


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


def checkpoint_of(df: DataFrame, query: StreamingQuery) -> str:
    """The checkpoint folder of a running query of the session of `df`."""
    if not hasattr(query, "_jsq"):
        raise ConnectUnsupportedError("joinless.enumerate_full")
    return str(_api(df, "joinless.enumerate_full").checkpoint(query._jsq))


def active_query(name_or_id: str) -> StreamingQuery:
    """The running query of that name or id, of any session."""
    session = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    if session is None or not _is_loaded(session._jvm):
        raise ExtensionNotInstalledError("NO_JAR")
    return StreamingQuery(_python_api(session._jvm).query(name_or_id))


def planned_at(session: SparkSession, query_id: str, batch_id: int) -> int | None:
    """The time when the running query of that id planned a batch, in milliseconds since 1970; it is
    the same when the batch runs again. None if there is no such query, or no jar.
    """
    if not _is_loaded(session._jvm):
        return None
    planned = _python_api(session._jvm).plannedAt(query_id, batch_id)
    return None if planned is None else int(planned)


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


@contextmanager
def view_errors() -> Iterator[None]:
    """Errors of the plugin about the view that is named are raised as `ViewError`."""
    try:
        yield
    except AnalysisException as error:
        if (error.getCondition() or "") in VIEW:
            raise ViewError(error) from None
        raise


def _running_api() -> Any:
    """The door of the JVM of this process."""
    return _python_api(SparkContext._jvm)


def _api(df: DataFrame, what: str) -> Any:
    if not hasattr(df, "sparkSession"):
        raise TypeError(f"{what} takes a DataFrame, and got {df!r}")
    if not hasattr(df, "_jdf"):
        raise ConnectUnsupportedError(what)
    return _installed(df.sparkSession, what)


def _installed(session: SparkSession, what: str) -> Any:
    if not hasattr(session, "_jvm"):
        raise ConnectUnsupportedError(what)
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
