"""The plan of a query that need not run: join trees, or reasons why joins stay with Spark."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from joinless import _arguments, _jvm, picture


class Explanation:
    """The join trees of a query; ``print`` it, or leave it as the last line of a notebook cell.

    The text gives the root, the height and the class of each tree, the content of each view, shares
    and cells, and the cost. It lists the joins that stay with Spark, with their reasons.
    """

    def __init__(self, df: DataFrame, lookups: Sequence[list[str]] = ()) -> None:
        self._df = df
        self.text = _jvm.explain_text(df)
        if lookups:
            texts = _jvm.lookup_texts(df, lookups)
            costs = [f"  {', '.join(columns)}: {text}" for columns, text in zip(lookups, texts, strict=True)]
            self.text = "\n".join([self.text, "", "Look-ups while the query runs:", *costs])

    def mermaid(self) -> str:
        """The join trees as a Mermaid graph."""
        return _jvm.explain_mermaid(self._df)

    def json(self) -> str:
        """The join trees and reasons as a JSON document."""
        return _jvm.explain_json(self._df)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

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


def explain(df: DataFrame, lookups: Sequence[str | Sequence[str]] | None = None) -> Explanation:
    """Shows how Joinless would run the joins of a streaming DataFrame. No query needs to run.

    A DataFrame over changelogs without `incrementalEnumerate` is shown as if it had it, with a
    note.

    >>> print(joinless.explain(pairs.incrementalEnumerate()).text.splitlines()[0])
    Join-free join of a, b

    Args:
        df: a streaming DataFrame.
        lookups: columns of the result by which rows will be looked up (`lookup`), each a name or
            several: the text then says what such a look-up costs, and why.

    Raises:
        ExtensionNotInstalledError: the session runs without Joinless.
        ConnectUnsupportedError: the DataFrame belongs to a Spark Connect session.
        AnalysisException: ``JOINLESS_NOT_STREAMING`` for a DataFrame without a stream;
            ``JOINLESS_LOOKUP.UNKNOWN_COLUMN`` for a column that the result does not have.
        TypeError, ValueError: `lookups` is no list of columns.
    """
    if lookups is None:
        return Explanation(df)
    return Explanation(df, _arguments.lists_of_columns("joinless.explain", "lookups", lookups))


def why_not(df: DataFrame) -> Reasons:
    """Returns the reasons why join blocks of a streaming DataFrame stay with Spark.

    The list is empty if none does.

    ``LATE_RESULTS`` is a warning: the joins are rewritten, but an operator above them, such as a
    GROUP BY by time, would drop results whose time the watermark has passed.

    As the last line of a notebook cell the list is shown as a table. A DataFrame over changelogs
    without `incrementalEnumerate` is checked as if it had it, and also gets the reason
    ``CHANGES_NOT_REQUESTED``.

    Raises:
        ExtensionNotInstalledError: the session runs without Joinless.
        ConnectUnsupportedError: the DataFrame belongs to a Spark Connect session.
        AnalysisException: ``JOINLESS_NOT_STREAMING`` for a DataFrame without a stream.
    """
    return Reasons(
        Reason(
            code=entry["code"],
            sentence=entry["sentence"],
            advice=entry.get("advice") or "",
            arguments={name: str(value) for name, value in (entry.get("arguments") or {}).items()},
        )
        for entry in json.loads(_jvm.why_not_json(df))
    )
