"""Rows of data, and their labels, as they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.estimators.labels import label_array
from tallybayes.tables import Empty, Numbers, Table, read_table
from tallybayes.tables.columns import strings_of

__all__ = ["Rows", "class_codes", "read_rows"]

Array = NDArray[np.float64]


class Rows:
    """Rows to draw.

    Parameters
    ----------
    columns : dict
        Column of a table by the model's name for it.
    n_rows : int
    """

    def __init__(self, columns: dict[Any, Any], n_rows: int) -> None:
        self.columns = columns
        self.n_rows = n_rows

    def is_number(self, name: Any) -> bool:
        """Whether a column holds numbers."""
        return not hasattr(self.columns[name], "levels")

    def is_date(self, name: Any) -> bool:
        """Whether a column holds dates, which are days since 1970."""
        return getattr(self.columns[name], "what", "") == "date"

    def numbers(self, name: Any) -> Array:
        """A column as numbers, float64 (n_rows,); NaN is a missing value, or a string that is not a
        number."""
        column = self.columns[name]
        if isinstance(column, Empty):
            return np.full(self.n_rows, np.nan)
        if isinstance(column, Numbers):
            return np.asarray(column.values, dtype=np.float64)
        values = [_number(level) for level in column.levels]
        return _picked(values, column.codes)

    def levels(self, name: Any) -> list[str]:
        """The levels that occur in a column, in their order."""
        column = self.columns[name]
        if isinstance(column, Empty):
            return []
        strings = strings_of(column) if isinstance(column, Numbers) else column
        return [strings.levels[i] for i in np.unique(strings.codes[strings.codes >= 0]).tolist()]

    def codes(self, name: Any, levels: Sequence[Any]) -> Array:
        """The place of each value among `levels`, float64 (n_rows,); NaN is a missing value or
        another level."""
        column = self.columns[name]
        if isinstance(column, Empty):
            return np.full(self.n_rows, np.nan)
        strings = strings_of(column) if isinstance(column, Numbers) else column
        place = {str(level): float(i) for i, level in enumerate(levels)}
        return _picked([place.get(level, np.nan) for level in strings.levels], strings.codes)


def _picked(of_levels: list[float], codes: NDArray[np.int32]) -> Array:
    """What stands for each row's level; NaN for a missing value, −1."""
    return np.asarray(np.array([*of_levels, np.nan])[codes])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def read_rows(X: Any, features: Sequence[Any] | None, wanted: Sequence[Any] | None = None) -> Rows:
    """Some columns of X, or all.

    Parameters
    ----------
    X : table, or array-like or sparse matrix (n_rows, n_columns)
    features : sequence or None
        The model's columns; None for those of X.
    wanted : sequence, optional
        Of `features`.

    Raises
    ------
    ValueError
        If X lacks a column.
    """
    table: Table = read_table(X.toarray() if hasattr(X, "toarray") else X)
    if features is None:
        return Rows(dict(table.columns), table.n_rows)
    columns: dict[Any, Any] = {}
    for name in features if wanted is None else wanted:
        key = str(name) if table.named else str(list(features).index(name))
        if key not in table.columns:
            raise ValueError(
                f"X lacks the column {name!r}; it has {list(table.columns)}: give the rows as the "
                "model was trained with them"
            )
        columns[name] = table.columns[key]
    return Rows(columns, table.n_rows)


def class_codes(y: Any, n_rows: int, classes: NDArray[Any] | None) -> tuple[Any, NDArray[np.intp]]:
    """The classes, and the index of each row's.

    Parameters
    ----------
    y : array-like (n_rows,)
    n_rows : int
    classes : array (n_classes,) or None
        The model's; None for those that occur.

    Raises
    ------
    ValueError
        If y has another length than X, or a label that is not a class.
    """
    labels = label_array(y)
    if labels.shape != (n_rows,):
        raise ValueError(f"y has the shape {labels.shape} for {n_rows} rows: give a label a row")
    if classes is None:
        found, codes = np.unique(labels, return_inverse=True)
        return found, codes.astype(np.intp)
    at = {label: k for k, label in enumerate(classes.tolist())}
    codes = np.array([at.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    if (codes < 0).any():
        i = int(np.argmin(codes))
        raise ValueError(
            f"row {i} has the label {labels.tolist()[i]!r}, which is not a class of the model; its "
            f"classes are {classes.tolist()}"
        )
    return classes, codes
