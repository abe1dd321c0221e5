"""Declared levels: the sets A_j of values that each column can take."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import validate_data

from tallybayes.errors import UnseenLevel
from tallybayes.tables.read import is_arrow
from tallybayes.tables.values import is_missing
from tallybayes.validation import as_numpy

__all__ = ["declared_levels", "encode"]


def declared_levels(levels: Any, n_features: int) -> tuple[NDArray[Any], ...]:
    """The declared values of each column as arrays.

    Raises
    ------
    ValueError
        If there is not one non-empty list of distinct values for each column.
    """
    if isinstance(levels, str) or len(levels) != n_features:
        raise ValueError(
            f"levels declares {len(levels)} columns, X has {n_features}: give one list of values "
            "for each column"
        )
    declared = []
    for j, values in enumerate(levels):
        items = values.tolist() if isinstance(values, np.ndarray) else list(values)
        array = np.array(values)
        if array.ndim == 1 and len({type(item) for item in items}) > 1:  # 1 and "1" differ
            array = np.empty(len(items), dtype=object)
            array[:] = items
        if array.ndim != 1 or not len(array):
            raise ValueError(f"levels[{j}] must be a list of at least one value, got {values!r}")
        if len(set(array.tolist())) != len(array):
            raise ValueError(f"levels[{j}] declares a value twice: {array.tolist()!r}")
        declared.append(array)
    return tuple(declared)


def encode(
    estimator: Any, x: Any, levels: Any, *, reset: bool, refuse_unknown: bool
) -> NDArray[np.int64]:
    """Values as codes, int64 (n_rows, n_features); the number of levels for a value that is not
    declared.

    Raises
    ------
    TypeError
        If x is sparse.
    UnseenLevel
        A ValueError: a value is not declared, and `refuse_unknown`.
    ValueError
        If x is empty or has other columns than were declared.
    """
    if sparse.issparse(x):
        raise TypeError(
            "Sparse data was passed for X, but with declared levels X must be dense: an absent "
            "entry has no value. Use X.toarray(), or level codes without levels="
        )
    x = as_numpy(x)
    if is_arrow(x):
        from tallybayes.tables.arrow import as_table

        x = as_table(x)
    if isinstance(x, list | tuple):
        x = np.array(x, dtype=object)  # NumPy would turn the numbers of a mixed row into strings
    x = validate_data(estimator, x, dtype=None, ensure_all_finite=False, reset=reset)
    declared = declared_levels(levels, x.shape[1])
    codes = np.empty(x.shape, dtype=np.int64)
    for j, values in enumerate(declared):
        rank = {value: code for code, value in enumerate(values.tolist())}
        unknown = len(rank)
        column = x[:, j].tolist()
        codes[:, j] = [rank.get(value, unknown) for value in column]
        if codes[:, j].max() < unknown:
            continue
        names = getattr(estimator, "feature_names_in_", None)
        where = str(j) if names is None else f"{j} ({names[j]!r})"
        for row in np.flatnonzero(codes[:, j] == unknown).tolist():
            value = column[row]
            if is_missing(value):
                raise ValueError(
                    f"Input X contains NaN: row {row}, column {where} holds {value!r}. A missing "
                    "value is not a level: declare a level for it, or leave the row out."
                )
        if refuse_unknown:
            row = int(codes[:, j].argmax())
            shown = ", ".join(map(repr, values[:8].tolist())) + (", …" if unknown > 8 else "")
            raise UnseenLevel(
                f"row {row}, column {where} holds {column[row]!r}, which levels= does not declare "
                f"for that column ({shown}): declare it, or leave the row out"
            )
    return codes
