"""One folder of files that feeds several relations: read and stored once
where possible, always exact.
"""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import joinless
from streams import Graph
from support import graphs, oracles
from support.run import OPERATOR, operators_of

EDGES, FILES = 1_200, 6


@pytest.fixture
def edges(tmp_path: Path) -> list[tuple[int, int]]:
    graph = Graph.power_law(EDGES, seed=5, vertices=300)
    return list(zip(graph.src.tolist(), graph.dst.tolist(), strict=True))


def write(folder: Path, edges: list[tuple[int, int]], number: int) -> None:
    """Writes a file atomically, as a real producer should."""
    folder.mkdir(exist_ok=True)
    staged = folder.parent / f"staged-{number}"
    staged.write_text("".join(f"{a},{b}\n" for a, b in edges))
    staged.rename(folder / f"{number:03d}.csv")


def paths(edges: list[tuple[int, int]]) -> Counter[tuple[int, ...]]:
    """The three-hop paths, by plain Python."""
    out: dict[int, list[int]] = {}
    for a, b in edges:
        out.setdefault(a, []).append(b)
    return Counter((a, b, c, d) for a, b in edges for c in out.get(b, ()) for d in out.get(c, ()))


@pytest.mark.parametrize(("partitions", "replication"), [(1, (1.0, 1.0)), (4, (1.0, 4.0))])
def test_a_self_join_reads_and_stores_each_edge_once(
    spark: SparkSession,
    tmp_path: Path,
    edges: list[tuple[int, int]],
    partitions: int,
    replication: tuple[float, float],
) -> None:
    for i in range(FILES):
        write(tmp_path / "edges", edges[i::FILES], i)
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", str(partitions))
    graphs.stream(session, tmp_path / "edges", files_per_trigger=1).createOrReplaceTempView("e")
    writer = session.sql(graphs.L3).writeStream.format("memory").queryName("paths").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path / "cp")).start()
    query.awaitTermination()
    report = joinless.progress(query)
    assert report is not None
    assert replication[0] <= report.stored_rows / EDGES <= replication[1]
    assert [p.numInputRows for p in query.recentProgress] == [EDGES // FILES] * FILES
    assert Counter(map(tuple, session.table("paths").collect())) == paths(edges)
    assert operators_of(query) == {OPERATOR}


@pytest.mark.parametrize("share", [True, False])
def test_a_live_feed_whose_leaves_see_different_files_stays_exact(
    spark: SparkSession, tmp_path: Path, edges: list[tuple[int, int]], share: bool
) -> None:
    session = spark.newSession()
    session.conf.set("spark.joinless.shareSources", str(share).lower())
    session.conf.set("spark.sql.shuffle.partitions", "2")
    pieces = 60
    write(tmp_path / "edges", edges[0::pieces], 0)
    graphs.stream(session, tmp_path / "edges", files_per_trigger=None).createOrReplaceTempView("e")
    writer = session.sql(graphs.L3).writeStream.format("memory").queryName("paths")
    query = writer.option("checkpointLocation", str(tmp_path / "cp")).start()

    def feed() -> None:
        for i in range(1, pieces):
            write(tmp_path / "edges", edges[i::pieces], i)
            threading.Event().wait(0.05)

    producer = threading.Thread(target=feed)
    producer.start()
    producer.join()
    query.processAllAvailable()
    rows = oracles.bag(session.table("paths").collect())
    assert len(query.recentProgress[-1].sources) == (1 if share else 3)
    query.stop()
    assert oracles.difference(rows, oracles.bag(paths(edges).elements())) == ""
    assert operators_of(query) == {OPERATOR}


def test_many_small_batches_and_one_large_one_agree(
    spark: SparkSession, tmp_path: Path, edges: list[tuple[int, int]]
) -> None:
    for i in range(FILES):
        write(tmp_path / "edges", edges[i::FILES], i)
    found = []
    for files in (1, 4, None):
        session = spark.newSession()
        session.conf.set("spark.sql.shuffle.partitions", "3")
        graphs.stream(session, tmp_path / "edges", files_per_trigger=files).createOrReplaceTempView("e")
        writer = session.sql(graphs.L4).writeStream.format("memory").queryName("paths").trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / f"cp-{files}")).start().awaitTermination()
        found.append(oracles.bag(session.table("paths").collect()))
    assert found[0] == found[1] == found[2]
    assert found[0]
