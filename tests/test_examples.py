"""The examples run and agree with their own checks. The demo is run by `make demo`."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from conftest import ROOT
from support import process

#: Delta's helper would fetch its jars into a cache that others may be reading. The
#: settings only save time.
RUN = """
import os, runpy, sys
import delta, joinless
from conftest import JAVA_OPTIONS, QUICK
from support import delta_jars
sys.argv = sys.argv[1:]
if len(sys.argv) > 1:  # more packages, for processes of its own, too
    sys.path.append(sys.argv[1])
    os.environ["PYTHONPATH"] += os.pathsep + sys.argv[1]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
delta.configure_spark_with_delta_pip = delta_jars.configure
def quick(builder):
    options = f"{builder._options.get('spark.driver.extraJavaOptions', '')} {JAVA_OPTIONS}"
    return configure(builder.config(map={**QUICK, "spark.driver.extraJavaOptions": options}))
configure, joinless.configure = joinless.configure, quick
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("name", ["delta_cdc", "follow_alerts"])
def test_the_example_agrees_with_its_checks(name: str) -> None:
    run = process.run_python(RUN, str(ROOT / "examples" / f"{name}.py"))
    assert run.returncode == 0, run.stdout + run.stderr[-3000:]
    assert run.stdout.splitlines()[-1].startswith("OK after ")


@pytest.mark.long
def test_the_shop_agrees_through_a_kill_and_changed_queries() -> None:
    run = process.run_python(RUN, str(ROOT / "examples" / "shop.py"), seconds=1500)
    assert run.returncode == 0, run.stdout + run.stderr[-3000:]
    assert "FAILED" not in run.stdout
    assert run.stdout.count("gets another query") == 2
    assert run.stdout.splitlines()[-1].startswith("OK after ")


@pytest.mark.long
@pytest.mark.parametrize(
    ("changes", "batches", "kills"), [(4_000, 8, 1), (1_000_000, 25, 3)], ids=["a few changes", "a million changes"]
)
def test_a_compacted_topic_equals_batch_sql_though_driver_and_broker_are_killed(
    changes: int, batches: int, kills: int
) -> None:
    assert list((ROOT / ".build" / "kafka" / "broker").glob("*.jar")), "run scripts/setup kafka"
    sizes = ["--changes", str(changes), "--batches", str(batches), "--kills", str(kills)]
    run = process.run([sys.executable, str(ROOT / "examples" / "kafka_topics.py"), *sizes], seconds=3000)
    assert run.returncode == 0, run.stdout + run.stderr[-3000:]
    assert run.stdout.count("the driver is killed") == run.stdout.count("the broker is killed") == kills
    assert "0 missing, 0 too many" in run.stdout
    assert run.stdout.splitlines()[-1].startswith("OK after ")


def test_the_regression_agrees_with_a_join_of_the_rows_and_draws_its_picture(tmp_path: Path) -> None:
    picture = tmp_path / "coefficients.svg"
    program = str(ROOT / "examples" / "regression.py")
    run = process.run_python(RUN, program, "--batches", "4", "--picture", str(picture))
    assert run.returncode == 0, run.stdout + run.stderr[-3000:]
    assert [line.split()[-1] for line in run.stdout.splitlines() if line[:5].strip().isdigit()] == ["yes"] * 4
    assert "per degree" in picture.read_text()


def test_the_dashboard_agrees_with_exact_values_and_draws_its_picture(tmp_path: Path) -> None:
    picture = tmp_path / "dashboard.svg"
    small = ("--edges", "2000", "--files", "2", "--sample", "4000", "--picture", str(picture))
    run = process.run_python(RUN, str(ROOT / "examples" / "dashboard.py"), *small)
    assert run.returncode == 0, run.stdout + run.stderr[-3000:]
    assert sum("bounds hold" in line and "edges" in line for line in run.stdout.splitlines()) == 2
    assert run.stdout.splitlines()[-1].startswith("OK after ")
    assert "slow at both ends" in picture.read_text()


def test_the_exact_values_of_the_dashboard_are_those_of_its_messages(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    import dashboard

    rng = random.Random(1)
    rows = [
        (rng.randrange(12), rng.randrange(12), rng.choice("AB"), rng.randrange(1, 61), rng.randrange(2))
        for _ in range(80)
    ]
    edges = spark.createDataFrame(rows, dashboard.SCHEMA)
    edges.createOrReplaceTempView("follows")
    found = dashboard.exactly(edges)
    messages = [row.asDict() for row in spark.sql(dashboard.MESSAGES).collect()]
    spark.catalog.dropTempView("follows")
    spark.catalog.dropTempView("edges")
    assert len(messages) > 1000
    for country in ("A", "B", "all"):
        of_it = [row for row in messages if country in ("all", row["country"])]
        assert found[country, dashboard.COUNT] == len(of_it)
        assert found[country, dashboard.MINUTES] == sum(row["minutes"] for row in of_it) / len(of_it)
        assert found[country, dashboard.SLOWLY] == sum(row["slow"] for row in of_it)
        assert found[country, dashboard.SHARE] == sum(row["slow"] for row in of_it) / len(of_it)
    assert len(found) == 12


def test_the_dashboard_fails_where_bounds_or_errors_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    import dashboard

    def check(error: float = 1, shift: float = 0) -> list[str]:
        """What is wrong with estimates that are off by about 1 and are shifted, with bounds by this error."""
        rng = random.Random(1)
        values = [rng.gauss(100 + shift, 1) for _ in range(144)]
        bounds = [(x, error, x - 1.96 * error, x + 1.96 * error) for x in values]
        return dashboard.check([dashboard.Shown(0, "Peru", dashboard.MINUTES, *each, 100) for each in bounds])

    assert check() == []
    assert check(error=0.6) == ["too few bounds hold", "errors are too small or too large"]
    assert check(error=2) == ["errors are too small or too large"]
    assert check(shift=0.5) == check(shift=-0.5) == ["values are too high or too low"]


@pytest.mark.long
def test_a_view_in_a_pipeline_agrees_after_each_update() -> None:
    packages = process.client_environment()["PYTHONPATH"]
    run = process.run_python(RUN, str(ROOT / "examples" / "pipeline.py"), packages, seconds=900)
    assert run.returncode == 0, run.stdout + run.stderr[-3000:]
    assert run.stdout.splitlines()[-1].startswith("OK after ")
