"""A standalone Spark cluster for tests: a master and workers on the loopback address, on ports that
are free, each ended by its process number."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from servers.spark import SMALL_JAVA, python_path

SECONDS = 300  # in which anything has to happen, on a machine that is busy otherwise, too


def wait_for(found: Callable[[], object], of: subprocess.Popen[bytes], log: Path) -> None:
    """Returns when something is there; raises with the log where the process ends before."""
    for _ in range(SECONDS * 50):
        if found():
            return
        assert of.poll() is None, log.read_text()[-3000:]
        time.sleep(0.02)
    raise AssertionError(f"nothing happened in {SECONDS} s: {log.read_text()[-3000:]}")


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and those that it started, at once."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(20)


class Cluster:
    """A master, and workers that are started one by one.

    Parameters
    ----------
    folder : Path
        For logs, and for what executors write.
    """

    def __init__(self, folder: Path) -> None:
        import pyspark

        self.folder = folder
        self.home = Path(pyspark.__file__).parent
        self.processes: list[subprocess.Popen[bytes]] = []
        self.url = ""
        self.environment = {
            **os.environ,
            "SPARK_HOME": str(self.home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(folder),
            "SPARK_DAEMON_MEMORY": "128m",
            "SPARK_DAEMON_JAVA_OPTS": SMALL_JAVA,
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": python_path(),
        }

    def start(self) -> None:
        """Starts the master, and waits until it has an address."""
        words = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        process, log = self._deployed("master", "master.Master", *words)
        wait_for(lambda: "Starting Spark master at" in log.read_text(), process, log)
        found = re.search(r"spark://127\.0\.0\.1:\d+", log.read_text())
        assert found is not None
        self.url = found[0]

    def add_worker(self, name: str, host: str) -> subprocess.Popen[bytes]:
        """Starts a worker of one core; its executors run in the folder of this name. Spark runs no
        task twice on one host: on another address it does."""
        words = f"--host {host} --port 0 --webui-port 0 --cores 1 --memory 600m"
        where = ["--work-dir", str(self.folder / name), self.url]
        return self._deployed(name, "worker.Worker", *words.split(), *where)[0]

    def run(self, script: Path, *words: str) -> tuple[subprocess.Popen[bytes], Path]:
        """Starts a driver program; the process, and the file with what it writes."""
        return self._started("driver", [sys.executable, str(script), self.url, *words])

    def _deployed(
        self, name: str, program: str, *words: str
    ) -> tuple[subprocess.Popen[bytes], Path]:
        start = [str(self.home / "bin" / "spark-class"), f"org.apache.spark.deploy.{program}"]
        return self._started(name, [*start, *words])

    def _started(self, name: str, command: list[str]) -> tuple[subprocess.Popen[bytes], Path]:
        log = self.folder / f"{name}.log"
        with open(log, "wb") as out:
            process = subprocess.Popen(
                command,
                env=self.environment,
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.processes.append(process)
        return process, log


@contextmanager
def running(folder: Path) -> Iterator[Cluster]:
    """A cluster without workers, which is ended with all that was started on it."""
    cluster = Cluster(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        for process in reversed(cluster.processes):
            end(process)
