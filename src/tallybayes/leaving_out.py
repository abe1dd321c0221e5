"""Exact leave-one-out: each row predicted by the counts without it.

    log P(c | x; all rows but this one) ∝ log P₋(c) + log p₋(x | c)

Nothing is fitted again: a tally minus one row is a tally. Only the likelihood of the row's own
class changes, and that of classes which use the counts of all classes. Classes, levels, families,
bins, transforms and the chosen smoothing stay as they were fitted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from tallybayes import _kernels
from tallybayes.families.class_prior import PriorWithout
from tallybayes.scoring import warn_ruled_out
from tallybayes.threads import get_num_threads

__all__ = ["posterior_without"]

Array = NDArray[np.float64]


def posterior_without(
    likelihood: Array,
    own: NDArray[np.int64],
    prior: PriorWithout,
    fallback: PriorWithout | None = None,
) -> Array:
    """log P(c | x), normalised, (n_rows, n_classes), in nats.

    Parameters
    ----------
    likelihood : float64 array (n_rows, n_classes)
        log p(x | c), each row taken out; it is overwritten.
    own : int64 array (n_rows,)
        The class of each row.
    prior : PriorWithout
        log P(c), each row taken out.
    fallback : PriorWithout, optional
        What rows that every class rules out are given, where the prior does not enter the score.

    Returns
    -------
    float64 array (n_rows, n_classes)
        The class prior, with a RuledOutWarning, for a row that every class rules out.
    """
    threads = get_num_threads()
    rows = np.empty(0, dtype=np.intp)
    if fallback is not None:
        rows = np.flatnonzero(np.isneginf(likelihood).all(axis=1))
    out = _kernels.posterior_without(likelihood, own, prior.other, prior.own, threads)
    warn_ruled_out(out, len(likelihood))
    if fallback is not None and len(rows):
        given = PriorWithout(fallback.other, fallback.own[rows]).matrix(own[rows])
        likelihood[rows] = log_softmax(given, axis=1)
    return likelihood
