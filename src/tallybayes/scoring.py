"""Bayes' rule, written once.

    P(c | x) = P(c) p(x | c) / Σ_c' P(c') p(x | c')

A score compiled by an engine is log P(c) + log p(x | c), the joint log-likelihood; what is left is
to compare, normalise or sum it. A row to which every class gives the probability 0 has no posterior
by this rule: it gets the class prior, and a :class:`RuledOutWarning`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from tallybayes import _kernels
from tallybayes.engines.contract import CompiledScore
from tallybayes.errors import RuledOutWarning, warn_user
from tallybayes.families.priors import PriorWithout
from tallybayes.persistence import NonNegative
from tallybayes.threads import get_num_threads

__all__ = [
    "Figures",
    "best_class",
    "joint_log_likelihood",
    "log_evidence",
    "normalised",
    "posterior",
    "posterior_without",
    "warn_ruled_out",
]

Array = NDArray[np.float64]


def warn_ruled_out(ruled_out: int, rows: int) -> None:
    """The RuledOutWarning, where there is reason for it."""
    if ruled_out:
        warn_user(
            f"every class gives probability 0 to {ruled_out} of {rows} rows, so the class prior is "
            "returned for them; smoothing (alpha > 0) avoids this",
            RuledOutWarning,
        )


def joint_log_likelihood(score: CompiledScore, x: Any) -> Array:
    """log P(c) + log p(x | c), (n_rows, n_classes), in nats; −inf where a class is ruled out."""
    return score.joint(x)


def best_class(score: CompiledScore, x: Any) -> NDArray[np.int64]:
    """Index of the most probable class of each row, the first of equals, (n_rows,)."""
    best, ruled_out = score.best(x)
    if ruled_out:
        warn_ruled_out(ruled_out, len(best))
    return best


def posterior(score: CompiledScore, x: Any, log_prior: Array, *, log: bool = False) -> Array:
    """P(c | x), or its logarithm in nats, (n_rows, n_classes)."""
    scores = score.joint(x)
    ruled_out = _kernels.normalise(scores, log_prior, not log, None, get_num_threads())
    warn_ruled_out(ruled_out, len(scores))
    return scores


# ---- each row predicted by the counts without it -------------------------------------------------
#     log P(c | x; all rows but this one) ∝ log P₋(c) + log p₋(x | c)
#
# Nothing is fitted again: a tally minus one row is a tally. Only the likelihood of the row's own
# class changes, and that of classes which use the counts of all classes. Classes, levels, families,
# bins, transforms and the chosen smoothing stay as they were fitted.
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


# ---- evidence, and figures -----------------------------------------------------------------------
def normalised(scores: Array, log_prior: Array, *, log: bool) -> Array:
    """P(c | x), or its logarithm in nats, of joint log-likelihoods (n_rows, n_classes); of a row
    that every class rules out, that of `log_prior`."""
    found = np.array(scores, order="C")
    _kernels.normalise(found, log_prior, not log, None, get_num_threads())
    return found


def log_evidence(score: CompiledScore, x: Any, log_prior: Array) -> Array:
    """log p(x) = log Σ_c P(c) p(x | c), (n_rows,), in nats; −inf where every class is ruled out."""
    scores = score.joint(x)
    evidence = np.empty(len(scores))
    _kernels.normalise(scores, log_prior, False, evidence, get_num_threads())
    return evidence


@dataclass(frozen=True)
class Figures:
    """How well the learning rows are predicted by fits without them.

    Parameters
    ----------
    rows : float
        Weight of the rows.
    log_loss : float
        Mean −log P(own class), in nats.
    accuracy : float
    prior_log_loss : float
        The log-loss of the class shares alone.
    log_loss_increase : float, optional
        Of a pruned model: how much higher its log-loss is.
    log_loss_se, accuracy_se : float, optional
        Standard errors; None in files of before there were any.
    left_out : bool
        Whether the rows were left out of the whole fit; else only of the counts, one by one.
    """

    rows: NonNegative
    log_loss: float
    accuracy: float
    prior_log_loss: float
    log_loss_increase: float | None = None
    log_loss_se: NonNegative | None = None
    accuracy_se: NonNegative | None = None
    left_out: bool = False
