"""The page "Which queries" matches the code: each example is compiled, and stores
the state that its row says.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import joinless
from conftest import ROOT

_TAKEN, _REFUSED = (ROOT / "docs" / "queries.md").read_text().split("## What is refused")

#: The state column of the page, and the words of `explain`.
STORED = {
    "the rows of its inputs": "state linear in the stored rows",
    "one row for all": "one row in Spark's state store",
    "one row per group": "one row per group in Spark's state store",
    "different values": "and each different value that it needs",
    "first rows": "with its first rows",
    "each row by itself": "and each of its rows by itself",
    "each row by its time": "and each of its rows by its time",
}


def rows(text: str) -> list[tuple[str, str]]:
    """Example and last cell of each row of a table."""
    found = [
        (example, last.strip(" `")) for example, last in re.findall(r"^\|[^|]+\| `([^`]+)` \|([^|]+)\|$", text, re.M)
    ]
    assert len(found) > 5
    return found


@pytest.fixture(scope="module")
def session(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    session = spark.newSession()
    folder: Path = tmp_path_factory.mktemp("queries")
    session.conf.set("spark.joinless.crossProducts.enabled", "true")
    for table in ("t", "u"):
        changes = session.readStream.schema("k INT, g INT, x INT, _change_type STRING").json(str(folder))
        joinless.changelog(changes).createOrReplaceTempView(table)
    session.readStream.schema("k INT, y INT").json(str(folder)).createOrReplaceTempView("a")
    session.range(3).createOrReplaceTempView("fixed")
    return session


@pytest.mark.parametrize(("sql", "stored"), rows(_TAKEN))
def test_an_example_stores_what_its_row_says(sql: str, stored: str, session: SparkSession) -> None:
    explained = str(joinless.explain(joinless.enumerate_deltas(session.sql(sql))))
    assert "Left to Spark" not in explained
    said = {phrase for phrase, text in STORED.items() if text in explained}
    if said & {"first rows", "each row by itself", "each row by its time"}:
        said -= {"one row per group", "one row for all"} - set(stored.split(", "))
    assert said == set(stored.split(", ")), explained


@pytest.mark.parametrize(("sql", "reason"), rows(_REFUSED))
def test_what_is_refused_has_its_reason(sql: str, reason: str, session: SparkSession, tmp_path: Path) -> None:
    writer = joinless.enumerate_deltas(session.sql(sql)).writeStream.format("noop")
    with pytest.raises(AnalysisException, match=rf"JOINLESS_NOT_REWRITTEN.*{reason}"):
        writer.option("checkpointLocation", str(tmp_path)).start()
