"""Counts of levels, and sums of non-negative features, by class."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.errors import IncompatibleTallies
from tallybayes.persistence import Shape, Within
from tallybayes.tally.base import Tally

__all__ = ["FeatureSums", "LevelCounts"]


# ---- rows, or weight, of each level in each class: Σ I(x_j = a, y = c) of equation (10) ----------
class LevelCounts(Tally):
    """Level counts, the columns side by side.

    Parameters
    ----------
    start : int64 array (n_features + 1,)
        Column j has the cells ``start[j] … start[j+1]−1``, one for each level.
    counts : float64 array (n_classes, start[-1])
        Rows, or weight.
    """

    additive: ClassVar[tuple[str, ...]] = ("counts",)
    frame: ClassVar[tuple[str, ...]] = ("start",)

    def __init__(
        self,
        start: Annotated[NDArray[np.int64], Shape("n_starts")],
        counts: Annotated[NDArray[np.float64], Shape("n_classes", "n_cells"), Within(0.0)],
    ) -> None:
        self.start = start
        self.counts = counts

    @classmethod
    def zeros(cls, n_classes: int, n_levels: NDArray[np.int64]) -> LevelCounts:
        start = np.concatenate([[0], np.cumsum(n_levels)]).astype(np.int64)
        return cls(start, np.zeros((n_classes, int(start[-1]))))

    @property
    def n_levels(self) -> NDArray[np.int64]:
        """Levels of each column, int64 (n_features,)."""
        return self.start[1:] - self.start[:-1]  # quicker than np.diff for few

    @property
    def n_features(self) -> int:
        return len(self.start) - 1

    def column(self, j: int) -> NDArray[np.float64]:
        """The counts of one column, (n_classes, N_j), a view."""
        return self.counts[:, self.start[j] : self.start[j + 1]]

    def totals(self) -> NDArray[np.float64]:
        """n_cj, the weight of each class in each column, (n_classes, n_features)."""
        if not self.counts.shape[1]:
            return np.zeros((self.n_classes, self.n_features))
        # reduceat reads an empty column as its neighbour's first cell: such columns are set to 0
        padded = np.concatenate([self.counts, np.zeros((self.n_classes, 1))], axis=1)
        totals = np.add.reduceat(padded, self.start[:-1], axis=1)
        totals[:, self.n_levels == 0] = 0.0
        return totals

    def widen(self, n_levels: NDArray[np.int64]) -> Self:
        """The same counts in a frame with more levels; new levels have no counts."""
        if np.array_equal(n_levels, self.n_levels):
            return self
        if (n_levels < self.n_levels).any():
            raise IncompatibleTallies("a column can only gain levels")
        wide = LevelCounts.zeros(self.n_classes, n_levels)
        old = np.arange(int(self.start[-1])) + np.repeat(
            wide.start[:-1] - self.start[:-1], self.n_levels
        )
        wide.counts[:, old] = self.counts
        return wide  # type: ignore[return-value]

    def moved(self, n_levels: NDArray[np.int64], to: NDArray[np.intp]) -> Self:
        """The same counts with cell i moved to cell to[i] of a frame with `n_levels`."""
        wide = LevelCounts.zeros(self.n_classes, n_levels)
        wide.counts[:, to] = self.counts
        return wide  # type: ignore[return-value]

    def narrowed(self, kept: NDArray[np.bool_]) -> Self:
        """The counts of some cells, a mask (n_cells,), each in its column."""
        before = np.concatenate([[0], np.cumsum(kept)])[self.start].astype(np.int64)
        return LevelCounts(before, np.ascontiguousarray(self.counts[:, kept]))  # type: ignore[return-value]

    def _column_of(self, cell: list[int]) -> int:
        return int(np.searchsorted(self.start, cell[0], side="right")) - 1


# ---- sums of non-negative features by class: Σ w·x, or Σ w·[x > threshold] -----------------------
class FeatureSums(Tally):
    """Feature sums.

    Parameters
    ----------
    sums : float64 array (n_classes, n_features)
    """

    additive: ClassVar[tuple[str, ...]] = ("sums",)

    def __init__(
        self, sums: Annotated[NDArray[np.float64], Shape("n_classes", "n_features"), Within(0.0)]
    ) -> None:
        self.sums = sums

    @classmethod
    def zeros(cls, n_classes: int, n_features: int) -> FeatureSums:
        """No rows counted. A large table is in huge pages, where the system has them."""
        table = _kernels.huge_table(n_classes, n_features)
        return cls(np.zeros((n_classes, n_features)) if table is None else table)
