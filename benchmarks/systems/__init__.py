"""The systems that run the benchmark's jobs, each a module that names one or more of them."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from jobs import Job


@dataclass(frozen=True)
class System:
    """One system with one way to run it."""

    name: str
    what: str  # one sentence for the page: the program and its settings
    command: Callable[[Job, Path, Path], list[str]]  # (job, its file, report) to the process that runs it
    missing: Callable[[], str | None] = lambda: None  # why it cannot run on this machine
    refuses: Callable[[Job], str | None] = lambda job: None  # why it cannot run this job
    nets: bool = (
        True  # plus and minus are net per batch, so both must equal the known answer; else only their difference
    )
    answers: bool = True  # false for a floor, whose result is not the query's


def opponents() -> Path:
    """The folder where `benchmarks/install` puts other systems: a cache of the
    user's, kept between checkouts.
    """
    home = os.environ.get("JOINLESS_BENCH_HOME")
    return Path(home) if home else Path.home() / ".cache" / "joinless-bench"


def every_system() -> dict[str, System]:
    """All systems by name, of every module in this folder."""
    modules = [importlib.import_module(f"systems.{m.name}") for m in pkgutil.iter_modules(__path__)]
    return {system.name: system for module in modules if hasattr(module, "SYSTEMS") for system in module.SYSTEMS}
