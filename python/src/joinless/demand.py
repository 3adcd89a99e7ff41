"""Complete results that are too big to list: how many rows, one page, a sample.

Spark's own `count()`, `limit`, `offset` and `sample` of a complete result are as fast, as far as
their numbers go: `COUNT(*)` has 64 bits, OFFSET 31.
"""

from __future__ import annotations

import os

from pyspark.sql import DataFrame

from joinless import _arguments, _door


def count(result: DataFrame | str | os.PathLike[str]) -> int:
    """Returns the exact number of rows of a complete result, however large.

    The number follows from the state, by one number per cell: no row of the result is made. Where
    the query has conditions other than equi-joins between relations, or the DataFrame is more than
    columns and simple filters of results and their unions, the rows are counted.

    >>> joinless.count(joinless.enumerate_full(pairs, query=query))
    1

    Args:
        result: what `enumerate_full` or ``spark.read.format("joinless")`` returns, or the
            ``checkpointLocation`` of a query.

    Returns:
        The number, of up to 127 bits.

    Raises:
        AnalysisException: ``JOINLESS_ON_DEMAND.STREAM`` if the DataFrame is a stream; the errors of
            `enumerate_full` for a checkpoint.
        SparkRuntimeException: ``JOINLESS_COUNT_OVERFLOW.ROWS`` if the number has more bits.
        TypeError, ValueError: an argument of another type or value.
        ExtensionNotInstalledError: the session runs without Joinless.
    """
    found = complete_result("joinless.count", result)
    return _door.of(found, "joinless.count").count(found)


def page(result: DataFrame, offset: int, size: int) -> DataFrame:
    """Returns some rows of a complete result: those from number `offset` on.

    The order is the same for every reader of a batch, whether the query runs or has ended. So pages
    neither overlap nor leave rows out. It is no order by a column. A page costs its own rows and
    the load of the state, wherever it is; but in a result with conditions other than equi-joins
    between relations, all rows before it are looked at.

    Up to 2,147,483,647 ``result.offset(offset).limit(size)`` gives the same rows.

    >>> joinless.page(joinless.enumerate_full(pairs, query=query), offset=0, size=20).collect()
    [Row(src=1, dst=3)]

    Args:
        result: what `enumerate_full` or ``spark.read.format("joinless")`` returns, with filters and
            columns.
        offset: the number of the first row, from 0 on.
        size: the most rows.

    Returns:
        A batch DataFrame.

    Raises:
        AnalysisException: ``JOINLESS_ON_DEMAND`` if the DataFrame is no complete result, or the
            size is too large.
        TypeError, ValueError: an argument of another type or value.
        ExtensionNotInstalledError: the session runs without Joinless.
    """
    _arguments.number("joinless.page", "offset", offset, optional=False)
    _arguments.number("joinless.page", "size", size, optional=False)
    return _door.of(result, "joinless.page").page(result, offset, size)


def sample(
    result: DataFrame,
    size: int,
    seed: int | None = None,
    replacement: bool = False,
    by: str | list[str] | None = None,
) -> DataFrame:
    """Returns a uniform sample, of exactly `size` rows: of a complete result, or one that is kept.

    Each set of `size` rows has the same chance. A row that the result has several times counts as
    several rows.

    *Of a complete result*, it is a batch DataFrame. It costs the sampled rows and the load of the
    state. If conditions other than equi-joins between relations reject most combinations, results
    are enumerated instead.

    >>> joinless.sample(joinless.enumerate_full(pairs, query=query), size=1000, seed=7).collect()
    [Row(src=1, dst=3)]

    *Of a streaming query*, it is a sample that is kept up to date: after each batch it is a uniform
    sample of the query's result, without listing that result. Rows enter and leave it, so request
    its changes, or `materialize` it. It can be joined and aggregated like any relation.

    >>> kept = joinless.sample(pairs, size=1000)
    >>> kept.incrementalEnumerate(output="weight").columns
    ['src', 'dst', '_weight']

    With `by` it is a sample of *each group* of rows that have the same values in these columns, as
    in GROUP BY: `size` rows of each, or all of a smaller one.

    >>> kept = joinless.sample(pairs, size=20, by=["src"])

    The operator's progress has ``resultSize``, the number of the results that are sampled. The same
    batches with the same seed give the same sample, also after a restart. The sample is kept by one
    cell, unless ``spark.joinless.placement.maxCells`` or ``shares`` says otherwise.

    Args:
        result: what `enumerate_full` or ``spark.read.format("joinless")`` returns, with filters and
            columns; or a streaming query.
        size: the number of rows, up to 10,000,000. A result with fewer rows is returned whole.
        seed: with the same number, each read of a batch gives the same rows; by default another
            one each time, and 0 for a sample that is kept.
        replacement: whether a row may be drawn several times. Then `size` rows are drawn, unless
            the result is empty. Not for a sample that is kept.
        by: one or several columns of a streaming query: a sample of each group of its rows by them.

    Returns:
        A batch DataFrame, in a random order; or a streaming one.

    Raises:
        AnalysisException: ``JOINLESS_ON_DEMAND`` if the DataFrame is a batch one and no complete
            result, or `size` is out of range; ``JOINLESS_SAMPLE`` if `size` is out of range for a
            sample that is kept.
        TypeError, ValueError: an argument of another type or value.
        ExtensionNotInstalledError: the session runs without Joinless.
    """
    _arguments.number("joinless.sample", "size", size, optional=False)
    _arguments.flag("joinless.sample", "replacement", replacement)
    drawn = _arguments.seed("joinless.sample", "seed", seed)
    columns = [] if by == [] else _arguments.as_columns("joinless.sample", "by", by)
    door = _door.of(result, "joinless.sample")
    if not door.is_streaming(result, "joinless.sample"):
        if columns is not None:
            raise ValueError("joinless.sample takes by for a streaming query only; group a complete result in Spark")
        return door.sample(result, size, drawn, replacement)
    if replacement:
        raise ValueError("joinless.sample keeps samples without replacement only; leave replacement out")
    return door.kept_sample(result, size, 0 if seed is None else drawn, columns)


def complete_result(function: str, result: DataFrame | str | os.PathLike[str]) -> DataFrame:
    """The argument of a function as a DataFrame; a checkpoint's is read in the active session."""
    if not isinstance(result, (str, os.PathLike)):
        return result
    folder = _arguments.as_path(function, "result", result)
    session = _door.any_session()
    if session is None:
        raise ValueError(f"{function} takes a checkpoint only where a session is active; give a DataFrame")
    return session.read.format("joinless").load(folder)
