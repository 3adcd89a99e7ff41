"""The benchmark's command and Spark's pipelines: tiny runs find the known answers,
wrong ones fail. No timing.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import bench
import report
import suites
import summary
from jobs import Job
from streams import Answer, Graph, answer, make_job
from systems import System, every_system
from systems import spark as pipelines

CASES = [
    *(("joinless", mode, w) for mode in ("ins", "win") for w in ("L3-10", "L4-1", "STAR4-30")),
    *(("spark", "ins", w) for w in ("L3-10", "L4-1", "STAR4-30")),
    ("joinless", "ins", "EMPTY"),
    ("null", "win", "STAR4-30"),
    ("dedup", "ins", "L3-10"),
]


def tiny(folder: Path, workload: str, mode: str) -> Job:
    return make_job(Graph.power_law(600), workload, folder, window=mode == "win", batches=3, runs=1, warm_up=1)


@pytest.mark.parametrize(("system", "mode", "workload"), CASES)
def test_oracle_pipeline_finds_the_known_answer(
    spark: SparkSession, tmp_path: Path, system: str, mode: str, workload: str
) -> None:
    job = tiny(tmp_path, workload, mode)
    known = Answer(0, 0, 0) if workload == "EMPTY" else answer(job)
    assert (known.plus > 0) == (workload != "EMPTY")
    session = spark.newSession()
    session.conf.set("spark.joinless.enabled", str(system == "joinless").lower())
    figures, batches = pipelines.run(session, system, job, f"{system}-{mode}-{workload}", 60.0)
    assert figures["finished"]
    assert len(batches) == job.batches
    if system in ("null", "dedup"):
        rows = {
            folder: sum(len(p.read_text().splitlines()) for p in Path(folder).glob("*.csv")) for folder in job.inputs
        }
        assert figures["plus"] == sum(rows[folder] for folder in job.inputs) if system == "null" else 600
    else:
        assert Answer(figures["plus"], figures["minus"], figures["check"]) == known


def test_the_command_checks_stores_and_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    arguments = [
        "--cases",
        "p300/ins/L3-10/2",
        "--systems",
        "joinless",
        "duckdb-delta",
        "--runs",
        "1",
        "--out",
        str(out),
        "--raw",
        str(tmp_path / "raw"),
    ]
    monkeypatch.setattr(sys, "argv", ["bench.py", *arguments])
    assert bench.main() == 0
    stored = json.loads((out / "summary.json").read_text())
    assert set(stored["cases"][0]["results"]) == {"joinless", "duckdb-delta"}
    assert "| joinless" in (out / "table.md").read_text()
    assert (out / "p300-ins-L3-10-2.svg").read_text().startswith("<?xml")
    assert stored["cases"][0]["results"]["joinless"]["peak_bytes"] > 10**8
    assert [batch for batch, _, _ in stored["cases"][0]["results"]["joinless"]["curve"]] == [0, 1]
    raw = json.loads((tmp_path / "raw" / "results.json").read_text())
    assert "metrics" in raw["cases"][0]["results"]["joinless"]["events"][1]


def liar(name: str, plus: int, check: int, seconds: float = 0.0) -> System:
    """A system that takes `seconds` and then reports given figures."""
    line = json.dumps({"event": "run", "run": 0, "seconds": 1.0, "plus": plus, "minus": 0, "check": check})
    code = f"import sys, time; time.sleep({seconds}); open(sys.argv[1], 'a').write({line!r} + chr(10))"
    return System(name, "", lambda job, file, events: [sys.executable, "-c", code, str(events)])


def test_a_wrong_result_or_a_crash_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = answer(tiny(tmp_path, "L3-10", "ins"))
    crash = System("crash", "", lambda job, file, events: [sys.executable, "-c", "raise SystemExit('no memory')"])
    absent = dataclasses.replace(crash, name="absent", missing=lambda: "not built")
    systems = [
        liar("right", known.plus, known.check),
        liar("count", known.plus + 1, known.check),
        liar("check", known.plus, known.check ^ 1),
        crash,
        absent,
    ]
    monkeypatch.setattr(bench, "every_system", lambda: {s.name: s for s in systems})

    def run(*names: str) -> int:
        arguments = ["--cases", "p600/ins/L3-10/3", "--systems", *names, "--runs", "1"]
        monkeypatch.setattr(sys, "argv", ["bench.py", *arguments])
        return bench.main()

    assert run("right", "absent") == 0
    assert "not built" in capsys.readouterr().out
    for name in ("count", "check"):
        assert run("right", name) == 1
        assert f"{name}: {known.plus + (name == 'count')} - 0 rows" in capsys.readouterr().err
    assert run("right", "crash") == 1
    assert "no memory" in capsys.readouterr().err


def test_a_wrong_first_run_is_not_hidden_by_right_ones_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = answer(tiny(tmp_path, "L3-10", "ins"))
    wrong, right = liar("once", known.plus + 1, known.check), liar("once", known.plus, known.check)
    once = dataclasses.replace(
        right, command=lambda job, file, events: (wrong if job.runs == 1 else right).command(job, file, events)
    )
    monkeypatch.setattr(bench, "every_system", lambda: {"once": once})
    monkeypatch.setattr(sys, "argv", ["bench.py", "--cases", "p600/ins/L3-10/3", "--systems", "once", "--runs", "3"])
    assert bench.main() == 1
    assert f"once: {known.plus + 1} - 0 rows" in capsys.readouterr().err


def test_systems_take_turns_and_the_runs_of_all_rounds_are_added_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = answer(tiny(tmp_path, "L3-10", "ins"))
    started: list[str] = []

    def turns(name: str, wrong_at: int) -> System:
        def command(job: object, file: object, events: Path) -> list[str]:
            started.append(name)
            wrong = started.count(name) == wrong_at
            return liar(name, known.plus + wrong, known.check).command(job, file, events)  # type: ignore[arg-type]

        return System(name, "", command)

    def run(wrong_at: int) -> int:
        monkeypatch.setattr(bench, "STEADY", ("a", "b"))
        monkeypatch.setattr(bench, "every_system", lambda: {x: turns(x, wrong_at) for x in ("a", "b")})
        arguments = ["--cases", "p600/ins/L3-10/3", "--systems", "a", "b", "--runs", "1", "--rounds", "3"]
        monkeypatch.setattr(sys, "argv", ["bench.py", *arguments, "--raw", str(tmp_path)])
        return bench.main()

    assert run(wrong_at=0) == 0
    assert started == ["a", "b"] * 3
    results = json.loads((tmp_path / "results.json").read_text())["cases"][0]["results"]
    assert [e["run"] for e in results["b"]["runs"]] == [0, 1, 2]
    started.clear()
    assert run(wrong_at=2) == 1, "a wrong round is not hidden by the right one behind it"
    assert f"{known.plus + 1} - 0 rows" in capsys.readouterr().err


def test_a_system_that_takes_too_long_is_stopped_and_says_how_far_it_got(tmp_path: Path) -> None:
    job = dataclasses.replace(tiny(tmp_path, "L3-10", "ins"), limit=-29.0)
    result = bench.run(liar("slow", 1, 1, seconds=60), job, tmp_path)
    assert result["stopped"]
    assert result["runs"] == []
    assert "not finished: 0 batches" in report.sentence(summary.of(result))


def test_a_truth_table_that_differs_stops_the_benchmark(tmp_path: Path) -> None:
    job = make_job(Graph.power_law(600), "L3-10", tmp_path, window=False)
    case = suites.Case("p600", "ins", "L3-10")
    found = bench.known_answer(job, case, {}, tmp_path)
    right = {"p600/ins/L3-10": {"plus": found.plus, "minus": 0}}
    assert bench.known_answer(job, case, right, tmp_path) == found
    with pytest.raises(SystemExit, match="the truth table says"):
        bench.known_answer(job, case, {"p600/ins/L3-10": {"plus": found.plus + 1, "minus": 0}}, tmp_path)


def test_suites_name_systems_that_exist_and_cases_are_read_as_they_are_written() -> None:
    systems = every_system()
    for name, cases in suites.SUITES.items():
        for case in cases:
            assert set(case.systems) <= set(systems), (name, case.name)
            read = suites.Case.parse(case.name)
            assert (read.name, read.batches, read.tail) == (case.name, case.batches, case.tail)
