"""Bayes' rule for an event whose evidence is known, and for hypotheses of which one is true."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tallybayes.bayes.numbers import (
    first_wrong,
    need_one_shape,
    output,
    place_of,
    probabilities,
    product,
    scaled,
)

__all__ = ["bayes_rule", "update"]

Array = NDArray[np.float64]

ROUNDING = 1e-9
"""By so much probabilities that were rounded may miss 1, or each other."""


def bayes_rule(prior: ArrayLike, likelihood: ArrayLike, evidence: ArrayLike | None = None) -> Any:
    """P(A | B) from P(A) and P(B | A).

    With `evidence`, P(B), every entry is an event of its own and the three broadcast. Without it
    the last axis holds hypotheses of which exactly one is true, and P(B) is the total probability
    Σ_h P(B | h) P(h). Of an event and its contrary that is ``[p, 1 - p]``.

    Parameters
    ----------
    prior : float or array-like
        P(A); without evidence (…, n_hypotheses), which sums to 1.
    likelihood : float or array-like
        P(B | A); without evidence (…, n_hypotheses), for example a row for each of several B.
    evidence : float or array-like, optional
        P(B).

    Returns
    -------
    float or float64 array
        The posterior, in the shape to which the arguments broadcast. Without evidence it sums to 1
        over the last axis.

    Raises
    ------
    ValueError
        For what is not a probability, a prior that does not sum to 1, evidence that has probability
        0, shapes that do not fit, or probabilities that contradict each other: P(B | A) P(A) ≤ P(B)
        ≤ P(B | A) P(A) + 1 − P(A). What misses by 1e-9 counts as rounding.

    Examples
    --------
    A dog barks on 3 nights of 7 and in 9 burglaries of 10; in 20 years of 365 days there were 2.

    >>> from tallybayes import bayes_rule
    >>> print(f"{bayes_rule(2 / (20 * 365), 0.9, 3 / 7):.6f}")
    0.000575

    Three boxes, of which each gives a white ball with a probability of its own:

    >>> bayes_rule([0.5, 0.25, 0.25], [0.0, 0.5, 1.0]).round(3).tolist()
    [0.0, 0.333, 0.667]
    """
    p, likely = probabilities(prior, "prior"), probabilities(likelihood, "likelihood")
    if evidence is None:
        return _over_hypotheses(p, likely)
    total = probabilities(evidence, "evidence")
    need_one_shape(prior=p, likelihood=likely, evidence=total)
    if (total == 0.0).any():
        raise ValueError(
            f"evidence is {first_wrong(total, total == 0.0)}: nothing can be concluded from an "
            "event that does not happen"
        )
    mantissa, exponent = product(p, likely)
    below, of = np.frexp(total)
    posterior = scaled(mantissa / below, exponent - of)
    _need_coherence(*np.broadcast_arrays(p, likely, total, posterior))
    return output(np.minimum(posterior, 1.0))


def _need_coherence(p: Array, likely: Array, total: Array, posterior: Array) -> None:
    """Raises ValueError where no events have these probabilities."""
    wrong = posterior > 1.0 + ROUNDING
    if wrong.any():
        at, place = place_of(wrong)
        raise ValueError(
            f"incoherent{place}: P(B | A) P(A) = {likely[at]:g} · {p[at]:g} = "
            f"{likely[at] * p[at]:g} is the probability of A and B together, which cannot be "
            f"more than P(B) = {total[at]:g}; the posterior would be {posterior[at]:g}. One of the "
            "three is wrong; leave evidence out and give both hypotheses to have it computed."
        )
    without = total - likely * p
    wrong = without > 1.0 - p + ROUNDING
    if wrong.any():
        at, place = place_of(wrong)
        raise ValueError(
            f"incoherent{place}: B without A would have the probability P(B) − P(B | A) P(A) "
            f"= {total[at]:g} − {likely[at] * p[at]:g}, which is more than P(¬A) = {1 - p[at]:g}. "
            "One of the three is wrong."
        )


def _over_hypotheses(p: Array, *likely: Array) -> Any:
    """The posterior of hypotheses on the last axis after one piece of evidence or more."""
    if not p.ndim:
        raise ValueError(
            f"prior is one number, {p.item()!r}, so that the probability of the evidence is not "
            "known: give evidence=P(B), or both hypotheses, bayes_rule([p, 1 - p], [P(B | A), "
            "P(B | not A)])"
        )
    if not p.shape[-1]:
        raise ValueError("prior is empty: give the probability of each hypothesis")
    for i, part in enumerate(likely):
        name = "likelihood" if len(likely) == 1 else f"likelihood {i}"
        if not part.ndim or part.shape[-1] != p.shape[-1]:
            raise ValueError(
                f"the last axis holds hypotheses: the prior has {p.shape[-1]} and {name} the shape "
                f"{part.shape}; give P(evidence | h) for each"
            )
    need_one_shape(prior=p, **{f"likelihood {i}": part for i, part in enumerate(likely)})
    _need_sum_1(p)
    mantissa, exponent = product(p, *likely)
    exponent = np.where(mantissa > 0.0, exponent, np.iinfo(np.int64).min // 2)
    weight = scaled(mantissa, exponent - exponent.max(axis=-1, keepdims=True))
    total = weight.sum(axis=-1, keepdims=True)
    if (total == 0.0).any():
        raise ValueError(
            f"the evidence has probability 0{place_of(total[..., 0] == 0.0)[1]}: "
            "every hypothesis that can be true rules it out. A hypothesis is missing, or a "
            "likelihood of 0 should be small instead."
        )
    return output(weight / total)


def _need_sum_1(p: Array) -> None:
    sums = p.sum(axis=-1)
    wrong = np.abs(sums - 1.0) > ROUNDING
    if wrong.any():
        raise ValueError(
            f"the prior sums to {first_wrong(sums, wrong)} over the hypotheses, but one of them is "
            "true: it must sum to 1. Add the hypothesis that is missing, or divide by the sum."
        )


def update(prior: ArrayLike, *likelihoods: ArrayLike) -> Any:
    """The posterior after a sequence of evidence B₁, B₂, … one after the other.

    Each posterior is the prior of the next step. That is right where the pieces of evidence do not
    depend on each other once the hypothesis is known: the assumption of naive Bayes.

    Parameters
    ----------
    prior : array-like (…, n_hypotheses)
        Sums to 1.
    *likelihoods : array-like (…, n_hypotheses)
        P(B_i | h) for each hypothesis.

    Returns
    -------
    float64 array (…, n_hypotheses)
        The prior itself where there is no evidence.

    Raises
    ------
    ValueError
        As :func:`bayes_rule`.

    Examples
    --------
    >>> from tallybayes import update
    >>> update([0.5, 0.5], [0.8, 0.4], [0.5, 0.25]).tolist()
    [0.8, 0.2]
    """
    p = probabilities(prior, "prior")
    return _over_hypotheses(
        p, *(probabilities(part, f"likelihood {i}") for i, part in enumerate(likelihoods))
    )
