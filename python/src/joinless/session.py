"""Enables Joinless for a session that is about to be created."""

from __future__ import annotations

import os
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from joinless import _door, _jars, _submitted
from joinless.errors import EXTENSION_CLASS, ConnectUnsupportedError

_ON_SERVER = f"Give the server the jar and spark.sql.extensions={EXTENSION_CLASS}; its sessions need nothing else."
#: By these PySpark makes sessions of Spark Connect.
_CONNECT = {"SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED"}
EXPLAIN_PROVIDER = "io.joinless.spark.explain.ExtendedExplain"


def configure(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Adds the bundled jar, the extension and its part of ``query.explain()`` to a session builder.

    Existing values of ``spark.jars``, ``spark.sql.extensions`` and
    ``spark.sql.extendedExplainProviders`` are kept, whether the builder, ``spark-submit`` or
    ``spark-defaults.conf`` sets them. So it works before or after other helpers that append, such
    as Delta's. Nothing is downloaded.

    >>> import joinless
    >>> from pyspark.sql import SparkSession
    >>> spark = joinless.configure(SparkSession.builder.master("local[2]")).getOrCreate()

    Returns:
        The same builder.

    Raises:
        SparkVersionError: there is no jar for the installed PySpark.
        ConnectUnsupportedError: the builder makes a Spark Connect session; configure the server
            instead.
        ExtensionNotInstalledError: a session without the extension already runs in this process, or
            `spark-submit` started it without the jar.
        TypeError: the argument is not a builder.
    """
    if not isinstance(builder, SparkSession.Builder):
        raise TypeError(f"joinless.configure takes a builder, such as SparkSession.builder, and got {builder!r}")
    options = builder._options
    if "spark.remote" in options or options.get("spark.api.mode") == "connect" or _CONNECT & os.environ.keys():
        raise ConnectUnsupportedError("joinless.configure", _ON_SERVER)
    jar = _jars.bundled(pyspark.__version__)
    _door.classic("joinless.configure", _ON_SERVER).check_running_session(jar)
    _append(builder, "spark.jars", str(jar))
    _append(builder, "spark.sql.extensions", EXTENSION_CLASS)
    _append(builder, "spark.sql.extendedExplainProviders", EXPLAIN_PROVIDER)
    return builder


def _append(builder: SparkSession.Builder, key: str, value: str) -> None:
    given = str(builder._options.get(key) or "") or _submitted.conf(key)
    present = [entry.strip() for entry in given.split(",") if entry.strip()]
    if Path(value).name not in (Path(entry).name for entry in present):  # the same jar may lie in another folder
        present.append(value)
    builder.config(key, ",".join(present))
