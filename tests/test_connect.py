"""Spark Connect: with the settings on its server, a client requests changes in SQL, reads the
format, and calls every function of the package; pipelines.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession

from conftest import JAVA_OPTIONS, QUICK
from joinless import _jars
from joinless.errors import EXTENSION_CLASS
from joinless.session import EXPLAIN_PROVIDER
from support import every_function
from support.database import database
from support.process import client_environment, running_server
from support.shop import SMALL

ROOT = Path(__file__).parents[1]

#: A client with nothing but Spark's own package.
CLIENT = """
import json, sys, warnings
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

warnings.simplefilter("ignore")
server, folder = sys.argv[1:]
spark = SparkSession.builder.remote(server).getOrCreate()
rows = {"a": [(1, 2), (2, 3), (1, 5), (3, 1)], "b": [(1, 2), (2, 3), (1, 5)]}
for table, values in rows.items():
    spark.createDataFrame(values, "k INT, v INT").write.parquet(f"{folder}/{table}")
    spark.readStream.schema("k INT, v INT").parquet(f"{folder}/{table}").createOrReplaceTempView(table)


def emit(sql, name):
    writer = spark.sql(sql).writeStream.format("memory").queryName(name).trigger(availableNow=True)
    writer.option("checkpointLocation", f"{folder}/{name}").start().awaitTermination()
    return listed(spark.table(name))


def listed(df):
    return sorted([list(row) for row in df.collect()], key=str)


def refused(sql):
    try:
        emit(sql, "refused")
    except PySparkException as e:
        return [e.getCondition(), str(e)]


print(json.dumps({
    "hint": emit("SELECT /*+ INCREMENTAL */ a.k, COUNT(b.v) AS n FROM a LEFT JOIN b ON a.k = b.k GROUP BY a.k", "hint"),
    "function": emit('''SELECT * FROM incremental_enumerate(TABLE(
        SELECT k, MAX(v) AS m FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)
        GROUP BY k ORDER BY m DESC LIMIT 1), 'weight')''', "function"),
    "join": emit("SELECT a.k, a.v, b.v AS w FROM a JOIN b ON a.k = b.k JOIN b c ON b.k = c.k AND c.v = 3", "join"),
    "changes": emit("SELECT /*+ INCREMENTAL */ a.k, b.v FROM a JOIN b ON a.k = b.k WHERE a.v < 4", "changes"),
    "format": listed(spark.read.format("joinless").load(f"{folder}/changes")),
    "refused": refused("SELECT /*+ INCREMENTAL */ k, rand() AS r, COUNT(*) FROM a GROUP BY k, rand()"),
    "not begun": refused("SELECT * FROM incremental_enumerate(TABLE(SELECT k FROM a), 'rows')"),
}))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server in a process of its own, with Joinless and Delta."""
    settings = {"spark.driver.extraJavaOptions": JAVA_OPTIONS, **QUICK, **SMALL}
    with running_server(tmp_path_factory.mktemp("server"), EXTENSION_CLASS, settings) as address:
        yield address


@pytest.fixture(scope="module")
def answers(server: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("connect")
    return client([sys.executable, "-c", CLIENT, server, str(folder)], folder)


def client(command: list[str], folder: Path) -> dict[str, Any]:
    """What a client of a server prints at last."""
    done = subprocess.run(
        command, env=client_environment(), cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    errors = "\n".join(line for line in done.stderr.splitlines() if not line.startswith(('{"ts"', "\tat ")))
    assert done.returncode == 0, errors[-4000:]
    printed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return printed


def test_the_hint_and_the_function_emit_changes_of_any_query(answers: dict[str, Any]) -> None:
    assert answers["hint"] == [[1, 4, "insert"], [2, 1, "insert"], [3, 0, "insert"]]
    assert answers["function"] == [[1, 5, 1]]


def test_a_plain_join_is_rewritten_there_and_the_format_reads_its_result(answers: dict[str, Any]) -> None:
    assert answers["join"] == [[2, 3, 3]]
    assert [row[:-1] for row in answers["changes"]] == answers["format"] == [[1, 2], [1, 5], [2, 3]]


def test_errors_keep_their_names(answers: dict[str, Any]) -> None:
    condition, text = answers["refused"]
    assert condition == "JOINLESS_NOT_REWRITTEN"
    assert "NONDETERMINISTIC_EXPRESSION" in text
    assert answers["not begun"][0] == "JOINLESS_DELTA_FORM"


#: Runs a file as a process in which neither py4j nor the part of PySpark that starts a JVM can be imported.
WITHOUT_JVM = """
import runpy, sys
sys.modules["py4j"] = sys.modules["pyspark.core"] = None
sys.path[:0] = sys.argv[4:]
sys.argv = [sys.argv[1], *sys.argv[2:4]]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_a_client_without_a_jvm_gets_the_answers_of_a_classic_session(
    server: str, spark: SparkSession, tmp_path: Path
) -> None:
    folders = [tmp_path / "there", tmp_path / "here"]
    for folder in folders:
        folder.mkdir()
    program = str(Path(every_function.__file__))
    paths = [str(ROOT / "python" / "src"), str(ROOT / "tests")]
    there = client([sys.executable, "-c", WITHOUT_JVM, program, server, str(folders[0]), *paths], tmp_path)
    with database(spark, "every_function", tmp_path / "database"):
        here = json.loads(json.dumps(every_function.play(spark, folders[1]), default=str))
    assert not every_function.uncalled(here)
    assert there == here


