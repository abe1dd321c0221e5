"""A canonical order of rows and columns, so that what is learned does not depend on the given one.

Each row has a key, a hash of its cells and its label: sums of floating-point numbers, samples and
folds follow the keys. Equal rows ("twins") have equal keys and stand side by side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.cells.columns import ColumnCells
from tallybayes.weighted.rows.duplicate_columns import distinct
from tallybayes.weighted.rows.hashing import row_keys
from tallybayes.weighted.terms.learning_rows import LearningRows

__all__ = ["canonical"]

Index = NDArray[np.intp]


def canonical(rows: LearningRows, columns: list[ColumnCells]) -> tuple[LearningRows, Index]:
    """Rows in their canonical order: by their keys, twins by their weights.

    Parameters
    ----------
    rows : LearningRows
    columns : list of ColumnCells
        Theirs, in any order: it does not change the keys.

    Returns
    -------
    LearningRows
    index array (n_rows,)
        Where each was.
    """
    kept, _ = distinct(rows.cells, [column.name for column in columns])
    keys = row_keys([rows.cells[j] for j in kept], rows.y)
    alike = bool((rows.weight == rows.weight[:1]).all())
    order = np.argsort(keys) if alike else np.lexsort((rows.weight, keys))
    cells = np.empty_like(rows.cells)
    for column, into in zip(rows.cells, cells, strict=True):
        np.take(column, order, out=into)
    found = LearningRows(cells, rows.y[order], rows.weight[order], rows.n_classes, keys[order])
    return found, order
