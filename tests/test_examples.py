"""The examples run and agree with their own checks. The demo is run by `make demo`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from conftest import ROOT


@pytest.mark.parametrize("name", ["delta_cdc", "follow_alerts"])
def test_the_example_agrees_with_its_checks(name: str) -> None:
    command = [sys.executable, str(ROOT / "examples" / f"{name}.py")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr[-3000:]
    assert run.stdout.splitlines()[-1].startswith("OK after ")
