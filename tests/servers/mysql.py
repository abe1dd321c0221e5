"""A MariaDB server for tests, which speaks the SQL of MySQL: Debian's programs, a temporary folder,
a socket and no port, and the command-line client in place of a driver."""

import atexit
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import pytest

__all__ = ["Server", "server"]

PLACES = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
INSTALL, SERVER, CLIENT = (
    shutil.which(program, path=PLACES) for program in ("mariadb-install-db", "mariadbd", "mariadb")
)
LACKING = (
    "MariaDB's programs are not installed: run tools/test_programs.sh, or apt-get install "
    "mariadb-server"
)


class Server:
    """A server that is running.

    Parameters
    ----------
    folder : str
        Where its socket is.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.client = [str(CLIENT), "--no-defaults", f"--socket={folder}/s", "-u", "root"]
        self.client += ["--batch", "--raw", "--skip-column-names"]
        self.client += ["--default-character-set=utf8mb4", "--max-allowed-packet=64M"]

    def run(self, statements: str) -> list[Any]:
        """Runs statements; each row that they return is one value of JSON."""
        found = subprocess.run(
            self.client,
            input=statements,
            capture_output=True,
            text=True,
            check=False,
        )
        if found.returncode:
            raise ValueError(found.stderr)
        return [json.loads(line) for line in found.stdout.splitlines()]


@contextmanager
def running() -> Iterator[Server]:
    """A server in a folder of its own, which is removed with it."""
    folder = tempfile.mkdtemp(prefix="my-", dir="/tmp")  # the path of a socket has to be short
    own = ["--no-defaults", f"--datadir={folder}/data"]
    own += ["--user=root"] if os.geteuid() == 0 else []
    try:
        subprocess.run([str(INSTALL), *own, "--skip-test-db"], capture_output=True, check=True)
        settings = ["--skip-networking", "--skip-grant-tables", "--max-allowed-packet=64M"]
        settings += ["--innodb-flush-log-at-trx-commit=0", "--thread-stack=1M"]
        with open(f"{folder}/log", "w") as log:
            process = subprocess.Popen(
                [str(SERVER), *own, f"--socket={folder}/s", *settings],
                stdout=log,
                stderr=log,
            )
        try:
            server = Server(folder)
            for _ in range(200):
                try:
                    server.run("SELECT 1")
                    break
                except ValueError:
                    assert process.poll() is None
                    time.sleep(0.05)
            yield server
        finally:
            process.kill()
            process.wait(20)
    finally:
        shutil.rmtree(folder)


@cache
def server() -> Server:
    """The server of this process, which is stopped when the process ends."""
    if not (INSTALL and SERVER and CLIENT):
        if os.environ.get("TALLYBAYES_NEEDS_PROGRAMS"):
            raise AssertionError(LACKING)
        pytest.skip(LACKING)
    holds = ExitStack()
    atexit.register(holds.close)
    return holds.enter_context(running())
