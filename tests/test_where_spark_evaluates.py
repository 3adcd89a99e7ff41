"""Static tables are read, and keys that can fail are computed, for the rows and at
the time that Spark chooses.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import joinless
from support.folders import Folders

DERBY = {"driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver"}
CODE = "k long, code string"


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Folders:
    return Folders(spark, tmp_path)


def put_codes(tables: Folders) -> None:
    """A row of `a` whose code is no number, and that has no match in `v`."""
    tables.stream("a", CODE)
    tables.stream("v")
    tables.stream("c")
    tables.put("a", [(1, "10"), (9, "garbage")], CODE)
    tables.put("v", [(1, 1)])
    tables.put("c", [(10, 5)])


def test_a_table_that_changes_is_joined_when_spark_joins_it(tables: Folders) -> None:
    url = f"jdbc:derby:memory:{tables.folder.name};create=true"
    found: dict[str, list[object]] = {}
    for on in ("true", "false"):
        tables.session.conf.set("spark.joinless.enabled", on)
        start = tables.session.createDataFrame([(99, "x")], "k long, name string")
        start.write.jdbc(url, "st", "overwrite", DERBY)
        for name in "abc":
            tables.stream(f"{name}{on}").createOrReplaceTempView(name)
        tables.session.read.jdbc(url, "st", properties=DERBY).createOrReplaceTempView("st")
        query = tables.session.sql(
            "SELECT a.k, c.v, st.name FROM a JOIN b ON a.k = b.k JOIN c ON b.v = c.k JOIN st ON st.k = a.k"
        )
        if on == "true":
            assert joinless.why_not(query) == []
        tables.put(f"a{on}", [(1, 10), (99, 1)])
        tables.put(f"c{on}", [(5, 7)])
        tables.put(f"b{on}", [(98, 5)])
        rows: list[object] = [*tables.run(query, f"cp{on}")]
        more = tables.session.createDataFrame([(1, "one")], "k long, name string")
        more.write.jdbc(url, "st", "append", DERBY)
        tables.put(f"b{on}", [(1, 5), (99, 5)])
        found[on] = rows + tables.run(query, f"cp{on}")
    assert found["true"] == found["false"] == [(1, 7, "one"), (99, 7, "x")]


def test_a_key_that_can_fail_stays_with_spark_or_leaves_rows_out(tables: Folders) -> None:
    put_codes(tables)
    sql = "SELECT a.code, c.v FROM a JOIN v ON a.k = v.k JOIN c ON CAST(a.code AS BIGINT) = c.k"
    ours, sparks = tables.both(sql, "cp")
    assert ours == sparks == [("10", 5)]
    assert [reason.code for reason in joinless.why_not(tables.session.sql(sql))] == ["THROWING_KEY"]
    tables.session.conf.set("spark.joinless.keyErrors", "null")
    query = tables.session.sql(sql)
    assert joinless.why_not(query) == []
    writer = query.writeStream.format("noop").option("checkpointLocation", str(tables.at("null")))
    running = writer.trigger(availableNow=True).start()
    running.awaitTermination()
    assert running.lastProgress is not None
    (operator,) = running.lastProgress["stateOperators"]
    assert operator["customMetrics"]["keyErrors"] == 1
    assert operator["customMetrics"]["rowsOut"] == 1
    report = joinless.progress(running)
    assert report is not None
    assert (report.key_errors, report.rows_late) == (1, 0)


def test_a_filter_that_can_fail_meets_rows_of_the_full_result_only(tables: Folders) -> None:
    put_codes(tables)
    query = tables.session.sql("SELECT a.k, a.code, c.v FROM a JOIN v ON a.k = v.k JOIN c ON v.v + 9 = c.k")
    tables.run(query, "cp")
    full = tables.session.read.format("joinless").load(str(tables.at("cp")))
    assert full.where("CAST(code AS INT) = 10").collect() == full.collect() != []


def test_a_filter_on_a_computed_column_meets_rows_of_the_full_result_only(tables: Folders) -> None:
    for name in "abc":
        tables.stream(name)
        tables.put(name, [(0, 1), (2, 2)])
    query = tables.session.sql(
        "SELECT 6 DIV a.k AS d, c.v FROM a JOIN b ON a.k = b.k AND a.k + b.v > 1 JOIN c ON b.v = c.k"
    )
    tables.run(query, "cp")
    full = tables.session.read.format("joinless").load(str(tables.at("cp")))
    assert list(map(tuple, full.where("d = 3").collect())) == [(3, 2)]


def test_subqueries_over_two_relations_and_shared_sources(tables: Folders) -> None:
    tables.put("e", [(1, 2), (2, 3), (3, 4), (2, 4)])
    tables.stream("e")
    tables.session.createDataFrame([(1, 4), (2, 3)], "k long, j long").createOrReplaceTempView("st")
    path = "SELECT a.k, c.v FROM e a JOIN e b ON a.v = b.k JOIN e c ON b.v = c.k"
    one = f"{path} WHERE EXISTS (SELECT 1 FROM st WHERE st.k = a.k)"
    ours, sparks = tables.both(f"{one} UNION ALL {one}", "one")
    assert ours == sparks != []
    two = f"{path} WHERE EXISTS (SELECT 1 FROM st WHERE st.k = a.k AND st.j = c.v)"
    ours, sparks = tables.both(two, "two")
    assert ours == sparks != []
    assert joinless.why_not(tables.session.sql(two)) == []


def test_the_full_result_is_that_of_the_query_at_hand(tables: Folders) -> None:
    tables.put("e", [(1, 2), (2, 3), (3, 4), (2, 4), (4, 9)])
    tables.stream("e")
    path = "SELECT a.k AS x, b.k AS y, c.v AS z FROM e a JOIN e b ON a.v = b.k JOIN e c ON b.v = c.k"
    emitted = tables.run(tables.session.sql(f"{path} WHERE c.k + c.v > 0"), "cp")
    assert len(emitted) == 3
    for condition in ("a.k > 1", "c.v < 9 AND a.k = 1", "b.k % 2 = 0", "c.k + c.v > 0"):
        sql = f"{path} WHERE {condition}"
        full = joinless.enumerate_full(tables.session.sql(sql), checkpoint=tables.at("cp"))
        tables.session.read.parquet(str(tables.at("e"))).createOrReplaceTempView("e")
        expected = sorted(map(tuple, tables.session.sql(sql).collect()))
        tables.stream("e")
        assert sorted(map(tuple, full.collect())) == expected, condition
        assert expected


def test_a_join_column_is_fixed_to_one_constant_for_good(tables: Folders) -> None:
    for name in "abc":
        tables.stream(name)

    def fixed(to: int) -> DataFrame:
        return tables.session.sql(
            "SELECT a.k, a.v, b.k AS bk, b.v AS bv, c.v AS cv FROM a JOIN b ON a.k = b.k JOIN c ON b.v = c.k "
            f"WHERE a.k = {to}"
        )

    tables.put("a", [(1, 1)])
    tables.put("b", [(1, 10)])
    tables.put("c", [(10, 3)])
    assert tables.run(fixed(1), "cp") == [(1, 1, 1, 10, 3)]
    tables.put("a", [(2, 6)])
    with pytest.raises(Exception, match=r"JOINLESS_STATE_MISMATCH\.QUERY.*relation 1\.k = relation 2\.k = 1L"):
        tables.run(fixed(2), "cp")
    with pytest.raises(Exception, match=r"JOINLESS_STATE_MISMATCH\.QUERY"):
        joinless.enumerate_full(fixed(2), checkpoint=tables.at("cp"))
    tables.put("a", [(1, 7)])
    assert tables.run(fixed(1), "cp") == [(1, 7, 1, 10, 3)]
