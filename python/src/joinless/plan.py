"""The plan of a query that need not run: join trees, or reasons why joins stay with Spark."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from joinless import _arguments, _door, _steps, picture
from joinless.tables import of_query


class Explanation:
    """The join trees of a query; ``print`` it, or leave it as the last line of a notebook cell.

    The text gives the root, the height and the class of each tree, the content of each view, shares
    and cells, and the cost. It lists the joins that stay with Spark, with their reasons.
    """

    def __init__(self, df: DataFrame, lookups: Sequence[list[str]] = (), is_view: bool = False) -> None:
        self._plan = _door.of(df, "joinless.explain").plan(df, is_view, lookups)
        self.text = self._plan.text
        if lookups:
            texts = zip(lookups, self._plan.lookups, strict=True)
            costs = [f"  {', '.join(columns)}: {text}" for columns, text in texts]
            self.text = "\n".join([self.text, "", "Look-ups while the query runs:", *costs])

    def mermaid(self) -> str:
        """The join trees as a Mermaid graph."""
        return self._plan.mermaid

    def json(self) -> str:
        """The join trees, the steps of the whole query, and the reasons as a JSON document."""
        return self._plan.json

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def picture(self) -> str | None:
        """One picture of the whole query as an SVG document: its result on top, its tables at the
        leaves, and for each step between what it stores and what a change costs there. None if the
        changes of the query cannot be emitted.
        """
        steps = json.loads(self.json())["steps"]
        return None if steps is None else _steps.svg(steps)

    def svg(self) -> list[str]:
        """A picture of each join tree as an SVG document: nodes, views, and keys on the edges."""
        return [picture.svg(block) for block in json.loads(self.json())["blocks"]]

    def _repr_html_(self) -> str:
        return picture.page(json.loads(self.json()), self.text)


@dataclass(frozen=True)
class Reason:
    """The reason why a block of joins stays with Spark.

    Attributes:
        code: the stable upper-case name, such as ``CYCLIC_JOIN_GRAPH``.
        sentence: the reason in words, with column names.
        advice: what the user can do about it; empty if nothing helps.
        arguments: the values named in the sentence.
    """

    code: str
    sentence: str
    advice: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"[{self.code}] {self.sentence}" + (f" {self.advice}" if self.advice else "")


class Reasons(list[Reason]):
    """A list of reasons; a table in a notebook."""

    def _repr_html_(self) -> str:
        if not self:
            return "<p>No join is left to Spark.</p>"
        cells = [(r.code, r.sentence, r.advice) for r in self]
        head = "".join(f"<th>{name}</th>" for name in ("reason", "what stands in the way", "what helps"))
        rows = ("".join(f"<td style='text-align:left'>{html.escape(c)}</td>" for c in row) for row in cells)
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def explain(
    query: DataFrame | str,
    lookups: Sequence[str | Sequence[str]] | None = None,
    tables: Mapping[str, DataFrame] | None = None,
) -> Explanation:
    """Shows how Joinless would run a query. No query needs to run.

    A query of several operators is shown as one tree of steps first, from its result down to its
    tables: what each step stores, and what a change costs there. Then come its joins.

    A DataFrame over changelogs without `incrementalEnumerate` is shown as if it had it, with a
    note.

    >>> print(joinless.explain(pairs.incrementalEnumerate()).text.splitlines()[0])
    Join-free join of a, b
    >>> print(joinless.explain("SELECT src, COUNT(*) AS n FROM follows GROUP BY src").text.splitlines()[3])
    +- [1] GROUP BY src: count(*) AS n

    Args:
        query: the text of a query, as for `materialize`, or a streaming DataFrame.
        lookups: columns of the result by which rows will be looked up (`lookup`), each a name or
            several: the text then says what such a look-up costs, and why.
        tables: DataFrames that the text calls by these names, as for `joinless.sql`.

    Raises:
        ExtensionNotInstalledError: the session runs without Joinless.
        AnalysisException: ``JOINLESS_NOT_STREAMING`` for a DataFrame without a stream;
            ``JOINLESS_LOOKUP.UNKNOWN_COLUMN`` for a column that the result does not have; the
            errors of `joinless.sql` for a text.
        TypeError, ValueError: `lookups` is no list of columns, or another argument of another type.
    """
    columns = [] if lookups is None else _arguments.lists_of_columns("joinless.explain", "lookups", lookups)
    df = of_query("joinless.explain", query, tables)
    return Explanation(df, columns, isinstance(query, str))


def why_not(query: DataFrame | str, tables: Mapping[str, DataFrame] | None = None) -> Reasons:
    """Returns the reasons why join blocks of a query stay with Spark.

    The list is empty if none does.

    ``LATE_RESULTS`` is a warning: the joins are rewritten, but an operator above them, such as a
    GROUP BY by time, would drop results whose time the watermark has passed.

    As the last line of a notebook cell the list is shown as a table. A DataFrame over changelogs
    without `incrementalEnumerate` is checked as if it had it, and also gets the reason
    ``CHANGES_NOT_REQUESTED``.

    Args:
        query: the text of a query, as for `materialize`, or a streaming DataFrame.
        tables: DataFrames that the text calls by these names, as for `joinless.sql`.

    Raises:
        ExtensionNotInstalledError: the session runs without Joinless.
        AnalysisException: ``JOINLESS_NOT_STREAMING`` for a DataFrame without a stream; the errors
            of `joinless.sql` for a text.
        TypeError, ValueError: an argument of another type.
    """
    df = of_query("joinless.why_not", query, tables)
    return Reasons(
        Reason(
            code=entry["code"],
            sentence=entry["sentence"],
            advice=entry.get("advice") or "",
            arguments={name: str(value) for name, value in (entry.get("arguments") or {}).items()},
        )
        for entry in json.loads(_door.of(df, "joinless.why_not").plan(df, isinstance(query, str), ()).reasons)
    )
