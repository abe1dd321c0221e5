"""A group of columns as counts: the Dirichlet-multinomial against scipy.stats and mpmath."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import gammaln

from tallybayes.families import Dirichlet, Multinomial
from tallybayes.families.multinomial import MultinomialCounts
from tallybayes.tally import FeatureSums

words = st.lists(st.integers(0, 9), min_size=3, max_size=3)


def coefficient(x):
    """log n! / Π x_j!, which the families leave out."""
    return gammaln(x.sum(axis=-1) + 1.0) - gammaln(x + 1.0).sum(axis=-1)


def score(family, counted, x, alpha=1.0):
    """log p(x | c) of one class with these counts."""
    tally = FeatureSums(np.array([counted], dtype=float))
    return MultinomialCounts.read(family, tally, alpha).contributions(x).sum(axis=2)[:, 0]


@given(words.filter(any), st.lists(words, min_size=1, max_size=4), st.floats(0.05, 20.0))
def test_integrated_out_it_is_the_dirichlet_multinomial(counted, rows, alpha):
    x = np.array(rows, dtype=float)
    expected = [
        stats.dirichlet_multinomial.logpmf(row, np.array(counted) + alpha, int(row.sum()))
        for row in x
    ]
    found = score(Multinomial(alpha=alpha, estimate="posterior"), counted, x)
    np.testing.assert_allclose(found, np.array(expected) - coefficient(x), rtol=1e-9, atol=1e-9)


@given(words.filter(any), st.lists(words, min_size=1, max_size=4), st.floats(0.05, 20.0))
def test_estimated_it_is_the_multinomial(counted, rows, alpha):
    x, a = np.array(rows, dtype=float), np.array(counted) + alpha
    expected = [stats.multinomial.logpmf(row, int(row.sum()), a / a.sum()) for row in x]
    found = score(Multinomial(alpha=alpha), counted, x)
    np.testing.assert_allclose(found, np.array(expected) - coefficient(x), rtol=1e-9, atol=1e-9)


@given(words, st.lists(words, min_size=1, max_size=3))
def test_the_score_is_a_ratio_of_evidences(counted, rows):
    prior, x = Dirichlet(2.0, [0.2, 0.3, 0.5]), np.array(rows, dtype=float)
    found = score(Multinomial(prior=prior, estimate="posterior"), counted, x)
    before = prior.log_evidence(counted)
    expected = prior.log_evidence(np.array(counted) + x) - before
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("alpha", [1e-10, 1.0, 1e10])
def test_the_extremes(alpha):
    counted, x = [1e12, 0.0, 3.5], np.array([[3.0, 0.0, 0.0], [1.0, 2.0, 0.0], [1e6, 1.0, 1.0]])
    with mp.workdps(50):
        a = [mp.mpf(n) + mp.mpf(alpha) for n in counted]
        expected = [
            float(
                sum(mp.loggamma(b + k) - mp.loggamma(b) for b, k in zip(a, row, strict=True))
                - mp.loggamma(sum(a) + sum(row))
                + mp.loggamma(sum(a))
            )
            for row in x.tolist()
        ]
    found = score(Multinomial(alpha=alpha, estimate="posterior"), counted, x)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-8)
