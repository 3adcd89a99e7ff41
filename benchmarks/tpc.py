"""TPC-H and TPC-DS as changing tables: data and query texts from DuckDB's extensions, in an
environment of their own.

The extensions are made for an older DuckDB than tests and benchmarks use, so a virtual environment
below `.build` holds them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import duckdb

_ROOT = Path(__file__).parents[1]
_PACKAGES = ("duckdb==1.5.5", "duckdb-extension-tpch==1.5.5", "duckdb-extension-tpcds==1.5.5")

#: The columns that an update changes, per table; the other tables have
#: insertions and deletions only.
UPDATES = {
    "tpch": {
        "lineitem": "l_quantity = l_quantity + 1",
        "orders": "o_totalprice = o_totalprice + 1, o_comment = 'special requests' || o_comment",
        "customer": "c_acctbal = c_acctbal + 500",
        "supplier": "s_acctbal = s_acctbal + 1",
        "part": "p_size = p_size % 50 + 1",
        "partsupp": "ps_availqty = ps_availqty + 100",
    },
    "tpcds": {
        "store_sales": "ss_quantity = ss_quantity + 1, ss_ext_sales_price = ss_ext_sales_price * 2",
        "catalog_sales": "cs_quantity = cs_quantity + 1",
        "web_sales": "ws_quantity = ws_quantity + 1, ws_ext_sales_price = ws_ext_sales_price * 2",
        "item": "i_current_price = i_current_price + 1",
        "customer_address": "ca_city = 'Midway'",
        "customer": "c_preferred_cust_flag = 'Y'",
    },
}

_GENERATE = """
import glob, importlib, json, os, sys
import duckdb
name, folder, scale = sys.argv[1:]
package = importlib.import_module(f"duckdb_extension_{name}")
(extension,) = glob.glob(os.path.join(os.path.dirname(package.__file__), "extensions", "*", "*"))
connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
connection.execute(f"LOAD '{extension}'")
connection.execute(f"CALL {'dbgen' if name == 'tpch' else 'dsdgen'}(sf={scale})")
for (table,) in connection.execute("SHOW TABLES").fetchall():
    connection.execute(f"COPY {table} TO '{folder}/{table}.parquet' (FORMAT parquet)")
queries = dict(connection.execute(f"SELECT query_nr, query FROM {name}_queries()").fetchall())
with open(os.path.join(folder, "queries.json"), "w") as file:
    json.dump(queries, file)
