"""Delta's jars as set-up has left them: tests fetch nothing, so none waits for a download. Each
version of Spark has its own, where Delta has a release for it.
"""

from __future__ import annotations

from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
#: Other versions of PySpark lie below of .build/spark, with Delta's jars beside them.
OTHER = Path(pyspark.__file__).parents[1] / "delta-jars"
JARS = OTHER if (ROOT / ".build" / "spark") in OTHER.parents else ROOT / ".build" / "jars"


def configure(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Puts Delta on the class path of a session, in place of
    ``delta.configure_spark_with_delta_pip``.
    """
    present = str(builder._options.get("spark.jars") or "")
    return builder.config("spark.jars", ",".join([*filter(None, [present]), *paths()]))


def found() -> list[str]:
    """Where the jars are; none where Delta has none for this version of Spark."""
    return sorted(map(str, JARS.glob("*.jar")))


def paths() -> list[str]:
    """The jars, which must be there."""
    jars = found()
    assert jars, f"there are no jars in {JARS}: run scripts/setup"
    return jars
