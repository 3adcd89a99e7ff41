"""Keeps a Delta table equal to the result of a query, from the net changes of each batch.

Let ``R`` be the target as a bag and ``D`` the signed bag of a batch: the function of `apply_changes` leaves ``R + D``,
in one commit, or raises and leaves ``R``. Invariants:

- the batch is computed once, by one action that touches all its partitions;
- each commit carries (app id, batch id) as a transaction of Delta's, so that a batch that comes again changes nothing;
- what would make the target differ from ``R + D`` fails the commit itself, not a check before it: no other writer can
  slip in between.

Cost: with a key one MERGE on it. Without, a batch that deletes reads the target once more, to count copies; a batch
that only inserts is appended. A batch without changes touches nothing. Only public PySpark and Delta SQL are used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType

from joinless.errors import ApplyChangesError

#: Columns that say what a row of changes does, as ``incrementalEnumerate`` names them.
CHANGE_TYPE, WEIGHT = "_change_type", "_weight"

INSERTS = ("insert", "update_postimage", "update_after")
DELETES = ("delete", "update_preimage", "update_before")


def apply_changes(
    target: str, key: str | Sequence[str] | None = None, *, app_id: str | None = None
) -> Callable[[DataFrame, int], None]:
    """Makes a function for ``foreachBatch`` that applies the net changes of each batch to a Delta table.

    >>> pairs = spark.sql("SELECT a.src, b.dst FROM follows a JOIN follows b ON a.dst = b.src")
    >>> writer = pairs.incrementalEnumerate().writeStream.foreachBatch(joinless.apply_changes("reached"))
    >>> query = writer.option("checkpointLocation", checkpoint + "-reached").start()
    >>> query.processAllAvailable()
    >>> spark.table("reached").collect()
    [Row(src=1, dst=3)]

    The rows of a batch have the target's columns and either ``_change_type`` (``insert``, ``delete``, and the update
    images of Delta and Spark, in any case) or ``_weight BIGINT``. They need not be net.

    Args:
        target: a Delta table that exists and has exactly the columns of the query, in any order: its name, or
            ``delta.`/path` `` in SQL's spelling.
        key: columns that are unique in the result. A row deleted and one inserted under a key become one update; NULL
            is a key like others. Without a key the target is a bag: *k* copies deleted of *m* leave *m - k*.
        app_id: name under which Delta remembers the batches of this writer in the target; by default the id of the
            streaming query, which lives in its checkpoint. Needed where one query writes twice into a table, and
            outside of streaming. Batch ids of one name must never start again: a batch that is not newer than the
            last one is taken for a repetition and skipped.

    Returns:
        A function of a DataFrame and a batch id.

    Raises (from the function, with nothing written):
        ApplyChangesError: ``JOINLESS_APPLY_CHANGES.`` and what is wrong: the target does not exist, is no Delta table
            or has other columns, the key is not unique, a deleted row is not there; docs/reference.md lists them all.
    """
    return _Applier(target, None if key is None else [key] if isinstance(key, str) else list(key), app_id)


class _Applier:
    """The function that `apply_changes` returns."""

    def __init__(self, target: str, key: list[str] | None, app_id: str | None) -> None:
        self.target, self.key, self.app_id = target, key, app_id
        self.target_is_sound = False

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        session = df.sparkSession
        app_id = self.app_id or _query_id(session)
        if app_id is None:
            raise self._error("NO_APP_ID")
        names = self._checked_columns(df)
        net = _net(df, names)
        key = [names.index(name) for name in self._resolved_key(session, names)] if self.key is not None else None
        changes = (net if key is None else _by_key(net, key, names)).persist()
        try:
            with _named_errors(self.target):
                deletes = changes.agg(F.count(F.lit(1)).alias("all"), F.sum("deletes").alias("deletes")).first()
                if deletes is None or deletes["all"] == 0:
                    return
                if not self.target_is_sound:
                    self._check_target(session, key, names)
                with _transaction(session, app_id, batch_id):
                    if key is not None:
                        self._merge_by_key(session, changes, key, names)
                    elif deletes["deletes"]:
                        self._merge_by_count(session, changes, names)
                    else:
                        self._append(session, changes, names)
        finally:
            changes.unpersist()

    # -- what must hold before anything is written ------------------------------------------------------------------

    def _checked_columns(self, df: DataFrame) -> list[str]:
        """The result's columns by the target's names, in the order of the DataFrame."""
        marks = [name for name in (CHANGE_TYPE, WEIGHT) if name in df.columns]
        if len(marks) != 1:
            raise self._error("NO_CHANGES", columns=", ".join(df.columns))
        fold = _fold(df.sparkSession)
        given = [(f.name, f.dataType) for f in df.schema.fields if f.name not in marks]
        wanted = {fold(f.name): (f.name, f.dataType) for f in self._schema(df).fields}
        fits = len(given) == len(wanted) == len({fold(name) for name, _ in given}) and all(
            fold(name) in wanted and _same(wanted[fold(name)][1], kind) for name, kind in given
        )
        if not fits:
            raise self._error("COLUMNS_DIFFER", result=_ddl(given), columns=_ddl(list(wanted.values())))
        for name, kind in given:
            if _is_incomparable(kind):
                raise self._error("UNSUPPORTED_TYPE", column=name, type=kind.simpleString())
        return [wanted[fold(name)][0] for name, _ in given]

    def _schema(self, df: DataFrame) -> StructType:
        try:
            return df.sparkSession.table(self.target).schema
        except AnalysisException as error:
            columns = _ddl([(f.name, f.dataType) for f in df.schema.fields if f.name not in (CHANGE_TYPE, WEIGHT)])
            raise self._error("TARGET_NOT_FOUND", columns=columns) from error

    def _resolved_key(self, session: SparkSession, names: list[str]) -> list[str]:
        fold = _fold(session)
        by_name = {fold(name): name for name in names}
        unknown = [name for name in self.key or () if fold(name) not in by_name]
        if unknown or not self.key:
            raise self._error("UNKNOWN_KEY", key=", ".join(unknown), columns=", ".join(names))
        return [by_name[fold(name)] for name in self.key]

    def _check_target(self, session: SparkSession, key: list[int] | None, names: list[str]) -> None:
        """Once per function: the target is Delta's, and its key unique, which every later batch keeps so."""
        try:
            provider = session.sql(f"DESCRIBE DETAIL {self.target}").collect()[0]["format"]
        except PySparkException as error:
            raise self._error("TARGET_NOT_DELTA", format="not known to Delta") from error
        if provider != "delta":
            raise self._error("TARGET_NOT_DELTA", format=str(provider))
        if key is not None:
            columns = [F.col(_quoted(names[i])) for i in key]
            twice = session.table(self.target).groupBy(*columns).count().where("count > 1").limit(1)
            for row in twice.select(F.to_json(F.struct(*columns), _JSON).alias("key"), "count").collect():
                raise self._error("KEY_NOT_UNIQUE", key=row["key"], found=f"{row['count']} rows of the target")
        self.target_is_sound = True

    def _error(self, what: str, **parameters: str) -> ApplyChangesError:
        return ApplyChangesError(what, {"target": self.target, **parameters})

    # -- the three ways to write ------------------------------------------------------------------------------------

    def _append(self, session: SparkSession, changes: DataFrame, names: list[str]) -> None:
        copies = changes.select(*_cells(names), F.explode(F.sequence(F.lit(1), "weight")))
        _run(session, f"INSERT INTO {self.target} ({_list(names)}) SELECT {_list(_cells(names))} FROM", copies)

    def _merge_by_count(self, session: SparkSession, changes: DataFrame, names: list[str]) -> None:
        """Deletes all copies of each deleted row and inserts those that stay. The source reads the target inside the
        MERGE, at the version that the MERGE itself changes."""
        cells = _cells(names)
        minus = changes.where("weight < 0").alias("s")
        target = session.table(self.target).select(F.lit(1).alias("present"), *map(_as_cell(names), names)).alias("t")
        same = [F.col(f"t.{cell}").eqNullSafe(F.col(f"s.{cell}")) for cell in cells]
        counted = minus.join(target, same, "left").groupBy(*[f"s.{cell}" for cell in cells], "weight")
        stay = F.col("present") + F.col("weight")
        absent = _refusal(
            "ROW_NOT_IN_TARGET", row=_row(names), present=F.col("present").cast("string"), change=F.col("weight")
        )
        # Copy 0 stands for the deletion, copies 1, 2, ... are inserted.
        kept = F.sequence(F.lit(0).cast("bigint"), F.when(stay < 0, absent).otherwise(stay))
        deletions = counted.agg(F.count("present").alias("present")).select(*cells, F.explode(kept).alias("copy"))
        plus = changes.where("weight > 0")
        insertions = plus.select(*cells, F.explode(F.sequence(F.lit(1).cast("bigint"), "weight")).alias("copy"))
        matches = " AND ".join(f"t.{_quoted(name)} <=> s.{cell}" for name, cell in zip(names, cells, strict=True))
        self._merge(
            session,
            deletions.unionByName(insertions),
            f"""ON s.copy = 0 AND {matches}
            WHEN MATCHED THEN DELETE
            WHEN NOT MATCHED AND s.copy > 0 THEN INSERT ({_list(names)}) VALUES ({", ".join(_cells(names, "s."))})""",
        )

    def _merge_by_key(self, session: SparkSession, changes: DataFrame, key: list[int], names: list[str]) -> None:
        """One source row per key, with the row that goes and the row that comes. A target that is not as the changes
        say raises in a value: Delta computes conditions for rows that they are not about, too."""
        cells = list(zip(names, _cells(names), strict=True))
        matches = " AND ".join(f"t.{_quoted(names[i])} <=> s.key{i}" for i in key)
        as_told = " AND ".join(f"t.{_quoted(name)} <=> s.old.{cell}" for name, cell in cells)
        new = [f"s.new.{cell}" for _, cell in cells]
        updated = [
            f"CASE WHEN s.old IS NULL THEN raise_error(s.twice) WHEN {as_told} THEN {new[0]} "
            "ELSE raise_error(s.absent) END",
            *new[1:],
        ]
        inserted = [f"CASE WHEN s.old IS NULL THEN {new[0]} ELSE raise_error(s.absent) END", *new[1:]]
        updates = ", ".join(f"t.{_quoted(name)} = {value}" for name, value in zip(names, updated, strict=True))
        self._merge(
            session,
            changes,
            f"""ON {matches}
            WHEN MATCHED AND s.new IS NULL AND {as_told} THEN DELETE
            WHEN MATCHED THEN UPDATE SET {updates}
            WHEN NOT MATCHED THEN INSERT ({_list(names)}) VALUES ({", ".join(inserted)})""",
        )

    def _merge(self, session: SparkSession, source: DataFrame, clauses: str) -> None:
        _run(session, f"MERGE INTO {self.target} AS t USING", source, f"AS s {clauses}")


