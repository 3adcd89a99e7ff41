"""The import rules of docs/internals/architecture.md, read from the sources."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from conftest import ROOT
from support import layers, prose

ENGINE = ROOT / "spark-plugin/engine/src/main/scala"
PLUGIN = ROOT / "spark-plugin/plugin/src/main/scala"
PACKAGE = ROOT / "python/src/joinless"

#: Inside the engine: who may import whom.
ENGINE_LAYERS = {
    "query": set[str](),
    "tuples": set[str](),
    "algebra": set[str](),
    "view": {"query", "tuples"},
    "enumerate": {"algebra", "tuples", "view"},
    "update": {"algebra", "tuples", "view", "enumerate"},
    "reduce": {"algebra", "query", "tuples", "view", "enumerate", "update"},
}

#: The methods that change stored data: those of the engine's `tuples`.
CHANGES = ("push", "pop", "remove", "add", "append", "reserve", "free", "findOrAdd", "retain", "release", "clear")


def scala_sources(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.scala"))


def imports(source: Path) -> set[str]:
    """Packages that a Scala file names, in imports or in full."""
    text = prose.code_of_scala(source.read_text())
    return set(re.findall(r"\b((?:io|org|com|scala|java|it)\.[\w.]+)", text))


def uses(source: Path, package: str) -> bool:
    return any(name == package or name.startswith(package + ".") for name in imports(source))


@pytest.mark.parametrize("source", scala_sources(ENGINE), ids=lambda p: p.stem)
def test_the_engine_knows_only_the_library_and_its_lower_layers(source: Path) -> None:
    layer = source.relative_to(ENGINE / "io/joinless/engine").parts[0]
    assert layer in ENGINE_LAYERS, f"unknown engine package {layer}"
    for name in imports(source):
        if name.startswith("io.joinless.engine."):
            used = name.split(".")[3]
            assert used == layer or used in ENGINE_LAYERS[layer], f"{layer} imports {name}"
        else:
            assert name.startswith(("scala.", "java.")), f"the engine imports {name}"


@pytest.mark.parametrize(
    "source",
    [source for room in ("view", "enumerate") for source in scala_sources(ENGINE / "io/joinless/engine" / room)],
    ids=lambda p: p.stem,
)
def test_only_updates_change_a_view_tree(source: Path) -> None:
    """Neither the views themselves nor the code that enumerates them. (Weights are added, too, but
    that stores nothing.)
    """
    code = re.sub(r"\bWeight\.add\b", "", prose.code_of_scala(source.read_text()))
    assert not re.findall(rf"\.(?:{'|'.join(CHANGES)})\(", code)
    assert not re.findall(r"\.(?:state|multiplicity|repeated|upKeys)\b[^\n=]*[^\n=!<>]=(?!=)", code)


def test_packages_of_the_plugin_import_only_what_stands_below_them() -> None:
    order = list(layers.LAYERS)
    for source in scala_sources(PLUGIN):
        own = layers.package(source)
        for other in layers.imported(source):
            assert order.index(other) > order.index(own), f"{own}/{source.name} imports {other}"


@pytest.mark.parametrize("package", ["exec", "state"])
def test_neither_files_nor_packages_of_a_package_form_circles(package: str) -> None:
    sources = scala_sources(PLUGIN / "io/joinless/spark" / package)
    assert layers.circles(sources, lambda source: source.stem) == []
    assert layers.circles(sources, lambda source: source.parent.name) == []


def test_the_drawing_of_the_packages_is_that_of_the_sources(pytestconfig: pytest.Config) -> None:
    page = ROOT / "docs/internals/architecture.md"
    before, mark, rest = page.read_text().partition("<!-- packages -->\n")
    _, end, after = rest.partition("<!-- end -->")
    assert mark
    assert end
    drawn = before + mark + layers.drawing(layers.graph(scala_sources(PLUGIN))) + "\n" + end + after
    if pytestconfig.getoption("--update"):
        page.write_text(drawn)
    assert page.read_text() == drawn, "run .venv/bin/pytest tests/test_architecture.py --update"


@pytest.mark.parametrize("source", scala_sources(PLUGIN), ids=lambda p: p.stem)
def test_streaming_internals_of_spark_stay_in_one_corner(source: Path) -> None:
    """One package has everything that Spark changes between its versions, and it
    knows nothing of the others.
    """
    if layers.package(source) == "spark":
        assert not uses(source, "io.joinless"), source.name
    else:
        assert not uses(source, "org.apache.spark.sql.execution.streaming"), source.name


def python_imports(source: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def test_only_one_python_file_speaks_py4j_and_to_one_class() -> None:
    for source in sorted(PACKAGE.glob("*.py")):
        text = source.read_text()
        if source.name != "_jvm.py":
            assert not any(name.split(".")[0] == "py4j" for name in python_imports(source)), source.name
            assert not re.search(r"\._(jvm|jdf|jsc|jsparkSession|jsq|gateway)\b", text), source.name
    door = (PACKAGE / "_jvm.py").read_text()
    assert set(re.findall(r"\bio\.joinless\.spark\.(\w+\.\w+)", door)) == {"api.PythonApi"}


def test_python_needs_nothing_but_pyspark() -> None:
    standard = {
        "__future__",
        "argparse",
        "collections",
        "contextlib",
        "dataclasses",
        "datetime",
        "html",
        "json",
        "os",
        "pathlib",
        "re",
        "shlex",
        "sys",
        "typing",
    }
    for source in sorted(PACKAGE.glob("*.py")):
        roots = {name.split(".")[0] for name in python_imports(source)}
        assert roots <= standard | {"joinless", "pyspark", "py4j"}, source.name


@pytest.mark.parametrize("pattern", ["*.scala", "*.py"])
def test_no_file_is_a_god_file(pattern: str) -> None:
    for folder in ("spark-plugin", "python", "tests", "examples"):
        for source in (ROOT / folder).rglob(pattern):
            if "target" not in source.parts:
                assert len(source.read_text().splitlines()) <= 500, source


def test_the_product_knows_no_query_or_graph_of_the_benchmark() -> None:
    names = re.compile(r"epinions|\bg\d+k\b|\bL[34]P?\b|\bSTAR\d|\bSNB\d?\b|\bCOMB2|\bL3CNT", re.IGNORECASE)
    sources = [*scala_sources(ENGINE), *scala_sources(PLUGIN), *sorted(PACKAGE.rglob("*.py"))]
    assert len(sources) > 200
    assert [f"{source.name}: {m.group()}" for source in sources for m in names.finditer(source.read_text())] == []
