"""A view inside a Spark Declarative Pipeline: a Delta table that stays equal to a query, by the changes
of each update and not by computing it again.

The pipeline is in the folder pipeline/. It runs three times, with changes in between: orders come,
customers move and leave. After each run the table is compared with the same query as batch SQL: the
exit code is 0 only if they agree each time.

Run it with .venv/bin/python examples/pipeline.py; Delta's jar is fetched the first time. Pipelines need
the packages of Spark Connect: pip install 'pyspark[pipelines]'. It takes about two minutes.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyspark
from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession

import joinless

FOLDER = Path(__file__).with_name("pipeline").resolve()

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.host": "127.0.0.1",
}

#: What happens before each run: orders (id, customer, amount), and statements about customers.
ROUNDS: dict[str, tuple[list[tuple[int, int, int]], list[str]]] = {
    "the shop opens": ([(1, 1, 10), (2, 2, 5), (3, 1, 7), (4, 9, 3)], []),
    "a customer moves, more orders come": ([(5, 2, 50)], ["UPDATE {} SET country = 'DK' WHERE id = 1"]),
    "one leaves, one who has ordered registers": (
        [],
        ["DELETE FROM {} WHERE id = 2", "INSERT INTO {} VALUES (9, 'DK')"],
    ),
}


def main() -> int:
    """All rounds; 0 if the table is right after each."""
    missing = [name for name in ("grpc", "pandas", "pyarrow", "yaml") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"Missing packages: {', '.join(missing)}. Run: pip install 'pyspark[pipelines]'")
        return 2
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        shop = Path(name)
        builder = SparkSession.builder.master("local[2]").config(map={**SETTINGS})
        builder = builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        spark = joinless.configure(configure_spark_with_delta_pip(builder)).getOrCreate()
        pipeline = prepared(spark, shop)
        agree = [happens(spark, shop, pipeline, what) for what in ROUNDS]
        spark.stop()
    print(f"{'OK' if all(agree) else 'FAILED'} after {time.monotonic() - started:.0f} s")
    return 0 if all(agree) else 1


def prepared(spark: SparkSession, shop: Path) -> Path:
    """The folder of the pipeline, with the settings that both of its Java processes read."""
    pipeline = shop / "pipeline"
    shutil.copytree(FOLDER, pipeline)
    spec = pipeline / "spark-pipeline.yml"
    spec.write_text(spec.read_text().replace("STORAGE", f"file://{shop}/storage"))
    (pipeline / "conf").mkdir()
    conf = spark.sparkContext.getConf()
    settings = {
        **SETTINGS,
        **{key: conf.get(key) for key in ("spark.jars", "spark.jars.packages", "spark.sql.extensions")},
        "spark.sql.warehouse.dir": str(shop / "warehouse"),
    }
    lines = [f"{key} {value}\n" for key, value in settings.items() if value]
    (pipeline / "conf" / "spark-defaults.conf").write_text("".join(lines))
    (shop / "orders").mkdir()
    spark.sql(
        f"CREATE TABLE delta.`{shop}/customers` (id INT, country STRING) USING delta "
        "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
    )
    spark.sql(f"INSERT INTO delta.`{shop}/customers` VALUES (1, 'NO'), (2, 'SE')")
    return pipeline


def happens(spark: SparkSession, shop: Path, pipeline: Path, what: str) -> bool:
    """A round of changes and a run; whether the table is right then."""
    orders, statements = ROUNDS[what]
    if orders:
        lines = [json.dumps(dict(zip(("id", "customer", "amount"), order, strict=True))) + "\n" for order in orders]
        (shop / "orders" / f"{orders[0][0]}.json").write_text("".join(lines))
    for statement in statements:
        spark.sql(statement.format(f"delta.`{shop}/customers`"))
    run(pipeline, shop)
    found = rows(spark, f"SELECT * FROM delta.`{shop}/revenue`")
    spark.read.schema("id INT, customer INT, amount INT").json(f"{shop}/orders").createOrReplaceTempView("all_orders")
    expected = rows(
        spark,
        f"""SELECT c.country, COUNT(*) AS orders, SUM(o.amount) AS amount
            FROM all_orders o JOIN delta.`{shop}/customers` c ON o.customer = c.id GROUP BY c.country""",
    )
    print(f"{what}: {', '.join(map(str, found))}{'' if found == expected else f' FAILED, expected {expected}'}")
    return found == expected


def run(pipeline: Path, shop: Path) -> None:
    """One update of the pipeline."""
    home = Path(str(pyspark.__file__)).parent
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")},
        "SPARK_HOME": str(home),
        "SPARK_CONF_DIR": str(pipeline / "conf"),
        "PYSPARK_PYTHON": sys.executable,
        "SHOP": str(shop),
    }
    done = subprocess.run(
        [str(home / "bin" / "spark-pipelines"), "run"],
        cwd=pipeline,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"the pipeline has failed:\n{(done.stdout + done.stderr)[-4000:]}")


def rows(spark: SparkSession, sql: str) -> list[tuple[object, ...]]:
    """The rows of a query, in an order of their own."""
    return sorted(map(tuple, spark.sql(sql).collect()), key=str)


if __name__ == "__main__":
    raise SystemExit(main())
