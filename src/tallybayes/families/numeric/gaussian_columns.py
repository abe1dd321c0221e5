"""Columns of one Gaussian family, updated together when rows are learned one by one.

A row takes a handful of array operations, however many columns it has.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.contract.class_statistics import GaussianEstimate, Statistics, log_density

__all__ = ["GaussianColumns"]

Array = NDArray[np.float64]


class GaussianColumns:
    """Statistics of columns, float64 (n_columns, n_classes), that follow rows.

    Parameters
    ----------
    family : GaussianEstimate
    own : sequence of Statistics
        Of each class, (n_classes,), a column each.
    everyone : sequence of Statistics
        Of all classes together, (1,), a column each.
    """

    everyone: Statistics

    def __init__(
        self, family: GaussianEstimate, own: Sequence[Statistics], everyone: Sequence[Statistics]
    ) -> None:
        self.family = family
        self.own: Statistics = Statistics(*(np.stack(part) for part in zip(*own, strict=True)))
        self.everyone = Statistics(*(np.stack(part) for part in zip(*everyone, strict=True)))

    def learn(self, columns: list[int], x: list[float], k: int, weight: float) -> None:
        """Adds a row of class k that has these values in these columns; its weight is above 0."""
        values = np.array(x)
        _add(self.own, columns, k, values, weight)
        _add(self.everyone, columns, 0, values, weight)

    def forget(self, columns: list[int], x: list[float], k: int, weight: float) -> bool:
        """Takes such a row out; whether enough digits of the others are left."""
        values = np.array(x)
        return self.own.take_out((columns, k), values, weight) and self.everyone.take_out(
            (columns, 0), values, weight
        )

    def fade(self, factor: float) -> None:
        """Takes weight from every row, `factor` of it being left."""
        self.own, self.everyone = self.own.faded(factor), self.everyone.faded(factor)

    def log_density(self, columns: list[int], x: list[float]) -> Array:
        """Σ log p(x | c) over these columns, float64 (n_classes,)."""
        own = Statistics(*(part[columns] for part in self.own))
        everyone = Statistics(*(part[columns] for part in self.everyone))
        epsilon = self.family.var_smoothing * everyone.variance
        predictive = self.family.predictive(own, everyone, epsilon, self.family.spread(own))
        return np.asarray(log_density(np.array(x)[:, None], predictive).sum(axis=0))


def _add(statistics: Statistics, columns: list[int], k: int, x: Array, weight: float) -> None:
    """Adds a row to class k of some columns, in place; see :meth:`Statistics.learned`."""
    n, mean, squares = (part[columns, k] for part in statistics)
    total = n + weight
    apart = np.where(n > 0.0, x - mean, 0.0)
    statistics.n[columns, k] = total
    statistics.mean[columns, k] = np.where(n > 0.0, mean + apart * weight / total, x)
    more = apart * apart * weight * n / total
    statistics.squares[columns, k] = np.where(n > 0.0, squares + more, 0.0)
