"""A social network like that of LDBC's benchmark, for CROWN's queries: tables in the order in which
their rows are created.

    person(id, name)   knows(a, b), both directions   message(id, creator, replyof)   message_tag(message, tag)   tag(id, name)

`snb100k` has 100,000 messages, a tenth as many persons, half as many friendships and a
two-hundredth as many tags (at least 16). Friendships, authors, answered messages and chosen tags
follow power laws. Six of ten messages answer an earlier one, the others have one to three tags.

Persons, and with them friendships, are inserted evenly along the stream of messages. A friendship
is between persons that exist already, a message by one of them. Tags precede everything else. Names
are numbers: all columns are, so that one check covers the results of every system.

In the mode `win`, messages, their tags and friendships are deleted four batches after their
insertion; persons and tags stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import counted
from jobs import Job
from streams import grouped_job, write_rows


@dataclass(frozen=True)
class Network:
    """The tables' rows as text, each with its time of creation between 0 and 1, in that order."""

    name: str
    persons: int
    tables: dict[str, tuple[list[str], Any]]

    @staticmethod
    def generate(messages: int, seed: int = 1) -> Network:
        """A network of so many messages; everything follows from the seed."""
        rng = np.random.default_rng(seed)
        persons, friendships, tags = max(16, messages // 10), messages // 2, max(16, messages // 200)
        joined = np.sort(rng.random(persons)) * 0.9
        joined[:8] = 0.0
        names = rng.permutation(persons)  # ids say nothing of a person's time or number of friends
        moment = np.sort(rng.random(messages))
        there = np.searchsorted(joined, moment, side="right")
        creator = _skewed(rng, there)
        replies = rng.random(messages) < 0.6
        replies[0] = False
        answered = np.arange(messages) - 1 - _skewed(rng, np.maximum(np.arange(messages), 1))
        tagged = np.repeat(np.flatnonzero(~replies), rng.integers(1, 4, size=int((~replies).sum())))
        tag = _skewed(rng, np.full(len(tagged), tags))
        pairs = np.unique(np.stack([tagged, tag]), axis=1)
        a, b, since = _friendships(rng, joined, friendships)
        reply = np.where(replies, np.maximum(answered, 0), -1)
        return Network(
            f"snb{messages // 1000}k" if messages >= 1000 else f"snb{messages}",
            persons,
            {
                "tag": ([f"{i},{7 * i + 3}" for i in range(tags)], np.zeros(tags)),
                "person": ([f"{p},{3 * p + 1}" for p in names], joined),
                "knows": (
                    [f"{x},{y}" for p, q in zip(names[a], names[b], strict=True) for x, y in ((p, q), (q, p))],
                    np.repeat(since, 2),
                ),
                "message": (
                    [
                        f"{i},{p},{'' if r < 0 else r}"
                        for i, (p, r) in enumerate(zip(names[creator], reply, strict=True))
                    ],
                    moment,
                ),
                "message_tag": ([f"{m},{t}" for m, t in pairs.T], moment[pairs[0]]),
            },
        )

    @property
    def limit(self) -> int:
        """The person below which a tenth of the persons are."""
        return max(2, self.persons // 10)

    def write(self, table: str, folder: Path, batches: int, *, window: bool) -> Path:
        """Writes one file per batch of a table's rows, unless they exist."""
        rows, moments = self.tables[table]
        batch = np.minimum((moments * batches).astype(np.int64), batches - 1)
        return write_rows(folder / table, batches, rows, batch, window=window, stays=table in ("person", "tag"))


def _skewed(rng: Any, below: Any) -> Any:
    """Numbers below the given ones, small ones more often: the density falls with the
    number to the power of -0.6.
    """
    return np.minimum((below * rng.random(len(below)) ** 2.5).astype(np.int64), below - 1)


def _friendships(rng: Any, joined: Any, count: int) -> tuple[Any, Any, Any]:
    """Distinct pairs of persons, each with a time when both exist, in that order."""
    persons = len(joined)
    count = min(count, persons * (persons - 1) // 4)
    pairs = np.empty((0, 2), dtype=np.int64)
    while len(pairs) < count:
        more = _skewed(rng, np.full((2 * count * 2), persons)).reshape(-1, 2)
        more = np.sort(more[more[:, 0] != more[:, 1]], axis=1)
        pairs = np.unique(np.vstack([pairs, more]), axis=0)
    pairs = pairs[rng.permutation(len(pairs))[:count]]
    earliest = joined[pairs].max(axis=1)
    since = earliest + (1 - earliest) * rng.random(count)
    order = np.argsort(since)
    return pairs[order, 0], pairs[order, 1], since[order]


def make_job(network: Network, workload: str, folder: Path, *, window: bool, batches: int = 20, **settings: Any) -> Job:
    """The job of a workload over a network."""
    base = folder / network.name / f"{'win' if window else 'ins'}-{batches}"
    query = counted.query(workload, network.limit)
    inputs = tuple(str(network.write(r.table, base, batches, window=window)) for r in query.relations)
    return grouped_job(workload, query, inputs, window=window, batches=batches, **settings)
