"""Errors raised on the Python side, in the form of the plugin's own: ``[CONDITION] What is wrong. What to do.``

Errors of a query (``JOINLESS_NOT_REWRITTEN``, ``JOINLESS_STATE_MISMATCH``, ...) are raised by Spark as Spark
exceptions; ``joinless.error(query)`` finds the one behind a stopped stream and gives it as a `JoinlessError`.
Every error here answers ``getCondition()``, ``getMessageParameters()`` and ``getSqlState()`` like Spark's.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.errors import PySparkException

EXTENSION_CLASS = "io.joinless.spark.JoinlessExtension"


class JoinlessError(PySparkException):
    """Base class: catch this for anything that Joinless itself refuses.

    Args:
        condition: stable name, ``JOINLESS_...``.
        sentence: what is wrong and what to do, without the condition in brackets.
        parameters: the values named in the sentence.
        sql_state: five characters, as SQLSTATE.
    """

    def __init__(
        self, condition: str, sentence: str, parameters: Mapping[str, str] | None = None, sql_state: str | None = None
    ) -> None:
        self._sql_state = sql_state
        super().__init__(message=sentence, errorClass=condition, messageParameters=dict(parameters or {}))

    @property
    def condition(self) -> str:
        """Stable name, ``JOINLESS_...``."""
        return self._errorClass or ""

    def getSqlState(self) -> str | None:
        """SQLSTATE of the condition."""
        return self._sql_state


class ExtensionNotInstalledError(JoinlessError):
    """``JOINLESS_EXTENSION_NOT_INSTALLED``: the session runs without the jar or without the extension."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__("JOINLESS_EXTENSION_NOT_INSTALLED", f"{what} {remedy}", {"what": what}, "55000")


class ConnectUnsupportedError(JoinlessError):
    """``JOINLESS_CONNECT_UNSUPPORTED``: a Spark Connect session where only a classic one will do."""

    def __init__(self, what: str) -> None:
        super().__init__(
            "JOINLESS_CONNECT_UNSUPPORTED",
            f"{what} needs a classic session, this one is Spark Connect. Streaming joins themselves work there: give "
            f"the server the jar and spark.sql.extensions={EXTENSION_CLASS}.",
            {"what": what},
            "0A000",
        )


class SparkVersionError(JoinlessError):
    """``JOINLESS_SPARK_VERSION``: this release carries no jar for the Spark at hand."""

    def __init__(self, found: str, supported: str) -> None:
        super().__init__(
            "JOINLESS_SPARK_VERSION",
            f"This release of Joinless is built for Spark {supported}, found {found}. "
            f"Install a PySpark it knows, for example: pip install 'pyspark~={supported.split(', ')[-1]}.0'.",
            {"found": found, "supported": supported},
            "0A000",
        )
