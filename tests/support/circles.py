"""Circles of files within a package, read from the sources.

File A needs file B if A says a top-level name that B defines. A name that A defines itself, at whatever depth, or
imports from elsewhere is not B's, and neither is a member (`Other.Name`). What A says only in comments and texts does
not count.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from support import prose

_MODIFIER = r"@\w+(?:\([^)\n]*\))?|(?:private|protected)(?:\[\w+\])?|final|sealed|abstract|implicit|lazy|case|override"
_DEFINITION = rf"(?:(?:{_MODIFIER}) +)*(?:class|object|trait|type|def|val) +(\w+)"
_TOP_LEVEL = re.compile(rf"^{_DEFINITION}", re.MULTILINE)
_IN_PACKAGE_OBJECT = re.compile(rf"^  {_DEFINITION}", re.MULTILINE)
#: Not `val Pair(a, b)`, which takes apart.
_DEFINED = re.compile(r"\b(?:class|object|trait|type|def) +(\w+)|\b(?:val|var) +(\w+)\b(?! *\()")
_PACKAGE = re.compile(r"^package (object )?([\w.]+)", re.MULTILINE)
_IMPORT = re.compile(r"^ *import +([\w.]+)\.(?:\{([^}]*)\}|(\w+))", re.MULTILINE)
_TEXT = re.compile(r'(\w?)("""[\s\S]*?"""+|"(?:\\.|[^"\\\n])*")')
_HOLE = re.compile(r"\$\{([^}]*)\}|\$(\w+)")


def of_scala(sources: Iterable[Path]) -> list[set[str]]:
    """The circles of each package: the files of which each needs all others, by `package/File.scala`."""
    packages: dict[str, dict[str, str]] = {}
    for source in sources:
        text = prose.code_of_scala(source.read_text())
        name = _package(text)
        packages.setdefault(name, {})[f"{name}/{source.name}"] = text
    return [circle for name, files in sorted(packages.items()) for circle in components(needs_of_scala(name, files))]


def names(sources: Iterable[Path]) -> set[str]:
    """The full names of what is defined at the top of files."""
    texts = [prose.code_of_scala(source.read_text()) for source in sources]
    return {f"{_package(text)}.{name}" for text in texts for name in _top_level(text)}


def needs_of_scala(package: str, files: Mapping[str, str]) -> dict[str, set[str]]:
    """For each file of a package, by its code, the others that it needs."""
    definer: dict[str, set[str]] = {}
    for file, text in files.items():
        for name in _top_level(text):
            definer.setdefault(name, set()).add(file)
    needs = {}
    own = package.rpartition(".")[2]
    for file, text in files.items():
        imported = _imported(text)
        elsewhere = {name for root, name in imported if not _is(root, package)} | _defined(text)
        code = _TEXT.sub(_code_in_text, _IMPORT.sub("", text))
        said = set(re.findall(r"(?<![.\w])[A-Za-z]\w*", code)) - elsewhere
        said |= {name for root, name in imported if _is(root, package)}
        said |= {root.split(".")[0] for root, _ in imported} - {own}
        said |= set(re.findall(rf"\b{own}\.(\w+)", code))
        needs[file] = {other for name in said for other in definer.get(name, ())} - {file}
    return needs


def of_python(sources: Iterable[Path], package: str) -> list[set[str]]:
    """The circles of the modules of a package, whether an import stands at the top or in a function."""
    modules = {source.stem: source for source in sources}
    needs: dict[str, set[str]] = {name: set() for name in modules}
    for name, source in modules.items():
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").split(".")[0] == package):
                inner = (node.module or "").removeprefix(package).lstrip(".").split(".")[0]
                needs[name] |= {inner} if inner else {alias.name for alias in node.names}
            elif isinstance(node, ast.Import):
                needs[name] |= {alias.name.removeprefix(package + ".") for alias in node.names}
    return components({name: (used & needs.keys()) - {name} for name, used in needs.items()})


def components(needs: Mapping[str, set[str]]) -> list[set[str]]:
    """The strongly connected components of more than one node."""
    reached = {start: _reached(start, needs) for start in needs}
    circles: list[set[str]] = []
    for start in sorted(needs):
        circle = {other for other in reached[start] if start in reached[other]}
        if len(circle) > 1 and circle not in circles:
            circles.append(circle)
    return circles


def _reached(start: str, needs: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for other in needs[waiting.pop()] - seen:
            seen.add(other)
            waiting.append(other)
    return seen


def _package(text: str) -> str:
    return ".".join(found[1] for found in _PACKAGE.findall(text))


def _top_level(text: str) -> set[str]:
    inner = _IN_PACKAGE_OBJECT.findall(text) if re.search(r"^package object", text, re.MULTILINE) else []
    return {*_TOP_LEVEL.findall(text), *inner}


def _defined(text: str) -> set[str]:
    return {name for names in _DEFINED.findall(text) for name in names if name}


def _imported(text: str) -> list[tuple[str, str]]:
    """The names that a file imports, each with what it is a member of; `_` and new names count as names, too."""
    found = []
    for root, several, one in _IMPORT.findall(text):
        for name in several.split(",") if several else [one]:
            found += [(root, part.strip()) for part in name.split("=>") if part.strip()]
    return found


def _is(root: str, package: str) -> bool:
    return root == package or package.endswith("." + root)


def _code_in_text(found: re.Match[str]) -> str:
    """What an interpolated text evaluates."""
    return " ".join(f" {hole[1] or hole[2]} " for hole in _HOLE.finditer(found[2])) if found[1] else " "
