"""Numbers in bins: a lookup table on cuts of the column.

P_α(x in b | c) = (n_cb + α) / (n_c + α·B)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.bins import Bins, quantile_bins, supervised_bins
from tallybayes.families.loo import table_likelihood
from tallybayes.schema import Kind
from tallybayes.tally import GridCounts

__all__ = ["Binned", "BinnedTable"]

Array = NDArray[np.float64]

CANDIDATES = (2, 4, 8, 16, 32, 64, 128)


@dataclass(frozen=True, eq=False)
class BinnedTable:
    """A column's bins, ready to look up.

    Parameters
    ----------
    edges : float64 array (n_bins − 1,)
    log_prob : float64 array (n_classes, n_bins)
    likelihood : float
        L of :mod:`tallybayes.families.loo`.
    what : str
        For the schema.
    """

    edges: Array
    log_prob: Array
    likelihood: float
    what: str


@dataclass(frozen=True)
class Binned:
    """Smoothed counts in bins.

    Parameters
    ----------
    bins : int or "auto"
        How many; the best of 2, 4, … 128 by leave-one-out, by default.
    cuts : {"quantile", "supervised"}
        Bins of equal weight, or the cuts that tell the classes apart best.
    alpha : float, optional
        Smoothing, in rows; the model's alpha by default.
    """

    kind: ClassVar[Kind] = "grid"
    bins: int | Literal["auto"] = "auto"
    cuts: Literal["quantile", "supervised"] = "quantile"
    alpha: float | None = None

    def read(self, grid: GridCounts, classes: Array, alpha: float) -> BinnedTable:
        """The table, from grid counts.

        Parameters
        ----------
        grid : GridCounts
        classes : float64 array (n_classes,)
            Class counts, smoothed as the class prior is.
        alpha : float
            The model's alpha.
        """
        alpha = alpha if self.alpha is None else self.alpha
        tried: list[tuple[float, Bins]] = []
        if self.cuts == "supervised":
            finest = 128 if self.bins == "auto" else self.bins
            options = [supervised_bins(grid, max(alpha, 1e-10), classes, finest)]
        else:
            sizes = CANDIDATES if self.bins == "auto" else (self.bins,)
            options = [quantile_bins(grid, size) for size in sizes]
        for bins in options:
            tried.append((table_likelihood(bins.counts, max(alpha, 1e-10), classes), bins))
        likelihood, bins = max(tried, key=lambda pair: pair[0])
        counts = bins.counts
        blank = counts.sum(axis=1) == 0.0
        if blank.any():
            counts = np.where(blank[:, None], counts.sum(axis=0), counts)
        smoothed = counts + alpha
        total = smoothed.sum(axis=1, keepdims=True)
        smoothed, total = (
            np.where(total > 0, smoothed, 1.0),
            np.where(total > 0, total, counts.shape[1]),
        )
        with np.errstate(divide="ignore"):
            log_prob = np.log(smoothed) - np.log(total)
        return BinnedTable(bins.edges, log_prob, likelihood, f"{counts.shape[1]} bins")
