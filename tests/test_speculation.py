"""Second attempts of long tasks: both attempts commit the same batch of
the same cell, on two hosts.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest

from faults.__main__ import Input, Worker, rows_wrong
from support.standalone import cluster

STATE = "spark.sql.streaming.stateStore"
SETTINGS = [
    "spark.executor.memory=512m",  # the memory of a worker
    # ids of the version that an attempt wrote: a tree of the other attempt must not be taken for it
    f"{STATE}.providerClass=org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    f"{STATE}.rocksdb.changelogCheckpointing.enabled=true",
    f"{STATE}.checkpointFormatVersion=2",
]


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="127.0.0.2 and 127.0.0.3 are addresses of Linux machines")
def test_whichever_attempt_wins_no_row_is_lost_or_repeated(tmp_path: Path) -> None:
    source = Input(tmp_path / "pipeline", "changes", Random(7))
    source.folder.mkdir()
    for _ in range(4):
        source.add()
    with cluster(tmp_path) as url:
        worker = Worker(source.folder, source.kind, url, *SETTINGS)
        assert worker.process.wait(timeout=300) == 0, (source.folder / "log").read_text()[-4000:]
    attempts = {path.name for path in (source.folder / "attempts").iterdir()}
    assert attempts >= {f"{batch}-{attempt}" for batch in range(4) for attempt in (0, 1)}, attempts
    wrong, right = rows_wrong(source.folder, source.kind, source.present)
    assert wrong == 0
    assert right > 100
