"""Streaming SQL joins in Apache Spark that never store a join result.

``configure`` enables it for a session; after that ordinary streaming SQL is enough. ``explain`` and
``why_not`` show the plan of a query, ``progress`` and ``error`` the state of a running one.
"""

from joinless import changes as _changes
from joinless.apply import apply_changes
from joinless.changes import changelog, enumerate_deltas, enumerate_full, expire, key, latest, rows
from joinless.demand import count, page, sample
from joinless.drop import drop
from joinless.errors import (
    ApplyChangesError,
    ConnectUnsupportedError,
    EstimateError,
    ExtensionNotInstalledError,
    JoinlessError,
    SparkVersionError,
    ViewError,
)
from joinless.estimate import estimate
from joinless.evolve import Evolution, evolve
from joinless.kafka import debezium, upserts
from joinless.lookup import lookup, weight_of
from joinless.plan import Explanation, Reason, explain, why_not
from joinless.replace import replace
from joinless.running import Progress, Totals, error, progress
from joinless.session import configure
from joinless.status import status
from joinless.tables import sql, table
from joinless.verify import Verification, verify
from joinless.view import materialize

__version__ = "0.1.0"

__all__ = [
    "ApplyChangesError",
    "ConnectUnsupportedError",
    "EstimateError",
    "Evolution",
    "Explanation",
    "ExtensionNotInstalledError",
    "JoinlessError",
    "Progress",
    "Reason",
    "SparkVersionError",
    "Totals",
    "Verification",
    "ViewError",
    "apply_changes",
    "changelog",
    "configure",
    "count",
    "debezium",
    "drop",
    "enumerate_deltas",
    "enumerate_full",
    "error",
    "estimate",
    "evolve",
    "expire",
    "explain",
    "key",
    "latest",
    "lookup",
    "materialize",
    "page",
    "progress",
    "replace",
    "rows",
    "sample",
    "sql",
    "status",
    "table",
    "upserts",
    "verify",
    "weight_of",
    "why_not",
]

_changes.install()
