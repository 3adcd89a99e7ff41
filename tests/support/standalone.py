"""A standalone cluster of two workers with addresses of their own.

Spark starts a second attempt of a task only on another host: never on a
`local-cluster`, where all share one.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

HOSTS = ("127.0.0.2", "127.0.0.3")


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The master's URL; logs are below the folder."""
    with ExitStack() as running:
        master = _start(running, folder, "master.Master", "127.0.0.1", "--port", "0")
        url = _logged(master, r"Starting Spark master at (spark://\S+)")
        for host in HOSTS:
            worker = _start(running, folder, "worker.Worker", host, "--cores", "1", "--memory", "1g", url)
            _logged(worker, "Successfully registered with master")
        yield url


def _start(running: ExitStack, folder: Path, name: str, host: str, *arguments: str) -> Path:
    home = Path(pyspark.__file__).parent
    log = folder / f"{name}-{host}.log"
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", "--host", host, *arguments]
    out = running.enter_context(log.open("w"))
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_WORKER_DIR": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
    }
    daemon = subprocess.Popen([*command, "--webui-port", "0"], env=environment, stdout=out, stderr=subprocess.STDOUT)
    running.callback(_stop, daemon)
    return log


def _stop(daemon: subprocess.Popen[bytes]) -> None:
    daemon.terminate()
    daemon.wait()


def _logged(log: Path, pattern: str) -> str:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if found := re.search(pattern, log.read_text()):
            return found[found.lastindex or 0]
        time.sleep(0.1)
    raise AssertionError(f"{log.name} does not say {pattern}:\n{log.read_text()[-3000:]}")
