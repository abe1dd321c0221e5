"""Messages for values that the kernels refuse: the rule, the row and column, the value, what to
do."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from tallybayes import _kernels
from tallybayes.errors import UnseenLevel
from tallybayes.schema import Columns

__all__ = ["raise_fault", "raise_not_binary", "raise_unseen"]


def _stored(x: Any, wrong: Any) -> tuple[Any, Any, Any]:
    """Rows, columns and values of the stored entries of a sparse matrix where `wrong` holds."""
    at = np.flatnonzero(wrong(x.data))
    major = np.searchsorted(x.indptr, at, side="right") - 1
    minor = x.indices[at]
    rows, columns = (major, minor) if x.format == "csr" else (minor, major)
    return rows, columns, x.data[at]


def _first(x: Any, wrong: Any) -> tuple[int, int, Any]:
    """Row, column and value of the first entry where `wrong(values)` holds, row by row."""
    if sparse.issparse(x):
        rows, columns, values = _stored(x, wrong)
        if len(rows):
            i = np.lexsort((columns, rows))[0]
            return int(rows[i]), int(columns[i]), values[i].item()
        raise AssertionError("the kernels reported a fault that is not in the data")
    step = max(1, (1 << 20) // max(1, x.shape[1]))
    for start in range(0, x.shape[0], step):
        found = np.argwhere(wrong(np.asarray(x[start : start + step])))
        if len(found):
            row, column = start + int(found[0, 0]), int(found[0, 1])
            return row, column, x[row, column].item()
    raise AssertionError("the kernels reported a fault that is not in the data")


def _is_sparse_broken(x: Any) -> bool:
    if not sparse.issparse(x):
        return False
    minor = x.shape[1] if x.format == "csr" else x.shape[0]
    return bool(x.indices.size) and bool((x.indices < 0).any() or (x.indices >= minor).any())


def raise_fault(fault: int, x: Any, columns: Columns, whose: str) -> NoReturn:
    """Raises the ValueError that describes the first faulty value of x.

    Parameters
    ----------
    fault : int
        Flags returned by a kernel.
    x : array or sparse matrix (n_rows, n_features)
        The rows as the kernel saw them.
    columns : Columns
    whose : str
        The estimator that reads them.
    """
    if _is_sparse_broken(x):
        raise ValueError(
            f"the sparse matrix passed to {whose} is malformed: an index lies outside its shape "
            f"{x.shape}; build it again, for example with scipy.sparse.csr_array((data, indices, "
            "indptr), shape) and check_format()"
        )

    def place(row: int, column: int, value: Any) -> str:
        return f"row {row}, column {columns.name_of(column)} holds {value!r}"

    if fault & _kernels.NOT_FINITE:
        try:
            row, column, value = _first(x, lambda v: ~np.isfinite(v))
        except AssertionError:
            raise ValueError(
                f"a column of X is too large for {whose}: the squares of its differences exceed "
                "float64 (about 1e308). Rescale the column, for example with StandardScaler."
            ) from None
        kind = "NaN" if np.isnan(value) else "infinity"
        advice = (
            f"{whose} does not accept missing values encoded as NaN: drop such rows, or fill them "
            "with an imputer, before training and predicting."
            if kind == "NaN"
            else "Replace it by a finite value."
        )
        raise ValueError(f"Input X contains {kind}: {place(row, column, value)}. {advice}")
    if fault & _kernels.NEGATIVE:
        row, column, value = _first(x, lambda v: v < 0)
        advice = (
            "Level codes count from 0; encode categories with OrdinalEncoder."
            if columns.kind == "levels"
            else "Counts and frequencies cannot be negative."
        )
        raise ValueError(
            f"Negative values in data passed to {whose} (input X): {place(row, column, value)}. "
            + advice
        )
    if fault & _kernels.NOT_INTEGER:
        row, column, value = _first(x, lambda v: v != np.floor(v))
        raise ValueError(
            f"{whose} reads X as level codes, whole numbers from 0 on: "
            f"{place(row, column, value)}. Encode categories with OrdinalEncoder, declare them "
            "with levels=, or bin numbers first."
        )
    row, column, value = _first(x, lambda v: np.abs(np.asarray(v, dtype=float)) >= 2.0**31)
    raise ValueError(
        f"{whose} reads X as level codes and keeps a cell for each up to the largest: "
        f"{place(row, column, value)}. Encode the column with OrdinalEncoder first."
    )


def raise_not_binary(x: Any, columns: Columns, whose: str) -> NoReturn:
    """Raises the ValueError for the first value that is neither 0 nor 1."""
    row, column, value = _first(x, lambda v: (v != 0) & (v != 1))
    if not np.isfinite(value):
        raise_fault(_kernels.NOT_FINITE, x, columns, whose)
    raise ValueError(
        f"with binarize=None, {whose} reads X as 0 and 1: row {row}, column "
        f"{columns.name_of(column)} holds {value!r}. Set binarize to the threshold above which a "
        "feature counts as present."
    )


def raise_unseen(x: Any, n_levels: Any, columns: Columns, whose: str) -> NoReturn:
    """Raises :class:`UnseenLevel` for the first code at or beyond its column's levels."""
    if sparse.issparse(x):
        beyond = x.data >= n_levels[x.indices]
        rows, cells, values = _stored(x, lambda _: beyond)
    else:
        rows, cells = np.nonzero(x >= n_levels)
        values = x[rows, cells]
    row, column, value = int(rows[0]), int(cells[0]), values[0].item()
    raise UnseenLevel(
        f"row {row}, column {columns.name_of(column)} holds the level {value!r}, which "
        f"{whose} did not see in training (it knows the codes 0 to {int(n_levels[column]) - 1}). "
        "Declare it before training (min_categories= or levels=), or choose "
        'unseen="smooth" or "ignore".'
    )
