"""How well one column alone tells the classes apart, by exact leave-one-out on its counts.

Each row is predicted from the tally without it:

    L = Σ_c Σ_b n_cb · log p(c | b),   own counts taken one row (or its weight, if less) smaller

L is the leave-one-out conditional log-likelihood, in nats; it needs no second pass over rows and no
measure for x, so that families of densities and of probabilities compare.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.cells import CellLaw

__all__ = ["conditional", "law_likelihood"]

Array = NDArray[np.float64]


def conditional(weight: Array, full: Array, own: Array, classes: Array) -> float:
    """L from log-probabilities of x.

    Parameters
    ----------
    weight : float64 array (n_classes, n_cells)
        Rows of each class in each cell.
    full, own : float64 arrays (n_classes, n_cells)
        log p(x | c) with every row, and without one row of class c in the cell.
    classes : float64 array (n_classes,)
        Class counts, smoothed as the class prior is.
    """
    prior = classes[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        full = np.log(prior) + full
        own = np.log(np.maximum(prior - np.minimum(weight, 1.0), 0.0)) + own
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


def law_likelihood(rows: Array, law: CellLaw, classes: Array) -> float:
    """L of the cells of a column; `rows` (n_classes, n_cells) counts them unspread."""
    own = law.own_without(np.minimum(rows, 1.0))
    return conditional(rows, law.log_prob(), own, classes)
