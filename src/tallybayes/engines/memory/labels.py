"""The classes of rows whose label is a column of the table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.contract import Labels, need_columns
from tallybayes.engines.groups import class_array, need_rows_and_labels
from tallybayes.tables import Column, Empty, Mixed, Numbers, Table

__all__ = ["labels_of"]

Array = NDArray[np.float64]


def labels_of(table: Table, target: str, weight: str | None) -> Labels:
    """The classes of the rows, from a column of levels or numbers, and their weights.

    Raises
    ------
    ValueError
        If a column is not there, a row has no label, labels are dates or of several kinds, or a
        weight is not a finite number.
    """
    need_columns([target], list(table.columns), "target")
    classes, codes = _classes(table.columns[target], target)
    return Labels(classes, codes, None if weight is None else _weights(table, weight))


def _classes(column: Column, target: str) -> tuple[NDArray[np.generic], NDArray[np.int32]]:
    if isinstance(column, Empty):
        need_rows_and_labels(column.n_rows, column.n_rows, target)
        return np.empty(0), np.empty(0, dtype=np.int32)
    if isinstance(column, Mixed) or (isinstance(column, Numbers) and column.what == "date"):
        raise ValueError(
            f"the target column {target!r} holds {column.what} values; labels are strings, "
            "booleans or numbers: cast the column to one of them"
        )
    if isinstance(column, Numbers):
        values = column.values
        missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(0, dtype=bool)
        need_rows_and_labels(len(values), int(missing.sum()), target)
        if values.dtype.kind == "f" and column.what == "integer":
            values = values.astype(np.int64)
        distinct, codes = np.unique(values, return_inverse=True)
        return class_array(distinct.tolist()), codes.astype(np.int32)
    need_rows_and_labels(column.n_rows, int((column.codes < 0).sum()), target)
    found = np.flatnonzero(np.bincount(column.codes, minlength=len(column.levels)))
    labels: list[Any] = [column.levels[code] for code in found.tolist()]
    if column.what == "boolean":
        labels = [label == "True" for label in labels]
    classes = class_array(labels)
    at = {label: k for k, label in enumerate(classes.tolist())}
    rank = np.zeros(len(column.levels), dtype=np.int32)
    rank[found] = [at[label] for label in labels]
    return classes, rank[column.codes]


def _weights(table: Table, name: str) -> Array:
    need_columns([name], list(table.columns), "weight")
    column = table.columns[name]
    values = column.values if isinstance(column, Numbers) else np.full(table.n_rows, np.nan)
    if not np.isfinite(values).all():
        raise ValueError(f"the weight column {name!r} has to hold a finite number in every row")
    return np.ascontiguousarray(values, dtype=np.float64)
