"""The rows that weights are learned on, and what each term says of them.

Rows and columns are read in a canonical order, so that what is learned does not depend on the given
one. Each row has a key, a hash of its cells and its label: sums of floating-point numbers, samples
and folds follow the keys. Equal rows ("twins") have equal keys and stand side by side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.cells.columns import ColumnCells
from tallybayes.weighted.rows import distinct, row_keys, salted, twin_folds
from tallybayes.weighted.terms.column_tables import ColumnTable

__all__ = [
    "LEAST",
    "LearningRows",
    "canonical",
    "column_values",
    "counted_in",
    "row_weights",
]

Array = NDArray[np.float64]
Cells = NDArray[np.int32]
Index = NDArray[np.intp]

BY_CHANCE = 0.05  # rows of a content
LEAST = 1e-9  # of a smoothed count that rounding has left at or below zero


@dataclass(frozen=True, eq=False)
class LearningRows:
    """Rows as cells.

    Parameters
    ----------
    cells : int32 array (n_columns, n_rows)
    y : int32 array (n_rows,)
    weight : float64 array (n_rows,)
        In effective rows. A row is left out whole, whatever it weighs; one of weight 0 is none.
    n_classes : int
    keys : uint64 array (n_rows,), optional
        A hash of each row's cells and label, which samples and folds follow; see `canonical`.
    """

    cells: Cells
    y: Cells
    weight: Array
    n_classes: int
    keys: NDArray[np.uint64] | None = None

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def removed(self) -> Array:
        """What leaving a row out takes from a count: all of it."""
        return self.weight

    def take(self, rows: NDArray[np.intp]) -> LearningRows:
        """Some rows."""
        return LearningRows(
            np.take(self.cells, rows, axis=1),
            self.y[rows],
            self.weight[rows],
            self.n_classes,
            None if self.keys is None else self.keys[rows],
        )

    def among(self, columns: list[int]) -> LearningRows:
        """The same rows in some columns, in this order; the keys are of these alone."""
        if columns == list(range(len(self.cells))):
            return self
        some = replace(self, cells=np.ascontiguousarray(self.cells[columns]), keys=None)
        return replace(some, keys=some.content())

    def content(self) -> NDArray[np.uint64]:
        """The keys of the rows."""
        return row_keys(list(self.cells), self.y) if self.keys is None else self.keys

    def folds(self, folds: int, salt: int) -> NDArray[np.intp]:
        """The fold of each row; see `twin_folds`."""
        keys = self.content()
        if self._alike_by_chance(keys):
            keys = keys + salted(np.arange(self.n, dtype=np.uint64), salt)
        return twin_folds(keys, self.y, self.n_classes, folds, salt)

    def _alike_by_chance(self, keys: NDArray[np.uint64]) -> bool:
        """Whether equal rows are not copies, as columns distinguish so few rows: of n rows whose
        columns had nothing to do with each other, n / exp(Σ H) would have a given content, H the
        entropy of a column. In few columns that is more than one in twenty, and to hold all rows
        of a content out would leave other rows in than there are."""
        room = np.log(self.n / BY_CHANCE)
        for cells in self.cells:
            share = np.bincount(cells[cells >= 0]) / self.n
            share = share[share > 0.0]
            room += float(share @ np.log(share))
            if room < 0.0:
                return False
        return len(np.unique(keys)) < len(keys)


def counted_in(columns: list[ColumnCells], rows: LearningRows) -> list[ColumnCells]:
    """The same columns with the counts of these rows."""
    found = []
    for column, cells in zip(columns, rows.cells, strict=True):
        known = cells >= 0
        at = cells[known] * rows.n_classes + rows.y[known]
        counts = np.zeros((column.n_cells, rows.n_classes))
        counts += np.bincount(at, rows.weight[known], counts.size).reshape(counts.shape)
        found.append(replace(column, counts=counts))
    return found


def row_weights(rows: LearningRows, sizes: list[int]) -> list[Array]:
    """What leaving a row out takes from a count: what the rows of a cell and class weigh, averaged
    over their weight, Σw² / Σw. Leave-one-out by counts alone needs no more of the weights.

    Parameters
    ----------
    rows : LearningRows
    sizes : list of int
        Cells of each column.

    Returns
    -------
    list of float64 arrays (n_cells, n_classes), or (n_classes,) where the rows of a class weigh
    alike
    """
    y, w, n_classes = rows.y, rows.weight, rows.n_classes
    of_class = np.ones(n_classes)
    of_class[y] = w
    if (w == of_class[y]).all():
        return [of_class] * len(sizes)
    of_class = _mean_weight(y, w, n_classes, np.ones(n_classes))
    found = []
    for size, cells in zip(sizes, rows.cells, strict=True):
        at = (cells + 1) * np.intp(n_classes) + y  # the first cell is that of −1
        usual = np.tile(of_class, size + 1)
        found.append(_mean_weight(at, w, len(usual), usual).reshape(-1, n_classes)[1:])
    return found


def _mean_weight(of: NDArray[np.integer], w: Array, size: int, usual: Array) -> Array:
    """Σw² / Σw of the rows of each of so many groups, or what is usual."""
    total = np.bincount(of, w, size)
    mean = np.bincount(of, w * w, size) / np.where(total > 0.0, total, 1.0)
    return np.where(total > 0.0, mean, usual)


def column_values(
    table: ColumnTable, cells: Cells, y: Cells, removed: Array, share: Array
) -> NDArray[np.float32]:
    """What a column says of each row with the row taken out, centred over classes, float32
    (n_classes, n_rows); 0 where the cell is −1.

    Only the count of the row's own class differs from the table: m, which all classes have in
    common, is lost in the centring.

    Parameters
    ----------
    table : ColumnTable
    cells, y : int32 arrays (n_rows,)
    removed : float64 array (n_rows,)
    share : float64 array (n_classes,)
        p.
    """
    n_classes = len(share)
    full = np.log(np.maximum(table.smoothed, LEAST) / share)
    if full.size * n_classes <= len(y) and (removed == 1.0).all() and (cells >= 0).all():
        said = np.repeat(full[:, None], n_classes, axis=1)  # by cell and class of the row
        every = np.arange(n_classes)
        said[:, every, every] = np.log(np.maximum(table.smoothed - 1.0, LEAST) / share)
        said -= said.mean(axis=2, keepdims=True)
        by_class = said.reshape(-1, n_classes).T.astype(np.float32)
        return np.take(by_class, cells * n_classes + y, axis=1)
    index = np.arange(len(y))
    values = full[cells]
    own = table.smoothed[cells, y] - removed
    values[index, y] = np.log(np.maximum(own, LEAST) / share[y])
    values -= values.mean(axis=1, keepdims=True)
    values[cells < 0] = 0.0
    return np.ascontiguousarray(values.T.astype(np.float32))


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
