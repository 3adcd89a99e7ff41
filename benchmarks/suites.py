"""The cases of the benchmark (graph, mode, workload) and the systems of each."""

from __future__ import annotations

from dataclasses import dataclass, field

PIPELINES = ["joinless", "null"]
OPPONENTS = ["flink-best", "duckdb-delta"]
SLOWER = ["flink", "pathway", "duckdb-recompute"]
ENGINES = ["joinless-engine", "joinless-engine-wide", "bare-index", "differential-best"]
DELTA_QUERIES = ["differential-dogs3", "differential-dogs3-semijoin", "differential-from"]
EVERYTHING = [*PIPELINES, "dedup", "spark-rocksdb", *OPPONENTS, *SLOWER, "flink-multijoin", *ENGINES, *DELTA_QUERIES]


@dataclass(frozen=True)
class Case:
    """One workload over one graph."""

    graph: str
    mode: str  # ins | win
    workload: str
    batches: int = 20
    tail: int | None = None
    systems: list[str] = field(default_factory=lambda: EVERYTHING)

    @property
    def name(self) -> str:
        """The name on the command line."""
        rest = [] if self.batches == 20 and self.tail is None else [str(self.batches)]
        return "/".join([self.graph, self.mode, self.workload, *rest, *([] if self.tail is None else [str(self.tail)])])

    @staticmethod
    def parse(name: str) -> Case:
        """The case that `name` denotes."""
        graph, mode, workload, *rest = name.split("/")
        return Case(graph, mode, workload, int(rest[0]) if rest else 20, int(rest[1]) if len(rest) > 1 else None)


def _small() -> list[Case]:
    return [
        *(Case("p20k", "ins", w) for w in ("L3-10", "L3-1", "L4-1", "STAR4-1")),
        *(Case("p20k", "win", w) for w in ("L3-10", "STAR4-1")),
        Case("p20k", "ins", "EMPTY", systems=[*PIPELINES, "dedup", "spark-rocksdb"]),
    ]


def _full() -> list[Case]:
    usual = [*PIPELINES, *OPPONENTS, *ENGINES]
    return [
        Case("g50k", "ins", "EMPTY", systems=[*PIPELINES, "joinless-apart", "dedup", "joinless-hdfs", "spark-rocksdb"]),
        Case(
            "g50k",
            "ins",
            "L3-1",
            systems=[*EVERYTHING, "joinless-apart", "joinless-hdfs", "spark-hdfs", "flink-best-checkpoints"],
        ),
        Case("g50k", "ins", "L3-10", systems=[*usual, "spark-rocksdb", "flink", "pathway"]),
        Case("g150k", "ins", "L3-10", systems=[*usual, "spark-rocksdb", *SLOWER]),
        Case("g150k", "ins", "STAR4-1", systems=EVERYTHING),
        Case("g150k", "ins", "L4-1", systems=[*usual, "spark-rocksdb", "flink"]),
        *(Case("g150k", "win", w, systems=usual) for w in ("L3-10", "L4-1")),
        Case("g150k", "win", "STAR4-1", systems=[*usual, "flink-multijoin"]),
        Case(
            "epinions", "ins", "L3-1", systems=[*usual, *SLOWER, *DELTA_QUERIES, "joinless-1core", "joinless-cluster"]
        ),
        Case("epinions", "win", "L3-1", systems=[*usual, "pathway", *DELTA_QUERIES]),
        Case(
            "epinions",
            "ins",
            "L3-10",
            systems=[*usual, "differential-dogs3-semijoin", "joinless-1core", "joinless-cluster"],
        ),
        Case("epinions", "win", "L3-10", systems=[*usual, "differential-dogs3-semijoin"]),
    ]


def _alone() -> list[Case]:
    """The engine alone, over the streams of known answers that the full suite does not have."""
    return [
        *(Case("g50k", "ins", w, systems=ENGINES) for w in ("L4-1", "STAR4-1")),
        *(Case("g50k", "win", w, systems=ENGINES) for w in ("L3-1", "L3-10", "L4-1", "STAR4-1")),
        *(Case("g150k", mode, "L3-1", systems=ENGINES) for mode in ("ins", "win")),
    ]


def _sizes() -> list[Case]:
    """The cost of a batch after more and more edges, and of batches of other
    sizes after the same number.
    """
    systems = ["joinless", "joinless-engine", "differential-best", "duckdb-delta"]
    return [
        *(Case(f"p{k}k", "ins", "L3-0.01", 21, 1000, systems) for k in (100, 300, 1000, 5000)),
        *(Case("p1000k", "ins", "L3-0.01", 21, tail, systems) for tail in (10, 100, 10_000)),
    ]


def _small_batches() -> list[Case]:
    """The engine alone on batches of 254 edges and of one."""
    systems = ["joinless-engine", "differential-dogs3", "differential-best", "duckdb-delta"]
    return [
        Case("epinions", "ins", "L3-1", 2000, None, systems),
        Case("g50k", "ins", "L3-1", 50_000, None, systems[:3]),
    ]


def _counts() -> list[Case]:
    """Grouped queries, counted and not enumerated. Plain SQL reads append-only streams."""
    others = ["flink-best", "duckdb-delta", "duckdb-recompute", "joinless-engine", "differential-best"]
    added, changed = ["joinless-plain", "null-groups", *others], ["joinless", "null-groups", *others]
    whole = ["flink", "differential-from"]  # systems that enumerate the counted results
    return [
        *(Case("epinions", "ins", w, systems=["joinless", *added]) for w in ("L3CNT", "L3SUM", "STAR4CNT")),
        *(Case("epinions", "win", w, systems=changed) for w in ("L3CNT", "STAR4CNT")),
        *(Case("g50k", "ins", w, systems=["joinless", *added, *whole]) for w in ("L3CNT", "STAR4CNT")),
        *(Case("g150k", "ins", w, systems=added) for w in ("L3CNT", "L4CNT", "L3DISTINCT", "L4PROJ", "COMB2")),
        *(Case("g150k", "win", w, systems=changed) for w in ("L3CNT", "STAR4CNT")),
        *(Case("snb100k", "ins", w, systems=added) for w in ("SNB1", "SNB2", "SNB3")),
        # A stream in plain SQL has no COUNT(DISTINCT).
        *(Case("snb100k", mode, "SNB4", systems=[*changed, "differential-from"]) for mode in ("ins", "win")),
    ]


SUITES = {
    "small": _small(),
    "full": _full(),
    "alone": _alone(),
    "sizes": _sizes(),
    "batches": _small_batches(),
    "counts": _counts(),
}
