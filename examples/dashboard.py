"""A dashboard over billions of rows that nobody lists: estimates with error bars, from a sample of
20,000 rows that is kept while edges arrive.

Messages travel over three hops of a graph: follows ⋈ follows ⋈ follows, 3.7 billion rows. Each hop
takes some minutes, and each message passes a country. Each file of edges doubles the graph, which
makes the messages about eight times as many. After each file the dashboard shows how many messages
pass each country, how long they take, and how many are slow at both ends.

`joinless.sample` keeps the sample, `joinless.estimate` computes from it. The exact values stand
beside. They do not come from Joinless, but from the degrees of the vertices, by plain SQL over the
edges: an edge is the middle of as many messages as edges arrive at its begin times edges that leave
its end.

The program checks that Joinless counts as many messages as there are, that bounds hold in about 95
of 100 cases, that estimates are as far off as their errors say, and that they are neither too high
nor too low. The exit code is 0 only then. Seeds are fixed: it ends the same way each time.

Run it with .venv/bin/python examples/dashboard.py; it takes less than two minutes. `--picture FILE`
draws the dashboard after each file, `--graph FILE` reads another graph: a text with two numbers of
vertices in each line, that may be compressed by gzip.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame, SparkSession

import joinless
from power_law import Edges, power_law

LOGGING = Path(__file__).with_name("log4j2.properties").resolve()

COUNTRIES = ("Chile", "Ghana", "India", "Japan", "Kenya", "Malta", "Nepal", "Peru")

#: A hop takes `minutes`; above SLOW it is `slow`, which is 0 or 1. `country` is the follower's.
SCHEMA = "src INT, dst INT, country STRING, minutes INT, slow INT"
SLOW = 45

MESSAGES = """
    SELECT a.src, b.src AS via, c.src AS via2, c.dst AS last, b.country AS country,
           a.minutes + b.minutes + c.minutes AS minutes, a.slow * c.slow AS slow
    FROM follows a JOIN follows b ON a.dst = b.src JOIN follows c ON b.dst = c.src"""

#: Sums over all messages, without a message: `edges` is a plain table of what has arrived.
EXACT = """
    WITH arriving AS (
        SELECT dst AS vertex, COUNT(*) AS n, SUM(minutes) AS minutes, SUM(slow) AS slow FROM edges GROUP BY dst),
    leaving AS (
        SELECT src AS vertex, COUNT(*) AS n, SUM(minutes) AS minutes, SUM(slow) AS slow FROM edges GROUP BY src)
    SELECT b.country, SUM(a.n * c.n) AS messages,
           SUM(a.minutes * c.n + b.minutes * a.n * c.n + a.n * c.minutes) AS minutes, SUM(a.slow * c.slow) AS slow
    FROM edges b JOIN arriving a ON a.vertex = b.src JOIN leaving c ON c.vertex = b.dst
    GROUP BY b.country"""

#: What is estimated.
MINUTES, COUNT, SLOWLY, SHARE = "avg(minutes)", "count_if(true)", "count_if(slow = 1)", "avg(slow = 1)"

#: In how many standard deviations what is checked may differ from what is expected.
TOLERANCE = 4.0


@dataclass(frozen=True)
class Shown:
    """An estimate of one country after one file, and the exact value; or of all countries."""

    number: int
    country: str
    estimate: str
    value: float
    error: float
    low: float
    high: float
    exact: float

    @property
    def off(self) -> float:
        """By how many of its errors the estimate is too high."""
        return (self.value - self.exact) / self.error

    @property
    def is_covered(self) -> bool:
        """Whether the exact value is between the bounds."""
        return self.low <= self.exact <= self.high


def main() -> int:
    """Runs the dashboard; returns the exit code."""
    parser = argparse.ArgumentParser(description="A dashboard over billions of rows, from a sample that is kept.")
    parser.add_argument("--graph", type=Path, metavar="FILE", help="edges to read instead of making some")
    parser.add_argument("--edges", type=int, default=540_000, help="how many edges to make (540000)")
    parser.add_argument("--files", type=int, default=6, help="in how many files they arrive (6)")
    parser.add_argument("--sample", type=int, default=20_000, help="how many rows are kept (20000)")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draws the dashboard after each file")
    arguments = parser.parse_args()
    started = time.monotonic()
    rng = np.random.default_rng(7)
    edges = read_edges(arguments.graph) if arguments.graph else power_law(arguments.edges, arguments.edges // 8, rng)
    with tempfile.TemporaryDirectory() as folder:
        failures = run(Path(folder), edges, arguments, rng)
    for failure in failures:
        say(f"FAILED: {failure}")
    say(f"{'FAILED' if failures else 'OK'} after {time.monotonic() - started:.0f} s")
    return 1 if failures else 0


def run(folder: Path, edges: Edges, arguments: argparse.Namespace, rng: np.random.Generator) -> list[str]:
    """Writes the edges file by file, and shows the dashboard after each; what is wrong with it."""
    spark = start_session()
    follows = folder / "follows"
    follows.mkdir()
    spark.readStream.schema(SCHEMA).csv(str(follows)).createOrReplaceTempView("follows")
    kept = joinless.sample(spark.sql(MESSAGES), size=arguments.sample, seed=7)
    say(f"{MESSAGES.strip()}\n\n{joinless.explain(joinless.enumerate_deltas(kept))}\n")
    # Only the state is wanted: changes of the sample are dropped.
    changes = joinless.enumerate_deltas(kept, output="weight").writeStream.format("noop")
    query = changes.option("checkpointLocation", str(folder / "checkpoint")).start()
    failures: list[str] = []
    shown: list[Shown] = []
    written = 0
    for number, lines in enumerate(rows_of(edges, arguments.files, rng)):
        began = time.monotonic()
        part = follows / f".{number:03}.csv"
        part.write_text(lines)
        part.rename(follows / f"{number:03}.csv")
        written += lines.count("\n")
        query.processAllAvailable()
        sampled = time.monotonic() - began
        progress = joinless.progress(query)
        assert progress is not None
        messages = progress.result_size
        assert messages is not None
        began = time.monotonic()
        estimates = estimated(joinless.enumerate_full(kept, query=query), messages)
        asked = time.monotonic() - began
        exact = exactly(spark.read.schema(SCHEMA).csv(str(follows)))
        new = [Shown(number, *key, *bounds, exact[key]) for key, bounds in estimates.items()]
        shown += new
        if messages != exact["all", COUNT]:
            failures.append(f"{messages:,} messages are counted, and there are {exact['all', COUNT]:,}")
        say(
            f"{written:9,} edges {messages:15,} messages  sample kept in {sampled:4.1f} s, asked in {asked:3.1f} s  "
            f"{sum(each.is_covered for each in new)} of {len(new)} bounds hold"
        )
        if arguments.picture:
            from picture import draw_dashboard

            draw_dashboard(arguments.picture, shown, f"{arguments.sample:,} of {messages:,} messages")
    query.stop()
    spark.stop()
    return failures + check(shown)


def estimated(sample: DataFrame, messages: int) -> dict[tuple[str, str], tuple[float, float, float, float]]:
    """Values, errors and bounds by country and estimate; the country `all` is that of all messages."""
    sample = sample.cache()
    groups = joinless.estimate(sample, messages, avg="minutes", count_if=("true", "slow = 1"), by="country").collect()
    whole = joinless.estimate(sample, messages, avg=("minutes", "slow = 1")).collect()
    sample.unpersist()
    rows = [("all", *row) for row in whole] + [tuple(row) for row in groups]
    return {
        (country, name): (value, error, low, high)
        for country, name, value, error, low, high, _ in rows
        if error is not None
    }


def exactly(edges: DataFrame) -> dict[tuple[str, str], float]:
    """The exact values by the same keys."""
    edges.createOrReplaceTempView("edges")
    rows = [tuple(row) for row in edges.sparkSession.sql(EXACT).collect()]
    rows.append(("all", *(sum(row[i] for row in rows) for i in (1, 2, 3))))
    return {
        (country, name): value
        for country, messages, minutes, slow in rows
        for name, value in {
            MINUTES: minutes / max(messages, 1),
            COUNT: messages,
            SLOWLY: slow,
            SHARE: slow / max(messages, 1),
        }.items()
    }


def check(shown: Sequence[Shown]) -> list[str]:
    """What is wrong with the estimates of the countries; those of all countries follow from them.

    With n of them, how many bounds hold, and the mean of how far they are off, and of its square, have
    these standard deviations if estimates are independent and about normal, with the errors they state.
    They nearly are: a file leaves an eighth of a sample.
    """
    erring = [each for each in shown if each.country != "all" and each.error]
    n = len(erring)
    covered = sum(each.is_covered for each in erring) / n
    mean = sum(each.off for each in erring) / n
    square = sum(each.off**2 for each in erring) / n
    say(
        f"\n{covered:.1%} of {n} bounds hold; values are {math.sqrt(square):.2f} times as far off as their errors say, "
        f"and too high by {mean:.2f} of them"
    )
    failures = []
    if covered < 0.95 - TOLERANCE * math.sqrt(0.95 * 0.05 / n):
        failures.append("too few bounds hold")
    if abs(square - 1) > TOLERANCE * math.sqrt(2 / n):
        failures.append("errors are too small or too large")
    if abs(mean) > TOLERANCE / math.sqrt(n):
        failures.append("values are too high or too low")
    return failures


def rows_of(edges: Edges, files: int, rng: np.random.Generator) -> Iterator[str]:
    """The lines of each file: edges in random order, with countries and minutes. Each file has as
    many as all before it.
    """
    home = rng.choice(len(COUNTRIES), size=edges.max() + 1, p=np.arange(1, 9) / 36)
    minutes = rng.integers(1, 61, size=len(edges))
    ends = [len(edges) >> halved for halved in range(files - 1, 0, -1)]
    for part in np.split(rng.permutation(len(edges)), ends):
        yield "".join(
            f"{src},{dst},{COUNTRIES[home[src]]},{long},{int(long > SLOW)}\n"
            for (src, dst), long in zip(edges[part].tolist(), minutes[part].tolist(), strict=True)
        )


def read_edges(file: Path) -> Edges:
    """The edges of a file; lines that begin with # are comments."""
    return np.loadtxt(file, dtype=np.int64, usecols=(0, 1))


def start_session() -> SparkSession:
    """A small local session with Joinless."""
    builder = SparkSession.Builder().master("local[2]").appName("dashboard").config("spark.driver.memory", "3g")
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.host", "127.0.0.1")
    # Plans for so few rows are not worth compiling, nor adapting.
    builder = builder.config("spark.sql.codegen.wholeStage", "false").config("spark.sql.adaptive.enabled", "false")
    builder = builder.config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={LOGGING.as_uri()}")
    return joinless.configure(builder).getOrCreate()


def say(line: str) -> None:
    """Prints at once."""
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
