"""The cases of tests/regressions/sql: the gate plays each once, in one of many ways;
the long run in all of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from support import sql_case
from support.sql_case import SqlCase
from support.sql_plays import Play, check_answers, of_gate, play_case, plays

FOLDER = Path(__file__).parent / "regressions" / "sql"
CASES = [sql_case.load(path) for path in sorted(FOLDER.glob("*.case"))]


def parameter(case: SqlCase, play: Play, *marks: pytest.MarkDecorator) -> object:
    """A case and a play; one that is known to fail must fail, or its mark must be removed."""
    known = [why for where, why in case.fails.items() if play.name.startswith(where)]
    failing = [pytest.mark.xfail(reason=known[0], strict=True)] if known else []
    return pytest.param(case, play, marks=[*failing, *marks], id=f"{case.name}-{play.name}")


GATE = [parameter(case, play) for case in CASES if (play := of_gate(case))]
LONG = [parameter(case, play, pytest.mark.long) for case in CASES for play in plays(case)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.long)], ids=["last", "every"])
def test_the_answers_are_those_of_both_oracles(case: SqlCase, every: bool, spark: SparkSession) -> None:
    assert all(batch.answer is not None for batch in case.batches), "tests/answers.py writes what is missing"
    check_answers(spark, case, every)


@pytest.mark.parametrize(("case", "play"), GATE + LONG)
def test_the_result_is_the_answer_after_each_batch(
    case: SqlCase, play: Play, spark: SparkSession, tmp_path: Path
) -> None:
    play_case(spark, case, play, tmp_path / "play")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.case")), ids=lambda path: path.stem)
def test_a_file_is_read_and_written(path: Path) -> None:
    case = sql_case.load(path)
    assert sql_case.parse(case.name, sql_case.render(case)) == case
    assert case.note, "a comment says what went wrong"
