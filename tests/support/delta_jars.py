"""Delta's jars as set-up has left them in .build/jars: tests fetch nothing, so
none waits for a download.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

JARS = Path(__file__).parents[2] / ".build" / "jars"


def configure(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Puts Delta on the class path of a session, in place of
    ``delta.configure_spark_with_delta_pip``.
    """
    present = str(builder._options.get("spark.jars") or "")
    return builder.config("spark.jars", ",".join([*filter(None, [present]), *paths()]))


def paths() -> list[str]:
    """Where the jars are."""
    jars = sorted(map(str, JARS.glob("*.jar")))
    assert jars, f"there are no jars in {JARS}: run scripts/setup"
    return jars
