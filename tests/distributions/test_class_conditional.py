"""p(x | y) of the classifiers of arrays, against scipy.stats and numerical integration."""

import itertools

import numpy as np
import pytest
import scipy.stats
from scipy import sparse
from scipy.integrate import quad
from scipy.special import entr

from estimators.cases import rows
from tallybayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from tallybayes.distributions import IndependentBernoulli

CODES = list(itertools.product(range(2), repeat=4))


def made(NB, *, zero_one=False, **params):
    x, y = rows()
    model = NB(**params).fit(x > 2 if zero_one else x, y)
    return model, model.class_conditional_


def assert_moments(conditional, drawn, **more):
    """Means and variances of draws (n, K, d) are those that are stated."""
    n = len(drawn)
    sigma = conditional.stddev(**more)
    np.testing.assert_array_less(
        np.abs(drawn.mean(axis=0) - conditional.mean(**more)), 5 * sigma / np.sqrt(n) + 1e-12
    )
    np.testing.assert_allclose(drawn.var(axis=0), conditional.variance(**more), rtol=0.06)
    np.testing.assert_allclose(sigma**2, conditional.variance(**more), rtol=1e-12)


# ---- Gaussian ------------------------------------------------------------------------------------
def test_a_gaussian_is_scipys_normal_and_multivariate_normal():
    model, conditional = made(GaussianNB)
    x = np.random.default_rng(0).normal(2, 3, (20, 4))
    got = conditional.log_prob(x)
    for k in range(3):
        sigma = np.sqrt(model.var_[k])
        expected = scipy.stats.norm.logpdf(x, model.theta_[k], sigma).sum(axis=1)
        np.testing.assert_allclose(got[:, k], expected, rtol=1e-13)
        whole = scipy.stats.multivariate_normal(model.theta_[k], np.diag(model.var_[k]))
        np.testing.assert_allclose(got[:, k], whole.logpdf(x), rtol=1e-12)
        assert conditional.entropy()[k] == pytest.approx(whole.entropy(), rel=1e-13)
    np.testing.assert_array_equal(conditional.mean(), model.theta_)
    np.testing.assert_allclose(conditional.variance(), model.var_, rtol=1e-15)
    drawn = conditional.sample(20_000, random_state=0)
    assert drawn.shape == (20_000, 3, 4)
    assert_moments(conditional, drawn)


def test_a_gaussian_integrates_to_1_and_has_the_entropy_of_the_integral():
    model = GaussianNB().fit([[0.0], [1.0], [4.0], [9.0]], [0, 0, 1, 1])
    conditional = model.class_conditional_
    for k in range(2):

        def p(x, k=k):
            return conditional.prob([x])[k]

        assert quad(p, -20, 40, points=[1, 6])[0] == pytest.approx(1.0, abs=1e-9)
        minus = quad(lambda x, p=p: entr(p(x)), -15, 30, points=[1, 6])[0]
        assert conditional.entropy()[k] == pytest.approx(minus, abs=1e-7)


def test_the_frozen_normals_answer_what_scipy_can():
    model, conditional = made(GaussianNB)
    low, high = conditional.frozen.interval(0.9)
    assert low.shape == (3, 4)
    np.testing.assert_allclose((low + high) / 2, model.theta_, atol=1e-12)


# ---- Bernoulli -----------------------------------------------------------------------------------
@pytest.mark.parametrize("alpha", [0.0, 1e-10, 1.0])
def test_yes_no_features_are_scipys_bernoulli_and_sum_to_1(alpha):
    model, conditional = made(BernoulliNB, zero_one=True, alpha=alpha)
    expected = scipy.stats.bernoulli.logpmf(np.array(CODES)[:, None, :], conditional.probs)
    np.testing.assert_allclose(conditional.log_prob(CODES), expected.sum(axis=2), rtol=1e-9)
    np.testing.assert_allclose(conditional.prob(CODES).sum(axis=0), 1.0, rtol=1e-13)
    np.testing.assert_allclose(conditional.probs, np.exp(model.feature_log_prob_), rtol=1e-15)
    frozen = scipy.stats.bernoulli(conditional.probs)
    np.testing.assert_allclose(conditional.entropy(), frozen.entropy().sum(axis=1), rtol=1e-8)
    np.testing.assert_allclose(conditional.variance(), frozen.var(), rtol=1e-8, atol=1e-15)


def test_draws_of_yes_no_features():
    _, conditional = made(BernoulliNB, zero_one=True)
    drawn = conditional.sample(20_000, random_state=0)
    assert set(np.unique(drawn)) == {0, 1}
    assert drawn.dtype == conditional.dtype == np.int64
    assert_moments(conditional, drawn)


