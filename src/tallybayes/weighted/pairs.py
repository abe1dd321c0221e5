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
from tallybayes.weighted.rows import LEAST, LearningRows
from tallybayes.weighted.tables import spread

__all__ = ["PairTerm", "Pairs"]

Array = NDArray[np.float64]
Cells = NDArray[np.int32]
Values = NDArray[np.float32]

COARSE, FINE = 8, 16
STRENGTHS = (1.0, 4.0, 16.0)
MIDDLE = 1  # of the strengths, which pairs are screened with
WIDTHS = (1.0, 2.0, 4.0)
MOST_CELLS = 1500
THOROUGH = 20_000  # rows times classes up to which every way is tried under every strength
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
    counted, expected : float64 arrays (sizes[0]·sizes[1], n_classes)
        C + t and E + t.
    gain : float
        When it was taken, in nats.
    """

    first: int
    second: int
    maps: tuple[Cells, Cells]
    sizes: tuple[int, int]
    counted: Array
    expected: Array
    gain: float

    @property
    def full(self) -> Array:
        """Log-ratios with every row, float64 (n_cells, n_classes), in nats."""
        return np.log(self.counted / self.expected)

    def without(self, codes: Cells, y: NDArray[np.intp], removed: Array, proba: Array) -> Array:
        """What the pair says of rows that it was made of, each taken out of both sums, float64
        (n_rows, n_classes), in nats; 0 where the cell is −1.

        Parameters
        ----------
        codes : int32 array (n_rows,)
            Their joint cells.
        y : int array (n_rows,)
        removed : float64 array (n_rows,)
            What each takes out of a count.
        proba : float64 array (n_rows, n_classes)
            P as it is now, in place of what it was when the pair was taken.
        """
        counted = self.counted[codes]
        counted[np.arange(len(y)), y] -= removed
        expected = self.expected[codes] - removed[:, None] * proba
        said = np.log(np.maximum(counted, LEAST) / np.maximum(expected, LEAST))
        said[codes < 0] = 0.0
        return said

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
        gains = np.empty((len(candidates), 1))
        _kernels.screen_pairs(
            self.codes,
            self.size,
            candidates,
            self.rows.y,
            self.rows.weight.astype(np.float32),
            proba.astype(np.float32),
            self.strengths[MIDDLE : MIDDLE + 1],
            gains,
            get_num_threads(),
        )
        order = np.argsort(-gains[:, 0], kind="stable")[: 2 * most]
        found = [self._tried(self.open[q], proba) for q in order.tolist()]
        least = MARGIN * np.log(max(self.count, 1))
        kept = [f for f in sorted(found, key=lambda f: -f.gain)[:most] if f.gain > least]
        taken = {(f.first, f.second) for f in kept}
        self.open = [pair for pair in self.open if pair not in taken]
        return [self._term(f, proba) for f in kept]

    def _joint(self, i: int, j: int, fine: bool) -> tuple[Cells, int]:
        """The cell of each row, and how many there are."""
        a, b = self.maps[fine][i], self.maps[fine][j]
        width = int(b.max()) + 1
        cells = (a[self.rows.cells[i]] * width + b[self.rows.cells[j]]).astype(np.int32)
        return cells, (int(a.max()) + 1) * width

    def _summed(self, cells: Cells, n_cells: int, proba: Array) -> Array:
        """C, E and what of E is of the own class, (3, n_cells, n_classes)."""
        sums = np.zeros((3, n_cells, self.rows.n_classes))
        _kernels.sum_pair(cells, self.rows.y, self.rows.weight, proba, sums)
        return sums

    def _smoothed(
        self, i: int, j: int, fine: bool, width: float, sums: Array
    ) -> tuple[Array, Array]:
        """C and E over neighbouring cells of numbers, the gap by itself."""
        a, b = (int(self.maps[fine][q].max()) + 1 for q in (i, j))
        cube = sums[:2].reshape(2, a, b, -1)
        if width > 1.0 and self.columns[i].is_number:
            cube = np.matmul(_kernel(a, width), cube.reshape(2, a, -1)).reshape(cube.shape)
        if width > 1.0 and self.columns[j].is_number:
            cube = np.matmul(_kernel(b, width), cube)
        flat = cube.reshape(2, a * b, -1)
        return flat[0], flat[1]

    def _tried(self, pair: tuple[int, int], proba: Array) -> _Found:
        """A pair with few cells, and, where it has numbers, with more cells and kernels: the best.
        Of many rows the other strengths are tried only on what is best under the middle one."""
        i, j = pair
        rows, ways = self.rows, []
        number = self.columns[i].is_number or self.columns[j].is_number
        for fine in (False, True) if number else (False,):
            cells, n_cells = self._joint(i, j, fine)
            if n_cells > MOST_CELLS:
                continue
            sums = self._summed(cells, n_cells, proba)
            for width in WIDTHS if fine else WIDTHS[:1]:
                ways.append((fine, width, cells, *self._smoothed(i, j, fine, width, sums)))

        def gain(way: tuple[bool, float, Cells, Array, Array], s: int) -> float:
            _, _, cells, C, E = way
            t = self.strengths[s]
            return _kernels.residual_gain(cells, rows.y, rows.weight, proba, C, E, t)

        if rows.n * rows.n_classes > THOROUGH:
            ways = [max(ways, key=lambda way: gain(way, MIDDLE))]
        found = [
            (gain(way, s), -index, strength)
            for index, way in enumerate(ways)
            for s, strength in enumerate(STRENGTHS)
        ]
        best, index, strength = max(found)
        fine, width, *_ = ways[-index]
        return _Found(best, i, j, fine, strength, width)

    def _term(self, f: _Found, proba: Array) -> tuple[PairTerm, Values]:
        rows = self.rows
        cells, n_cells = self._joint(f.first, f.second, f.fine)
        sums = self._summed(cells, n_cells, proba)
        C, E = self._smoothed(f.first, f.second, f.fine, f.width, sums)
        t = self.strengths[STRENGTHS.index(f.strength)]
        values = np.empty((rows.n_classes, rows.n), dtype=np.float32)
        _kernels.residual_values(
            cells, rows.y, rows.weight, proba, C, E, t, values, get_num_threads()
        )
        maps = self.maps[f.fine][f.first], self.maps[f.fine][f.second]
        sizes = int(maps[0].max()) + 1, int(maps[1].max()) + 1
        return PairTerm(f.first, f.second, maps, sizes, C + t, E + t, f.gain), values


def _kernel(n: int, width: float) -> Array:
    """Triangular weights between the cells of a column; the last, the gap, is by itself."""
    kernel = spread(np.arange(n, dtype=np.float64), width)
    kernel[-1, :-1] = kernel[:-1, -1] = 0.0
    return kernel
