"""The family of a column of numbers, chosen when its tally is read.

Candidates are a Gaussian, bins of equal weight and a smoothed density; the one that tells the
classes apart best by leave-one-out (:mod:`tallybayes.families.loo`) is taken, the earlier of
equals. Nothing but the tally enters, so the choice is the same for a batch, a row at a time or
merged parts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.binned import Binned, BinnedReading
from tallybayes.families.densities import GaussianDensity
from tallybayes.families.gaussian import Gaussian, Statistics
from tallybayes.families.loo import conditional
from tallybayes.families.smooth import Smooth
from tallybayes.tally import UNIT_ROWS, GridCounts, Moments, RowWeights

__all__ = ["choose", "density_likelihood"]

Array = NDArray[np.float64]


def density_likelihood(
    density: GaussianDensity,
    grid: GridCounts,
    classes: Array,
    row_weights: RowWeights = UNIT_ROWS,
) -> float:
    """L of a Gaussian, each grid cell at one value; see :mod:`tallybayes.families.loo`."""
    values = grid.values()
    one = np.minimum(grid.counts, row_weights.by_class)
    own = Statistics(*(part[:, None] for part in density.own))
    with np.errstate(over="ignore"):
        mine = density.own_without(values[None, :], own, one)
        full = density.log_density(values).T
        return conditional(grid.counts, full, mine, classes, row_weights)


def choose(
    moments: Moments,
    grid: GridCounts,
    classes: Array,
    alpha: float,
    plain: Gaussian,
    row_weights: RowWeights = UNIT_ROWS,
) -> tuple[GaussianDensity | BinnedReading, float]:
    """The best reading of a column of numbers, and its L.

    Parameters
    ----------
    moments, grid : tallies of one column
    classes : float64 array (n_classes,)
        Class counts, smoothed as the class prior is.
    alpha : float
        Smoothing of bins, in effective rows.
    plain : Gaussian
        The Gaussian that is a candidate.
    row_weights : RowWeights
    """
    gaussian = GaussianDensity.read(plain, moments, grid)
    best: tuple[GaussianDensity | BinnedReading, float] = (
        gaussian,
        density_likelihood(gaussian, grid, classes, row_weights),
    )
    if grid.counts.any():
        for family in (Binned(), Smooth()):
            reading = family.read(grid, classes, alpha, row_weights)
            if reading.likelihood > best[1]:
                best = (reading, reading.likelihood)
    return best
