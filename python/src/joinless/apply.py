"""Keeps a Delta table equal to the result of a query, from the net changes of each batch.

Let ``R`` be the target as a bag and ``D`` the signed bag of a batch. The function of
`apply_changes` makes the target ``R + D`` in one commit, or raises and leaves it ``R``. Invariants:

- The batch is computed once, by one action that reads all its partitions.
- Each commit is a Delta transaction with (app id, batch id), so that a batch that runs again
  changes nothing. The commit also records when the batch was planned. Another batch of that number,
  from an older copy of the checkpoint, fails.
- If the target would differ from ``R + D``, the commit itself fails, not a check before it: no
  other writer can commit in between. Batch 0 fails in the same way if the target is not empty; as a
  repetition it is skipped, like any other batch.
- Of two writers that found the target empty, the later one fills it. Batch 0 records its writer in
  the table before it checks for rows, and each later batch reads that record.
- Values are stored unchanged: −0.0 stays −0.0, and a row is deleted only if it also equals the
  deleted row in the sign of its zeros.

Cost: with a key, one MERGE on it. Without a key, a batch that deletes reads the target once more,
to count copies, and a batch that only inserts is appended. A batch without changes writes nothing.
Only public PySpark and Delta SQL are used, and Joinless's own jar, if present, for the time when a
batch was planned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from joinless import _arguments, _jvm, _net
from joinless._batches import BatchNote, transaction
from joinless._net import cells, quoted
from joinless._refusals import JSON, named_errors, refusal
from joinless._target import Target, is_lost


def apply_changes(
    target: str, key: str | Sequence[str] | None = None, *, app_id: str | None = None, shared: bool = False
) -> Callable[[DataFrame, int], None]:
    """Returns a ``foreachBatch`` function that applies the changes of each batch to a Delta table.

    >>> pairs = spark.sql("SELECT a.src, b.dst FROM follows a JOIN follows b ON a.dst = b.src")
    >>> writer = pairs.incrementalEnumerate().writeStream.foreachBatch(joinless.apply_changes("reached"))
    >>> query = writer.option("checkpointLocation", checkpoint + "-reached").start()
    >>> query.processAllAvailable()
    >>> spark.table("reached").collect()
    [Row(src=1, dst=3)]

    The rows of a batch have the target's columns and either ``_change_type`` (``insert``,
    ``delete``, and the update images of Delta and Spark, in upper or lower case) or
    ``_weight BIGINT``. They need not be net.

    Args:
        target: a Delta table, by its name or as ``delta.`/path` `` in SQL's spelling. It exists, is
            empty when the query is new, and has exactly the columns of the query, in any order.
        key: columns that are unique in the result. A deleted and an inserted row with the same key
            become one update; NULL is a key like others. Without a key the target is a bag: of *m*
            copies, *m - k* remain after *k* were deleted.
        app_id: the name under which Delta remembers the batches of this writer in the target; by
            default the id of the streaming query, which is stored in its checkpoint. Needed if one
            query writes twice into a table, and outside of streaming. Batch ids of one name must
            never restart: a batch that is not newer than the last one counts as a repetition and is
            skipped.
        shared: other writers fill the table, too, so it need not be empty when this query is new.
            Their rows stay; a key must be unique over all rows.

    Returns:
        A function of a DataFrame and a batch id.

    Raises (from the function, with nothing written):
        ApplyChangesError: ``JOINLESS_APPLY_CHANGES.`` and the problem: the target does not exist,
            is not a Delta table, has other columns, is not empty in batch 0, is filled by another
            query or would not preserve a value; the key is not unique; a deleted row is not in the
            target. docs/reference.md lists them all.
        TypeError, ValueError: from `apply_changes` itself, an argument of another type or value.
    """
    _arguments.text("joinless.apply_changes", "target", target)
    _arguments.text("joinless.apply_changes", "app_id", app_id, optional=True)
    _arguments.flag("joinless.apply_changes", "shared", shared)
    return Applier(Target(target), _arguments.as_columns("joinless.apply_changes", "key", key), app_id, shared)


class Applier:
    """The function that `apply_changes` returns."""

    def __init__(self, target: Target, key: list[str] | None, app_id: str | None, shared: bool) -> None:
        self.target, self.key, self.app_id, self.shared = target, key, app_id, shared
        self.partitions: list[str] | None = None  # the target's partition columns; not known yet
        self.key_is_unique = False

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        """Applies the changes of a batch."""
        _arguments.batch("joinless.apply_changes", df, batch_id)
        session = df.sparkSession
        query_id = _query_id(session)
        app_id = self.app_id or query_id
        if app_id is None:
            raise self.target.error("NO_APP_ID")
        planned = None if query_id is None else _jvm.planned_at(session, query_id, batch_id)
        note = BatchNote(app_id, batch_id, planned)
        columns = self.target.columns_of(df)
        names = list(columns)
        if self.partitions is None:
            self.partitions = list(self.target.detail(session).partition_columns)
            if planned is not None:  # the first batch after a start: only there a checkpoint can be another one
                self.target.check_batch(session, note)
        net = _net.net(df, names)
        key = None if self.key is None else self.target.resolved_key(session, self.key, names)
        changes = (net if key is None else _net.by_key(net, key, names)).persist()
        # Batch 0 is the first of a checkpoint: the target must be as the checkpoint, empty.
        must_be_empty = batch_id == 0 and not self.shared
        try:
            with named_errors(self.target.name):
                totals = [F.count(F.lit(1)).alias("all"), F.sum("deletes").alias("deletes")]
                deletes = changes.agg(*totals, self._lost(columns, key is not None).alias("lost")).first()
                if deletes is not None and deletes["lost"] is not None:
                    raise self.target.error("VALUE_NOT_KEPT", value=deletes["lost"])
                if must_be_empty:
                    self.target.claim(session, app_id)
                if deletes is None or deletes["all"] == 0:
                    if must_be_empty and not self.target.is_empty(session):
                        raise self.target.error("TARGET_NOT_EMPTY")
                    return
                if not must_be_empty and not self.shared:
                    self.target.check_writer(session, note)
                if key is not None and not must_be_empty:
                    self._check_key(session, [names[i] for i in key])
                source = self._on_empty_target(session, changes) if must_be_empty else changes
                with transaction(session, note):
                    if key is not None:
                        self._merge_by_key(session, source, key, columns)
                    elif deletes["deletes"]:
                        self._merge_by_count(session, source, columns)
                    else:
                        self._append(session, source, names)
        finally:
            changes.unpersist()

    def _lost(self, columns: dict[str, DataType], by_key: bool) -> Column:
        """An inserted value that the target would not preserve, as JSON; NULL if there is none."""
        inserted = cells(list(columns), "new." if by_key else "")
        lost = [
            F.when(F.expr(condition), F.to_json(F.struct(F.col(cell).alias(name)), JSON))
            for cell, (name, kind) in zip(inserted, columns.items(), strict=True)
            if name in (self.partitions or ()) and (condition := is_lost(cell, kind))
        ]
        if not lost:
            return F.lit(None).cast("string")
        return F.first(
            F.coalesce(*lost) if by_key else F.when(F.col("weight") > 0, F.coalesce(*lost)), ignorenulls=True
        )

    def _check_key(self, session: SparkSession, key: list[str]) -> None:
        """Checks once per function that the key of the target is unique;
        every later batch keeps it so.
        """
        if not self.key_is_unique:
            self.target.check_key(session, key)
            self.key_is_unique = True

    def _on_empty_target(self, session: SparkSession, rows: DataFrame) -> DataFrame:
        """The rows, which cannot be read if the target holds any. Delta skips a
        repeated batch before it reads.
        """
        there = session.table(self.target.name).limit(1).agg(F.count(F.lit(1)).alias("there"))
        empty = F.when(F.col("there") > 0, refusal("TARGET_NOT_EMPTY")).otherwise(F.lit(True))
        return rows.crossJoin(there).where(empty.cast("boolean")).drop("there")

    # -- the three ways to write ----------------------------------------------------------------

    def _append(self, session: SparkSession, changes: DataFrame, names: list[str]) -> None:
        copies = changes.select(*cells(names), F.explode(F.sequence(F.lit(1), "weight")))
        _run(session, f"INSERT INTO {self.target.name} ({_list(names)}) SELECT {_list(cells(names))} FROM", copies)

    def _merge_by_count(self, session: SparkSession, changes: DataFrame, columns: dict[str, DataType]) -> None:
        """Deletes all copies of each deleted row and inserts those that stay. The source reads the
        target inside the MERGE, at the version that the MERGE itself changes.
        """
        names = list(columns)
        row_cells = cells(names)
        minus = changes.where("weight < 0").alias("s")
        as_cells = [F.col(quoted(name)).alias(cell) for name, cell in zip(names, row_cells, strict=True)]
        target = session.table(self.target.name).select(F.lit(1).alias("present"), *as_cells).alias("t")
        equal = [
            F.expr(_net.same(f"t.{c}", f"s.{c}", kind)) for c, kind in zip(row_cells, columns.values(), strict=True)
        ]
        found = minus.join(target, equal, "left").select(*[f"s.{cell}" for cell in row_cells], "weight", "present")
        counted = _net.grouped(found, [*row_cells, "weight"], F.count("present").alias("present"))
        stay = F.col("present") + F.col("weight")
        absent = refusal(
            "ROW_NOT_IN_TARGET", row=_net.row(names), present=F.col("present").cast("string"), change=F.col("weight")
        )
        # Copy 0 stands for the deletion, copies 1, 2, ... are inserted.
        kept = F.sequence(F.lit(0).cast("bigint"), F.when(stay < 0, absent).otherwise(stay))
        deletions = counted.select(*row_cells, F.explode(kept).alias("copy"))
        plus = changes.where("weight > 0")
        insertions = plus.select(*row_cells, F.explode(F.sequence(F.lit(1).cast("bigint"), "weight")).alias("copy"))
        self._merge(
            session,
            deletions.unionByName(insertions),
            f"""ON s.copy = 0 AND {_matches(columns, "s.")}
            WHEN MATCHED THEN DELETE
            WHEN NOT MATCHED AND s.copy > 0 THEN INSERT ({_list(names)}) VALUES ({", ".join(cells(names, "s."))})""",
        )

    def _merge_by_key(
        self, session: SparkSession, changes: DataFrame, key: list[int], columns: dict[str, DataType]
    ) -> None:
        """One source row per key, with the deleted row and the inserted row. If the target does not
        match the changes, the error is raised in a value: Delta also evaluates conditions for rows
        to which they do not apply.
        """
        names = list(columns)
        matches = " AND ".join(f"t.{quoted(names[i])} <=> s.key{i}" for i in key)
        as_deleted = _matches(columns, "s.old.")
        new = cells(names, "s.new.")
        updated = [
            f"CASE WHEN s.old IS NULL THEN raise_error(s.twice) WHEN {as_deleted} THEN {new[0]} "
            "ELSE raise_error(s.absent) END",
            *new[1:],
        ]
        inserted = [f"CASE WHEN s.old IS NULL THEN {new[0]} ELSE raise_error(s.absent) END", *new[1:]]
        updates = ", ".join(f"t.{quoted(name)} = {value}" for name, value in zip(names, updated, strict=True))
        self._merge(
            session,
            changes,
            f"""ON {matches}
            WHEN MATCHED AND s.new IS NULL AND {as_deleted} THEN DELETE
            WHEN MATCHED THEN UPDATE SET {updates}
            WHEN NOT MATCHED THEN INSERT ({_list(names)}) VALUES ({", ".join(inserted)})""",
        )

    def _merge(self, session: SparkSession, source: DataFrame, clauses: str) -> None:
        _run(session, f"MERGE INTO {self.target.name} AS t USING", source, f"AS s {clauses}")


def _run(session: SparkSession, before: str, source: DataFrame, after: str = "") -> None:
    """Runs a statement with a DataFrame in its middle. Braces in names are no placeholders."""
    before, after = (text.replace("{", "{{").replace("}", "}}") for text in (before, after))
    session.sql(f"{before} {{source}} {after}", source=source).collect()


def _matches(columns: dict[str, DataType], prefix: str) -> str:
    """SQL that tests whether a row of the target `t` is the one in the cells."""
    pairs = zip(columns.items(), cells(list(columns), prefix), strict=True)
    return " AND ".join(_net.same(f"t.{quoted(name)}", cell, kind) for (name, kind), cell in pairs)


def _list(names: list[str]) -> str:
    return ", ".join(map(quoted, names))


def _query_id(session: SparkSession) -> str | None:
    """The id of the streaming query that runs here; it is the same after a
    restart. None outside of one.
    """
    try:
        return session.sparkContext.getLocalProperty("sql.streaming.queryId")
    except PySparkException:  # Spark Connect has no context
        return None
