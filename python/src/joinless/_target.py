"""Conditions on the target of `apply_changes` and on a batch's columns,
checked before a row is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    VariantType,
)

from joinless import _jvm
from joinless._batches import BatchNote, newest
from joinless._detail import Detail, detail
from joinless._net import CHANGE_TYPE, WEIGHT, literal, quoted
from joinless._record import ViewRecord
from joinless._refusals import JSON
from joinless.errors import ApplyChangesError

#: Errors of Spark or Delta in a session without Delta, or with an incomplete one.
_LACKS_DELTA = re.compile(r"\[(DATA_SOURCE_NOT_FOUND|DELTA_CONFIGURE_SPARK_SESSION\w*)\] [^.\n]*")

#: The property of a target that names the writer which found it empty: the app id of its commits.
_WRITER = "joinless.writer"

#: The metadata field in which Spark keeps the declared type of a column of strings.
_DECLARED = "__CHAR_VARCHAR_TYPE_STRING"


class Target:
    """A Delta table, by the name that statements use."""

    def __init__(self, name: str) -> None:
        self.name = name

    def error(self, what: str, **parameters: str) -> ApplyChangesError:
        """An error about this table."""
        return ApplyChangesError(what, {"target": self.name, **parameters})

    def found(self, session: SparkSession) -> Detail | None:
        """Returns what Delta says of the table, or None if there is no such table. Raises if it is
        another one than a Delta table.
        """
        try:
            there = bool(session.table(self.name).columns)
        except ParseException as error:
            raise self.error("TARGET_NAME") from error
        except AnalysisException:
            return None
        return self.detail(session) if there else None

    def view(self, session: SparkSession) -> tuple[Detail, ViewRecord]:
        """Returns what Delta says of the table, and the view that it names. Raises Spark's error if
        there is no such table, and `ViewError` if it names no view.
        """
        record = ViewRecord.read(_jvm.view(session, self.name))
        return self.detail(session), record

    def create(self, changes: DataFrame, key: Sequence[str], view: ViewRecord, there: Detail | None) -> str:
        """Creates the table of a view with the columns of its changes, if it does not exist and its
        checkpoint has not begun. Returns the folder of the table.

        Before that, it checks the columns and the key, so that no table is created to which the
        changes cannot be applied. An existing table must be empty if the checkpoint is new. The
        commit of batch 0 checks that again.

        Args:
            changes: the changes of the view's result.
            key: columns that were given as its key.
            view: the view.
            there: what `found` returns.
        """
        session = changes.sparkSession
        if there is not None:
            self._check_existing(changes, key, view, there)
            return there.location
        if view.checkpoint is not None and _has_entries(session, view.checkpoint, "commits"):
            raise self.error("TARGET_GONE", checkpoint=view.checkpoint)
        self.check_new(changes, key)
        named = f"({_ddl(_columns(changes))}) USING delta TBLPROPERTIES {_properties(view.properties())}"
        try:
            session.sql(f"CREATE TABLE IF NOT EXISTS {self.name} {named}")
        except Exception as error:  # without Delta's classes it is raised as py4j's, not as Spark's
            if found := _LACKS_DELTA.search(str(error)):
                raise self.error("NO_DELTA", found=found[0].strip()) from error
            raise
        return self.detail(session).location

    def _check_existing(self, changes: DataFrame, key: Sequence[str], view: ViewRecord, there: Detail) -> None:
        session = changes.sparkSession
        self.resolved_key(session, key, [name for name, _ in _columns(changes)])
        self.check_not_read(changes, there)
        self.columns_of(changes)
        # The table may already contain a batch that was begun: it runs
        # again, and Delta skips it.
        if not _has_entries(session, view.folder(there.location), "offsets") and not self.is_empty(session):
            raise self.error("TARGET_NOT_EMPTY")

    def check_new(self, changes: DataFrame, key: Sequence[str]) -> None:
        """Raises if no table can have the columns of these changes, or they lack one of the key."""
        columns = _columns(changes)
        self.resolved_key(changes.sparkSession, key, [name for name, _ in columns])
        self._check_types(columns)
        if unnamed := next((name for name, _ in columns if re.search(r"[ ,;{}()\n\t=]", name)), None):
            raise self.error("COLUMN_NAME", column=unnamed)

    def check_not_read(self, changes: DataFrame, there: Detail) -> None:
        """Raises if the query reads the table, by its name or by its folder."""
        session = changes.sparkSession
        fold, name, folder = folding(session), there.name, _plain(there.location)
        for place in _jvm.places(changes):
            if name is None and not _plain(place).startswith("/"):  # another name of the folder
                with suppress(ApplyChangesError):
                    place = Target(".".join(map(quoted, place.split(".")))).detail(session).location
            if _plain(place) == folder or (name is not None and fold(place) == fold(name)):
                raise self.error("TARGET_IS_READ")

    def columns_of(self, df: DataFrame) -> dict[str, DataType]:
        """The columns of a batch by the target's names, in the order of the batch."""
        marks = [name for name in (CHANGE_TYPE, WEIGHT) if name in df.columns]
        if len(marks) != 1:
            raise self.error("NO_CHANGES", columns=", ".join(df.columns))
        fold = folding(df.sparkSession)
        given = _columns(df)
        self._check_types(given)
        schema = self._schema(df)
        wanted = {fold(f.name): (f.name, f.dataType) for f in schema.fields}
        if not _fits(fold, given, schema):
            raise self.error("COLUMNS_DIFFER", result=_ddl(given), columns=_ddl(list(wanted.values())))
        for field in schema.fields:
            if re.search(r"\bchar\(", _declared(field)):
                raise self.error("PADDED_TYPE", column=field.name, type=_declared(field))
        return {wanted[fold(name)][0]: kind for name, kind in given}

    def has_columns(self, df: DataFrame) -> bool:
        """Whether the columns of the table and those of a batch have the same names and types."""
        return _fits(folding(df.sparkSession), _columns(df), self._schema(df))

    def _check_types(self, columns: Sequence[tuple[str, DataType]]) -> None:
        for name, kind in columns:
            if _is_incomparable(kind):
                raise self.error("UNSUPPORTED_TYPE", column=name, type=kind.simpleString())

    def resolved_key(self, session: SparkSession, key: Sequence[str], names: list[str]) -> list[int]:
        """The positions of the key columns."""
        fold = folding(session)
        folded = [fold(name) for name in names]
        unknown = [name for name in key if fold(name) not in folded]
        if unknown:
            raise self.error("UNKNOWN_KEY", key=", ".join(unknown), columns=", ".join(names))
        return [folded.index(fold(name)) for name in key]

    def detail(self, session: SparkSession) -> Detail:
        """Returns what Delta says of the table. Raises if it is not a Delta table."""
        try:
            found = detail(session, self.name)
        except PySparkException as error:
            raise self.error("TARGET_NOT_DELTA", format="not known to Delta") from error
        if isinstance(found, str):
            raise self.error("TARGET_NOT_DELTA", format=found)
        return found

    def is_empty(self, session: SparkSession) -> bool:
        """Whether the table holds no row. Without files that is known without a job."""
        return self.detail(session).files == 0 or session.table(self.name).isEmpty()

    def record(self, session: SparkSession, view: ViewRecord, before: ViewRecord | None, **others: str) -> None:
        """Records the view that fills the table in place of the one that it names, and other
        properties with it.
        """
        named = view.properties() | {f"joinless.{name}": value for name, value in others.items()}
        session.sql(f"ALTER TABLE {self.name} SET TBLPROPERTIES {_properties(named)}")
        self.forget(session, [name for name in (before.properties() if before else ()) if name not in named])

    def forget(self, session: SparkSession, names: Sequence[str]) -> None:
        """Removes properties of the table."""
        if names:
            session.sql(f"ALTER TABLE {self.name} UNSET TBLPROPERTIES IF EXISTS ({', '.join(map(literal, names))})")

    def claim(self, session: SparkSession, app_id: str) -> None:
        """Records in the table that this writer fills it, if the table is empty. A writer that
        found it empty before and is alive detects that by `check_writer`. A table that holds rows
        is left alone: its commit refuses it, or skips a batch that runs again.
        """
        if self.writer(session) != app_id and self.is_empty(session):
            session.sql(f"ALTER TABLE {self.name} SET TBLPROPERTIES ('{_WRITER}' = {literal(app_id)})")

    def check_writer(self, session: SparkSession, note: BatchNote) -> None:
        """Raises if another writer has found the table empty since this one did, or if this writer
        never began with the table: it is another table, or was created anew. Outside of streams it
        is unknown whether batch 0 has run.
        """
        writer = self.writer(session)
        if writer is None and note.planned is not None:
            raise self.error("TARGET_REPLACED", batch=str(note.batch), app_id=note.writer)
        if writer not in (None, note.writer):
            raise self.error("TARGET_TAKEN", writer=str(writer), app_id=note.writer)

    def writer(self, session: SparkSession) -> str | None:
        """The writer that the table names; None if only shared writers began it."""
        properties = session.sql(f"SHOW TBLPROPERTIES {self.name}").collect()
        return next((str(row["value"]) for row in properties if row["key"] == _WRITER), None)

    def check_batch(self, session: SparkSession, note: BatchNote) -> None:
        """Raises if the table holds a later batch of this writer, or another one of this number.
        Then the checkpoint is older than the one that filled the table, and Delta would skip the
        batch as a repetition.
        """
        _, last = newest(session, self.name, note.writer)
        if last is None or last.batch < note.batch:
            return
        if last.batch > note.batch or last.planned != note.planned:
            raise self.error("CHECKPOINT_BEHIND", newest=str(last.batch), batch=str(note.batch), app_id=note.writer)

    def check_key(self, session: SparkSession, names: list[str]) -> None:
        """Raises if two rows have the same key."""
        columns = [F.col(quoted(name)) for name in names]
        twice = session.table(self.name).groupBy(*columns).count().where("count > 1").limit(1)
        for row in twice.select(F.to_json(F.struct(*columns), JSON).alias("key"), "count").collect():
            raise self.error("KEY_NOT_UNIQUE", key=row["key"], found=f"{row['count']} rows of the target")

    def _schema(self, df: DataFrame) -> StructType:
        try:
            return df.sparkSession.table(self.name).schema
        except AnalysisException as error:
            raise self.error("TARGET_NOT_FOUND", columns=_ddl(_columns(df))) from error


