"""The summary of a benchmark run, and the table and pictures made of it.

    python benchmarks/report.py docs/benchmarks

makes the folder's table.md and pictures again from its summary.json, and the tables in
docs/benchmarks.md. The suite `counts` has a folder of its own in it, `counts`
(`bench.py --suite counts --out docs/benchmarks/counts`). The raw runs, with the reports of every
batch, are not kept in the repository: `bench.py` writes them to `.build/benchmarks`.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from pathlib import Path
from typing import Any

import pictures
from summary import is_grouped, is_stream

COLUMNS = (
    "case",
    "system",
    "median s",
    "min",
    "max",
    "to null",
    "ms/batch",
    "peak MB",
    "state rows",
    "state MB",
    "batches",
    "rows",
)


def seconds(result: dict[str, Any]) -> list[float]:
    """The seconds of each finished run."""
    return [r["seconds"] for r in result["runs"]]


def sentence(result: dict[str, Any]) -> str:
    """A result in one line."""
    if "absent" in result:
        return str(result["absent"])
    if "failed" in result:
        return f"failed: {result['failed']}"
    note = f" WRONG: {result['wrong']}" if "wrong" in result else ""
    if not result["runs"]:
        return f"not finished: {result['batches']} batches in {result['spent']:.0f} s{note}"
    times = seconds(result)
    last = result["runs"][-1]
    peak = result["peak_bytes"] / 1e6
    return f"{statistics.median(times):.2f} s ({min(times):.2f}-{max(times):.2f}), +{last['plus']} -{last['minus']} rows, peak {peak:.0f} MB{note}"


def rows(everything: dict[str, Any]) -> list[list[str]]:
    """The cells of the table."""
    lines = []
    for case in everything["cases"]:
        floor = "null-groups" if is_grouped(case) else "null"
        ran = case["results"].get(floor, {}).get("runs")
        null = statistics.median(seconds(case["results"][floor])) if ran else None
        for name, result in case["results"].items():
            if not result["runs"]:
                lines.append([case["name"], name, sentence(result).splitlines()[0][:60], *[""] * 9])
                continue
            times, last, settle = seconds(result), result["runs"][-1], result["settled"]
            median = statistics.median(times)
            in_spark = (
                null is not None
                and name.startswith(("joinless", "spark", "null", "dedup"))
                and not name.startswith("joinless-engine")
            )
            lines.append(
                [
                    case["name"],
                    name,
                    f"{median:.2f}" + (" WRONG" if "wrong" in result else ""),
                    f"{min(times):.2f}",
                    f"{max(times):.2f}",
                    f"{median / null:.2f}" if in_spark and null else "",
                    "" if settle is None else f"{1000 * settle:.1f}",
                    f"{result['peak_bytes'] / 1e6:.0f}",
                    f"{last['state_rows']:,}" if last.get("state_rows") else "",
                    f"{last['state_bytes'] / 1e6:.1f}" if last.get("state_bytes") else "",
                    str(result["batches"]),
                    f"+{last['plus']:,} -{last['minus']:,}",
                ]
            )
    return lines


def table(everything: dict[str, Any]) -> str:
    """One table in Markdown, readable as plain text."""
    cells = [list(COLUMNS), *rows(everything)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(COLUMNS))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)


COUNTED = {
    "joinless": "Joinless, changes asked",
    "joinless-plain": "Joinless, plain GROUP BY",
    "null-groups": "grouped without a join",
    "flink-best": "Flink, counted by hand",
    "flink": "Flink, as it is written",
    "duckdb-delta": "DuckDB, delta SQL",
    "duckdb-recompute": "DuckDB, recompute",
    "joinless-engine": "our engine",
    "differential-best": "differential, counted by hand",
    "differential-from": "differential, joined and counted",
}
IN_SPARK = {"joinless": "Joinless", "null": "null pipeline", "spark-rocksdb": "Spark's joins"}
OTHERS = {
    "flink-best": "Flink, best order",
    "flink": "Flink, FROM order",
    "flink-multijoin": "Flink MultiJoin",
    "pathway": "Pathway",
    "duckdb-delta": "DuckDB, delta SQL",
    "duckdb-recompute": "DuckDB, recompute",
}
ALONE = {
    "joinless-engine": "our engine",
    "joinless-engine-wide": "our engine, wider rows",
    "bare-index": "bare index",
    "differential-best": "differential, best order",
    "differential-from": "differential, FROM order",
    "differential-dogs3": "delta query",
    "differential-dogs3-semijoin": "delta query after a semijoin by hand",
}


def by_graph(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cases in order of graph and mode; both in the order of their first occurrence."""
    graphs = list(dict.fromkeys(case["case"]["graph"] for case in cases))
    modes = list(dict.fromkeys(case["case"]["mode"] for case in cases))
    return sorted(cases, key=lambda c: (graphs.index(c["case"]["graph"]), modes.index(c["case"]["mode"])))


