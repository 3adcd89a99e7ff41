"""`verify`: whether the table of a view is equal to its query."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from joinless import _arguments, _door
from joinless.tables import active


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
        return f"{there}: {_rows(self.missing)} missing and {self.extra} extra after batch {self.batch}"


def _rows(number: int) -> str:
    return "1 row is" if number == 1 else f"{number} rows are"


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
    """
    _arguments.text("joinless.verify", "view", view)
    _arguments.text("joinless.verify", "query", query, optional=True)
    session = active("joinless.verify")
    return Verification(view, **_door.of_session(session).verify(session, view, query))
