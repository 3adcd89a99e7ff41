"""The steps of a query as one SVG picture: a tree from the result down to the tables, what each step
stores, and what a change costs there.

A picture has its own background, with colours for light and dark pages.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

_CHARACTER, _LINE = 6.7, 16  # pixels, of a monospaced font of 11
_INDENT, _GAP, _PADDING = 26, 14, 16  # pixels
_WIDTHS = (72, 36, 44)  # characters of the three columns
_HEADINGS = ("step", "it stores", "a change that reaches it costs")

_STYLE = (
    ".joinless text { font: 11px ui-monospace, monospace; fill: #1f2328 } .joinless .title { font-weight: bold } "
    ".joinless .more { fill: #59636e } .joinless .page { fill: #ffffff; stroke: #d1d9e0 } "
    ".joinless line, .joinless path { stroke: #8c959f; fill: none } "
    ".joinless .change { fill: #2da44e } .joinless .group { fill: #d4a72c } .joinless .all { fill: #cf222e } "
    ".joinless .band { fill: #ffebe9 } "
    "@media (prefers-color-scheme: dark) { .joinless text { fill: #e6edf3 } .joinless .more { fill: #9198a1 } "
    ".joinless .page { fill: #0d1117; stroke: #3d444d } .joinless .band { fill: #3c1618 } }"
)

#: What the colours say.
_LEGEND = (
    ("change", "the cost of a change grows only with the rows of the step that change"),
    ("group", "it can grow with what is stored for a key or a group, or rarely with more"),
    ("all", "it can grow with all stored rows"),
)


@dataclass(frozen=True)
class _Row:
    """A step with the lines of its three columns.

    Attributes:
        depth: how many steps are above it.
        kind: its colour.
        titles: how many lines of the first column are its title.
        parent: the position of the row above, among all rows; None for the first.
    """

    depth: int
    kind: str
    titles: int
    parent: int | None
    columns: Sequence[Sequence[str]]

    @property
    def height(self) -> float:
        return max(map(len, self.columns)) * _LINE + _GAP


def svg(steps: Mapping[str, Any]) -> str:
    """A picture of the steps of a query.

    Args:
        steps: ``steps`` in the JSON of `Explanation`.
    """
    rows: list[_Row] = []
    _add(steps, 0, None, rows)
    indent = max(row.depth for row in rows) * _INDENT + 2 * _PADDING + 10
    starts: list[float] = [indent]
    for characters in _WIDTHS:
        starts.append(starts[-1] + characters * _CHARACTER + _PADDING)
    width = starts[-1]
    tops: list[float] = [_PADDING + _LINE + _GAP]
    for row in rows:
        tops.append(tops[-1] + row.height)
    legend = [entry for entry in _LEGEND if any(row.kind == entry[0] for row in rows)]
    height = tops[-1] + _GAP + len(legend) * _LINE + _PADDING
    drawn = [f'<rect x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="6" class="page"/>']
    drawn += [_text(x, _PADDING + 8, name, "more") for x, name in zip([_PADDING, *starts[1:]], _HEADINGS, strict=False)]
    for row, y in zip(rows, tops, strict=False):
        if row.kind == "all" and row.parent is not None:
            size = f'width="{width - 8:.0f}" height="{row.height - 4:.0f}"'
            drawn.append(f'<rect x="4" y="{y - 8:.0f}" {size} class="band"/>')
    for row, y in zip(rows, tops, strict=False):
        drawn += _drawn(row, y, starts, None if row.parent is None else tops[row.parent])
    for i, (kind, meaning) in enumerate(legend):
        y = tops[-1] + _GAP + i * _LINE
        drawn += [_dot(_PADDING + 4, y + 4, kind), _text(_PADDING + 16, y + 8, meaning, "more")]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="joinless" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img"><title>The steps of a query</title>'
        f"<style>{_STYLE}</style>{''.join(drawn)}</svg>"
    )


def _add(step: Mapping[str, Any], depth: int, parent: int | None, rows: list[_Row]) -> None:
    """Adds the rows of a step and of all below it."""
    number = step["number"]
    title = _wrapped(f"[{number}] {step['title']}" if number else step["title"], 0)
    details = [line for detail in step["details"] for line in _wrapped(detail, 0)]
    columns = ([*title, *details], _wrapped(step["stores"], 1), _wrapped(step["cost"], 2))
    own = len(rows)
    rows.append(_Row(depth, str(step["reach"]), len(title), parent, columns))
    for below in step["inputs"]:
        _add(below, depth + 1, own, rows)


def _wrapped(text: str | None, column: int) -> list[str]:
    return textwrap.wrap(text, _WIDTHS[column], break_on_hyphens=False) if text else []


def _drawn(row: _Row, y: float, starts: Sequence[float], above: float | None) -> Iterator[str]:
    x = _PADDING + 4 + row.depth * _INDENT
    if above is not None:
        yield f'<path d="M{x - _INDENT:.0f} {above + 10:.0f} V{y + 4:.0f} H{x - 5:.0f}"/>'
    yield _dot(x, y + 4, row.kind)
    first = x + 12
    for i, line in enumerate(row.columns[0]):
        yield _text(first, y + 8 + i * _LINE, line, "title" if i < row.titles else "more")
    for start, lines in zip(starts[1:], row.columns[1:], strict=False):
        for i, line in enumerate(lines):
            yield _text(start, y + 8 + i * _LINE, line, "")


def _dot(x: float, y: float, kind: str) -> str:
    return f'<circle cx="{x:.0f}" cy="{y:.0f}" r="5" class="{kind}"/>'


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}">{escape(text)}</text>'
