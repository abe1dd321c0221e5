"""Exact leave-one-out: each row predicted by the counts without it.

    log P(c | x; all rows but this one) ∝ log P₋(c) + log p₋(x | c)

Nothing is fitted again: a tally minus one row is a tally, and only what the row's own class says of
it changes (and what is said of a class by all classes together). What stays as it was fitted: the
classes, levels, families, bins, transforms and chosen smoothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.scoring import log_posterior, warn_ruled_out

__all__ = ["posterior_without"]

Array = NDArray[np.float64]


def posterior_without(likelihood: Array, log_prior: Array) -> Array:
    """log P(c | x), normalised, (n_rows, n_classes), in nats.

    Parameters
    ----------
    likelihood : float64 array (n_rows, n_classes)
        log p(x | c), each row taken out; it is overwritten.
    log_prior : float64 array (n_rows, n_classes)
        log P(c), each row taken out.

    Returns
    -------
    float64 array (n_rows, n_classes)
        The class prior, with a RuledOutWarning, for a row that every class rules out.
    """
    with np.errstate(invalid="ignore"):
        likelihood += log_prior
    out: NDArray[np.bool_] = np.isneginf(likelihood.max(axis=1))
    if out.any():
        warn_ruled_out(int(out.sum()), len(out))
        likelihood[out] = log_prior[out]
    return log_posterior(likelihood)
