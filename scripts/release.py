"""Builds what a release consists of: `make release`.

The last commit is built twice, in two folders, and the files must be equal byte by byte. They are put
into ``dist/release``: the wheel, the jar of each version of Spark with its POM, the notes (the section
of CHANGELOG.md), the matrix of the tests that ran here since the commit, and the SHA-256 of each file.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]

POM = """<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
    xsi:schemaLocation="http://maven.apache.org/POM/4.0.0 http://maven.apache.org/xsd/maven-4.0.0.xsd">
  <modelVersion>4.0.0</modelVersion>
  <groupId>io.joinless</groupId>
  <artifactId>{artifact}</artifactId>
  <version>{version}</version>
  <packaging>jar</packaging>
  <name>Joinless for Spark {spark}</name>
  <description>{description}</description>
  <licenses>
    <license>
      <name>Apache-2.0</name>
      <distribution>repo</distribution>
    </license>
  </licenses>
</project>
"""


class Refused(Exception):
    """Why there is no release, in one sentence."""


def version_of(root: Path) -> str:
    """The version that the build, the package and the changelog agree on."""
    found = {
        name: _first(pattern, (root / name).read_text())
        for name, pattern in (
            ("build.sbt", r'^ThisBuild / version := "(.+)"$'),
            ("python/pyproject.toml", r'^version = "(.+)"$'),
            ("python/src/joinless/__init__.py", r'^__version__ = "(.+)"$'),
            ("CHANGELOG.md", r"^## ([\d.]+),"),
        )
    }
    if len(set(found.values())) != 1:
        raise Refused("The versions differ: " + ", ".join(f"{name} has {version}" for name, version in found.items()))
    return found["build.sbt"]


def notes(changelog: str, version: str, draft: bool) -> str:
    """The section of a version. A release has a date in its heading, a draft need not."""
    parts = re.split(rf"^## {re.escape(version)}, (.*)$", changelog, maxsplit=1, flags=re.MULTILINE)
    if len(parts) != 3:
        raise Refused(f"CHANGELOG.md has no section {version}.")
    if not draft and not re.fullmatch(r"\d{4}-\d{2}-\d{2}", parts[1]):
        raise Refused(f"CHANGELOG.md says {parts[1]} of {version}, not a date such as 2026-12-31.")
    section = re.split(r"^## ", parts[2], maxsplit=1, flags=re.MULTILINE)[0]
    return f"# Joinless {version}, {parts[1]}\n\n{section.strip()}\n"


def artifact_of(jar: str) -> tuple[str, str]:
    """The artifact of a jar by its name, and the minor version of Spark."""
    found = re.fullmatch(r"(joinless-spark-(\d+\.\d+)_[\d.]+)-[\d.]+\.jar", jar)
    if found is None:
        raise Refused(f"{jar} is no name of a jar of Joinless.")
    return found[1], found[2]


def pom(jar: str, version: str, description: str) -> str:
    """The POM of a jar. It has no dependencies: Spark brings all that the jar needs."""
    artifact, spark = artifact_of(jar)
    return POM.format(artifact=artifact, version=version, spark=spark, description=description)


@dataclass(frozen=True)
class Tests:
    """How many tests of one kind ended how."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Tests) -> Tests:
        return Tests(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        if self == Tests():
            return "not run"
        others = [f"{n} {what}" for n, what in ((self.failed, "failed"), (self.skipped, "skipped")) if n]
        return ", ".join([f"{self.passed} passed", *others])


def reported(reports: Iterable[Path], since: float = 0) -> Tests:
    """The tests of JUnit reports, as ScalaTest and pytest write them, that are not older than a time."""
    total = Tests()
    for report in (report for report in reports if report.stat().st_mtime >= since):
        for case in ElementTree.parse(report).iter("testcase"):
            failed = case.find("failure") is not None or case.find("error") is not None
            skipped = case.find("skipped") is not None
            total += Tests(int(not failed and not skipped), int(failed), int(skipped and not failed))
    return total


def matrix(root: Path, own: str, sparks: Iterable[str], since: float = 0) -> str:
    """The tests that ran last with each version of Spark, from the reports since a time."""
    lines = ["| Spark | Scala tests | Python tests |", "|---|---|---|"]
    for spark in sparks:
        plugin = root / "spark-plugin/plugin" if spark == own else root / f"target/spark-{spark}"
        scala = reported(sorted(plugin.glob("target/test-reports/*.xml")), since)
        python = reported(sorted((root / ".build/results").glob(f"{spark}-*.xml")), since)
        lines.append(f"| {spark} | {scala} | {python} |")
    return "\n".join(lines) + "\n"


def checksums(folder: Path) -> str:
    """The SHA-256 of each file, in the form that `sha256sum --check` reads."""
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(folder.iterdir())
    )


def built(commit: str, into: Path) -> dict[str, bytes]:
    """The wheel and the jars of a commit, built in a folder of its own with the tools of this one."""
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "x"], cwd=into, input=archive.stdout, check=True)
    for tools in (".venv", ".build"):
        (into / tools).symlink_to(ROOT / tools)
    subprocess.run(["make", "--no-print-directory", "wheel"], cwd=into, check=True)
    files = [*(into / "dist").glob("*.whl"), *(into / "python/src/joinless/jars").glob("*.jar")]
    return {path.name: path.read_bytes() for path in sorted(files)}


def release(draft: bool) -> Path:
    """Builds the release, and returns its folder."""
    version = version_of(ROOT)
    text = notes((ROOT / "CHANGELOG.md").read_text(), version, draft)
    if _git("status", "--porcelain") and not draft:
        raise Refused("There are changes that are not committed.")
    commit = _git("rev-parse", "HEAD")
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        files, again = built(commit, Path(one)), built(commit, Path(other))
    if differ := [name for name in files.keys() | again.keys() if files.get(name) != again.get(name)]:
        raise Refused(f"Two builds of {commit} differ in {', '.join(sorted(differ))}.")
    folder = ROOT / "dist/release"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    description = _first(r'^description = "(.+)"$', (ROOT / "python/pyproject.toml").read_text())
    for name, data in files.items():
        (folder / name).write_bytes(data)
        if name.endswith(".jar"):
            (folder / name).with_suffix(".pom").write_text(pom(name, version, description))
    own = _first(r'^val sparkVersion = "(\d+\.\d+)\.', (ROOT / "build.sbt").read_text())
    sparks = sorted(artifact_of(name)[1] for name in files if name.endswith(".jar"))
    tested = matrix(ROOT, own, sparks, since=float(_git("log", "-1", "--format=%ct")))
    (folder / "NOTES.md").write_text(f"{text}\n## Tests\n\nCommit {commit}.\n\n{tested}")
    (folder / "SHA256SUMS").write_text(checksums(folder))
    return folder


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    return found[1] if found else "none"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Builds a release of the last commit into dist/release.")
    parser.add_argument(
        "--draft", action="store_true", help="without a date in the changelog, beside uncommitted changes"
    )
    try:
        folder = release(parser.parse_args().draft)
    except Refused as refused:
        sys.exit(str(refused))
    print((folder / "SHA256SUMS").read_text(), end="")


if __name__ == "__main__":
    main()
