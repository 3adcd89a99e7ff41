"""The net changes of a batch, one row for all equal ones, as *cells*: the columns ``c0, c1, ...``
in the order of the names given.

Rows are equal if all their values are, as SQL compares them, except that −0.0 is not 0.0: a deleted
row is the row that was inserted. Spark's grouping and its ``<=>`` treat both zeros as one value and
return either. So rows are grouped and compared by the texts of their floating-point columns as
well, and their values are those of a row of the group. NaN is one value.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, StructType

from joinless._refusals import JSON, error_text, refusal

#: Columns that hold the change of a row, as ``incrementalEnumerate`` names them.
CHANGE_TYPE, WEIGHT = "_change_type", "_weight"

INSERTS = ("insert", "update_postimage", "update_after")
DELETES = ("delete", "update_preimage", "update_before")


def net(df: DataFrame, names: list[str]) -> DataFrame:
    """Cells, their weight (never 0) and whether it is a deletion."""
    values = [F.col(quoted(name)) for name in df.columns if name not in (CHANGE_TYPE, WEIGHT)]
    if WEIGHT in df.columns:
        weight = F.col(WEIGHT).cast("bigint")
        weight = F.when(weight.isNull(), refusal("UNKNOWN_CHANGE_TYPE", found=F.lit("NULL weight"))).otherwise(weight)
    else:
        change = F.lower(F.col(CHANGE_TYPE))
        unknown = refusal("UNKNOWN_CHANGE_TYPE", found=F.coalesce(F.col(CHANGE_TYPE), F.lit("NULL")))
        weight = F.when(change.isin(*INSERTS), F.lit(1)).when(change.isin(*DELETES), F.lit(-1)).otherwise(unknown)
    named = zip(values, cells(names), strict=True)
    signed = df.select(*[value.alias(cell) for value, cell in named], weight.alias("weight"))
    summed = grouped(signed, cells(names), F.sum("weight").alias("weight")).where("weight <> 0")
    return summed.withColumn("deletes", (F.col("weight") < 0).cast("int"))


def grouped(df: DataFrame, columns: list[str], *aggregates: Column) -> DataFrame:
    """Aggregates of equal rows, after the columns by which they are equal."""
    kinds = {name: kind for name, kind in ((f.name, f.dataType) for f in df.schema.fields) if name in columns}
    texts = [F.col(name).cast("string").alias(f"text_{name}") for name, kind in kinds.items() if has_zeros(kind)]
    values = [F.first(name).alias(f"value_{name}") for name, kind in kinds.items() if has_zeros(kind)]
    summed = df.groupBy(*columns, *texts).agg(*aggregates, *values)
    projected = [F.col(f"value_{name}").alias(name) if has_zeros(kinds[name]) else F.col(name) for name in columns]
    kept = [name for name in summed.columns[len(columns) + len(texts) :] if not name.startswith("value_")]
    return summed.select(*projected, *kept)


def same(one: str, other: str, kind: DataType) -> str:
    """SQL that tests whether two values of a type are the same."""
    equal = f"{one} <=> {other}"
    return f"{equal} AND CAST({one} AS STRING) <=> CAST({other} AS STRING)" if has_zeros(kind) else equal


def has_zeros(kind: DataType) -> bool:
    """Whether values of a type can be equal and yet differ."""
    if isinstance(kind, StructType):
        return any(has_zeros(field.dataType) for field in kind.fields)
    return isinstance(kind, (FloatType, DoubleType)) or (isinstance(kind, ArrayType) and has_zeros(kind.elementType))


def by_key(changes: DataFrame, key: list[int], names: list[str]) -> DataFrame:
    """Per key the deleted row (``old``) and the inserted row (``new``), with the error text for a
    target that holds another row.
    """
    keys = [F.col(f"c{i}").alias(f"key{i}") for i in key]
    whole, weight = F.struct(*cells(names)), F.col("weight")
    inserted, deleted = weight > 0, weight < 0
    rows = changes.groupBy(*keys).agg(
        F.sum(F.when(inserted, weight).otherwise(0)).alias("inserts"),
        F.sum(F.when(deleted, -weight).otherwise(0)).alias("deletes"),
        F.first(F.when(inserted, whole), ignorenulls=True).alias("new"),
        F.first(F.when(deleted, whole), ignorenulls=True).alias("old"),
    )
    named = F.to_json(F.struct(*[F.col(f"key{i}").alias(names[i]) for i in key]), JSON)
    counts = F.concat(F.col("deletes"), F.lit(" deletions and "), F.col("inserts"), F.lit(" insertions in one batch"))
    ambiguous = refusal("KEY_NOT_UNIQUE", key=named, found=counts)
    return rows.select(
        *[f"key{i}" for i in key],
        "deletes",
        "new",
        F.when(F.greatest("inserts", "deletes") > 1, ambiguous).otherwise(F.col("old")).alias("old"),
        error_text("KEY_NOT_UNIQUE", key=named, found=F.lit("a row of the target and an insertion")).alias("twice"),
        error_text("ROW_NOT_IN_TARGET", row=row(names, "old."), present=F.lit("0"), change=F.lit("-1")).alias("absent"),
    )


def cells(names: list[str], prefix: str = "") -> list[str]:
    """The names of the cells."""
    return [f"{prefix}c{i}" for i in range(len(names))]


def row(names: list[str], prefix: str = "") -> Column:
    """A whole row as JSON, by the names of the target."""
    named = zip(cells(names, prefix), names, strict=True)
    return F.to_json(F.struct(*[F.col(cell).alias(name) for cell, name in named]), JSON)


def quoted(name: str) -> str:
    """A name quoted for SQL."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A text quoted for SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
