"""The plugin on the server of a Spark Connect session: every call is a statement of SQL, a table
function or a procedure.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from joinless._literals import in_sql, literals
from joinless.errors import ConnectUnsupportedError, ExtensionNotInstalledError, named_errors, query_not_found

#: How many rows that differ `verify` returns.
_MOST_DIFFERENCES = 100_000


@dataclass(frozen=True)
class Plan:
    """How a query would run, as the server says it."""

    text: str
    mermaid: str
    json: str
    reasons: str
    lookups: Sequence[str]


@dataclass(frozen=True)
class WantedView:
    """A view that is described to the server when it is started.

    Attributes:
        query: a text or a DataFrame; None for the query that a view has.
        given: DataFrames by the names that the text has for them.
    """

    session: SparkSession
    query: DataFrame | str | None
    given: Mapping[str, DataFrame] | None
    key: list[str]
    trigger: str | None


class EndedQuery:
    """A query that the server has started, waited for, and forgotten: it has ended without an error."""

    def __init__(self, query_id: str, name: str) -> None:
        self.id, self.name = query_id, name
        self.isActive = False
        self.lastProgress = None
        self.recentProgress: list[Any] = []

    def awaitTermination(self, timeout: int | None = None) -> bool:
        """True: it has ended."""
        return True

    def exception(self) -> StreamingQueryException | None:
        """None: it had no error."""
        return None

    def processAllAvailable(self) -> None:
        """Returns at once."""

    def stop(self) -> None:
        """Does nothing."""

    def __repr__(self) -> str:
        return f"EndedQuery({self.name!r})"


def plan(df: DataFrame, is_view: bool, lookups: Sequence[list[str]]) -> Plan:
    """How a query would run."""
    columns = ", ".join(f"array({_texts(names)})" for names in lookups)
    row = _called("joinless_plan", [df], is_view=_flag(is_view), lookups=f"array({columns})" if lookups else "NULL")
    found = row.collect()[0]
    return Plan(found["text"], found["mermaid"], found["json"], found["reasons"], found["lookups"])


def changelog(df: DataFrame, change_type: str | None, weight: str | None) -> DataFrame:
    """The relation whose changes are the rows of `df`."""
    if change_type is not None and weight is not None:
        return _called("changelog", [df], change_type=in_sql(change_type), weight=in_sql(weight))
    if weight is not None:
        return _called("changelog", [df], weight=in_sql(weight))
    return _called("changelog", [df], change_type=in_sql(change_type or "_change_type"))


def debezium(
    df: DataFrame, schema: str, key: list[str], added: list[str], decimals: str | None, timestamps: str | None
) -> DataFrame:
    """The table whose changes the records `df` are."""
    return _called(
        "debezium",
        [df],
        in_sql(schema),
        key=_columns(key),
        added=_columns(added),
        decimals=_optional(decimals),
        timestamps=_optional(timestamps),
    )


def upserts(df: DataFrame, key: list[str]) -> DataFrame:
    """The changes `df` as records of keys."""
    return _called("upserts", [df], _columns(key))


def evolve(df: DataFrame, old: str, new: str, dry_run: bool) -> dict[str, Any]:
    """From what a query begins that takes over from the query of a checkpoint."""
    with _temporary(df.sparkSession, df, None) as query:
        rows = _call(
            df.sparkSession,
            "evolve",
            old_checkpoint=in_sql(old),
            new_checkpoint=in_sql(new),
            dry_run=_flag(dry_run),
            **query,
        )
        return _stored_plan(rows)


def rows(df: DataFrame) -> DataFrame:
    """`df`, in which each change counts as a row."""
    return _called("rows", [df])


def expire(df: DataFrame, column: str, after: str) -> DataFrame:
    """The rows of `df` that are not older than `after`."""
    return _called("expire", [df], in_sql(column), in_sql(after))


def key(df: DataFrame, columns: list[str]) -> DataFrame:
    """The rows of `df`, of which at most one has the same values in these columns."""
    return _called("key", [df], _columns(columns))


def table(session: SparkSession, name: str) -> DataFrame:
    """The Delta table of this name as it changes."""
    return _select(session, f"joinless_table({_braces(in_sql(name))})", {})


def sql(session: SparkSession, query: str, given: dict[str, DataFrame]) -> DataFrame:
    """The query over the Delta tables that it names, as they change."""
    frames: dict[str, Any] = {f"frame{n}": df for n, df in enumerate(given.values())}
    named = [f", {_name(name)} => TABLE({{{frame}}})" for name, frame in zip(given, frames, strict=True)]
    return _select(session, f"joinless_sql({_braces(in_sql(query))}{''.join(named)})", frames)


def view_of_text(
    session: SparkSession, query: str, given: dict[str, DataFrame], key: list[str], trigger: str | None
) -> WantedView:
    """The view of the text of a query."""
    return WantedView(session, query, given, key, trigger)


def view_of(df: DataFrame, what: str, key: list[str], trigger: str | None) -> WantedView:
    """The view of a query."""
    return WantedView(df.sparkSession, df, None, key, trigger)


def view_again(
    session: SparkSession, view: str, given: dict[str, DataFrame] | None, key: list[str], trigger: str | None
) -> WantedView:
    """The view that a table has, with its query of now."""
    return WantedView(session, None, given, key, trigger)


def materialize(view: WantedView, into: str, checkpoint: str | None, name: str | None) -> StreamingQuery:
    """Starts a view."""
    return _started(
        view, "materialize", name or into, into=in_sql(into), checkpoint=_optional(checkpoint), name=_optional(name)
    )


def replace(wanted: WantedView, view: str, cells: int | None, name: str | None) -> StreamingQuery:
    """Gives a view another query, or another number of cells."""
    return _started(wanted, "replace", name or view, view=in_sql(view), cells=_number(cells), name=_optional(name))


def replacement(wanted: WantedView, view: str, cells: int | None) -> dict[str, Any]:
    """From what the new query of a view would begin."""
    with _described(wanted) as described:
        rows = _call(
            wanted.session, "replace", view=in_sql(view), cells=_number(cells), dry_run=_flag(True), **described
        )
        return _stored_plan(rows)


def drop(session: SparkSession, view: str) -> None:
    """Stops a view and removes its table."""
    _call(session, "drop", view=in_sql(view))


def status(session: SparkSession, views: list[str] | None) -> DataFrame:
    """What views are doing, a row for each."""
    if views is None:
        return _call(session, "status")
    found, *others = [_call(session, "status", view=in_sql(view)) for view in views]
    for row in others:
        found = found.unionAll(row)
    return found


def verify(session: SparkSession, view: str, query: str | None) -> dict[str, Any]:
    """The table of a view, compared with its query: figures and rows."""
    figures = _call(session, "verify", view=in_sql(view), query=_optional(query)).collect()[0].asDict()
    if figures["missing"] or figures["extra"]:
        differences = _call(
            session, "verify", view=in_sql(view), query=_optional(query), differences=str(_MOST_DIFFERENCES)
        )
    else:
        counts = {name: F.lit(0).cast("bigint") for name in ("_in_table", "_in_query")}
        differences = session.table(view).limit(0).withColumns(counts)
    numbers = ("version", "batch", "rows", "missing", "extra", "rounded")
    return {name: figures[name] for name in numbers} | {"differences": differences}


def check_functions(what: str, target: str) -> None:
    """Raises: functions of ``foreachBatch`` run beside the server, and cannot reach this plugin."""
    instead = f"Write the changes by writeStream.format('joinless').option('into', {target!r}) instead."
    raise ConnectUnsupportedError(what, instead)


def changes_to(df: DataFrame, target: str, key: list[str] | None, app_id: str | None, shared: bool) -> Any:
    """Raises, as `check_functions`."""
    check_functions("joinless.apply_changes", target)


def apply_changes(target: Any, df: DataFrame, batch_id: int) -> None:
    """Never called: there is no target."""
    raise ConnectUnsupportedError("joinless.apply_changes")


def deltas(df: DataFrame, form: str) -> DataFrame:
    """The changes of the result of `df`."""
    return _called("incremental_enumerate", [df], in_sql(form))


def full(df: DataFrame, checkpoint: str, batch_id: int | None, operator: int | None) -> DataFrame:
    """The complete result of the query `df` as of a committed batch."""
    return _full(df, batch_id, operator, checkpoint=in_sql(checkpoint))


def full_of(df: DataFrame, query: StreamingQuery | str, batch_id: int | None, operator: int | None) -> DataFrame:
    """The complete result of the query `df`, which is running."""
    return _full(df, batch_id, operator, query=in_sql(query if isinstance(query, str) else str(query.id)))


def count(df: DataFrame) -> int:
    """The number of rows, of up to 63 bits."""
    return int(df.count())


def page(df: DataFrame, offset: int, size: int) -> DataFrame:
    """The rows of a complete result from number `offset` on."""
    return _called("page", [df], f"{offset}L", f"{size}L")


def is_streaming(df: DataFrame, what: str) -> bool:
    """Whether a DataFrame reads a stream."""
    return bool(df.isStreaming)


def kept_sample(df: DataFrame, size: int, seed: int, by: list[str] | None) -> DataFrame:
    """A sample of the result of the streaming query `df`, or of each group of it, that is kept up to date."""
    return _called("sample", [df], f"{size}L", f"{seed}L", *(in_sql(column) for column in by or ()))


def sample(df: DataFrame, size: int, seed: int, replacement: bool) -> DataFrame:
    """A uniform sample of a complete result."""
    return _called("sample", [df], f"{size}L", f"{seed}L", replacement=_flag(replacement))


def lookup(df: DataFrame, values: dict[str, Any]) -> DataFrame:
    """The rows of a complete result with these values of columns."""
    return _called("lookup", [df, _row(df, values)])


def lookup_all(df: DataFrame, keys: DataFrame) -> DataFrame:
    """The rows of a complete result with the values of a row of `keys`."""
    return _called("lookup", [df, keys])


def weight_of(df: DataFrame, values: dict[str, Any]) -> int:
    """How often a complete result has a row."""
    return int(_called("weight_of", [df, _row(df, values)]).collect()[0][0])


def active_query(session: SparkSession, name_or_id: str) -> StreamingQuery:
    """The running query of that name or id."""
    active = session.streams.active
    found = [query for query in active if query.name == name_or_id] or [q for q in active if q.id == name_or_id]
    if len(found) != 1:
        names = [query.id for query in found] or [query.name or query.id for query in active]
        raise query_not_found(name_or_id, names, bool(found))
    return found[0]


def failure(query: StreamingQuery) -> str | None:
    """None: the server says why a query has stopped by its error only."""
    return None


def advice(query: StreamingQuery) -> tuple[str, ...]:
    """None: for views, `status` has it."""
    return ()


def errors_of_functions() -> list[BaseException]:
    """None: functions of ``foreachBatch`` run beside the server."""
    return []


def default_session() -> SparkSession | None:
    """The session of Spark Connect that this process uses in threads without one of their own."""
    from pyspark.sql.connect.session import SparkSession as RemoteSession

    return cast("SparkSession | None", RemoteSession._get_default_session())


def _full(df: DataFrame, batch_id: int | None, operator: int | None, **of: str) -> DataFrame:
    """The result as of the batch that is the last one now, unless another is given. The server would
    choose one anew for each action.
    """
    (argument,) = (f"{name} => {_braces(value)}" for name, value in of.items())
    at = _select(df.sparkSession, f"committed_batch({argument})", {}).collect()[0]
    batch = at["batch"] if batch_id is None else batch_id
    folder = in_sql(at["checkpoint"])
    return _called("enumerate_full", [df], checkpoint=folder, batch_id=_number(batch), operator=_number(operator))


def _row(df: DataFrame, values: dict[str, Any]) -> DataFrame:
    """One row of these values."""
    columns = [value.alias(name) for name, value in zip(values, literals(df, values), strict=True)]
    return df.sparkSession.range(1).select(*columns)


def _called(function: str, frames: Sequence[DataFrame], *arguments: str, **named: str) -> DataFrame:
    """The result of a table function. Arguments that are NULL are left out."""
    tables: dict[str, Any] = {f"frame{n}": df for n, df in enumerate(frames)}
    given = [f"{name} => {value}" for name, value in named.items() if value != "NULL"]
    listed = [*(f"TABLE({{{name}}})" for name in tables), *map(_braces, [*arguments, *given])]
    return _select(frames[0].sparkSession, f"{function}({', '.join(listed)})", tables)


def _select(session: SparkSession, call: str, frames: dict[str, Any]) -> DataFrame:
    """The result of a table function; DataFrames are named in braces."""
    text = f"SELECT * FROM {call}"
    try:
        return session.sql(text, **frames) if frames else session.sql(text.format())
    except AnalysisException as error:
        if error.getCondition() == "UNRESOLVABLE_TABLE_VALUED_FUNCTION":
            raise ExtensionNotInstalledError("NOT_ON_SERVER") from None
        raise


def _call(session: SparkSession, procedure: str, **arguments: str) -> DataFrame:
    """The rows of a procedure, which runs now."""
    given = ", ".join(f"{name} => {value}" for name, value in arguments.items())
    try:
        with named_errors():
            return session.sql(f"CALL joinless.{procedure}({given})")
    except AnalysisException as error:
        if error.getCondition() == "UNRESOLVED_ROUTINE":
            raise ExtensionNotInstalledError("NOT_ON_SERVER") from None
        raise


def _started(wanted: WantedView, procedure: str, called: str, **arguments: str) -> StreamingQuery:
    """The query that a procedure has started. The procedure waits for one that ends by itself."""
    with _described(wanted) as described:
        row = _call(wanted.session, procedure, **arguments, **described).collect()[0]
    found = wanted.session.streams.get(row["query_id"])
    return found or cast(StreamingQuery, EndedQuery(row["query_id"], called))


@contextmanager
def _described(wanted: WantedView) -> Iterator[dict[str, str]]:
    """A view as arguments of a procedure."""
    key = f"array({_texts(wanted.key)})" if wanted.key else "NULL"
    with _temporary(wanted.session, wanted.query, wanted.given) as query:
        yield {**query, "key": key, "trigger": _optional(wanted.trigger)}


@contextmanager
def _temporary(
    session: SparkSession, query: DataFrame | str | None, given: Mapping[str, DataFrame] | None
) -> Iterator[dict[str, str]]:
    """A query as arguments of a procedure, its DataFrames as temporary views meanwhile."""
    views: list[str] = []

    def view(df: DataFrame) -> str:
        views.append(f"_joinless_{uuid.uuid4().hex}")
        df.createOrReplaceTempView(views[-1])
        return in_sql(views[-1])

    try:
        arguments: dict[str, str] = {}
        if isinstance(query, str):
            arguments["query"] = in_sql(query)
        elif query is not None:
            arguments |= {"query": "NULL", "temp_view": view(query)}
        if given is not None:
            pairs = [f"{in_sql(name)}, {view(df)}" for name, df in given.items()]
            arguments["tables"] = f"map({', '.join(pairs)})"
        yield arguments
    finally:
        for name in views:
            session.catalog.dropTempView(name)


def _stored_plan(rows: DataFrame) -> dict[str, Any]:
    found = rows.collect()
    return {
        "batch": next((row["batch"] for row in found), None),
        "stored": [row["name"] for row in found if not row["read_again"]],
        "again": {row["name"]: row["why"] for row in found if row["read_again"]},
    }


def _name(name: str) -> str:
    return _braces("`" + name.replace("`", "``") + "`")


def _columns(names: list[str]) -> str:
    if not names:
        return "NULL"
    return in_sql(names[0]) if len(names) == 1 else f"({_texts(names)})"


def _texts(names: Sequence[str]) -> str:
    return ", ".join(map(in_sql, names))


def _optional(text: str | None) -> str:
    return "NULL" if text is None else in_sql(text)


def _number(value: int | None) -> str:
    return "NULL" if value is None else str(value)


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _braces(text: str) -> str:
    """A text for a statement in which braces name DataFrames."""
    return text.replace("{", "{{").replace("}", "}}")
