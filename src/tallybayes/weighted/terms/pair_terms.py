"""Pairs of columns as terms: the values of a selected pair for rows, and the pairs of the same two
columns from several fits, joined to one term.

Each fit has its own cells for the columns of a pair. A cell of the joined pair lies in one cell of
each fit, so the sum of their tables is one table over the joined cells.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.threads import get_num_threads
from tallybayes.weighted.rows import LearningRows

__all__ = [
    "CountedPair",
    "JoinedPair",
    "Member",
    "PairCells",
    "PairTerm",
    "SmoothPair",
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
class SmoothPair(PairCells):
    """A smooth function of two columns.

    Parameters are those of :class:`PairCells`, and besides:

    Parameters
    ----------
    table : float64 array (n_cells, n_classes)
        What it adds, in nats.
    """

    table: Array


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
    """What a pair adds to rows, each taken out, centred over classes, float32 (n_classes, n_rows).

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
    smooth : SmoothPair, optional
        The smooth function of the two columns, if there is one.
    within : list of two int arrays, (sizes[0],) and (sizes[1],)
        For each member, and last for the smooth function: in which of its cells of `first` and of
        `second` the joined ones lie.
    """

    members: list[Member]
    smooth: SmoothPair | None
    within: list[tuple[NDArray[np.intp], NDArray[np.intp]]]

    def spread(self, member: int, table: Array) -> Array:
        """A table of one of the members (its cells, n_classes) over the joined cells."""
        return self._spread(self.members[member].pair, self.within[member], table)

    def spread_smooth(self, table: Array) -> Array:
        """A table of the smooth function (its cells, n_classes) over the joined cells."""
        assert self.smooth is not None
        return self._spread(self.smooth, self.within[-1], table)

    def _spread(
        self, pair: PairCells, within: tuple[NDArray[np.intp], NDArray[np.intp]], table: Array
    ) -> Array:
        rows, cols = within
        if pair.first == self.first:
            entries = rows[:, None] * pair.sizes[1] + cols
        else:
            entries = cols * pair.sizes[1] + rows[:, None]
        found: Array = table[entries.ravel()]
        return found


def joined_pairs(
    pairs: list[list[PairTerm]], order: list[int], smooth: Iterable[SmoothPair] = ()
) -> list[JoinedPair]:
    """The pairs of several fits, each two columns once.

    Parameters
    ----------
    pairs : list of lists of PairTerm
        By learning; of the same columns.
    order : list of int
        The fits in the order in which their pairs come.
    smooth : iterable of SmoothPair
        Smooth functions of pairs, each two columns at most once; they come last.
    """
    members: dict[tuple[int, int], list[Member]] = {}
    for part in order:
        for place, pair in enumerate(pairs[part]):
            members.setdefault(_columns_of(pair), []).append(Member(part, place, pair))
    functions = {_columns_of(pair): pair for pair in smooth}
    both = dict.fromkeys([*members, *functions])
    return [_joined(members.get(key, []), functions.get(key)) for key in both]


def _columns_of(pair: PairCells) -> tuple[int, int]:
    return min(pair.first, pair.second), max(pair.first, pair.second)


def _joined(members: list[Member], smooth: SmoothPair | None) -> JoinedPair:
    each: list[PairCells] = [member.pair for member in members]
    each += [] if smooth is None else [smooth]
    one = each[0]
    if len(each) == 1:
        own = np.arange(one.sizes[0]), np.arange(one.sizes[1])
        return JoinedPair(one.first, one.second, one.maps, one.sizes, members, smooth, [own])
    maps, within = [], []
    for column in (one.first, one.second):
        cut = np.stack([pair.maps[int(pair.second == column)] for pair in each])
        cells, place = np.unique(cut, axis=1, return_inverse=True)
        maps.append(place.ravel().astype(np.int32))
        within.append(cells.astype(np.intp))
    sizes = within[0].shape[1], within[1].shape[1]
    together = list(zip(*within, strict=True))
    return JoinedPair(one.first, one.second, (maps[0], maps[1]), sizes, members, smooth, together)