def test_x_is_read_above_the_threshold_as_the_model_reads_it():
    x, y = rows()
    model = BernoulliNB(binarize=2.0).fit(x, y)
    np.testing.assert_array_equal(
        model.class_conditional_.log_prob(x),
        model.class_conditional_.log_prob(x > 2) * 0
        + BernoulliNB(binarize=0.5).fit(x > 2, y).class_conditional_.log_prob(x > 2),
    )


def test_without_a_threshold_only_0_and_1_can_be():
    half = np.full((1, 2), np.log(0.5))
    conditional = IndependentBernoulli(half, half, np.array(["a"]), ["u", "v"])
    got = conditional.log_prob([[0, 1], [0, 2], [0.5, 1], [np.nan, 1]])
    np.testing.assert_array_equal(got, [[np.log(0.25)], [-np.inf], [-np.inf], [np.nan]])


def test_a_probability_next_to_1_keeps_its_contrary():
    """1 − p = 1e-12/(n + 2e-12), which p as a float64 no longer shows."""
    model = BernoulliNB(alpha=1e-12).fit([[1.0]] * 1000 + [[0.0]], [0] * 1000 + [1])
    got = model.class_conditional_.log_prob([[0.0]])
    assert got[0, 0] == pytest.approx(np.log(1e-12) - np.log(1000), rel=1e-14)
    np.testing.assert_allclose(
        model.joint_.log_prob_of_classes([[0.0], [1.0]]),
        model.predict_joint_log_proba([[0.0], [1.0]]),
        atol=1e-13,
    )


# ---- multinomial ---------------------------------------------------------------------------------
def test_counts_are_scipys_multinomial_with_the_coefficient():
    model, conditional = made(MultinomialNB)
    x, _ = rows()
    for k in range(3):
        theta = np.exp(model.feature_log_prob_[k])
        np.testing.assert_allclose(
            conditional.log_prob(x, coefficient=True)[:, k],
            [scipy.stats.multinomial.logpmf(row, int(row.sum()), theta) for row in x],
            rtol=1e-10,
        )
        whole = scipy.stats.multinomial(5, theta)
        assert conditional.entropy(5, coefficient=True)[k] == pytest.approx(whole.entropy())
        assert conditional.entropy(5)[k] == pytest.approx(5 * scipy.stats.entropy(theta))
        np.testing.assert_allclose(conditional.mean(5)[k], whole.mean(), rtol=1e-12)
        np.testing.assert_allclose(conditional.variance(5)[k], np.diag(whole.cov()), rtol=1e-12)


def test_counts_of_one_total_sum_to_1():
    _, conditional = made(MultinomialNB)
    every = [c for c in itertools.product(range(4), repeat=4) if sum(c) == 3]
    total = conditional.prob(every, coefficient=True).sum(axis=0)
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)


def test_draws_have_the_total_that_is_asked_for():
    _, conditional = made(MultinomialNB)
    drawn = conditional.sample(20_000, random_state=0, total_count=6)
    assert (drawn.sum(axis=2) == 6).all()
    assert_moments(conditional, drawn, total_count=6)
    each = conditional.sample(3, random_state=0, total_count=[0, 2, 50])
    assert each.sum(axis=2).tolist() == [[0] * 3, [2] * 3, [50] * 3]
    assert conditional.sample(random_state=0).sum(axis=1).tolist() == [1, 1, 1]


def test_a_word_that_cannot_be():
    model = MultinomialNB(alpha=0.0).fit([[1.0, 1.0, 0.0], [0.0, 1.0, 3.0]], ["a", "b"])
    got = model.class_conditional_.log_prob([[1, 0, 0], [0, 0, 1], [0, 2, 0], [-1, 0, 2]])
    np.testing.assert_allclose(
        got,
        np.log([[0.5, 1e-320], [1e-320, 0.75], [0.25, 1 / 16], [1e-320, 1e-320]])
        + np.where([[0, 1], [1, 0], [0, 0], [1, 1]], -np.inf, 0.0),
    )


@pytest.mark.parametrize("coefficient", [False, True])
def test_sparse_counts_are_counts(coefficient):
    x, y = rows()
    conditional = MultinomialNB(alpha=0.0).fit(x * (x > 2), y).class_conditional_
    more = np.concatenate([x, [[0, 0, 0, 0], [-1, 2, 0, 0]]])
    expected = conditional.log_prob(more, coefficient=coefficient)
    assert np.isneginf(expected).any()
    assert np.isfinite(expected).any()
    got = conditional.log_prob(sparse.csr_array(more), coefficient=coefficient)
    np.testing.assert_allclose(got, expected, rtol=1e-13)


