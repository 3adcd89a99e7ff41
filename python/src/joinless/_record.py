"""What a Delta table says, in its properties, of the view that fills it.

`materialize` writes it and `verify` reads it. A table without it is not kept by `materialize`, or
was filled before there were such records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

#: The version of the record. A reader refuses no later one: it only adds properties.
_FORMAT = "1"

#: The folder of the checkpoint in that of the table. VACUUM leaves folders alone whose names begin
#: with an underscore.
CHECKPOINT = "_joinless"

#: The property that each view has.
_VIEW = "joinless.view"


@dataclass(frozen=True)
class ViewRecord:
    """The view of a table.

    Attributes:
        query: the text of the query; None if it was given as a DataFrame.
        database: names in the text without a database belong to this one; None without a text.
        given: names in the text that stand for given DataFrames.
        checkpoint: the folder of the checkpoint; None if it is ``_joinless`` in the folder of the
            table; a name such as ``_joinless_2`` of another one there.
    """

    query: str | None
    database: str | None
    given: tuple[str, ...]
    checkpoint: str | None

    def folder(self, location: str) -> str:
        """The checkpoint, if the table is at this location."""
        if self.checkpoint is None or re.fullmatch(f"{CHECKPOINT}_[0-9]+", self.checkpoint):
            return f"{location.rstrip('/')}/{self.checkpoint or CHECKPOINT}"
        return self.checkpoint

    def properties(self) -> dict[str, str]:
        """The properties of the table; those that are empty are left out."""
        named = {
            _VIEW: _FORMAT,
            "joinless.query": self.query,
            "joinless.database": self.database,
            "joinless.given": json.dumps(self.given) if self.given else None,
            "joinless.checkpoint": self.checkpoint,
        }
        return {name: value for name, value in named.items() if value is not None}

    @staticmethod
    def of(properties: Mapping[str, str]) -> ViewRecord | None:
        """The view that these properties of a table name; None if they name none."""
        if _VIEW not in properties:
            return None
        return ViewRecord(
            properties.get("joinless.query"),
            properties.get("joinless.database"),
            tuple(json.loads(properties.get("joinless.given", "[]"))),
            properties.get("joinless.checkpoint"),
        )
