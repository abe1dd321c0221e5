"""Bernoulli, multinomial and complement, in exact rational arithmetic; and the Dirichlet-
multinomial.
"""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import gammaln

from reference.logs import assert_logs, ln, ln_all
from reference.rational import exact
from tallybayes.families import Bernoulli, Complement, Dirichlet, Multinomial
from tallybayes.families.multinomial import MultinomialCounts
from tallybayes.tally import ClassCounts, FeatureSums

ALPHAS = [0.0, 1.0, 0.5, 1e-3]


@st.composite
def feature_sums(draw, *, min_classes=1):
    """Counts of up to three classes and four features; a class may have no words at all."""
    K, d = draw(st.integers(min_classes, 3)), draw(st.integers(1, 4))
    element = st.one_of(st.integers(0, 5).map(float), st.floats(0.01, 9.0))
    rows = [
        draw(st.lists(element, min_size=d, max_size=d)) if draw(st.integers(0, 3)) else [0.0] * d
        for _ in range(K)
    ]
    return FeatureSums(np.array(rows))


@st.composite
def yes_no_counts(draw):
    """How many rows of each class have each feature, and how many rows there are."""
    K, d = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    n = np.array(draw(st.lists(st.integers(0, 6), min_size=K, max_size=K)), dtype=float)
    present = [[float(draw(st.integers(0, int(n[k])))) for _ in range(d)] for k in range(K)]
    return FeatureSums(np.array(present)), ClassCounts(n)


alphas = st.sampled_from(ALPHAS)


@st.composite
def alpha_for(draw, d):
    """One alpha for all features, or one for each."""
    if draw(st.booleans()):
        return draw(alphas)
    return np.array(draw(st.lists(alphas, min_size=d, max_size=d)))


def rational(alpha, d):
    return exact(np.broadcast_to(np.asarray(alpha, dtype=float), (d,)))


# ---- Bernoulli -----------------------------------------------------------------------------------
def bernoulli(tally, classes, alpha):
    """P(x_j = 1 | c) = (n_cj1 + α_j) / (n_c + 2α_j), pooled in a class without rows."""
    present, count = exact(tally.sums), exact(classes.count)
    a, p = rational(alpha, present.shape[1]), np.empty_like(present)
    for k in range(len(count)):
        n, total = (present[k], count[k]) if count[k] else (present.sum(axis=0), count.sum())
        for j in range(len(a)):
            below = total + 2 * a[j]
            p[k, j] = (n[j] + a[j]) / below if below else Fraction(1, 2)
    return p


@given(counts=yes_no_counts(), data=st.data())
def test_bernoulli_probabilities_are_those_of_the_equation(counts, data):
    tally, classes = counts
    alpha = data.draw(alpha_for(tally.sums.shape[1]))
    found = Bernoulli(alpha=alpha).log_probabilities(tally, classes)
    assert_logs(found, bernoulli(tally, classes, alpha))


@given(counts=yes_no_counts(), data=st.data())
def test_bernoulli_scores_are_the_log_probability_of_the_row(counts, data):
    """offset + Σ x_j·weight_j, and −inf where a required feature is absent."""
    tally, classes = counts
    alpha = data.draw(alpha_for(tally.sums.shape[1]))
    p = bernoulli(tally, classes, alpha)
    linear = Bernoulli(alpha=alpha).parameters(tally, classes)
    for bits in range(2 ** p.shape[1]):
        x = np.array([bits >> j & 1 for j in range(p.shape[1])], dtype=bool)
        score = linear.offset + np.where(x, linear.weights, 0.0).sum(axis=1)
        if linear.required is not None:
            score = np.where((linear.required & ~x).any(axis=1), -np.inf, score)
        truth = np.where(x, p, 1 - p).prod(axis=1)
        assert not np.isnan(score).any()
        np.testing.assert_allclose(score, ln_all(truth), rtol=1e-14, atol=1e-13)


def test_a_feature_that_every_document_has_is_required_without_smoothing():
    tally, classes = (
        FeatureSums(np.array([[3.0, 1.0], [1.0, 0.0]])),
        ClassCounts(np.array([3.0, 2.0])),
    )
    linear = Bernoulli(alpha=0.0).parameters(tally, classes)
    assert linear.required.tolist() == [[True, False], [False, False]]
    assert linear.weights[0, 0] == 0.0
    assert np.isneginf(linear.weights[1, 1])
    assert np.isfinite(linear.offset).all()
    assert Bernoulli(alpha=1e-9).parameters(tally, classes).required is None


