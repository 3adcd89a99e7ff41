"""Every version of Spark that the wheel has a jar for: the same queries, and one checkpoint that
goes on from version to version.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from joinless import _jars
from support import sparks


def test_the_build_the_package_and_set_up_name_the_same_versions() -> None:
    build = (sparks.ROOT / "build.sbt").read_text()
    assert (
        sorted(re.findall(r'^lazy val spark\d+ = pluginBeside\("(\d+\.\d+)"\)$', build, re.MULTILINE))
        == sparks.others()
    )
    first, last = sparks.every()[0], sparks.every()[-1]
    major, number = last.split(".")
    package = (sparks.ROOT / "python" / "pyproject.toml").read_text()
    assert f'"pyspark>={first},<{major}.{int(number) + 1}"' in package
    for minor in sparks.every():
        assert _jars.bundled(f"{minor}.0").name.startswith(f"joinless-spark-{minor}_2.13-")
        for page in ("README.md", "python/README.md"):
            assert re.search(rf"\b{re.escape(minor)}\b", (sparks.ROOT / page).read_text()), (page, minor)


def test_folders_of_sources_are_for_versions_that_are_built() -> None:
    for sources in ("main", "test"):
        parent = sparks.ROOT / "spark-plugin" / "plugin" / "src" / sources
        for folder in parent.glob("spark-*"):
            assert set(folder.name.removeprefix("spark-").split("-")) <= set(sparks.every()), folder


def test_a_checkpoint_goes_on_from_version_to_version(tmp_path: Path) -> None:
    for number, minor in enumerate(sparks.every()):
        play(minor, tmp_path, number)


@pytest.mark.long
@pytest.mark.parametrize("minor", sparks.every())
def test_five_rounds_with_one_version(minor: str, tmp_path: Path) -> None:
    for number in range(5):
        play(minor, tmp_path, number)


def play(minor: str, folder: Path, number: int) -> None:
    """A round of the queries in `support/versions.py`, in a process with that version."""
    done = sparks.run(minor, "-m", "support.versions", str(folder), str(number))
    assert done.returncode == 0, done.stdout + done.stderr[-6000:]
    said = done.stdout.splitlines()
    assert said[0].startswith(f"Spark {minor}."), said
    wanted = {"three-way join", "groups over changes", "the whole result", "an as-of join"}
    if minor >= "4.3":
        wanted |= {"ASOF JOIN"}
    if (sparks.FOLDER / minor / "delta-jars").exists() or minor == sparks.own():
        wanted |= {"a Delta table"}
    assert {line.split(":")[0].strip() for line in said[1:]} == wanted, said
