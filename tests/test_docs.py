"""The docs match the code: the generated page is up to date, the README's program
prints the output it shows.
"""

from __future__ import annotations

import ast
import doctest
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import delta
import pytest
from pyspark.sql import SparkSession

import joinless
from conftest import ROOT
from joinless import running
from support import delta_jars, prose
from support.database import database, make_active
from support.reference import metrics, reference

PAGE = ROOT / "docs" / "reference.md"


def test_the_reference_page_is_generated_from_the_code(spark: SparkSession, pytestconfig: pytest.Config) -> None:
    text = reference(spark, ROOT)
    if pytestconfig.getoption("--update"):
        PAGE.write_text(text)
    assert PAGE.read_text() == text, "run .venv/bin/pytest tests/test_docs.py --update"


def test_the_readmes_program_prints_what_the_readme_shows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    programs = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (program,) = [text for text in programs if 'csv("follows")' in text]
    shown = re.search(r"it prints\n\n```\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert shown
    (tmp_path / "follows").mkdir()
    (tmp_path / "follows" / "1.csv").write_text("1,2\n2,3\n3,4\n3,5\n")
    monkeypatch.chdir(tmp_path)
    exec(program.replace('csv("follows")', f'csv("{tmp_path}/follows")').replace('"cp"', f'"{tmp_path}/cp"'), {})
    printed = capsys.readouterr().out
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    for query in spark.streams.active:
        query.stop()
    assert printed.strip() == shown[1].strip()


@pytest.fixture
def in_a_folder(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Tables of the shared session and files of this process in an empty folder; afterwards the
    session is restored.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(delta, "configure_spark_with_delta_pip", delta_jars.configure)
    with database(spark, "page", tmp_path / "tables"):
        yield tmp_path


def test_the_first_view_of_the_readme_is_what_the_readme_shows(
    in_a_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "README.md").read_text()
    [(program, shown)] = re.findall(r"```python\n([^`]*)```\n\n```text\n(.*?)```", page, re.DOTALL)
    exec(program, {})
    assert capsys.readouterr().out.strip() == shown.strip()


@pytest.mark.parametrize("page", ["views.md", "changes.md", "time.md", "too-big-to-list.md"])
def test_the_programs_of_a_page_run_and_print_what_the_page_shows(
    page: str, in_a_folder: Path, capsys: pytest.CaptureFixture[str], pytestconfig: pytest.Config
) -> None:
    text = (ROOT / "docs" / page).read_text()
    blocks = list(re.finditer(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, re.DOTALL))
    assert len(blocks) > 1
    names: dict[str, object] = {}
    for program, shown in (block.groups() for block in blocks):
        # Spark resolves relative paths by the folder that its process started in.
        exec(re.sub(r'"(cp[\w-]*)"', rf'"{in_a_folder}/\1"', program), names)
        printed = capsys.readouterr().out
        if shown is not None:
            assert printed.strip() == shown.strip()
    for picture in in_a_folder.glob("*.svg"):
        on_page = ROOT / "docs" / "images" / picture.name
        if pytestconfig.getoption("--update"):
            on_page.write_text(picture.read_text() + "\n")
        assert on_page.read_text() == picture.read_text() + "\n", "run .venv/bin/pytest tests/test_docs.py --update"


@pytest.mark.parametrize("page", ["kafka.md", "usage.md", "join-graphs.md"])
def test_the_programs_of_other_pages_are_python(page: str) -> None:
    programs = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)
    assert programs
    for program in programs:
        ast.parse(program)


def test_the_examples_of_docstrings_run(spark: SparkSession, tmp_path: Path) -> None:
    """The examples of one module after the other, in the order of the file, with
    the names of earlier ones.
    """
    (tmp_path / "follows").mkdir()
    (tmp_path / "follows" / "1.csv").write_text("insert,1,2\ninsert,2,3\ninsert,7,8\ndelete,7,8\n")
    spark.sql(f"CREATE TABLE reached (src INT, dst INT) USING delta LOCATION '{tmp_path}/reached'")
    names: dict[str, object] = {
        "joinless": joinless,
        "spark": spark.newSession(),
        "folder": str(tmp_path / "follows"),
        "checkpoint": str(tmp_path / "checkpoint"),
    }
    make_active(names["spark"])  # type: ignore[arg-type]
    runner, finder = doctest.DocTestRunner(), doctest.DocTestFinder(recurse=False)
    run = 0
    for function in (
        joinless.changelog,
        joinless.expire,
        joinless.key,
        joinless.latest,
        joinless.rows,
        joinless.enumerate_deltas,
        joinless.debezium,
        joinless.upserts,
        joinless.enumerate_full,
        joinless.count,
        joinless.page,
        joinless.sample,
        joinless.estimate,
        joinless.lookup,
        joinless.weight_of,
        joinless.explain,
        joinless.apply_changes,
        joinless.table,
        joinless.sql,
        joinless.materialize,
        joinless.verify,
        joinless.status,
        joinless.replace,
    ):
        for example in finder.find(function, globs=names):
            example.globs = names
            run += runner.run(example, clear_globs=False).attempted
    for query in spark.streams.active + names["spark"].streams.active:  # type: ignore[attr-defined]
        query.stop()
    make_active(spark)
    for table in ("reached", "per_src", "per_dst", "seen", "sources", "links"):
        spark.sql(f"DROP TABLE {table}")
    assert run > 12
    assert runner.failures == 0


@pytest.mark.parametrize("page", sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]), ids=lambda p: p.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]), ids=lambda p: p.name)
def test_files_that_pages_name_exist(page: Path) -> None:
    for name in re.findall(r"`((?:tests|python|scripts|docs|examples|spark-plugin)/[\w./-]+)`", page.read_text()):
        assert (ROOT / name).exists(), f"{page.name} names {name}"


