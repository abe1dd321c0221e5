"""Columns of numbers whose classes share pooled rows, scored together in one pass over the rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.parameters import Density
from tallybayes.threads import get_num_threads

__all__ = ["CHUNK", "PooledColumns"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

CHUNK = 1 << 15  # rows whose intermediate results stay in the cache


class PooledColumns:
    """Densities that have the form of :class:`tallybayes.parameters.PooledTerms`.

    Parameters
    ----------
    densities : sequence of Density
        Of columns; their ``pooled()`` is not None.
    n_classes : int
    """

    less: _kernels.PooledScorer

    def __init__(self, densities: Sequence[Density], n_classes: int) -> None:
        self.densities = densities
        self.all: _kernels.PooledScorer = _kernels.PooledScorer(n_classes)
        self.less = _kernels.PooledScorer(n_classes)  # columns that the kernel takes rows out of
        self.by_kernel: list[int] = []
        for j, density in enumerate(densities):
            terms, less = density.pooled(), density.pooled_less()
            assert terms is not None
            self.all.add(*terms)
            if less is not None:
                self.less.add(*terms)
                self.less.add_less(*less)
                self.by_kernel.append(j)

    def add(self, columns: Sequence[Array], scores: Array) -> None:
        """Adds log p(x | c) to `scores` (n_rows, n_classes), contiguous, in place.

        Parameters
        ----------
        columns : sequence of float64 arrays (n_rows,)
            NaN adds nothing.
        """
        x = [np.ascontiguousarray(column) for column in columns]
        self.all.score(x, scores, get_num_threads())

    def add_without(
        self, columns: Sequence[Array], own: Index, weight: Array, scores: Array
    ) -> None:
        """The same after each row itself is taken out; `own` is its class, `weight` its weight."""
        x = [np.ascontiguousarray(column) for column in columns]
        redo = np.zeros((len(own), len(self.by_kernel)), dtype=np.uint8)
        self.less.score_without(
            [x[j] for j in self.by_kernel],
            np.ascontiguousarray(own, dtype=np.int64),
            np.ascontiguousarray(weight),
            scores,
            redo,
            get_num_threads(),
        )
        at = {j: i for i, j in enumerate(self.by_kernel)}
        for j, density in enumerate(self.densities):
            rows = np.flatnonzero(redo[:, at[j]] if j in at else ~np.isnan(x[j]))
            for start in range(0, len(rows), CHUNK):
                some = rows[start : start + CHUNK]
                scores[some] += density.without(x[j][some], own[some], weight[some])
