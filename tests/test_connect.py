"""Spark Connect: with the settings on its server, a client requests changes in SQL, and
reads the format; pipelines.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest

from joinless import _jars
from joinless.errors import EXTENSION_CLASS
from joinless.session import EXPLAIN_PROVIDER
from support.process import client_environment, run_client

ROOT = Path(__file__).parents[1]

#: A client with a server of its own. It has no package of ours, only Spark's.
CLIENT = """
import json, sys, warnings
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

warnings.simplefilter("ignore")
settings, folder = json.loads(sys.argv[1]), sys.argv[2]
builder = SparkSession.builder.remote("local[2]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
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
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    settings = {
        "spark.jars": str(_jars.bundled(pyspark.__version__)),
        "spark.sql.extensions": EXTENSION_CLASS,
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
    }
    folder = tmp_path_factory.mktemp("connect")
    client = run_client(CLIENT, json.dumps(settings), str(folder), folder=folder)
    assert client.returncode == 0, client.stderr[-3000:]
    answers: dict[str, Any] = json.loads(client.stdout.splitlines()[-1])
    return answers


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
