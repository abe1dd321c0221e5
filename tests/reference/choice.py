"""What a column of numbers is best read as, one candidate after the other with NumPy."""

from dataclasses import replace

import numpy as np

from reference.choice_counts import likelihood_of_counts
from tallybayes.families.binned import MIN_SMOOTHING, best_bins, best_density
from tallybayes.families.choice import MIN_POOLED_ROWS, TOLERANCE, is_of_counts
from tallybayes.families.gaussian import Pooled, any_nearly_constant, atom_cells
from tallybayes.tally import UNIT_ROWS

__all__ = ["best_reading"]


def best_reading(moments, grid, classes, alpha, plain, row_weights=UNIT_ROWS):
    """The family, its options and its L; parameters are those of `choose`."""
    gaussian, one = Pooled.read(plain, moments, grid), row_weights.overall
    alone = replace(gaussian, rows=MIN_POOLED_ROWS * one)
    best = "gaussian", (), float(alone.likelihood(grid, classes, row_weights))
    cells = atom_cells(grid, one)
    if any_nearly_constant(grid, cells, one):
        best = "gaussian", (), -np.inf
    if grid.counts.any():
        bins = best_bins(grid, classes, one * max(alpha, MIN_SMOOTHING), row_weights)
        smooth = best_density(grid, classes, row_weights)
        for found in (
            ("bins", (bins.bins,), bins.likelihood),
            ("smooth", (smooth.width, smooth.strength), smooth.likelihood),
        ):
            least = best[2] + TOLERANCE * abs(best[2]) if np.isfinite(best[2]) else best[2]
            if found[2] > least:
                best = found
    if cells.any() and not cells.all():
        beside = Pooled.beside_atoms(plain, grid, cells)
        likelihood = beside.likelihood(grid, classes, row_weights)
        if likelihood - len(beside.atoms) * one * np.log(grid.counts.sum() / one) > best[2]:
            best = "atoms", (), likelihood
    if grid.counts.any() and is_of_counts(grid, one):
        likelihood = likelihood_of_counts(grid, classes, one, MIN_POOLED_ROWS * one, row_weights)
        if likelihood > best[2] + TOLERANCE * abs(best[2]):
            best = "counts", (), likelihood
    return best
