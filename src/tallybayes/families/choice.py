"""The family of a column of numbers, chosen when its tally is read.

Candidates are a Gaussian, bins of equal weight, a smoothed density and, where values repeat more
than a density allows, a Gaussian beside these atoms; the one that tells the classes apart best by
leave-one-out (:mod:`tallybayes.families.loo`) is taken, the earlier of equals. Nothing but the
tally enters, so the choice is the same for a batch, a row at a time or merged parts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.atoms import atom_cells
from tallybayes.families.binned import Binned, BinnedReading
from tallybayes.families.gaussian import Gaussian
from tallybayes.families.pooled import Pooled
from tallybayes.families.smooth import Smooth
from tallybayes.tally import UNIT_ROWS, GridCounts, Moments, RowWeights

__all__ = ["UNDECLARED", "choose"]

Array = NDArray[np.float64]

UNDECLARED = Gaussian(var_smoothing=0.0, ddof=1.0, pooled_rows=1.0)
"""A column of numbers whose family nobody declared, as a Gaussian: a class of one row has no
variance of its own, and none outvotes its rows."""

UNPOOLED = 1e-9  # effective rows of all classes that only a class without rows shows

ROUNDING = 1e-9
"""Share of L within which two readings are equals, whatever the order of its sums was."""


def choose(
    moments: Moments,
    grid: GridCounts,
    classes: Array,
    alpha: float,
    plain: Gaussian,
    row_weights: RowWeights = UNIT_ROWS,
) -> tuple[Pooled | BinnedReading, float]:
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
    gaussian, one = Pooled.read(plain, moments, grid), row_weights.overall
    # the rows of all classes bound the loss of what a density does not explain: they are no excuse
    # for one that does not fit
    alone = replace(gaussian, rows=UNPOOLED * one)
    likelihood = alone.likelihood(grid, classes, row_weights)
    best: tuple[Pooled | BinnedReading, float] = gaussian, likelihood
    if grid.counts.any():
        for family in (Binned(), Smooth()):
            reading = family.read(grid, classes, alpha, row_weights)
            if reading.likelihood > best[1] + ROUNDING * abs(best[1]):
                best = reading, reading.likelihood
    cells = atom_cells(grid, one)
    if cells.any() and not cells.all():
        beside = Pooled.beside_atoms(plain, grid, cells)
        likelihood = beside.likelihood(grid, classes, row_weights)
        # to name a value costs log n nats: so much each atom has to gain
        if likelihood - len(beside.atoms) * one * np.log(grid.counts.sum() / one) > best[1]:
            best = beside, likelihood
    return best
