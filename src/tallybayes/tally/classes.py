"""Rows, or weight, of each class: Σ I(y = c), the numerator of equation (9)."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.tally.base import RESIDUE, Tally, is_residue
from tallybayes.tally.effective import RowWeights, effective_row_weight, effective_rows

__all__ = ["ClassCounts"]

Array = NDArray[np.float64]

ROUNDING = 2.0**-48
"""The share of squared weights below which a difference of them is rounding."""


class ClassCounts(Tally):
    """Class counts, with the squared weights from which effective rows follow.

    Parameters
    ----------
    count : float64 array (n_classes,)
        Rows, or weight, of each class: Σw.
    squared_weights : float64 array (n_classes,), optional
        Σ w·|w| of each class, so that rows removed subtract. By default `count`: rows of
        weight 1.
    """

    additive: ClassVar[tuple[str, ...]] = ("count", "squared_weights")
    squares: ClassVar[tuple[str, ...]] = ("squared_weights",)

    def __init__(self, count: Array, squared_weights: Array | None = None) -> None:
        self.count = count
        self.squared_weights: Array = count.copy() if squared_weights is None else squared_weights

    @classmethod
    def zeros(cls, n_classes: int) -> ClassCounts:
        return cls(np.zeros(n_classes))

    @property
    def effective_rows(self) -> Array:
        """Kish's effective number of rows of each class, (n_classes,)."""
        return effective_rows(self.count, self.squared_weights)

    @property
    def row_weight(self) -> Array:
        """The weight of one effective row of each class, (n_classes,).

        A class without rows has that of all classes together.
        """
        own = effective_row_weight(self.count, self.squared_weights)
        return np.where(self.count > 0.0, own, self.pooled_row_weight)

    @property
    def pooled_effective_rows(self) -> float:
        """Kish's effective number of rows, all classes together."""
        return float(effective_rows(*self._pooled())[0])

    @property
    def pooled_row_weight(self) -> float:
        """The weight of one effective row, all classes together; 1 where nothing was counted."""
        return float(effective_row_weight(*self._pooled())[0])

    @property
    def row_weights(self) -> RowWeights:
        """The weight of one effective row, of each class and of all together."""
        return RowWeights(self.row_weight[:, None], self.pooled_row_weight)

    def _pooled(self) -> tuple[Array, Array]:
        return self.count.sum(keepdims=True), self.squared_weights.sum(keepdims=True)

    def settle(self, before: Self) -> None:
        """As for every tally; and where the rest of the squared weights cannot be that of rows, the
        rows left are taken to be as heavy as the ones before.

        That happens where rows are removed with other weights than they were counted with: the
        counts are right all the same. Where heavy rows leave only rounding of light ones, those are
        taken to weigh 1.
        """
        super().settle(before)
        rest, count = self.squared_weights, self.count
        possible = (rest > 0.0) & (rest <= count * count * (1.0 + RESIDUE))
        possible &= ~is_residue(rest, before.squared_weights)
        unknown = np.abs(rest) <= ROUNDING * before.squared_weights
        row_weight = np.where(unknown, np.minimum(before.row_weight, 1.0), before.row_weight)
        as_before = np.minimum(row_weight, count) * count
        self.squared_weights = np.where(possible & ~unknown, rest, as_before)
        self.squared_weights[count == 0.0] = 0.0

    def deficit(self) -> tuple[int, int, str] | None:
        negative = np.flatnonzero(self.count < 0.0)
        if not len(negative):
            return None
        k = int(negative[0])
        return k, -1, f"{self.count[k]:.17g}"
