"""Which body came under which Idempotency-Key: a file of SQLite that all workers share."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from tallybayes.errors import SourceError
from tallybayes.serve.bodies import Refused

__all__ = ["KEEP_DAYS", "Repeats"]

KEEP_DAYS = 30  # of a key; later its ids in the store still count each row once
BUSY_SECONDS = 30.0
TABLE = """
CREATE TABLE IF NOT EXISTS keys (key TEXT PRIMARY KEY, body TEXT, time REAL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS keys_by_time ON keys (time);
"""


class Repeats:
    """Tells a repeated request from another one under the same key.

    Parameters
    ----------
    path : str
        The file, which only its owner may read. It holds hashes alone.

    Raises
    ------
    SourceError
        If it is another file, or cannot be written.
    """

    path: str

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            with closing(self._connected()) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.executescript(TABLE)
        except (OSError, sqlite3.Error) as error:
            raise SourceError(
                f"{path} cannot hold the Idempotency-Keys that were used: {error}. Move the file, "
                "or make its folder writable"
            ) from error

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    @contextmanager
    def first(self, key: str, body: str) -> Iterator[None]:
        """Hold a key for one body. The block is the request; if it is refused, the key is free.

        Parameters
        ----------
        key, body : str
            Their hashes.

        Raises
        ------
        Refused
            422 if the key came with another body before, 503 if the file cannot be written.
        """
        now = time.time()
        with closing(self._connected()) as connection:
            run = connection.execute
            try:
                run("BEGIN IMMEDIATE")
                run("DELETE FROM keys WHERE time < ?", (now - 86_400 * KEEP_DAYS,))
                is_new = run("INSERT OR IGNORE INTO keys VALUES (?, ?, ?)", (key, body, now))
                held = run("SELECT body FROM keys WHERE key = ?", (key,)).fetchone()[0]
                run("COMMIT")
            except sqlite3.Error as error:
                rule = "Idempotency-Keys cannot be kept now, so nothing was done"
                raise Refused(503, f"{rule}: {error}", Retry_After="5") from None
            if held != body:
                raise Refused(
                    422,
                    "an Idempotency-Key belongs to one body, and this one came with another body "
                    "before: repeat a request with the bytes that it had, or give this one a new "
                    "key",
                )
            try:
                yield
            except Refused as refused:
                if is_new.rowcount and refused.status < 500:  # nothing was learned
                    run("DELETE FROM keys WHERE key = ?", (key,))
                raise
