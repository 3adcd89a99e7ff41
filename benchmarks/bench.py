"""The benchmark: workloads x systems, every result checked, one table.

`make bench` runs the small suite, `make bench-full` all of docs/benchmarks.md.

    python benchmarks/bench.py --suite small
    python benchmarks/bench.py --suite full alone --graphs FOLDER --out docs/benchmarks
    python benchmarks/bench.py --cases g50k/ins/L3-1 epinions/win/L3-10 --systems joinless flink-best --runs 3

A case is `graph/mode/workload[/batches[/tail]]`. The mode is `ins` (edges are inserted) or `win`
(edges are inserted and deleted through a window of four batches). With `tail`, all but the last
batches of that many edges are in the first batch.

Graphs named g50k, g150k and epinions are read from `--graphs` (g50k.csv.gz, g150k.csv.gz,
soc-Epinions1.txt.gz) if that is given, all others (`p20k`, `p5000k`) are generated; `snb100k` is a
social network (snb.py) for the workloads SNB1 to SNB4. DuckDB computes the answers, which must
agree with `--truth` for the graphs that it has.

Each system runs a case in a process of its own, never two at a time. Peak memory is the largest sum
over that process and its children. With `--rounds` systems take turns, in a new process each time.
A wrong result fails the run.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import report
import suites
import summary
from jobs import MODULUS, Job
from snb import Network
from snb import make_job as network_job
from streams import Answer, Graph, answer, make_job
from systems import System, every_system

FILES = {"g50k": ("g50k.csv.gz", False), "g150k": ("g150k.csv.gz", False), "epinions": ("soc-Epinions1.txt.gz", True)}

RAW = Path(__file__).parents[1] / ".build" / "benchmarks"

# Always repeated; other systems only if one run is quick.
STEADY = ("joinless", "null", "dedup", "joinless-engine", "joinless-engine-wide", "bare-index")


def load(name: str, folder: Path | None) -> Graph | Network:
    """A known graph from its file, or a generated one: `p20k` has 20,000 edges. Or a social
    network: `snb100k` has 100,000 messages.
    """
    if name.startswith("snb"):
        return Network.generate(_thousands(name.removeprefix("snb")))
    if name in FILES:
        if folder is None:
            raise SystemExit(f"{name} is read from a file: say where by --graphs")
        file, relabel = FILES[name]
        return Graph.from_file(folder / file, name, relabel=relabel)
    return dataclasses.replace(Graph.power_law(_thousands(name.removeprefix("p"))), name=name)


def _thousands(number: str) -> int:
    return int(number.removesuffix("k")) * (1000 if number.endswith("k") else 1)


def known_answer(job: Job, case: suites.Case, truth: dict[str, Any], cache: Path) -> Answer:
    """The answer, computed once per stream; an error where it differs from the truth table."""
    path = cache / (case.name.replace("/", "-") + ".answer.json")
    if path.exists():
        stored = json.loads(path.read_text())
        found = Answer(**{**stored, "batches": tuple(map(tuple, stored["batches"]))})
    else:
        found = answer(job)
        path.write_text(json.dumps(dataclasses.asdict(found)))
    entry = truth.get(f"{case.graph}/{case.mode}/{case.workload}")
    if (
        entry
        and case.batches == 20
        and case.tail is None
        and (found.plus, found.minus) != (entry["plus"], entry["minus"])
    ):
        raise SystemExit(f"{case.name}: computed {found}, the truth table says {entry}")
    return found


def peak(group: int) -> int:
    """The bytes of memory that the processes of a group hold now."""
    total = 0
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                with open(f"/proc/{entry.name}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
                if int(fields[2]) == group:
                    total += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
            except (OSError, IndexError, ValueError):
                continue
    return total


def run(system: System, job: Job, folder: Path) -> dict[str, Any]:
    """Runs one system on one job, in a process of its own, and stops it after its time limit."""
    job_file, events = folder / "job.json", folder / f"{system.name}-{job.runs}.jsonl"
    job.write(job_file)
    log = folder / f"{system.name}.log"
    allowed = job.limit * (job.runs + 1) + 60
    start = time.monotonic()
    with log.open("w") as out:
        process = subprocess.Popen(
            system.command(job, job_file, events), stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
        memory = 0
        while process.poll() is None and time.monotonic() - start < allowed:
            memory = max(memory, peak(process.pid))
            time.sleep(0.2)
        stopped = process.poll() is None
        if stopped:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    lines = (
        [json.loads(line) for line in events.read_text().splitlines() if line.endswith("}")] if events.exists() else []
    )
    result: dict[str, Any] = {
        "peak_bytes": memory,
        "events": lines,
        "runs": [e for e in lines if e["event"] == "run"],
        "stopped": stopped,
    }
    if process.returncode and not stopped:
        result["failed"] = "\n".join(log.read_text().splitlines()[-15:])
    return result


def wrong(system: System, found: Answer, result: dict[str, Any]) -> str | None:
    """The error in the counts of a result."""
    if not system.answers:
        return None
    for figures in result["runs"]:
        plus, minus = figures["plus"], figures["minus"]
        if plus - minus != found.plus - found.minus or figures["check"] != found.check:
            return f"{plus} - {minus} rows with check {figures['check']}; right is {found}"
        if system.nets and (plus, minus) != (found.plus, found.minus):
            return f"{plus} rows gained and {minus} lost; right is {found}"
    return wrong_batch(found, result)


def wrong_batch(found: Answer, result: dict[str, Any]) -> str | None:
    """The first batch of a grouped query after which a run had wrong groups."""
    rows: dict[int, tuple[int, int]] = {}
    for event in result["events"]:
        if event["event"] == "batch" and "check" in event and found.batches:
            groups, check = rows.get(event["run"], (0, 0))
            now = (groups + event["plus"] - event["minus"], (check + event["check"]) % MODULUS)
            rows[event["run"]] = now
            if now != found.batches[event["batch"]]:
                return f"{now[0]} groups with check {now[1]} after batch {event['batch']}; right is {found.batches[event['batch']]}"
    return None


def machine() -> dict[str, Any]:
    """The machine and its software."""
    cpu = ""
    if Path("/proc/cpuinfo").exists():
        names = [x for x in Path("/proc/cpuinfo").read_text().splitlines() if x.startswith("model name")]
        cpu = names[0].partition(":")[2].strip() if names else ""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr.splitlines()
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gb": round(memory / 2**30),
        "system": platform.system() + " " + platform.release(),
        "java": java[0] if java else "",
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
    }


def checked(system: System, job: Job, found: Answer, *, steady: bool) -> dict[str, Any]:
    """The runs of a system, only the first of them if it may be slow; `wrong`
    says what is wrong with them.
    """
    with tempfile.TemporaryDirectory(prefix="joinless-bench-") as folder:
        first = job if steady else dataclasses.replace(job, runs=1)
        result = run(system, first, Path(folder))
        error = wrong(system, found, result)
        quick = result["runs"] and result["runs"][0]["seconds"] * job.runs < job.limit / 2
        if first != job and quick and not error:
            result = run(system, job, Path(folder))
            error = wrong(system, found, result)
    if error:
        result["wrong"] = error
    return result


def added(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The runs of an earlier process and those of a later one, with the latest error."""
    known = 1 + max((e["run"] for e in before["events"] if "run" in e), default=-1)
    later = [{**e, "run": e["run"] + known} if "run" in e else e for e in after["events"]]
    return {
        **before,
        **after,
        "peak_bytes": max(before["peak_bytes"], after["peak_bytes"]),
        "events": before["events"] + later,
        "runs": before["runs"] + [e for e in later if e["event"] == "run"],
        "stopped": before["stopped"] or after["stopped"],
    }


