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
from tallybayes.weighted.neighbours import spread
from tallybayes.weighted.pair_terms import CountedPair, PairTerm, joint_cells, pair_values
from tallybayes.weighted.rows import LearningRows

__all__ = ["CountedPair", "PairTerm", "Pairs", "pair_values"]

Array = NDArray[np.float64]
Cells = NDArray[np.int32]
Values = NDArray[np.float32]

COARSE, FINE = 8, 16
STRENGTHS = (1.0, 4.0, 16.0)
MIDDLE = 1  # of the strengths, which pairs are screened with
WIDTHS = (1.0, 2.0, 4.0)
MOST_CELLS = 1500
MOST_ENTRIES = 300_000  # cells times classes
MOST_OPEN = 2000  # pairs that are screened more than once
MOST_WORK = 1_000_000_000  # pairs times rows times classes
THOROUGH = 20_000  # rows times classes up to which every way is tried under every strength
DOUBT = 300  # rows for which one pair may be taken by chance
WORTH = 1.0  # nats that a pair has to gain at least


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
        That pairs are chosen on.
    share : float64 array (n_classes,)
        p.
    among : index array
        The columns that may be in a pair.
    """

    def __init__(
        self,
        columns: list[ColumnCells],
        rows: LearningRows,
        share: Array,
        among: NDArray[np.intp],
    ) -> None:
        self.columns, self.rows = columns, rows
        self.strengths = np.outer(STRENGTHS, share * rows.n_classes)
        self.maps = {
            fine: [coarse(c, FINE if fine else COARSE) for c in columns] for fine in (False, True)
        }
        size = np.array([int(m.max()) + 1 for m in self.maps[False]], dtype=np.int64)
        self.size = size
        self.codes = np.zeros((len(columns), rows.n), dtype=np.uint8)
        for j in among:
            self.codes[j] = self.maps[False][j][rows.cells[j]]
        self.most_cells = max(100, min(MOST_CELLS, MOST_ENTRIES // rows.n_classes))
        first, second = (np.sort(among)[index] for index in np.triu_indices(len(among), 1))
        fits = (size[first] > 1) & (size[second] > 1)
        fits &= size[first] * size[second] <= self.most_cells
        self.open = np.column_stack([first[fits], second[fits]]).astype(np.int32)
        self.count = len(self.open)

    def best(self, proba: Values, most: int) -> list[_Found]:
        """The best pairs that are not taken yet, at most so many, each worth its place; they are
        taken.

        Parameters
        ----------
        proba : float32 array (n_rows, n_classes)
            P.
        most : int
        """
        work = len(self.open) * self.rows.n * self.rows.n_classes
        gains = self._screened(proba, int(-(-work // MOST_WORK)))
        if len(self.open) > MOST_OPEN:
            self.open = self.open[np.sort(np.argsort(-gains, kind="stable")[:MOST_OPEN])]
            gains = self._screened(proba, 1)
        order = np.argsort(-gains, kind="stable")[: 2 * most]
        found = [self._tried(int(i), int(j), proba) for i, j in self.open[order]]
        kept = [f for f in sorted(found, key=lambda f: -f.gain)[:most] if f.gain > self._least(f)]
        taken = {(f.first, f.second) for f in kept}
        left = [tuple(pair) not in taken for pair in self.open.tolist()]
        self.open = self.open[np.array(left, dtype=bool)]
        return kept

    def _least(self, f: _Found) -> float:
        """What a pair has to gain, in nats: of so many pairs, tried in so many ways, about one for
        300 rows gains that by chance."""
        number = self.columns[f.first].is_number or self.columns[f.second].is_number
        ways = self.count * (1 + len(WIDTHS) if number else 1)
        return max(WORTH, float(np.log(max(DOUBT * ways, 1) / max(self.rows.weight.sum(), 1.0))))

    def _screened(self, proba: Values, step: int) -> Array:
        """About what each open pair gains, by every so many rows."""
        gains = np.empty((len(self.open), 1))
        if len(gains):
            some = slice(None, None, max(step, 1))
            _kernels.screen_pairs(
                np.ascontiguousarray(self.codes[:, some]),
                self.size,
                self.open,
                np.ascontiguousarray(self.rows.y[some]),
                self.rows.weight[some].astype(np.float32),
                np.ascontiguousarray(proba[some]),
                self.strengths[MIDDLE : MIDDLE + 1],
                gains,
                get_num_threads(),
            )
        return gains[:, 0]

    def _joint(self, i: int, j: int, fine: bool, cells: Cells) -> tuple[Cells, int]:
        """The cell of each of some rows, −1 where a column has none; and how many there are."""
        a, b = self.maps[fine][i], self.maps[fine][j]
        width = int(b.max()) + 1
        return joint_cells(cells[i], cells[j], a, b, width), (int(a.max()) + 1) * width

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

    def _tried(self, i: int, j: int, proba: Values) -> _Found:
        """A pair with few cells, and, where it has numbers, with more cells and kernels: the best.
        Of many rows the other strengths are tried only on what is best under the middle one."""
        rows, ways = self.rows, []
        number = self.columns[i].is_number or self.columns[j].is_number
        for fine in (False, True) if number else (False,):
            cells, n_cells = self._joint(i, j, fine, rows.cells)
            if n_cells > self.most_cells:
                continue
            sums = _summed(cells, n_cells, rows, proba)
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

    def counted(self, f: _Found, rows: LearningRows, proba: Values, round: int) -> CountedPair:
        """A pair, counted on these rows.

        Parameters
        ----------
        f : one of what :meth:`best` found
        rows : LearningRows
        proba : float32 array (n_rows, n_classes)
        round : int
        """
        cells, n_cells = self._joint(f.first, f.second, f.fine, rows.cells)
        sums = _summed(cells, n_cells, rows, proba)
        C, E = self._smoothed(f.first, f.second, f.fine, f.width, sums)
        t = self.strengths[STRENGTHS.index(f.strength)]
        maps = self.maps[f.fine][f.first], self.maps[f.fine][f.second]
        sizes = int(maps[0].max()) + 1, int(maps[1].max()) + 1
        term = PairTerm(f.first, f.second, maps, sizes, C + t, E + t, f.gain, round)
        return CountedPair(term, np.ascontiguousarray(C), np.ascontiguousarray(E), t, proba)


def _summed(cells: Cells, n_cells: int, rows: LearningRows, proba: Values) -> Array:
    """C, E and what of E is of the own class, (3, n_cells, n_classes)."""
    sums = np.zeros((3, n_cells, rows.n_classes))
    _kernels.sum_pair(cells, rows.y, rows.weight, proba, sums)
    return sums


def _kernel(n: int, width: float) -> Array:
    """Triangular weights between the cells of a column; the last, the gap, is by itself."""
    kernel = spread(np.arange(n, dtype=np.float64), width)
    kernel[-1, :-1] = kernel[:-1, -1] = 0.0
    return kernel
