"""What `make release` makes of the sources, and what it refuses. The build itself is in the long run."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

import release
from conftest import ROOT
from support import sparks

CHANGELOG = "# Changelog\n\n## 0.3.0, unreleased\n\n- New.\n\n### Part\n\n- More.\n\n## 0.2.0, 2026-12-01\n\n- Old.\n"


def test_the_version_is_one(tmp_path: Path) -> None:
    version = release.version_of(ROOT)
    for name in ("build.sbt", "python/pyproject.toml", "python/src/joinless/__init__.py", "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    assert release.version_of(tmp_path) == version
    file = tmp_path / "python/pyproject.toml"
    file.write_text(file.read_text().replace(f'version = "{version}"', 'version = "9.9.9"'))
    with pytest.raises(release.Refused, match=r"pyproject\.toml has 9\.9\.9"):
        release.version_of(tmp_path)


def test_the_notes_are_the_section_of_the_version() -> None:
    assert release.notes(CHANGELOG, "0.2.0", draft=False) == "# Joinless 0.2.0, 2026-12-01\n\n- Old.\n"
    assert release.notes(CHANGELOG, "0.3.0", draft=True).endswith("- New.\n\n### Part\n\n- More.\n")
    with pytest.raises(release.Refused, match=r"unreleased of 0\.3\.0, not a date"):
        release.notes(CHANGELOG, "0.3.0", draft=False)
    with pytest.raises(release.Refused, match="no section"):
        release.notes(CHANGELOG, "0.4.0", draft=True)


def test_a_pom_names_the_artifact_and_no_dependency() -> None:
    text = release.pom("joinless-spark-4.2_2.13-0.2.0.jar", "0.2.0", "Joins & more".replace("&", "and"))
    project = ElementTree.fromstring(text)
    found = {child.tag.rpartition("}")[2]: child.text for child in project}
    assert (found["groupId"], found["artifactId"], found["version"]) == (
        "io.joinless",
        "joinless-spark-4.2_2.13",
        "0.2.0",
    )
    assert "dependencies" not in found
    with pytest.raises(release.Refused):
        release.artifact_of("other.jar")


def test_the_matrix_counts_the_tests_that_ran(tmp_path: Path) -> None:
    scala = tmp_path / "spark-plugin/plugin/target/test-reports"
    python = tmp_path / ".build/results"
    for folder in (scala, python):
        folder.mkdir(parents=True)
    (scala / "A.xml").write_text('<testsuite><testcase name="a"/><testcase name="b"><skipped/></testcase></testsuite>')
    (scala / "B.xml").write_text('<testsuite><testcase name="c"><failure/></testcase></testsuite>')
    (python / "4.3-gate.xml").write_text(
        '<testsuites><testsuite><testcase name="d"/><testcase name="e"/></testsuite></testsuites>'
    )
    assert release.matrix(tmp_path, "4.2", ["4.2", "4.3"]).splitlines()[2:] == [
        "| 4.2 | 1 passed, 1 failed, 1 skipped | not run |",
        "| 4.3 | not run | 2 passed |",
    ]
    os.utime(scala / "A.xml", (1000, 1000))  # of an earlier commit
    assert "| 4.2 | 0 passed, 1 failed | not run |" in release.matrix(tmp_path, "4.2", ["4.2"], since=2000)


@pytest.mark.long
def test_two_builds_are_equal_and_the_files_have_their_checksums() -> None:
    run = subprocess.run(
        [sys.executable, str(ROOT / "scripts/release.py"), "--draft"], capture_output=True, text=True, timeout=3000
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    folder = ROOT / "dist/release"
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=folder, check=True)
    jars = sorted(path.name for path in folder.glob("*.jar"))
    assert [release.artifact_of(jar)[1] for jar in jars] == sorted(sparks.every())
    assert {path.stem for path in folder.glob("*.pom")} == {jar.removesuffix(".jar") for jar in jars}
    [wheel] = folder.glob("*.whl")
    for jar in jars:
        assert zipfile.ZipFile(wheel).read(f"joinless/jars/{jar}") == (folder / jar).read_bytes()
    assert (folder / "NOTES.md").read_text().startswith("# Joinless ")
