"""The odds forms of Bayes' rule, against the probability form and exact arithmetic."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes import bayes_rule
from tallybayes.bayes import (
    bayes_factor,
    log_odds,
    odds,
    posterior_log_odds,
    posterior_odds,
    probability_of_log_odds,
    probability_of_odds,
)

INNER = st.floats(1e-300, 1.0 - 2.0**-53)
EXTREMES = [5e-324, 1e-300, 1e-16, 0.25, 0.49999999999, 0.5, 0.500000001, 0.75, 1 - 1e-16]


def exact_log_odds(p):
    with localcontext() as context:
        context.prec = 60
        x = Decimal(p)
        return float((x / (1 - x)).ln())


def exact_probability(x):
    with localcontext() as context:
        context.prec = 400
        return float(1 / (1 + (-Decimal(x)).exp()))


@given(INNER, st.floats(1e-6, 1.0), st.floats(1e-6, 1.0))
def test_the_odds_form_is_the_probability_form(p, yes, no):
    after = posterior_odds(odds(p), bayes_factor(yes, no))
    exact = Fraction(p) * Fraction(yes) / ((1 - Fraction(p)) * Fraction(no))
    assert after == pytest.approx(float(exact), rel=1e-14)
    assert probability_of_odds(after) == pytest.approx(float(exact / (1 + exact)), rel=1e-14)
    if p > 1e-9:
        both = bayes_rule([p, 1.0 - p], [yes, no])
        assert probability_of_odds(after) == pytest.approx(both[0], rel=1e-13)


@given(INNER, st.lists(st.floats(-50.0, 50.0), max_size=6))
def test_the_log_odds_form_is_the_odds_form(p, weights):
    got = posterior_log_odds(log_odds(p), *weights)
    exact = exact_log_odds(p) + sum(map(Fraction, weights), Fraction(0))
    size = 1.0 + abs(exact_log_odds(p)) + sum(map(abs, weights))
    assert got == pytest.approx(float(exact), abs=1e-15 * size)


@given(st.floats(1e-9, 1.0), st.permutations([0.1, 2.0, 30.0, 1e-5]))
def test_the_order_of_factors_does_not_matter(start, factors):
    together = posterior_odds(start, 0.1, 2.0, 30.0, 1e-5)
    assert posterior_odds(start, *factors) == pytest.approx(together, rel=1e-15)


@pytest.mark.parametrize("p", EXTREMES)
def test_log_odds_are_exact_at_extremes_and_near_a_half(p):
    assert log_odds(p) == pytest.approx(exact_log_odds(p), rel=1e-15)


@pytest.mark.parametrize("x", [-700.0, -40.0, -1.0, -1e-9, 0.0, 1e-9, 1.0, 36.0, 700.0])
def test_a_probability_from_its_log_odds(x):
    assert probability_of_log_odds(x) == pytest.approx(exact_probability(x), rel=2e-15)
    assert probability_of_log_odds(x) + probability_of_log_odds(-x) == pytest.approx(1.0)


@given(INNER)
def test_there_and_back(p):
    assert probability_of_odds(odds(p)) == pytest.approx(p, rel=1e-15)
    assert probability_of_log_odds(log_odds(p)) == pytest.approx(p, rel=1e-12)


def test_the_ends():
    assert odds(0.0) == 0.0
    assert odds(1.0) == np.inf
    assert log_odds([0.0, 1.0]).tolist() == [-np.inf, np.inf]
    assert probability_of_odds([0.0, np.inf]).tolist() == [0.0, 1.0]
    assert probability_of_log_odds([-np.inf, np.inf]).tolist() == [0.0, 1.0]
    assert bayes_factor(0.5, 0.0) == np.inf
    assert posterior_odds(0.0, 10.0) == 0.0
    assert posterior_odds(np.inf, 10.0) == np.inf
    assert posterior_log_odds(-np.inf, 3.0) == -np.inf


def test_products_of_odds_neither_over_nor_underflow():
    assert posterior_odds(1e-300, 1e-300, 1e300, 1e300) == pytest.approx(1.0, rel=1e-14)
    assert posterior_odds(1.0, *[1e300] * 3) == np.inf  # beyond float64
    assert posterior_log_odds(0.0, *[-1e5] * 3) == -3e5


def test_arrays_broadcast():
    got = posterior_odds([[1.0], [2.0]], bayes_factor([0.9, 0.5, 0.1], 0.5))
    np.testing.assert_allclose(got, [[1.8, 1.0, 0.2], [3.6, 2.0, 0.4]], rtol=1e-15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: odds(1.2), "probability is a probability, from 0 to 1, got 1.2"),
        (lambda: log_odds([0.5, -1.0]), r"got -1.0 at \[1\]"),
        (lambda: probability_of_odds(-1.0), "odds is a number from 0 on, got -1.0"),
        (lambda: probability_of_log_odds(np.nan), "log-odds holds NaN"),
        (lambda: bayes_factor(0.0, 0.0), "of which one is above 0"),
        (lambda: bayes_factor(np.inf, 1.0), "two finite likelihoods"),
        (lambda: bayes_factor(-1.0, 1.0), "likelihood is a number from 0 on"),
        (lambda: bayes_factor([1.0, 2.0], [1.0, 2.0, 3.0]), "shapes do not fit"),
        (lambda: posterior_odds(np.inf, 0.0), "certain .* and ruled out"),
        (lambda: posterior_odds(1.0, np.inf, 0.0), "certain .* and ruled out"),
        (lambda: posterior_odds(1.0, -2.0), "Bayes factor 0 is a number from 0 on"),
        (lambda: posterior_odds([1.0, 2.0], [1.0, 2.0, 3.0]), "shapes do not fit"),
        (lambda: posterior_log_odds(np.inf, -np.inf), "certain .* and ruled out"),
        (lambda: posterior_log_odds("even"), "prior_log_odds is a number"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
