"""A case of SQL as a hand-written file: tables, changes in batches, a query,
its answer after each batch.

tests/regressions/sql/README.md describes the format. Values are texts, as in `support.cases`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.errors import AnalysisException

from support.cases import Case, Column, Row, Table
from support.changes import Changes, random_changes

#: Where random cases that fail are written, for tests/shrink.py.
FAILING = Path(__file__).resolve().parents[2] / ".build" / "failing-cases"

#: The kinds of play; the first is the default.
KINDS = ("changelog", "append", "plain", "table", "feeds")
#: Lines of one setting; `table`, `latest`, `fails` and `wrong` may occur several times.
_SETTINGS = ("kind", "table", "latest", "key", "partitions", "gate", "fails", "wrong")
_VALUE = re.compile(r"\s*(?:'((?:[^']|'')*)'|([^,']*[^,'\s]))\s*(,|$)")
_BARE = re.compile(r"-?\d+(\.\d+)?|true|false", re.IGNORECASE)


@dataclass(frozen=True)
class Line:
    """A change: an inserted row (weight 1) or a deleted row (weight -1)."""

    table: str
    row: Row
    weight: int


@dataclass(frozen=True)
class Batch:
    """The changes of a batch in their order, and the answer after it; None if the file has none."""

    lines: tuple[Line, ...]
    answer: tuple[Row, ...] | None

    @property
    def grows(self) -> bool:
        """Whether rows are only inserted."""
        return all(line.weight > 0 for line in self.lines)


@dataclass(frozen=True)
class Latest:
    """A view with the newest row of each key of a table."""

    name: str
    table: str
    key: str
    order: str


@dataclass(frozen=True)
class SqlCase:
    """The contents of a file.

    Args:
        duckdb: the query in DuckDB's dialect, if it differs.
        key: columns that are the result's key where it is kept as a table.
        gate: the prefix of the name of the gate's play; any play if it is empty.
        fails: why it fails today, by the names of plays or their prefixes.
        wrong: why an oracle is known to be wrong, by its name.
    """

    name: str
    note: str
    tables: tuple[Table, ...]
    query: str
    batches: tuple[Batch, ...]
    duckdb: str = ""
    kinds: tuple[str, ...] = KINDS[:1]
    latest: tuple[Latest, ...] = ()
    key: str = ""
    partitions: int = 0
    gate: str = ""
    fails: Mapping[str, str] = field(default_factory=dict)
    wrong: Mapping[str, str] = field(default_factory=dict)

    @property
    def growing(self) -> int:
        """The number of batches at the beginning that only insert rows."""
        return next((i for i, batch in enumerate(self.batches) if not batch.grows), len(self.batches))

    def first(self, batches: int) -> SqlCase:
        """The case with its first batches only."""
        return self.with_batches(self.batches[:batches])

    def at_once(self) -> SqlCase:
        """The case with all changes in one batch."""
        lines = tuple(line for batch in self.batches for line in batch.lines)
        return self.with_batches([Batch(lines, self.batches[-1].answer)])

    def with_batches(self, batches: Sequence[Batch]) -> SqlCase:
        """The case with other batches."""
        return replace(self, batches=tuple(batches))

    def as_case(self, partitions: int) -> Case:
        """As random cases are: the inserted rows, without those that are deleted."""
        tables = (Table(table.name, table.columns, tuple(() for _ in self.batches)) for table in self.tables)
        return Case(self.name, tuple(tables), self.query, partitions, None)

    def changes(self, kind: str) -> list[Changes]:
        """The changes of each table, with change types or, where no row is
        deleted, as appended rows.
        """
        inputs = []
        for table in self.tables:
            lines = [[line for line in batch.lines if line.table == table.name] for batch in self.batches]
            inputs.append(
                Changes(table, kind, tuple(tuple((line.row, line.weight) for line in some) or None for some in lines))
            )
        return inputs


def of_changes(case: Case, inputs: Iterable[Changes]) -> SqlCase:
    """A random case whose tables are given by changes."""
    inputs = list(inputs)
    batches = []
    for number in range(case.batches):
        lines = [
            Line(changes.table.name, row, weight // abs(weight))
            for changes in inputs
            for row, weight in changes.batches[number] or ()
            for _ in range(abs(weight))
        ]
        if lines:
            batches.append(Batch(tuple(lines), None))
    return SqlCase(case.name, "", _without_rows(case), case.sql, tuple(batches), partitions=case.partitions)


def of_appends(case: Case) -> SqlCase:
    """A random case whose tables are append-only, as a plain stream."""
    batches = []
    for number in range(case.batches):
        lines = [Line(table.name, row, 1) for table in case.tables for file in table.arrivals[number] for row in file]
        if lines:
            batches.append(Batch(tuple(lines), None))
    return SqlCase(
        case.name, "", _without_rows(case), case.sql, tuple(batches), kinds=("plain",), partitions=case.partitions
    )


def _without_rows(case: Case) -> tuple[Table, ...]:
    return tuple(replace(table, arrivals=()) for table in case.tables)


# -- reading ----------------------------------------------------------------------------------------------------------


def load(path: Path) -> SqlCase:
    """Reads a file; an error names the file and the line."""
    return parse(path.stem, path.read_text())


def parse(name: str, text: str) -> SqlCase:
    """Reads the text of a file."""
    reader = _Reader(name)
    for number, line in enumerate(text.splitlines(), 1):
        try:
            reader.take(line.rstrip())
        except (ValueError, KeyError) as e:
            raise ValueError(f"{name}.case, line {number}: {e}: {line}") from None
    return reader.case()


class _Reader:
    """Reads lines; `section` is where they belong."""

    def __init__(self, name: str) -> None:
        self.name, self.section = name, ""
        self.notes: list[str] = []
        self.texts: dict[str, list[str]] = {"query": [], "duckdb": []}
        self.settings: dict[str, list[str]] = {setting: [] for setting in _SETTINGS}
        self.tables: dict[str, Table] = {}
        self.batches: list[tuple[list[Line], list[Row] | None]] = []

    def take(self, line: str) -> None:
        if self.section in self.texts:
            if line:
                self.texts[self.section].append(line)
            else:
                self.section = ""
        elif line.startswith("#"):
            self.notes.append(line[1:].strip())
        elif line in self.texts:
            self.section = line
        elif line == "batch":
            self.batches.append(([], None))
            self.section = line
        elif self.section == "batch":
            self._in_batch(line)
        elif line:
            setting, _, value = line.partition(" ")
            if setting == "table":
                self._table(value)
            self.settings[setting].append(value.strip())

    def _table(self, text: str) -> None:
        name, columns = re.fullmatch(r"(\w+)\s*\((.*)\)", text.strip()).groups()  # type: ignore[union-attr]
        pairs = (column.strip().split(None, 1) for column in re.split(r",(?![^(<]*[)>])", columns))
        self.tables[name] = Table(name, tuple(Column(*pair) for pair in pairs), ())

    def _in_batch(self, line: str) -> None:
        lines, answer = self.batches[-1]
        if line == "----":
            self.batches[-1] = (lines, [])
        elif line and answer is not None:
            answer.append(values(line))
        elif line:
            sign, name, row = line.split(None, 2)
            change = Line(name, values(row), {"+": 1, "-": -1}[sign])
            wide = len(self.tables[name].columns)
            if len(change.row) != wide:
                raise ValueError(f"{name} has {wide} columns, not {len(change.row)}")
            lines.append(change)

    def case(self) -> SqlCase:
        if not (self.tables and self.texts["query"] and self.batches):
            raise ValueError(f"{self.name}.case: a case has tables, a query and batches")
        one = {name: " ".join(found) for name, found in self.settings.items()}
        kinds = tuple(filter(None, re.split(r"[,\s]+", one["kind"]))) or KINDS[:1]
        unknown = set(kinds) - set(KINDS)
        if unknown:
            raise ValueError(f"{self.name}.case: kind is one of {', '.join(KINDS)}, not {', '.join(unknown)}")
        return SqlCase(
            self.name,
            "\n".join(self.notes),
            tuple(self.tables.values()),
            "\n".join(self.texts["query"]),
            tuple(Batch(tuple(lines), None if answer is None else tuple(answer)) for lines, answer in self.batches),
            duckdb="\n".join(self.texts["duckdb"]),
            kinds=kinds,
            latest=tuple(map(_latest, self.settings["latest"])),
            key=one["key"],
            partitions=int(one["partitions"] or 0),
            gate=one["gate"],
            fails=dict(_reasons(self.settings["fails"])),
            wrong=dict(_reasons(self.settings["wrong"])),
        )


def _latest(text: str) -> Latest:
    found = re.fullmatch(r"(\w+) of (\w+) by (\w+) order (\w+)", text)
    if not found:
        raise ValueError(f"latest VIEW of TABLE by KEY order COLUMN, not {text}")
    return Latest(*found.groups())


def _reasons(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """`WHERE, WHERE: why`, or `: why` for everywhere."""
    for text in texts:
        where, _, why = text.partition(":")
        if not why.strip():
            raise ValueError(f"a reason stands behind a colon, not in {text}")
        for name in re.split(r"[,\s]+", where.strip()):
            yield name, why.strip()


def values(text: str) -> Row:
    """The values of a row as they are written, separated by commas."""
    row: list[str | None] = []
    at = 0
    while True:
        found = _VALUE.match(text, at)
        if not found:
            raise ValueError(f"no value at column {at + 1} of {text}")
        quoted, bare, comma = found.groups()
        row.append(bare if quoted is None else quoted.replace("''", "'"))
        if quoted is None and bare.upper() == "NULL":
            row[-1] = None
        at = found.end()
        if not comma:
            return tuple(row)


# -- writing ----------------------------------------------------------------------------------------------------------


def render(case: SqlCase) -> str:
    """The text of a file."""
    top = [f"# {line}".rstrip() for line in case.note.splitlines()]
    if case.kinds != KINDS[:1]:
        top.append(f"kind {', '.join(case.kinds)}")
    top += [f"latest {v.name} of {v.table} by {v.key} order {v.order}" for v in case.latest]
    top += [f"key {case.key}"] if case.key else []
    top += [f"partitions {case.partitions}"] if case.partitions else []
    top += [f"gate {case.gate}"] if case.gate else []
    top += [f"fails {play}: {why}" for play, why in case.fails.items()]
    top += [f"wrong {oracle}: {why}" for oracle, why in case.wrong.items()]
    parts = [top, [f"table {table.name} ({table.schema})" for table in case.tables], ["query", case.query]]
    parts += [["duckdb", case.duckdb]] if case.duckdb else []
    parts += [list(_rendered(batch)) for batch in case.batches]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _rendered(batch: Batch) -> Iterator[str]:
    yield "batch"
    for line in batch.lines:
        yield f"{'+' if line.weight > 0 else '-'} {line.table} {_row(line.row)}"
    if batch.answer is not None:
        yield "----"
        yield from map(_row, batch.answer)


def _row(row: Row) -> str:
    return ", ".join(map(_value, row))


def _value(value: str | None) -> str:
    if value is None:
        return "NULL"
    return value if _BARE.fullmatch(value) else "'" + value.replace("'", "''") + "'"


def save(case: SqlCase, path: Path) -> None:
    """Writes a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(case))


@contextmanager
def saving_appends(case: Case) -> Iterator[None]:
    """Writes the random case, whose tables are append-only, if what is checked of it fails."""
    try:
        yield
    except BaseException:
        save(of_appends(case), FAILING / f"{case.name}.case")
        raise


@contextmanager
def saving_changes(case: Case, seed: int) -> Iterator[None]:
    """The same for the case whose tables have the random changes of a seed. It may be refused by name: a
    computed key with `<=>` next to an outer or semi join, seed 1014.
    """
    try:
        yield
    except AnalysisException as e:
        if "for reason THROWING_KEY" not in str(e):
            raise
    except BaseException:
        save(of_changes(case, random_changes(case, seed)), FAILING / f"changes-{case.name}.case")
        raise


def present(case: SqlCase, batches: int) -> dict[str, Counter[Row]]:
    """The rows of each table after so many batches."""
    rows: dict[str, Counter[Row]] = {table.name: Counter() for table in case.tables}
    for batch in case.batches[:batches]:
        for line in batch.lines:
            rows[line.table][line.row] += line.weight
    return rows
