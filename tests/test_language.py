"""Comments, pages, names and messages use the field's words, and comments have lines that can be read.

The table has the words of a private language that the repository once had.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from conftest import ROOT
from support import prose

#: A word that is not used, and the field's.
WORDS = {
    r"tells?|told|telling": "emit, emitted; say",
    r"partners?": "match",
    r"owed|owes?|owing": "negative multiplicity",
    r"t(?:ake|akes|aken|ook) back": "roll back",
    r"passing results?": "transient result",
    r"met for ever": "unbounded",
    r"leans? to": "right-deep",
    r"bury|buries|buried|forgoe?s?|forgone": "deferred free",
    r"plural": "multiplicity above 1",
    r"who asks|what is asked": "requested",
    r"sorts of rows": "kinds",
}

#: Files that have a word for a reason.
EXCEPTIONS: dict[str, set[str]] = {
    "tests/test_language.py": set(WORDS),  # the table
    # checkpoints record this name of a relation, and `explain` shows it
    "docs/time.md": {r"partners?"},
    "spark-plugin/plugin/src/main/scala/io/joinless/spark/spec/DerivedNames.scala": {r"partners?"},
}

FOLDERS = ("spark-plugin", "python/src", "tests", "benchmarks", "examples")
LONGEST = 100


def sources() -> list[Path]:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in (".scala", ".py")]
    code = [path for path in files if "target" not in path.parts]
    pages = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    return sorted(path for path in [*code, *pages] if path.name != "reference.md")


@cache
def pieces(path: Path) -> tuple[prose.Piece, ...]:
    return tuple(prose.of_file(path))


@cache
def code(path: Path) -> tuple[prose.Piece, ...]:
    return () if path.suffix == ".md" else (prose.words_of_code(path),)


@pytest.mark.parametrize("texts", [code, pieces], ids=["code", "prose"])
@pytest.mark.parametrize("word", WORDS, ids=lambda word: WORDS[word])
def test_the_words_are_those_of_the_field(word: str, texts: Callable[[Path], tuple[prose.Piece, ...]]) -> None:
    wanted = re.compile(rf"\b(?:{word})\b", re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{piece.line + piece.text.count(chr(10), 0, hit.start())}: {hit[0]}"
        for path in sources()
        if word not in EXCEPTIONS.get(str(path.relative_to(ROOT)), set())
        for piece in texts(path)
        for hit in wanted.finditer(piece.text)
    ]
    assert not found, f"say {WORDS[word]}:\n" + "\n".join(found)


def test_comments_of_scala_have_at_most_a_hundred_columns() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{piece.line + i}"
        for path in sources()
        if path.suffix == ".scala"
        for piece in prose.of_scala(path.read_text())
        for i, line in enumerate(piece.text.splitlines())
        if len(line) > LONGEST
    ]
    assert not long, "\n".join(long)


@pytest.mark.parametrize("part", ["engine", "plugin"])
def test_a_quarter_of_the_main_code_is_contracts(part: str) -> None:
    """Comments among the lines that are neither blank, imports nor the package."""
    lines = comments = 0
    for path in (ROOT / "spark-plugin" / part / "src/main").rglob("*.scala"):
        source = path.read_text()
        for written, left in zip(source.splitlines(), prose.code_of_scala(source).splitlines(), strict=True):
            if written.strip() and not left.startswith(("import ", "package ")):
                lines += 1
                comments += not left.strip()
    assert comments >= lines / 4, f"{comments} of {lines}"