def test_a_server_without_joinless_is_named(tmp_path: Path) -> None:
    calls = """
import json, sys
import joinless
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
found = []
acts = [lambda: joinless.table("t"), joinless.status, lambda: joinless.latest(spark.range(1), "id", "id")]
for act in acts:
    try:
        found.append(act().columns)
    except joinless.ExtensionNotInstalledError as error:
        found.append(str(error))
print(json.dumps({"found": found}))
"""
    path = f"import sys; sys.path[:0] = [{str(ROOT / 'python' / 'src')!r}]\n"
    with running_server(tmp_path, "", {}) as address:
        found = client([sys.executable, "-c", path + calls, address], tmp_path)["found"]
    assert all(text.startswith("[JOINLESS_EXTENSION_NOT_INSTALLED.NOT_ON_SERVER]") for text in found[:2])
    assert found[2] == ["id"]


#: Two tables of one pipeline: a chain of three streams, and a join of two, which
#: Joinless leaves to Spark.
FLOWS = """
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

spark = SparkSession.active()


def joined(streams: int) -> DataFrame:
    edges = spark.readStream.schema("src INT, dst INT").csv("{folder}/edges")
    a, b, c = (edges.toDF(n + "s", n + "d") for n in "abc")
    pairs = a.join(b, a["ad"] == b["bs"])
    return pairs if streams == 2 else pairs.join(c, b["bd"] == c["cs"]).select("as", "bs", "cs", "cd")


@dp.table
def paths() -> DataFrame:
    return joined(3)


@dp.table
def pairs() -> DataFrame:
    return joined(2)
"""


@pytest.mark.long
def test_a_pipeline_takes_its_settings_from_spark_defaults(tmp_path: Path) -> None:
    """`spark-pipelines` passes on ten settings at most, so they are in the file that every Java
    process of it reads.
    """
    environment = client_environment()
    settings = {
        "spark.jars": str(_jars.bundled(pyspark.__version__)),
        "spark.sql.extensions": EXTENSION_CLASS,
        "spark.sql.extendedExplainProviders": EXPLAIN_PROVIDER,
        "spark.joinless.mode": "force",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.pipelines.maxFlowRetryAttempts": "0",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("".join(f"{k} {v}\n" for k, v in settings.items()))
    (tmp_path / "edges").mkdir()
    (tmp_path / "edges" / "1.csv").write_text("1,2\n2,3\n3,4\n3,1\n")
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "joins.py").write_text(FLOWS.replace("{folder}", str(tmp_path)))
    spec = {"name": "joins", "storage": f"file://{tmp_path}/storage", "libraries": [{"glob": {"include": "flows/**"}}]}
    (tmp_path / "spark-pipeline.yml").write_text(json.dumps(spec))
    spark_home = Path(str(pyspark.__file__)).parent
    run = subprocess.run(
        [str(spark_home / "bin" / "spark-pipelines"), "run"],
        cwd=tmp_path,
        env=environment
        | {"SPARK_HOME": str(spark_home), "SPARK_CONF_DIR": str(tmp_path / "conf"), "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=300,
    )
    output = run.stdout + run.stderr
    assert "default.paths has COMPLETED" in output, output[-3000:]
    operators = "".join(
        file.read_text(errors="replace")
        for file in tmp_path.glob("storage/_checkpoints/**/paths/**/state/*/_metadata/v2/*")
    )
    assert '"operatorName":"joinFree"' in operators
    assert "symmetricHashJoin" not in operators
    assert "[JOINLESS_NOT_REWRITTEN]" in output
    assert "TOO_FEW_RELATIONS" in output
    assert run.returncode != 0
