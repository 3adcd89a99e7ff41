"""The cost of the engine over random queries: joins that nobody chose, so that no
benchmark query is a special case.

    python benchmarks/shapes.py --out today.json                    # fifty shapes; a line of JSON for each
    python benchmarks/shapes.py --compare before.json today.json    # results are the same, and the mean ratio of their times

A shape (`Shape.scala`) is a join of two to six relations and a stream of 30,000 rows (`--rows`), of
BIGINTs, drawn from its seed. In every other shape rows are deleted after four batches. The time of
a shape is the least of its runs. The first form needs the jars (`make jar`,
`bench/writeClasspath`).
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
from pathlib import Path
from typing import Any

from systems.engine import program


def play(out: Path, first: int, shapes: int, runs: int, rows: int) -> None:
    """Plays shapes from a seed on, and writes the time of each."""
    subprocess.run([*program("ShapesJob", "4g"), str(out), *map(str, (first, shapes, runs, rows))], check=True)


def compare(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> str:
    """The mean ratio of the times of two reports of the same shapes, and of
    the bytes of their states.
    """
    answers = [
        [[shape[f] for f in ("seed", "rows", "results", "check")] for shape in report] for report in (before, after)
    ]
    if answers[0] != answers[1]:
        raise SystemExit("the reports differ in their shapes, or in the results of one")
    pairs = list(zip(before, after, strict=True))
    times = [min(a["seconds"]) / min(b["seconds"]) for a, b in pairs]
    lines = [
        f"{b['seed']:5} {b['relations']} relations {'changes' if b['deletes'] else 'appends'} "
        f"{b['results']:12,} results {min(a['seconds']):8.4f} s {min(b['seconds']):8.4f} s {ratio:5.2f}"
        for (a, b), ratio in zip(pairs, times, strict=True)
    ]
    for name, kind in (("appends", [False]), ("changes", [True]), ("all", [False, True])):
        chosen = [ratio for (_, b), ratio in zip(pairs, times, strict=True) if b["deletes"] in kind]
        if chosen:
            lines.append(f"{name}: {geometric(chosen):.2f} times as fast, from {min(chosen):.2f} to {max(chosen):.2f}")
    lines.append(f"bytes: {geometric([b['state_bytes'] / a['state_bytes'] for a, b in pairs]):.2f} times as many")
    return "\n".join(lines)


def geometric(ratios: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="where the lines go")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--shapes", type=int, default=50)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rows", type=int, default=30000, help="rows that arrive in each; more are not held by caches")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("BEFORE", "AFTER"))
    arguments = parser.parse_args()
    if arguments.compare:
        reports = [[json.loads(line) for line in path.read_text().splitlines()] for path in arguments.compare]
        print(compare(*reports))
    elif arguments.out:
        play(arguments.out, arguments.first, arguments.shapes, arguments.runs, arguments.rows)
    else:
        parser.error("--out or --compare is needed")


if __name__ == "__main__":
    main()
