"""The replacement of a view's rows by those of another query.

The other query, the *replacement*, is run into a table of its own first, in the folder of the view.
Then the view's table is switched to it. Invariants:

- Until the switch the view has the rows of its query, and may go on.
- The switch is one commit. Its first step writes into the properties of the table which view comes
  (`ViewRecord`), its writer, so that the one before it can no longer write, and that the rows are
  still to be replaced (`joinless.replacing`). Whoever starts the view then does that first.
- Rows that are equal stay: the commit is the difference of both tables. Only where the columns
  differ, all rows are written.
"""

from __future__ import annotations

from contextlib import suppress

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from joinless import _jvm
from joinless._batches import settings
from joinless._detail import Detail
from joinless._net import WEIGHT, quoted
from joinless._record import CHECKPOINT, ViewRecord
from joinless._target import Target
from joinless.apply import Applier

#: The property of a table whose rows are still to be replaced.
_REPLACING = "joinless.replacing"


class Staged:
    """A replacement of a view.

    Args:
        session: the session.
        target: the table of the view.
        location: its folder.
        name: the name of the replacement's checkpoint in this folder.
    """

    def __init__(self, session: SparkSession, target: Target, location: str, name: str) -> None:
        self.session, self.target, self.location, self.name = session, target, location.rstrip("/"), name
        self.checkpoint = f"{self.location}/{name}"
        self.rows = f"delta.{quoted(f'{self.checkpoint}_rows')}"

    @staticmethod
    def new(session: SparkSession, target: Target, location: str, view: ViewRecord) -> Staged:
        """A replacement of a view, with folders of its own. The folders of all others are removed,
        except the checkpoint of the view.
        """
        present = view.checkpoint or CHECKPOINT
        _jvm.keep_folders(session, location, [present])
        return Staged(session, target, location, _numbered(_number(present) + 1))

    @staticmethod
    def begun(session: SparkSession, target: Target, there: Detail | None) -> Staged | None:
        """The replacement that a table has begun to switch to, by what `Target.found` returns; None
        if it has not.
        """
        if there is None or _REPLACING not in there.properties:
            return None
        return Staged(session, target, there.location, there.properties[_REPLACING])

    def fill(self, deltas: DataFrame, key: list[str], name: str, cells: int | None) -> None:
        """Runs a query of this name until it has the rows that are there.

        Args:
            cells: into how many cells its joins are divided at most, and its groups; None to choose.
        """
        rows = Target(self.rows)
        rows.check_new(deltas, key)
        # CREATE TABLE would take a path in the folder of another table for a partition of it
        columns = [StructField(f.name, f.dataType) for f in deltas.drop(WEIGHT).schema.fields]
        empty = self.session.createDataFrame([], StructType(columns))
        empty.write.format("delta").save(f"{self.checkpoint}_rows")
        writer = deltas.writeStream.foreachBatch(Applier(rows, key or None, None, shared=False))
        writer = writer.queryName(name).option("checkpointLocation", self.checkpoint)
        with settings(self.session, {} if cells is None else _of_cells(cells)):  # a query keeps those of its start
            query = writer.trigger(availableNow=True).start()
        query.awaitTermination()

    def switch(self, view: ViewRecord, before: ViewRecord) -> None:
        """Makes the replacement the view of the table. The query of the view before stops."""
        writer = _jvm.query_of(self.session, self.checkpoint)
        if (old := self.target.writer(self.session)) is not None:
            with suppress(PySparkException):  # it runs in another application, or not at all
                _jvm.active_query(old).stop()
        self.target.record(self.session, view, before, writer=writer, replacing=self.name)
        self.finish()

    def finish(self) -> None:
        """Replaces the rows, unless that is done, and removes their copy. The checkpoint of the query
        before stays until the next replacement, for one that still runs in another application: it
        stops with an error that says why.
        """
        old, new = self.session.table(self.target.name), self.session.table(self.rows)
        writer = f"replacement-{_jvm.query_of(self.session, self.checkpoint)}"
        if self.target.has_columns(new):
            signed = _signed(new.select(*map(quoted, old.columns)), 1).unionAll(_signed(old, -1))
            Applier(self.target, None, writer, shared=True)(signed, 0)
        else:
            self._overwrite(new, writer)
        self.target.forget(self.session, [_REPLACING])
        kept = [self.name, _numbered(_number(self.name) - 1)]
        _jvm.keep_folders(self.session, self.location, kept)

    def _overwrite(self, rows: DataFrame, writer: str) -> None:
        detail = self.target.detail(self.session)
        stay = [name for name in detail.partition_columns if name in rows.columns]
        (
            rows.write.format("delta")
            .mode("overwrite")
            .option("overwriteSchema", True)
            .option("txnAppId", writer)
            .option("txnVersion", 0)
            .partitionBy(*stay)
            .save(self.location)
        )


def _of_cells(cells: int) -> dict[str, str]:
    """The settings by which a new checkpoint has so many cells."""
    placement = "spark.joinless.placement"
    return {
        "spark.sql.shuffle.partitions": str(cells),
        f"{placement}.maxCells": str(cells),
        f"{placement}.shares": "",
    }


def _number(checkpoint: str) -> int:
    """The number of a checkpoint in the folder of its table; 1 for the first, and for one elsewhere."""
    _, _, number = checkpoint.rpartition(f"{CHECKPOINT}_")
    return int(number) if number.isdecimal() and checkpoint == _numbered(int(number)) else 1


def _numbered(number: int) -> str:
    return CHECKPOINT if number == 1 else f"{CHECKPOINT}_{number}"


def _signed(df: DataFrame, weight: int) -> DataFrame:
    return df.withColumn(WEIGHT, F.lit(weight).cast("bigint"))
