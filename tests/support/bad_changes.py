"""Changelogs that are refused: wrong columns, static tables, and changes that cannot be applied."""

from __future__ import annotations

import joinless
from support.bad_input import Bad, column

CHANGES = [
    column("no such column", "NOT_FOUND", "there are: ", lambda w: joinless.changelog(w.feed, "nothing")),
    column("types are numbers", "NOT_A_STRING", "DOUBLE", lambda w: joinless.changelog(w.feed, "amount")),
    column(
        "weights are strings", "NOT_AN_INTEGER", "STRING", lambda w: joinless.changelog(w.feed, weight="_change_type")
    ),
    column("weights are fractions", "NOT_AN_INTEGER", "DOUBLE", lambda w: joinless.changelog(w.feed, weight="amount")),
    column("no such weight", "NOT_FOUND", "copies", lambda w: joinless.changelog(w.feed, weight="copies")),
    column("nothing else", "NO_COLUMNS", "no other", lambda w: joinless.changelog(w.feed.select("_change_type"))),
    column(
        "two of the name",
        "AMBIGUOUS",
        "several",
        lambda w: joinless.changelog(w.feed.selectExpr("*", "'insert' AS _change_type")),
    ),
    Bad(
        "changelog: a table",
        "JOINLESS_NOT_STREAMING",
        "42K0A",
        "readStream",
        lambda w: joinless.changelog(w.session.range(3).toDF("n"), weight="n"),
    ),
    Bad(
        "explain: a table",
        "JOINLESS_NOT_STREAMING",
        "42K0A",
        "readStream",
        lambda w: joinless.explain(w.session.range(3)),
    ),
    Bad(
        "why_not: a table",
        "JOINLESS_NOT_STREAMING",
        "42K0A",
        "readStream",
        lambda w: joinless.why_not(w.session.range(3)),
    ),
    Bad(
        "a change type that is none",
        "JOINLESS_UNKNOWN_CHANGE_TYPE",
        "22023",
        "upsert",
        lambda w: w.changes("upsert,1,2"),
    ),
    Bad("no change type", "JOINLESS_UNKNOWN_CHANGE_TYPE", "22023", "NULL|null", lambda w: w.changes(",1,2")),
    Bad("no weight", "JOINLESS_NULL_WEIGHT", "22004", "NULL", lambda w: w.changes(",1,2", weight=True)),
    Bad(
        "a delete of what is not there",
        "JOINLESS_DELETE_OF_ABSENT_ROW",
        "22000",
        "deleteOfAbsentRow=negative",
        lambda w: w.changes("insert,1,2", "delete,1,3"),
    ),
    Bad(
        "one delete too many",
        "JOINLESS_DELETE_OF_ABSENT_ROW",
        "22000",
        "by -1|there 0 times|is there",
        lambda w: w.changes("2,1,2", "-3,1,2", weight=True),
    ),
    Bad(
        "weights beyond 64 bits",
        "JOINLESS_WEIGHT_OVERFLOW",
        "22003",
        "64 bits",
        lambda w: w.changes(f"{2**63 - 1},1,2", "1,1,2", weight=True),
    ),
    Bad(
        "products beyond 64 bits",
        "JOINLESS_WEIGHT_OVERFLOW",
        "22003",
        "64 bits",
        lambda w: w.changes(f"{2**40},1,2", weight=True),
    ),
]
