"""Rows of tables and queries in databases: DuckDB, and PostgreSQL or others by ADBC."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.errors import SourceError, listed
from tallybayes.sources.arrow import arrow_of
from tallybayes.sources.batches import ArrowSource
from tallybayes.sources.contract import Part, Source, SourceColumn, restarted
from tallybayes.sources.databases import (
    DuckDB,
    conjunction,
    is_file,
    is_url,
    library,
    need_one_select,
    quoted,
    quoted_path,
    shown,
)
from tallybayes.tables import Empty, Numbers, Table
from tallybayes.tables.columns import stacked

__all__ = ["DatabaseRows", "RowsThatMeet", "rows_at", "sql", "table"]


# ---- the rows of a table or query, as a source ---------------------------------------------------
class Database(Protocol):
    """A database that executes SQL."""

    name: str
    errors: tuple[type[Exception], ...]

    def schema(self, rows: str) -> Any:
        """The Arrow schema of what stands after FROM."""

    def batches(self, rows: str, schema: Any) -> Iterator[Any]:
        """The rows as Arrow record batches, with these columns."""

    def tables(self) -> list[str]:
        """The names of its tables and views."""

    def message(self, error: Exception) -> str:
        """The database's message of an error."""


class DatabaseRows(ArrowSource):
    """The rows of a table or query, read anew each time, by one statement.

    Parameters
    ----------
    database : Database
    rows : str
        What stands after FROM.
    name : str
        What messages call it.
    """

    database: Database
    rows: str

    def __init__(self, database: Database, rows: str, name: str) -> None:
        self.database, self.rows, self.name = database, rows, name

    def __repr__(self) -> str:
        return f"<{self.name}>"

    @property
    def is_query(self) -> bool:
        """Whether they are a query's, rather than a table's."""
        return self.rows.startswith("(")

    @cached_property
    def schema(self) -> Any:
        """Its columns when it was first looked at, as an Arrow schema.

        Raises
        ------
        SourceError
            If it cannot be read.
        """
        with self._explained():
            return self.database.schema(self.rows)

    def record_batches(self, names: Sequence[str] | None = None) -> Iterator[Any]:
        with self._explained():
            schema = self.schema
            if names is not None:
                schema = pa.schema([schema.field(name) for name in names])
            yield from self.database.batches(self.rows, schema)

    def filtered(self, conditions: Sequence[str]) -> DatabaseRows:
        """The rows that meet conditions in SQL, which are part of the statement as they stand."""
        rows = f"(SELECT * FROM {self.rows} WHERE {conjunction(conditions)}) AS tallybayes_held"
        return DatabaseRows(self.database, rows, self.name)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Errors of the database become SourceError, with its name."""
        try:
            yield
        except (SourceError, ImportError):
            raise
        except (*self.database.errors, OSError, pa.ArrowException) as error:
            message = self.database.message(error)
            raise SourceError(f"{self.name} cannot be read: {message}") from error


# ---- databases by ADBC; PostgreSQL can be opened by its URL --------------------------------------
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


# ---- tables and queries, by name and connection --------------------------------------------------
def sql(text: str, connection: Any) -> DatabaseRows:
    """The rows of a query, as a source to learn from or to predict.

    The query runs anew each time that the rows are needed; they are read in batches, and never all
    of them are in memory. Rows come in the order in which the database gives them; write ORDER BY
    where that matters.

    Parameters
    ----------
    text : str
        One SELECT statement. It is run as it stands: it must not contain anybody else's input.
    connection : connection, str or path-like
        A connection of DuckDB, or of ADBC (``adbc_driver_postgresql.dbapi.connect(…)``), which is
        used as it is, in its open transaction. Or the path of a DuckDB file or the URL of a
        PostgreSQL database, ``postgresql://user@host/database``, which is opened for each reading
        and for reading only.

    Returns
    -------
    DatabaseRows
        A source of rows, for :meth:`NaiveBayes.fit` and whatever else takes one.

    Raises
    ------
    SourceError
        If `connection` is no database. Whether the query can be read shows when it is.
    TypeError
        If `text` is not a string, or `connection` of another kind.

    See Also
    --------
    table : A table or view.

    Examples
    --------
    >>> import duckdb, tallybayes
    >>> db = duckdb.connect()
    >>> _ = db.sql("CREATE TABLE days AS FROM (VALUES ('sun', 1), ('rain', 0)) AS t(sky, play)")
    >>> rows = tallybayes.sql("SELECT sky, play FROM days", db)
    >>> tallybayes.NaiveBayes().fit(rows, "play").predict([{"sky": "rain"}]).tolist()
    [0]
    """
    if not isinstance(text, str):
        raise TypeError(f"the query is a string of SQL, got a {type(text).__name__}")
    database = _database(connection)
    query = text.strip().removesuffix(";")
    if not query:
        raise SourceError("the query is empty: write a SELECT statement")
    rows = f"(\n{query}\n) AS tallybayes_rows"
    return DatabaseRows(database, rows, f"the query of {database.name}")


def table(name: str, connection: Any) -> DatabaseRows:
    """The rows of a table or view in a database, as a source to learn from or to predict.

    Parameters
    ----------
    name : str
        Plain names joined by dots are a table in a schema or database. A name with a character
        besides letters, digits and _ is one name, dots included.
    connection : connection, str or path-like
        As for :func:`tallybayes.sql`.

    Returns
    -------
    DatabaseRows
        A source of rows, for :meth:`NaiveBayes.fit` and whatever else takes one.

    Raises
    ------
    SourceError
        If `connection` is no database. Whether there is such a table shows when it is read.
    TypeError
        If `name` is not a string, or `connection` of another kind.

    See Also
    --------
    sql : A query.

    Examples
    --------
    >>> import duckdb, tallybayes
    >>> db = duckdb.connect()
    >>> _ = db.sql("CREATE TABLE days AS FROM (VALUES ('sun', 1), ('rain', 0)) AS t(sky, play)")
    >>> tallybayes.collect(tallybayes.table("days", db), "play").classes.count.tolist()
    [1.0, 1.0]
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a table is a string, got a {type(name).__name__}")
    if not name:
        raise SourceError("the name of the table is empty")
    database = _database(connection)
    return DatabaseRows(database, quoted_path(name), f"table {name!r} of {database.name}")


