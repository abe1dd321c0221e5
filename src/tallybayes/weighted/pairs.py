"""Pairs of columns as joint tables of what the model does not say yet.

With P the present leave-one-out probabilities, the cells of a pair count C = Σ [y = k] and expect
E = Σ P_ik; a cell says log[(C_k + t_k) / (E_k + t_k)], t_k = τ·K·p_k, a row being taken out of both
sums. What a pair gains is the exact rise of the leave-one-out log-likelihood. All pairs are
screened with few cells a column; the best are tried with more cells and a kernel over neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.threads import get_num_threads
from tallybayes.weighted.cells import ColumnCells, coarse
from tallybayes.weighted.rows import LearningRows
from tallybayes.weighted.tables import spread

__all__ = ["PairTerm", "Pairs"]

Array = NDArray[np.float64]
Cells = NDArray[np.int32]
Values = NDArray[np.float32]

COARSE, FINE = 8, 16
STRENGTHS = (1.0, 4.0, 16.0)
WIDTHS = (1.0, 2.0, 4.0)
MOST_CELLS = 1500
MARGIN = 0.7  # times log(number of pairs): what a pair has to gain, in nats


@dataclass(frozen=True, eq=False)
class PairTerm:
    """A pair that was taken.

    Parameters
    ----------
    first, second : int
        Columns.
    maps : two int32 arrays (n_cells,)
        The coarser cell of each cell.
    sizes : (int, int)
    full : float64 array (sizes[0]·sizes[1], n_classes)
        Log-ratios with every row, in nats.
    gain : float
        When it was taken, in nats.
    """

    first: int
    second: int
    maps: tuple[Cells, Cells]
    sizes: tuple[int, int]
    full: Array
    gain: float

    def codes(self, cells: Cells) -> Cells:
        """The joint cell of rows, of cells (n_columns, n_rows); −1 where one is."""
        a, b = cells[self.first], cells[self.second]
        joint = self.maps[0][a] * self.sizes[1] + self.maps[1][b]
        return np.where((a < 0) | (b < 0), -1, joint).astype(np.int32)


@dataclass(frozen=True)
class _Found:
    gain: float
    first: int
    second: int
    fine: bool
    strength: float
    width: float


class Pairs:
    """The pairs of columns, and which of them were taken.

    Parameters
    ----------
    columns : list of ColumnCells
    rows : LearningRows
    share : float64 array (n_classes,)
        p.
    """

    def __init__(self, columns: list[ColumnCells], rows: LearningRows, share: Array) -> None:
        self.columns, self.rows = columns, rows
        self.strengths = np.outer(STRENGTHS, share * rows.n_classes)
        self.maps = {
            fine: [coarse(c, FINE if fine else COARSE) for c in columns] for fine in (False, True)
        }
        size = [int(m.max()) + 1 for m in self.maps[False]]
        codes = [
            m[cells].astype(np.uint8) for m, cells in zip(self.maps[False], rows.cells, strict=True)
        ]
        self.codes = np.stack(codes)
        self.size = np.array(size, dtype=np.int64)
        d = len(columns)
        self.open = [
            (i, j)
            for i in range(d)
            for j in range(i + 1, d)
            if size[i] > 1 and size[j] > 1 and size[i] * size[j] <= MOST_CELLS
        ]
        self.count = len(self.open)

    def best(self, proba: Array, most: int) -> list[tuple[PairTerm, Values]]:
        """The best pairs that are not taken yet, at most so many, each worth its place; they are
        taken. Beside each what it says of the learning rows, each taken out, centred over classes,
        float32 (n_classes, n_rows).

        Parameters
        ----------
        proba : float64 array (n_rows, n_classes)
            P.
        most : int
        """
        if not self.open:
            return []
        candidates = np.array(self.open, dtype=np.int32)
        gains = np.empty((len(candidates), len(STRENGTHS)))
        _kernels.screen_pairs(
            self.codes,
            self.size,
            candidates,
            self.rows.y,
            self.rows.weight,
            proba,
            self.strengths,
            gains,
            get_num_threads(),
        )
        order = np.argsort(-gains.max(axis=1), kind="stable")[: 2 * most]
        found = []
        for q in order.tolist():
            i, j = self.open[q]
            top = int(np.argmax(gains[q]))
            first = _Found(float(gains[q, top]), i, j, False, STRENGTHS[top], 1.0)
            found.append(max([first, *self._tried(i, j, proba)], key=lambda f: f.gain))
        least = MARGIN * np.log(max(self.count, 1))
        kept = [f for f in sorted(found, key=lambda f: -f.gain)[:most] if f.gain > least]
        taken = {(f.first, f.second) for f in kept}
        self.open = [pair for pair in self.open if pair not in taken]
        return [self._term(f, proba) for f in kept]

    def _joint(self, i: int, j: int, fine: bool, proba: Array) -> tuple[Cells, Array, Array]:
        a, b = self.maps[fine][i], self.maps[fine][j]
        width = int(b.max()) + 1
        ci, cj = self.rows.cells[i], self.rows.cells[j]
        cells = (a[ci] * width + b[cj]).astype(np.int32)
        C = np.zeros(((int(a.max()) + 1) * width, self.rows.n_classes))
        E = np.zeros_like(C)
        _kernels.count_residuals(cells, self.rows.y, self.rows.weight, proba, C, E)
        return cells, C, E

    def _smoothed(self, i: int, j: int, fine: bool, width: float, C: Array) -> Array:
        """Counts spread over neighbouring cells of numbers, the gap by itself."""
        if width <= 1.0:
            return C
        a, b = (int(self.maps[fine][q].max()) + 1 for q in (i, j))
        cube = C.reshape(a, b, -1)
        if self.columns[i].is_number:
            cube = np.einsum("xa,abk->xbk", _kernel(a, width), cube)
        if self.columns[j].is_number:
            cube = np.einsum("yb,abk->ayk", _kernel(b, width), cube)
        return np.ascontiguousarray(cube.reshape(C.shape))

    def _tried(self, i: int, j: int, proba: Array) -> list[_Found]:
        """A pair with more cells and kernels, where it has numbers."""
        if not (self.columns[i].is_number or self.columns[j].is_number):
            return []
        if (int(self.maps[True][i].max()) + 1) * (int(self.maps[True][j].max()) + 1) > MOST_CELLS:
            return []
        cells, C, E = self._joint(i, j, True, proba)
        found = []
        for width in WIDTHS:
            c, e = self._smoothed(i, j, True, width, C), self._smoothed(i, j, True, width, E)
            for strength, t in zip(STRENGTHS, self.strengths, strict=True):
                gain = _kernels.residual_gain(cells, self.rows.y, self.rows.weight, proba, c, e, t)
                found.append(_Found(gain, i, j, True, strength, width))
        return found

    def _term(self, f: _Found, proba: Array) -> tuple[PairTerm, Values]:
        cells, C, E = self._joint(f.first, f.second, f.fine, proba)
        C = self._smoothed(f.first, f.second, f.fine, f.width, C)
        E = self._smoothed(f.first, f.second, f.fine, f.width, E)
        t = self.strengths[STRENGTHS.index(f.strength)]
        values = np.empty((self.rows.n_classes, self.rows.n), dtype=np.float32)
        rows = self.rows
        _kernels.residual_values(
            cells, rows.y, rows.weight, proba, C, E, t, values, get_num_threads()
        )
        maps = self.maps[f.fine][f.first], self.maps[f.fine][f.second]
        sizes = int(maps[0].max()) + 1, int(maps[1].max()) + 1
        full = np.log((C + t) / (E + t))
        return PairTerm(f.first, f.second, maps, sizes, full, f.gain), values


def _kernel(n: int, width: float) -> Array:
    """Triangular weights between the cells of a column; the last, the gap, is by itself."""
    kernel = spread(np.arange(n, dtype=np.float64), width)
    kernel[-1, :-1] = kernel[:-1, -1] = 0.0
    return kernel