@pytest.mark.parametrize("threshold", [None, -0.5, 0.0, 2.0])
def test_sparse_yes_no_features(threshold):
    """Features that every row of a class has, or none; and values that are neither 0 nor 1."""
    with np.errstate(divide="ignore"):
        present = np.log([[0.0, 1.0, 0.3], [0.5, 0.2, 0.9]])
        absent = np.log1p(-np.exp(present))
    one = IndependentBernoulli(present, absent, np.array(["a", "b"]), list("uvw"), threshold)
    x = np.array(list(itertools.product([0.0, 1.0, 3.0], repeat=3)))
    expected = one.log_prob(x)
    assert np.isneginf(expected).any()
    np.testing.assert_allclose(one.log_prob(sparse.csr_array(x)), expected, rtol=1e-13)


@pytest.mark.parametrize("total", [-1, 2.5, "many", [1, -2], [[1], [2]]])
def test_bad_totals_are_refused(total):
    _, conditional = made(MultinomialNB)
    with pytest.raises(ValueError, match="total_count is a whole number from 0 on"):
        conditional.sample(2, total_count=total)
    model, _ = made(MultinomialNB)
    with pytest.raises(ValueError, match="total_count has 2 values for"):
        conditional.sample(3, total_count=[1, 2])
    with pytest.raises(ValueError, match="total_count has 2 values for 3 draws"):
        model.joint_.sample(3, total_count=[1, 2])


# ---- categories ----------------------------------------------------------------------------------
def test_levels_are_the_models_table_and_sum_to_1():
    model, conditional = made(CategoricalNB, min_categories=5)
    for probs, log_prob in zip(conditional.probs, model.feature_log_prob_, strict=True):
        np.testing.assert_array_equal(probs, np.exp(log_prob))
    space = list(itertools.product(range(5), repeat=4))
    np.testing.assert_allclose(conditional.prob(space).sum(axis=0), 1.0, rtol=1e-12)
    expected = [sum(scipy.stats.entropy(probs[k]) for probs in conditional.probs) for k in range(3)]
    np.testing.assert_allclose(conditional.entropy(), expected, rtol=1e-12)
    assert conditional.mode().tolist() == [
        [int(probs[k].argmax()) for probs in conditional.probs] for k in range(3)
    ]


def test_draws_of_levels_have_their_frequencies():
    _, conditional = made(CategoricalNB)
    drawn = conditional.sample(20_000, random_state=0)
    for k, j in itertools.product(range(3), range(4)):
        probs = conditional.probs[j][k]
        count = np.bincount(drawn[:, k, j], minlength=len(probs))
        assert scipy.stats.chisquare(count, 20_000 * probs / probs.sum()).pvalue > 1e-5


@pytest.mark.parametrize("unseen", ["smooth", "ignore", "error"])
def test_a_level_never_seen_is_what_the_model_says(unseen):
    x, y = rows()
    model = CategoricalNB(unseen=unseen).fit(x, y)
    strange = np.array([[9, 0, 1, 2]])
    got = model.joint_.log_prob_of_classes(strange)
    if unseen == "error":
        assert np.isneginf(got).all()
    else:
        np.testing.assert_allclose(got, model.predict_joint_log_proba(strange), rtol=1e-13)
    odd = model.class_conditional_.log_prob([[0.5, 0, 0, 0], [-1, 0, 0, 0], [np.inf, 0, 0, 0]])
    assert np.isneginf(odd).all()


def test_declared_levels_are_values():
    levels = [["sun", "rain", "snow"], [1, 2]]
    x = np.array([["sun", 1], ["rain", 2], ["rain", 1]], dtype=object)
    model = CategoricalNB(levels=levels).fit(x, ["out", "in", "in"])
    conditional = model.class_conditional_
    np.testing.assert_allclose(
        model.joint_.log_prob_of_classes(x), model.predict_joint_log_proba(x), rtol=1e-13
    )
    drawn = conditional.sample(200, random_state=0)
    assert set(drawn[:, :, 0].ravel()) == {"sun", "rain", "snow"}
    assert set(drawn[:, :, 1].ravel()) == {1, 2}
    assert conditional.mode().tolist() == [["rain", 1], ["sun", 1]]
    assert conditional.dtype == object
