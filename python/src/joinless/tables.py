"""Delta tables as they change, and queries over them in SQL."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from joinless import _arguments, _door


def table(name: str) -> DataFrame:
    """Returns a Delta table as it changes.

    A query over it begins with the rows that the table has then, and follows its change data feed.
    The feed is switched on if it is not: ``ALTER TABLE ... SET TBLPROPERTIES
    ('delta.enableChangeDataFeed' = 'true')``.

    >>> spark.sql("CREATE TABLE links (src INT, dst INT) USING delta").collect()
    []
    >>> joinless.table("links").columns
    ['src', 'dst']

    Args:
        name: the table, by its name or as ``delta.`/path` `` in SQL's spelling.

    Returns:
        A streaming DataFrame with the columns of the table, as `changelog` returns it. Write a
        query over it through `materialize` or `incrementalEnumerate`.

    Raises:
        AnalysisException: ``JOINLESS_TABLE.FORMAT`` if the table is not Delta's, ``FEED_IS_OFF`` of
            the same condition if its feed is off and cannot be switched on. Spark's errors if there
            is no such table.
        TypeError, ValueError: an argument of another type or value, or no session is active.
        ExtensionNotInstalledError: the session runs without Joinless.
    """
    _arguments.text("joinless.table", "name", name)
    session = active("joinless.table")
    return _door.of_session(session).table(session, name)


def sql(query: str, tables: Mapping[str, DataFrame] | None = None) -> DataFrame:
    """Returns a query over Delta tables as they change.

    The text is read as batch SQL. Each Delta table in it, also below a view, is then read as
    `joinless.table` reads it. Streams stay streams. A version that the text names, as in
    ``orders VERSION AS OF 3``, stays that version.

    >>> two_hops = joinless.sql("SELECT a.src, b.dst FROM links a JOIN links b ON a.dst = b.src")
    >>> two_hops.isStreaming
    True

    Args:
        query: the text of a query, for the active session.
        tables: DataFrames that the text calls by these names, such as streams, changelogs and
            `expire`. Such a name has no database, and goes before a table or view of that name.

    Returns:
        A streaming DataFrame. Give it to `materialize`, `explain`, `sample` or
        `incrementalEnumerate`.

    Raises:
        AnalysisException: ``JOINLESS_TABLE.NOT_A_QUERY`` if the text is another statement,
            ``NOTHING_CHANGES`` if it reads neither a Delta table nor a stream, ``HIDDEN_COLUMN`` if
            it reads a column such as ``_metadata`` of a Delta table, and the errors of
            `joinless.table`. Spark's errors if the text is no SQL, or a name in it is not known.
        TypeError, ValueError: an argument of another type or value, or no session is active.
        ExtensionNotInstalledError: the session runs without Joinless.
    """
    return of_query("joinless.sql", query, tables, only_text=True)


def of_query(
    function: str, query: DataFrame | str, tables: Mapping[str, DataFrame] | None, only_text: bool = False
) -> DataFrame:
    """The query of a function that takes a DataFrame or a text, or only a text."""
    if only_text:
        _arguments.text(function, "query", query)
    check_query(function, query, tables)
    if not isinstance(query, str):
        return query
    given = {} if tables is None else check_given(function, tables)
    session = active(function)
    return _door.of_session(session).sql(session, query, given)


def check_query(function: str, query: object, tables: object) -> None:
    """Raises if a query is neither a DataFrame nor a text, or tables are given with a DataFrame."""
    if isinstance(query, str):
        _arguments.text(function, "query", query)
    elif tables is not None:
        raise ValueError(f"{function} takes tables only with the text of a query")
    elif not hasattr(query, "sparkSession"):
        raise TypeError(f"{function} takes a DataFrame or the text of a query as query, and got {query!r}")


def check_given(function: str, tables: object) -> dict[str, DataFrame]:
    """DataFrames by the names that the text of a query has for them. Raises if they are none."""
    return _arguments.named_dataframes(function, "tables", tables)


def active(function: str) -> SparkSession:
    """The active session of this thread, or else the one that was started first, for a function of
    the package that takes names or texts. Raises if there is none.
    """
    session = _door.any_session()
    if session is None:
        raise ValueError(f"{function} takes a text only where a session is active")
    return session
