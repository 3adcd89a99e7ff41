"""Checks of arguments: one of the wrong type or value is reported at the
call, not deep inside Spark.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any


def text(function: str, name: str, value: Any, optional: bool = False) -> None:
    """Raises if an argument is not a text, or is blank."""
    if optional and value is None:
        return
    if not isinstance(value, str):
        raise TypeError(f"{function} takes a string as {name}, and got {value!r}")
    if not value.strip():
        raise ValueError(f"{function} takes a string as {name}, and got {value!r}, which is blank")


def some_columns(function: str, name: str, value: Any) -> list[str]:
    """Column names, given as one or as several. Raises if the argument is neither."""
    columns = as_columns(function, name, value)
    if columns is None:
        raise TypeError(f"{function} takes a column name or a list of them as {name}, and got None")
    return columns


def as_columns(function: str, name: str, value: Any, what: str = "column name") -> list[str] | None:
    """Column names, or other texts, given as one or as several; None if there is no such
    argument. Raises if it is neither.
    """
    if value is None:
        return None
    listed = isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray))
    given = [value] if isinstance(value, str) else list(value) if listed else None
    if given is None or not all(isinstance(column, str) for column in given):
        raise TypeError(f"{function} takes a {what} or a list of them as {name}, and got {value!r}")
    if not given or not all(column.strip() for column in given):
        raise ValueError(f"{function} takes at least one {what} as {name}, none blank, and got {value!r}")
    return given


def lists_of_columns(function: str, name: str, value: Any) -> list[list[str]]:
    """Several times column names, each given as one or as several. Raises if the argument is another."""
    listed = isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))
    try:
        given = [some_columns(function, name, columns) for columns in value] if listed else None
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"{function} takes a list of columns or of lists of them as {name}, and got {value!r}"
        ) from None
    if given is None:
        raise TypeError(f"{function} takes a list of columns or of lists of them as {name}, and got {value!r}")
    return given


def values(function: str, name: str, given: Mapping[Any, Any], types: tuple[type, ...]) -> None:
    """Raises if the keys of a dict are no column names, or a value is neither None nor of these types."""
    for column, value in given.items():
        if not isinstance(column, str):
            raise TypeError(f"{function} takes a dict with column names as {name}, and got {dict(given)!r}")
        if value is not None and not isinstance(value, types) and type(value).__module__ != "numpy":
            raise TypeError(
                f"{function} takes None, numbers, texts, dates and times as values of {name}, and got {dict(given)!r}"
            )


def named_dataframes(function: str, name: str, given: Any) -> dict[str, Any]:
    """DataFrames by name. Raises if the argument is no dict of them, or a name is no plain one."""
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise TypeError(f"{function} takes a dict of DataFrames by names as {name}, and got {given!r}")
    if any(not key.strip() or "." in key or "`" in key for key in given):
        raise ValueError(f"{function} takes names without a database as {name}, none blank, and got {given!r}")
    if not all(hasattr(df, "sparkSession") for df in given.values()):
        raise TypeError(f"{function} takes a dict of DataFrames by names as {name}, and got {given!r}")
    return dict(given)


def flag(function: str, name: str, value: Any) -> None:
    """Raises if an argument is neither True nor False."""
    if not isinstance(value, bool):
        raise TypeError(f"{function} takes True or False as {name}, and got {value!r}")


def batch(function: str, df: Any, batch_id: Any) -> None:
    """Raises if these are not the arguments that Spark passes to a function of ``foreachBatch``."""
    if isinstance(df, type) or not hasattr(df, "sparkSession") or not hasattr(df, "isStreaming"):
        raise TypeError(f"the function of {function} takes a batch, as foreachBatch gives it, as df, and got {df!r}")
    if df.isStreaming:
        raise ValueError(f"the function of {function} takes a batch as df, and got a stream: give it to foreachBatch")
    number(f"the function of {function}", "batch_id", batch_id, optional=False)


def number(function: str, name: str, value: Any, optional: bool = True, bits: int = 63, least: int = 0) -> None:
    """Raises if an argument is not a whole number >= `least` of so many bits."""
    if optional and value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{function} takes a whole number as {name}, and got {value!r}")
    if not least <= value < 2**bits:
        raise ValueError(f"{function} takes a number from {least} on as {name}, and got {value!r}")


def between_0_and_1(function: str, name: str, value: Any) -> None:
    """Raises if an argument is not a number between 0 and 1, both excluded."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise TypeError(f"{function} takes a number as {name}, and got {value!r}")
    if not 0 < value < 1:
        raise ValueError(f"{function} takes a number between 0 and 1 as {name}, and got {value!r}")


def seed(function: str, name: str, value: Any) -> int:
    """A seed of 64 bits; one by chance if the argument is None. Raises if it is no whole number of
    that range.
    """
    if value is None:
        return int.from_bytes(os.urandom(8), "big", signed=True)
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{function} takes a whole number as {name}, and got {value!r}")
    if not -(2**63) <= value < 2**63:
        raise ValueError(f"{function} takes a number of 64 bits as {name}, and got {value!r}")
    return value


def as_path(function: str, name: str, value: Any) -> str:
    """A folder, given as text or as a path. Raises if the argument is neither."""
    given = os.fspath(value) if isinstance(value, os.PathLike) else value
    text(function, name, given)
    return str(given)


def query(function: str, value: Any) -> None:
    """Raises if an argument is neither a streaming query nor the name of one."""
    if isinstance(value, str):
        text(function, "query", value)
    elif not (hasattr(value, "lastProgress") and hasattr(value, "exception")) or isinstance(value, type):
        raise TypeError(
            f"{function} takes a streaming query, as start() returns it, or its name or id as query, and got {value!r}"
        )
