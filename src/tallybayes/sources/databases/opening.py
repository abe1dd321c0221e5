"""Tables and queries of databases, by name and connection."""

from __future__ import annotations

import os
from typing import Any

from tallybayes.errors import SourceError, listed
from tallybayes.sources.databases.names import is_url, quoted_path
from tallybayes.sources.databases.rows import Database, DatabaseRows

__all__ = ["rows_at", "sql", "table"]


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
        return _located(os.fspath(connection))
    if hasattr(connection, "adbc_get_info"):
        from tallybayes.sources.databases.adbc import ADBC

        return ADBC(connection)
    if hasattr(connection, "sql") and hasattr(connection, "execute"):
        from tallybayes.sources.databases.duckdb import DuckDB

        return DuckDB(connection)
    raise TypeError(
        "a connection is one of DuckDB, duckdb.connect(…), or of ADBC, "
        "adbc_driver_postgresql.dbapi.connect(…), the path of a DuckDB file, or a URL "
        f"postgresql://user@host/database; got a {type(connection).__name__}"
    )


def _located(where: str) -> Database:
    if is_url(where):
        from tallybayes.sources.databases.adbc import ADBC

        return ADBC(where)
    from tallybayes.sources.databases.duckdb import DuckDB, is_file

    if not os.path.exists(where):
        raise SourceError(
            f"{where}: there is no such file, and it is not a URL postgresql://user@host/database"
        )
    if not is_file(where):
        raise SourceError(f"{where} is not a database of DuckDB")
    return DuckDB(where)
