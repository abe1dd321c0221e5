"""Leave-one-out look-ups in the cells of a column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.parameters import Cells

__all__ = ["cells_without"]

Array = NDArray[np.float64]


def cells_without(
    law: Cells, cells: NDArray[np.intp], own: NDArray[np.intp], weight: Array
) -> Array:
    """log-probabilities (n_rows, n_classes) of rows in these cells, each after it is taken out.

    Rows of one weight share a table of all cells; rows of different weight are cells themselves.

    Parameters
    ----------
    law : Cells
    cells, own : index arrays (n_rows,)
        The cell and the class of each row.
    weight : float64 array (n_rows,)
    """
    rows = np.arange(len(cells))
    if len(cells) and (weight == weight[0]).all():
        scores: Array = law.other_without(float(weight[0])).T[cells]
        scores[rows, own] = law.own_without(float(weight[0]))[own, cells]
        return scores
    taken = law.take(cells)
    scores = np.ascontiguousarray(taken.other_without(weight).T)
    scores[rows, own] = taken.own_without(weight)[own, rows]
    return scores
