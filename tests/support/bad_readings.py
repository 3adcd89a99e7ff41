"""Complete results that cannot be read, the format's refusals, and SQL functions called wrongly."""

from __future__ import annotations

import joinless
from support.bad_input import Bad, reading
from support.world import PATH, foreign, stateless

READINGS = [
    reading(
        "no such folder", "JOINLESS_CHECKPOINT_NOT_FOUND.FOLDER", "42K03", "exist", lambda w: w.read(w.folder / "no")
    ),
    reading(
        "an empty folder",
        "JOINLESS_CHECKPOINT_NOT_FOUND.NO_BATCH",
        "42K03",
        "committed",
        lambda w: w.read(w.empty("none")),
    ),
    reading(
        "Spark's joins", "JOINLESS_CHECKPOINT_NOT_FOUND.NO_JOIN", "42K03", "Spark's own", lambda w: w.read(foreign(w))
    ),
    reading(
        "no join at all",
        "JOINLESS_CHECKPOINT_NOT_FOUND.NO_JOIN",
        "42K03",
        "no stateful",
        lambda w: w.read(stateless(w)),
    ),
    reading("no such batch", "JOINLESS_BATCH_NOT_AVAILABLE.NOT_COMMITTED", "22023", "99", lambda w: w.read(batchId=99)),
    reading("no such join", "JOINLESS_CHECKPOINT_NOT_FOUND.NO_JOIN", "42K03", "", lambda w: w.read(operator=5)),
    reading("a batch in words", "JOINLESS_INVALID_OPTION", "22023", "last", lambda w: w.read(batchId="last")),
    reading("a join in words", "JOINLESS_INVALID_OPTION", "22023", "first", lambda w: w.read(operator="first")),
    reading("no such relation", "JOINLESS_INVALID_OPTION", "22023", "a, b, c", lambda w: w.read(inputs="d")),
    reading(
        "no checkpoint",
        "JOINLESS_INVALID_OPTION",
        "22023",
        "checkpointLocation",
        lambda w: w.session.read.format("joinless").load(),
    ),
    *[
        reading(
            f"no file system: {folder}",
            "JOINLESS_CHECKPOINT_NOT_FOUND.UNREACHABLE",
            "42K03",
            "looked into",
            lambda w, folder=folder: w.session.read.format("joinless").load(folder),  # type: ignore[misc]
        )
        for folder in ("nosuch://x/y", "::", "http://localhost/x")
    ],
    reading(
        "no file system, by the query",
        "JOINLESS_CHECKPOINT_NOT_FOUND.UNREACHABLE",
        "42K03",
        "nosuch",
        lambda w: joinless.enumerate_full(w.session.sql(PATH), "nosuch://x/y"),
    ),
    reading(
        "other columns",
        "JOINLESS_FORMAT.SCHEMA",
        "0A000",
        r"\(a INT\).*\(src",
        lambda w: w.session.read.format("joinless").schema("a INT").load(str(w.good)).collect(),
    ),
    reading(
        "as a stream",
        "JOINLESS_FORMAT.STREAM",
        "0A000",
        "incrementalEnumerate",
        lambda w: w.session.readStream.format("joinless").load(str(w.good)),
    ),
    reading(
        "as a stream of other columns",
        "JOINLESS_FORMAT",
        "0A000",
        "",
        lambda w: w.session.readStream.format("joinless").schema("a INT").load(str(w.good)),
    ),
    *[
        reading(
            f"written to, {mode}",
            "JOINLESS_FORMAT.SINK",
            "0A000",
            "changes of a streaming query",
            lambda w, mode=mode: w.session.range(1).write.format("joinless").mode(mode).save(str(w.good)),  # type: ignore[misc]
        )
        for mode in ("error", "append", "overwrite")
    ],
    *[
        Bad(f"{call.split('(')[0]} in SQL: {name}", condition, state, message, lambda w, call=call: w.table(call))  # type: ignore[misc]
        for name, call, condition, state, message in (
            ("no size", "sample(TABLE(e))", "JOINLESS_SAMPLE.ARGUMENTS", "22023", "a size, a seed, and names"),
            ("a size of 0", "sample(TABLE(e), 0)", "JOINLESS_SAMPLE.SIZE", "22023", "from 1 to"),
            ("a negative size", "sample(TABLE(e), -5, 7)", "JOINLESS_SAMPLE.SIZE", "22023", "-5"),
            ("too many", "sample(TABLE(e), 10000001)", "JOINLESS_SAMPLE.SIZE", "22023", "10000001"),
            ("no table", "changelog('e')", "JOINLESS_TABLE_FUNCTION", "42605", "like this: changelog"),
            ("no order", "latest(TABLE(e), src)", "JOINLESS_TABLE_FUNCTION", "42605", "arguments: TABLE.*, 'src'"),
            ("no columns", "key(TABLE(e))", "JOINLESS_TABLE_FUNCTION", "42605", "like this: key"),
            ("no such column", "key(TABLE(e), (src, nothing))", "JOINLESS_KEY.COLUMN_NOT_FOUND", "22023", "nothing"),
            ("no table", "expire('e', 'dst', '1 hour')", "JOINLESS_EXPIRY.ARGUMENTS", "42703", "takes a table"),
            ("no such name", "expire(TABLE(w1), nothing, '1 hour')", "JOINLESS_EXPIRY.NOT_FOUND", "42703", "nothing"),
            ("NULL", "expire(TABLE(w1), NULL, '1 hour')", "JOINLESS_EXPIRY.ARGUMENTS", "42703", "NULL"),
            ("a number", "expire(TABLE(w1), 5, '1 hour')", "JOINLESS_EXPIRY.ARGUMENTS", "42703", "5"),
            ("a name as time", "expire(TABLE(w1), w1t, w1t)", "JOINLESS_EXPIRY.INTERVAL", "42703", "'w1t'"),
            ("parts", "incremental_enumerate(TABLE(e) PARTITION BY src)", "JOINLESS_DELTA_FORM", "22023", "PARTITION"),
            ("a name", "incremental_enumerate(TABLE(e), rows)", "JOINLESS_DELTA_FORM", "22023", "`rows`"),
            ("a table less", "incremental_enumerate('weight')", "JOINLESS_DELTA_FORM", "22023", "weight"),
        )
    ],
    reading(
        "another query's",
        "JOINLESS_STATE_MISMATCH.QUERY",
        "55019",
        "",
        lambda w: joinless.enumerate_full(
            w.session.sql(PATH.replace("b.dst = c.src", "b.src = c.src")), checkpoint=str(w.good)
        ).collect(),
    ),
    *[
        reading(f"on demand: {name}", f"JOINLESS_ON_DEMAND.{condition}", "0A000", message, act)
        for name, condition, message, act in (
            ("a count of a stream", "STREAM", "enumerate_full", lambda w: joinless.count(w.session.sql(PATH))),
            (
                "a sample of a table",
                "NO_RESULT",
                "df.sample",
                lambda w: joinless.sample(w.session.range(5), 5),
            ),
            ("a page of groups", "NO_RESULT", "GROUP BY", lambda w: joinless.page(w.full().distinct(), 0, 5)),
            ("a sample of nothing", "SAMPLE_SIZE", "size 0", lambda w: joinless.sample(w.full(), 0)),
            ("a huge sample", "SAMPLE_SIZE", "to 10000000", lambda w: joinless.sample(w.full(), 10**8)),
            ("a huge page", "PAGE_SIZE", "2147483647", lambda w: joinless.page(w.full(), 0, 2**31)),
        )
    ],
    *[
        reading(f"look-up: {name}", f"JOINLESS_LOOKUP.{condition}", "22023", message, act)
        for name, condition, message, act in (
            ("of a stream", "STREAM", "enumerate_full", lambda w: joinless.lookup(w.session.sql(PATH), {"src": 1})),
            ("of a table", "NO_RESULT", "df.where", lambda w: joinless.lookup(w.session.range(5), {"id": 1})),
            ("without a column", "NO_COLUMN", "at least one", lambda w: joinless.lookup(w.full(), {})),
            ("by another column", "UNKNOWN_COLUMN", "mean src?", lambda w: joinless.lookup(w.full(), {"scr": 1})),
            ("by a text", "VALUE", "of type STRING", lambda w: joinless.lookup(w.full(), {"src": "one"})),
            (
                "by a fraction",
                "VALUE",
                "of type DOUBLE",
                lambda w: joinless.lookup(w.full(), {"src": 1.5}),
            ),
            (
                "by keys of another type",
                "KEY_TYPE",
                "the type STRING",
                lambda w: joinless.lookup(w.full(), w.session.range(3).selectExpr("CAST(id AS STRING) AS src")),
            ),
            ("by a part of a row", "ROW", "no value for dst", lambda w: joinless.weight_of(w.full(), {"src": 1})),
            (
                "by a name that comes twice",
                "AMBIGUOUS_COLUMN",
                "other names",
                lambda w: joinless.lookup(w.full().selectExpr("src AS x", "dst AS x"), {"x": 1}),
            ),
        )
    ],
]
