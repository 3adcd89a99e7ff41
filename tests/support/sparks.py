"""The versions of Spark that the plugin is built for, and processes that run with one of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyspark

ROOT = Path(__file__).parents[2]
REQUIREMENTS = ROOT / "python"
FOLDER = ROOT / ".build" / "spark"


def own() -> str:
    """The minor version that all tests run with."""
    return minor((REQUIREMENTS / "requirements-dev.txt").read_text())


def running() -> str:
    """The minor version that this process runs with."""
    return minor(f"pyspark=={pyspark.__version__}")


def others() -> list[str]:
    """The other minor versions, whose PySpark set-up puts below of .build/spark."""
    files = REQUIREMENTS.glob("requirements-spark-*.txt")
    return sorted(minor(file.read_text()) for file in files)


def every() -> list[str]:
    """All of them, ascending."""
    return sorted([own(), *others()], key=lambda name: [int(part) for part in name.split(".")])


def minor(requirements: str) -> str:
    """The minor version of the PySpark that these requirements name."""
    found = re.search(r"^pyspark==(\d+\.\d+)\.\d+$", requirements, re.MULTILINE)
    assert found, requirements
    return found[1]


def run(spark: str, *command: str, timeout: float = 600) -> subprocess.CompletedProcess[str]:
    """Runs Python with the PySpark of that minor version, the package's sources, and `tests` as the
    folder it is in.
    """
    paths = [ROOT / "python" / "src"]
    if spark != own():
        paths.insert(0, FOLDER / spark)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SPARK", "PYSPARK"))}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, paths))
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT / "tests",
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
