"""Subsets of a classifier's rows and labels, and unfitted copies of classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from tallybayes.estimators.array_api import as_numpy
from tallybayes.estimators.labels import codes_of, label_array
from tallybayes.tables import Table
from tallybayes.tables.read import is_arrow

__all__ = ["as_rows", "labels_of_rows", "places_of_labels", "rows_of", "unfitted"]


def as_rows(X: Any) -> Any:
    """X as :func:`rows_of` takes rows of it, again and again: an array of another library as
    NumPy's, and what only offers Arrow's memory as a pyarrow table."""
    if is_arrow(X) and not hasattr(X, "__len__"):
        from tallybayes.tables.arrow import as_table

        return as_table(X)
    return as_numpy(X)


def rows_of(X: Any, rows: NDArray[np.intp]) -> Any:
    """The rows of a frame, a table, an array, a sparse matrix or a list, by their numbers."""
    if isinstance(X, Table):
        return X.take(rows)
    if is_arrow(X):
        from tallybayes.tables.arrow import take

        return take(X, rows)
    return _safe_indexing(as_numpy(X), rows)


def unfitted(model: Any) -> Any:
    """An unfitted classifier with the same parameters."""
    return clone(model)


def labels_of_rows(y: Any) -> NDArray[Any]:
    """Labels as an array (n_rows,)."""
    return np.asarray(label_array(y)).ravel()


def places_of_labels(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Each label's place among known classes; ValueError for another label."""
    return codes_of(labels, classes).astype(np.intp)
