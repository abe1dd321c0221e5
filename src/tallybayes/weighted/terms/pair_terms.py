"""A pair of columns that was taken, and what it says of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.threads import get_num_threads
from tallybayes.weighted.terms.learning_rows import LearningRows

__all__ = ["CountedPair", "PairCells", "PairTerm", "joint_cells", "pair_values", "summed"]

Array = NDArray[np.float64]
Cells = NDArray[np.int32]
Values = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class PairCells:
    """Two columns and the cells that they have together.

    Parameters
    ----------
    first, second : int
        Columns.
    maps : two int32 arrays (n_cells,)
        The coarser cell of each cell; −1 for none.
    sizes : (int, int)
        How many coarser cells there are of each column.
    """

    first: int
    second: int
    maps: tuple[Cells, Cells]
    sizes: tuple[int, int]

    @property
    def n_cells(self) -> int:
        """The joint cells."""
        return self.sizes[0] * self.sizes[1]

    def codes(self, cells: Cells) -> Cells:
        """The joint cell of rows, of cells (n_columns, n_rows); −1 where one is."""
        return joint_cells(cells[self.first], cells[self.second], *self.maps, self.sizes[1])


@dataclass(frozen=True, eq=False)
class PairTerm(PairCells):
    """A pair that was taken.

    Parameters are those of :class:`PairCells`, and besides:

    Parameters
    ----------
    counted, expected : float64 arrays (sizes[0]·sizes[1], n_classes)
        C + t and E + t.
    gain : float
        When it was taken, in nats.
    round : int
        In which it was taken, from 0.
    """

    counted: Array
    expected: Array
    gain: float
    round: int

    @property
    def full(self) -> Array:
        """Log-ratios with every row, float64 (n_cells, n_classes), in nats."""
        return np.log(self.counted / self.expected)


@dataclass(frozen=True, eq=False)
class CountedPair:
    """A pair with the sums it is made of.

    Parameters
    ----------
    term : PairTerm
    C, E : float64 arrays (n_cells, n_classes)
    prior : float64 array (n_classes,)
        t, what is added to both.
    proba : float32 array (n_rows, n_classes)
        P of all rows, when it was taken.
    """

    term: PairTerm
    C: Array
    E: Array
    prior: Array
    proba: Values


def joint_cells(first: Cells, second: Cells, a: Cells, b: Cells, width: int) -> Cells:
    """The joint cell of rows, by the maps a and b of each column's cells; −1 where one is."""
    joint = np.empty(len(first), dtype=np.int32)
    _kernels.joint_cells(first, second, a, b, width, joint, get_num_threads())
    return joint


def summed(cells: Cells, n_cells: int, rows: LearningRows, proba: Values) -> Array:
    """C, E, what of E is of the own class, and its squares, (4, n_cells, n_classes)."""
    sums = np.zeros((4, n_cells, rows.n_classes))
    _kernels.sum_pair(cells, rows.y, rows.weight, proba, sums)
    return sums


def pair_values(pair: CountedPair, rows: LearningRows, proba: Values) -> Values:
    """What a pair says of rows, each taken out, centred over classes, float32 (n_classes, n_rows).

    Parameters
    ----------
    pair : CountedPair
    rows : LearningRows
        Rows that it has counted.
    proba : float32 array (n_rows, n_classes)
        P of these rows.
    """
    values = np.empty((rows.n_classes, rows.n), dtype=np.float32)
    _kernels.residual_values(
        pair.term.codes(rows.cells),
        rows.y,
        rows.removed,
        proba,
        pair.C,
        pair.E,
        pair.prior,
        values,
        get_num_threads(),
    )
    return values
