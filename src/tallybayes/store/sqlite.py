"""The ledger in SQLite, by the standard library.

Write-ahead log, one writer at a time (``BEGIN IMMEDIATE``), each commit synchronised. Deleted
content is overwritten (``secure_delete``), and the log is truncated after rows were forgotten.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from tallybayes.errors import StoreError, StoreWarning, warn_user
from tallybayes.store.events import Event
from tallybayes.store.ledger import FORMAT, Duplicate, Kept, Ledger

__all__ = ["SQLiteLedger"]

APPLICATION = 0x7A117BA7  # of PRAGMA application_id, by which a file is known
PATIENCE = 30.0  # seconds for which a writer waits for another one
ERASING = 5.0  # seconds for which readers are waited for, after a forget

MIGRATIONS = (
    """
    CREATE TABLE tally_settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE tally_ledger (
        v INTEGER PRIMARY KEY, id BLOB UNIQUE, subject BLOB, time REAL NOT NULL, label TEXT,
        weight REAL NOT NULL, row BLOB);
    CREATE INDEX tally_subject ON tally_ledger (subject) WHERE subject IS NOT NULL;
    CREATE TABLE tally_undone (
        v INTEGER NOT NULL, was INTEGER NOT NULL, of INTEGER NOT NULL, label TEXT NOT NULL);
    CREATE INDEX tally_of ON tally_undone (of);
    CREATE TABLE tally_parts (v INTEGER NOT NULL, kept INTEGER NOT NULL, counts BLOB NOT NULL);
    CREATE TABLE tally_backups (path TEXT NOT NULL, time REAL NOT NULL, epoch INTEGER NOT NULL);
    CREATE TABLE tally_snapshot (
        version INTEGER NOT NULL, epoch INTEGER NOT NULL, trimmed INTEGER NOT NULL,
        learned INTEGER NOT NULL, counts BLOB NOT NULL);
    INSERT INTO tally_snapshot VALUES (0, 0, 0, 0, x'');
    """,
    """
    CREATE TABLE tally_keys (
        k BLOB PRIMARY KEY, name BLOB NOT NULL, content BLOB NOT NULL, retired INTEGER NOT NULL);
    CREATE UNIQUE INDEX tally_key_in_use ON tally_keys (name) WHERE retired = 0;
    """,
)
"""Statements that bring the tables from each format to the next."""

INSERT = (
    "INSERT INTO tally_ledger (id, subject, time, label, weight, row) VALUES (?, ?, ?, ?, ?, ?)"
)

NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "fuse.sshfs", "ceph", "lustre"}


class SQLiteLedger(Ledger):
    """A database file.

    Parameters
    ----------
    path : str
        The file.
    create : bool
        Whether to make it where there is none.
    synchronous : {"full", "normal"}
        Whether a commit is on the disk when it is acknowledged.
    """

    key: ClassVar[str] = "v"

    def __init__(self, path: str, *, create: bool, synchronous: str) -> None:
        self.path: str = os.path.abspath(path)
        if not create and not os.path.exists(self.path):
            raise StoreError(
                f"there is no store {path}: tallybayes.store.open(path, create=model) makes one"
            )
        if os.path.exists(self.path) and not os.access(self.path, os.W_OK):
            raise StoreError(
                f"{path} may not be written: give the process the right to write the file and its "
                "folder"
            )
        folder = os.path.dirname(self.path)
        if not os.path.isdir(folder):
            raise StoreError(f"there is no folder {folder} for the store {path}: make it first")
        kind = _file_system(folder)
        if kind in NETWORK:
            warn_user(
                f"{path} lies on a network file system ({kind}), where locks and synchronisation "
                "may fail: keep a store on a local disk, or in PostgreSQL",
                StoreWarning,
            )
        try:
            uri = f"file:{quote(self.path)}?mode={'rwc' if create else 'rw'}"
            self.connection: sqlite3.Connection = sqlite3.connect(
                uri, PATIENCE, isolation_level=None, check_same_thread=False, uri=True
            )
            self._open(create, synchronous)
        except sqlite3.Error as error:
            raise self._error(error) from error

    def _open(self, create: bool, synchronous: str) -> None:
        run = self.connection.execute
        application = run("PRAGMA application_id").fetchone()[0]
        format = run("PRAGMA user_version").fetchone()[0]
        tables = run("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application != APPLICATION and (tables or not create):
            raise StoreError(
                f"{self.path} is a database of SQLite, but no store of tallybayes: name another "
                "file"
            )
        if format > FORMAT:
            raise StoreError(
                f"{self.path} is a store of format {format}, and this version of tallybayes reads "
                f"formats up to {FORMAT}: upgrade tallybayes"
            )
        run("PRAGMA trusted_schema = OFF")
        strange = run("SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')")
        if found := strange.fetchone():
            raise StoreError(
                f"{self.path} has the {found[0]} {found[1]!r}, which no store has: it could change "
                "what is read. Drop it, or do not use the file"
            )
        run("PRAGMA secure_delete = ON")
        run(f"PRAGMA synchronous = {synchronous.upper()}")
        if format < FORMAT:
            run("PRAGMA journal_mode = WAL")
            run("BEGIN IMMEDIATE")
            format = run("PRAGMA user_version").fetchone()[0]  # another process may have been first
            for script in MIGRATIONS[format:FORMAT]:
                for statement in filter(str.strip, script.split(";")):
                    run(statement)
            run(f"PRAGMA application_id = {APPLICATION}")
            run(f"PRAGMA user_version = {FORMAT}")
            run("COMMIT")

    def _error(self, error: sqlite3.Error) -> StoreError:
        """An error of SQLite as one that says what to do."""
        text = str(error)
        advice = {
            "file is not a database": "name a file that is a store",
            "unable to open": "check that the file can be read and written",
            "readonly": "give the process the right to write the file and its folder",
            "full": "free space on the disk, and try again",
            "locked": f"another process has written for {PATIENCE:g} seconds: try again",
            "malformed": "restore the file from a backup",
            "disk I/O": "look at the disk and at the free space, and try again",
        }
        do = next((do for word, do in advice.items() if word in text), "see the documentation")
        return StoreError(f"{self.path}: {text}. Nothing was changed; {do}")

    # ---- transactions ----------------------------------------------------------------------------
    @contextmanager
    def writing(self) -> Iterator[None]:
        run = self.connection.execute
        try:
            run("BEGIN IMMEDIATE")
            try:
                yield
                run("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    run("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise self._error(error) from error

    @contextmanager
    def reading(self) -> Iterator[None]:
        run = self.connection.execute
        try:
            run("BEGIN")
            try:
                yield
            finally:
                run("COMMIT")
        except sqlite3.Error as error:
            raise self._error(error) from error

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        run = self.connection.execute
        run("SAVEPOINT part")
        try:
            yield
        except BaseException:
            run("ROLLBACK TO part")
            raise
        finally:
            if self.connection.in_transaction:
                run("RELEASE part")

    def run(self, statement: str, values: Sequence[Any] = ()) -> Any:
        return self.connection.execute(statement, values)

    # ---- events ----------------------------------------------------------------------------------
    def insert_alone(self, events: Sequence[Event]) -> int:
        with self.writing():
            try:
                if len(events) == 1:
                    return int(self.connection.execute(INSERT, events[0]).lastrowid or 0)
                self.connection.executemany(INSERT, map(tuple, events))
            except sqlite3.IntegrityError as error:
                raise Duplicate from error
            return self.horizon()

    def insert_new(self, events: Sequence[Event]) -> set[bytes]:
        with suppress(sqlite3.IntegrityError), self.savepoint():
            self.connection.executemany(INSERT, map(tuple, events))
            return set()
        there = set()
        for event in events:  # some are there: which ones
            try:
                self.connection.execute(INSERT, event)
            except sqlite3.IntegrityError:
                assert event.id is not None
                there.add(event.id)
        return there

    def horizon(self) -> int:
        return int(self.run("SELECT coalesce(max(v), 0) FROM tally_ledger").fetchone()[0])

    def number(self) -> int:
        return self.horizon() + 1

    def current(self) -> int:
        return self.horizon()

    def damage(self) -> str | None:
        found = self.run("PRAGMA quick_check").fetchone()[0]
        return None if found == "ok" else str(found)

    def found_by(self, column: str, hashes: Sequence[bytes]) -> list[Kept]:
        return [row for value in hashes for row in self.kept(f"{column} = ?", (value,))]

    def hold_keys(self, *, alone: bool) -> None:
        """Nothing: who writes is alone."""

    # ---- files -----------------------------------------------------------------------------------
    def erase(self) -> str | None:
        try:
            self.run(f"PRAGMA busy_timeout = {int(1000 * ERASING)}")
            busy = self.run("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        finally:
            self.run(f"PRAGMA busy_timeout = {int(1000 * PATIENCE)}")
        if not busy:
            return None
        return (
            f"another process reads or writes {self.path} all the time, and its write-ahead log "
            "still holds them"
        )

    def vacuum(self) -> None:
        try:
            self.run("VACUUM")
        except sqlite3.Error as error:
            raise self._error(error) from error

    def copy_to(self, path: str, copy: Callable[[str], None]) -> None:
        target = sqlite3.connect(path, isolation_level=None)
        try:
            self.connection.backup(target)
        except sqlite3.Error as error:
            raise StoreError(f"{path}: {error}. The backup was not written") from error
        finally:
            target.close()

    def reconnect(self) -> None:
        """Nothing: a file has no connection to lose."""

    def place(self) -> str:
        return self.path

    def close(self) -> None:
        self.connection.close()


def _file_system(folder: str) -> str:
    """The kind of the file system of a folder, where the system says so."""
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return ""
    folder = os.path.realpath(folder)
    within = [
        (len(at), kind)
        for at, kind in mounts
        if folder == at or folder.startswith(at.rstrip("/") + "/")
    ]
    return max(within, default=(0, ""))[1]
