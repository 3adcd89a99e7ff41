"""Edges of a graph with a few hubs, as files that arrive one after the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

Edges = npt.NDArray[np.int64]


def power_law(edges: int, vertices: int, rng: np.random.Generator, exponent: float = 0.75) -> Edges:
    """Distinct directed edges without loops; the degree of a vertex falls with its rank,
    in random order of arrival.
    """
    weight = (np.arange(vertices) + 8.0) ** -exponent
    weight /= weight.sum()
    names = rng.permutation(vertices)
    found: Edges = np.empty((0, 2), dtype=np.int64)
    while len(found) < edges:
        pairs = rng.choice(vertices, size=(2 * edges, 2), p=weight)
        found = np.unique(np.vstack([found, pairs[pairs[:, 0] != pairs[:, 1]]]), axis=0)
    return names[found[rng.permutation(len(found))[:edges]]]


def write_edges(folder: Path, edges: int, vertices: int, batches: int, seed: int) -> dict[str, int]:
    """Writes one stream for paths and three for stars; returns the threshold of each
    query's filter (dst >= it).
    """
    rng = np.random.default_rng(seed)
    paths = power_law(edges, vertices, rng)
    stars = power_law(edges, vertices, rng, exponent=0.75)
    _write(folder / "follows", paths, batches)
    for i, table in enumerate(("likes", "shares", "replies")):
        _write(folder / table, stars[i::3], batches)
    return {"three-hop": int(np.quantile(paths[:, 1], 0.99)), "star": int(np.quantile(stars[2::3, 1], 0.95))}


def _write(folder: Path, edges: Edges, batches: int) -> None:
    folder.mkdir(parents=True)
    for i, part in enumerate(np.array_split(edges, batches)):
        np.savetxt(folder / f"{i:03d}.csv", part, fmt="%d", delimiter=",")
