"""Errors raised on the Python side. They have the form of the plugin's errors:
``[CONDITION] What is wrong. What to do.``

Errors of a query (``JOINLESS_NOT_REWRITTEN``, ``JOINLESS_STATE_MISMATCH``, ...) are raised by Spark
as Spark exceptions; ``joinless.error(query)`` finds the one that stopped a stream and returns it as
a `JoinlessError`. Every error here has ``getCondition()``, ``getMessageParameters()`` and
``getSqlState()`` like Spark's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pyspark.errors import PySparkException

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
        "<what> needs a classic session, this one is Spark Connect.<instead> Streaming joins themselves work there: "
        f"give the server the jar and spark.sql.extensions={EXTENSION_CLASS}.",
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
VIEW = {f"JOINLESS_VIEW.{what}" for what in ("COLUMNS", "NOT_A_VIEW", "NO_BATCH", "NO_QUERY", "RUNNING")}


class ExtensionNotInstalledError(JoinlessError):
    """``JOINLESS_EXTENSION_NOT_INSTALLED.*``: the session runs without jar or extension."""

    def __init__(self, what: str, **parameters: str) -> None:
        super().__init__(*_filled(PACKAGE, f"JOINLESS_EXTENSION_NOT_INSTALLED.{what}", parameters))


class ConnectUnsupportedError(JoinlessError):
    """``JOINLESS_CONNECT_UNSUPPORTED``: a Spark Connect session where a classic one is needed."""

    def __init__(self, what: str, in_sql: str | None = None) -> None:
        instead = "" if in_sql is None else f" In SQL it works: {in_sql}."
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


class ViewError(JoinlessError):
    """``JOINLESS_VIEW.*``: why a view is not started, not compared with its query, or not given another one."""

    def __init__(self, error: PySparkException) -> None:
        condition, sql_state = error.getCondition() or "", error.getSqlState()
        sentence = str(error).partition("] ")[2].partition(" SQLSTATE: ")[0]
        super().__init__(condition, sentence, error.getMessageParameters(), sql_state)


#: Conditions of ``joinless.apply_changes``, in the same form.
APPLY_CHANGES = {
    "JOINLESS_APPLY_CHANGES.CHECKPOINT_BEHIND": (
        "55000",
        "The target <target> holds batch <newest> of the writer <app_id>, and the checkpoint goes on with another "
        "batch <batch>: it is an older copy of the one that has filled the table. Changes would be lost. Fill an empty "
        "table with a new checkpoint, or bring the newest checkpoint back.",
    ),
    "JOINLESS_APPLY_CHANGES.COLUMN_NAME": (
        "42602",
        "The result has a column <column>. Delta allows no space and none of ,;{}()= in the name of a column of the "
        "target <target>. Give the column a name: `<column>` AS name.",
    ),
    "JOINLESS_APPLY_CHANGES.COLUMNS_DIFFER": (
        "42K0G",
        "The changes have the columns (<result>), the target <target> has (<columns>). Make names and types equal: "
        "rename or cast in the query; a column of a source may have another type now. To give a view other columns, "
        "call joinless.replace. A query of your own then needs a new target and a new checkpoint, both.",
    ),
    "JOINLESS_APPLY_CHANGES.KEY_NOT_UNIQUE": (
        "23505",
        "The key <key> is not unique for the target <target>: <found>. Choose columns that identify a row of the "
        "result, or leave the key out and let rows be counted.",
    ),
    "JOINLESS_APPLY_CHANGES.NO_APP_ID": (
        "42K0E",
        "No streaming query runs here whose id could name the writer of <target> to Delta. Pass app_id= to "
        "joinless.apply_changes.",
    ),
    "JOINLESS_APPLY_CHANGES.NO_CHANGES": (
        "42K0G",
        "The columns (<columns>) do not say what a change does. Write a DataFrame that has either _change_type or "
        "_weight, as incrementalEnumerate() gives it, to the target <target>.",
    ),
    "JOINLESS_APPLY_CHANGES.NO_DELTA": (
        "55000",
        "The target <target> is to be a Delta table, and this session cannot make one: <found>. Give the session "
        "Delta's jars, io.delta.sql.DeltaSparkSessionExtension among spark.sql.extensions, and "
        "org.apache.spark.sql.delta.catalog.DeltaCatalog as spark.sql.catalog.spark_catalog.",
    ),
    "JOINLESS_APPLY_CHANGES.PADDED_TYPE": (
        "0A000",
        "The column <column> of the target <target> has the type <type>, which pads its values with blanks: a row of "
        "the result would not be found there again. Name another target, which has STRING or VARCHAR instead of CHAR.",
    ),
    "JOINLESS_APPLY_CHANGES.ROW_NOT_IN_TARGET": (
        "23000",
        "The target <target> holds <present> copies of the row <row>, which a change of <change> deletes. Something "
        "else has changed the target, or it is not of this checkpoint. joinless.replace(view) writes the table of a "
        "view anew. Fill another target anew from an empty table and a new checkpoint.",
    ),
    "JOINLESS_APPLY_CHANGES.TARGET_GONE": (
        "55000",
        "The target <target> is not there, and earlier batches of the checkpoint <checkpoint> went into it: a new "
        "table would hold later changes only. Start with a new checkpoint to fill a new table, or bring the table "
        "back.",
    ),
    "JOINLESS_APPLY_CHANGES.TARGET_NOT_DELTA": (
        "0A000",
        "The target <target> is no Delta table (<format>). Write to a Delta table, or apply the changes in a function "
        "of your own.",
    ),
    "JOINLESS_APPLY_CHANGES.TARGET_IS_READ": (
        "42809",
        "The query reads its own target <target>, and would follow its own changes. Name another table.",
    ),
    "JOINLESS_APPLY_CHANGES.TARGET_NAME": (
        "42602",
        "The target <target> is no name of a table. Give a name as in SQL, such as sales.revenue, or a path as "
        "delta.`/data/revenue`.",
    ),
    "JOINLESS_APPLY_CHANGES.TARGET_NOT_EMPTY": (
        "55000",
        "The target <target> is not empty, and this is batch 0 of a new checkpoint, whose changes are the whole result "
        "so far: its rows would be there twice. Empty the target (DELETE FROM <target>), name another one, or go on "
        "with the checkpoint that filled it. Where others fill the table, too, write the changes by "
        "joinless.apply_changes(..., shared=True).",
    ),
    "JOINLESS_APPLY_CHANGES.TARGET_NOT_FOUND": (
        "42P01",
        "The target <target> cannot be read as a table. Create it before the query starts: "
        "CREATE TABLE <target> (<columns>) USING delta.",
    ),
    "JOINLESS_APPLY_CHANGES.TARGET_REPLACED": (
        "55000",
        "Batch <batch> of the writer <app_id> is to go into the target <target>, which its batch 0 did not fill: the "
        "table is another one, or was made anew, and would hold later changes only. Fill an empty table with a new "
        "checkpoint, or bring the table back.",
    ),
    "JOINLESS_APPLY_CHANGES.TARGET_TAKEN": (
        "55000",
        "The writer <app_id> fills the target <target>, and a later one, <writer>, has begun with the same table while "
        "it was empty: each row would be there twice. The later one can go on. Give this one a table and a checkpoint "
        "of its own. Where both fill the table on purpose, write the changes by "
        "joinless.apply_changes(..., shared=True).",
    ),
    "JOINLESS_APPLY_CHANGES.UNKNOWN_CHANGE_TYPE": (
        "22023",
        "A row for the target <target> says <found>, which is neither an insertion nor a deletion. Known are insert, "
        "delete, update_preimage, update_postimage, update_before and update_after, or a weight that is not NULL.",
    ),
    "JOINLESS_APPLY_CHANGES.UNKNOWN_KEY": (
        "42703",
        "The key column (<key>) is none of the result's columns (<columns>), which go to <target>. Name at least one "
        "column, and only columns of the result.",
    ),
    "JOINLESS_APPLY_CHANGES.UNSUPPORTED_TYPE": (
        "0A000",
        "The column <column> of type <type> cannot be compared, so its rows cannot be found in the target <target>. "
        "Convert it in the query, for example by to_json, which needs a STRING in the target.",
    ),
    "JOINLESS_APPLY_CHANGES.VALUE_NOT_KEPT": (
        "0A000",
        "The target <target> is partitioned by a column that gets the value <value>. Delta would give it back as "
        "another value or as NULL, and the row would not be found again. Nothing of the batch was written. Give the "
        "value another form in the query, or fill a target that is not partitioned by this column, with a new "
        "checkpoint.",
    ),
}


class ApplyChangesError(JoinlessError):
    """``JOINLESS_APPLY_CHANGES.*``: why ``apply_changes`` did not write a batch of changes."""

    def __init__(self, what: str, parameters: Mapping[str, str]) -> None:
        super().__init__(*_filled(APPLY_CHANGES, f"JOINLESS_APPLY_CHANGES.{what}", parameters))


def _filled(
    conditions: Mapping[str, tuple[str, str]], condition: str, parameters: Mapping[str, str]
) -> tuple[str, str, Mapping[str, str], str]:
    """Condition, sentence, parameters and SQLSTATE of an error."""
    sql_state, sentence = conditions[condition]
    sentence = re.sub(r"<(\w+)>", lambda name: parameters[name[1]], sentence)
    return condition, sentence, parameters, sql_state
