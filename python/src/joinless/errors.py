"""Errors raised on the Python side. They have the form of the plugin's errors:
``[CONDITION] What is wrong. What to do.``

Errors of a query (``JOINLESS_NOT_REWRITTEN``, ``JOINLESS_STATE_MISMATCH``, ...) are raised by Spark
as Spark exceptions; ``joinless.error(query)`` finds the one that stopped a stream and returns it as
a `JoinlessError`. Every error here has ``getCondition()``, ``getMessageParameters()`` and
``getSqlState()`` like Spark's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from pyspark.errors import AnalysisException, PySparkException

EXTENSION_CLASS = "io.joinless.spark.JoinlessExtension"


class JoinlessError(PySparkException):
    """Base class of all errors that Joinless itself raises.

    Args:
        condition: the stable name, ``JOINLESS_...``.
        sentence: what is wrong and what to do, without the condition in brackets.
        parameters: the values named in the sentence.
        sql_state: the five characters of SQLSTATE.
    """

    def __init__(
        self, condition: str, sentence: str, parameters: Mapping[str, str] | None = None, sql_state: str | None = None
    ) -> None:
        self._sql_state = sql_state
        super().__init__(message=sentence, errorClass=condition, messageParameters=dict(parameters or {}))

    @property
    def condition(self) -> str:
        """The stable name, ``JOINLESS_...``."""
        return self._errorClass or ""

    def getSqlState(self) -> str | None:
        """The SQLSTATE of the condition."""
        return self._sql_state


_CREATE_IT = (
    "Create the session through joinless.configure(SparkSession.builder), or start it with --jars and "
    f"--conf spark.sql.extensions={EXTENSION_CLASS}."
)

#: Conditions of the package itself: SQLSTATE and message, with the parameters in angle brackets.
PACKAGE = {
    "JOINLESS_CONNECT_UNSUPPORTED": (
        "0A000",
        "<what> does not work on Spark Connect. <instead>",
    ),
    "JOINLESS_ESTIMATE.CHANGES": (
        "22023",
        "The DataFrame has a column <column>: it is the changes of a sample, not the sample. Give the sample itself: "
        "the table that joinless.materialize keeps of it, or kept.incrementalEnumerate('full', query=query).",
    ),
    "JOINLESS_ESTIMATE.EMPTY": (
        "22023",
        "The sample is empty, and the result has <results> rows: nothing is known of them. Filter by where= instead of "
        "filtering the sample, and read the sample and the number of results as of the same batch.",
    ),
    "JOINLESS_ESTIMATE.MORE_THAN_RESULTS": (
        "22023",
        "The sample has <rows> rows, and the result <results>: it was drawn with replacement, or the numbers are of "
        "different batches. Draw it without replacement, and read both as of the same batch.",
    ),
    "JOINLESS_ESTIMATE.STREAM": (
        "22023",
        "The sample is a stream. Give a batch DataFrame: the table that joinless.materialize keeps of it, or "
        "kept.incrementalEnumerate('full', query=query).",
    ),
    "JOINLESS_ESTIMATE.TYPE": (
        "42K09",
        "The expression <expression> of <argument> has the type <type>. Give <wanted>.",
    ),
    "JOINLESS_EXTENSION_NOT_INSTALLED.NOT_SWITCHED_ON": (
        "55000",
        f"The Joinless jar is there, but its extension is not switched on. {_CREATE_IT}",
    ),
    "JOINLESS_EXTENSION_NOT_INSTALLED.NOT_ON_SERVER": (
        "55000",
        "The server of this Spark Connect session runs without Joinless. Start it with the jar and "
        f"spark.sql.extensions={EXTENSION_CLASS}.",
    ),
    "JOINLESS_EXTENSION_NOT_INSTALLED.NO_JAR": (
        "55000",
        f"The Joinless jar is not on the class path of this session. {_CREATE_IT}",
    ),
    "JOINLESS_EXTENSION_NOT_INSTALLED.NO_JAR_IN_PACKAGE": (
        "55000",
        "The joinless package here carries no jar. Install the wheel, or build one with `make wheel`.",
    ),
    "JOINLESS_EXTENSION_NOT_INSTALLED.NO_JAR_SUBMITTED": (
        "55000",
        "This Python was started by spark-submit or pyspark, whose Java process does not have the Joinless jar. Start "
        "it with --jars <jar>; joinless.configure then does the rest.",
    ),
    "JOINLESS_EXTENSION_NOT_INSTALLED.OTHER_JVM": (
        "55000",
        "The Java process behind this Python started without the Joinless jar and outlives spark.stop(). Call "
        "joinless.configure before the first session is created: restart Python.",
    ),
    "JOINLESS_EXTENSION_NOT_INSTALLED.OTHER_SESSION": (
        "55000",
        "A Spark session without Joinless already runs in this process, and extensions are fixed when it starts. Call "
        "joinless.configure before the first session is created; in a notebook, restart the kernel.",
    ),
    "JOINLESS_SPARK_VERSION": (
        "0A000",
        "This release of Joinless is built for Spark <supported>, found <found>. Install a PySpark it knows, for "
        "example: pip install 'pyspark~=<newest>.0'.",
    ),
}

#: Conditions of the plugin that say what is wrong with a view that is named.
VIEW = {
    f"JOINLESS_VIEW.{what}"
    for what in (
        "COLUMNS",
        "NOT_A_VIEW",
        "NO_BATCH",
        "NO_CHECKPOINT",
        "NO_NEW_QUERY",
        "NO_QUERY",
        "OTHER_DATABASE",
        "PATH",
        "RUNNING",
        "RUNNING_OTHER",
        "TABLES",
    )
}


class ExtensionNotInstalledError(JoinlessError):
    """``JOINLESS_EXTENSION_NOT_INSTALLED.*``: the session runs without jar or extension."""

    def __init__(self, what: str, **parameters: str) -> None:
        super().__init__(*_filled(PACKAGE, f"JOINLESS_EXTENSION_NOT_INSTALLED.{what}", parameters))


class ConnectUnsupportedError(JoinlessError):
    """``JOINLESS_CONNECT_UNSUPPORTED``: a function that no client of Spark Connect can call."""

    def __init__(self, what: str, instead: str = "") -> None:
        super().__init__(*_filled(PACKAGE, "JOINLESS_CONNECT_UNSUPPORTED", {"what": what, "instead": instead}))


class EstimateError(JoinlessError):
    """``JOINLESS_ESTIMATE.*``: why nothing can be estimated from a DataFrame."""

    def __init__(self, what: str, **parameters: str) -> None:
        super().__init__(*_filled(PACKAGE, f"JOINLESS_ESTIMATE.{what}", parameters))


class SparkVersionError(JoinlessError):
    """``JOINLESS_SPARK_VERSION``: this release has no jar for the installed Spark."""

    def __init__(self, found: str, supported: Sequence[str]) -> None:
        parameters = {"found": found, "supported": ", ".join(supported), "newest": supported[-1]}
        super().__init__(*_filled(PACKAGE, "JOINLESS_SPARK_VERSION", parameters))


class _PluginError(JoinlessError):
    """An error of the plugin."""

    def __init__(self, error: PySparkException) -> None:
        condition, sql_state = error.getCondition() or "", error.getSqlState()
        sentence = str(error).partition("] ")[2].partition(" SQLSTATE: ")[0]
        super().__init__(condition, sentence, error.getMessageParameters(), sql_state)


class ViewError(_PluginError):
    """``JOINLESS_VIEW.*``: why a view is not started, not compared with its query, not given another
    one, or not dropped.
    """


class ApplyChangesError(_PluginError):
    """``JOINLESS_APPLY_CHANGES.*``: why the changes of a batch are not applied to a table, or a view is
    not started.
    """


@contextmanager
def named_errors() -> Iterator[None]:
    """Errors of the plugin about a view or a target are raised as those of the package."""
    try:
        yield
    except AnalysisException as error:
        condition = error.getCondition() or ""
        if condition in VIEW:
            raise ViewError(error) from None
        if condition.startswith("JOINLESS_APPLY_CHANGES."):
            raise ApplyChangesError(error) from None
        raise


def query_not_found(name: str, active: Sequence[str], is_ambiguous: bool) -> AnalysisException:
    """The error of a query that the server of a Spark Connect session does not run, as the plugin
    has it.
    """
    which = "AMBIGUOUS" if is_ambiguous else "NOT_ACTIVE"
    names = ", ".join(active) or "none"
    sentence = f"Several queries have that name: {names}. Give the id." if is_ambiguous else f"Active are {names}."
    return AnalysisException(
        f"`{name}` names no streaming query of this session. {sentence}",
        errorClass=f"JOINLESS_QUERY_NOT_FOUND.{which}",
        messageParameters={"query": name, "active": names},
    )


def _filled(
    conditions: Mapping[str, tuple[str, str]], condition: str, parameters: Mapping[str, str]
) -> tuple[str, str, Mapping[str, str], str]:
    """Condition, sentence, parameters and SQLSTATE of an error."""
    sql_state, sentence = conditions[condition]
    sentence = re.sub(r"<(\w+)>", lambda name: parameters[name[1]], sentence)
    return condition, sentence, parameters, sql_state
