"""Writes DuckDB's answers into a case of SQL, in place of the existing ones.

    .venv/bin/python tests/answers.py tests/regressions/sql/outer-row-comes-back.case

Read them before you commit them: they are right where DuckDB is.
"""

from __future__ import annotations

import sys
from pathlib import Path

from support import sql_case
from support.sql_plays import answer_rows

if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        sql_case.save(answer_rows(sql_case.load(path)), path)