def is_lost(value: str, kind: DataType) -> str | None:
    """SQL that tests whether Delta reads a value of a partition column back as another one; None
    for types whose values it preserves. Delta writes the values as texts. An empty text or the
    folder name for NULL is read as NULL, bytes that are no UTF-8 as other bytes, of an hour that a
    clock has twice only the first, and no time before year 1 in UTC.
    """
    if isinstance(kind, (StringType, BinaryType)):
        text = f"CAST({value} AS STRING)"
        return f"({text} IN ('', '__HIVE_DEFAULT_PARTITION__') OR NOT is_valid_utf8({text}))"
    if isinstance(kind, TimestampType):
        first = f"{value} < TIMESTAMP'0001-01-01 00:00:00Z'"
        return f"({first} OR CAST(CAST({value} AS STRING) AS TIMESTAMP) <> {value})"
    return None


def _plain(path: str) -> str:
    return path.removeprefix("file:").rstrip("/")


def _columns(changes: DataFrame) -> list[tuple[str, DataType]]:
    """The columns whose changes are emitted."""
    return [(f.name, f.dataType) for f in changes.schema.fields if f.name not in (CHANGE_TYPE, WEIGHT)]


def _has_entries(session: SparkSession, checkpoint: str, log: str) -> bool:
    """Whether the checkpoint has begun (`offsets`) or completed (`commits`) batches."""
    try:
        return not session.read.text(f"{checkpoint}/{log}").isEmpty()
    except AnalysisException:  # the folder does not exist
        return False


