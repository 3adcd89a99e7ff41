"""A short run of the fault runner (`make faults` is the long one), and a test that it
would detect a wrong row.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.__main__ import rows_wrong, run, table_of
from faults.pipeline import FINAL, OF_CHANGES, QUERIES, SETTLED


@pytest.mark.long
@pytest.mark.parametrize("kind", sorted(QUERIES))
def test_a_few_kills_lose_and_repeat_nothing(kind: str, tmp_path: Path) -> None:
    figures = run(tmp_path, kind, kills=3, seed=7)
    assert figures["kills"] == 3
    assert figures["rebuilds"] > 0  # it was killed with state
    assert figures["rows right"] > 1000
    assert figures["rows wrong"] == 0


@pytest.mark.parametrize("kind", sorted(QUERIES))
def test_the_runner_notices_a_row_that_is_lost_and_one_that_is_there_twice(kind: str, tmp_path: Path) -> None:
    present = [(k, v, 5) for k, v in ((1, 2), (2, 1), (2, 3), (3, 4), (1, 2))]
    if kind in FINAL:
        present.append((8, 9, 5 + SETTLED))
    assert rows_wrong_of(tmp_path / "all", kind, present, lambda rows: rows) == 0
    assert rows_wrong_of(tmp_path / "lost", kind, present, lambda rows: rows[1:]) == 1
    assert rows_wrong_of(tmp_path / "twice", kind, present, lambda rows: [*rows, rows[0]]) == 1


def rows_wrong_of(folder: Path, kind: str, present: list[tuple[int, int, int]], change: object) -> int:
    """Writes the right result, changed, as a pipeline would."""
    (folder / "out" / "0").mkdir(parents=True)
    db = table_of(kind, present)
    rows = change(db.execute(f"SELECT * FROM ({QUERIES[kind]}) ORDER BY ALL").fetchall())  # type: ignore[operator]
    columns = "x BIGINT, y BIGINT, z BIGINT" + (", _weight BIGINT" if kind in OF_CHANGES else ", w BIGINT")
    db.execute(f"CREATE TABLE written ({columns})")
    marks = "?, ?, ?, 1" if kind in OF_CHANGES else "?, ?, ?, ?"
    db.executemany(f"INSERT INTO written VALUES ({marks})", [list(row) for row in rows])
    db.execute(f"COPY written TO '{folder}/out/0/part.parquet' (FORMAT parquet)")
    return rows_wrong(folder, kind, present)[0]
