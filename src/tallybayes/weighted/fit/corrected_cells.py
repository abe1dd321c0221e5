"""Which cells of terms are corrected, how they are numbered, and on how many rows; and their
offsets under one ridge after the other, judged by rows left out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.fit.cell_offsets import CorrectedRows, added, solved
from tallybayes.weighted.rows import sampled
from tallybayes.weighted.terms.learning_rows import LearningRows

__all__ = ["CorrectedCells", "CorrectionPath"]

Array = NDArray[np.float64]
Cells = NDArray[np.int32]
Index = NDArray[np.intp]

MAX_VALUES = 1_000_000  # cells times classes
MAX_ROW_CELLS = 10_000_000  # rows times ways in which a term is corrected
MAX_ROW_VALUES = 50_000_000  # those times classes
OF_LOSS = 4e-3  # what the last step under a ridge may gain
CHUNK = 4096  # rows that are numbered at a time: few enough to stay in the cache


class CorrectedCells:
    """The cells that are corrected, numbered over all terms.

    Parameters
    ----------
    maps : list of (int, int32 array (n_cells,))
        Each way in which a term is corrected: the term, and the corrected cell of each of its
        cells. A term can have several.
    n_classes : int
    """

    def __init__(self, maps: list[tuple[int, Cells]], n_classes: int) -> None:
        self.maps, self.n_classes = maps, n_classes
        self._start = np.cumsum([0, *(int(cells.max(initial=-1)) + 1 for _, cells in maps)])

    @property
    def n(self) -> int:
        """How many cells are corrected."""
        return int(self._start[-1])

    @property
    def feasible(self) -> bool:
        """Whether there is a cell to correct, and not too many."""
        return bool(self.maps) and self.n * self.n_classes <= MAX_VALUES

    def learning_rows(self, rows: LearningRows) -> tuple[Index, Array]:
        """A sample of rows that corrections are learned on; see `sampled`."""
        max_cells = min(MAX_ROW_CELLS, MAX_ROW_VALUES // self.n_classes)
        max_rows = max(1, max_cells // len(self.maps))
        return sampled(rows.y, rows.weight, self.n_classes, max_rows)

    def numbered(self, codes: Callable[[int, Cells], Cells], cells: Cells, index: Index) -> Cells:
        """The corrected cells of some rows, int32 (n_some, n_maps); −1 where a row has none.

        Parameters
        ----------
        codes : callable
            Of a term and the cells of rows (n_columns, n_some): each row's cell of the term, or −1.
        cells : int32 array (n_columns, n_rows)
        index : index array (n_some,)
        """
        sizes = [len(corrected) + 1 for _, corrected in self.maps]
        flat = np.full(sum(sizes), -1, dtype=np.int32)  # −1 reads the last of a map
        ends, lookups = np.cumsum(sizes).tolist(), []
        for (t, corrected), start, size, end in zip(
            self.maps, self._start.tolist(), sizes, ends, strict=False
        ):
            lookup = flat[end - size : end]
            np.add(corrected, start, out=lookup[:-1])
            lookups.append((t, lookup))
        found = np.empty((len(index), len(lookups)), dtype=np.int32)
        for begin in range(0, len(index), CHUNK):
            chunk = slice(begin, begin + CHUNK)
            some = np.ascontiguousarray(cells[:, index[chunk]])
            for place, (t, lookup) in enumerate(lookups):
                found[chunk, place] = lookup[codes(t, some)]
        return found

    def of_terms(self, corrections: Array, sizes: list[int]) -> list[Array]:
        """What is added to each cell of each term, centred over classes.

        Parameters
        ----------
        corrections : float64 array (n, n_classes)
        sizes : list of int
            The cells of each term.
        """
        found = [np.zeros((size, self.n_classes)) for size in sizes]
        centred = corrections - corrections.mean(axis=1, keepdims=True)
        for (t, cells), more in zip(self.maps, np.split(centred, self._start[1:-1]), strict=True):
            found[t] += more[cells]
        return found


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