def _properties(named: Mapping[str, str]) -> str:
    return "(" + ", ".join(f"{literal(name)} = {literal(value)}" for name, value in named.items()) + ")"


def folding(session: SparkSession) -> Callable[[str], str]:
    """Maps names that are one name in the session to one text."""
    sensitive = session.conf.get("spark.sql.caseSensitive") == "true"
    return str if sensitive else str.lower


def _fits(fold: Callable[[str], str], given: list[tuple[str, DataType]], schema: StructType) -> bool:
    wanted = {fold(f.name): f.dataType for f in schema.fields}
    return len(given) == len(wanted) == len({fold(name) for name, _ in given}) and all(
        fold(name) in wanted and _same(wanted[fold(name)], kind) for name, kind in given
    )


def _same(one: DataType, other: DataType) -> bool:
    """Whether two types hold the same values: nullability may differ."""
    return one.simpleString().lower() == other.simpleString().lower()


def _declared(field: StructField) -> str:
    return str((field.metadata or {}).get(_DECLARED, field.dataType.simpleString()))


def _is_incomparable(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return any(_is_incomparable(field.dataType) for field in kind.fields)
    return isinstance(kind, (MapType, VariantType)) or (
        isinstance(kind, ArrayType) and _is_incomparable(kind.elementType)
    )


def _ddl(columns: Sequence[tuple[str, DataType]]) -> str:
    return ", ".join(f"{quoted(name)} {kind.simpleString()}" for name, kind in columns)
