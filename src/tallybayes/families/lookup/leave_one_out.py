"""How well one column alone separates the classes, by exact leave-one-out on its counts.

Each row is predicted from the tally without it:

    L = Σ_c Σ_b n_cb · log p(c | b),   own counts taken one row smaller

A row is an effective row of its class, u_c = Σw²/Σw of its weights, or all that the cell holds if
that is less: the tally does not know which rows are in a cell.

L is the leave-one-out conditional log-likelihood, in nats times weight; it needs no second pass
over rows and no measure for x, so that families of densities and of probabilities compare.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.contract.cells import CellLaw
from tallybayes.tally import UNIT_ROWS, RowWeights

__all__ = ["conditional", "law_likelihood"]

Array = NDArray[np.float64]


def conditional(
    weight: Array, full: Array, own: Array, classes: Array, row_weights: RowWeights = UNIT_ROWS
) -> float:
    """L from log-probabilities of x.

    Parameters
    ----------
    weight : float64 array (n_classes, n_cells)
        Rows of each class in each cell.
    full, own : float64 arrays (n_classes, n_cells)
        log p(x | c) with every row, and without one row of class c in the cell.
    classes : float64 array (n_classes,)
        Class counts, smoothed as the class prior is.
    row_weights : RowWeights
    """
    prior = classes[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        full = np.log(prior) + full
        own = np.log(np.maximum(prior - np.minimum(weight, row_weights.by_class), 0.0)) + own
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


def law_likelihood(
    rows: Array, law: CellLaw, classes: Array, row_weights: RowWeights = UNIT_ROWS
) -> float:
    """L of the cells of a column; `rows` (n_classes, n_cells) counts them unspread."""
    own = law.own_without(np.minimum(rows, row_weights.by_class))
    return conditional(rows, law.log_prob(), own, classes, row_weights)
