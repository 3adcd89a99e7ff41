"""The comparison of `scripts/spark-suites`, on made-up outcomes, and its list of differences."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import ROOT
from spark_suites.outcomes import Difference, Outcome, Recorded, compare, read, read_differences

KNOWN = Difference("Join*Suite", "pl*n", "joinFree", "the plan shows our operator")


def ran(**words: str) -> Recorded:
    """A complete run; `failed: why` is a failure with the message why."""
    tests = {}
    for name, text in words.items():
        word, _, said = text.partition(": ")
        tests[name] = Outcome(word, said)
    return Recorded(tests, complete=True)


def unexpected(without: Recorded, with_us: Recorded, suite: str = "JoinV4Suite") -> list[str]:
    return compare(suite, without, with_us, [KNOWN]).unexpected


def test_what_ends_alike_and_what_the_list_allows_is_no_failure() -> None:
    without = ran(rows="passed", plan="passed", slow="ignored", broken="failed: no file")
    with_us = ran(rows="passed", plan="failed: saw joinFree", slow="ignored", broken="passed")
    verdict = compare("JoinV4Suite", without, with_us, [KNOWN])
    assert (verdict.tests, verdict.same, verdict.listed, verdict.unexpected) == (4, 2, 1, [])
    assert verdict.ignored == ["broken: no file"]


@pytest.mark.parametrize(
    ("with_us", "suite", "what"),
    [
        (ran(rows="failed: two rows", plan="failed: joinFree"), "JoinSuite", "rows: passed without us, failed with us"),
        (ran(rows="canceled", plan="failed: joinFree"), "JoinSuite", "rows: passed without us, canceled with us"),
        (ran(plan="failed: joinFree"), "JoinSuite", "rows: not run with the extension"),
        (ran(rows="passed", plan="failed: joinFree", more="passed"), "JoinSuite", "more: only run with the extension"),
        (ran(rows="passed", plan="failed: two rows"), "JoinSuite", "plan: failed, not with «joinFree»"),
        (ran(rows="passed", plan="passed"), "JoinSuite", "plan: is in the list of differences and is none"),
        (ran(rows="passed", plan="failed: joinFree"), "OtherSuite", "plan: passed without us, failed with us"),
    ],
)
def test_any_other_difference_is_a_failure(with_us: Recorded, suite: str, what: str) -> None:
    found = unexpected(ran(rows="passed", plan="passed"), with_us, suite)
    assert len(found) == 1
    assert found[0].startswith(what)


def test_a_run_that_breaks_off_is_a_failure_on_either_side() -> None:
    whole, half = ran(rows="passed"), Recorded({"rows": Outcome("passed")}, broken=["aborted: no memory"])
    assert len(unexpected(half, whole)) == len(unexpected(whole, half)) == 2
    assert len(unexpected(Recorded(), Recorded())) == 2


def test_our_operator_has_no_place_in_a_baseline() -> None:
    ours = Recorded({"rows": Outcome("passed", ours=True)}, complete=True)
    assert unexpected(ours, ours) == ["rows: our operator worked without the extension"]


def test_a_record_says_in_which_tests_our_operator_worked(tmp_path: Path) -> None:
    record = tmp_path / "record.tsv"
    lines = [
        ("run", "1", "150"),
        ("run", "2", "250"),
        ("ours", "2"),
        ("test", "S", "passed", "100", "200", "first", ""),
        ("test", "S", "failed", "200", "300", "second", "no rows"),
        ("completed",),
    ]
    record.write_text("".join("\t".join(line) + "\n" for line in lines))
    assert read(record) == Recorded(
        {"first": Outcome("passed"), "second": Outcome("failed", "no rows", ours=True)}, complete=True
    )
    assert read(tmp_path / "never-written.tsv") == Recorded()


def test_every_line_of_the_list_has_a_reason(tmp_path: Path) -> None:
    committed = read_differences(ROOT / "tests/spark_suites/differences.tsv")
    assert len({(d.suite, d.test) for d in committed}) == len(committed)
    (tmp_path / "list.tsv").write_text("# a comment\nJoinSuite\tplan\tjoinFree\t\n")
    with pytest.raises(ValueError, match=r"list.tsv, line 2"):
        read_differences(tmp_path / "list.tsv")