def test_a_probability_near_one_keeps_its_complement():
    """log(1 − p) comes from the count of rows without the feature: 1 − exp(log p) would be 0."""
    n = 2.0**60
    tally, classes = FeatureSums(np.array([[n]])), ClassCounts(np.array([n]))
    linear = Bernoulli(alpha=1.0).parameters(tally, classes)
    np.testing.assert_allclose(linear.offset[0], ln(1 / (Fraction(n) + 2)), rtol=1e-15)


def test_a_count_that_rounding_lifts_above_its_class_is_certain_and_not_nan():
    """Fractional weights are added up in another order by class than by feature."""
    n = 1000.1
    above = np.nextafter(n, 2 * n)
    for present in (n, above, above + 1e-10):
        linear = Bernoulli(alpha=0.0).parameters(
            FeatureSums(np.array([[present]])), ClassCounts(np.array([n]))
        )
        assert not np.isnan(linear.weights).any()
        assert not np.isnan(linear.offset).any()
        np.testing.assert_allclose(linear.offset + linear.weights[:, 0], 0.0, atol=1e-9)


# ---- multinomial ---------------------------------------------------------------------------------
def multinomial(tally, alpha):
    """θ_cj = (N_cj + α_j) / (N_c + Σ α), pooled in a class without a word."""
    counts = exact(tally.sums)
    a, theta = rational(alpha, counts.shape[1]), np.empty_like(counts)
    for k in range(len(counts)):
        row = (counts[k] if counts[k].sum() else counts.sum(axis=0)) + a
        theta[k] = row / row.sum() if row.sum() else Fraction(1, len(row))
    return theta


@given(tally=feature_sums(), data=st.data())
def test_multinomial_probabilities_are_those_of_the_equation(tally, data):
    alpha = data.draw(alpha_for(tally.sums.shape[1]))
    family, classes = Multinomial(alpha=alpha), ClassCounts.zeros(tally.n_classes)
    expected = multinomial(tally, alpha)
    assert_logs(family.log_probabilities(tally), expected)
    linear = family.parameters(tally, classes)
    assert_logs(linear.weights, expected)
    assert not linear.offset.any()
    assert linear.threshold is None
    assert linear.required is None


@given(tally=feature_sums(), data=st.data())
def test_multinomial_probabilities_sum_to_one(tally, data):
    alpha = data.draw(alpha_for(tally.sums.shape[1]))
    theta = np.exp(Multinomial(alpha=alpha).log_probabilities(tally))
    assert (np.abs(theta.sum(axis=1) - 1.0) <= 1e-13).all()


def test_a_class_without_words_speaks_as_all_classes_do():
    tally = FeatureSums(np.array([[1.0, 3.0], [0.0, 0.0], [2.0, 0.0]]))
    found = Multinomial(alpha=1.0).log_probabilities(tally)
    assert_logs(found[1], [Fraction(4, 8), Fraction(4, 8)])


# ---- complement ----------------------------------------------------------------------------------
def complement(tally, alpha):
    """θ̃_cj = (α_j + Σ_{c'≠c} N_c'j) / Σ_j (…), each word alike where there is nothing."""
    counts = exact(tally.sums)
    a, theta = rational(alpha, counts.shape[1]), np.empty_like(counts)
    for k in range(len(counts)):
        row = counts.sum(axis=0) - counts[k] + a
        theta[k] = row / row.sum() if row.sum() else Fraction(1, len(row))
    return theta


@given(tally=feature_sums(), alpha=st.sampled_from([1.0, 0.5, 1e-3]))
def test_complement_weights_are_those_of_the_equation(tally, alpha):
    found, truth = Complement(alpha=alpha).weights(tally), ln_all(complement(tally, alpha))
    # a complement is a difference: all classes less one
    held = tally.sums.sum(axis=0) + alpha
    rounding = 2.0**-50 * (held / (held - tally.sums)).max() + 2e-14
    np.testing.assert_allclose(-found, truth, rtol=0.0, atol=rounding)


