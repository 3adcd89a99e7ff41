"""Records as Debezium's connectors and Kafka Connect's JSON converter write them, for tests without
a broker: a table whose changes become records in files, with the columns of Spark's source.

The fixtures in `tests/support/recorded` are what Debezium wrote; this module writes the same forms.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

#: The columns of Spark's source that are read.
RECORD = "key STRING, value STRING, topic STRING, partition INT, offset BIGINT"
EPOCH = datetime(1970, 1, 1)
MICROSECOND = timedelta(microseconds=1)

Row = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """How values of a column are written: the type in Kafka Connect, its logical name, and a function."""

    connect: str
    name: str | None = None
    write: Callable[[Any], Any] = lambda value: value
    parameters: dict[str, str] = field(default_factory=dict)

    def schema(self, column: str, optional: bool = True) -> Row:
        """The schema of the column."""
        named = {"name": self.name, "version": 1} if self.name else {}
        parameters = {"parameters": self.parameters} if self.parameters else {}
        return {"type": self.connect, "optional": optional, **named, **parameters, "field": column}


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def unscaled(value: Decimal, scale: int = 2) -> str:
    """A decimal by the bytes of its digits."""
    digits = int(value.scaleb(scale))
    return _base64(digits.to_bytes(digits.bit_length() // 8 + 1, "big", signed=True))


def micros(value: datetime) -> int:
    """Microseconds since 1970 of a time without a zone."""
    return (value - EPOCH) // MICROSECOND


LONG = Kind("int64")
STRING = Kind("string")
BOOLEAN = Kind("boolean")
DOUBLE = Kind("double")
BYTES = Kind("bytes", write=_base64)
DATE = Kind("int32", "io.debezium.time.Date", lambda value: (value - date(1970, 1, 1)).days)
MICROS = Kind("int64", "io.debezium.time.MicroTimestamp", micros)
MILLIS = Kind("int64", "io.debezium.time.Timestamp", lambda value: micros(value) // 1000)
ZONED = Kind("string", "io.debezium.time.ZonedTimestamp", lambda value: value.isoformat() + "Z")
DECIMAL = Kind(
    "bytes",
    "org.apache.kafka.connect.data.Decimal",
    unscaled,
    {"scale": "2", "connect.decimal.precision": "10"},
)


class Topic:
    """The topic of a table.

    Args:
        folder: where each call of `publish` leaves a file of records.
        columns: the table's, by name.
        key: the table's primary key.
        schemas: the converter's ``schemas.enable``.
        befores: whether rows before a change are written, as with ``REPLICA IDENTITY FULL``.
        partitions: of the topic; a key has one of them.
    """

    def __init__(
        self,
        folder: Path,
        columns: dict[str, Kind],
        key: str = "id",
        schemas: bool = True,
        befores: bool = True,
        partitions: int = 2,
    ) -> None:
        folder.mkdir(parents=True)
        self.folder, self.columns, self.key = folder, columns, key
        self.schemas, self.befores = schemas, befores
        self.rows: dict[Any, Row] = {}
        self.records: list[Row] = []
        self.offsets = [0] * partitions
        self.files = 0

    def insert(self, row: Row, op: str = "c") -> None:
        """A new row; with the operation ``r`` one of a snapshot."""
        self.rows[row[self.key]] = row
        self._change(op, None, row)

    def update(self, row: Row) -> None:
        """Another row under a key; a row under another key is a delete and an insert."""
        before = self.rows[row[self.key]]
        self.rows[row[self.key]] = row
        self._change("u", before if self.befores else None, row)

    def delete(self, key: Any, tombstone: bool = True) -> None:
        """Deletes a row. Without whole rows before a change, the row that is deleted has only its key."""
        before = self.rows.pop(key)
        whole = before if self.befores else {self.key: key, **dict.fromkeys(set(self.columns) - {self.key})}
        self._change("d", whole, None)
        if tombstone:
            self.put(key, None)

    def repeat(self, count: int) -> None:
        """The last records again, as after a crash of the connector."""
        for record in self.records[len(self.records) - count :]:
            self._append(record["key"], record["value"], record["partition"])

    def put(self, key: Any, value: Any) -> None:
        """A record of a key, with this value as JSON."""
        text = json.dumps(self._wrapped({self.key: self._written(self.key, key)}, self._struct([self.key])))
        self._append(text, None if value is None else json.dumps(value), hash(key) % len(self.offsets))

    def publish(self) -> None:
        """Leaves the records since the last call as a file."""
        self.files += 1
        staged = self.folder.parent / f"{self.folder.name}-{self.files}.staged"
        staged.write_text("".join(json.dumps(record) + "\n" for record in self.records))
        staged.rename(self.folder / f"{self.files:04d}.json")
        self.records = []

    def envelope(self, op: str, before: Row | None, after: Row | None) -> Row:
        """A message."""
        source = {"version": "3.6.1.Final", "connector": "postgresql", "name": "shop", "ts_ms": 1, "snapshot": "false"}
        payload = {
            "before": self._image(before),
            "after": self._image(after),
            "source": source,
            "transaction": None,
            "op": op,
            "ts_ms": 2,
        }
        images = [{**self._struct(self.columns), "optional": True, "field": side} for side in ("before", "after")]
        others = [{"type": "struct", "fields": [], "optional": False, "field": "source"}, STRING.schema("op", False)]
        return self._wrapped(payload, {"type": "struct", "fields": [*images, *others], "optional": False})

    def _change(self, op: str, before: Row | None, after: Row | None) -> None:
        self.put((after or before or {})[self.key], self.envelope(op, before, after))

    def _image(self, row: Row | None) -> Row | None:
        return None if row is None else {column: self._written(column, row[column]) for column in self.columns}

    def _written(self, column: str, value: Any) -> Any:
        return None if value is None else self.columns[column].write(value)

    def _struct(self, columns: Iterable[str]) -> Row:
        return {"type": "struct", "fields": [self.columns[c].schema(c) for c in columns]}

    def _wrapped(self, payload: Row, schema: Row) -> Row:
        return {"schema": schema, "payload": payload} if self.schemas else payload

    def _append(self, key: str, value: str | None, partition: int) -> None:
        place = {"topic": self.folder.name, "partition": partition, "offset": self.offsets[partition]}
        self.offsets[partition] += 1
        self.records.append({"key": key, "value": value, **place})
