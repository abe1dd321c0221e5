"""The smooth functions of a weighted model, as tables of cells."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.terms.pair_terms import SmoothPair

__all__ = ["SmoothTables"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SmoothTables:
    """The smooth functions of columns and pairs, and how much they count.

    Parameters
    ----------
    share : float
        Their share of the model, in [0, 1); the fits have the rest. It is part of the tables.
    offset : float64 array (n_classes,)
        Their share of the class offsets, in nats.
    columns : list of float64 arrays (n_cells, n_classes)
        What each column adds, in nats, centred over classes.
    pairs : list of SmoothPair
        The same of pairs; each two columns at most once.
    """

    share: float
    offset: Array
    columns: list[Array]
    pairs: list[SmoothPair]

    def among(self, sizes: list[int], kept: list[int]) -> SmoothTables:
        """The same beside columns that add nothing.

        Parameters
        ----------
        sizes : list of int
            The cells of all columns.
        kept : list of int
            Where its own are among them.
        """
        columns = [np.zeros((size, len(self.offset))) for size in sizes]
        for j, table in zip(kept, self.columns, strict=True):
            columns[j] = table
        pairs = [replace(q, first=kept[q.first], second=kept[q.second]) for q in self.pairs]
        return replace(self, columns=columns, pairs=pairs)