def _run(session: SparkSession, before: str, source: DataFrame, after: str = "") -> None:
    """Runs a statement with a DataFrame in its middle. Braces in names are no placeholders."""
    before, after = (text.replace("{", "{{").replace("}", "}}") for text in (before, after))
    session.sql(f"{before} {{source}} {after}", source=source).collect()


# -- the changes of a batch ------------------------------------------------------------------------------------------


def _net(df: DataFrame, names: list[str]) -> DataFrame:
    """Cells ``c0, c1, ...``, their weight (never 0) and whether it is a deletion."""
    values = [F.col(_quoted(name)) for name in df.columns if name not in (CHANGE_TYPE, WEIGHT)]
    cells = _cells(names)
    if WEIGHT in df.columns:
        weight = F.col(WEIGHT).cast("bigint")
        weight = F.when(weight.isNull(), _refusal("UNKNOWN_CHANGE_TYPE", found=F.lit("NULL weight"))).otherwise(weight)
    else:
        told = F.lower(F.col(CHANGE_TYPE))
        unknown = _refusal("UNKNOWN_CHANGE_TYPE", found=F.coalesce(F.col(CHANGE_TYPE), F.lit("NULL")))
        weight = F.when(told.isin(*INSERTS), F.lit(1)).when(told.isin(*DELETES), F.lit(-1)).otherwise(unknown)
    signed = df.select(*[value.alias(cell) for value, cell in zip(values, cells, strict=True)], weight.alias("weight"))
    net = signed.groupBy(*cells).agg(F.sum("weight").alias("weight")).where("weight <> 0")
    return net.withColumn("deletes", (F.col("weight") < 0).cast("int"))


