"""Checkpoints that are refused: of another query, of another release, damaged, or too large."""

from __future__ import annotations

import shutil

from pyspark.sql import DataFrame

from support.bad_input import Bad, state
from support.world import CHAIN, PATH, cut_deltas, edit, foreign, truncate, unfinished

TWO = {"minRelations": "2"}


def written(batch: DataFrame, _: int) -> None:
    batch.write.format("noop").mode("overwrite").save()


STATES = [
    state("another equi-join condition", "QUERY", "", PATH.replace("b.dst = c.src", "b.src = c.src")),
    state("a relation more", "QUERY", "3 relations.*4", f"{PATH.replace('c.dst', 'd.dst')} JOIN e d ON c.dst = d.src"),
    state("a relation less", "QUERY", "3 relations.*2", "SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src"),
    state("another output", "COLUMNS", "", PATH.replace("c.dst AS last", "c.dst + 1 AS last, a.dst AS more")),
    state("a column less", "COLUMNS", "", f"SELECT a.src, b.dst {CHAIN}"),
    state(
        "no join any more",
        "QUERY",
        "a, b, c",
        "SELECT src, dst, dst AS last FROM e UNION ALL SELECT src, dst, 1L FROM e UNION ALL SELECT src, dst, 2L FROM e",
    ),
    state("a newer format", "FORMAT", "release", tamper=edit(r'(specVersion\\":)2', r"\g<1>7")),
    state("no such share", "UNREADABLE", "copy", tamper=edit(r"shares\\\":\[", r"\g<0>9,")),
    state(
        "no record of its sources", "UNREADABLE", "joinless/sources", tamper=lambda cp: shutil.rmtree(cp / "joinless")
    ),
    Bad(
        "state: a delta that is cut off",
        "JOINLESS_STATE_NOT_LOADED",
        "XX001",
        "state of cell 0 of operator 0, as of batch 0",
        lambda w: w.run(w.session.sql(PATH), cut_deltas(unfinished(w.copy()))),
    ),
    Bad(
        "state: a delta that is cut off, read by a function of Python",
        "JOINLESS_STATE_NOT_LOADED",
        "XX001",
        "state of cell 0 of operator 0, as of batch 0",
        lambda w: w.run(w.session.sql(PATH), cut_deltas(unfinished(w.copy())), function=written),
    ),
    state("cut off", "UNREADABLE", "copy", tamper=truncate),
    state("more stores than cells", "CELLS", "", tamper=edit(r'("numPartitions":)1', r"\g<1>3")),
    Bad(
        "state: more than the bound",
        "JOINLESS_STATE_TOO_LARGE",
        "53200",
        "bytes",
        lambda w: w.run(w.at(cache_maxBytes="100").sql(PATH)),
    ),
    Bad(
        "state: Spark's own, while forced",
        "JOINLESS_NOT_REWRITTEN",
        "0A000",
        "EXISTING_SPARK_STATE",
        lambda w: w.run(
            (foreign(w), w.at(mode="force", **TWO))[1].sql("SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src"),
            unfinished(shutil.copytree(foreign(w), w.folder / f"foreign-{w.runs}")),
        ),
    ),
]
