"""The micro-batches of a streaming query over file streams, played one by one
without a streaming query.

`MicroBatches` of the plugin's tests does the work on the JVM: real rules,
real plans, real operators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession


class MicroBatches:
    """A query of a session whose views are file streams.

    Args:
        session: its settings are the query's.
        query: the query whose rows a sink would receive.
        state: a folder for its state; it need not exist.
    """

    def __init__(self, session: SparkSession, query: DataFrame, state: Path) -> None:
        jvm = session._jvm
        assert jvm is not None
        self.session, self._jvm = session, jvm
        self._batches = jvm.io.joinless.spark.batches.MicroBatches(session._jsparkSession, query._jdf, str(state))

    @property
    def blocks(self) -> int:
        """How many join blocks the query has."""
        return int(self._batches.blocks())

    def play(self, files: Mapping[Path, Sequence[Path]]) -> DataFrame:
        """Plays a batch with the new files, by the folders of their streams; returns the rows that
        a sink would receive.
        """
        arrived = self._jvm.java.util.HashMap()
        for folder, paths in files.items():
            names = self._jvm.java.util.ArrayList()
            for path in paths:
                names.add(str(path))
            arrived.put(str(folder), names)
        return DataFrame(self._batches.play(arrived), self.session)

    def restart(self) -> None:
        """Simulates a restart: the view trees are rebuilt from the stored state."""
        self._batches.restart()

    def close(self) -> None:
        """Frees the state."""
        self._batches.close()
