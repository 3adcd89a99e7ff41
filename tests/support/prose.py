"""The words of the repository.

Prose is comments of Scala, comments and docstrings of Python, and pages without their code. Code is the rest: names and
texts.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: A text, a character or a name in backticks, which may hold what looks like a comment; or a comment. A quote inside
#: `${}` begins another text here, which is right as long as no such text holds two slashes.
_SCALA = re.compile(
    r'"""[\s\S]*?"""+|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|`[^`\n]*`|(?P<line>//[^\n]*)|(?P<block>/\*[\s\S]*?\*/)'
)
_CODE_IN_PAGES = re.compile(r"^```.*?^```|`[^`]*`|\]\([^)]*\)|^<!--.*?-->", re.DOTALL | re.MULTILINE)
#: In comments: what stands for code.
_CODE_IN_COMMENTS = re.compile(
    r"\{\{\{.*?\}\}\}|\[\[.*?\]\]|`[^`]*`|@param +\w+|^ *>>> [^\n]*", re.DOTALL | re.MULTILINE
)


class Piece(NamedTuple):
    """Some prose, and the line where it begins."""

    line: int
    text: str


def of_scala(source: str) -> Iterator[Piece]:
    """Each comment, as it stands."""
    for found in _SCALA.finditer(source):
        if text := found["line"] or found["block"]:
            yield Piece(source.count("\n", 0, found.start()) + 1, text)


def code_of_scala(source: str) -> str:
    """A Scala file with blanks in the place of its comments."""
    return _SCALA.sub(lambda found: _blanks(found[0]) if found["line"] or found["block"] else found[0], source)


def of_python(source: str) -> Iterator[Piece]:
    """Each comment; docstrings are texts, and only those that stand alone on their line are taken."""
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT or (
            token.type == tokenize.STRING and before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        ):
            yield Piece(token.start[0], token.string)
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            before = token.type


def code_of_python(source: str) -> str:
    """A Python file with blanks in the place of its comments."""
    lines = source.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            (row, column), text = token.start, lines[token.start[0] - 1]
            lines[row - 1] = text[:column] + _blanks(text[column:])
    return "".join(lines)


def words_of_code(path: Path) -> Piece:
    """The code of a file, line by line, with `theWords` and `the_words` of its names as `the words`."""
    code = {".scala": code_of_scala, ".py": code_of_python}[path.suffix](path.read_text())
    return Piece(1, re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", code))


def of_page(source: str) -> Iterator[Piece]:
    """A page as one piece, with blanks in the place of code."""
    yield Piece(1, _blank(_CODE_IN_PAGES, source))


def of_file(path: Path) -> Iterator[Piece]:
    """The prose of a file, without what is code in it."""
    source = path.read_text()
    pieces = {".scala": of_scala, ".py": of_python, ".md": of_page}[path.suffix](source)
    for piece in pieces:
        yield Piece(piece.line, _blank(_CODE_IN_COMMENTS, piece.text))


def _blank(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda found: _blanks(found[0]), text)


def _blanks(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
