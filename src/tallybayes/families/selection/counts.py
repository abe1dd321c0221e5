"""Columns without a declared family that may be read as counts, negative binomial.

They hold few different, small whole numbers from 0 on, with more variance than mean, and no class
with nearly one value only. Each row is left out of the mean and the size of its class. The size is
recomputed only if the column is the best candidate so far with the sizes of all rows.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.families.counts.sizes import MAX_COUNT
from tallybayes.families.numeric.atoms import any_nearly_constant, atom_cells
from tallybayes.tally import GridCounts

__all__ = ["is_of_counts", "score_counts"]

Array = NDArray[np.float64]

MAX_CELLS = 512
"""Different values times classes, at most."""
MAX_WORK = float(1 << 20)
"""Different values times classes times the largest value, at most: a few milliseconds."""


def is_of_counts(grid: GridCounts, row: float) -> bool:
    """Whether a column may be read as counts; `row` is the weight of a row."""
    some = _overdispersed(grid.counts, grid.values())
    return some and not any_nearly_constant(grid, atom_cells(grid, row), row)


def _overdispersed(counts: Array, values: Array) -> bool:
    """Whether values are few small counts with more variance than mean."""
    if not 2 < len(values) <= MAX_CELLS // len(counts):
        return False
    most = min(MAX_COUNT, MAX_WORK / (len(values) * len(counts)))
    if values[0] < 0.0 or values[-1] > most or (values != np.floor(values)).any():
        return False
    rows = counts.sum(axis=0)
    n, total, squares = rows.sum(), rows @ values, rows @ (values * values)
    return bool(squares - total * total / n > total)


def score_counts(
    columns: Mapping[int, tuple[Array, Array, float]],
    classes: Array,
    row: Array,
    one: float,
    pooled: float,
) -> dict[int, float]:
    """L of the columns that are small counts; where it is below that of what a column is read as,
    any number below that.

    Parameters
    ----------
    columns : mapping
        By number: counts (n_classes, n_values), values, and an L; one below it need not be exact.
    classes : float64 array (n_classes,)
        Class counts, smoothed as the class prior is.
    row : float64 array (n_classes,)
        The weight of a row of each class.
    one : float
        And of any row: the rows at the overall mean that each class has.
    pooled : float
        Rows of all classes.
    """
    some = {j: column for j, column in columns.items() if _overdispersed(*column[:2])}
    if not some:
        return {}
    counts, values, enough = (list(part) for part in zip(*some.values(), strict=True))
    scores = np.empty(len(some))
    _kernels.score_counts(counts, values, classes, row, one, pooled, np.array(enough), scores)
    return dict(zip(some, scores.tolist(), strict=True))
