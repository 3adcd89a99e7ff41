"""What the benchmark runs: cases (graph, mode, workload) and the systems of each."""

from __future__ import annotations

from dataclasses import dataclass, field

SPARK = ["joinless", "null", "dedup"]
OPPONENTS = ["flink", "flink-best", "flink-multijoin", "pathway", "duckdb-delta", "duckdb-recompute"]
ENGINES = [
    "joinless-engine",
    "bare-index",
    "differential-dogs3",
    "differential-dogs3-semijoin",
    "differential-best",
    "differential-from",
]
NATIVE = ["spark-rocksdb", "spark-hdfs"]


@dataclass(frozen=True)
class Case:
    """One workload over one graph."""

    graph: str
    mode: str  # ins | win
    workload: str
    batches: int = 20
    tail: int | None = None
    systems: list[str] = field(default_factory=lambda: [*SPARK, *NATIVE, *OPPONENTS, *ENGINES])

    @property
    def name(self) -> str:
        """As it is written on the command line."""
        rest = [] if self.batches == 20 and self.tail is None else [str(self.batches)]
        return "/".join([self.graph, self.mode, self.workload, *rest, *([] if self.tail is None else [str(self.tail)])])

    @staticmethod
    def parse(name: str) -> Case:
        """The case that `name` writes."""
        graph, mode, workload, *rest = name.split("/")
        return Case(graph, mode, workload, int(rest[0]) if rest else 20, int(rest[1]) if len(rest) > 1 else None)


def _small() -> list[Case]:
    everywhere = [*SPARK, "spark-rocksdb", *OPPONENTS, *ENGINES]
    return [
        *(Case("p20k", "ins", w, systems=everywhere) for w in ("L3-10", "L3-1", "L4-1", "STAR4-1")),
        *(Case("p20k", "win", w, systems=everywhere) for w in ("L3-10", "STAR4-1")),
        Case("p20k", "ins", "EMPTY", systems=[*SPARK, "spark-rocksdb"]),
    ]


def _full() -> list[Case]:
    quick = [*SPARK, *OPPONENTS, *ENGINES]
    return [
        Case("g50k", "ins", "EMPTY", systems=[*SPARK, "joinless-hdfs", *NATIVE]),
        *(Case("g50k", "ins", w) for w in ("L3-1", "L3-10")),
        *(Case("g150k", "ins", w) for w in ("L3-10", "STAR4-1")),
        *(Case("g150k", "ins", w, systems=[*quick, "spark-rocksdb"]) for w in ("L3-1", "L4-1")),
        *(Case("g150k", "win", w, systems=quick) for w in ("L3-1", "L3-10", "L4-1", "STAR4-1")),
        *(Case("epinions", m, w, systems=quick) for w in ("L3-1", "L3-10") for m in ("ins", "win")),
    ]


def _sizes() -> list[Case]:
    """What a batch of 1,000 edges costs behind more and more edges."""
    ours = ["joinless", "joinless-engine", "duckdb-delta"]
    return [Case(f"p{k}k", "ins", "L3-1", 21, 1000, ours) for k in (100, 300, 1000, 5000)]


SUITES = {"small": _small(), "full": _full(), "sizes": _sizes()}