def test_python_knows_all_metrics_of_the_operator() -> None:
    """A field of `Progress` without its metric would always be 0."""
    source = ROOT / "spark-plugin/plugin/src/main/scala/io/joinless/spark/exec/figures/OperatorMetrics.scala"
    names = {name.strip("`") for name, _ in metrics(source)}
    assert len(names) > 15
    camel = {
        re.sub(r"_(\w)", lambda m: m[1].upper(), name) for name in [*running._METRICS, *running._LEAST, *running._MOST]
    }
    assert camel == names


def test_comments_cite_statements_that_are_there() -> None:
    """A7 is in algorithms.md, D5 in architecture.md, I3 and P17 in correctness.md."""
    internals = ROOT / "docs" / "internals"
    known = set(re.findall(r"^\*\*(A\d+)\.", (internals / "algorithms.md").read_text(), re.MULTILINE))
    known |= set(re.findall(r"^\*\*(D\d+)\.", (internals / "architecture.md").read_text(), re.MULTILINE))
    known |= set(re.findall(r"^\| ([IP]\d+) \|", (internals / "correctness.md").read_text(), re.MULTILINE))
    assert len(known) > 80
    for file in sorted((ROOT / "spark-plugin").glob("*/src/*/scala/**/*.scala")):
        comments = "\n".join(piece.text for piece in prose.of_scala(file.read_text()))
        cited = set(re.findall(r"\b(?:algorithms|architecture) ([AD]\d+)|\b([IP]\d+)\b", comments))
        assert {one or other for one, other in cited} <= known, file
        if "engine" in file.parts:  # which knows nothing of the plugin
            assert not re.search(r"\bP\d+\b", comments), file


def test_what_features_have_cost_is_what_their_commits_say() -> None:
    page = (ROOT / "docs" / "internals" / "growth.md").read_text()
    table = re.findall(r"^\| .* \| ([0-9a-f]{7,}) \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    assert len(table) > 5
    sources = (":(glob)spark-plugin/*/src/main/**/*.scala", ":(glob)python/src/**/*.py")
    for commit, added, changed in table:
        show = ("git", "show", "--format=", "--no-renames", "--name-status", commit, "--", *sources)
        files = subprocess.run(show, cwd=ROOT, capture_output=True, text=True)
        if files.returncode:
            pytest.skip(f"the history of the repository is not here: {files.stderr.strip()}")
        statuses = Counter(line[0] for line in files.stdout.splitlines())
        assert (statuses["A"], statuses["M"]) == (int(added), int(changed)), commit


def test_what_is_to_come_changes_few_files_and_these_are_there() -> None:
    page = (ROOT / "docs" / "internals" / "growth.md").read_text()
    sources = ROOT / "spark-plugin"
    engine = sources / "engine/src/main/scala/io/joinless"
    plugin = sources / "plugin/src/main/scala/io/joinless/spark"
    for section in page.split("\n### ")[1:]:
        title, body = section.split("\n", 1)
        changed = re.findall(
            r"`([\w/.]+)`", "".join(re.findall(r"^\| (`.*?) \|", body.split("| change |")[1], re.MULTILINE))
        )
        assert 0 < len(changed) <= 10, title
        for name in changed:
            folders = (engine, plugin, ROOT)
            assert any((folder / name).exists() or (folder / f"{name}.scala").exists() for folder in folders), name
