"""A Kafka broker in a process of its own, on this machine only: one node in KRaft combined mode, with 256 MB.

`scripts/setup kafka` leaves its jars in .build/kafka; it needs Java and nothing else.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pyspark

JARS = Path(__file__).parents[1] / ".build" / "kafka"
#: The broker's packages lack Scala's library, which PySpark has.
SCALA = Path(pyspark.__file__).parent / "jars" / "scala-library-*.jar"

PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={folder}/logs
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.dedupe.buffer.size=16777216
log.cleaner.backoff.ms=500
num.network.threads=2
num.io.threads=2
"""


class Broker:
    """A broker whose files are in a folder. It can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.process: Java | None = None
        self.port, controller = free_ports(2)
        self.servers = f"127.0.0.1:{self.port}"
        self.settings = folder / "server.properties"
        self.settings.write_text(PROPERTIES.format(port=self.port, controller=controller, folder=folder))
        Java(folder, "kafka.tools.StorageTool", "format", "-t", "M2dKb2lubGVzc0thZmthMQ", "-c", self.settings).check(60)

    def start(self) -> None:
        """Starts it, and waits until it takes connections."""
        self.process = process = Java(self.folder, "kafka.Kafka", self.settings)
        for _ in range(600):
            process.check()
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise TimeoutError(f"the broker takes no connections; see {self.folder}")

    def kill(self) -> None:
        """Ends it at once, as a crash does."""
        if self.process is not None:
            self.process.kill()


class Java:
    """A program of the broker's jars; its output is in the folder."""

    def __init__(self, folder: Path, *command: object) -> None:
        jars = [*sorted((JARS / "broker").glob("*.jar")), *SCALA.parent.glob(SCALA.name)]
        if len(jars) < 2:
            raise FileNotFoundError(f"there is no broker in {JARS}: run scripts/setup kafka")
        home = os.environ.get("JAVA_HOME")
        java = f"{home}/bin/java" if home else shutil.which("java") or "java"
        options = ["-Xmx256m", "-XX:+UseSerialGC", "-cp", os.pathsep.join(map(str, jars))]
        self.log = folder / f"{command[0]}.log"
        with self.log.open("a") as log:
            self.process = subprocess.Popen([java, *options, *map(str, command)], stdout=log, stderr=log)

    def check(self, seconds: float = 0) -> None:
        """Waits so long for its end, if it must end; fails if it has failed, or ended too early."""
        code = self.process.wait(seconds) if seconds else self.process.poll()
        if code not in ((0,) if seconds else (None,)):
            raise RuntimeError(f"a program of the broker ended with {code}:\n{self.log.read_text()[-2000:]}")

    def kill(self) -> None:
        """Ends it at once."""
        self.process.kill()
        self.process.wait()


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody uses."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
