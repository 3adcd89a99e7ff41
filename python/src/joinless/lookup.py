"""Rows of complete results by their values, at the cost of these rows."""

from __future__ import annotations

import datetime
import decimal
import os
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from joinless import _arguments, _door
from joinless.demand import complete_result

#: The types of values that a column can be compared with.
_VALUES = (bool, int, float, str, bytes, bytearray, decimal.Decimal, datetime.date)


def lookup(result: DataFrame | str | os.PathLike[str], key: Mapping[str, Any] | DataFrame) -> DataFrame:
    """Returns the rows of a complete result that have given values.

    Only the cells that can hold the values are read. If the query runs in this application, its own
    state is asked: where the columns are those on which relations join, at the cost of the rows that
    are found, else by a scan of the smallest relation that has one of them. Otherwise the state is
    loaded from the checkpoint.

    >>> joinless.lookup(joinless.enumerate_full(pairs, query=query), {"src": 1}).collect()
    [Row(src=1, dst=3)]

    Args:
        result: what `enumerate_full` or ``spark.read.format("joinless")`` returns, with filters,
            columns, groups and orders above, or the ``checkpointLocation`` of a query.
        key: the value of each column, where None finds NULL, and a datetime without a time zone is
            what PySpark returns: of a TIMESTAMP the moment in Python's local time zone, else the
            time as a clock shows it. Or a DataFrame with a key in each row, whose columns have the
            names of the result's; up to 1,000 keys are read at once, more are joined.

    Returns:
        A batch DataFrame with the columns of `result`. A row that the result has several times comes
        as often.

    Raises:
        AnalysisException: ``JOINLESS_LOOKUP`` if the DataFrame is no complete result, it has no such
            column, or a value cannot be one of the column's type; the errors of `enumerate_full` for
            a checkpoint.
        TypeError, ValueError: an argument of another type or value.
        ExtensionNotInstalledError: the session runs without Joinless.
    """
    found = complete_result("joinless.lookup", result)
    if isinstance(key, Mapping):
        _arguments.values("joinless.lookup", "key", key, _VALUES)
        return _door.of(found, "joinless.lookup").lookup(found, dict(key))
    if isinstance(key, type) or not hasattr(key, "sparkSession"):
        raise TypeError(f"joinless.lookup takes a dict of columns and values or a DataFrame as key, and got {key!r}")
    return _door.of(found, "joinless.lookup").lookup_all(found, key)


def weight_of(result: DataFrame | str | os.PathLike[str], row: Mapping[str, Any]) -> int:
    """Returns how often a complete result has a row: 0 if it does not have it.

    >>> joinless.weight_of(joinless.enumerate_full(pairs, query=query), {"src": 1, "dst": 3})
    1

    Args:
        result: as for `lookup`.
        row: the value of each column, where None is NULL.

    Returns:
        The number of equal rows.

    Raises:
        AnalysisException: ``JOINLESS_LOOKUP`` as for `lookup`, or if the row lacks a column of the
            result.
        TypeError, ValueError: an argument of another type or value.
        ExtensionNotInstalledError: the session runs without Joinless.
    """
    found = complete_result("joinless.weight_of", result)
    if not isinstance(row, Mapping):
        raise TypeError(f"joinless.weight_of takes a dict of columns and values as row, and got {row!r}")
    _arguments.values("joinless.weight_of", "row", row, _VALUES)
    return _door.of(found, "joinless.weight_of").weight_of(found, dict(row))
