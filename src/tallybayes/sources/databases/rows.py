"""The rows of a table or query in a database, as a source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Protocol

import pyarrow as pa

from tallybayes.errors import SourceError
from tallybayes.sources.batches import ArrowSource
from tallybayes.sources.databases.names import conjunction

__all__ = ["Database", "DatabaseRows"]


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
