"""Notes about batches in the commits of a target, so that a batch is distinguished from
another one of the same number.

Delta remembers the last number of each writer, and skips a batch that is not newer. That is right
for a batch that is run again, and wrong for a batch that is planned anew after the checkpoint was
restored from an older copy.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from pyspark.sql import SparkSession

_DELTA = "spark.databricks.delta."
_SAID_OF_COMMITS = f"{_DELTA}commitInfo.userMetadata"

#: How many commits are searched for one of a writer: first a few, enough for a view that
#: is alone in its table.
_COMMITS = (20, 1000)


@dataclass(frozen=True)
class BatchNote:
    """The writer of a batch, its number, and the time when it was planned (milliseconds since
    1970). The time is the same when the batch runs again, and None where it is unknown.
    """

    writer: str
    batch: int
    planned: int | None

    def text(self, before: str | None) -> str:
        """The note, appended to the text `before`."""
        note = json.dumps({"joinless": asdict(self)})
        return f"{before} {note}" if before else note

    @staticmethod
    def of(text: str | None) -> BatchNote | None:
        """The note in the text of a commit."""
        start = (text or "").rfind('{"joinless"')
        if text is None or start < 0:
            return None
        try:
            return BatchNote(**json.loads(text[start:])["joinless"])
        except (ValueError, TypeError, KeyError):  # another writer's
            return None


def newest(session: SparkSession, target: str, writer: str) -> tuple[int, BatchNote | None]:
    """The newest version of a table, and the note of the newest commit of a writer up to it; None
    if the last thousand commits have none.
    """
    for commits in _COMMITS:
        history = session.sql(f"DESCRIBE HISTORY {target} LIMIT {commits}").collect()
        newest_first = sorted(history, key=lambda row: row["version"], reverse=True)
        notes = (BatchNote.of(row["userMetadata"]) for row in newest_first)
        found = next((note for note in notes if note and note.writer == writer), None)
        if found or len(history) < commits:
            break
    return newest_first[0]["version"], found


@contextmanager
def transaction(session: SparkSession, note: BatchNote) -> Iterator[None]:
    """Makes the session's writes one batch of a writer to Delta: applied once, then skipped."""
    of_commit = {
        f"{_DELTA}write.txnAppId": note.writer,
        f"{_DELTA}write.txnVersion": str(note.batch),
        _SAID_OF_COMMITS: note.text(session.conf.get(_SAID_OF_COMMITS, None)),
    }
    with settings(session, of_commit):
        yield


@contextmanager
def settings(session: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    """Settings of the session that hold meanwhile."""
    before: dict[str, str | None] = {name: session.conf.get(name, None) for name in wanted}
    try:
        for name, value in wanted.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, earlier in before.items():
            if earlier is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, earlier)
