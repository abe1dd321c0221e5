"""Bayes' rule for events and hypotheses: as probabilities, as odds, and for a sequence of evidence.

    P(A | B) = P(B | A) P(A) / P(B)                             one event, P(B) known
    P(h | B) = P(B | h) P(h) / Σ_h' P(B | h') P(h')             hypotheses, one of which is true
    P(A | B) / P(¬A | B) = P(A) / P(¬A) · P(B | A) / P(B | ¬A)  odds

Bayes (1763); the odds form and the weight of evidence, its logarithm: Good (1950), Probability and
the weighing of evidence.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "bayes_factor",
    "bayes_rule",
    "log_odds",
    "odds",
    "posterior_log_odds",
    "posterior_odds",
    "probability_of_log_odds",
    "probability_of_odds",
    "update",
]


# ---- the rule, for an event whose evidence is known, and for hypotheses of which one is true -----
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
    p, likely = _probabilities(prior, "prior"), _probabilities(likelihood, "likelihood")
    if evidence is None:
        return _over_hypotheses(p, likely)
    total = _probabilities(evidence, "evidence")
    _need_one_shape(prior=p, likelihood=likely, evidence=total)
    if (total == 0.0).any():
        raise ValueError(
            f"evidence is {_first_wrong(total, total == 0.0)}: nothing can be concluded from an "
            "event that does not happen"
        )
    mantissa, exponent = _product(p, likely)
    below, of = np.frexp(total)
    posterior = _scaled(mantissa / below, exponent - of)
    _need_coherence(*np.broadcast_arrays(p, likely, total, posterior))
    return _output(np.minimum(posterior, 1.0))


def _need_coherence(p: Array, likely: Array, total: Array, posterior: Array) -> None:
    """Raises ValueError where no events have these probabilities."""
    wrong = posterior > 1.0 + ROUNDING
    if wrong.any():
        at, place = _place_of(wrong)
        raise ValueError(
            f"incoherent{place}: P(B | A) P(A) = {likely[at]:g} · {p[at]:g} = "
            f"{likely[at] * p[at]:g} is the probability of A and B together, which cannot be "
            f"more than P(B) = {total[at]:g}; the posterior would be {posterior[at]:g}. One of the "
            "three is wrong; leave evidence out and give both hypotheses to have it computed."
        )
    without = total - likely * p
    wrong = without > 1.0 - p + ROUNDING
    if wrong.any():
        at, place = _place_of(wrong)
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
    _need_one_shape(prior=p, **{f"likelihood {i}": part for i, part in enumerate(likely)})
    _need_sum_1(p)
    mantissa, exponent = _product(p, *likely)
    exponent = np.where(mantissa > 0.0, exponent, np.iinfo(np.int64).min // 2)
    weight = _scaled(mantissa, exponent - exponent.max(axis=-1, keepdims=True))
    total = weight.sum(axis=-1, keepdims=True)
    if (total == 0.0).any():
        raise ValueError(
            f"the evidence has probability 0{_place_of(total[..., 0] == 0.0)[1]}: "
            "every hypothesis that can be true rules it out. A hypothesis is missing, or a "
            "likelihood of 0 should be small instead."
        )
    return _output(weight / total)


def _need_sum_1(p: Array) -> None:
    sums = p.sum(axis=-1)
    wrong = np.abs(sums - 1.0) > ROUNDING
    if wrong.any():
        raise ValueError(
            f"the prior sums to {_first_wrong(sums, wrong)} over the hypotheses, but one of them "
            "is true: it must sum to 1. Add the hypothesis that is missing, or divide by the sum."
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
    p = _probabilities(prior, "prior")
    return _over_hypotheses(
        p, *(_probabilities(part, f"likelihood {i}") for i, part in enumerate(likelihoods))
    )


# ---- the rule as odds: evidence multiplies them by its Bayes factor ------------------------------
def odds(probability: ArrayLike) -> Any:
    """P(A) / P(¬A); infinite for a probability of 1.

    Parameters
    ----------
    probability : array-like
        Probabilities from 0 to 1.

    Returns
    -------
    float64 or array
        The odds.
    """
    p = _probabilities(probability, "probability")
    with np.errstate(divide="ignore", over="ignore"):
        return _output(p / (1.0 - p))


def probability_of_odds(of: ArrayLike) -> Any:
    """P(A) from its odds: o / (1 + o).

    Parameters
    ----------
    of : array-like
        Odds or log-odds.

    Returns
    -------
    float64 or array
        The probabilities.
    """
    o = _at_least_0(of, "odds")
    with np.errstate(divide="ignore"):
        return _output(np.where(o > 1.0, 1.0 / (1.0 + 1.0 / o), o / (1.0 + np.minimum(o, 1.0))))


def log_odds(probability: ArrayLike) -> Any:
    """log P(A) / P(¬A), in nats; infinite for 0 and 1.

    Parameters
    ----------
    probability : array-like
        Probabilities from 0 to 1.

    Returns
    -------
    float64 or array
        The log-odds, in nats.
    """
    p = _probabilities(probability, "probability")
    with np.errstate(divide="ignore"):
        outer = np.log(p) - np.log1p(-p)
    near = np.abs(p - 0.5) < 0.25  # where the two logarithms would cancel
    return _output(np.where(near, 2.0 * np.arctanh(np.where(near, 2.0 * p - 1.0, 0.0)), outer))


def probability_of_log_odds(of: ArrayLike) -> Any:
    """P(A) from its log-odds. P(¬A) is that of their negative, exact where P(A) rounds to 1.

    Parameters
    ----------
    of : array-like
        Odds or log-odds.

    Returns
    -------
    float64 or array
        The probabilities.
    """
    x = _numbers(of, "log-odds")
    small = np.exp(-np.abs(x))
    return _output(np.where(x >= 0.0, 1.0, small) / (1.0 + small))


def bayes_factor(likelihood: ArrayLike, likelihood_not: ArrayLike) -> Any:
    """P(B | A) / P(B | ¬A): by how much evidence B multiplies the odds of A.

    Parameters
    ----------
    likelihood, likelihood_not : float or array-like
        Under A, and under ¬A. They may be densities.

    Returns
    -------
    float64 or array
        The Bayes factor.

    Raises
    ------
    ValueError
        Where both are 0: such evidence does not happen.

    References
    ----------
    Kass and Raftery (1995), Bayes factors, equation (1).
    """
    yes, no = _at_least_0(likelihood, "likelihood"), _at_least_0(likelihood_not, "likelihood_not")
    _need_one_shape(likelihood=yes, likelihood_not=no)
    wrong = (yes == 0.0) & (no == 0.0)
    if wrong.any() or (np.isinf(yes) | np.isinf(no)).any():
        raise ValueError(
            "a Bayes factor compares two finite likelihoods, of which one is above 0, got "
            f"{likelihood!r} and {likelihood_not!r}"
        )
    with np.errstate(divide="ignore", over="ignore"):
        return _output(yes / no)


def posterior_odds(prior_odds: ArrayLike, *bayes_factors: ArrayLike) -> Any:
    """The odds of A after evidence: the prior odds times each Bayes factor.

    Parameters
    ----------
    prior_odds : float or array-like
        P(A) / P(¬A), from 0 on; infinite where A is certain.
    *bayes_factors : float or array-like
        P(B_i | A) / P(B_i | ¬A); see :func:`bayes_factor`.

    Returns
    -------
    float or float64 array
        The odds after the signs.

    Raises
    ------
    ValueError
        Where one factor is infinite and another 0: the evidence contradicts itself.

    Examples
    --------
    >>> from tallybayes.bayes import bayes_factor, odds, posterior_odds, probability_of_odds
    >>> after = posterior_odds(odds(0.01), bayes_factor(0.9, 0.1))
    >>> round(probability_of_odds(after), 4)
    0.0833
    """
    factors = [_at_least_0(prior_odds, "prior_odds")]
    factors += [_at_least_0(f, f"Bayes factor {i}") for i, f in enumerate(bayes_factors)]
    _need_one_shape(**{f"factor {i}": f for i, f in enumerate(factors)})
    certain = np.any(np.broadcast_arrays(*map(np.isinf, factors)), axis=0)
    out = np.any(np.broadcast_arrays(*(f == 0.0 for f in factors)), axis=0)
    if (certain & out).any():
        raise ValueError(
            "incoherent: A is certain (odds or a Bayes factor infinite) and ruled out (0) at once"
        )
    mantissa, exponent = _product(*(np.where(np.isinf(f), 1.0, f) for f in factors))
    with np.errstate(over="ignore"):
        return _output(np.where(certain, np.inf, _scaled(mantissa, exponent)))


def posterior_log_odds(prior_log_odds: ArrayLike, *log_bayes_factors: ArrayLike) -> Any:
    """The log-odds of A after evidence: the sum, in nats, of the prior's and each weight of
    evidence, log P(B_i | A) / P(B_i | ¬A). Neither over- nor underflows.

    Parameters
    ----------
    prior_log_odds : array-like
        Log-odds before the signs.
    *log_bayes_factors : array-like
        The logarithm of the Bayes factor of each sign.

    Returns
    -------
    float64 or array
        The log-odds after the signs, in nats.

    Raises
    ------
    ValueError
        Where infinite terms of both signs meet: the evidence contradicts itself.
    """
    terms = [_numbers(prior_log_odds, "prior_log_odds")]
    terms += [_numbers(t, f"log Bayes factor {i}") for i, t in enumerate(log_bayes_factors)]
    _need_one_shape(**{f"term {i}": t for i, t in enumerate(terms)})
    with np.errstate(invalid="ignore"):
        total = sum(terms[1:], start=terms[0])
    if np.isnan(total).any():
        raise ValueError("incoherent: A is certain (+inf) and ruled out (−inf) at once")
    return _output(total)


# ---- checked arguments, and products that neither over- nor underflow ----------------------------
# Products are kept as mantissa and exponent: 1e-300 times 1e-300, or a thousand pieces of evidence,
# do not underflow, and no digits are lost by taking logarithms.
MAX_EXPONENT = 4096  # powers of 2 beyond which a float64 is 0


def _numbers(values: Any, name: str) -> Array:
    """A float64 array of what was given as `name`; ValueError for what is not a number."""
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "biufO":
            raise TypeError(f"of type {given.dtype}")
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} is a number or an array of numbers, got {values!r} ({error})"
        ) from error
    if np.isnan(array).any():
        raise ValueError(f"{name} holds NaN: leave out evidence that is not known")
    return array


def _place_of(wrong: Any) -> tuple[tuple[int, ...], str]:
    """The index of the first wrong entry, and how errors call it."""
    at = tuple(np.argwhere(wrong)[0].tolist())
    return at, f" at {list(at)}" if at else ""


def _first_wrong(array: Array, wrong: Any) -> str:
    """The first wrong value of an array, and where it is."""
    at, place = _place_of(wrong)
    return f"{array[at].item()!r}{place}"


def _probabilities(values: Any, name: str) -> Array:
    """Numbers from 0 to 1."""
    array = _numbers(values, name)
    wrong = (array < 0.0) | (array > 1.0)
    if wrong.any():
        raise ValueError(
            f"{name} is a probability, from 0 to 1, got {_first_wrong(array, wrong)}. Divide "
            "percentages by 100; of densities only ratios matter, so divide them by the largest."
        )
    return array


def _at_least_0(values: Any, name: str) -> Array:
    """Numbers from 0 on."""
    array = _numbers(values, name)
    if (array < 0.0).any():
        raise ValueError(f"{name} is a number from 0 on, got {_first_wrong(array, array < 0.0)}")
    return array


def _need_one_shape(**arrays: Array) -> None:
    """Raises ValueError, naming the arrays, where they do not broadcast."""
    try:
        np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(
            f"the shapes do not fit together: {shapes}. Each is a number, or they broadcast."
        ) from None


def _output(values: Any) -> Any:
    """An array, or a float where there is one number."""
    array = np.asarray(values, dtype=np.float64)
    return array if array.ndim else float(array)


def _product(*factors: Array) -> tuple[Array, NDArray[np.int64]]:
    """Mantissa, 0 or from ½ to 1, and exponent of a product, which neither over- nor underflows."""
    mantissa, exponent = np.frexp(factors[0])
    exponent = exponent.astype(np.int64)
    for factor in factors[1:]:
        more, by = np.frexp(factor)
        mantissa, carry = np.frexp(mantissa * more)
        exponent = exponent + by + carry
    return mantissa, exponent


def _scaled(mantissa: Array, exponent: Any) -> Array:
    """mantissa · 2^exponent."""
    return np.asarray(
        np.ldexp(mantissa, np.clip(exponent, -MAX_EXPONENT, MAX_EXPONENT).astype(np.int32))
    )