@given(tally=feature_sums(), alpha=st.sampled_from([1.0, 0.5, 1e-3]))
def test_normalised_complement_weights_are_shares(tally, alpha):
    logs = ln_all(complement(tally, alpha))
    if tally.sums.shape[1] == 1:
        return  # log 1 = 0 has no shares: a test of its own
    found = Complement(alpha=alpha, norm=True).weights(tally)
    np.testing.assert_allclose(found, logs / logs.sum(axis=1, keepdims=True), rtol=1e-9)


@pytest.mark.parametrize("norm", [False, True])
@given(tally=feature_sums(), alpha=st.sampled_from([0.0, 1.0]))
def test_complement_weights_are_numbers_or_minus_infinity(norm, tally, alpha):
    found = Complement(alpha=alpha, norm=norm).weights(tally)
    assert not np.isnan(found).any()
    assert not np.isposinf(found).any()


@pytest.mark.parametrize("alpha", [1e-10, 1e-12, 1e-300])
def test_a_small_alpha_is_not_lost_beside_a_large_count(alpha):
    """α + Σ_{c'≠c} N_c'j is not (α + Σ N) − N_c: that is 0 where N_c is large."""
    tally = FeatureSums(np.array([[1e7, 1.0], [0.0, 5.0]]))
    found = Complement(alpha=alpha).weights(tally)
    assert_logs(-found, complement(tally, alpha))


def test_without_smoothing_a_word_that_one_class_alone_has_rules_the_others_out():
    tally = FeatureSums(np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 0.0]]))
    found = Complement(alpha=0.0).weights(tally)
    assert found[:, 0].tolist() == [0.0, -np.inf]
    assert_logs(-found[1, 1:2], [Fraction(1, 3)])
    assert found[:, 2].tolist() == [0.0, 0.0]  # a word that nobody has says nothing


def test_without_smoothing_a_word_that_nobody_has_rules_no_class_out():
    """Also where a class was declared and has no rows, so that the other's complement is empty."""
    tally = FeatureSums(np.array([[3.0, 0.0], [0.0, 0.0]]))
    found = Complement(alpha=0.0).weights(tally)
    assert not np.isinf(found[:, 1]).any()


def test_normalised_weights_of_a_single_word_are_numbers():
    for sums in ([[3.0], [1.0]], [[3.0], [0.0]]):
        assert np.isfinite(Complement(norm=True).weights(FeatureSums(np.array(sums)))).all()


def test_the_class_prior_does_not_enter_complement_scores():
    assert Complement.uses_prior is False
    assert (
        not Complement().parameters(FeatureSums(np.ones((2, 3))), ClassCounts.zeros(2)).offset.any()
    )


@pytest.mark.parametrize("family", [Bernoulli, Multinomial, Complement])
def test_reading_changes_no_count(family):
    tally, classes = (
        FeatureSums(np.array([[2.0, 0.0], [0.0, 0.0]])),
        ClassCounts(np.array([2.0, 0.0])),
    )
    before = tally.copy(), classes.copy()
    for alpha in (0.0, 1.0, np.array([0.5, 0.0])):
        family(alpha=alpha).parameters(tally, classes)
    assert (tally, classes) == before


@pytest.mark.parametrize("family", [Bernoulli, Multinomial, Complement])
def test_many_classes_are_read_block_by_block_as_one_by_one(family):
    """Families read classes in blocks that fit the cache; the blocks do not show."""
    rng = np.random.default_rng(0)
    sums = rng.integers(0, 4, size=(70, 5000)).astype(float)
    sums[[3, 60]] = 0.0
    sums[:, 17] = 0.0
    count = np.full(70, 3.0)
    count[[3, 60]] = 0.0
    tally, classes = FeatureSums(sums), ClassCounts(count)
    for alpha in (0.0, 1.0, np.where(np.arange(5000) % 3, 1.0, 0.0)):
        whole = family(alpha=alpha).parameters(tally, classes)
        for k in (0, 3, 25, 26, 60, 69):
            # a class beside all others together is read the same
            rest = np.delete(np.arange(70), k)
            pair = FeatureSums(np.array([sums[k], sums[rest].sum(axis=0)]))
            counts = ClassCounts(np.array([count[k], count[rest].sum()]))
            alone = family(alpha=alpha).parameters(pair, counts)
            found, expected = whole.weights[k], alone.weights[0]
            if family is Complement:  # the other 69 may hold a word that no single one has alone
                same = np.isfinite(found) & np.isfinite(expected)
                found, expected = found[same], expected[same]
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(whole.offset[k], alone.offset[0], rtol=1e-9)


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