def wide(everything: dict[str, Any], names: dict[str, str], grouped: bool = False) -> str:
    """Median seconds / peak MB, a row per case, a column per system that ran anywhere; grouped
    queries, or all others.
    """
    cases = by_graph([case for case in everything["cases"] if is_grouped(case) == grouped])
    used = [n for n in names if any(n in case["results"] for case in cases)]
    lines = ["| workload | rows | " + " | ".join(names[n] for n in used) + " |", "|---|---|" + "---|" * len(used)]
    for case in cases:
        if not is_stream(case):
            continue
        cells = [_cell(case["results"].get(n), case["case"]["batches"]) for n in used]
        if any(cells):
            plus, minus = case["answer"]["plus"], case["answer"]["minus"]
            rows = f"{plus:,}" + (f" −{minus:,}" if minus else "")
            lines.append(f"| {case['name']} | {rows} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def per_batch(everything: dict[str, Any], names: dict[str, str]) -> str:
    """Milliseconds of a settled batch, a row per case about single batches."""
    cases = [c for c in everything["cases"] if not is_stream(c)]
    used = [n for n in names if any(n in c["results"] for c in cases)]
    lines = ["| case | " + " | ".join(names[n] for n in used) + " |", "|---|" + "---|" * len(used)]
    for case in cases:
        settles = [case["results"][n]["settled"] if n in case["results"] else None for n in used]
        lines.append(
            f"| {case['name']} | " + " | ".join("" if s is None else f"{1000 * s:.3g}" for s in settles) + " |"
        )
    return "\n".join(lines)


FLOOR = ("joinless-engine", "differential-best", "bare-index")


def floor(everything: dict[str, Any]) -> str:
    """The cost of a change and of a result in each engine: for two streams that differ only in
    their number of results, both are solved for.

    A row for each stream that L3-1 and L3-10 were run over: changes (inserted or deleted rows, once
    per relation of L3-1) and results of both, then nanoseconds per change and per result; a dash
    where the two times differ by less than they vary, so that a cost would be negative.
    """
    heads = ["stream", "changes", "results", *(f"{ALONE[n]}: a {of}" for of in ("change", "result") for n in FLOOR)]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    named = {case["name"]: case["results"] for case in by_graph(everything["cases"])}
    for name, few in named.items():
        many = named.get(name.replace("L3-1", "L3-10"))
        if not name.endswith("/L3-1") or many is None:
            continue
        if not all(results.get(n, {}).get("runs") for n in FLOOR for results in (few, many)):
            continue
        counted = [results["joinless-engine"]["runs"][-1] for results in (few, many)]
        if not all("changes" in run for run in counted):
            continue
        changes = [run["changes"] for run in counted]
        shown = [run["plus"] + run["minus"] for run in counted]
        determinant = changes[0] * shown[1] - changes[1] * shown[0]
        if determinant == 0:
            continue
        cells = [f"{changes[0]:,}", f"{shown[0]:,} and {shown[1]:,}"]
        # time = changes * x + results * y, for each of the two streams
        times = [[1e9 * statistics.median(seconds(results[n])) for results in (few, many)] for n in FLOOR]
        cells += [_cost((a * shown[1] - b * shown[0]) / determinant, 0) for a, b in times]
        cells += [_cost((changes[0] * b - changes[1] * a) / determinant, 1) for a, b in times]
        lines.append(f"| {name.removesuffix('/L3-1')} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cost(nanoseconds: float, digits: int) -> str:
    return f"{nanoseconds:.{digits}f}" if nanoseconds > 0 else "–"


def _cell(result: dict[str, Any] | None, of: int) -> str:
    if result is None:
        return ""
    if "absent" in result:
        return "n/a"
    if "wrong" in result or "failed" in result:
        return "WRONG" if "wrong" in result else "failed"
    if not result["runs"]:
        return f"stopped at {result['batches']} of {of} batches"
    median = statistics.median(seconds(result))
    return f"{median:.{2 if median >= 0.1 else 3}f} / {result['peak_bytes'] / 1e6:.0f}"


def tpch_counts(counted: dict[str, Any], enumerated: dict[str, Any]) -> str:
    """A row per query of which a join is counted: what explain says of it, and times and memory
    compared with enumerating.
    """
    heads = ("query", "class", "emitted of the results", "first batch s", "enumerated", "a later one s", "enumerated")
    lines = ["| " + " | ".join((*heads, "state MB", "enumerated")) + " |", "|---" * 9 + "|"]
    for number, text in counted["explained"].items():
        said = re.findall(r"Join-free counts over .*?(?=\n\n|\Z)", text, re.DOTALL)
        if not said or number not in enumerated["queries"]:
            continue
        parts = []
        for block in said:
            told = "; ".join(re.findall(r"^ +(?:\w+ of its results|added up over results): (.*)$", block, re.MULTILINE))
            parts.append((re.findall(r"^ +class (.*)$", block, re.MULTILINE)[0], told))
        cells = ["<br>".join(kind for kind, _ in parts), "<br>".join(told for _, told in parts)]
        pair = (counted["queries"][number], enumerated["queries"][number])
        cells += [f"{batches[0]['seconds']:.2f}" for batches in pair]
        cells += [f"{statistics.median(b['seconds'] for b in batches[1:]):.2f}" for batches in pair]
        cells += [f"{batches[-1]['state_bytes'] / 1e6:.0f}" for batches in pair]
        lines.append("| " + " | ".join((f"Q{number}", *cells)) + " |")
    return "\n".join(lines)


def tpch(everything: dict[str, Any]) -> str:
    """A row per query: the first batch, the median of the later ones, the state after the last, and
    the time of recomputing.
    """
    heads = (
        "query",
        "first batch s",
        "a later one s",
        "changed rows",
        "operators",
        "state rows",
        "state MB",
        "on disk MB",
    )
    lines = ["| " + " | ".join((*heads, "Spark anew s", "DuckDB anew s")) + " |", "|---" * 10 + "|"]
    for number, batches in everything["queries"].items():
        first, *later = batches
        last = batches[-1]

        def median(of: str, later: list[dict[str, Any]] = later) -> float:
            return float(statistics.median(b[of] for b in later))

        cells = (
            f"{first['seconds']:.2f}",
            f"{median('seconds'):.2f}",
            f"{median('rows_out'):.0f}",
            str(last["operators"]),
            f"{last['state_rows']:,}",
            f"{last['state_bytes'] / 1e6:.0f}",
            f"{last['disk_bytes'] / 1e6:.1f}",
            f"{median('spark'):.2f}",
            f"{median('duckdb'):.3f}",
        )
        lines.append(f"| Q{number} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def refresh(page: Path, everything: dict[str, Any]) -> None:
    """Puts the tables between the marks `<!-- name -->` and `<!-- end -->` of the page, and of
    `internals/floor.md` next to it.
    """
    tables = {
        "in-spark": wide(everything, IN_SPARK | OTHERS),
        "alone": wide(everything, ALONE),
        "per-batch": per_batch(everything, {"joinless": "Joinless in Spark", **ALONE, **OTHERS}),
    }
    counts = page.with_suffix("") / "counts" / "summary.json"
    if counts.exists():
        tables["counts"] = wide(json.loads(counts.read_text()), COUNTED, grouped=True)
    for kept in sorted(page.with_suffix("").glob("tpch*.json")):
        tables[kept.stem] = tpch(json.loads(kept.read_text()))
    enumerated = page.with_suffix("") / "tpch-enumerated.json"
    if enumerated.exists():
        counted = json.loads((page.with_suffix("") / "tpch.json").read_text())
        tables["tpch-counts"] = tpch_counts(counted, json.loads(enumerated.read_text()))
    fill(page, tables)
    internals = page.parent / "internals" / "floor.md"
    costs = floor(everything)
    if internals.exists() and costs.count("\n") > 1:
        fill(internals, {"floor": costs})


def fill(page: Path, tables: dict[str, str]) -> None:
    """Puts tables between a page's marks."""
    text = page.read_text()
    for name, content in tables.items():
        before, mark, rest = text.partition(f"<!-- {name} -->")
        _, end, after = rest.partition("<!-- end -->")
        if mark and end:
            text = before + mark + "\n" + content + "\n" + end + after
    page.write_text(text)


def store(everything: dict[str, Any], folder: Path) -> None:
    """Writes the files of a summary: summary.json, table.md, pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(everything, indent=1)
    short = re.sub(r"\[[^][{}]*\]", lambda numbers: re.sub(r"\s+", " ", numbers[0]), text)  # a line for each batch
    (folder / "summary.json").write_text(short + "\n")
    (folder / "table.md").write_text(table(everything) + "\n")
    for case in everything["cases"]:
        if is_stream(case) and any(r["batches"] for n, r in case["results"].items() if n not in ALONE):
            pictures.draw(case, folder)


if __name__ == "__main__":
    where = Path(sys.argv[1])
    stored = json.loads((where / "summary.json").read_text())
    store(stored, where)
    page = where.with_suffix(".md")
    if page.exists():
        refresh(page, stored)