def rows_at(where: Any, query: str | None = None, name: str | None = None) -> DatabaseRows:
    """A query's, or a table's, rows in the database that is there.

    Raises
    ------
    SourceError
        If not exactly one of `query` and `name` is given, or there is no database.
    """
    if query is not None and name is not None:
        raise SourceError("a table and SQL text are given: give one of them")
    if query is not None:
        return sql(query, where)
    if name is not None:
        return table(name, where)
    database = _database(where)
    try:
        tables = database.tables()
    except database.errors as error:
        message = f"{database.name} cannot be read: {database.message(error)}"
        raise SourceError(message) from error
    raise SourceError(
        f"{database.name} is a database: say which table, or give SQL text; its tables are "
        f"{listed(map(repr, tables), 10) if tables else 'none'}"
    )


def _database(connection: Any) -> Database:
    """What a connection, path or URL connects to."""
    if isinstance(connection, str | os.PathLike):
        where = os.fspath(connection)
        if is_url(where):
            return ADBC(where)
        if not os.path.exists(where):
            raise SourceError(
                f"{where}: there is no such file, and it is not a URL "
                "postgresql://user@host/database"
            )
        if not is_file(where):
            raise SourceError(f"{where} is not a database of DuckDB")
        return DuckDB(where)
    if hasattr(connection, "adbc_get_info"):
        return ADBC(connection)
    if hasattr(connection, "sql") and hasattr(connection, "execute"):
        return DuckDB(connection)
    raise TypeError(
        "a connection is one of DuckDB, duckdb.connect(…), or of ADBC, "
        "adbc_driver_postgresql.dbapi.connect(…), the path of a DuckDB file, or a URL "
        f"postgresql://user@host/database; got a {type(connection).__name__}"
    )


# ---- the rows of any source that meet a condition in SQL, which DuckDB judges --------------------
ROWS, ROW = "tallybayes_rows", "tallybayes_row"


class RowsThatMeet:
    """A source without the rows that do not meet conditions; all of it is read into memory.

    Numbers are DOUBLE in a condition, dates TIMESTAMP, and other columns, those of numbers and
    strings among them, VARCHAR.

    Parameters
    ----------
    source : Source
    conditions : sequence of (str, tuple)
        Each with the values of its markers ``?``.
    connection : duckdb.DuckDBPyConnection, optional
        Where other tables are looked up that a condition names.
    """

    once = False

    def __init__(
        self,
        source: Source,
        conditions: Sequence[tuple[str, tuple[Any, ...]]],
        connection: Any = None,
    ) -> None:
        self._source, self._conditions, self._connection = source, conditions, connection
        self.name = source.name

    def columns(self) -> dict[str, SourceColumn]:
        return self._source.columns()

    def parts(
        self, names: Sequence[str] | None = None, as_written: Collection[str] = ()
    ) -> Iterator[Part]:
        parts = restarted(
            lambda: [(part, part.read()) for part in self._source.parts(None, as_written)]
        )
        if not parts:
            return
        table = stacked([table for _, table in parts])
        columns = table.columns
        if names is not None:
            columns = {name: columns.get(name, Empty(table.n_rows)) for name in names}
        rows = Table(columns, table.n_rows, True).take(self._rows(table))
        where = f"{self.name}, rows that meet the condition"
        yield Part(lambda: rows, where, all(part.typed for part, _ in parts))

    def _rows(self, table: Table) -> NDArray[np.int64]:
        """The numbers of the rows that meet the conditions, in their order."""
        twice = [name for name, n in Counter(map(str.lower, table.columns)).items() if n > 1]
        if twice:
            alike = sorted(name for name in table.columns if name.lower() == twice[0])
            raise SourceError(
                f"{self.name} has the columns {' and '.join(map(repr, alike))}, which are one name "
                "in SQL: rename one of them, or filter the rows before they are counted"
            )
        columns = {name: arrow_of(column) for name, column in table.columns.items()}
        columns |= {
            name: columns[name].cast(pa.float64(), safe=False)
            for name, column in table.columns.items()
            if isinstance(column, Numbers) and column.what != "date"
        }
        rows = pa.table({**columns, ROW: np.arange(table.n_rows)})
        strings = [text for text, _ in self._conditions]
        values = [value for _, given in self._conditions for value in given]
        statement = f"SELECT {ROW} FROM {ROWS} WHERE {conjunction(strings)} ORDER BY {ROW}"
        own = library().connect() if self._connection is None else self._connection.cursor()
        with own:
            try:
                need_one_select(statement, "where= has to be part of")
                own.register(ROWS, rows)
                found = own.execute(statement, values).fetchnumpy()[ROW]
            except library().Error as error:
                raise SourceError(
                    f"{self.name}: DuckDB cannot judge the condition. {str(error).strip()}"
                ) from error
        return np.asarray(found, dtype=np.int64)
