"""The queries of views that this process has started, by the folders of the views' tables. Spark
forgets a query that has ended, and the error that stopped it.
"""

from __future__ import annotations

from pyspark.sql.streaming.query import StreamingQuery

_QUERIES: dict[str, StreamingQuery] = {}


def add(location: str, query: StreamingQuery) -> None:
    """Notes the query that keeps the table in this folder."""
    _QUERIES[location.rstrip("/")] = query


def last(location: str) -> StreamingQuery | None:
    """The last query that was started for the table in this folder."""
    return _QUERIES.get(location.rstrip("/"))
