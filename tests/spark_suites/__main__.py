"""Runs Spark's own suites twice, without and with the extension, and compares test by test.

    scripts/spark-suites [--reuse] [suite...]

A difference must be in `differences.tsv`, with the message of the test and the reason why it is
right. A difference that is not listed fails the run, and so does an entry without a difference.
Tests that fail without us, too, are reported and ignored. Tests that fail and are not in the list
are run a second time, alone: Spark's tests have deadlines that a busy machine misses. Those that
pass then are named.

Each suite has a process of its own. Records and logs are in `.build/suites`; `--reuse` takes the
baseline from there.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from spark_suites.outcomes import Difference, Recorded, Verdict, compare, entry_of, read, read_differences

ROOT = Path(__file__).parent.parent.parent
TARGET = ROOT / "spark-plugin/suites/target"
RESOURCES = TARGET / "home/sql/core/src/test/resources"
OUT = ROOT / ".build/suites"
MINUTES = int(os.environ.get("SUITE_MINUTES", "60"))

CHECK = "io.joinless.suites.ExtensionSuite"
EXTENSION = [
    "-Dspark.sql.extensions=io.joinless.spark.JoinlessExtension",
    "-Dspark.joinless.minRelations=2",
    # `testStream` requires that every stateful operator has as many stores as there are shuffle
    # partitions; ours has fewer if there are few cells.
    "-Dspark.joinless.placement.maxCells=1000",
]

#: The suites that run if none is named. Spark repeats the suites of joins for the formats of its
#: own state; for the joins that stay with Spark one format is enough.
SUITES = [
    "StreamingInnerJoinWithoutVCFSuite",
    "StreamingInnerJoinWithVCFSuite",
    "StreamingInnerJoinV4Suite",
    "StreamingOuterJoinWithVCFSuite",
    "StreamingFullOuterJoinWithVCFSuite",
    "StreamingLeftSemiJoinWithVCFSuite",
    "MultiStatefulOperatorsSuite",
    "EventTimeWatermarkSuite",
    "EventTimeWatermarkWithWatermarkDefInSelectSuite",
    "StreamSuite",
    "StreamingQuerySuite",
    "StreamingQueryOptimizationCorrectnessSuite",
    "StreamingSelfUnionSuite",
    "ForeachBatchSinkSuite",
    "FileStreamSourceSuite",
    "StreamingAggregationSuite",
    "StreamingDeduplicationSuite",
    "TPCDSV1_4_PlanStabilitySuite",
    "TPCDSV1_4_PlanStabilityWithStatsSuite",
    "TPCDSV2_7_PlanStabilitySuite",
    "TPCDSV2_7_PlanStabilityWithStatsSuite",
    "TPCDSModifiedPlanStabilitySuite",
    "TPCDSModifiedPlanStabilityWithStatsSuite",
    "TPCHPlanStabilitySuite",
]


def class_of(suite: str) -> str:
    """The full name of a suite that is named without its package."""
    found = sorted(RESOURCES.rglob(f"{suite}.class"))
    if len(found) != 1:
        sys.exit(f"{suite}: Spark's test jar has {len(found)} suites of this name")
    return ".".join(found[0].relative_to(RESOURCES).with_suffix("").parts)


def run(name: str, side: str, suite: str, tests: Sequence[str] = ()) -> Recorded:
    """Runs a suite, or some of its tests, in a process of its own and a folder of its own."""
    record, log, folder = (OUT / name / f"{side}{end}" for end in (".tsv", ".log", ""))
    extension = side.startswith("with-")
    record.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "tmp").mkdir(parents=True)
    (folder / "src/test").mkdir(parents=True)
    (folder / "src/test/resources").symlink_to(RESOURCES)
    command = [
        *("java", "-Xmx3g", "-Xss4m", "-XX:MaxMetaspaceSize=2g", "-XX:ReservedCodeCacheSize=256m", "-ea"),
        f"@{TARGET / 'java-args.txt'}",
        *("-Dspark.testing=1", "-Dspark.ui.enabled=false", "-Dspark.ui.showConsoleProgress=false"),
        *("-Dspark.master.rest.enabled=false", "-Dspark.unsafe.exceptionOnMemoryLeak=true", "-Djava.awt.headless=true"),
        *("-Dderby.system.durability=test", f"-Djava.io.tmpdir={folder / 'tmp'}"),
        *("-Dspark.extraListeners=io.joinless.suites.Runs", f"-Djoinless.suites.record={record}"),
        f"-Djoinless.suites.extension={str(extension).lower()}",
        *(EXTENSION if extension else []),
        *("org.scalatest.tools.Runner", "-R", str(RESOURCES), "-s", suite),
        *(argument for test in tests for argument in ("-t", test)),
        *("-oW", "-C", "io.joinless.suites.Outcomes"),
    ]
    command[0] = subprocess.check_output([ROOT / "scripts/java"], text=True).strip()
    environment = {**os.environ, "SPARK_TESTING": "1", "SPARK_LOCAL_IP": "localhost", "LC_ALL": "C.UTF-8"}
    with log.open("w") as out:
        try:
            subprocess.run(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=MINUTES * 60,
                check=False,
            )
        except subprocess.TimeoutExpired:
            print(f"{name}, {side}: stopped after {MINUTES} min, see {log.relative_to(ROOT)}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    return read(record)


def again(name: str, suite: str, recorded: Recorded, side: str, tests: list[str]) -> list[str]:
    """Runs tests that failed a second time; the second outcomes count. Returns
    those that do not fail again.
    """
    if not tests or not recorded.complete:
        return []
    second = run(name, f"{side}-again", suite, tests)
    recorded.tests.update((test, second.tests[test]) for test in tests if test in second.tests)
    return [test for test in tests if test in second.tests and second.tests[test].word != "failed"]


def failed(recorded: Recorded) -> list[str]:
    return [test for test, outcome in recorded.tests.items() if outcome.word == "failed"]


def check_extension() -> None:
    """Exits unless sessions have the extension on one side and lack it on the other."""
    for side in ("without", "with-extension"):
        found = run("ExtensionSuite", side, CHECK)
        if [o.word for o in found.tests.values()] != ["passed"]:
            sys.exit(f"{side}: the extension is not where it should be: {found}")


def verdict_of(name: str, reuse: bool, differences: Sequence[Difference], met: set[Difference]) -> Verdict:
    """Runs a suite on both sides; adds the entries of its tests to those that were found."""
    suite = class_of(name)
    kept = OUT / name / "without.tsv"
    without = read(kept) if reuse and read(kept).complete else run(name, "without", suite)
    again(name, suite, without, "without", failed(without))
    with_us = run(name, "with-extension", suite)
    entries = {test: entry_of(differences, name, test) for test in without.tests}
    met.update(entry for entry in entries.values() if entry)
    suspects = [t for t in failed(with_us) if t in entries and not entries[t] and without.tests[t].word != "failed"]
    for test in again(name, suite, with_us, "with-extension", suspects):
        print(f"  {test}: failed once and passed when run again", flush=True)
    return compare(name, without, with_us, differences)


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/spark-suites", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("suites", nargs="*", metavar="suite", help="names without packages (all that SUITES lists)")
    parser.add_argument("--reuse", action="store_true", help="take outcomes without the extension from an earlier run")
    arguments = parser.parse_args()
    began = time.monotonic()
    check_extension()
    differences = read_differences(Path(__file__).parent / "differences.tsv")
    met: set[Difference] = set()
    total = Verdict()
    for name in arguments.suites or SUITES:
        started = time.monotonic()
        verdict = verdict_of(name, arguments.reuse, differences, met)
        for what in verdict.ignored:
            print(f"  fails without us: {what[:300]}")
        for what in verdict.unexpected:
            print(f"  unexpected: {what[:1000]}")
        print(f"{name}: {verdict.line()}; {(time.monotonic() - started) / 60:.1f} min", flush=True)
        for part in ("tests", "same", "ours", "listed", "ignored", "unexpected"):
            setattr(total, part, getattr(total, part) + getattr(verdict, part))
    for entry in differences:
        # An entry for several suites is missed only if all of them were run.
        if entry not in met and (not arguments.suites or entry.suite in arguments.suites):
            total.unexpected.append(f"{entry.suite}, {entry.test}: is in the list of differences, and no suite has it")
            print(f"  unexpected: {total.unexpected[-1]}")
    print(f"Spark's suites: {total.line()}; {(time.monotonic() - began) / 60:.1f} min")
    sys.exit(1 if total.unexpected or not total.tests else 0)


if __name__ == "__main__":
    main()
