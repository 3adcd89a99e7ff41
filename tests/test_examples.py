"""The examples run and agree with their own checks. The demo is run by `make demo`."""

from __future__ import annotations

import pytest

from conftest import ROOT
from support import process

#: Delta's helper would fetch its jars into a cache that others may be reading. The settings only save time.
RUN = """
import os, runpy, sys
import delta
from conftest import QUICK
from support import delta_jars
sys.path.insert(0, os.path.dirname(sys.argv[1]))
delta.configure_spark_with_delta_pip = lambda builder: delta_jars.configure(builder.config(map=QUICK))
runpy.run_path(sys.argv[1], run_name="__main__")
"""


@pytest.mark.parametrize("name", ["delta_cdc", "follow_alerts", "top_cities"])
def test_the_example_agrees_with_its_checks(name: str) -> None:
    run = process.run_python(RUN, str(ROOT / "examples" / f"{name}.py"))
    assert run.returncode == 0, run.stdout + run.stderr[-3000:]
    assert run.stdout.splitlines()[-1].startswith("OK after ")
