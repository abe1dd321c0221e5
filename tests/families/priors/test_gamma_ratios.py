"""Ratios of Gamma functions against mpmath, where float64 logarithms of Gamma have lost them."""

import itertools

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.families.priors import log_counts_evidence, log_rising

BASES = [1e-300, 1e-10, 0.5, 1.0, 15.9, 16.0, 17.0, 1e3, 1e6, 1e10, 1e12]
STEPS = [0.0, 1e-12, 0.5, 1.0, 3.25, 100.0, 1e6, 1e10, 1e12]


@pytest.fixture(autouse=True)
def _fifty_digits():
    with mp.workdps(50):
        yield


def rising(a, k):
    return mp.loggamma(mp.mpf(a) + mp.mpf(k)) - mp.loggamma(mp.mpf(a))


def evidence(concentration, counts):
    pairs = [(mp.mpf(a), mp.mpf(k)) for a, k in zip(concentration, counts, strict=True)]
    each = sum(rising(a, k) for a, k in pairs)
    return each - rising(sum(a for a, _ in pairs), sum(k for _, k in pairs))


@pytest.mark.parametrize("a", BASES)
def test_the_extremes(a):
    expected = [float(rising(a, k)) for k in STEPS]
    np.testing.assert_allclose(log_rising(a, STEPS), expected, rtol=2e-14, atol=2e-14)


@given(a=st.floats(1e-6, 1e8), k=st.floats(0.0, 1e8))
def test_anything_between(a, k):
    assert float(log_rising(a, k)) == pytest.approx(float(rising(a, k)), rel=2e-14, abs=2e-14)


def test_shapes_broadcast():
    found = log_rising(np.array([[1.0], [20.0]]), np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(np.exp(found), [[1.0, 2.0, 6.0], [20.0, 420.0, 9240.0]], rtol=1e-13)


@pytest.mark.parametrize("concentration", [1e-10, 0.5, 1.0, 1e10])
def test_evidence_at_the_extremes(concentration):
    """As exact as float64 can be beside the largest term; subtracting misses by 1e-3."""
    for counts in itertools.product([0.0, 1.0, 3.5, 1e6, 1e12], repeat=3):
        found = log_counts_evidence(np.full(3, concentration), np.array(counts))
        expected = float(evidence([concentration] * 3, counts))
        assert float(found) == pytest.approx(expected, rel=1e-11, abs=1e-11)


def test_evidence_where_one_level_is_nearly_certain():
    counts = np.array([1e12, 0.0])
    found = float(log_counts_evidence(np.ones(2), counts))
    assert found == pytest.approx(-float(mp.log(10**12 + 1)), rel=1e-14)


@given(
    st.lists(st.tuples(st.floats(1e-3, 1e3), st.integers(0, 50)), min_size=1, max_size=5),
)
def test_evidence_of_any_counts(cells):
    a, k = (np.array(part, dtype=float) for part in zip(*cells, strict=True))
    expected = float(evidence(a.tolist(), k.tolist()))
    assert float(log_counts_evidence(a, k)) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_a_concentration_of_zero_rules_its_rows_out():
    a = np.array([0.0, 1.0, 2.0])
    found = log_counts_evidence(a, np.array([[0.0, 1.0, 1.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]))
    assert found[0] == pytest.approx(np.log(2.0 / 12.0))
    assert found[1:].tolist() == [-np.inf, 0.0]
