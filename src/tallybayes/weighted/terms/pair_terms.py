"""Pairs of columns as terms: what a pair that was taken says of rows, and the pairs of the same two
columns from several fits, read as one term.

Each fit cuts the columns of a pair into cells of its own. A cell of the joined pair lies in
one cell of each of them, so that a sum of their tables is one table over its cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.threads import get_num_threads
from tallybayes.weighted.cells.columns import ColumnCells, coarse
from tallybayes.weighted.rows import LearningRows

__all__ = [
    "CountedPair",
    "JoinedPair",
    "Member",
    "PairCells",
    "PairTerm",
    "coarser",
    "joined_pairs",
    "joint_cells",
    "pair_values",
    "summed",
]

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


def coarser(pair: PairCells, columns: list[ColumnCells], most: int) -> Cells | None:
    """A coarser joint cell for each joint cell of a pair, int32 (n_cells,); None where the pair
    has no number in more cells than that.

    Parameters
    ----------
    pair : PairCells
    columns : list of ColumnCells
    most : int
        Cells of a number.
    """
    each = []
    for j, cells, size in zip((pair.first, pair.second), pair.maps, pair.sizes, strict=True):
        label = np.arange(size, dtype=np.int32)
        if columns[j].is_number:
            label[cells] = coarse(columns[j], most)
        each.append(label)
    one, other = each
    if all(len(np.unique(label)) == len(label) for label in each):
        return None
    joint: Cells = (one[:, None] * (other.max() + 1) + other).ravel().astype(np.int32)
    return joint


class Member(NamedTuple):
    """A pair of one fit.

    Parameters
    ----------
    part : int
        The learning.
    place : int
        Of the pair among those of the fit.
    pair : PairTerm
    """

    part: int
    place: int
    pair: PairTerm


@dataclass(frozen=True, eq=False)
class JoinedPair(PairCells):
    """Pairs of the same two columns as one.

    Parameters are those of :class:`PairCells`, and besides:

    Parameters
    ----------
    members : list of Member
    within : list of two int arrays, (sizes[0],) and (sizes[1],)
        For each member: in which of its cells of `first` and of `second` the joined ones lie.
    """

    members: list[Member]
    within: list[tuple[NDArray[np.intp], NDArray[np.intp]]]

    def spread(self, member: int, table: Array) -> Array:
        """A table of one of the members (its cells, n_classes) over the joined cells."""
        pair, (rows, cols) = self.members[member].pair, self.within[member]
        if pair.first == self.first:
            entries = rows[:, None] * pair.sizes[1] + cols
        else:
            entries = cols * pair.sizes[1] + rows[:, None]
        found: Array = table[entries.ravel()]
        return found


def joined_pairs(pairs: list[list[PairTerm]], order: list[int]) -> list[JoinedPair]:
    """The pairs of several fits, each two columns once.

    Parameters
    ----------
    pairs : list of lists of PairTerm
        By learning; of the same columns.
    order : list of int
        The fits in the order in which their pairs come.
    """
    members: dict[tuple[int, int], list[Member]] = {}
    for part in order:
        for place, pair in enumerate(pairs[part]):
            key = (min(pair.first, pair.second), max(pair.first, pair.second))
            members.setdefault(key, []).append(Member(part, place, pair))
    return [_joined(some) for some in members.values()]


def _joined(members: list[Member]) -> JoinedPair:
    one = members[0].pair
    if len(members) == 1:
        own = np.arange(one.sizes[0]), np.arange(one.sizes[1])
        return JoinedPair(one.first, one.second, one.maps, one.sizes, members, [own])
    maps, within = [], []
    for column in (one.first, one.second):
        cut = np.stack([m.pair.maps[int(m.pair.second == column)] for m in members])
        cells, place = np.unique(cut, axis=1, return_inverse=True)
        maps.append(place.ravel().astype(np.int32))
        within.append(cells.astype(np.intp))
    sizes = within[0].shape[1], within[1].shape[1]
    each = list(zip(*within, strict=True))
    return JoinedPair(one.first, one.second, (maps[0], maps[1]), sizes, members, each)
