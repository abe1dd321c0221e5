"""The family of a column of numbers, chosen when its tally is read.

Candidates are a Gaussian, bins of equal weight, a smoothed density and, where values repeat more
than a density allows, a Gaussian beside these atoms; the one that tells the classes apart best by
leave-one-out (:mod:`tallybayes.families.loo`) is taken, the earlier of equals. A plain Gaussian is
no candidate where a class is nearly all one value: the few others do not tell its spread, and the
rows that would show it are those it has not seen. Nothing but the
tally enters, so the choice is the same for a batch, a row at a time or merged parts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.atoms import any_nearly_constant, atom_cells
from tallybayes.families.binned import CANDIDATES, LEAST, Binned, BinnedReading, best_bins
from tallybayes.families.gaussian import Gaussian
from tallybayes.families.pooled import Pooled
from tallybayes.families.smooth import FINE_BINS, STRENGTHS, WIDTHS, Smooth, best_density
from tallybayes.tally import UNIT_ROWS, GridCounts, Moments, RowWeights

__all__ = ["UNDECLARED", "ReadAs", "can_read_as", "choose", "read_as"]

Array = NDArray[np.float64]

UNDECLARED = Gaussian(var_smoothing=0.0, ddof=1.0, pooled_rows=1.0)
"""A column of numbers whose family nobody declared, as a Gaussian: a class of one row has no
variance of its own, and none outvotes its rows."""

UNPOOLED = 1e-9  # effective rows of all classes that only a class without rows shows

ROUNDING = 1e-9
"""Share of L within which two readings are equals, whatever the order of its sums was."""


@dataclass(frozen=True)
class ReadAs:
    """What a column of numbers whose family nobody declared is read as.

    Parameters
    ----------
    family : {"gaussian", "atoms", "bins", "smooth"}
        A Gaussian, one beside atoms, bins of equal weight, or a smoothed density.
    likelihood : float
        L of :mod:`tallybayes.families.loo`.
    bins : int
        How many bins are asked for; 0 of a Gaussian.
    width : int
    strength : float
        Of a smoothed density, the strength in effective rows.
    """

    family: Literal["gaussian", "atoms", "bins", "smooth"]
    likelihood: float
    bins: int = 0
    width: int = 0
    strength: float = 0.0


def choose(
    moments: Moments,
    grid: GridCounts,
    classes: Array,
    alpha: float,
    plain: Gaussian,
    row_weights: RowWeights = UNIT_ROWS,
) -> ReadAs:
    """What a column of numbers is best read as.

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
    best = ReadAs("gaussian", alone.likelihood(grid, classes, row_weights))
    cells = atom_cells(grid, one)
    if any_nearly_constant(grid, cells, one):
        best = ReadAs("gaussian", -np.inf)
    if grid.counts.any():
        bins = best_bins(grid, classes, one * max(alpha, LEAST), row_weights)
        smooth = best_density(grid, classes, row_weights)
        for found in (
            ReadAs("bins", bins.likelihood, bins.bins),
            ReadAs("smooth", smooth.likelihood, FINE_BINS, smooth.width, smooth.strength),
        ):
            least = best.likelihood
            if np.isfinite(least):
                least += ROUNDING * abs(least)
            if found.likelihood > least:
                best = found
    if cells.any() and not cells.all():
        beside = Pooled.beside_atoms(plain, grid, cells)
        likelihood = beside.likelihood(grid, classes, row_weights)
        # to name a value costs log n nats: so much each atom has to gain
        cost = len(beside.atoms) * one * np.log(grid.counts.sum() / one)
        if likelihood - cost > best.likelihood:
            best = ReadAs("atoms", likelihood)
    return best


def read_as(
    choice: ReadAs,
    moments: Moments,
    grid: GridCounts,
    alpha: float,
    plain: Gaussian,
    row_weights: RowWeights = UNIT_ROWS,
) -> Pooled | BinnedReading:
    """The reading that was chosen; parameters are those of :func:`choose`."""
    likelihood = choice.likelihood
    if choice.family == "bins":
        return Binned().with_bins(choice.bins, grid, alpha, row_weights, likelihood)
    if choice.family == "smooth":
        strength = choice.strength * row_weights.overall
        return Smooth().with_law(choice.width, strength, grid, row_weights, likelihood)
    if choice.family == "atoms":
        return Pooled.beside_atoms(plain, grid, atom_cells(grid, row_weights.overall))
    return Pooled.read(plain, moments, grid)


def can_read_as(choice: ReadAs, grid: GridCounts, row: float) -> bool:
    """Whether :func:`choose` can find this of a column; `row` is the weight of a row."""
    kind, options = choice.family, (choice.bins, choice.width, choice.strength)
    if kind == "gaussian":
        return options == (0, 0, 0.0)
    if not grid.counts.any():
        return False
    if kind == "atoms":
        cells = atom_cells(grid, row)
        return options == (0, 0, 0.0) and bool(cells.any()) and not cells.all()
    if kind == "bins":
        return choice.bins in CANDIDATES and options[1:] == (0, 0.0)
    fits = choice.width in WIDTHS and choice.strength in STRENGTHS
    return kind == "smooth" and choice.bins == FINE_BINS and fits
