"""What the service writes down: errors, who changed what, and which body came under which key."""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any
from uuid import uuid4

from tallybayes.errors import LabelConflict, SourceError, StoreError, UnfinishedForget
from tallybayes.serve.bodies import Refused, as_json
from tallybayes.serve.tokens import Token, Tokens

__all__ = ["KEEP_DAYS", "Audit", "Repeats", "note"]

log: logging.Logger = logging.getLogger("tallybayes.serve")
audit_log: logging.Logger = logging.getLogger("tallybayes.audit")

KEEP_DAYS = 30  # of a key; later its ids in the store still count each row once
BUSY_SECONDS = 30.0
TABLE = """
CREATE TABLE IF NOT EXISTS keys (key TEXT PRIMARY KEY, body TEXT, time REAL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS keys_by_time ON keys (time);
"""


def note(what: str, error: BaseException) -> None:
    """Log an error by where it was raised; its message could name values of rows.

    Parameters
    ----------
    what : str
        What failed.
    error : BaseException
        Why.
    """
    frames = "".join(traceback.format_tb(error.__traceback__))
    log.error("%s: %s\n%s", what, type(error).__name__, frames)


class Audit:
    """The log of who learned, forgot and relabelled: what cannot be written there is not done.

    Parameters
    ----------
    path : str or None
        A file, which only its owner may read; None is the logger ``tallybayes.audit``.
    tokens : Tokens
        Whose key hashes ids and subjects.
    on_end : callable ()
        Called when a change has ended, from its thread.

    Raises
    ------
    OSError
        If the file cannot be opened.
    """

    def __init__(self, path: str | None, tokens: Tokens, on_end: Callable[[], Any]) -> None:
        self._tokens, self._on_end = tokens, on_end
        self._file: int | None = None
        if path is not None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._file = os.open(path, flags, 0o600)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    @contextmanager
    def recorded(
        self,
        action: str,
        token: Token,
        *,
        ids: Sequence[Any] | None,
        subjects: Sequence[Any] | None,
    ) -> Iterator[dict[str, Any]]:
        """Write who changes what, before and after the block, which makes the change.

        Parameters
        ----------
        action : str
            "learn", "forget" or "relabel".
        token : Token
            Who asks.
        ids, subjects : sequence or None
            Of the rows. The log holds hashes of them by the key of the tokens' file.

        Yields
        ------
        dict
            What the block adds to the log about its outcome.

        Raises
        ------
        Refused
            409 for a label that conflicts, 503 where the store cannot be reached or written, or the
            log cannot be written; 422 for what the store refuses.
        """
        reference, hashed = uuid4().hex[:12], self._tokens.hashed
        who = {"token": token.id, "name": token.name, "request": reference}
        entry: dict[str, Any] = {"action": action, **who}
        if ids is not None:
            entry["ids"] = [hashed(id) for id in ids]
        if subjects is not None:
            entry["subjects"] = [hashed(subject) for subject in subjects]
        try:
            self._write({**entry, "state": "asked"})
        except OSError as error:
            note("the audit log cannot be written", error)
            raise Refused(
                503, "the audit log cannot be written, so nothing was done", Retry_After="5"
            ) from None
        outcome: dict[str, Any] = {}
        state = "failed"
        try:
            yield outcome
            state = "done"
        except LabelConflict as error:
            state = "refused"
            raise Refused(409, str(error)) from None
        except UnfinishedForget as error:
            state = "unfinished"
            raise Refused(503, str(error), Retry_After="1") from None
        except StoreError as error:
            if error.__cause__ is not None:  # an error of the database or the disk
                raise Refused(503, str(error), Retry_After="1") from None
            state = "refused"
            raise Refused(422, str(error)) from None
        except ValueError as error:
            state = "refused"
            raise Refused(422, str(error)) from None
        finally:
            self._on_end()
            try:
                self._write({**who, "action": action, "state": state, **outcome})
            except OSError as error:
                note(f"the audit log lacks the end of request {reference}: {state}", error)

    def _write(self, entry: dict[str, Any]) -> None:
        """Appends a line; those of several workers do not mix, because one call writes it."""
        line = as_json({"time": round(time.time(), 3), **entry}) + b"\n"
        if self._file is None:
            audit_log.info(line.decode().rstrip())
        elif os.write(self._file, line) < len(line):
            raise OSError(errno.ENOSPC, "the line was cut off")


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
