"""Columns of numbers as densities, against scipy.stats and numerical integration."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.integrate import quad
from sklearn.naive_bayes import GaussianNB

from tallybayes import NaiveBayes
from tallybayes.families import Gamma, Gaussian, NormalInverseGamma, Poisson

RNG = np.random.default_rng(8)
Y = np.repeat(["a", "b"], [60, 40])
INCOME = np.round(np.where(Y == "a", RNG.lognormal(1.0, 0.6, 100), RNG.lognormal(1.6, 0.4, 100)), 6)
VISITS = np.where(Y == "a", RNG.poisson(1.5, 100), RNG.poisson(4.0, 100))
POINTS = np.array([0.25, 0.9, 1.0, 2.5, 7.0, 30.0])
CLASSES = [INCOME[Y == "a"], INCOME[Y == "b"]]


def table(values):
    return pd.DataFrame({"x": values})


def trained(family, values=INCOME):
    return NaiveBayes({"x": family}).fit(table(values), Y)


def log_density(model, points):
    """log p(x | c), (n_points, n_classes)."""
    return model.predict_joint_log_proba(table(points)) - model.class_log_prior_


def row_by_row(model, values=INCOME, points=POINTS):
    """Learned and classified one by one, it says what the batch says."""
    stream = NaiveBayes(model.columns)
    for value, label in zip(values.tolist(), Y, strict=True):
        stream.learn_one({"x": value}, label)
    np.testing.assert_allclose(log_density(stream, points), log_density(model, points), rtol=1e-9)
    expected = model.predict_proba(table(points))
    for m in (model, stream):
        got = [list(m.predict_proba_one({"x": x}).values()) for x in points.tolist()]
        np.testing.assert_allclose(got, expected, rtol=1e-9)


# ---- transforms ----------------------------------------------------------------------------------
def test_log_is_a_gaussian_of_logarithms():
    model = trained(Gaussian(transform="log"))
    plain = GaussianNB().fit(np.log(INCOME)[:, None], Y)
    expected = plain.predict_joint_log_proba(np.log(POINTS)[:, None]) - np.log(plain.class_prior_)
    np.testing.assert_allclose(
        log_density(model, POINTS), expected - np.log(POINTS)[:, None], rtol=1e-9
    )
    assert model.schema_["family"].tolist() == ["Gaussian after log"]
    row_by_row(model)


def test_yeo_johnson_is_a_gaussian_of_what_is_transformed():
    values = INCOME - 2.0
    model = trained(Gaussian(transform="yeo-johnson"), values)
    density = model._fitted().columns_read[0].part.likelihood
    transformed = stats.yeojohnson(values, lmbda=density.transform.exponent)
    plain = GaussianNB().fit(transformed[:, None], Y)
    points = POINTS - 2.0
    moved = stats.yeojohnson(points, lmbda=density.transform.exponent)
    expected = plain.predict_joint_log_proba(moved[:, None]) - np.log(plain.class_prior_)
    slope = (density.transform.exponent - 1.0) * np.sign(points) * np.log1p(np.abs(points))
    np.testing.assert_allclose(log_density(model, points), expected + slope[:, None], rtol=1e-9)
    assert model.schema_["family"][0].startswith("Gaussian after Yeo–Johnson, λ = ")
    row_by_row(model, values, points)


def test_the_exponent_of_yeo_johnson_is_that_of_most_likelihood():
    model = trained(Gaussian(transform="yeo-johnson"))
    exponent = model._fitted().columns_read[0].part.likelihood.transform.exponent

    def likelihood(lmbda):
        total = 0.0
        for own in CLASSES:
            g = stats.yeojohnson(own, lmbda=lmbda)
            total += stats.norm.logpdf(g, g.mean(), g.std()).sum()
        return total + ((lmbda - 1.0) * np.log1p(INCOME)).sum()

    best = likelihood(exponent)
    assert best > likelihood(exponent - 0.01)
    assert best > likelihood(exponent + 0.01)


DENSITIES = {
    "log": (Gaussian(transform="log"), 0.0),
    "yeo-johnson": (Gaussian(transform="yeo-johnson"), -np.inf),
    "posterior": (Gaussian(estimate="posterior"), -np.inf),
    "posterior of logarithms": (Gaussian(transform="log", estimate="posterior"), 0.0),
}


@pytest.mark.parametrize(("family", "least"), DENSITIES.values(), ids=DENSITIES)
def test_a_density_integrates_to_one(family, least):
    model = trained(family)
    for k in range(2):

        def density(x, k=k):
            return float(np.exp(log_density(model, [x])[0, k]))

        cuts = [-10.0, 0.0, 1.0, 3.0, 10.0, 100.0]
        cuts = [least, *(c for c in cuts if c > least), np.inf]
        pieces = itertools.pairwise(cuts)
        assert sum(quad(density, a, b, limit=200)[0] for a, b in pieces) == pytest.approx(1, 1e-6)


@pytest.mark.parametrize("wrong", [0.0, -1.5])
def test_log_refuses_what_has_none(wrong):
    values = INCOME.copy()
    values[3] = wrong
    model = trained(Gaussian(transform="log"))
    before = log_density(model, POINTS)
    for call in (
        lambda: trained(Gaussian(transform="log"), values),
        lambda: model.partial_fit(table(values), Y),
        lambda: model.predict(table(values)),
    ):
        with pytest.raises(ValueError, match=rf"row 3, column 'x' holds {wrong}.*above 0"):
            call()
    with pytest.raises(ValueError, match="above 0"):
        model.learn_one({"x": wrong}, "a")
    with pytest.raises(ValueError, match="above 0"):
        model.predict_one({"x": wrong})
    np.testing.assert_array_equal(log_density(model, POINTS), before)


# ---- parameters under a prior, or integrated out -------------------------------------------------
COUNTS = np.arange(12)


def test_poisson_integrated_out_is_negative_binomial():
    model = trained(Poisson(prior=Gamma(2.0, 0.5), estimate="posterior"), VISITS)
    for k, label in enumerate("ab"):
        own = VISITS[label == Y]
        shape, rate = 2.0 + own.sum(), 0.5 + len(own)
        expected = stats.nbinom.logpmf(COUNTS, shape, rate / (rate + 1.0))
        np.testing.assert_allclose(log_density(model, COUNTS)[:, k], expected, rtol=1e-10)
    row_by_row(model, VISITS, COUNTS)


@pytest.mark.parametrize("estimate", ["mean", "map", "mle"])
def test_poisson_rates(estimate):
    prior = None if estimate == "mle" else Gamma(2.0, 0.5)
    model = trained(Poisson(prior=prior, estimate=estimate), VISITS)
    for k, label in enumerate("ab"):
        own = VISITS[label == Y]
        a, b = (0.0, 0.0) if prior is None else (2.0 - (estimate == "map"), 0.5)
        expected = stats.poisson.logpmf(COUNTS, (a + own.sum()) / (b + len(own)))
        np.testing.assert_allclose(log_density(model, COUNTS)[:, k], expected, rtol=1e-10)
    row_by_row(model, VISITS, COUNTS)


PRIOR = NormalInverseGamma(mean=2.0, strength=3.0, shape=2.5, scale=4.0)


def posterior_of(own):
    """The textbook's update: Murphy (2007), (86) to (89)."""
    n, mean = len(own), own.mean()
    strength = 3.0 + n
    centre = (3.0 * 2.0 + n * mean) / strength
    scale = 4.0 + 0.5 * ((own - mean) ** 2).sum() + 3.0 * n * (mean - 2.0) ** 2 / (2.0 * strength)
    return centre, strength, 2.5 + n / 2.0, scale


