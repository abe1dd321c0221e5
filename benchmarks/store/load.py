"""How fast a store learns, beside a bare INSERT of the same bytes with the same durability.

Both sides take turns in one process, on the same disk and the same server. Rows have 14 columns of
20 levels; a bare row holds what the store keeps of one: id, label, time, weight and the row.
"""

from __future__ import annotations

import multiprocessing
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from tallybayes import NaiveBayes, store
from tallybayes.store.events import encoded_rows

__all__ = ["BARS", "Rate", "measured", "writers"]

HUNDRED = 100
ROUNDS = 9
BARS = {"one by one": 0.6, "in hundreds": 0.4}
"""The share of a bare INSERT's rate that a store reaches at least."""

WRITERS_BAR = 1.5

Write = Callable[[int, int], None]
"""Writes so many rows, from a number on."""


class Rate(NamedTuple):
    """Rows a second of both sides.

    Parameters
    ----------
    database, how : str
        "SQLite" or "PostgreSQL"; "one by one" or "in hundreds".
    bare, ours : float
        The median of the rounds.
    share : float
        The median of what each round gave.
    """

    database: str
    how: str
    bare: float
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


def ours(url: str, step: int) -> Iterator[Write]:
    """A store that learns so many rows a call."""
    with store.open(url, create=NaiveBayes()) as mail:

        def write(first: int, n: int) -> None:
            given = rows(first, n)
            begin = time.perf_counter()
            for i in range(0, n, step):
                ids = list(range(first + i, first + i + step))
                mail.learn(given[i : i + step], ["spam" if j % 3 else "ham" for j in ids], ids=ids)
            took.append(time.perf_counter() - begin)

        took: list[float] = []
        write.took = took  # type: ignore[attr-defined]
        yield write


def _timed(write: Callable[[list[bytes]], None], step: int) -> Write:
    """A bare writer that is timed without the making of its rows."""
    took: list[float] = []

    def timed(first: int, n: int) -> None:
        given = content(first, n)
        begin = time.perf_counter()
        for i in range(0, n, step):
            write(given[i : i + step])
        took.append(time.perf_counter() - begin)

    timed.took = took  # type: ignore[attr-defined]
    return timed


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


def bare_postgres(url: str, step: int) -> Iterator[Write]:
    import psycopg

    connection = psycopg.connect(url, autocommit=True)
    connection.execute("CREATE TABLE bare (v bigserial PRIMARY KEY, content bytea)")

    def write(values: list[bytes]) -> None:
        connection.execute("INSERT INTO bare (content) SELECT unnest(%s::bytea[])", (values,))

    yield _timed(write, step)
    connection.close()


@contextmanager
def database(name: str) -> Iterator[tuple[str, Callable[[str, int], Iterator[Write]]]]:
    """The URL of a new database, and a bare writer; PostgreSQL synchronises, as by default."""
    if name == "SQLite":
        with tempfile.TemporaryDirectory() as folder:
            yield f"{folder}/x.db", lambda url, step: bare_sqlite(f"{url}.bare", step)
        return
    from tests.servers import postgres

    durable = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}
    postgres.SETTINGS |= {**durable, "max_connections": "40", "shared_buffers": "128MB"}
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
    n, step = (300, 1) if how == "one by one" else (3000, HUNDRED)
    with ExitStack() as stack:
        url, bare = stack.enter_context(database(name))
        sides = [stack.enter_context(contextmanager(make)(url, step)) for make in (ours, bare)]
        first = 0
        for i in range(ROUNDS + 1):
            for side in sides if i % 2 else reversed(sides):
                side(first, n)
            first += n
        with store.open(url) as mail:
            assert mail.verify().rows == n * (ROUNDS + 1)
        times: list[list[float]] = [side.took[1:] for side in sides]  # type: ignore[attr-defined]
    shares = [b / a for a, b in zip(*times, strict=True)]
    of_ours, of_bare = (n / statistics.median(of) for of in times)
    return Rate(name, how, of_bare, of_ours, statistics.median(shares))


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
