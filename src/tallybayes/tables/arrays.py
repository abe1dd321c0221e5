"""Arrays and nested lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tallybayes.tables.columns import Column, Numbers, Table, Texts
from tallybayes.tables.objects import read_objects

__all__ = ["read", "read_array"]


def read_array(values: NDArray[Any], name: str) -> Column:
    """One column of an array."""
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    kind = values.dtype.kind
    if kind == "b":
        return Texts(values.astype(np.int32), ["False", "True"], "boolean")
    if kind in "iu":
        return Numbers(values, "integer")
    if kind == "f":
        return Numbers(values if values.dtype.itemsize in (4, 8) else values.astype(float), "float")
    if kind == "M":
        seconds = values.astype("datetime64[us]").astype(np.float64) / 1e6
        return Numbers(np.where(np.isnat(values), np.nan, seconds / 86400.0), "date")
    return read_objects(values, name)


def read(x: Any) -> Table:
    """An array-like (n_rows, n_columns).

    Raises
    ------
    TypeError
        If x is a sparse matrix.
    ValueError
        If x is not two-dimensional, or complex.
    """
    if sparse.issparse(x):
        raise TypeError(
            "Sparse data was passed to NaiveBayes, which reads tables: use GaussianNB, "
            "MultinomialNB, BernoulliNB or CategoricalNB, which take sparse matrices, or use "
            "X.toarray()"
        )
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
