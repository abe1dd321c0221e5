"""Boosting of cells: small Newton steps, term after term, from corrections under a ridge on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.weighted.fit.cell_offsets import CorrectionPath

__all__ = ["CYCLES", "boosted"]

Array = NDArray[np.float64]

CYCLES = (10, 30, 100, 300)  # steps, after which the loss of the rows left out is computed
RATE = 1.0  # of a Newton step, at most 1 nat
RIDGE = 4.0  # rows of p·(1 − p) that a cell has beside its own


def boosted(path: CorrectionPath, cycles: int) -> Array:
    """Scores of the rows left out, (n_left_out, n_classes), after so many cycles of steps from the
    corrections that the path has reached.

    Parameters
    ----------
    path : CorrectionPath
    cycles : int
    """
    rows, path.q = path.rows, path.q.copy()
    each = rows.cells, path.cells.starts, rows.scores, rows.y, rows.weight
    _kernels.boost_cells(*each, path.q, cycles, RATE, RIDGE)
    return path.left_out
