"""Finds the jar inside the package that was built for a Spark version: one jar per Spark minor."""

from __future__ import annotations

import re
from pathlib import Path

from joinless.errors import ExtensionNotInstalledError, SparkVersionError

FOLDER = Path(__file__).parent / "jars"


def bundled(spark_version: str, folder: Path = FOLDER) -> Path:
    """Path of the jar for ``spark_version`` (such as ``4.2.0``).

    Raises:
        SparkVersionError: the package has jars, but none for this Spark.
        ExtensionNotInstalledError: the package has no jar at all: a source tree without a build.
    """
    jars = {match[1]: jar for jar in sorted(folder.glob("*.jar")) if (match := _NAME.match(jar.name))}
    if not jars:
        raise ExtensionNotInstalledError("NO_JAR_IN_PACKAGE")
    minor = ".".join(spark_version.split(".")[:2])
    if minor not in jars:
        raise SparkVersionError(spark_version, sorted(jars))
    return jars[minor]


_NAME = re.compile(r"joinless-spark-(\d+\.\d+)_2\.13-.*\.jar$")
