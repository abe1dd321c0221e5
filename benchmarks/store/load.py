"""How fast a store learns, beside a bare INSERT of the same bytes with the same durability.

Both sides take turns in one process, on the same disk and the same server. Rows have 14 columns of
20 levels; a bare row holds what the store keeps of one: id, label, time, weight and the row. A
store that encrypts its rows is measured beside one that does not.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

from tallybayes import NaiveBayes, store
from tallybayes.store.events import encoded_rows
from tallybayes.store.sqlite import INSERT

__all__ = ["BARS", "KEYS", "Rate", "encrypted", "measured", "ready", "writers"]

HUNDRED = 100
ROUNDS = 9
BARS = {"one by one": 0.6, "in hundreds": 0.4}
"""The share of a bare INSERT's rate that a store reaches at least."""

WRITERS_BAR = 1.5

STEPS = {"one by one": (1, 300), "in hundreds": (HUNDRED, 3000)}
"""Rows of a call, and of a round."""

KEYS = {"of each row": None, "of 100 subjects": 100}
"""How many subjects the rows of an encrypted store are about; None: each has a key of its own."""

Write = Callable[[int, int], None]
"""Writes so many rows, from a number on."""


class Rate(NamedTuple):
    """Rows a second of both sides.

    Parameters
    ----------
    database, how : str
        "SQLite" or "PostgreSQL"; "one by one" or "in hundreds".
    base, ours : float
        Of what the store is measured beside, and of the store: the median of the rounds.
    share : float
        The median of what each round gave.
    """

    database: str
    how: str
    base: float
    ours: float
    share: float


def rows(first: int, n: int) -> list[dict[str, str]]:
    """Rows, the same ones for the same numbers."""
    made = random.Random(first)
    return [{f"column_{j}": f"level {made.randrange(20)}" for j in range(14)} for _ in range(n)]


def content(first: int, n: int) -> list[bytes]:
    """What a store keeps of rows, as one value each: id, label, time, weight and row."""
    encoded, _ = encoded_rows(rows(first, n), {})
    return [bytes(16) + b'"spam"' + bytes(16) + row for row in encoded]


@contextmanager
def ours(
    url: str, step: int, *, keys: str | bool = False, n_subjects: int | None = None
) -> Iterator[Write]:
    """A store that learns so many rows a call; with the place of its keys, an encrypted one."""
    with store.open(url, create=NaiveBayes(), subject_keys=keys) as mail:

        def write(first: int, n: int) -> None:
            given = rows(first, n)
            begin = time.perf_counter()
            for i in range(0, n, step):
                ids = list(range(first + i, first + i + step))
                labels = ["spam" if j % 3 else "ham" for j in ids]
                subjects = None if n_subjects is None else [j * j % n_subjects for j in ids]
                mail.learn(given[i : i + step], labels, ids=ids, subjects=subjects)
            took.append(time.perf_counter() - begin)

        took: list[float] = []
        write.took = took  # type: ignore[attr-defined]
        yield write


def events(first: int, n: int) -> list[tuple[Any, ...]]:
    """Rows as the table of a store takes them: hashed id, subject, time, label, weight and row."""
    encoded, _ = encoded_rows(rows(first, n), {})
    return [(os.urandom(16), None, 0.0, '"spam"', 1.0, row) for row in encoded]


def _timed(
    write: Callable[[list[Any]], None], step: int, made: Callable[[int, int], list[Any]] = content
) -> Write:
    """A writer that is timed without the making of its rows."""
    took: list[float] = []

    def timed(first: int, n: int) -> None:
        given = made(first, n)
        begin = time.perf_counter()
        for i in range(0, n, step):
            write(given[i : i + step])
        took.append(time.perf_counter() - begin)

    timed.took = took  # type: ignore[attr-defined]
    return timed


@contextmanager
def bare_sqlite(path: str, step: int) -> Iterator[Write]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE bare (v INTEGER PRIMARY KEY, content BLOB)")

    def write(values: list[bytes]) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO bare (content) VALUES (?)", [(v,) for v in values])
        connection.execute("COMMIT")

    yield _timed(write, step)
    connection.close()


@contextmanager
def table_of_sqlite(path: str, step: int) -> Iterator[Write]:
    """The table of a store and its index of ids, which refuses those that it has."""
    store.open(path, create=NaiveBayes()).close()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = FULL")

    def write(values: list[tuple[Any, ...]]) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(INSERT, values)
        connection.execute("COMMIT")

    yield _timed(write, step, events)
    connection.close()


@contextmanager
def bare_postgres(url: str, step: int) -> Iterator[Write]:
    import psycopg

    connection = psycopg.connect(url, autocommit=True)
    connection.execute("CREATE TABLE bare (v bigserial PRIMARY KEY, content bytea)")

    def write(values: list[bytes]) -> None:
        connection.execute("INSERT INTO bare (content) SELECT unnest(%s::bytea[])", (values,))

    yield _timed(write, step)
    connection.close()


