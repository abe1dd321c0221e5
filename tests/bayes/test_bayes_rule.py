"""Bayes' rule and its odds forms: article 3 in docs/origin.md, exact arithmetic as oracle,
extremes.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes
from tallybayes import bayes_rule, update
from tallybayes.bayes import (
    bayes_factor,
    log_odds,
    odds,
    posterior_log_odds,
    posterior_odds,
    probability_of_log_odds,
    probability_of_odds,
)

PROBABILITY = st.floats(0.0, 1.0)
LIKELIHOOD = st.floats(1e-300, 1.0)


@st.composite
def priors(draw, least=2, most=5):
    """Exact priors whose float64 sum to 1 up to rounding."""
    counts = draw(st.lists(st.integers(0, 10**6), min_size=least, max_size=most).filter(any))
    return [Fraction(n, sum(counts)) for n in counts]


def exact_posterior(prior, *likelihoods):
    joint = [Fraction(float(p)) for p in prior]
    for part in likelihoods:
        joint = [j * Fraction(float(x)) for j, x in zip(joint, part, strict=True)]
    return [j / sum(joint) for j in joint]


def assert_close(got, exact, rtol=1e-14):
    """Within rtol of each exact value, or below the least float64 of full precision."""
    for a, b in zip(np.ravel(got).tolist(), exact, strict=True):
        assert abs(Fraction(a) - b) <= Fraction(rtol) * b + Fraction(2.0**-1070)


# ---- the seed's examples -------------------------------------------------------------------------
def test_the_dog_and_the_burglar():
    """P(bark) = 3/7, P(burglary) = 2 / (20 · 365), P(bark | burglary) = 0.9."""
    exact = Fraction(9, 10) * Fraction(2, 20 * 365) / Fraction(3, 7)
    assert exact == Fraction(21, 36500)
    got = bayes_rule(Fraction(2, 20 * 365), 0.9, Fraction(3, 7))
    assert isinstance(got, float)
    assert got == pytest.approx(float(exact), rel=1e-15)
    assert f"{got:.6f}" == "0.000575"
    assert f"{got:.5f}" == "0.00058"  # as the article prints it


def test_the_dog_by_total_probability():
    """With both hypotheses and P(bark | no burglary) as it follows, the answer is the same."""
    p, bark = Fraction(1, 3650), Fraction(3, 7)
    quiet = (bark - Fraction(9, 10) * p) / (1 - p)
    got = bayes_rule([p, 1 - p], [0.9, quiet])
    assert got[0] == pytest.approx(21 / 36500, rel=1e-14)


def test_cancer_by_age():
    """The shares of age groups among patients, and among everybody, say how age moves P(cancer).
    The article names the example without numbers; these are ours."""
    patients = [Fraction(n, 100) for n in (5, 25, 70)]
    everybody = [Fraction(n, 100) for n in (40, 40, 20)]
    rate = Fraction(1, 200)
    got = bayes_rule(rate, patients, everybody)
    assert_close(got, [a * rate / b for a, b in zip(patients, everybody, strict=True)])
    healthy = [(b - a * rate) / (1 - rate) for a, b in zip(patients, everybody, strict=True)]
    table = np.array([patients, healthy], dtype=float).T
    np.testing.assert_allclose(bayes_rule([rate, 1 - rate], table)[:, 0], got, rtol=1e-14)
    assert got[2] > float(rate) > got[0]


# ---- laws ----------------------------------------------------------------------------------------
@given(priors(), st.data())
def test_the_posterior_is_that_of_exact_arithmetic_and_sums_to_1(prior, data):
    likelihood = data.draw(st.lists(LIKELIHOOD, min_size=len(prior), max_size=len(prior)))
    got = bayes_rule(prior, likelihood)
    assert got.sum() == pytest.approx(1.0, rel=1e-14)
    assert_close(got, exact_posterior(prior, likelihood))


@given(st.integers(2, 4), st.data())
def test_neither_order_nor_grouping_of_evidence_matters(k, data):
    prior = data.draw(priors(k, k))
    rows = data.draw(st.lists(st.lists(LIKELIHOOD, min_size=k, max_size=k), min_size=1, max_size=6))
    shuffled = data.draw(st.permutations(rows))
    together = update(prior, *rows)
    assert_close(together, exact_posterior(prior, *rows))
    np.testing.assert_allclose(update(prior, *shuffled), together, rtol=1e-14, atol=1e-320)


@given(priors(), st.data())
def test_updating_twice_is_updating_once_with_the_product(prior, data):
    k = len(prior)
    some = st.lists(st.floats(1e-3, 1.0), min_size=k, max_size=k)
    one, two = np.array(data.draw(some)), np.array(data.draw(some))
    twice = bayes_rule(bayes_rule(prior, one), two)
    np.testing.assert_allclose(twice, bayes_rule(prior, one * two), rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(update(prior, one, two), twice, rtol=1e-13, atol=1e-300)


@given(st.floats(1e-9, 1.0 - 1e-9), st.floats(1e-9, 1.0), st.floats(1e-9, 1.0))
def test_evidence_given_is_total_probability(p, yes, no):
    both = bayes_rule([p, 1 - p], [yes, no])
    evidence = min(yes * p + no * (1 - p), 1.0)
    assert bayes_rule(p, yes, evidence) == pytest.approx(both[0], rel=1e-12)


def test_without_evidence_the_prior_stays():
    assert update([0.25, 0.75]).tolist() == [0.25, 0.75]
    assert bayes_rule([0.25, 0.75], [0.3, 0.3]).tolist() == [0.25, 0.75]


def test_rows_of_likelihoods_are_separate_pieces_of_evidence():
    table = np.array([[0.9, 0.1], [0.5, 0.5], [0.0, 1.0]])
    got = bayes_rule([0.5, 0.5], table)
    for row, likelihood in zip(got, table, strict=True):
        np.testing.assert_array_equal(row, bayes_rule([0.5, 0.5], likelihood))
    assert bayes_rule([[0.5, 0.5], [0.1, 0.9]], [0.2, 0.4]).shape == (2, 2)
    assert bayes_rule(np.full((4, 1, 2), 0.5), np.full((3, 2), 0.5)).shape == (4, 3, 2)


# ---- extremes ------------------------------------------------------------------------------------
def test_what_underflows_as_a_product_does_not_here():
    assert bayes_rule(1e-300, 1e-300, 1e-300) == pytest.approx(1e-300, rel=1e-15)
    prior, likelihood = [1e-300, 1.0], [1.0, 1e-300]
    assert_close(bayes_rule(prior, likelihood), exact_posterior(prior, likelihood))
    np.testing.assert_allclose(bayes_rule([0.5, 0.5], [5e-324, 1e-323]), [1 / 3, 2 / 3], rtol=1e-15)


def test_a_thousand_pieces_of_evidence_lose_nothing():
    rows = [[1e-300, 2e-300, 3e-300]] * 40 + [[3e-300, 2e-300, 1e-300]] * 41
    prior = [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    assert_close(update(prior, *rows), exact_posterior(prior, *rows), rtol=1e-13)
    np.testing.assert_array_equal(update([0.5, 0.5], *[[1e-300, 1e-300]] * 1000), [0.5, 0.5])


def test_near_certainty():
    p = 1.0 - 2.0**-53
    got = bayes_rule([p, 1.0 - p], [1e-16, 1.0])
    assert_close(got, exact_posterior([p, 1.0 - p], [1e-16, 1.0]))
    assert bayes_rule(p, 1.0, p) == 1.0
    assert bayes_rule(1.0, 0.5, 0.5) == 1.0
    assert bayes_rule(0.0, 0.5, 0.5) == 0.0


def test_rounding_does_not_make_a_posterior_above_1():
    assert bayes_rule(0.1, 0.3, 0.1 * 0.3 * (1 - 1e-12)) == 1.0


# ---- bad input -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.5, 0.9, 0.3), r"incoherent: P\(B \| A\) P\(A\) = 0.9 · 0.5 = 0.45 .* more than P\(B\)"),
        ((0.9, 0.1, 0.5), r"incoherent: B without A .* 0.5 − 0.09.* more than P\(¬A\) = 0.1"),
        (([0.1, 0.5], 0.9, [0.1, 0.3]), r"incoherent at \[1\]"),
        ((0.5, 0.5), r"prior is one number, 0.5.* evidence=P\(B\), or both hypotheses"),
        ((0.5, [0.1, 0.2]), "prior is one number"),
        (([0.5, 0.4], [0.1, 0.2]), "prior sums to 0.9 over the hypotheses.*must sum to 1"),
        (([[0.5, 0.5], [0.5, 0.6]], [0.1, 0.2]), r"prior sums to 1.1 at \[1\]"),
        (([0.5, 0.5], [0.0, 0.0]), "evidence has probability 0: every hypothesis"),
        (([0.5, 0.5], [[0.1, 0.2], [0.0, 0.0]]), r"evidence has probability 0 at \[1\]:"),
        (([0.0, 1.0], [0.5, 0.0]), "every hypothesis that can be true rules it out"),
        ((0.5, 0.5, 0.0), "evidence is 0.0: nothing can be concluded"),
        ((0.5, 0.5, [0.5, 0.0]), r"evidence is 0.0 at \[1\]"),
        ((1.5, 0.5, 0.5), "prior is a probability, from 0 to 1, got 1.5"),
        ((-0.1, 0.5, 0.5), "prior is a probability, from 0 to 1, got -0.1"),
        ((0.5, 90, 0.5), "likelihood is a probability.* 90.0.*Divide percentages by 100"),
        (([0.5, 0.5], [0.5, np.inf]), r"likelihood is a probability.* inf at \[1\].*densities"),
        ((0.5, 0.5, 2.0), "evidence is a probability"),
        ((0.5, np.nan, 0.5), "likelihood holds NaN"),
        ((None, 0.5, 0.5), "prior holds NaN"),
        (("half", 0.5, 0.5), "prior is a number or an array of numbers, got 'half'"),
        (("0.5", 0.5, 0.5), "prior is a number or an array of numbers, got '0.5'"),
        ((0.5j, 0.5, 0.5), "prior is a number"),
        (([0.5, [0.5]], 0.5, 0.5), "prior is a number"),
        (([0.5, 0.5], [0.1, 0.2, 0.3]), r"prior has 2 and likelihood the shape \(3,\)"),
        (([0.5, 0.5], 0.1), r"prior has 2 and likelihood the shape \(\)"),
        (([0.5, 0.5], [0.1, 0.2], [0.1, 0.2, 0.3]), r"shapes do not fit.*evidence \(3,\)"),
        ((np.full((3, 2), 0.5), np.full((4, 2), 0.5)), "shapes do not fit"),
        (([], []), "prior is empty"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        bayes_rule(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.5, [0.1, 0.2]), "prior is one number"),
        (([0.5, 0.4],), "sums to 0.9"),
        (([0.5, 0.5], [0.1, 0.2], [0.1]), r"likelihood 1 the shape \(1,\)"),
        (([0.5, 0.5], [0.1, 0.2], [0.1, 1.2]), r"likelihood 1 is a probability.*1.2 at \[1\]"),
        (([0.5, 0.5], [0.0, 1.0], [1.0, 0.0]), "the evidence has probability 0"),
        (([0.5, 0.5], np.full((3, 2), 0.5), np.full((4, 2), 0.5)), "shapes do not fit"),
    ],
    ids=str,
)
def test_bad_sequences_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        update(*arguments)


def test_what_was_given_is_not_changed():
    prior, likelihood = np.array([0.5, 0.5]), np.array([0.1, 0.4])
    got = bayes_rule(prior, likelihood)
    got[:] = 7.0
    assert prior.tolist() == [0.5, 0.5]
    assert likelihood.tolist() == [0.1, 0.4]
    start = np.array([0.5, 0.5])
    update(start)[:] = 7.0
    assert start.tolist() == [0.5, 0.5]


def test_the_public_names_are_those_of_the_module():
    assert tallybayes.bayes_rule is bayes_rule
    assert tallybayes.update is update
    assert math.isclose(tallybayes.bayes_rule(0.5, 0.5, 0.5), 0.5)


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
def test_bad_odds_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
