"""Which way a call takes: into the JVM of this process (`_jvm`), or to the server of a Spark Connect
session (`_remote`). Both modules have the functions of `Door`. A process that has no JVM of its own
never imports `_jvm`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.util import is_remote_only

from joinless.errors import ConnectUnsupportedError

#: A view that can be started, as its door describes it.
WantedView: TypeAlias = Any


class Door(Protocol):
    """The plugin, as the package calls it."""

    def plan(self, df: DataFrame, is_view: bool, lookups: Sequence[list[str]]) -> Plan: ...
    def changelog(self, df: DataFrame, change_type: str | None, weight: str | None) -> DataFrame: ...
    def debezium(
        self,
        df: DataFrame,
        schema: str,
        key: list[str],
        added: list[str],
        decimals: str | None,
        timestamps: str | None,
    ) -> DataFrame: ...
    def upserts(self, df: DataFrame, key: list[str]) -> DataFrame: ...
    def evolve(self, df: DataFrame, old: str, new: str, dry_run: bool) -> dict[str, Any]: ...
    def rows(self, df: DataFrame) -> DataFrame: ...
    def expire(self, df: DataFrame, column: str, after: str) -> DataFrame: ...
    def key(self, df: DataFrame, columns: list[str]) -> DataFrame: ...
    def table(self, session: SparkSession, name: str) -> DataFrame: ...
    def sql(self, session: SparkSession, query: str, given: dict[str, DataFrame]) -> DataFrame: ...
    def view_of_text(
        self, session: SparkSession, query: str, given: dict[str, DataFrame], key: list[str], trigger: str | None
    ) -> WantedView: ...
    def view_of(self, df: DataFrame, what: str, key: list[str], trigger: str | None) -> WantedView: ...
    def view_again(
        self, session: SparkSession, view: str, given: dict[str, DataFrame] | None, key: list[str], trigger: str | None
    ) -> WantedView: ...
    def materialize(self, view: WantedView, into: str, checkpoint: str | None, name: str | None) -> StreamingQuery: ...
    def replace(self, wanted: WantedView, view: str, cells: int | None, name: str | None) -> StreamingQuery: ...
    def replacement(self, wanted: WantedView, view: str, cells: int | None) -> dict[str, Any]: ...
    def drop(self, session: SparkSession, view: str) -> None: ...
    def status(self, session: SparkSession, views: list[str] | None) -> DataFrame: ...
    def verify(self, session: SparkSession, view: str, query: str | None) -> dict[str, Any]: ...
    def changes_to(
        self, df: DataFrame, target: str, key: list[str] | None, app_id: str | None, shared: bool
    ) -> Any: ...
    def check_functions(self, what: str, target: str) -> None: ...
    def apply_changes(self, target: Any, df: DataFrame, batch_id: int) -> None: ...
    def deltas(self, df: DataFrame, form: str) -> DataFrame: ...
    def full(self, df: DataFrame, checkpoint: str, batch_id: int | None, operator: int | None) -> DataFrame: ...
    def full_of(
        self, df: DataFrame, query: StreamingQuery | str, batch_id: int | None, operator: int | None
    ) -> DataFrame: ...
    def count(self, df: DataFrame) -> int: ...
    def page(self, df: DataFrame, offset: int, size: int) -> DataFrame: ...
    def is_streaming(self, df: DataFrame, what: str) -> bool: ...
    def kept_sample(self, df: DataFrame, size: int, seed: int, by: list[str] | None) -> DataFrame: ...
    def sample(self, df: DataFrame, size: int, seed: int, replacement: bool) -> DataFrame: ...
    def lookup(self, df: DataFrame, values: dict[str, Any]) -> DataFrame: ...
    def lookup_all(self, df: DataFrame, keys: DataFrame) -> DataFrame: ...
    def weight_of(self, df: DataFrame, values: dict[str, Any]) -> int: ...
    def active_query(self, session: SparkSession, name_or_id: str) -> StreamingQuery: ...
    def failure(self, query: StreamingQuery) -> str | None: ...
    def advice(self, query: StreamingQuery) -> tuple[str, ...]: ...
    def errors_of_functions(self) -> list[BaseException]: ...


class Plan(Protocol):
    """How a query would run."""

    @property
    def text(self) -> str: ...
    @property
    def mermaid(self) -> str: ...
    @property
    def json(self) -> str: ...
    @property
    def reasons(self) -> str: ...
    @property
    def lookups(self) -> Sequence[str]: ...


def of(df: DataFrame, what: str) -> Door:
    """The door of the session of a DataFrame, for a function that is named in errors."""
    if isinstance(df, type) or not hasattr(df, "sparkSession"):
        raise TypeError(f"{what} takes a DataFrame, and got {df!r}")
    return of_session(df.sparkSession)


def of_session(session: SparkSession) -> Door:
    """The door of a session."""
    return _door(_is_remote(session))


def of_query(query: StreamingQuery) -> Door:
    """The door of a running query."""
    return _door(_is_remote(query))


def classic(what: str, instead: str) -> Any:
    """The JVM of this process, for a function that no server can run; `instead` says what to do."""
    if not _has_jvm():
        raise ConnectUnsupportedError(what, instead)
    return _door(False)


def is_started() -> bool:
    """Whether a JVM already runs: in this process or, under `spark-submit`, started before it."""
    return bool(_has_jvm() and classic("", "").is_started())


def any_session() -> SparkSession | None:
    """The active session of this thread, or else the one that was started first; one of Spark
    Connect if there is no other.
    """
    active = SparkSession.getActiveSession()
    if active is None and _has_jvm():
        from joinless import _jvm

        active = _jvm.default_session()
    if active is None and "pyspark.sql.connect.session" in sys.modules:
        from joinless import _remote

        active = _remote.default_session()
    return active


def _has_jvm() -> bool:
    """Whether this PySpark can start a JVM: the package of clients alone cannot."""
    return not is_remote_only()


def _is_remote(thing: object) -> bool:
    return type(thing).__module__.startswith("pyspark.sql.connect.")


def _door(remote: bool) -> Door:
    if remote:
        from joinless import _remote

        return _remote
    from joinless import _jvm

    return _jvm
