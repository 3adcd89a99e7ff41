"""Settings of a session from `spark-submit`, `PYSPARK_SUBMIT_ARGS` or `spark-defaults.conf`,
outside its builder.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

from pyspark import SparkConf
from pyspark.find_spark_home import _find_spark_home

from joinless import _door

_ENTRY = re.compile(r"([^\s=:]+)\s*[\s=:]\s*(.*)")


def conf(key: str) -> str:
    """The value that `key` would have without a builder; empty if nothing sets it.

    A running JVM knows the value; if none runs yet, this function reads the
    files that the JVM would read.
    """
    if _door.is_started():
        return SparkConf().get(key, "") or ""
    return _of_arguments().get(key) or _of_defaults().get(key, "")


def _of_arguments() -> dict[str, str]:
    """The settings among `PYSPARK_SUBMIT_ARGS`; the later of two wins, as with `spark-submit`."""
    found: dict[str, str] = {}
    words = iter(shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "")))
    for word in words:
        option, is_whole, value = word.partition("=")
        if option not in ("--conf", "-c", "--jars"):
            continue
        setting = value if is_whole else next(words, "")
        key, _, text = ("spark.jars", "=", setting) if option == "--jars" else setting.partition("=")
        found[key.strip()] = text.strip()
    return found


def _of_defaults() -> dict[str, str]:
    """The settings of `spark-defaults.conf`."""
    folder = os.environ.get("SPARK_CONF_DIR") or Path(_find_spark_home()) / "conf"
    file = Path(folder) / "spark-defaults.conf"
    if not file.is_file():
        return {}
    lines = (line.strip() for line in file.read_text(encoding="utf-8").splitlines())
    entries = (_ENTRY.fullmatch(line) for line in lines if line and line[0] not in "#!")
    return {entry[1]: entry[2].strip() for entry in entries if entry}
