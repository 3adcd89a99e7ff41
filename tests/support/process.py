"""A Python process of its own that can import the package and these tests: for code that
kills it or must start cold.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

import joinless


def run_python(code: str, *arguments: str, seconds: float = 300) -> subprocess.CompletedProcess[str]:
    """Runs `code`; at most so many seconds."""
    return run([sys.executable, "-c", code, *arguments], seconds)


def run(command: list[str], seconds: float = 300) -> subprocess.CompletedProcess[str]:
    """Runs a command that starts Python; at most so many seconds."""
    return subprocess.run(
        command,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def environment() -> dict[str, str]:
    """That of such a process."""
    path = os.pathsep.join([str(Path(__file__).parents[1]), str(Path(joinless.__file__).parent.parent)])
    return {**os.environ, "PYTHONPATH": path}


def run_client(code: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the code of a client of Spark Connect, with a server of its own, in a folder. All servers
    take one port, so one runs at a time.
    """
    with (Path(__file__).parents[2] / ".build" / "connect-server.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env=client_environment(),
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=300,
        )


def client_environment() -> dict[str, str]:
    """That of a client of Spark Connect."""
    packages = Path(__file__).parents[2] / ".build" / "connect"
    if not (packages / "yaml").exists():
        pytest.skip("The packages for a client of Spark Connect are missing; make test fetches them")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYTHONPATH"))}
    return environment | {"PYTHONPATH": str(packages)}
