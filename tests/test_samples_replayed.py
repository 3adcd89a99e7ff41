"""Samples that are kept are the same whenever the same batches are played: after a kill of the
driver, with other numbers of cores and of partitions.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.sql.streaming.query import StreamingQuery

import joinless
from support.process import environment, run_python
from support.shop import TABLES, Shop
from test_samples import BOUGHT

SIZE = 15

#: Maintains the sample in a process of its own, which is killed when its second batch is in the
#: table, or by who started it.
PIPELINE = """
import sys
from pathlib import Path
import joinless
from conftest import quiet_builder, set_permissions_without_processes, with_delta
from support.shop import Shop, dying_after_batch_1
from test_samples_replayed import sampled

folder, into, cells, partitions, cores, end = sys.argv[1:]
builder = quiet_builder().master(f"local[{cores}]")
spark = with_delta(joinless.configure(builder)).getOrCreate()
set_permissions_without_processes(spark)
if end == "dies":
    dying_after_batch_1(spark)
sampled(Shop(spark, Path(folder)), into, cells, partitions).awaitTermination()
"""


def sampled(shop: Shop, into: str, cells: str, partitions: str) -> StreamingQuery:
    """The table of the sample, updated by the commits so far, a file of each table per batch."""
    shop.session.conf.set("spark.joinless.placement.maxCells", cells)
    shop.session.conf.set("spark.sql.shuffle.partitions", partitions)
    for table in TABLES:
        reader = shop.session.readStream.format("delta").option("readChangeFeed", "true").option("startingVersion", 0)
        changes = reader.option("maxFilesPerTrigger", 1).load(str(shop.folder / table))
        joinless.changelog(changes).createOrReplaceTempView(table)
    kept = joinless.sample(shop.session.sql(BOUGHT), SIZE, seed=7)
    return joinless.materialize(kept, shop.at(into), shop.folder / f"{into}-checkpoint", trigger="availableNow")


def versions(shop: Shop, into: str) -> list[list[tuple[str, str]]]:
    """The rows of each version of a table."""
    found = []
    for version in range(shop.version(into) + 1):
        rows = shop.session.read.format("delta").option("versionAsOf", version).load(str(shop.folder / into))
        found.append(sorted(tuple(row) for row in rows.collect()))
    return found


def killed_while_it_runs(*arguments: str, log: Path, until: int, pause: float) -> None:
    """Kills the pipeline some time after its table has a version."""
    with (log.parent / "out").open("w") as out:
        running = subprocess.Popen(
            [sys.executable, "-c", PIPELINE, *arguments],
            env=environment(),
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    deadline = time.monotonic() + 120
    while running.poll() is None and time.monotonic() < deadline and not (log / f"{until:020}.json").exists():
        time.sleep(0.01)
    time.sleep(pause)
    assert running.poll() is None, (log.parent / "out").read_text()[-3000:]
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()


@pytest.mark.parametrize(("cells", "partitions"), [("0", "5"), pytest.param("3", "3", marks=pytest.mark.long)])
def test_a_sample_whose_driver_is_killed_goes_on_as_if_it_were_not(shop: Shop, cells: str, partitions: str) -> None:
    rng = random.Random(53)
    shop.fill(customers=5, items=4, orders=40)
    for _ in range(12):
        shop.random_commit(rng)
    sampled(shop, "whole", cells, "2" if cells == "0" else partitions).awaitTermination()
    expected = versions(shop, "whole")
    assert len(expected) > 6
    assert all(0 < len(rows) <= SIZE for rows in expected[-3:])
    arguments = [str(shop.folder), "killed", cells, partitions]
    first = run_python(PIPELINE, *arguments, "1", "dies")
    assert first.stdout.strip() == "halted", first.stderr[-3000:]
    log = shop.folder / "killed" / "_delta_log"
    there = shop.version("killed")
    assert there < len(expected) - 3
    killed_while_it_runs(*arguments, "2", "goes on", log=log, until=there + 1, pause=rng.uniform(0, 0.15))
    assert shop.version("killed") < len(expected) - 1
    sampled(shop, "killed", cells, partitions).awaitTermination()
    assert versions(shop, "killed") == expected
