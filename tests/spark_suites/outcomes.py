"""The outcomes that a run of a suite recorded, and the comparison of two runs with the list of
differences. Runs nothing itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Outcome:
    """The outcome of one test: passed, failed, canceled, ignored or pending; its message; whether
    our operator ran in it.
    """

    word: str
    said: str = ""
    ours: bool = False


@dataclass
class Recorded:
    """One run of one suite. A run that hung or died is not complete, and
    `broken` has the known cause.
    """

    tests: dict[str, Outcome] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    complete: bool = False


def read(path: Path) -> Recorded:
    """Reads the records that `io.joinless.suites.Record` wrote."""
    found = Recorded()
    lines = [line.split("\t") for line in path.read_text().splitlines()] if path.exists() else []
    started = {fields[1]: int(fields[2]) for fields in lines if fields[0] == "run"}
    ours = [started[fields[1]] for fields in lines if fields[0] == "ours" and fields[1] in started]
    for kind, *fields in lines:
        if kind == "test":
            _, word, begun, ended, name, said = fields
            here = any(int(begun) <= time <= int(ended) for time in ours)
            found.tests[name] = Outcome(word, said, here)
        elif kind == "aborted":
            found.broken.append(f"aborted: {fields[1]}")
        elif kind == "completed":
            found.complete = True
    return found


@dataclass(frozen=True)
class Difference:
    """A test that passes without us and may fail with us: a line of `differences.tsv`.

    `suite` and `test` may contain `*`: Spark repeats tests under other settings. A failure whose
    message does not contain `says` is another one.
    """

    suite: str
    test: str
    says: str
    reason: str

    def of(self, suite: str, test: str) -> bool:
        """Whether the entry is about this test."""
        return matches(self.suite, suite) and matches(self.test, test)


def matches(pattern: str, name: str) -> bool:
    """Whether a name matches the pattern, in which only `*` is a wildcard."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name) is not None


def entry_of(differences: Iterable[Difference], suite: str, test: str) -> Difference | None:
    """The entry of a test, the first one of several."""
    return next((d for d in differences if d.of(suite, test)), None)


def read_differences(path: Path) -> list[Difference]:
    """Reads the committed list; an invalid line is an error, and so is one without a reason."""
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line and not line.startswith("#"):
            fields = line.split("\t")
            if len(fields) != 4 or not all(fields):
                raise ValueError(
                    f"{path.name}, line {number}: suite, test, what it says and a reason, with tabs between"
                )
            found.append(Difference(*fields))
    return found


@dataclass
class Verdict:
    """The verdict on one suite: the counts of its closing line, and the failures of the run."""

    tests: int = 0
    same: int = 0
    ours: int = 0
    listed: int = 0
    ignored: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)

    def line(self) -> str:
        """The closing line of a suite."""
        return (
            f"{self.tests} tests, {self.same} same, {self.listed} listed differences, "
            f"{len(self.unexpected)} unexpected; "
            f"our operator worked in {self.ours}, {len(self.ignored)} fail without us"
        )


def compare(suite: str, without: Recorded, with_us: Recorded, differences: Sequence[Difference]) -> Verdict:
    """A test ends with us as it does without us, or is in the list and fails as the list says. Any
    other outcome fails the run.
    """
    verdict = Verdict(tests=len(without.tests), ours=sum(o.ours for o in with_us.tests.values()))
    for side, run in (("without", without), ("with", with_us)):
        verdict.unexpected += [f"{side} the extension, {what}" for what in run.broken]
        if not run.complete:
            verdict.unexpected.append(f"{side} the extension, the run did not come to its end")
    verdict.unexpected += [
        f"{test}: our operator worked without the extension" for test, o in without.tests.items() if o.ours
    ]
    verdict.unexpected += [
        f"{test}: only run with the extension" for test in with_us.tests if test not in without.tests
    ]
    for test, before in without.tests.items():
        after = with_us.tests.get(test)
        entry = entry_of(differences, suite, test)
        if before.word == "failed":
            verdict.ignored.append(f"{test}: {before.said}")
        elif after is None:
            verdict.unexpected.append(f"{test}: not run with the extension")
        elif before.word == after.word:
            if entry is None:
                verdict.same += 1
            else:
                verdict.unexpected.append(f"{test}: is in the list of differences and is none")
        elif entry is None:
            verdict.unexpected.append(f"{test}: {before.word} without us, {after.word} with us: {after.said}")
        elif after.word == "failed" and entry.says in after.said:
            verdict.listed += 1
        else:
            verdict.unexpected.append(f"{test}: {after.word}, not with «{entry.says}» as the list says: {after.said}")
    return verdict
