"""Gaussian columns of arrays, with each row taken out of the mean, the variance and its smoothing.

This is the slow path for options that the kernel does not have: priors, a divisor of n − ddof, a
minimum variance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.contract.class_statistics import (
    Cells,
    GaussianEstimate,
    Statistics,
    log_density,
)
from tallybayes.tally import Moments

__all__ = ["scores_without"]

Array = NDArray[np.float64]


def scores_without(
    family: GaussianEstimate,
    x: Array,
    index: NDArray[np.intp],
    weight: Array,
    tally: Moments,
    pooled: Moments,
) -> Array:
    """log p(x | c) in every class, float64 (n_rows, n_classes), in nats, each row taken out.

    Parameters
    ----------
    family : GaussianEstimate
    x : float64 array (n_rows, n_features)
    index : index array (n_rows,)
        The class of each row.
    weight : float64 array (n_rows,)
    tally : Moments
        Of the classes.
    pooled : Moments
        Of all classes together.
    """
    own = Statistics(tally.n, *tally.mean_and_squares())
    everyone = Statistics(*(part[0] for part in (pooled.n, *pooled.mean_and_squares())))

    def all_others(at: Cells) -> tuple[Array, Array, Array]:
        return pooled.without(np.zeros_like(at[0]), at[1], x[at], weight[at[0]])

    def of_class(at: Cells) -> tuple[Array, Array, Array]:
        return tally.without(index[at[0]], at[1], x[at], weight[at[0]])

    together = everyone.without(x, weight[:, None], all_others)
    epsilon = family.var_smoothing * together.variance
    if family.relative_to == "largest":
        epsilon = epsilon.max(axis=1, initial=0.0, keepdims=True)
    scores = np.empty((len(x), len(own.n)))
    for k in range(len(own.n)):
        other = Statistics(*(np.broadcast_to(part[k], x.shape) for part in own))
        predictive = family.predictive(other, together, epsilon)
        scores[:, k] = log_density(x, predictive).sum(axis=1)
    mine = Statistics(*(part[index] for part in own)).without(x, weight[:, None], of_class)
    predictive = family.predictive(mine, together, epsilon)
    scores[np.arange(len(x)), index] = log_density(x, predictive).sum(axis=1)
    return scores
