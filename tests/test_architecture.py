"""The import rules of docs/internals/architecture.md, read from the sources."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from conftest import ROOT
from support import circles, layers, prose

ENGINE = ROOT / "spark-plugin/engine/src/main/scala"
PLUGIN = ROOT / "spark-plugin/plugin/src/main/scala"
PACKAGE = ROOT / "python/src/joinless"

#: Inside the engine: who may import whom.
ENGINE_LAYERS = {
    "query": set[str](),
    "tuples": set[str](),
    "algebra": set[str](),
    "orders": set[str](),
    "view": {"algebra", "orders", "query", "tuples"},
    "enumerate": {"algebra", "orders", "tuples", "view"},
    "update": {"algebra", "tuples", "view", "enumerate"},
    "reduce": {"algebra", "query", "tuples", "view", "enumerate", "update"},
    "positions": {"algebra", "tuples", "view"},
    "sample": {"algebra", "tuples", "view", "enumerate", "update", "positions"},
}


#: What operators and their tasks may import.
AT_RUN_TIME = {"exec", "state", "placement", "plans", "spec", "conf", "errors", "spark"}

#: The methods that change stored data: those of the engine's `tuples`.
CHANGES = (
    *("push", "pop", "remove", "add", "append", "reserve", "free", "findOrAdd", "retain", "release", "clear"),
    *("applyChange", "applyAll"),
)


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
    [
        source
        for room in ("view", "enumerate")
        for source in scala_sources(ENGINE / "io/joinless/engine" / room)
        if source.stem != "Annotation"  # stores elements itself, as the lists of `tuples` store tuples
    ],
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


def test_operators_and_tasks_know_no_plans_of_queries() -> None:
    """What runs in tasks has been decided before: it is a value that the strategy passes on."""
    for source in scala_sources(PLUGIN):
        if layers.package(source).partition(".")[0] in ("exec", "state"):
            known = {layer.partition(".")[0] for layer in layers.imported(source)}
            assert known <= AT_RUN_TIME, source.name
            assert not layers.imported(source) & {"plans.marks", "plans.nodes"}, source.name


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


def test_no_files_of_a_package_need_each_other_in_a_circle() -> None:
    found = circles.of_scala([*scala_sources(ENGINE), *scala_sources(PLUGIN)])
    assert [sorted(circle) for circle in found] == []
    assert circles.of_python(sorted(PACKAGE.glob("*.py")), "joinless") == []


@pytest.mark.parametrize(
    ("a", "b", "circle"),
    [
        ("class A", "object B { def a = new A }", False),
        ("class A(b: B)", "object B { def a = new A }", True),
        ("sealed trait A\nobject A { def b = B }", "case class B() extends A", True),
        ("class A { val b = 1 }", "object b { new A }", False),  # a name of its own
        ("import scala.x.B\nclass A(b: B)", "class B(a: A)", False),  # another B
        ("import B._\nclass A", "object B { new A }", True),
        ("class A { val B(b) = 1 }", "case class B(a: A)", True),
        ("class A(c: C.B)", "class B(a: A)", False),  # a member
        ('class A { "B"; /* B */ } // B', "class B(a: A)", False),
        ('class A { s"${B.x} x" }', "object B { new A }", True),
    ],
)
def test_a_circle_is_found_in_what_files_say(a: str, b: str, circle: bool) -> None:
    code = {name: prose.code_of_scala(f"package p.q\n{text}") for name, text in {"A": a, "B": b}.items()}
    needs = circles.needs_of_scala("p.q", code)
    assert circles.components(needs) == ([{"A", "B"}] if circle else [])


def test_links_in_comments_lead_to_what_there_is() -> None:
    sources = [*scala_sources(ENGINE), *scala_sources(PLUGIN)]
    known = circles.names(sources)
    for source in sources:
        for link in re.findall(r"\[\[(io\.joinless\.(?:[a-z]\w*\.)*[A-Z]\w*)", source.read_text()):
            assert link in known, source.name


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
        "decimal",
        "html",
        "json",
        "math",
        "os",
        "pathlib",
        "re",
        "shlex",
        "statistics",
        "sys",
        "textwrap",
        "uuid",
        "typing",
        "weakref",
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
