"""The rows of a source that meet a condition in SQL, which DuckDB judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.errors import SourceError
from tallybayes.sources.arrow import arrow_of
from tallybayes.sources.contract import Part, Source, SourceColumn, restarted
from tallybayes.sources.databases.duckdb import library, need_one_select
from tallybayes.sources.databases.names import conjunction
from tallybayes.tables import Empty, Numbers, Table
from tallybayes.tables.columns import stacked

__all__ = ["RowsThatMeet"]

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
        self._need_names_of_sql(list(table.columns))
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

    def _need_names_of_sql(self, names: list[str]) -> None:
        twice = [name for name, n in Counter(map(str.lower, names)).items() if n > 1]
        if twice:
            alike = sorted(name for name in names if name.lower() == twice[0])
            raise SourceError(
                f"{self.name} has the columns {' and '.join(map(repr, alike))}, which are one name "
                "in SQL: rename one of them, or filter the rows before they are counted"
            )
