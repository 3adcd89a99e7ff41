"""`verify`: whether the table of a view is equal to its query."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, FloatType

from joinless import _arguments, _jvm
from joinless._batches import newest
from joinless._net import cells, quoted
from joinless._target import Target, folding
from joinless.errors import ViewError
from joinless.tables import active

#: Two sums of floating-point numbers in another order differ by less than this part of them.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Verification:
    """The table of a view, compared with its query.

    Attributes:
        view: the table.
        version: the version of the table that was read.
        batch: the batch of the view that the version contains. The query was run over the versions
            of its tables that this batch has read.
        rows: the number of rows of the table.
        missing: rows of the query's result that the table lacks, copies counted.
        extra: rows of the table that are not in the query's result, copies counted.
        rounded: rows that differ only in the last digits of FLOAT and DOUBLE columns. Spark's sums
            of such numbers depend on the order of the rows. They count as equal.
        differences: the missing and the extra rows: the columns of the table, ``_in_table`` and
            ``_in_query``, the number of copies in each. It is computed when it is read.
    """

    view: str
    version: int
    batch: int
    rows: int
    missing: int
    extra: int
    rounded: int
    differences: DataFrame = field(repr=False, compare=False)

    @property
    def is_equal(self) -> bool:
        """Whether the table is equal to the query."""
        return self.missing == self.extra == 0

    def __str__(self) -> str:
        there = f"{self.view}, version {self.version}, {self.rows} rows"
        if self.is_equal:
            return f"{there}: equal to its query after batch {self.batch}"
        return f"{there}: {self.missing} rows are missing and {self.extra} are extra after batch {self.batch}"


def verify(view: str, query: str | None = None) -> Verification:
    """Compares the table of a view with its query.

    It runs the query as batch SQL, over the versions of its Delta tables that the view has read.
    The view may be running or stopped, and behind its tables. Nothing is changed.

    >>> query = joinless.materialize("SELECT dst, COUNT(*) AS n FROM links GROUP BY dst", "per_dst")
    >>> query.processAllAvailable()
    >>> joinless.verify("per_dst").is_equal
    True

    Args:
        view: the table that `materialize` keeps, by its name or as ``delta.`/path` ``.
        query: the text of a query over Delta tables. By default the one that was given to
            `materialize`, in the database that was current then.

    Returns:
        The number of rows that differ, and the rows.

    Raises:
        ViewError: ``JOINLESS_VIEW.NOT_A_VIEW`` if `materialize` does not keep the table,
            ``NO_QUERY`` if it was given a DataFrame or reads one, and no text is given here,
            ``NO_BATCH`` before the first batch has ended, ``COLUMNS`` if `query` has other columns.
        AnalysisException: ``JOINLESS_VIEW.STREAM`` if the query reads a stream, ``FIRST_ROWS``
            while the view has read only a part of a table's first rows, ``REPLACED`` if a table was
            created anew, ``VERSIONS`` if the view has read several versions of a table. Spark's
            errors if the view, a table, or a version of it does not exist.
        TypeError, ValueError: an argument of another type or value, or no session is active.
        ExtensionNotInstalledError: the session runs without Joinless.
        ConnectUnsupportedError: the active session is Spark Connect's.
    """
    _arguments.text("joinless.verify", "view", view)
    _arguments.text("joinless.verify", "query", query, optional=True)
    session = active("joinless.verify")
    there, record = Target(view).view(session)
    columns = session.table(view).columns
    text, database = (record.query, record.database) if query is None else (query, None)
    if text is None or (query is None and record.given):
        given = f" that reads DataFrames ({', '.join(record.given)})" if record.given else " given as a DataFrame"
        raise ViewError("NO_QUERY", view=view, given=given)
    checkpoint = record.folder(there.location)
    # What is committed is read before the version: later batches up to the one of the version's
    # newest note have changed it, and none in between has.
    committed = _jvm.committed(session, checkpoint)
    if committed is None:
        raise ViewError("NO_BATCH", view=view)
    version, note = newest(session, view, _jvm.query_of(session, checkpoint))
    batch = committed if note is None else max(committed, note.batch)
    expected = _jvm.sql_at(session, text, database, checkpoint, batch)
    folded = folding(session)
    named = {folded(name): name for name in expected.columns}
    if len(named) != len(expected.columns) or set(named) != {folded(name) for name in columns}:
        raise ViewError("COLUMNS", view=view, columns=", ".join(columns), found=", ".join(expected.columns))
    actual = session.sql(f"SELECT * FROM {view} VERSION AS OF {version}")
    compared = _compared(actual, expected.select(*[quoted(named[folded(name)]) for name in columns]))
    rows, missing, extra, rounded = _totals(compared)
    differing = compared.where("in_table <> in_query AND NOT rounded")
    renamed = [F.col(cell).alias(name) for cell, name in zip(cells(columns), columns, strict=True)]
    differences = differing.select(*renamed, F.col("in_table").alias("_in_table"), F.col("in_query").alias("_in_query"))
    return Verification(view, version, batch, rows, missing, extra, rounded, differences)


def _compared(actual: DataFrame, expected: DataFrame) -> DataFrame:
    """One row for all equal ones, as cells: its copies in both, and whether it differs from one of
    the other side by rounding only.
    """
    names = cells(actual.columns)
    sides = [
        side.toDF(*names).select("*", F.lit(one).alias("in_table"), F.lit(1 - one).alias("in_query"))
        for side, one in ((actual, 1), (expected, 0))
    ]
    counted = sides[0].unionByName(sides[1]).groupBy(*names)
    both = counted.agg(F.sum("in_table").alias("in_table"), F.sum("in_query").alias("in_query"))
    kinds = zip(names, actual.schema.fields, strict=True)
    floats = [cell for cell, column in kinds if isinstance(column.dataType, (FloatType, DoubleType))]
    if not floats:
        return both.withColumn("rounded", F.lit(False))
    differs, here, there = "in_table <> in_query", F.expr("in_table > in_query"), F.expr("in_table < in_query")
    others = Window.partitionBy(F.expr(differs), *[cell for cell in names if cell not in floats])
    alone = (F.sum("in_table").over(others) == 1) & (F.sum("in_query").over(others) == 1)
    for cell in floats:
        one, other = (F.max(F.when(side, F.col(cell))).over(others) for side in (here, there))
        error, size = F.abs(one - other), F.greatest(F.abs(one), F.abs(other))
        near = (error <= size * _ROUNDING) & (error < F.lit(float("inf")))  # NaN is greater than all
        alone &= one.eqNullSafe(other) | near
    return both.withColumn("rounded", F.expr(differs) & F.coalesce(alone, F.lit(False)))


def _totals(compared: DataFrame) -> tuple[int, int, int, int]:
    """The rows of the table, those that are missing, extra, and rounded."""
    differs = ~F.col("rounded")
    more = F.col("in_table") - F.col("in_query")
    totals = compared.agg(
        F.sum("in_table"),
        F.sum(F.when(differs, F.greatest(-more, F.lit(0)))),
        F.sum(F.when(differs, F.greatest(more, F.lit(0)))),
        F.sum(F.when(F.col("rounded"), F.greatest(more, F.lit(0)))),
    ).collect()[0]
    rows, missing, extra, rounded = (int(total or 0) for total in totals)
    return rows, missing, extra, rounded
