"""The ledger in PostgreSQL 13 or newer, by psycopg 3 (extra ``store``).

The number of an event is that of its transaction. Transactions commit in any order, so a reader
stops before the oldest one that is still open (``pg_snapshot_xmin``), whatever newer events it can
see. Many writers append at once; only rows with one id wait for each other.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar

from tallybayes.errors import StoreError
from tallybayes.store.events import Event
from tallybayes.store.ledger import FORMAT, Duplicate, Kept, Ledger, LostConnection, Overtaken

__all__ = ["PostgresLedger"]

MIGRATIONS = (
    """
    CREATE TABLE tally_settings (name text PRIMARY KEY, value bytea NOT NULL);
    CREATE TABLE tally_ledger (
        k bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        v bigint NOT NULL DEFAULT (pg_current_xact_id()::text::bigint),
        id bytea UNIQUE, subject bytea, time double precision NOT NULL, label text,
        weight double precision NOT NULL, "row" bytea);
    ALTER TABLE tally_ledger ALTER COLUMN "row" SET STORAGE EXTERNAL;
    CREATE INDEX tally_version ON tally_ledger (v);
    CREATE INDEX tally_subject ON tally_ledger (subject) WHERE subject IS NOT NULL;
    CREATE TABLE tally_undone (
        v bigint NOT NULL, was bigint NOT NULL, of bigint NOT NULL, label text NOT NULL);
    CREATE INDEX tally_of ON tally_undone (of);
    CREATE TABLE tally_parts (v bigint NOT NULL, kept integer NOT NULL, counts bytea NOT NULL);
    CREATE TABLE tally_backups (
        path text NOT NULL, time double precision NOT NULL, epoch bigint NOT NULL);
    CREATE TABLE tally_snapshot (
        version bigint NOT NULL, epoch bigint NOT NULL, trimmed bigint NOT NULL,
        learned bigint NOT NULL, counts bytea NOT NULL);
    INSERT INTO tally_snapshot VALUES (0, 0, 0, 0, '');
    """,
    """
    CREATE TABLE tally_keys (
        k bytea PRIMARY KEY, name bytea NOT NULL, content bytea NOT NULL, retired integer NOT NULL);
    CREATE UNIQUE INDEX tally_key_in_use ON tally_keys (name) WHERE retired = 0;
    """,
)
"""Statements that bring the tables from each format to the next."""

TABLES = (
    "tally_ledger",
    "tally_undone",
    "tally_parts",
    "tally_snapshot",
    "tally_settings",
    "tally_keys",
)
SKIPPED = "55P03"  # of the warning that a table was locked and is not vacuumed
AGAIN = 0.02  # seconds after which it is tried again

LOCK = 0x7A117BA7  # of the advisory lock that makes or changes tables
KEYS_LOCK = 0x7A117  # with the table's number: of the advisory lock of hold_keys

APPEND = (
    "INSERT INTO tally_ledger (id, subject, time, label, weight, row) "
    "SELECT * FROM unnest(%s::bytea[], %s::bytea[], %s::float8[], %s::text[], %s::float8[], "
    "%s::bytea[])"
)
ONE = (
    "INSERT INTO tally_ledger (id, subject, time, label, weight, row) "
    "VALUES (%s, %s, %s, %s, %s, %s) RETURNING v"
)
MANY = f"WITH new AS ({APPEND} RETURNING v) SELECT max(v) FROM new"
NEW = f"{APPEND} ORDER BY 1 ON CONFLICT (id) DO NOTHING RETURNING id"


@cache
def _translated(statement: str) -> str:
    return statement.replace("?", "%s")


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise ImportError(
            "a store in PostgreSQL needs psycopg: pip install 'tallybayes[store]'"
        ) from error
    return psycopg


class PostgresLedger(Ledger):
    """A schema of a database.

    Parameters
    ----------
    url : str
        As libpq takes it.
    create : bool
        Whether to make the tables where there are none.
    """

    key: ClassVar[str] = "k"
    for_update: ClassVar[str] = " FOR UPDATE"

    def __init__(self, url: str, *, create: bool) -> None:
        self.url: str = url
        self.psycopg: Any = _psycopg()
        self.connection: Any = None
        self._connect()
        try:
            with self.writing():
                self._open(create)
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        try:
            self.connection = self.psycopg.connect(self.url, autocommit=True)
        except self.psycopg.Error as error:
            raise StoreError(
                f"{self.place()} cannot be reached: {_first_line(error)}. Check the address and "
                "that the server runs"
            ) from error

    def _open(self, create: bool) -> None:
        self.run("SELECT pg_advisory_xact_lock(?)", (LOCK,))
        exists = self.run("SELECT to_regclass('tally_settings') IS NOT NULL").fetchone()[0]
        found = 0
        if exists:
            version = self.run("SELECT value FROM tally_settings WHERE name = 'format'").fetchone()
            found = int(bytes(version[0]))
        elif not create:
            raise StoreError(
                f"{self.place()} holds no store: tallybayes.store.open(url, create=model) makes one"
            )
        if found > FORMAT:
            raise StoreError(
                f"{self.place()} holds a store of format {found}, and this version of tallybayes "
                f"reads formats up to {FORMAT}: upgrade tallybayes"
            )
        if found < FORMAT:
            for script in MIGRATIONS[found:FORMAT]:
                self.connection.execute(script)
            self.set("format", str(FORMAT).encode())
        self._renumber()

    def _renumber(self) -> None:
        """Gives events low numbers where they come from another server, by a dump: its
        transactions had higher ones than those here."""
        newer = self.run(
            "SELECT coalesce(max(v), 0) >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint "
            "AND coalesce(max(v), 0) <> pg_current_xact_id()::text::bigint FROM tally_ledger"
        ).fetchone()[0]
        if newer:
            self.run("DELETE FROM tally_undone")
            self.run("UPDATE tally_ledger SET v = 2")
            self.run("UPDATE tally_parts SET v = 2")
            keeps = self.settings()["ledger"] == b"rows"
            counts = "''" if keeps else "counts"
            self.run(
                "UPDATE tally_snapshot SET version = 1, trimmed = 0, epoch = epoch + 1, "
                f"counts = {counts}"
            )

    # ---- transactions ----------------------------------------------------------------------------
    @contextmanager
    def writing(self) -> Iterator[None]:
        with self._telling(), self.connection.transaction():
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        begin = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
        try:
            self.connection.execute(begin)
        except self.psycopg.OperationalError:  # the connection was lost since the last call
            self.reconnect()
            self.connection.execute(begin)
        with self._telling():
            try:
                yield
            finally:
                if not self.connection.closed:
                    self.connection.execute("ROLLBACK")

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        with self.connection.transaction():
            yield

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Errors of the server as those of a store."""
        errors = self.psycopg.errors
        try:
            yield
        except (errors.SerializationFailure, errors.DeadlockDetected) as error:
            raise Overtaken from error
        except errors.InsufficientPrivilege as error:
            raise StoreError(
                f"{self.place()}: {_first_line(error)}. Nothing was changed; grant the role "
                "SELECT, INSERT, UPDATE and DELETE on the tables tally_*, and CREATE on the schema "
                "to make them"
            ) from error
        except self.psycopg.Error as error:
            if self.connection.closed or isinstance(error, errors.AdminShutdown):
                raise LostConnection(f"{self.place()}: {_first_line(error)}") from error
            raise StoreError(
                f"{self.place()}: {_first_line(error)}. Nothing was changed"
            ) from error

    def reconnect(self) -> None:
        """Connects again."""
        self.close()
        self._connect()

    def run(self, statement: str, values: Sequence[Any] = ()) -> Any:
        return self.connection.execute(_translated(statement), values or None)

    # ---- events ----------------------------------------------------------------------------------
    def insert_alone(self, events: Sequence[Event]) -> int:
        with self._telling():
            try:
                if len(events) == 1:
                    found = self.connection.execute(ONE, events[0])
                else:
                    found = self.connection.execute(
                        MANY, list(map(list, zip(*events, strict=True)))
                    )
            except self.psycopg.errors.UniqueViolation as error:
                raise Duplicate from error
            return int(found.fetchone()[0])

    def insert_new(self, events: Sequence[Event]) -> set[bytes]:
        if not events:
            return set()
        found = self.connection.execute(NEW, _columns(events)).fetchall()
        there = {event.id for event in events if event.id is not None}
        return there - {bytes(id_) for (id_,) in found if id_ is not None}

    def horizon(self) -> int:
        return int(
            self.run("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1").fetchone()[
                0
            ]
        )

    def hold_keys(self, *, alone: bool) -> None:
        how = "" if alone else "_shared"
        self.run(
            f"SELECT pg_advisory_xact_lock{how}(?, 'tally_ledger'::regclass::oid::integer)",
            (KEYS_LOCK,),
        )

    def number(self) -> int:
        return self.current()

    def current(self) -> int:
        return int(self.run("SELECT pg_current_xact_id()::text::bigint").fetchone()[0])

    def damage(self) -> str | None:
        return None

    def found_by(self, column: str, hashes: Sequence[bytes]) -> list[Kept]:
        return self.kept(f"{column} = ANY(?)", (list(hashes),)) if hashes else []

    # ---- the server ------------------------------------------------------------------------------
    def erase(self) -> str | None:
        return None

    def vacuum(self) -> None:
        """Vacuums each table when no other process does.

        A vacuum that waits for another one keeps it from giving the end of the table back: that one
        tries for 5 seconds, and both wait. So a table that is locked is tried again.
        """
        states: list[str] = []

        def note(notice: Any) -> None:
            states.append(notice.sqlstate)  # which is gone later

        self.connection.add_notice_handler(note)
        try:
            with self._telling():
                for table in TABLES:
                    self.connection.execute(f"VACUUM (SKIP_LOCKED) {table}")
                    while SKIPPED in states:
                        states.clear()
                        clock.sleep(AGAIN)
                        self.connection.execute(f"VACUUM (SKIP_LOCKED) {table}")
        finally:
            self.connection.remove_notice_handler(note)

    def copy_to(self, path: str, copy: Callable[[str], None]) -> None:
        copy(path)

    def place(self) -> str:
        parts = self.psycopg.conninfo.conninfo_to_dict(self.url)
        host = parts.get("host") or parts.get("hostaddr") or "localhost"
        return f"postgresql://{host}/{parts.get('dbname', '')}"

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()


def _columns(events: Sequence[Event]) -> list[list[Any]]:
    return list(map(list, zip(*events, strict=True)))


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
