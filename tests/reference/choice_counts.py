"""How well a negative binomial tells the classes apart, each row left out, with NumPy."""

import numpy as np
from scipy.special import log_softmax

from tallybayes.families.negative_binomial import PooledCounts
from tallybayes.tally import UNIT_ROWS
from tallybayes.tally.base import less

__all__ = ["likelihood_of_counts"]


def likelihood_of_counts(grid, classes, alpha, pooled, row_weights=UNIT_ROWS):
    """L with `alpha` rows at the overall mean and `pooled` rows of all classes."""
    density = PooledCounts.read(grid, alpha, pooled)
    by_class = np.broadcast_to(row_weights.by_class[:, 0], classes.shape)
    own, at = np.nonzero(grid.counts > 0.0)
    counts, rows = grid.counts[own, at], np.arange(len(own))
    weight = np.minimum(counts, by_class[own])
    prior = np.repeat(classes[None, :], len(own), axis=0)
    prior[rows, own] = less(prior[rows, own], weight)
    with np.errstate(divide="ignore"):
        joint = np.log(prior) + density.without(grid.values()[at], own, weight)
    return float(counts @ log_softmax(joint, axis=1)[rows, own])
