"""Processor time of this process and of all processes that it started, as Linux counts it;
0 where there is no /proc.
"""

from __future__ import annotations

import os
from pathlib import Path

PROC = Path("/proc")


def processor_seconds() -> float:
    """The processor time of the tree below this process; ended processes count with the process
    that waited for them.
    """
    processes: dict[int, tuple[int, int]] = {}  # parent and ticks
    for folder in PROC.glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # ended meanwhile
            continue
        processes[int(folder.name)] = int(fields[1]), sum(int(field) for field in fields[11:15])
    below = {os.getpid()}
    while more := {pid for pid, (parent, _) in processes.items() if parent in below and pid not in below}:
        below |= more
    ticks = sum(processes[pid][1] for pid in below if pid in processes)
    return ticks / os.sysconf("SC_CLK_TCK")


class FileTimes:
    """Processor time, seconds and number of tests of each file of tests."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[float, float, int]] = {}

    def add(self, file: str, processor: float, wall: float) -> None:
        """Adds one test of this file."""
        before = self.files.get(file, (0.0, 0.0, 0))
        self.files[file] = before[0] + processor, before[1] + wall, before[2] + 1

    def write(self, path: Path) -> None:
        """Writes lines as those of the Scala suites: processor seconds, seconds, tests, file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (f"{cpu:.2f}\t{wall:.2f}\t{tests}\t{file}\n" for file, (cpu, wall, tests) in self.files.items())
        path.write_text("".join(lines))
