"""The packages of the plugin and their imports, read from the sources.

A large package has rooms, such as `rules.time`.
"""

from __future__ import annotations

import re
from pathlib import Path

from support import prose

#: From the top: a package imports only packages below it.
LAYERS = {
    "(root)": "what a user names in `spark.sql.extensions`",
    "api": "the door for Python",
    "procedures": "the catalog of the procedures that `CALL` runs",
    "functions": "the table functions of SQL",
    "views": "Delta tables that are kept equal to queries: their records, their state, whether they are right",
    "start": "rules around the start of a query",
    "evolve": "queries that begin with the stored rows of another one",
    "writer": "a Delta table that the net changes of batches keep equal to a result",
    "planner": "the strategy: a block's operators and its shares",
    "source": "the complete result and the inputs, as batch tables",
    "compile": "a query of which changes are requested: the compiler and its steps",
    "compile.streams": "the streams of such a query, those that it derives itself, and when their rows are emitted",
    "compile.template": "the query as Spark's optimizer sees it",
    "rules.rewrite": "whether a block is rewritten, and what takes its place",
    "rules.extract": "blocks as they stand in a plan, and the static tables beside them",
    "rules.scans": "scans of streams: shared, apart, merged",
    "rules.counts": "rows with weights, and results that are counted or added up",
    "rules.time": "times of rows, bounds between them, how long rows are needed",
    "rules.meaning": "rows and expressions as texts that are equal in every run",
    "rules.blocks": "a join block: leaves, equi-join conditions, attributes, names",
    "exec": "the operators of a block",
    "exec.groups": "the operators and tasks of groups",
    "exec.cells": "one batch in one cell: kinds of cells, their tasks, their rebuild from the log",
    "exec.rows": "rows of an operator's output, conditions on rows",
    "exec.operator": "what operators of both kinds do: late rows, reading in parts, the end of a task",
    "exec.figures": "metrics and sizes",
    "explain.steps": "the operators of a whole query as one tree of steps",
    "explain": "view trees and reasons as texts and graphs",
    "tables": "Delta tables as they change, and queries over them",
    "kafka": "topics that are read as tables, and changes as records of topics",
    "changes": "marks on plans: changelogs, and requests for changes",
    "inspect": "plans and expressions that are only looked at",
    "checkpoint": "what a checkpoint holds, and what was decided for a run",
    "state.cells": "the state of a cell, the undo of its last batch, the cache of view trees",
    "state.asof": "the rows of as-of joins, found by their times",
    "state.groups": "the stored totals of groups, and accumulators",
    "state.log": "the log of a cell: blocks, what of them is kept, and their reader",
    "state.times": "how long rows are needed, and which expire",
    "state": "stores, and words of rows",
    "placement": "shares and cells",
    "plans.marks": "logical nodes that state a request: a changelog, rows, the changes of a result",
    "plans.nodes": "logical nodes that are planned, and those of templates",
    "plans.values": "what operators compute: functions of groups, sums, the form of changes",
    "plans.reasons": "why a join is not rewritten, and what users read of times",
    "plans.failures": "which expressions can fail, on which values",
    "spec": "what is recorded of a block, its format, its comparison",
    "conf": "settings",
    "errors": "conditions and sentences",
    "spark": "`org.apache.spark.sql.joinless`: what is private to Spark or moves between its versions",
}

_OURS = "io.joinless.spark"
_CORNER = "org.apache.spark.sql.joinless"


def package(source: Path) -> str:
    """The layer that a file belongs to."""
    text = source.read_text()
    name = ".".join(re.findall(r"^package (?:object )?([\w.]+)", text, re.MULTILINE))
    if name == _CORNER:
        return "spark"
    assert name == _OURS or name.startswith(_OURS + "."), f"{source} is in {name}"
    return name.removeprefix(_OURS).lstrip(".") or "(root)"


def imported(source: Path) -> set[str]:
    """The layers that a file names, in imports or in full; comments do not count."""
    found = set()
    code = re.sub(r"\"(?:[^\"\\\n]|\\.)*\"", "", prose.code_of_scala(source.read_text()))
    for root, inner in re.findall(rf"\b({_OURS}|{_CORNER})\b((?:\.[a-z]\w*)*)", code.partition("\n")[2]):
        found.add("spark" if root == _CORNER else _layer(inner.lstrip(".")))
    return found - {package(source)}


def _layer(name: str) -> str:
    """The layer of a name below our package: a room, or the package itself."""
    parts = name.split(".")
    known = [".".join(parts[:n]) for n in range(len(parts), 0, -1)]
    return next((layer for layer in known if layer in LAYERS), parts[0] or "(root)")


def graph(sources: list[Path]) -> dict[str, set[str]]:
    """For each layer the layers that it imports."""
    edges: dict[str, set[str]] = {layer: set() for layer in LAYERS}
    for source in sources:
        edges.setdefault(package(source), set()).update(imported(source))
    return edges


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
    names = [line for package in dict.fromkeys(map(_package, LAYERS)) for line in _boxes(package)]
    table = ["| package | what it is |", "|---|---|", *(f"| `{layer}` | {what} |" for layer, what in LAYERS.items())]
    return "\n".join(["```mermaid", "graph TD", *names, *arrows, "```", "", *table])


def _package(layer: str) -> str:
    return layer.partition(".")[0]


def _boxes(package: str) -> list[str]:
    """The box of a package, or that of each of its rooms inside a frame."""
    boxes = [f'{_id(layer)}["{layer}"]' for layer in LAYERS if _package(layer) == package]
    if len(boxes) == 1:
        return [f"  {boxes[0]}"]
    return [f'  subgraph rooms_{package}["{package}"]', *(f"    {box}" for box in boxes), "  end"]


def _id(layer: str) -> str:
    return "pkg_" + layer.strip("()").replace(".", "_")  # `graph` and the like are words of Mermaid
