"""Makes docs/reference.md from the code: settings, metrics, reasons and errors, each
from where it is defined.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from joinless.errors import PACKAGE

_STRING = r'"(?:[^"\\]|\\.)*"'
_STRINGS = rf"{_STRING}(?:\s*\+\s*{_STRING})*"


def reference(spark: SparkSession, root: Path) -> str:
    """The whole page."""
    plugin = root / "spark-plugin/plugin/src/main"
    code = plugin / "scala/io/joinless/spark"
    return "\n".join(
        [
            "# Reference",
            "",
            "Generated from the code by `.venv/bin/pytest tests/test_docs.py --update`; a test compares.",
            "",
            *_section("Settings", ("setting", "default", "meaning"), settings(spark)),
            *_section("Metrics", ("customMetrics", "meaning"), metrics(code / "exec/figures/OperatorMetrics.scala")),
            *_section(
                "Reasons",
                ("code", "why a join stays with Spark", "what to do"),
                reasons(code / "plans/reasons/Reason.scala"),
            ),
            *_section("Errors", ("condition", "SQLSTATE", "message"), errors(plugin / "resources/error")),
            *_section("Errors of the Python package", ("condition", "SQLSTATE", "message"), python_errors(PACKAGE)),
        ]
    )


def settings(spark: SparkSession) -> list[tuple[str, ...]]:
    """All `spark.joinless.*` settings that `SET -v` lists."""
    session = spark.newSession()
    session.conf.unset("spark.joinless.placement.maxCells")  # the tests' own
    rows = session.sql("SET -v").where("key LIKE 'spark.joinless.%'").sort("key").collect()
    return [(f"`{row['key']}`", f"`{row['value']}`" if row["value"] else "", row["meaning"]) for row in rows]


def metrics(source: Path) -> list[tuple[str, ...]]:
    """Names and meanings of the operator's metrics."""
    text = source.read_text()
    names = dict(re.findall(r'final val (\w+) = "(\w+)"', text))
    found = re.findall(rf"\b(\w+) -> ({_STRINGS})", text)
    return [(f"`{names[name]}`", _joined(meaning)) for name, meaning in found if name in names]


def reasons(source: Path) -> list[tuple[str, ...]]:
    """Codes, sentences and advice."""
    found = re.findall(rf'Code = \w+\(\s*"([A-Z_]+)",\s*({_STRINGS}),\s*({_STRINGS})\s*\)', source.read_text())
    return [(f"`{code}`", _joined(sentence), _joined(advice)) for code, sentence, advice in found]


def errors(folder: Path) -> list[tuple[str, ...]]:
    """Conditions of the plugin, sub-conditions after their own."""
    rows: list[tuple[str, ...]] = []
    for condition, entry in json.loads((folder / "joinless-error-conditions.json").read_text()).items():
        rows.append((f"`{condition}`", entry["sqlState"], " ".join(entry["message"])))
        for sub, inner in entry.get("subClass", {}).items():
            rows.append((f"`{condition}.{sub}`", entry["sqlState"], " ".join(inner["message"])))
    return rows


def python_errors(conditions: Mapping[str, tuple[str, str]]) -> list[tuple[str, ...]]:
    """Conditions that the Python side raises itself."""
    return [(f"`{name}`", *entry) for name, entry in conditions.items()]


def _section(title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [f"## {title}", "", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        lines.append("| " + " | ".join(_cell(cell) for cell in row) + " |")
    return [*lines, ""]


def _cell(text: str) -> str:
    escaped = text.replace("|", "\\|").replace("\n", " ")
    return re.sub(r"<(\w+)>", r"*\1*", escaped)


def _joined(strings: str) -> str:
    return "".join(str(json.loads(part)) for part in re.findall(_STRING, strings))
