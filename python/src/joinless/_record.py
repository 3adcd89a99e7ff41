"""What a Delta table says, in its properties, of the view that fills it. `materialize` writes it. The
plugin knows the properties: procedures read them, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from joinless import _jvm

#: The folder of the checkpoint in that of the table.
CHECKPOINT = "_joinless"


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
        return _jvm.view_folder(self.checkpoint, location)

    def properties(self) -> dict[str, str]:
        """The properties of the table; those that are empty are left out."""
        return _jvm.view_properties(asdict(self) | {"given": list(self.given)})

    @staticmethod
    def of(properties: Mapping[str, str]) -> ViewRecord | None:
        """The view that these properties of a table name; None if they name none."""
        found = _jvm.view_of(properties)
        return None if found is None else ViewRecord.read(found)

    @staticmethod
    def read(found: Mapping[str, Any]) -> ViewRecord:
        """The view that the plugin has found."""
        return ViewRecord(found["query"], found["database"], tuple(found["given"]), found["checkpoint"])