def test_gaussian_integrated_out_is_student_t():
    model = trained(Gaussian(prior=PRIOR, estimate="posterior", var_smoothing=0.0))
    for k, own in enumerate(CLASSES):
        centre, strength, shape, scale = posterior_of(own)
        spread = np.sqrt(scale * (strength + 1.0) / (shape * strength))
        expected = stats.t.logpdf(POINTS, 2.0 * shape, centre, spread)
        np.testing.assert_allclose(log_density(model, POINTS)[:, k], expected, rtol=1e-9)
    assert model.schema_["family"].tolist() == ["Student-t"]
    row_by_row(model)


def test_gaussian_integrated_out_without_a_prior():
    model = trained(Gaussian(estimate="posterior", var_smoothing=0.0))
    for k, own in enumerate(CLASSES):
        n = len(own)
        spread = own.std(ddof=1) * np.sqrt(1.0 + 1.0 / n)
        expected = stats.t.logpdf(POINTS, n - 1, own.mean(), spread)
        np.testing.assert_allclose(log_density(model, POINTS)[:, k], expected, rtol=1e-9)


def test_student_t_is_the_average_over_the_posterior():
    """By numerical integration over σ², with μ integrated out of a Gaussian."""
    model = trained(Gaussian(prior=PRIOR, estimate="posterior", var_smoothing=0.0))
    centre, strength, shape, scale = posterior_of(CLASSES[1])
    for x, expected in zip(POINTS, log_density(model, POINTS)[:, 1], strict=True):

        def integrand(v, x=x):
            wide = np.sqrt(v * (1.0 + 1.0 / strength))
            return stats.norm.pdf(x, centre, wide) * stats.invgamma.pdf(v, shape, scale=scale)

        mode = scale / (shape + 1.0)
        parts = [(0.0, mode), (mode, 10 * mode), (10 * mode, np.inf)]
        total = sum(quad(integrand, a, b, epsabs=0.0, epsrel=1e-11)[0] for a, b in parts)
        assert np.log(total) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("estimate", ["mean", "map"])
def test_gaussian_under_a_prior(estimate):
    model = trained(Gaussian(prior=PRIOR, estimate=estimate, var_smoothing=0.0))
    for k, own in enumerate(CLASSES):
        centre, _, shape, scale = posterior_of(own)
        variance = scale / (shape - 1.0 if estimate == "mean" else shape + 1.5)
        expected = stats.norm.logpdf(POINTS, centre, np.sqrt(variance))
        np.testing.assert_allclose(log_density(model, POINTS)[:, k], expected, rtol=1e-9)
    row_by_row(model)