def _by_key(net: DataFrame, key: list[int], names: list[str]) -> DataFrame:
    """Per key the row that goes (``old``) and the row that comes (``new``), with what to say where the target holds
    something else."""
    keys = [F.col(f"c{i}").alias(f"key{i}") for i in key]
    whole, weight = F.struct(*_cells(names)), F.col("weight")
    comes, goes = weight > 0, weight < 0
    grouped = net.groupBy(*keys).agg(
        F.sum(F.when(comes, weight).otherwise(0)).alias("inserts"),
        F.sum(F.when(goes, -weight).otherwise(0)).alias("deletes"),
        F.first(F.when(comes, whole), ignorenulls=True).alias("new"),
        F.first(F.when(goes, whole), ignorenulls=True).alias("old"),
    )
    named = F.to_json(F.struct(*[F.col(f"key{i}").alias(names[i]) for i in key]), _JSON)
    counts = F.concat(F.col("deletes"), F.lit(" deletions and "), F.col("inserts"), F.lit(" insertions in one batch"))
    ambiguous = _refusal("KEY_NOT_UNIQUE", key=named, found=counts)
    return grouped.select(
        *[f"key{i}" for i in key],
        "deletes",
        "new",
        F.when(F.greatest("inserts", "deletes") > 1, ambiguous).otherwise(F.col("old")).alias("old"),
        _told("KEY_NOT_UNIQUE", key=named, found=F.lit("a row of the target and an insertion")).alias("twice"),
        _told("ROW_NOT_IN_TARGET", row=_row(names, "old."), present=F.lit("0"), change=F.lit("-1")).alias("absent"),
    )


