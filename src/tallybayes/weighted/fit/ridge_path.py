"""Corrections of a part's cells, from strong ridges to weak ones, and what rows left out say."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.fit.cell_offsets import CorrectedRows, added, solved
from tallybayes.weighted.fit.offset_cells import CorrectedCells

__all__ = ["CorrectionPath"]

OF_LOSS = 4e-3  # what the last step under a ridge may gain

Array = NDArray[np.float64]
Cells = NDArray[np.int32]


class CorrectionPath:
    """Corrections of the cells of terms under one ridge after the other.

    Parameters
    ----------
    cells : CorrectedCells
    rows : CorrectedRows
        Rows that are learned from, with S of each taken out.
    cells_left_out : int32 array (n_left_out, n_maps)
        Of the rows left out.
    scores_left_out : float64 array (n_left_out, n_classes)
    """

    def __init__(
        self,
        cells: CorrectedCells,
        rows: CorrectedRows,
        cells_left_out: Cells,
        scores_left_out: Array,
    ) -> None:
        self.cells, self._rows = cells, rows
        self._curvature = rows.curvature()
        self._left_out = cells_left_out, scores_left_out
        self.q = np.zeros(rows.shape)

    def follow(self, ridge: float) -> Array:
        """The next ridge: scores of the rows left out, corrected, (n_left_out, n_classes)."""
        self.q = solved(self._rows, self._curvature, ridge, self.q, of_loss=OF_LOSS)
        cells, scores = self._left_out
        return scores + added(self.q, cells)
