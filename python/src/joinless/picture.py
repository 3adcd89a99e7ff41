"""Explanations as SVG and HTML, for notebooks: the steps of the whole query, and each join tree, with
a box per node with its views and the join key on each edge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from joinless import _steps

_CHARACTER, _LINE, _PADDING = 6.7, 16, 8  # pixels, of a monospaced font of 11
_ACROSS, _DOWN = 24, 44  # pixels between boxes
_VIEWS = {"V_s": "V\u209b", "V_p": "V\u209a"}


@dataclass(frozen=True)
class _Box:
    """A node with its children below it; positions are relative to the subtree's own corner."""

    name: str
    key: str
    lines: Sequence[str]
    children: Sequence[_Box]

    @property
    def width(self) -> float:
        longest = max(len(line) for line in (self.name, *self.lines))
        return longest * _CHARACTER + 2 * _PADDING

    @property
    def height(self) -> float:
        return (1 + len(self.lines)) * _LINE + 2 * _PADDING

    @property
    def below(self) -> float:
        """Width of the children side by side."""
        return sum(child.across for child in self.children) + _ACROSS * max(0, len(self.children) - 1)

    @property
    def across(self) -> float:
        return max(self.width, self.below)

    @property
    def down(self) -> float:
        return self.height + max((_DOWN + child.down for child in self.children), default=0)

    def draw(self, x: float, y: float) -> list[str]:
        """Elements of the subtree in the area whose corner is (x, y)."""
        left = x + (self.across - self.width) / 2
        box = f'<rect x="{left:.1f}" y="{y:.1f}" width="{self.width:.1f}" height="{self.height:.1f}" rx="4"/>'
        texts = [
            f'<text x="{left + _PADDING:.1f}" y="{y + _PADDING + 12 + i * _LINE:.1f}"{style}>{escape(line)}</text>'
            for i, (line, style) in enumerate([(self.name, ' class="name"'), *((line, "") for line in self.lines)])
        ]
        elements = [box, *texts]
        at, top = x + (self.across - self.below) / 2, y + self.height + _DOWN
        for child in self.children:
            middle = at + child.across / 2
            start, half = left + self.width / 2, (y + self.height + top) / 2
            elements.append(f'<line x1="{start:.1f}" y1="{y + self.height:.1f}" x2="{middle:.1f}" y2="{top:.1f}"/>')
            label = (
                f'<text x="{(start + middle) / 2 + 5:.1f}" y="{half + 4:.1f}" class="key">{escape(child.key)}</text>'
            )
            elements += [label, *child.draw(at, top)]
            at += child.across + _ACROSS
        return elements


def _box(node: Mapping[str, Any]) -> _Box:
    lines = [
        f"{_VIEWS.get(view['view'], view['view'])} [{', '.join(view['columns'])}]: {view['holds']}"
        for view in node["views"]
    ]
    children = [_box(child) for child in node["children"]]
    return _Box(str(node["name"]), "on " + ", ".join(node["key"]) if node["key"] else "", lines, children)


def svg(block: Mapping[str, Any]) -> str:
    """The join tree of one block.

    Args:
        block: an entry of ``blocks`` in the JSON of `Explanation`.
    """
    box = _box(block["tree"])
    width, height = box.across + 4, box.down + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">'
        f"<title>{escape('Join tree of ' + ', '.join(block['relations']))}</title>"
        "<style>text { font: 11px monospace; fill: #222 } .name { font-weight: bold } .key { fill: #666 } "
        "rect { fill: #f4f7fb; stroke: #4a6fa5 } line { stroke: #4a6fa5 }</style>" + "".join(box.draw(2, 2)) + "</svg>"
    )


def page(document: Mapping[str, Any], text: str) -> str:
    """The HTML of an explanation for notebooks: the steps of a query of several operators, each tree
    with its figures, the reasons, and the text in a collapsed section.
    """
    parts = [_steps.svg(document["steps"])] if document["wholeCost"] and document["steps"] else []
    for block in document["blocks"]:
        figures = [
            f"root {block['root']}, height {block['height']}, class {block['class']}",
            str(block["cost"]),
            f"{block['cells']} cells, at most {block['rowsStoredPerInputRow']:.3g} rows stored per input row",
        ]
        if block["crossProduct"]:
            figures.append("warning: a cross product")
        heading = f"<b>Join-free join of {escape(', '.join(block['relations']))}</b>"
        parts.append("<br>".join([heading, *map(escape, figures)]) + "<br>" + svg(block))
    parts += [
        f"<b>{escape(reason['code'])}</b>: {escape(reason['sentence'])} {escape(reason.get('advice') or '')}"
        for reason in document["reasons"]
    ]
    folded = f"<details><summary>as text</summary><pre>{escape(text)}</pre></details>"
    return "".join(f"<div>{part}</div>" for part in [*parts, folded])
