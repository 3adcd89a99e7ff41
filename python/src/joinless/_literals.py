"""Values that are looked up, as literals that mean the same to Spark.

`lit` is not exact for dates and times: it takes a datetime without a time zone for a moment, also
where a column has none, reads one of the hour that clocks repeat as its first, and moves days that
the Julian calendar did not have.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import lit
from pyspark.sql.types import DataType, TimestampType


def literals(df: DataFrame, values: dict[str, Any]) -> list[Column]:
    """The values of some columns of `df`, each as a literal. One of a column that `df` does not have
    is one, too.
    """
    types = {field.name.lower(): field.dataType for field in df.schema.fields}
    return [_literal(value, types.get(name.lower())) for name, value in values.items()]


def in_sql(text: str) -> str:
    """A text as SQL spells it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _literal(value: Any, of: DataType | None) -> Column:
    """A value that is compared with a column of a type."""
    if type(value).__module__ == "numpy" and isinstance(value.item(), datetime.date):
        value = value.item()
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None and not isinstance(of, TimestampType):
            return lit(value.isoformat()).cast("timestamp_ntz")
        return lit(_moment(value)).cast("timestamp")
    if isinstance(value, datetime.date):
        return lit(value.isoformat()).cast("date")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return lit(Decimal(value))
    return lit(value)


def _moment(time: datetime.datetime) -> str:
    """A datetime as PySpark returns it, of the local time zone if it has none."""
    return time.astimezone(datetime.timezone.utc).isoformat()
