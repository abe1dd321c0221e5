"""Databases by ADBC; PostgreSQL can be opened by its URL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from tallybayes.sources.databases.names import quoted, shown

__all__ = ["ADBC"]

NUMBERS = {"numeric": "{}", "money": "{}::numeric", "interval": "extract(epoch FROM {})"}
"""PostgreSQL's types that are numbers, though ADBC has no number for them, and how to make one."""

PLAIN_TEXTS = {"text", "varchar", "name", "char"}
TEXTS = PLAIN_TEXTS | {"bpchar"}  # which is read without the blanks that fill it up

ABORTED = "25P02"  # the state of a transaction after an error

MESSAGE = re.compile(r"(?:ERROR|FATAL):\s+(.*?)(?:\s*Query was:|\s*SQLSTATE:|\Z)", re.DOTALL)
POINTER = re.compile(r"\nLINE \d+: (.*)\n\s*\^")


def _dbapi() -> Any:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError as error:
        raise ImportError(
            "PostgreSQL is read by ADBC, which is not installed: pip install "
            "'tallybayes[postgres]', or pip install adbc-driver-postgresql pyarrow"
        ) from error
    return dbapi


def _type(field: Any) -> str:
    """The type of a column as PostgreSQL calls it; empty where another database answers."""
    return str((field.metadata or {}).get(b"POSTGRESQL:type", b"").decode())


class ADBC:
    """A database with an ADBC driver.

    Parameters
    ----------
    connection : adbc_driver_manager.dbapi.Connection or str
        A connection, whose open transaction is the one that reads; or the URL of a PostgreSQL
        database, which is connected to for each reading, in a transaction that only reads.
    """

    name: str

    def __init__(self, connection: Any) -> None:
        if isinstance(connection, str):
            self._library = _dbapi()
            self.name = shown(connection)
        else:
            from adbc_driver_manager import dbapi

            self._library = dbapi
            self.name = "the connection"
        self._given = connection
        self.errors: tuple[type[Exception], ...] = (
            self._library.Error,
            self._library.Warning,
            OSError,
            pa.ArrowException,
        )

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """A cursor, for as long as it is used."""
        if not isinstance(self._given, str):
            with self._given.cursor() as cursor:
                yield cursor
            return
        with self._library.connect(self._given) as own, own.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield cursor

    def message(self, error: Exception) -> str:
        """The database's message of an error."""
        text = str(error).strip()
        found = MESSAGE.search(text)
        message = " ".join(POINTER.sub(r", at: \1", found[1] if found else text).split())
        if getattr(error, "sqlstate", None) == ABORTED:
            message += ": a statement before failed, so call rollback() on the connection"
        return message

    def schema(self, rows: str) -> Any:
        """The Arrow schema of what stands after FROM, as :meth:`batches` gives it."""
        with self.connected() as cursor:
            described = cursor.adbc_execute_schema(f"SELECT * FROM {rows}")
        return pa.schema([field.with_type(_read_as(field)) for field in described])

    def batches(self, rows: str, schema: Any) -> Iterator[Any]:
        """The rows as Arrow record batches, with these columns."""
        chosen = ", ".join(map(_selected, schema))
        with self.connected() as cursor:
            cursor.execute(f"SELECT {chosen} FROM {rows}")
            for batch in cursor.fetch_record_batch():
                yield _typed(batch, schema)

    def tables(self) -> list[str]:
        """The names of its tables and views."""
        asked = (
            "SELECT table_name::text FROM information_schema.tables WHERE table_schema = "
            "ANY (current_schemas(false)) ORDER BY table_name"
        )
        with self.connected() as cursor:
            cursor.execute(asked)
            return [name for (name,) in cursor.fetchall()]


def _read_as(field: Any) -> Any:
    """The Arrow type that a column is read as."""
    kind = _type(field)
    if not kind:
        return field.type
    if kind in NUMBERS:
        return pa.float64()
    if isinstance(field.type, pa.BaseExtensionType):
        return pa.string()
    if pa.types.is_string(field.type) and kind not in TEXTS:
        return pa.dictionary(pa.int32(), pa.string())  # an enumeration
    return field.type


def _selected(field: Any) -> str:
    """An SQL expression for a column that is read as this field."""
    name, kind = quoted(field.name), _type(field)
    if kind in NUMBERS:
        return f"{NUMBERS[kind].format(name)}::double precision AS {name}"
    if kind and pa.types.is_string(field.type) and kind not in PLAIN_TEXTS:
        return f"{name}::text AS {name}"
    return name


def _typed(batch: Any, schema: Any) -> Any:
    """A batch whose enumerations are categories."""
    columns = [
        column.dictionary_encode() if pa.types.is_dictionary(field.type) else column
        for field, column in zip(schema, batch.columns, strict=True)
    ]
    return pa.record_batch(columns, names=schema.names)
