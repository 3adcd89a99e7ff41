"""The wheel: complete, and sufficient in an environment that has nothing but PySpark."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
import zipfile
from io import BytesIO
from pathlib import Path

import pyspark
import pytest

from conftest import ROOT
from support import sparks

USE_IT = """
import joinless, pathlib, sys
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.host", "127.0.0.1")
spark = joinless.configure(builder).getOrCreate()
folder = sys.argv[1]
pathlib.Path(folder, "edges").mkdir()
pathlib.Path(folder, "edges", "1.csv").write_text("1,2\\n2,3\\n3,4\\n3,5\\n")
spark.readStream.schema("src long, dst long").csv(folder + "/edges").createOrReplaceTempView("e")
df = spark.sql("SELECT a.src, c.dst FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src")
assert joinless.why_not(df) == [], joinless.why_not(df)
query = df.writeStream.format("memory").queryName("paths").option("checkpointLocation", folder + "/cp").start()
query.processAllAvailable()
rows = sorted(map(tuple, spark.table("paths").collect()))
assert rows == [(1, 4), (1, 5)], rows
assert joinless.progress(query).rows_out == 2
query.stop()
print("works", joinless.__file__)
"""


@pytest.fixture(scope="module")
def wheel() -> Path:
    found = sorted((ROOT / "dist").glob("joinless-*.whl"))
    if not found:
        pytest.skip("there is no wheel: `make wheel` makes it")
    return found[-1]


def test_one_file_says_which_spark_it_is_for() -> None:
    """All other places that name the version agree with it, so that a
    change that forgets one fails.
    """
    build = re.search(r'^val sparkVersion = "((\d+)\.(\d+)\.\d+)"', (ROOT / "build.sbt").read_text(), re.MULTILINE)
    assert build
    assert f"\npyspark=={build[1]}\n" in (ROOT / "python/requirements-dev.txt").read_text()
    assert f"brings PySpark {build[2]}.{build[3]}" in (ROOT / "README.md").read_text()
    connector = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{build[1]}"
    assert connector in (ROOT / "project/kafka.txt").read_text()
    assert connector in (ROOT / "docs/kafka.md").read_text()


def test_the_wheel_holds_the_jars_the_types_and_the_licence(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    jars = [f"joinless/jars/joinless-spark-{minor}_2.13-0.1.0.jar" for minor in sparks.every()]
    assert sorted(n for n in names if n.endswith(".jar")) == jars
    assert {"joinless/py.typed", "joinless/LICENSE", "joinless/NOTICE"} <= set(names)


@pytest.mark.parametrize("minor", sparks.every())
def test_the_jar_brings_neither_scala_nor_spark_and_runs_on_java_17(wheel: Path, minor: str) -> None:
    jar = zipfile.ZipFile(BytesIO(zipfile.ZipFile(wheel).read(f"joinless/jars/joinless-spark-{minor}_2.13-0.1.0.jar")))
    classes = [n for n in jar.namelist() if n.endswith(".class")]
    assert "io/joinless/spark/JoinlessExtension.class" in classes
    for name in classes:
        assert name.startswith(("io/joinless/", "org/apache/spark/sql/joinless/")), name
    newest = max(int.from_bytes(jar.read(name)[6:8], "big") for name in classes)
    assert newest <= 61  # Java 17


@pytest.mark.parametrize("minor", sparks.every())
def test_the_wheel_works_in_an_empty_environment_offline(wheel: Path, tmp_path: Path, minor: str) -> None:
    environment = tmp_path / "env"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    # pip of this environment installs into the empty one, without an index.
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    site = next((environment / "lib").glob("python*/site-packages"))
    own = Path(str(pyspark.__file__)).parents[1]
    for package in ("pyspark", "py4j"):
        (site / package).symlink_to((own if minor == sparks.own() else sparks.FOLDER / minor) / package)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SPARK", "PYSPARK"))}
    command = [str(python), "-I", "-c", USE_IT, str(tmp_path)]
    run = subprocess.run(command, env=clean, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert run.returncode == 0, run.stdout + run.stderr[-4000:]
    assert str(environment) in run.stdout
