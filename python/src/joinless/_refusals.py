"""Errors of `apply_changes` that Spark raises in the middle of a statement,
so that nothing is written.

They are raised by columns, and turned back into the original errors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import Column
from pyspark.sql import functions as F

from joinless.errors import ApplyChangesError

#: Rows as JSON include their NULLs.
JSON = {"ignoreNullFields": "false"}

_MARK = "JOINLESS_APPLY_CHANGES."


def error_text(what: str, **parameters: Column) -> Column:
    """The text by which `named_errors` recognizes an error."""
    cut = [F.substring(value.cast("string"), 1, 1000).alias(name) for name, value in parameters.items()]
    return F.concat(F.lit(f"{_MARK}{what} "), F.to_json(F.struct(*cut), JSON) if cut else F.lit("{}"))


def refusal(what: str, **parameters: Column) -> Column:
    """A value that raises the error when it is computed."""
    return F.raise_error(error_text(what, **parameters))


@contextmanager
def named_errors(target: str) -> Iterator[None]:
    """Turns an error raised by `refusal` back into the original one. PySpark wraps errors of tasks
    in several classes; the text is in all of them.
    """
    try:
        yield
    except Exception as error:
        if found := re.search(rf"{re.escape(_MARK)}([A-Z_]+) (?={{)", str(error)):
            parameters, _ = json.JSONDecoder().raw_decode(str(error), found.end())
            raise ApplyChangesError(found[1], {"target": target, **parameters}) from error
        raise
