"""One Spark session for the whole suite, from the jar that was built; options
and fixtures of the suites.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import joinless
from support import delta_jars, sparks
from support.run import INTERPRETED
from support.shop import Shop
from support.times import PROC, FileTimes, processor_seconds

os.environ["TZ"] = "UTC"  # Python's view of Spark's timestamps
time.tzset()

ROOT = Path(__file__).parent.parent
#: Where the plugin is built for the version of Spark that is running.
PLUGIN = ROOT / ("spark-plugin/plugin" if sparks.running() == sparks.own() else f"target/spark-{sparks.running()}")
TEST_JAR = PLUGIN / "target" / "scala-2.13" / "joinless-spark-tests.jar"  # the plugin's tests
BENCH_CLASSES = ROOT / "spark-plugin" / "bench" / "target" / "scala-2.13" / "classes"  # the benchmark's sink
#: Plans live shorter than their compilation would take. With one compiler alone the code cache
#: would be small, full of the code of dead plans, and swept all the time.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC -Xmn512m -XX:MetaspaceSize=256m"
#: For short programs: small pages, since each hash table and each sort takes one; no process for
#: each file that Hadoop writes; no compilation of short-lived code.
QUICK = {
    "spark.buffer.pageSize": "1m",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.hadoop.fs.file.impl": "io.joinless.spark.LocalFiles",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "io.joinless.spark.LocalFiles$Context",
    "spark.driver.extraClassPath": str(TEST_JAR),
}
#: These files run first, so that no process still runs one of them when the others are idle.
LONGEST = {
    "test_apply_changes.py",
    "test_delta.py",
    "test_differential_mixed_plans.py",
    "test_differential_random_queries.py",
    "test_docs.py",
    "test_recovery.py",
    "test_sinks.py",
}
#: The session that the files share, once one of them has asked for it.
SHARED: list[SparkSession] = []
DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--queries", type=int, default=60, help="how many seeded random queries to run (60)")
    parser.addoption("--change-queries", type=int, default=12, help="the same for queries over change streams (12)")
    parser.addoption("--cyclic-queries", type=int, default=12, help="the same for cyclic join graphs (12)")
    parser.addoption("--as-of-queries", type=int, default=8, help="the same for as-of joins (8)")
    parser.addoption("--mixed-plans", type=int, default=16, help="the same for plans that mix ours and Spark's (16)")
    parser.addoption("--first-seed", type=int, default=0, help="the first of those seeds (0)")
    parser.addoption("--long", action="store_true", help="run the tests marked as long, and no others")
    parser.addoption("--update", action="store_true", help="write generated docs anew instead of comparing them")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The gate runs tests that are not marked as long, `make test-long` the others."""
    long = bool(config.getoption("--long"))
    chosen: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        (chosen if (item.get_closest_marker("long") is not None) == long else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = sorted(chosen, key=lambda item: item.path.name not in LONGEST)


TIMES = FileTimes()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool | None, bool | None]:
    """Records the time of each file. The start of a session counts for the file that starts it."""
    if not (PROC / "self").exists():
        return (yield)
    before, started = processor_seconds(), time.monotonic()
    try:
        return (yield)
    finally:
        TIMES.add(item.path.name, processor_seconds() - before, time.monotonic() - started)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Writes the times of this process, `.build/times/python-*.tsv`; with several
    processes each writes its own.
    """
    if TIMES.files:
        TIMES.write(ROOT / ".build" / "times" / f"python-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}.tsv")


def quiet_builder() -> SparkSession.Builder:
    """A small local session: two cores, no UI, little memory, UTC."""
    return (
        SparkSession.Builder()
        .master("local[2]")
        .appName("joinless tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.ui.explainMode", "simple")  # computed for each batch, even if nobody reads it
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "3g")
        .config("spark.driver.extraJavaOptions", JAVA_OPTIONS)
        .config("spark.driver.extraClassPath", str(BENCH_CLASSES))
        .config("spark.jars", str(TEST_JAR))
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.joinless.placement.maxCells", "1000")  # partitions say how many cells there are, not the machine
        # random queries (support/run.py) and processes of their own have generated code
        .config(map={**INTERPRETED})
        .config("spark.buffer.pageSize", "1m")  # each hash table and each sort takes one; Spark would take 64 MB
        .config("spark.sql.streaming.pollingDelay", "50ms")  # an idle stream lists its files this often
        .config("spark.ui.retainedJobs", "20")  # kept without a UI, too
        .config("spark.ui.retainedStages", "20")
        .config("spark.ui.retainedTasks", "200")
        .config("spark.sql.ui.retainedExecutions", "20")
        .config("spark.sql.streaming.stateStore.minDeltasForSnapshot", "100")
        .config("spark.sql.streaming.stateStore.maintenanceInterval", "10min")
    )


def with_delta(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Adds Delta Lake after the builder's own settings, where Delta has a release for this Spark."""
    if not delta_jars.found() and sparks.running() != sparks.own():
        return builder
    catalog = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    extensions = [*filter(None, [builder._options.get("spark.sql.extensions")]), DELTA_EXTENSION]
    builder = builder.config("spark.sql.extensions", ",".join(extensions))
    builder = builder.config("spark.sql.catalog.spark_catalog", catalog)
    # The default of 50 partitions makes a commit to a small table seconds long.
    builder = builder.config("spark.databricks.delta.snapshotPartitions", "1")
    return delta_jars.configure(builder)


def set_permissions_without_processes(session: SparkSession) -> None:
    """From here on, Hadoop starts no process for each file that it writes."""
    jvm = session._jvm
    assert jvm is not None
    jvm.io.joinless.spark.LocalFiles.use(session.sparkContext._jsc.hadoopConfiguration())


def look_at_no_jobs(session: SparkSession) -> None:
    """From here on, Spark does not compute the data that it would keep of each job for its UI."""
    jvm = session._jvm
    assert jvm is not None
    jvm.org.apache.spark.sql.joinless.Unobserved.apply(session._jsparkSession)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The shared session, with Joinless and Delta in it, in this order;
    tests/test_delta.py runs the other one.
    """
    session = joinless.configure(with_delta(quiet_builder())).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    set_permissions_without_processes(session)
    look_at_no_jobs(session)
    SHARED.append(session)
    yield session
    session.stop()


@pytest.fixture(scope="module", autouse=True)
def views_of_a_file() -> Iterator[None]:
    """Temporary views end with the file that makes them: one that stays would hide a table
    of its name from the files after it.
    """
    yield
    for session in SHARED:
        for view in session.sql("SHOW VIEWS").collect():
            if view.isTemporary:
                session.catalog.dropTempView(view.viewName)


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Shop:
    """Empty tables of a shop, in a session of their own."""
    shop = Shop(spark.newSession(), tmp_path)
    shop.create()
    return shop


@pytest.fixture(scope="session")
def shared() -> Path | None:
    """The folder of the shared benchmark streams, if any: JOINLESS_SHARED, or
    `shared` next to the repository.
    """
    folder = Path(os.environ.get("JOINLESS_SHARED", ROOT.parent / "shared"))
    return folder if (folder / "bench" / "streams.py").exists() else None