"""


class Unavailable(Exception):
    """The packages cannot be installed here."""


def generated(name: str, scale: str) -> Path:
    """The folder with a file per table of `tpch` or `tpcds`, and `queries.json`; created once."""
    folder = _ROOT / ".build" / f"{name}-{scale}"
    if not (folder / "queries.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        python = _environment()
        subprocess.run(
            [python, "-c", _GENERATE, name, str(folder), scale], check=True, capture_output=True, timeout=600
        )
    return folder


def _environment() -> str:
    home = _ROOT / ".build" / "tpc-env"
    python = home / "bin" / "python"
    try:
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(home)], check=True, capture_output=True, timeout=120)
        subprocess.run([python, "-m", "pip", "install", "-q", *_PACKAGES], check=True, capture_output=True, timeout=300)
    except (subprocess.SubprocessError, OSError) as e:
        raise Unavailable(str(e)) from e
    return str(python)


def queries(folder: Path) -> dict[int, str]:
    """The texts, by number. No rows tie before a LIMIT of TPC-H at these scales; TPC-DS is run
    without the last LIMIT.
    """
    texts = json.loads((folder / "queries.json").read_text())
    whole = {int(n): text.strip().rstrip(";").strip() for n, text in texts.items()}
    if folder.name.startswith("tpch"):
        return whole
    return {n: re.sub(r"\bLIMIT\s+\d+$", "", text) for n, text in whole.items()}


class ChangingTables:
    """The tables in batches: the first one inserts most rows; then rows are inserted, deleted,
    updated, and inserted again.

    Each batch is a folder `changes/N` with a file per table, and a folder `now/N`
    with the tables after it.

    Args:
        one_in: after the first batch, one of so many rows of a table is deleted and one is updated,
            and one of four times as many is inserted.
    """

    def __init__(self, name: str, source: Path, folder: Path, batches: int, one_in: int = 25) -> None:
        self.folder, self.batches, self.updates, self.one_in = folder, batches, UPDATES[name], one_in
        self.tables = sorted(file.stem for file in source.glob("*.parquet"))
        self.connection = duckdb.connect()
        for table in self.tables:
            self._split(table, source / f"{table}.parquet")

    def rows(self, table: str, batch: int) -> int:
        """The number of rows in a batch of a table's change feed."""
        file = self.folder / "changes" / str(batch) / f"{table}.parquet"
        (count,) = self.connection.execute(f"SELECT count(*) FROM '{file}'").fetchone() or (0,)
        return int(count)

    def _split(self, table: str, file: Path) -> None:
        run = self.connection.execute
        run(f"CREATE TABLE now AS SELECT * FROM '{file}' LIMIT 0")
        run(f"CREATE TABLE rest AS SELECT *, row_number() OVER () AS place FROM '{file}'")
        (size,) = run("SELECT count(*) FROM rest").fetchone() or (0,)
        columns = ", ".join(row[0] for row in run("DESCRIBE now").fetchall())
        for batch in range(self.batches):
            # Tables of a few rows are complete from the start.
            first = f"hash(place) % 100 < {80 if size > 200 else 100}"
            later = f"hash(place) % 20 = {batch} AND hash(place) // 100 % {max(1, self.one_in // 25)} = 0"
            arriving = first if batch == 0 else later
            run("CREATE TABLE changes AS SELECT '' AS _change_type, * FROM now LIMIT 0")
            if batch > 0:
                self._delete_and_update(table, batch, columns)
            run(f"INSERT INTO changes SELECT 'insert', {columns} FROM rest WHERE {arriving}")
            run(f"INSERT INTO now SELECT {columns} FROM rest WHERE {arriving}")
            run(f"DELETE FROM rest WHERE {arriving}")
            for what in ("changes", "now"):
                path = self.folder / what / str(batch)
                path.mkdir(parents=True, exist_ok=True)
                run(f"COPY {what} TO '{path}/{table}.parquet' (FORMAT parquet)")
            run("DROP TABLE changes")
        run("DROP TABLE now")
        run("DROP TABLE rest")

    def _delete_and_update(self, table: str, batch: int, columns: str) -> None:
        """Deletes a twenty-fifth of the rows, to be inserted again later; updates as many."""
        run = self.connection.execute
        for what in ("gone", "updated"):
            if what == "updated" and table not in self.updates:
                continue
            most = f"greatest((SELECT count(*) FROM now) // {self.one_in}, 1)"
            some = f"SELECT rowid FROM now ORDER BY hash(rowid, {batch}, '{what}') LIMIT {most}"
            run(f"CREATE TEMP TABLE chosen AS SELECT rowid AS place, * FROM now WHERE rowid IN ({some})")
            run("DELETE FROM now WHERE rowid IN (SELECT place FROM chosen)")
            if what == "gone":
                run(f"INSERT INTO changes SELECT 'delete', {columns} FROM chosen")
                run(f"INSERT INTO rest SELECT {columns}, hash(place, {batch}) // 2 FROM chosen")
            else:
                run(f"INSERT INTO changes SELECT 'update_preimage', {columns} FROM chosen")
                run(f"UPDATE chosen SET {self.updates[table]}")
                run(f"INSERT INTO changes SELECT 'update_postimage', {columns} FROM chosen")
                run(f"INSERT INTO now SELECT {columns} FROM chosen")
            run("DROP TABLE chosen")
