"""Look-ups in the result of a query while it runs, after a restart, and in its checkpoint: each
answer is that of batch SQL as of one committed batch. The long run also loses an executor in between.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from conftest import ROOT
from support.looked_up import LookedUp, play


@pytest.mark.parametrize("kind", ["appended", "changes"])
def test_a_thousand_keys_while_the_query_runs_and_afterwards(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "4")
    at = LookedUp(session, tmp_path, kind == "changes", batches=16, seed=5)
    query = at.start()
    play(at, query, keys=450, together=50)
    query.stop()
    query = at.start()
    play(at, query, keys=150, together=50)
    query.stop()
    at.call(query, 1)  # one that has ended
    for size in (1, 1, 1, 50):
        at.call(None, size)
    assert at.committed() > 5
    assert at.found > 1000


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="executors are found in /proc")
@pytest.mark.parametrize("kind", ["appended", "changes"])
def test_an_executor_is_lost_between_look_ups(tmp_path: Path, kind: str) -> None:
    path = os.pathsep.join([str(ROOT / "tests"), str(ROOT / "python" / "src")])
    command = [sys.executable, "-m", "support.looked_up", str(tmp_path), kind, "1000"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.stdout.startswith("right"), done.stdout[-2000:] + done.stderr[-4000:]
