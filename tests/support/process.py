"""A Python process of its own that can import the package and these tests: for code that
kills it or must start cold.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

import joinless
from joinless import _jars
from support import delta_jars


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


@contextmanager
def running_server(folder: Path, extension: str, more: dict[str, str]) -> Iterator[str]:
    """The address of a server of Spark Connect in a process of its own, with Delta, and with our jar
    and extension if there is one; `more` are settings.
    """
    client_environment()  # without the packages of clients the test is skipped
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    home = Path(str(pyspark.__file__)).parent
    ours = [str(_jars.bundled(pyspark.__version__))] if extension else []
    settings = {
        "spark.jars": ",".join([*ours, *delta_jars.paths()]),
        "spark.sql.extensions": ",".join(filter(None, [extension, "io.delta.sql.DeltaSparkSessionExtension"])),
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        **more,
    }
    command = [str(home / "bin" / "spark-submit"), "--master", "local[2]"]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYTHONPATH"))}
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(
            command,
            cwd=folder,
            env={**environment, "SPARK_HOME": str(home)},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            wait_for(port, server, folder / "server.log")
            yield f"sc://127.0.0.1:{port}"
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    """Returns when the server answers."""
    for _ in range(300):
        with socket.socket() as found:
            if found.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert server.poll() is None, log.read_text()[-3000:]
        time.sleep(0.2)
    raise AssertionError(log.read_text()[-3000:])
