"""Databases: names in SQL, addresses, and DuckDB, which is imported on first use."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, ClassVar
from urllib.parse import urlsplit

__all__ = [
    "DuckDB",
    "OwnDatabase",
    "conjunction",
    "is_file",
    "is_url",
    "library",
    "need_one_select",
    "quoted",
    "quoted_path",
    "relation_of",
    "shown",
    "shown_path",
]


# ---- names in SQL, and names of databases in messages --------------------------------------------
PLAIN_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
URLS = ("postgresql://", "postgres://")


def quoted(name: str) -> str:
    """A name as an SQL identifier.

    Raises
    ------
    ValueError
        For the character NUL, which ends a statement wherever it stands.
    """
    if "\0" in name:
        raise ValueError(f"{name!r} holds the character NUL, which no name in SQL can: rename it")
    return '"' + name.replace('"', '""') + '"'


def quoted_path(name: str) -> str:
    """The name of a table, in SQL: plain names joined by dots are a table in a schema or database;
    with any other character all of it is one name."""
    return ".".join(map(quoted, name.split(".") if PLAIN_NAME.fullmatch(name) else [name]))


def conjunction(conditions: Sequence[str]) -> str:
    """Conditions that all have to hold, each as somebody wrote it, comments included."""
    return " AND ".join(f"({condition}\n)" for condition in conditions)


def is_url(text: str) -> bool:
    """Tell whether text is the URL of a database.

    Parameters
    ----------
    text : str
        A path or URL.

    Returns
    -------
    bool
        Whether it is one.
    """
    return text.lower().startswith(URLS)


def shown(url: str) -> str:
    """A URL without its password and parameters."""
    parts = urlsplit(url)
    user = f"{parts.username}@" if parts.username else ""
    return f"{parts.scheme}://{user}{parts.netloc.rpartition('@')[2]}{parts.path}"


def shown_path(path: str) -> str:
    """Show a path as it is, and a URL of a database without its password.

    Parameters
    ----------
    path : str
        A path or URL.

    Returns
    -------
    str
        For messages.
    """
    return shown(path) if is_url(path) else path


# ---- DuckDB: connections to it, and database files -----------------------------------------------
BATCH_ROWS = 1 << 17  # of a batch
MAGIC = b"DUCK"  # after a checksum of 8 bytes


def library() -> ModuleType:
    """The module ``duckdb``.

    Raises
    ------
    ImportError
        If it is not installed.
    """
    try:
        import duckdb
    except ImportError as error:
        raise ImportError(
            "this source is read by DuckDB, which is not installed: pip install "
            "'tallybayes[duckdb]', or pip install duckdb"
        ) from error
    return duckdb


def is_file(path: str) -> bool:
    """Whether a file is a database of DuckDB; a pipe is not looked into."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(12)[8:] == MAGIC
    except OSError:
        return False


def relation_of(rows: Any) -> Any:
    """An Arrow stream as a relation, read each time that it is evaluated. It has a database of its
    own: a query cannot wait for another one of its own connection."""
    return library().connect().from_arrow(rows)


class OwnDatabase:
    """A database in memory, opened when it is first needed: that takes longer than to count some
    thousand rows. After a fork it is opened anew, since its threads are those of the parent."""

    _of_parents: ClassVar[list[Any]] = []  # to close one would wait for threads that are not here

    def __init__(self) -> None:
        self._opened: tuple[int, Any] | None = None

    def cursor(self) -> Any:
        """A connection of its own, which sees no other one's frames; to be closed after use."""
        opened, here = self._opened, os.getpid()
        if opened is not None and opened[0] != here:
            self._of_parents.append(opened[1])
            opened = None
        if opened is None:  # of several threads each may open one, and the last is kept
            self._opened = opened = here, library().connect()
        return opened[1].cursor()


def need_one_select(text: str, what: str) -> None:
    """Raises ValueError, with `what` in it, where text does more than one SELECT statement does."""
    duckdb = library()
    found = duckdb.extract_statements(text)
    if len(found) != 1 or found[0].type != duckdb.StatementType.SELECT:
        raise ValueError(f"{what} one SELECT statement; the statement is {text!r}")


class DuckDB:
    """A database of DuckDB.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection or str
        A connection, whose open transaction is the one that reads; or the path of a database file,
        which is opened for each reading, and for reading only.
    """

    def __init__(self, connection: Any) -> None:
        self._library = library()
        self._given = connection
        self.name: str = connection if isinstance(connection, str) else "the DuckDB connection"
        self.errors: tuple[type[Exception], ...] = (self._library.Error,)

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """A connection, for as long as it is used."""
        if not isinstance(self._given, str):
            yield self._given
            return
        with self._library.connect(self._given, read_only=True) as own:
            yield own

    def message(self, error: Exception) -> str:
        """The library's message of an error, with what to do about it."""
        text = str(error).strip()
        if "different configuration" in text or "Could not set lock" in text:
            text += ". Close the connection that writes to the file, or give that connection"
        return text

    def schema(self, rows: str) -> Any:
        """The Arrow schema of what stands after FROM."""
        statement = f"SELECT * FROM {rows}"
        need_one_select(statement, "SQL text has to be")
        with self.connected() as connection:
            return connection.sql(statement).limit(0).to_arrow_reader(1).schema

    def batches(self, rows: str, schema: Any) -> Iterator[Any]:
        """The rows as Arrow record batches, with these columns."""
        chosen = ", ".join(map(quoted, schema.names))
        with self.connected() as connection:
            yield from connection.sql(f"SELECT {chosen} FROM {rows}").to_arrow_reader(BATCH_ROWS)

    def tables(self) -> list[str]:
        """The names of its tables and views."""
        with self.connected() as connection:
            asked = "SELECT table_name FROM information_schema.tables ORDER BY table_name"
            return [name for (name,) in connection.sql(asked).fetchall()]