def measure(
    case: suites.Case,
    systems: dict[str, System],
    args: argparse.Namespace,
    graph: Graph | Network,
    truth: dict[str, Any],
) -> dict[str, Any]:
    """All systems of a case, one after the other."""
    settings: dict[str, Any] = {
        "window": case.mode == "win",
        "batches": case.batches,
        "runs": args.runs,
        "limit": args.limit,
    }
    if isinstance(graph, Network):
        job = network_job(graph, case.workload, args.streams, **settings)
    else:
        job = make_job(graph, case.workload, args.streams, tail=case.tail, **settings)
    found = known_answer(job, case, truth, args.streams)
    results: dict[str, Any] = {}
    for number in range(args.rounds):
        for name in args.systems or case.systems:
            system = systems[name]
            reason = system.missing() or system.refuses(job)
            if reason:
                results[name] = {"absent": reason, "runs": [], "events": []}
                print(f"  {case.name} {name}: {reason}", flush=True)
                continue
            result = checked(system, job, found, steady=name in STEADY)
            results[name] = added(results[name], result) if number else result
            print(f"  {case.name} {name}: {report.sentence(summary.of(results[name]))}", flush=True)
    return {
        "case": dataclasses.asdict(case),
        "name": case.name,
        "answer": dataclasses.asdict(found),
        "results": results,
    }


def main() -> int:
    """Runs the cases, prints the table and stores raw runs and pictures; returns
    1 if any result is wrong.
    """
    systems = every_system()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", nargs="+", choices=sorted(suites.SUITES), default=[])
    parser.add_argument("--cases", nargs="+", type=suites.Case.parse, default=[])
    parser.add_argument("--systems", nargs="+", choices=sorted(systems))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--rounds",
        type=int,
        default=1,
        help="how often the systems of a case take turns; as a virtual machine compiles a program a little differently each time",
    )
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one run")
    parser.add_argument("--graphs", type=Path, help="folder of the known graphs' files")
    parser.add_argument("--truth", type=Path, help="JSON of known answers")
    parser.add_argument("--streams", type=Path, help="where streams are written and kept; a temporary folder if absent")
    parser.add_argument("--out", type=Path, help="folder for the summary, the table and pictures")
    parser.add_argument("--raw", type=Path, default=RAW, help="folder for results.json: every batch of every run")
    args = parser.parse_args()
    cases = args.cases + [case for suite in args.suite for case in suites.SUITES[suite]]
    if not cases:
        parser.error("--suite or --cases is needed")
    truth = json.loads(args.truth.read_text()) if args.truth else {}
    with tempfile.TemporaryDirectory(prefix="joinless-streams-") as temporary:
        args.streams = (args.streams or Path(temporary)).resolve()
        args.streams.mkdir(parents=True, exist_ok=True)
        graphs: dict[str, Graph | Network] = {}
        everything: dict[str, Any] = {"machine": machine(), "cases": []}
        everything["systems"] = {name: system.what for name, system in systems.items()}
        for case in cases:
            if case.graph not in graphs:
                graphs = {case.graph: load(case.graph, args.graphs)}
            everything["cases"].append(measure(case, systems, args, graphs[case.graph], truth))
            args.raw.mkdir(parents=True, exist_ok=True)
            (args.raw / "results.json").write_text(json.dumps(everything))
            if args.out:  # after every case, so that a run that is stopped has stored its results
                report.store(summary.summarised(everything), args.out)
    print("\n" + report.table(summary.summarised(everything)))
    failures = [
        f"{case['name']} {name}: {result.get('wrong') or result['failed']}"
        for case in everything["cases"]
        for name, result in case["results"].items()
        if "wrong" in result or "failed" in result
    ]
    print("\n".join(failures), file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
