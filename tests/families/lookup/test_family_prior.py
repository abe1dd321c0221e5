"""The class prior: equations (9) and (12) of article 1 in docs/origin.md, in exact rationals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from reference.logs import assert_logs
from reference.rational import exact
from tallybayes.families import ClassPrior
from tallybayes.tally import ClassCounts

counts = hnp.arrays(
    np.float64,
    st.integers(1, 6),
    elements=st.one_of(st.integers(0, 9).map(float), st.floats(0, 50)),
).filter(lambda c: c.sum() > 1e-6)


@given(count=counts)
def test_maximum_likelihood_is_the_share_of_rows(count):
    """Equation (9): P(c) = Σ I(y = c) / m."""
    n = exact(count)
    assert_logs(ClassPrior().log(ClassCounts(count)), n / n.sum())


@given(count=counts, alpha=st.sampled_from([1.0, 0.5, 3.25, 1e-3]))
def test_smoothing_adds_alpha_rows_to_every_class(count, alpha):
    """Equation (12): P(c) = (Σ I(y = c) + λ) / (m + Kλ)."""
    n, a = exact(count), Fraction(alpha)
    expected = (n + a) / (n.sum() + len(n) * a)
    assert_logs(ClassPrior(alpha=alpha).log(ClassCounts(count)), expected)


@given(count=counts, alpha=st.sampled_from([0.0, 1.0]))
def test_the_prior_sums_to_one(count, alpha):
    prior = np.exp(ClassPrior(alpha=alpha).log(ClassCounts(count)))
    assert abs(prior.sum() - 1.0) <= 1e-14


def test_a_class_without_rows_cannot_occur_unless_smoothed():
    classes = ClassCounts(np.array([3.0, 0.0, 1.0]))
    assert_logs(ClassPrior().log(classes), [Fraction(3, 4), 0, Fraction(1, 4)])
    assert_logs(
        ClassPrior(alpha=1.0).log(classes), [Fraction(4, 7), Fraction(1, 7), Fraction(2, 7)]
    )


def test_a_given_prior_is_not_changed_by_counts():
    prior = ClassPrior(given=np.array([0.25, 0.75, 0.0]))
    for count in ([0.0, 0.0, 0.0], [5.0, 1.0, 9.0]):
        assert_logs(
            prior.log(ClassCounts(np.array(count))), [Fraction(1, 4), Fraction(3, 4), Fraction(0)]
        )


def test_no_rows_have_no_prior_unless_it_is_smoothed_or_given():
    nothing = ClassCounts.zeros(2)
    with pytest.raises(ValueError, match=r"no rows.*class_alpha"):
        ClassPrior().log(nothing)
    assert_logs(ClassPrior(alpha=0.1).log(nothing), [Fraction(1, 2)] * 2)


def test_weights_that_cancel_have_no_prior():
    with pytest.raises(ValueError, match="sum to 0"):
        ClassPrior().log(ClassCounts(np.array([0.0, 0.0])))


def test_reading_the_prior_changes_no_count():
    count = np.array([3.0, 1.0])
    ClassPrior(alpha=1.0).log(ClassCounts(count))
    assert count.tolist() == [3.0, 1.0]
