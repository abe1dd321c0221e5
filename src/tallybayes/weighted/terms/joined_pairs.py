"""Pairs of the same two columns from several fits, read as one term.

Each fit cuts the columns of a pair into cells of its own. A cell of the joined pair lies in
one cell of each of them, so that a sum of their tables is one table over its cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.terms.pair_terms import PairCells, PairTerm

__all__ = ["JoinedPair", "Member", "joined_pairs"]

Array = NDArray[np.float64]
Cells = NDArray[np.int32]


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
