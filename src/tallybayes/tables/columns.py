"""What a column of a table is after reading, whatever frame it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Column", "Empty", "Numbers", "Table", "Texts", "text_of_number", "texts_of"]


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers.

    Parameters
    ----------
    values : array (n_rows,)
        Integers or floats; NaN is a gap.
    what : str
        What the column was, for the schema: "integer", "float", "date", …
    """

    values: NDArray[Any]
    what: str

    def take(self, rows: slice | NDArray[np.intp]) -> Numbers:
        return Numbers(self.values[rows], self.what)


@dataclass(frozen=True, eq=False)
class Texts:
    """A column of levels.

    Parameters
    ----------
    codes : int32 array (n_rows,)
        Index into `levels`; −1 is a gap.
    levels : list of str
        Distinct. Levels need not occur.
    what : str
        What the column was, for the schema: "text", "category", "boolean".
    """

    codes: NDArray[np.int32]
    levels: list[str]
    what: str

    def take(self, rows: slice | NDArray[np.intp]) -> Texts:
        return Texts(self.codes[rows], self.levels, self.what)


@dataclass(frozen=True, eq=False)
class Empty:
    """A column without a value: it may turn out to hold anything.

    Parameters
    ----------
    n_rows : int
    """

    n_rows: int

    def take(self, rows: slice | NDArray[np.intp]) -> Empty:
        n = len(range(*rows.indices(self.n_rows))) if isinstance(rows, slice) else len(rows)
        return Empty(n)


Column = Numbers | Texts | Empty


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by name, in order.

    Parameters
    ----------
    columns : dict of str to Column
    n_rows : int
    named : bool
        Whether the names are the data's own, rather than numbers of an array's columns.
    """

    columns: dict[str, Column]
    n_rows: int
    named: bool

    def take(self, rows: slice | NDArray[np.intp]) -> Table:
        """Some rows."""
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        n = len(range(*rows.indices(self.n_rows))) if isinstance(rows, slice) else len(rows)
        return Table(columns, n, self.named)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_columns)."""
        return self.n_rows, len(self.columns)


def text_of_number(value: float) -> str:
    """A number as a level: whole numbers without a point, so that 3 and 3.0 are one level."""
    return str(int(value)) if value == int(value) else repr(float(value))


def texts_of(column: Numbers) -> Texts:
    """Numbers as levels, by :func:`text_of_number`; NaN is a gap.

    Infinity is the text "inf" or "-inf".
    """
    values = column.values
    gaps = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    distinct, inverse = np.unique(values[~gaps], return_inverse=True)
    codes = np.full(len(values), -1, dtype=np.int32)
    codes[~gaps] = inverse
    levels = (
        [text_of_number(v) if np.isfinite(v) else str(v) for v in map(float, distinct.tolist())]
        if values.dtype.kind == "f"
        else [str(v) for v in distinct.tolist()]
    )
    return Texts(codes, levels, column.what)
