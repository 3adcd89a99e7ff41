"""Set-up fetches every jar before the first test, no test-only jar for other uses, and
no partial download counts.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from conftest import ROOT

#: Stands for PySpark's `spark-submit`: it leaves a jar in the folder for Ivy, and fails where the
#: file `broken` is.
SUBMIT = """#!/bin/bash
echo submitted >>submitted.txt
for argument; do case "$argument" in spark.jars.ivy=*) ivy=${argument#*=} ;; esac; done
mkdir -p "$ivy/jars" && echo jar >"$ivy/jars/delta.jar"
[ ! -e broken ] || { echo "no route to host" >&2; exit 1; }
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that has everything but Delta's jars."""
    connect = "python/requirements-connect.txt"
    programs = ("scripts/setup", "scripts/java", "project/build.properties", "project/kafka.txt")
    for name in (*programs, "python/requirements-dev.txt", connect):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    binaries = tmp_path / ".venv" / "bin"
    binaries.mkdir(parents=True)
    shutil.copy(ROOT / "python/requirements-dev.txt", tmp_path / ".venv/requirements-installed.txt")
    (binaries / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (binaries / "spark-submit").write_text(SUBMIT)
    for program in binaries.iterdir():
        program.chmod(0o755)
    (tmp_path / ".build" / "connect").mkdir(parents=True)
    shutil.copy(ROOT / connect, tmp_path / ".build" / "connect" / "installed.txt")
    version = (ROOT / "project/build.properties").read_text().split("=")[1].strip()
    (tmp_path / ".build" / f"sbt-launch-{version}.jar").write_text("launcher")
    return tmp_path


def set_up(checkout: Path, *what: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHON": sys.executable}
    command = [str(checkout / "scripts/setup"), *what]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_who_only_wants_the_demo_fetches_nothing_of_the_tests(checkout: Path) -> None:
    shutil.rmtree(checkout / ".build" / "connect")
    done = set_up(checkout)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (checkout / ".build").iterdir() if path.suffix != ".jar") == ["setup.lock"]
    commands = {
        target: subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for target in ("demo", "test", "test-long")
    }
    assert {target for target, printed in commands.items() if "scripts/setup tests" in printed} == {"test", "test-long"}


def test_jars_are_fetched_once_and_a_download_that_broke_does_not_count(checkout: Path) -> None:
    (checkout / "broken").touch()
    failed = set_up(checkout, "tests")
    assert failed.returncode == 1
    assert failed.stderr.splitlines() == [
        "no route to host",
        "Delta's jars could not be fetched; see .build/packages.log",
    ]
    assert not (checkout / ".build/jars").exists()
    (checkout / "broken").unlink()
    for _ in range(2):
        fetched = set_up(checkout, "tests")
        assert fetched.returncode == 0, fetched.stderr
    assert (checkout / ".build/jars/delta.jar").exists()
    assert not (checkout / ".build/fetching").exists()
    assert len((checkout / "submitted.txt").read_text().splitlines()) == 2


def test_kafka_is_fetched_on_request_only_and_once(checkout: Path) -> None:
    for _ in range(2):
        fetched = set_up(checkout, "kafka")
        assert fetched.returncode == 0, fetched.stderr
    assert len((checkout / "submitted.txt").read_text().splitlines()) == 2
    assert sorted(path.parent.name for path in checkout.glob(".build/kafka/*/delta.jar")) == ["broker", "connector"]
    assert not (checkout / ".build/jars").exists()


def test_a_version_of_spark_that_is_not_built_is_refused_by_name(checkout: Path) -> None:
    refused = set_up(checkout, "spark", "3.5")
    assert refused.returncode == 1
    assert "the plugin is not built for Spark 3.5" in refused.stderr


def test_set_ups_of_one_checkout_take_turns(checkout: Path) -> None:
    environment = {**os.environ, "PYTHON": sys.executable}
    several = [subprocess.Popen([checkout / "scripts/setup", "tests"], env=environment) for _ in range(3)]
    assert [one.wait(60) for one in several] == [0, 0, 0]
    assert len((checkout / "submitted.txt").read_text().splitlines()) == 1


def test_the_session_of_the_tests_fetches_nothing(spark: SparkSession) -> None:
    started_with = spark.sparkContext.getConf()  # a later builder may add to the session's own settings
    assert started_with.get("spark.jars.packages") is None
    assert "delta-spark" in str(started_with.get("spark.jars"))
