"""A PostgreSQL server for tests: Debian's programs, a temporary folder, a socket and no port.

`postgres_server` starts it once for each process that runs tests; `postgres_url` connects to an
empty schema, which is dropped after the test.
"""

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import quote

import pytest

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name))
LACKING = (
    "PostgreSQL's server programs are not installed: run tools/test_programs.sh, or "
    "apt-get install postgresql"
)
SETTINGS = {
    "autovacuum": "off",
    "fsync": "off",
    "full_page_writes": "off",
    "listen_addresses": "",
    "max_connections": "20",
    "max_wal_senders": "0",
    "shared_buffers": "16MB",
    "synchronous_commit": "off",
    "wal_level": "minimal",
}

END_VACUUMS = """DO $$ BEGIN PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE 'VACUUM%'; END $$"""
"""Those of clients that were killed wait for each other for seconds."""


class Server:
    """A server that is running.

    Parameters
    ----------
    folder : str
        Where its socket is.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._made = 0

    def url(self, schema: str = "public", user: str = "postgres") -> str:
        """What drivers connect to, so that names are looked up in this schema."""
        options = quote(f"-csearch_path={schema}", safe="")
        return f"postgresql://{user}@/postgres?host={quote(self.folder, safe='')}&options={options}"

    @contextmanager
    def schema(self) -> Iterator[str]:
        """The URL of a new schema, for as long as it is used."""
        self._made += 1
        name = f"test_{self._made}"
        self.execute(f"CREATE SCHEMA {name}")
        try:
            yield self.url(name)
        finally:
            self.execute(END_VACUUMS)
            self.execute(f"DROP SCHEMA {name} CASCADE")

    def execute(self, statement: str, url: str | None = None) -> None:
        """Runs a statement that returns nothing, outside of a transaction."""
        from adbc_driver_postgresql import dbapi

        connected = dbapi.connect(url or self.url(), autocommit=True)
        with connected as connection, connection.cursor() as cursor:
            cursor.execute(statement)


def _owner() -> str | None:
    """Who runs the server: root may not."""
    return "postgres" if os.geteuid() == 0 else None


@contextmanager
def running() -> Iterator[Server]:
    """A server in a folder of its own, which is removed with it."""
    programs, owner = PROGRAMS[-1], _owner()
    folder = tempfile.mkdtemp(prefix="pg-", dir="/tmp")  # the path of a socket has to be short
    try:
        if owner is not None:
            shutil.chown(folder, owner, owner)
        data = f"{folder}/data"
        options = "-U postgres -A trust -E UTF8 --locale=C --no-sync --no-instructions"
        made = subprocess.run(
            [programs / "initdb", "-D", data, *options.split()],
            user=owner,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert made.returncode == 0, made.stderr
        settings = [part for name in SETTINGS for part in ("-c", f"{name}={SETTINGS[name]}")]
        with open(f"{folder}/log", "w+") as log:
            process = subprocess.Popen(
                [programs / "postgres", "-D", data, "-k", folder, *settings],
                user=owner,
                cwd=folder,
                stdout=log,
                stderr=log,
            )
            try:
                _wait_until_ready(process, Path(data, "postmaster.pid"), Path(folder, "log"))
                yield Server(folder)
            finally:
                process.send_signal(signal.SIGQUIT)  # at once: what it holds is thrown away
                process.wait(20)
    finally:
        shutil.rmtree(folder)


def _wait_until_ready(process: subprocess.Popen[bytes], status: Path, log: Path) -> None:
    """Returns when the server says that it takes connections."""
    for _ in range(2000):
        if process.poll() is not None:
            break
        if status.exists() and status.read_text().rstrip().endswith("ready"):
            return
        time.sleep(0.01)
    raise AssertionError(f"PostgreSQL did not start: {log.read_text()}")


def need_programs() -> None:
    """Skips a test where the server is not installed, but fails where every program has to be."""
    if PROGRAMS:
        return
    if os.environ.get("TALLYBAYES_NEEDS_PROGRAMS"):
        raise AssertionError(LACKING)
    pytest.skip(LACKING)


@cache
def server() -> Server:
    """The server of this process, which is stopped when the process ends."""
    need_programs()
    holds = ExitStack()
    atexit.register(holds.close)
    return holds.enter_context(running())


@pytest.fixture(scope="session")
def postgres_server() -> Server:
    """The server of this process."""
    return server()


@pytest.fixture
def postgres_url(postgres_server: Server) -> Iterator[str]:
    """The URL of an empty schema."""
    with postgres_server.schema() as found:
        yield found
