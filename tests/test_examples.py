"""The examples run and agree with their own checks. The demo is run by `make demo`."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import ROOT
from support import process

#: Delta's helper would fetch its jars into a cache that others may be reading. The
#: settings only save time.
RUN = """
import os, runpy, sys
import delta
from conftest import QUICK
from support import delta_jars
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
delta.configure_spark_with_delta_pip = lambda builder: delta_jars.configure(builder.config(map=QUICK))
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("name", ["delta_cdc", "follow_alerts", "top_cities"])
def test_the_example_agrees_with_its_checks(name: str) -> None:
    run = process.run_python(RUN, str(ROOT / "examples" / f"{name}.py"))
    assert run.returncode == 0, run.stdout + run.stderr[-3000:]
    assert run.stdout.splitlines()[-1].startswith("OK after ")


def test_the_regression_agrees_with_a_join_of_the_rows_and_draws_its_picture(tmp_path: Path) -> None:
    picture = tmp_path / "coefficients.svg"
    program = str(ROOT / "examples" / "regression.py")
    run = process.run_python(RUN, program, "--batches", "4", "--picture", str(picture))
    assert run.returncode == 0, run.stdout + run.stderr[-3000:]
    assert [line.split()[-1] for line in run.stdout.splitlines() if line[:5].strip().isdigit()] == ["yes"] * 4
    assert "per degree" in picture.read_text()