@contextmanager
def database(
    name: str,
) -> Iterator[tuple[str, Callable[[str, int], AbstractContextManager[Write]]]]:
    """The URL of a new database, and a bare writer; PostgreSQL synchronises, as by default."""
    if name == "SQLite":
        with tempfile.TemporaryDirectory() as folder:
            yield f"{folder}/x.db", lambda url, step: bare_sqlite(f"{url}.bare", step)
        return
    from tests.servers import postgres

    durable = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}
    ended = {"client_connection_check_interval": "1s"}  # a killed client frees its connection
    postgres.SETTINGS |= {**durable, **ended, "max_connections": "100", "shared_buffers": "128MB"}
    with postgres.running() as server, server.schema() as url:
        yield url, bare_postgres


def measured(name: str, how: str) -> Rate:
    """Both sides, in turns.

    Parameters
    ----------
    name : {"SQLite", "PostgreSQL"}
        The database.
    how : {"one by one", "in hundreds"}
        How many rows a call has.
    """
    step, n = STEPS[how]
    with database(name) as (url, bare):
        found = _beside(name, how, ours(url, step), bare(url, step), n)
        _need_rows(url, n)
        return found


def ready() -> Rate:
    """Rows that are encoded and hashed, in hundreds, into the table of a store in SQLite, beside a
    bare INSERT: what a store reaches whose own work takes no time."""
    step, n = STEPS["in hundreds"]
    with database("SQLite") as (url, bare):
        return _beside("SQLite", "ready", table_of_sqlite(url, step), bare(url, step), n)


def encrypted(name: str, how: str, n_subjects: int | None) -> Rate:
    """A store that encrypts its rows beside one that does not, in turns.

    Parameters
    ----------
    name : {"SQLite", "PostgreSQL"}
        The database. The keys are in a file of SQLite.
    how : {"one by one", "in hundreds"}
        How many rows a call has.
    n_subjects : int or None
        How many subjects the rows are about; None for none, so that each row has a key.
    """
    step, n = STEPS[how]
    with (
        tempfile.TemporaryDirectory() as folder,
        database(name) as (url, _),
        database(name) as (plain, _),
    ):
        sealed = ours(url, step, keys=f"{folder}/keys", n_subjects=n_subjects)
        base = ours(plain, step, n_subjects=n_subjects)
        found = _beside(name, how, sealed, base, n // 3)
        _need_rows(url, n // 3)
        return found


def _beside(
    name: str,
    how: str,
    mine: AbstractContextManager[Write],
    base: AbstractContextManager[Write],
    n: int,
) -> Rate:
    """Two writers of so many rows in turns."""
    with mine as first, base as second:
        at = 0
        for i in range(ROUNDS + 1):
            for side in (first, second) if i % 2 else (second, first):
                side(at, n)
            at += n
        times: list[list[float]] = [
            side.took[1:]  # type: ignore[attr-defined]
            for side in (first, second)
        ]
    shares = [b / a for a, b in zip(*times, strict=True)]
    of_mine, of_base = (n / statistics.median(of) for of in times)
    return Rate(name, how, of_base, of_mine, statistics.median(shares))


def _need_rows(url: str, n: int) -> None:
    """Raises AssertionError unless a store has every row of the rounds."""
    with store.open(url) as mail:
        assert mail.verify().rows == n * (ROUNDS + 1)


# ---- several writers -----------------------------------------------------------------------------
SECONDS = 6.0


def _work(url: str, number: int, start: Any, counts: Any) -> None:
    """Learns hundreds for some seconds; says how many rows."""
    given = rows(number, 40 * HUNDRED)
    labels = ["spam" if j % 3 else "ham" for j in range(HUNDRED)]
    with store.open(url) as mail:
        start.wait()
        begin, n = time.perf_counter(), 0
        while time.perf_counter() - begin < SECONDS:
            at = n % len(given)
            ids = [f"{number}-{n + j}" for j in range(HUNDRED)]
            mail.learn(given[at : at + HUNDRED], labels, ids=ids)
            n += HUNDRED
        counts.put(n / (time.perf_counter() - begin))


def writers(n_writers: int, name: str = "PostgreSQL") -> float:
    """Rows a second that some processes learn together.

    Parameters
    ----------
    n_writers : int
        How many processes.
    name : {"SQLite", "PostgreSQL"}
        The database.
    """
    made = multiprocessing.get_context("spawn")
    with database(name) as (url, _):
        store.open(url, create=NaiveBayes()).close()
        start, counts = made.Barrier(n_writers), made.Queue()
        working = [
            made.Process(target=_work, args=(url, number, start, counts))
            for number in range(n_writers)
        ]
        for process in working:
            process.start()
        total = sum(counts.get(timeout=300) for _ in working)
        for process in working:
            process.join()
        with store.open(url) as mail:
            mail.verify()
    return float(total)
