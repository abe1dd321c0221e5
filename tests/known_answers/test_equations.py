"""Equations (3), (6) and (9) to (12) of orion-orion, "统计学习:朴素贝叶斯模型(Numpy实现)" (2021),
after Li Hang, 统计学习方法 (2nd ed., 2019), chapter 4, against exact rational arithmetic.

The 15 rows are those of Li Hang's example 4.1 in shape: two columns, of three values each, and two
classes; they are drawn here, not copied.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from known_answers.naive_bayes_by_fractions import ExactNaiveBayes
from tallybayes import CategoricalNB

VALUES = [["S", "M", "L"], [1, 2, 3]]
CLASSES = [-1, 1]
SMOOTHING = [Fraction(0), Fraction(1, 5), Fraction(1), Fraction(7, 2)]
SPACE = list(itertools.product(*VALUES))


def drawn(seed):
    """15 rows in which both classes occur."""
    rng = np.random.default_rng(seed)
    rows = [(VALUES[0][a], VALUES[1][b]) for a, b in rng.integers(0, 3, size=(15, 2)).tolist()]
    labels = [-1, 1, *rng.choice(CLASSES, size=13).tolist()]
    return rows, labels


@pytest.fixture(params=range(4))
def sample(request):
    return drawn(request.param)


@pytest.fixture(params=SMOOTHING, ids=str)
def smoothing(request):
    return request.param


@pytest.fixture
def pair(sample, smoothing):
    """The oracle and the model, smoothed by λ in class and feature alike."""
    rows, labels = sample
    exact = ExactNaiveBayes(VALUES, CLASSES, smoothing).fit(rows, labels)
    model = CategoricalNB(alpha=float(smoothing), class_alpha=float(smoothing), levels=VALUES)
    return exact, model.fit(as_objects(rows), labels)


def as_objects(rows):
    return np.array([list(row) for row in rows], dtype=object)


def possible(exact):
    """The rows that some class does not rule out."""
    return [row for row in SPACE if exact.evidence(row) > 0]


def test_equations_9_and_12_the_class_prior(pair):
    exact, model = pair
    expected = [float(exact.prior(c)) for c in CLASSES]
    np.testing.assert_allclose(np.exp(model.class_log_prior_), expected, rtol=1e-15)


def test_equations_10_and_11_the_likelihood(pair):
    exact, model = pair
    for j, table in enumerate(model.feature_log_prob_):
        expected = [[float(exact.likelihood(j, a, c)) for a in VALUES[j]] for c in CLASSES]
        np.testing.assert_allclose(np.exp(table), expected, rtol=1e-15)
        np.testing.assert_allclose(np.exp(table).sum(axis=1), 1.0, rtol=1e-15)


def test_equation_3_the_evidence(pair):
    exact, model = pair
    rows = possible(exact)
    got = np.exp(model.score_samples(as_objects(rows)))
    np.testing.assert_allclose(got, [float(exact.evidence(row)) for row in rows], rtol=1e-14)
    assert sum(map(exact.evidence, SPACE)) == 1


def test_equation_6_the_posterior(pair):
    exact, model = pair
    rows = possible(exact)
    got = model.predict_proba(as_objects(rows))
    expected = [[float(p) for p in exact.posterior(row)] for row in rows]
    np.testing.assert_allclose(got, expected, rtol=1e-13, atol=0)


def test_equation_8_the_decision(pair):
    exact, model = pair
    for row in possible(exact):
        best, second = sorted(exact.joint(row), reverse=True)
        if best != second:  # of equals, rounding may choose
            assert model.predict(as_objects([row])).tolist() == [exact.predict(row)]


def test_maximum_likelihood_rules_out_what_was_never_seen_together(sample):
    """The remark after equation (10): one zero factor is the whole product."""
    rows, labels = sample
    exact = ExactNaiveBayes(VALUES, CLASSES, 0).fit(rows, labels)
    model = CategoricalNB(alpha=0.0, levels=VALUES).fit(as_objects(rows), labels)
    for row in SPACE:
        got = model.predict_joint_log_proba(as_objects([row]))[0].tolist()
        for value, product in zip(got, exact.joint(row), strict=True):
            assert value == -math.inf if product == 0 else math.isfinite(value)


def test_smoothing_fades_as_the_sample_grows(sample):
    """The remark after equation (12)."""
    rows, labels = sample
    plain = ExactNaiveBayes(VALUES, CLASSES, 0).fit(rows, labels)
    gaps = []
    for times in (1, 100, 10_000):
        model = CategoricalNB(class_alpha=1.0, levels=VALUES)
        model.fit(as_objects(rows), labels, sample_weight=float(times))
        gaps.append(
            max(
                abs(math.exp(model.feature_log_prob_[j][k, i]) - plain.likelihood(j, a, c))
                for j in range(2)
                for k, c in enumerate(CLASSES)
                for i, a in enumerate(VALUES[j])
            )
        )
    assert gaps[0] > 50 * gaps[1] > 50 * 50 * gaps[2]
