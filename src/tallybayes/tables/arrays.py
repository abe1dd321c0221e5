"""Arrays and nested lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tallybayes.tables.columns import Column, Numbers, Strings, Table
from tallybayes.tables.objects import read_objects

__all__ = ["read", "read_array"]


def read_array(values: NDArray[Any], name: str) -> Column:
    """One column of an array."""
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    kind = values.dtype.kind
    if kind == "b":
        return Strings(values.astype(np.int32), ["False", "True"], "boolean")
    if kind in "iu":
        return Numbers(values, "integer")
    if kind == "f":
        return Numbers(values if values.dtype.itemsize in (4, 8) else values.astype(float), "float")
    if kind == "M":
        seconds = values.astype("datetime64[us]").astype(np.float64) / 1e6
        return Numbers(np.where(np.isnat(values), np.nan, seconds / 86400.0), "date")
    if kind == "m":
        return Numbers(values / np.timedelta64(1, "s"), "float")
    return read_objects(values, name)


def _need_rows(x: Any) -> None:
    """Raises for what holds a table, or one row of it, but is none."""
    if isinstance(x, Mapping):
        whole = any(isinstance(v, list | tuple | np.ndarray) for v in x.values())
        raise TypeError(
            "X is a dict of columns: make a table of it, such as pandas.DataFrame(X)"
            if whole
            else "X is a dict, a single row: give [X], a list of rows, or a method for one row, "
            "such as predict_one"
        )
    if isinstance(x, str | bytes | PurePath):
        raise TypeError(
            f"X is the string {str(x)[:80]!r}: give the table itself; of a file, such as "
            "pandas.read_csv makes it, or polars.read_parquet"
        )
    if isinstance(x, Iterator):
        raise TypeError(f"X is a {type(x).__name__}, whose end is not known: give list(X)")


def read(x: Any) -> Table:
    """An array-like (n_rows, n_columns).

    Raises
    ------
    TypeError
        If x is a sparse matrix, a dict, a string or an iterator.
    ValueError
        If x is not two-dimensional, or complex.
    """
    if sparse.issparse(x):
        raise TypeError(
            "Sparse data was passed where a table is read: use GaussianNB, MultinomialNB, "
            "BernoulliNB or CategoricalNB, which take sparse matrices, or use X.toarray()"
        )
    _need_rows(x)
    array = np.asarray(x)
    if array.dtype.kind in "US" and not isinstance(x, np.ndarray):
        array = np.asarray(x, dtype=object)  # a list of mixed rows keeps its numbers
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead: X is a table with a row a "
            "sample. Reshape your data using X.reshape(-1, 1) if it is one column, or "
            "X.reshape(1, -1) if it is one row."
        )
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: give real and imaginary parts as two columns")
    columns = {str(j): read_array(array[:, j], str(j)) for j in range(array.shape[1])}
    return Table(columns, array.shape[0], False)
