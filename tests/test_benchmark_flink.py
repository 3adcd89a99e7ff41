"""Oracle: the benchmark's Flink systems find the known answers of tiny streams. Skipped
where Flink is not there.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from jobs import Job
from streams import Graph, answer, make_job
from systems.flink import SYSTEMS

missing = SYSTEMS[0].missing()
pytestmark = [pytest.mark.long, pytest.mark.skipif(missing is not None, reason=missing or "")]

BATCHES = 5
SETTINGS: dict[str, Any] = {"runs": 1, "warm_up": 0, "limit": 60.0, "memory": "1g"}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Job]:
    folder = tmp_path_factory.mktemp("streams")
    graph = Graph.power_law(600)
    jobs = {}
    for workload in ("L3-10", "L4-1", "STAR4-1"):
        for window in (False, True):
            job = make_job(graph, workload, folder, window=window, batches=BATCHES, **SETTINGS)
            file = folder / f"{workload}-{'win' if window else 'ins'}.json"
            job.write(file)
            jobs[file] = job
    return jobs


def test_oracle_every_flink_system_finds_the_answers(tiny: dict[Path, Job], tmp_path: Path) -> None:
    """All jobs of all systems in one process, which the program allows: a start
    takes longer than the jobs.
    """
    wanted: list[tuple[Job, Path]] = []
    command: list[str] = []
    for system in SYSTEMS:
        for file, job in tiny.items():
            fewer = system.name.endswith("checkpoints") and not job.window
            if system.refuses(job) is None and not fewer:
                report = tmp_path / f"{system.name}-{file.stem}.jsonl"
                whole = system.command(job, file, report)
                command += whole[-3:] if command else whole
                wanted.append((job, report))
    command[1:1] = ["-XX:TieredStopAtLevel=1"]  # starts sooner
    subprocess.run(command, check=True, timeout=300)
    for job, report in wanted:
        start, *batches, run = [json.loads(line) for line in report.read_text().splitlines()]
        assert start["event"] == "start", report.name
        assert [(b["event"], b["batch"]) for b in batches] == [("batch", i) for i in range(BATCHES)], report.name
        right = answer(job)
        assert (run["plus"] - run["minus"], run["check"]) == (right.plus - right.minus, right.check), report.name
        # Per record, not net: never less than what every batch gained and lost.
        assert run["plus"] >= right.plus, report.name
        assert sum(b["plus"] for b in batches) == run["plus"], report.name


def test_oracle_a_flink_job_stopped_by_its_limit_says_how_far_it_got(tmp_path: Path) -> None:
    graph = Graph.power_law(5000)
    settings: dict[str, Any] = {"runs": 1, "warm_up": 1, "limit": 5.0, "memory": "1g"}
    job = make_job(graph, "L3-1", tmp_path, window=False, batches=5000, **settings)  # a batch takes milliseconds
    file, report = tmp_path / "job.json", tmp_path / "report.jsonl"
    job.write(file)
    subprocess.run(SYSTEMS[0].command(job, file, report), check=True, timeout=120)
    events = [json.loads(line) for line in report.read_text().splitlines()]
    assert {e["event"] for e in events} == {"start", "batch"}
    assert 0 < len(events) - 1 < job.batches


def test_oracle_flink_multijoin_refuses_a_path(tiny: dict[Path, Job]) -> None:
    multijoin = next(system for system in SYSTEMS if system.name == "flink-multijoin")
    assert {job.shape for job in tiny.values() if multijoin.refuses(job)} == {"path"}
