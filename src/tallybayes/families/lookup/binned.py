"""Numbers in bins: probabilities of cuts of the column.

P_α(x in b | c) = (n_cb + α) / (n_c + α·B)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.contract.cells import CellLaw
from tallybayes.families.contract.column_family import (
    BinnedReading,
    Context,
    NumberCounts,
    NumberFamily,
)
from tallybayes.families.lookup.bins import MAX_BINS, Bins, quantile_bins, supervised_bins
from tallybayes.families.lookup.leave_one_out import law_likelihood
from tallybayes.families.priors.hyperparameters import hold_choice, smoothing_number, whole_number
from tallybayes.schema import Kind
from tallybayes.tally import UNIT_ROWS, GridCounts, RowWeights

__all__ = ["CANDIDATES", "MIN_SMOOTHING", "Binned", "best_bins"]

Array = NDArray[np.float64]

CANDIDATES = (2, 4, 8, 16, 32, 64, 128)
MIN_SMOOTHING = 1e-10  # smoothing with which bins are compared


@dataclass(frozen=True)
class Binned(NumberFamily):
    """Smoothed counts in bins.

    Parameters
    ----------
    bins : int or "auto"
        How many; the best of 2, 4, … 128 by leave-one-out, by default.
    cuts : {"quantile", "supervised"}
        Bins of equally many effective rows, or the cuts that separate the classes best.
    alpha : float, optional
        Smoothing, in rows of weight 1; by default the model's alpha, in effective rows.
    """

    kind: ClassVar[Kind] = "grid"
    bins: int | Literal["auto"] = "auto"
    cuts: Literal["quantile", "supervised"] = "quantile"
    alpha: float | None = None

    def __post_init__(self) -> None:
        if self.bins != "auto":
            rule = "Binned takes bins='auto' or a whole number of bins, from 1 to 2²⁰"
            object.__setattr__(self, "bins", whole_number(rule, self.bins, 1, MAX_BINS))
        hold_choice(self, "cuts", Literal["quantile", "supervised"])
        if self.alpha is not None:
            object.__setattr__(self, "alpha", smoothing_number("Binned", self.alpha))

    @property
    def follows(self) -> bool:
        return self.alpha is None

    def likelihood(self, counts: NumberCounts, context: Context) -> BinnedReading:
        alpha = context.alpha_of_bins
        return self.read(counts.grid, context.classes, alpha, context.row_weights)

    def read(
        self,
        grid: GridCounts,
        classes: Array,
        alpha: float,
        row_weights: RowWeights = UNIT_ROWS,
    ) -> BinnedReading:
        """The bins and their law, from grid counts.

        Parameters
        ----------
        grid : GridCounts
            Grid counts of the column.
        classes : float64 array (n_classes,)
            Class counts, smoothed as the class prior is.
        alpha : float
            The model's alpha.
        row_weights : RowWeights
            Bins are compared with alpha in effective rows, so that a common factor on all weights
            chooses the same ones.
        """
        compared = row_weights.overall * max(
            alpha if self.alpha is None else self.alpha, MIN_SMOOTHING
        )
        if self.cuts == "supervised":
            finest = 128 if self.bins == "auto" else self.bins
            bins = supervised_bins(grid, compared, classes, finest, row_weights)
            likelihood = law_likelihood(
                bins.counts, _law(bins.counts, compared), classes, row_weights
            )
            return self.of_bins(bins, alpha, row_weights, likelihood)
        sizes = CANDIDATES if self.bins == "auto" else (self.bins,)
        best = best_bins(grid, classes, compared, row_weights, sizes)
        bins = quantile_bins(grid, best.bins, row_weights)
        return self.of_bins(bins, alpha, row_weights, best.likelihood)

    def of_bins(
        self, bins: Bins, alpha: float, row_weights: RowWeights, likelihood: float
    ) -> BinnedReading:
        """The bins and their law, whose L is known; see :meth:`read`.

        Parameters
        ----------
        bins : Bins
            Edges, and the cells between them.
        alpha : float
            Pseudo-counts of each level.
        row_weights : RowWeights
            Effective weights of rows, by class.
        likelihood : callable
            The log-likelihood of the rows under bins.
        """
        alpha = row_weights.overall * alpha if self.alpha is None else self.alpha
        what = f"binned, {bins.counts.shape[1]} bins"
        follows = alpha if self.follows else None
        return BinnedReading(bins.edges, _law(bins.counts, alpha), likelihood, what, follows)


class BestBins(NamedTuple):
    """How many quantile bins are best, and their L."""

    bins: int
    likelihood: float


def best_bins(
    grid: GridCounts,
    classes: Array,
    alpha: float,
    row_weights: RowWeights = UNIT_ROWS,
    sizes: tuple[int, ...] = CANDIDATES,
) -> BestBins:
    """The best number of quantile bins by leave-one-out, the earlier of equals; `alpha` is in rows
    of weight 1."""
    found: list[Bins] = []
    best: BestBins | None = None
    for size in sizes:
        bins = quantile_bins(grid, size, row_weights)
        # few values are cut alike however many bins may be
        if any(np.array_equal(bins.edges, other.edges) for other in found):
            continue
        found.append(bins)
        likelihood = law_likelihood(bins.counts, _law(bins.counts, alpha), classes, row_weights)
        if best is None or likelihood > best.likelihood:
            best = BestBins(size, likelihood)
    assert best is not None
    return best


def _law(counts: Array, alpha: float) -> CellLaw:
    """Additive smoothing of the bins' counts."""
    n = counts.shape[1]
    return CellLaw(
        counts=counts,
        total=counts.sum(axis=1, keepdims=True),
        n_cells=n,
        strength=alpha * n,
        base=np.full(n, 1.0 / n),
    )