# -- errors inside Spark ---------------------------------------------------------------------------------------------

_JSON = {"ignoreNullFields": "false"}
_MARK = "JOINLESS_APPLY_CHANGES."


def _told(what: str, **parameters: Column) -> Column:
    """The text by which `_named_errors` knows an error."""
    cut = [F.substring(value.cast("string"), 1, 1000).alias(name) for name, value in parameters.items()]
    return F.concat(F.lit(f"{_MARK}{what} "), F.to_json(F.struct(*cut), _JSON))


def _refusal(what: str, **parameters: Column) -> Column:
    return F.raise_error(_told(what, **parameters))


@contextmanager
def _named_errors(target: str) -> Iterator[None]:
    """Turns an error raised by `_refusal` back into the one it stands for. PySpark shows errors of tasks in several
    classes and shells; the text is in all of them."""
    try:
        yield
    except Exception as error:
        if found := re.search(rf"{re.escape(_MARK)}([A-Z_]+) (?={{)", str(error)):
            parameters, _ = json.JSONDecoder().raw_decode(str(error), found.end())
            raise ApplyChangesError(found[1], {"target": target, **parameters}) from error
        raise


# -- Delta's transactions --------------------------------------------------------------------------------------------

_TRANSACTION = "spark.databricks.delta.write."


@contextmanager
def _transaction(session: SparkSession, app_id: str, batch_id: int) -> Iterator[None]:
    """Writes of the session inside are a batch of an application to Delta: done once, then skipped."""
    settings = {f"{_TRANSACTION}txnAppId": app_id, f"{_TRANSACTION}txnVersion": str(batch_id)}
    before: dict[str, str | None] = {name: session.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, earlier in before.items():
            if earlier is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, earlier)


def _query_id(session: SparkSession) -> str | None:
    """Id of the streaming query that runs here, which stays the same over restarts; None outside of one."""
    try:
        return session.sparkContext.getLocalProperty("sql.streaming.queryId")
    except PySparkException:  # Spark Connect has no context
        return None


# -- names and types -------------------------------------------------------------------------------------------------


def _cells(names: list[str], prefix: str = "") -> list[str]:
    return [f"{prefix}c{i}" for i in range(len(names))]


def _as_cell(names: list[str]) -> Callable[[str], Column]:
    return lambda name: F.col(_quoted(name)).alias(f"c{names.index(name)}")


def _row(names: list[str], prefix: str = "") -> Column:
    """A whole row as JSON, by the names of the target."""
    cells = zip(_cells(names, prefix), names, strict=True)
    return F.to_json(F.struct(*[F.col(cell).alias(name) for cell, name in cells]), _JSON)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _list(names: list[str]) -> str:
    return ", ".join(map(_quoted, names))


def _fold(session: SparkSession) -> Callable[[str], str]:
    sensitive = session.conf.get("spark.sql.caseSensitive") == "true"
    return str if sensitive else str.lower


def _same(one: DataType, other: DataType) -> bool:
    """Whether two types hold the same values: what is nullable in one may not be in the other."""
    return one.simpleString().lower() == other.simpleString().lower()


def _is_incomparable(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return any(_is_incomparable(field.dataType) for field in kind.fields)
    return isinstance(kind, (MapType, VariantType)) or (
        isinstance(kind, ArrayType) and _is_incomparable(kind.elementType)
    )


def _ddl(columns: Sequence[tuple[str, DataType]]) -> str:
    return ", ".join(f"{_quoted(name)} {kind.simpleString()}" for name, kind in columns)
