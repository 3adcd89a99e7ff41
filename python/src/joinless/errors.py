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


#: Sub-conditions of ``JOINLESS_APPLY_CHANGES``: SQLSTATE and message, with the parameters in angle brackets.
APPLY_CHANGES = {
    "COLUMNS_DIFFER": (
        "42K0G",
        "The changes have the columns (<result>), the target <target> has (<columns>). Make names and types equal: "
        "rename or cast in the query, or create the target anew.",
    ),
    "KEY_NOT_UNIQUE": (
        "23505",
        "The key <key> is not unique for the target <target>: <found>. Choose columns that identify a row of the "
        "result, or leave the key out and let rows be counted.",
    ),
    "NO_APP_ID": (
        "42K0E",
        "No streaming query runs here whose id could name the writer of <target> to Delta. Pass app_id= to "
        "joinless.apply_changes.",
    ),
    "NO_CHANGES": (
        "42K0G",
        "The columns (<columns>) do not say what a change does. Write a DataFrame that has either _change_type or "
        "_weight, as incrementalEnumerate() gives it, to the target <target>.",
    ),
    "ROW_NOT_IN_TARGET": (
        "23000",
        "The target <target> holds <present> copies of the row <row>, which a change of <change> deletes. Something "
        "else has changed the target, or it was not empty, or not of this checkpoint, when the query began: fill it "
        "anew from an empty table and a new checkpoint.",
    ),
    "TARGET_NOT_DELTA": (
        "0A000",
        "The target <target> is no Delta table (<format>). Write to a Delta table, or apply the changes in a function "
        "of your own.",
    ),
    "TARGET_NOT_FOUND": (
        "42P01",
        "The target <target> cannot be read as a table. Create it before the query starts: "
        "CREATE TABLE <target> (<columns>) USING delta.",
    ),
    "UNKNOWN_CHANGE_TYPE": (
        "22023",
        "A row for the target <target> says <found>, which is neither an insertion nor a deletion. Known are insert, "
        "delete, update_preimage, update_postimage, update_before and update_after, or a weight that is not NULL.",
    ),
    "UNKNOWN_KEY": (
        "42703",
        "The key column (<key>) is none of the result's columns (<columns>), which go to <target>. Name at least one "
        "column, and only columns of the result.",
    ),
    "UNSUPPORTED_TYPE": (
        "0A000",
        "The column <column> of type <type> cannot be compared, so its rows cannot be found in the target <target>. "
        "Convert it in the query, for example by to_json.",
    ),
}


class ApplyChangesError(JoinlessError):
    """``JOINLESS_APPLY_CHANGES.*``: a batch of changes that ``apply_changes`` did not write, and why."""

    def __init__(self, what: str, parameters: Mapping[str, str]) -> None:
        sql_state, sentence = APPLY_CHANGES[what]
        for name, value in parameters.items():
            sentence = sentence.replace(f"<{name}>", value)
        super().__init__(f"JOINLESS_APPLY_CHANGES.{what}", sentence, parameters, sql_state)
