"""The packages of the plugin and their imports, read from the sources."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from support import prose

#: From the top: a package imports only packages below it.
LAYERS = {
    "(root)": "what a user names in `spark.sql.extensions`",
    "api": "the door for Python",
    "start": "rules around the start of a query",
    "planner": "the strategy: a block's operators and its shares",
    "source": "the complete result and the inputs, as batch tables",
    "compile": "a query of which changes are requested",
    "rules": "a block out of a plan, and what takes its place",
    "exec": "operators and the tasks of cells",
    "explain": "view trees and reasons as texts and graphs",
    "changes": "marks on plans: changelogs, and requests for changes",
    "inspect": "plans and expressions that are only looked at",
    "run": "what a checkpoint holds and what was decided for a run",
    "state": "the log of a cell and the cache of view trees",
    "placement": "shares and cells",
    "plans": "logical nodes, expressions, reasons",
    "spec": "what is recorded of a block, its format, its comparison",
    "conf": "settings",
    "errors": "conditions and sentences",
    "spark": "`org.apache.spark.sql.joinless`: what is private to Spark or moves between its versions",
}

_OURS = "io.joinless.spark"
_CORNER = "org.apache.spark.sql.joinless"


def package(source: Path) -> str:
    """The layer that a file belongs to: the topmost package, which may have packages of its own."""
    text = source.read_text()
    name = ".".join(re.findall(r"^package (?:object )?([\w.]+)", text, re.MULTILINE))
    if name == _CORNER:
        return "spark"
    assert name == _OURS or name.startswith(_OURS + "."), f"{source} is in {name}"
    return name.removeprefix(_OURS).lstrip(".").partition(".")[0] or "(root)"


def imported(source: Path) -> set[str]:
    """The layers that a file names, in imports or in full; comments do not count."""
    found = set()
    code = _code(source)
    for line in re.findall(rf"\b({_OURS}|{_CORNER})\b(\.[a-z]\w*)?", code.partition("\n")[2]):
        found.add("spark" if line[0] == _CORNER else line[1].lstrip(".") or "(root)")
    return found - {package(source)}


def _code(source: Path) -> str:
    """A file without comments and texts."""
    return re.sub(r"\"(?:[^\"\\\n]|\\.)*\"", "", prose.code_of_scala(source.read_text()))


def graph(sources: list[Path]) -> dict[str, set[str]]:
    """For each layer the layers that it imports."""
    edges: dict[str, set[str]] = {layer: set() for layer in LAYERS}
    for source in sources:
        edges.setdefault(package(source), set()).update(imported(source))
    return edges


def circles(sources: list[Path], part: Callable[[Path], str]) -> list[set[str]]:
    """Parts of the sources that name definitions of each other, directly or through others."""
    code = {source: _code(source) for source in sources}
    definition = re.compile(r"^(?:[\w\[\]]+ )*(?:class|object|trait) (\w+)", re.MULTILINE)
    owner = {name: part(source) for source in sources for name in definition.findall(code[source])}
    reached: dict[str, set[str]] = {part(source): set() for source in sources}
    for source in sources:
        named = {owner[word] for word in re.findall(r"\b[A-Z]\w*", code[source]) if word in owner}
        reached[part(source)] |= named - {part(source)}
    for between in reached:
        for a in reached:
            if between in reached[a]:
                reached[a] |= reached[between]
    found = {frozenset({a, *(b for b in reached[a] if a in reached[b])}) for a in reached if a in reached[a]}
    return [set(circle) for circle in found]


def drawing(edges: dict[str, set[str]]) -> str:
    """The graph as Mermaid, without arrows that follow from others, and a table of the layers."""
    below: dict[str, set[str]] = {}
    for layer in reversed(LAYERS):
        below[layer] = edges[layer].union(*(below[lower] for lower in edges[layer]))
    arrows = [
        f"  {_id(layer)} --> {_id(lower)}"
        for layer in LAYERS
        for lower in LAYERS
        if lower in edges[layer] and not any(lower in below[between] for between in edges[layer])
    ]
    names = [f'  {_id(layer)}["{layer}"]' for layer in LAYERS]
    table = ["| package | what it is |", "|---|---|", *(f"| `{layer}` | {what} |" for layer, what in LAYERS.items())]
    return "\n".join(["```mermaid", "graph TD", *names, *arrows, "```", "", *table])


def _id(layer: str) -> str:
    return "pkg_" + layer.strip("()")  # `graph` and the like are words of Mermaid
