"""Corrections of a part's cells, from strong ridges to weak ones, and what rows left out say."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.polish import CorrectedRows, added, solved

__all__ = ["CorrectionPath"]

OF_LOSS = 4e-3  # what the last step under a ridge may gain

Array = NDArray[np.float64]
Cells = NDArray[np.int32]


class CorrectionPath:
    """Corrections of the cells of terms under one ridge after the other.

    Parameters
    ----------
    maps : list of (int, int32 array (n_cells,))
        Each way in which a term's cells are corrected: the term, and a coarser cell for each of its
        cells.
    cells : int32 array (n_rows, n_maps)
        Of rows that are learned from, numbered over all of `maps`; −1 for none.
    scores : float64 array (n_rows, n_classes)
        S, each row taken out.
    y : int32 array (n_rows,)
    weight : float64 array (n_rows,)
    cells_left_out : int32 array (n_left_out, n_maps)
        Of the rows left out.
    scores_left_out : float64 array (n_left_out, n_classes)
    """

    def __init__(
        self,
        maps: list[tuple[int, Cells]],
        cells: Cells,
        scores: Array,
        y: Cells,
        weight: Array,
        cells_left_out: Cells,
        scores_left_out: Array,
    ) -> None:
        self.maps = maps
        self._start = np.cumsum([0, *(int(cell.max()) + 1 for _, cell in maps)])
        self._rows = CorrectedRows(cells, scores, y, weight, int(self._start[-1]))
        self._curvature = self._rows.curvature()
        self._left_out = cells_left_out, scores_left_out
        self.q = np.zeros(self._rows.shape)

    def follow(self, ridge: float) -> Array:
        """The next ridge: scores of the rows left out, corrected, (n_left_out, n_classes)."""
        self.q = solved(self._rows, self._curvature, ridge, self.q, of_loss=OF_LOSS)
        cells, scores = self._left_out
        return scores + added(self.q, cells)

    def of_terms(self, q: Array, shapes: list[tuple[int, ...]]) -> list[Array]:
        """What is added to each cell of each term, centred over classes.

        Parameters
        ----------
        q : float64 array (n_cells, n_classes)
            As of `q`, at any ridge.
        shapes : list of (int, int)
            Of the terms' tables.
        """
        found = [np.zeros(shape) for shape in shapes]
        centred = q - q.mean(axis=1, keepdims=True)
        for (t, cells), more in zip(self.maps, np.split(centred, self._start[1:-1]), strict=True):
            found[t] += more[cells]
        return found
