"""How well one column alone tells the classes apart, by exact leave-one-out on its counts.

Each row is predicted from the tally without it:

    L = Σ_c Σ_b n_cb · log p(c | b),   own counts taken one row (or its weight, if less) smaller

L is the leave-one-out conditional log-likelihood, in nats; it needs no second pass over rows and no
measure for x, so that families of densities and of probabilities compare.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["conditional", "table_likelihood"]

Array = NDArray[np.float64]


def conditional(weight: Array, full: Array, own: Array) -> float:
    """L from joint log-scores.

    Parameters
    ----------
    weight : float64 array (n_classes, n_cells)
        Rows of each class in each cell.
    full, own : float64 arrays (n_classes, n_cells)
        log P(c) p(x | c) with every row, and without one row of class c in the cell.
    """
    top = np.maximum(full.max(axis=0), own.max(axis=0))
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        everyone = np.exp(full - top)
        mine = np.exp(own - top)
        rest = np.maximum(everyone.sum(axis=0) - everyone, 0.0)
        share = np.where(weight > 0.0, np.log(mine / (rest + mine)), 0.0)
    share = np.where(np.isnan(share), -np.inf, share)
    used = weight > 0.0
    return float((weight[used] * share[used]).sum())


def table_likelihood(counts: Array, alpha: float | Array, classes: Array) -> float:
    """L of smoothed level counts: P(b | c) = (n_cb + α_b) / (n_c + Σα).

    Parameters
    ----------
    counts : float64 array (n_classes, n_cells)
    alpha : float or float64 array (n_cells,)
    classes : float64 array (n_classes,)
        Class counts, smoothed as the class prior is.
    """
    alpha = np.broadcast_to(np.asarray(alpha, dtype=np.float64), counts.shape[1:])
    total, pseudo = counts.sum(axis=1, keepdims=True), alpha.sum()
    one = np.minimum(counts, 1.0)
    prior = classes[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        full = np.log(prior) + np.log(counts + alpha) - np.log(total + pseudo)
        own = np.log(np.maximum(prior - one, 0.0)) + np.log(counts - one + alpha)
        own -= np.log(total - one + pseudo)
    return conditional(counts, full, own)
