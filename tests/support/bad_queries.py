"""Queries that are refused: joins that stay with Spark under `mode=force`, and
changes that cannot be emitted.
"""

from __future__ import annotations

import joinless
from support.bad_input import PAIR, TRIANGLE, Bad, forced, unemitted
from support.world import CHAIN, PATH

QUERIES = [
    forced(
        "a cycle",
        "CYCLIC_JOIN_GRAPH",
        TRIANGLE,
        "a, b, c .*cyclicJoins.enabled is false",
        cyclicJoins_enabled="false",
    ),
    forced("too few", "TOO_FEW_RELATIONS", "SELECT a.src FROM e a JOIN e b ON a.dst = b.src", "joins 2 relations"),
    forced("too few for the setting", "TOO_FEW_RELATIONS", PATH, "from 4 on", minRelations="4"),
    forced("too many", "TOO_MANY_RELATIONS", PATH, "up to 2", maxRelations="2"),
    forced(
        "a condition too long to be recorded",
        "RECORD_TOO_LARGE",
        f"{PATH} WHERE concat(a.src, c.dst) <> '{'x' * (1 << 20)}'",
        "the join of a, b, c, .*: a name or condition has",
    ),
    forced(
        "an outer join",
        "OUTER_JOIN",
        "SELECT a.k FROM w1 a LEFT JOIN w2 b ON a.k = b.k AND a.w1t = b.w2t",
        "LEFT OUTER is not an inner join: spark.joinless.outerJoins.enabled is false",
        minRelations="2",
        outerJoins_enabled="false",
    ),
    forced(
        "results that a GROUP BY above takes for late",
        "LATE_RESULTS",
        "SELECT window(a.w1t, '1 hour') AS w, COUNT(*) AS n FROM w1 a JOIN w2 b ON a.k = b.k GROUP BY 1",
        "nothing bounds how late rows of b join rows of a. GROUP BY above the join drops results",
        minRelations="2",
    ),
    forced(
        "a cross product",
        "CROSS_PRODUCT",
        "SELECT a.src FROM e a JOIN e b ON a.dst = b.src CROSS JOIN e c",
        "switched off",
        crossProducts_enabled="false",
    ),
    forced(
        "no equi-join condition",
        "NON_EQUI_JOIN",
        "SELECT a.src FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst < c.src",
        "no equi-join condition",
        crossProducts_enabled="false",
    ),
    forced(
        "an equi-join condition of three relations",
        "NON_EQUI_JOIN",
        "SELECT c.dst FROM (SELECT a.src + b.dst AS x FROM e a JOIN e b ON a.dst = b.src) y JOIN e c ON y.x = c.src",
        crossProducts_enabled="false",
    ),
    forced(
        "a random condition between joins",
        "NONDETERMINISTIC_CONDITION",
        "SELECT x.s FROM (SELECT a.src AS s, b.dst AS m FROM e a JOIN e b ON a.dst = b.src WHERE rand(1) < 0.5) x "
        "JOIN e d ON x.m = d.src",
        "rand",
    ),
    forced(
        "a static table between two streams",
        "STREAM_STATIC_JOIN",
        f"{PATH} JOIN classes k ON k.customer = a.src AND k.class = c.dst",
        "exactly one streaming relation",
    ),
    forced("a static table with none", "STREAM_STATIC_JOIN", f"SELECT a.src, k.class {CHAIN} CROSS JOIN classes k"),
    forced(
        "a change feed without a mark",
        "UNMARKED_CHANGE_FEED",
        "SELECT a.id FROM fed a JOIN fed b ON a.id = b.customer JOIN fed c ON b.id = c.customer",
        "reads its deletions and old values as rows",
    ),
    unemitted(
        "a condition too long to be recorded",
        "RECORD_TOO_LARGE",
        f"{PAIR} AND concat(o.id, p.id) <> '{'x' * (1 << 20)}'",
        "the join of o, p, .*: a name or condition has",
    ),
    unemitted(
        "a change feed without a mark",
        "UNMARKED_CHANGE_FEED",
        "SELECT customer, COUNT(*) AS n FROM fed GROUP BY customer",
        r"joinless\.changelog\(df\)",
    ),
    unemitted(
        "sessions",
        "UNSUPPORTED_AGGREGATE",
        "SELECT COUNT(*) AS n FROM orders GROUP BY session_window(timestamp_seconds(id), '1 minute')",
        "session_window",
    ),
    unemitted(
        "a collated group",
        "UNSUPPORTED_GROUP_KEY",
        "SELECT collate(string(id), 'UNICODE_CI') AS c FROM orders GROUP BY 1",
    ),
    unemitted(
        "distinct collated values",
        "UNSUPPORTED_AGGREGATE_TYPE",
        "SELECT COUNT(DISTINCT collate(string(id), 'UNICODE_CI')) AS n FROM orders",
        "UNICODE_CI",
    ),
    unemitted("a sample", "UNSUPPORTED_OPERATOR", "SELECT id FROM orders TABLESAMPLE (10 PERCENT)"),
    Bad(
        "a stream in a subquery, and no changes requested",
        "JOINLESS_STREAM_IN_SUBQUERY",
        "0A000",
        "incrementalEnumerate",
        lambda w: w.run(w.session.sql("SELECT src FROM e WHERE dst IN (SELECT src FROM e)")),
    ),
    unemitted("a random filter", "NONDETERMINISTIC_EXPRESSION", "SELECT id FROM orders WHERE rand() < 0.5", "rand"),
    unemitted("a random column", "NONDETERMINISTIC_EXPRESSION", "SELECT id, uuid() AS u FROM orders", "uuid"),
    unemitted(
        "a condition on the clock",
        "TIME_DEPENDENT_EXPRESSION",
        "SELECT id FROM orders WHERE timestamp_seconds(id) > current_timestamp()",
    ),
    unemitted("a watermark", "WATERMARK_ON_CHANGELOG", "SELECT id, at FROM late", "at"),
    Bad(
        "changes: complete mode",
        "JOINLESS_NOT_REWRITTEN",
        "0A000",
        "UNSUPPORTED_OUTPUT_MODE.*complete",
        lambda w: w.run(joinless.enumerate_deltas(w.session.sql(PAIR)), mode="complete"),
    ),
    Bad(
        "changes: switched off",
        "JOINLESS_NOT_REWRITTEN",
        "0A000",
        "DISABLED",
        lambda w: w.run(joinless.enumerate_deltas(w.at(enabled="false").sql(PAIR))),
    ),
    Bad(
        "a changelog's join as plain rows",
        "JOINLESS_RETRACTIONS_NOT_REPRESENTABLE",
        "0A000",
        "incrementalEnumerate",
        lambda w: w.run(w.session.sql(PAIR)),
    ),
    Bad(
        "a changelog as plain rows",
        "JOINLESS_RETRACTIONS_NOT_REPRESENTABLE",
        "0A000",
        "customer",
        lambda w: w.run(w.session.table("orders")),
    ),
    Bad(
        "a reserved column, types",
        "JOINLESS_RESERVED_COLUMN",
        "42939",
        "_change_type",
        lambda w: joinless.enumerate_deltas(w.session.sql("SELECT id, 'x' AS _change_type FROM orders")),
    ),
    Bad(
        "a reserved column, weights",
        "JOINLESS_RESERVED_COLUMN",
        "42939",
        "_weight",
        lambda w: joinless.enumerate_deltas(w.session.sql("SELECT id AS _weight FROM orders"), output="weight"),
    ),
    Bad(
        "a form that is none",
        "JOINLESS_DELTA_FORM",
        "22023",
        "rows",
        lambda w: joinless.enumerate_deltas(w.session.sql(PAIR), output="rows"),  # type: ignore[arg-type]
    ),
    Bad(
        "a form that is none, in SQL",
        "JOINLESS_DELTA_FORM",
        "22023",
        "rows",
        lambda w: w.session.sql(f"SELECT * FROM incremental_enumerate(TABLE({PAIR}), 'rows')"),
    ),
]
