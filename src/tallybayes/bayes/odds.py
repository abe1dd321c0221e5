"""Bayes' rule as odds: evidence multiplies them by its Bayes factor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tallybayes.bayes.numbers import (
    at_least_0,
    need_one_shape,
    numbers,
    output,
    probabilities,
    product,
    scaled,
)

__all__ = [
    "bayes_factor",
    "log_odds",
    "odds",
    "posterior_log_odds",
    "posterior_odds",
    "probability_of_log_odds",
    "probability_of_odds",
]


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
    p = probabilities(probability, "probability")
    with np.errstate(divide="ignore", over="ignore"):
        return output(p / (1.0 - p))


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
    o = at_least_0(of, "odds")
    with np.errstate(divide="ignore"):
        return output(np.where(o > 1.0, 1.0 / (1.0 + 1.0 / o), o / (1.0 + np.minimum(o, 1.0))))


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
    p = probabilities(probability, "probability")
    with np.errstate(divide="ignore"):
        outer = np.log(p) - np.log1p(-p)
    near = np.abs(p - 0.5) < 0.25  # where the two logarithms would cancel
    return output(np.where(near, 2.0 * np.arctanh(np.where(near, 2.0 * p - 1.0, 0.0)), outer))


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
    x = numbers(of, "log-odds")
    small = np.exp(-np.abs(x))
    return output(np.where(x >= 0.0, 1.0, small) / (1.0 + small))


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
    yes, no = at_least_0(likelihood, "likelihood"), at_least_0(likelihood_not, "likelihood_not")
    need_one_shape(likelihood=yes, likelihood_not=no)
    wrong = (yes == 0.0) & (no == 0.0)
    if wrong.any() or (np.isinf(yes) | np.isinf(no)).any():
        raise ValueError(
            "a Bayes factor compares two finite likelihoods, of which one is above 0, got "
            f"{likelihood!r} and {likelihood_not!r}"
        )
    with np.errstate(divide="ignore", over="ignore"):
        return output(yes / no)


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
    factors = [at_least_0(prior_odds, "prior_odds")]
    factors += [at_least_0(f, f"Bayes factor {i}") for i, f in enumerate(bayes_factors)]
    need_one_shape(**{f"factor {i}": f for i, f in enumerate(factors)})
    certain = np.any(np.broadcast_arrays(*map(np.isinf, factors)), axis=0)
    out = np.any(np.broadcast_arrays(*(f == 0.0 for f in factors)), axis=0)
    if (certain & out).any():
        raise ValueError(
            "incoherent: A is certain (odds or a Bayes factor infinite) and ruled out (0) at once"
        )
    mantissa, exponent = product(*(np.where(np.isinf(f), 1.0, f) for f in factors))
    with np.errstate(over="ignore"):
        return output(np.where(certain, np.inf, scaled(mantissa, exponent)))


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
    terms = [numbers(prior_log_odds, "prior_log_odds")]
    terms += [numbers(t, f"log Bayes factor {i}") for i, t in enumerate(log_bayes_factors)]
    need_one_shape(**{f"term {i}": t for i, t in enumerate(terms)})
    with np.errstate(invalid="ignore"):
        total = sum(terms[1:], start=terms[0])
    if np.isnan(total).any():
        raise ValueError("incoherent: A is certain (+inf) and ruled out (−inf) at once")
    return output(total)
