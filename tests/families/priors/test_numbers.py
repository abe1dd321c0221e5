"""Gamma and normal-inverse-gamma priors, and Poisson and Gaussian under them, against scipy.stats,
mpmath, numerical integration and numerical optimisation."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

from tallybayes.families import Gamma, Gaussian, NormalInverseGamma, Poisson
from tallybayes.families.gaussian import GaussianDensity
from tallybayes.families.normal import Predictive, Statistics, log_density
from tallybayes.families.poisson import PoissonDensity
from tallybayes.tally import Moments

PRIOR = NormalInverseGamma(mean=0.5, strength=1.5, shape=2.5, scale=3.0)
X = np.array([0.3, -1.0, 2.5, 0.9, 1.7])


def poisson(family, counts, n_rows, alpha=1.0):
    """The density of one class with so many events."""
    return PoissonDensity(family, np.array([float(n_rows)]), np.array([float(counts)]), alpha)


def described(x):
    """Weight, mean and sum of squares."""
    return len(x), np.mean(x) if len(x) else 0.0, np.sum((x - np.mean(x)) ** 2) if len(x) else 0.0


def gaussian(family, x):
    """The density of one class whose rows are x; nothing is added to variances."""
    own = Statistics(*(np.array([float(part)]) for part in described(x)))
    return GaussianDensity(family, own, own)


def likelihood(mean, variance, x):
    """p(x | μ, σ²), like the parameters."""
    product = np.ones(np.broadcast_shapes(np.shape(mean), np.shape(variance)))
    for at in np.atleast_1d(x):
        product = product * stats.norm.pdf(at, mean, np.sqrt(variance))
    return product


# ---- Gamma and Poisson ---------------------------------------------------------------------------
@given(st.floats(0.2, 50.0), st.floats(0.05, 50.0))
def test_gamma_density_is_that_of_scipy(shape, rate):
    at = np.array([-1.0, 0.0, 1e-3, 0.5, 1.0, 7.0])
    expected = stats.gamma.pdf(at, shape, scale=1.0 / rate)
    prior = Gamma(shape, rate)
    assert prior.density(np.inf) == 0.0  # of which scipy makes NaN
    np.testing.assert_allclose(prior.density(at), expected, rtol=1e-9)
    assert prior.mean == pytest.approx(stats.gamma.mean(shape, scale=1.0 / rate), rel=1e-14)


@pytest.mark.parametrize("shape", [1.0, 1.5, 8.0])
def test_gamma_mode_is_the_densest(shape):
    prior = Gamma(shape, 2.0)
    grid = np.linspace(0.0, 10.0, 2001)
    assert prior.density(prior.mode) >= prior.density(grid).max() * (1 - 1e-14)
    with pytest.raises(ValueError, match=r"mode of Gamma\(shape=0.5\) is undefined.*take the mean"):
        _ = Gamma(0.5, 2.0).mode


@pytest.mark.parametrize("counts", [[], [0], [3, 0, 1], [40, 55]])
def test_the_gamma_posterior_by_integration(counts):
    prior = Gamma(1.7, 0.6)
    posterior = prior.updated(sum(counts), len(counts))

    def joint(rate):
        return prior.density(rate) * np.prod(stats.poisson.pmf(counts, rate))

    evidence, _ = integrate.quad(joint, 0.0, np.inf, epsabs=0.0)
    at = posterior.mean
    assert posterior.density(at) == pytest.approx(joint(at) / evidence, rel=1e-7)
    first, _ = integrate.quad(lambda rate: rate * joint(rate), 0.0, np.inf, epsabs=0.0)
    mean = poisson(Poisson(prior=prior), sum(counts), len(counts)).rate[0]
    assert mean == pytest.approx(first / evidence, rel=1e-7)
    mode = poisson(Poisson(prior=prior, estimate="map"), sum(counts), len(counts)).rate[0]
    assert mode == pytest.approx(posterior.mode, rel=1e-14)
    for moved in (0.99 * mode, 1.01 * mode):
        assert joint(moved) <= joint(mode) * (1 + 1e-12)


@given(
    st.floats(0.1, 100.0),
    st.floats(0.1, 10.0),
    st.integers(0, 500),
    st.integers(0, 50),
)
def test_the_predictive_of_a_rate_is_negative_binomial(shape, rate, events, rows):
    family = Poisson(prior=Gamma(shape, rate), estimate="posterior")
    x = np.arange(0.0, 40.0)
    found = poisson(family, events, rows).log_density(x)[:, 0]
    r, q = shape + events, (rate + rows) / (rate + rows + 1.0)
    np.testing.assert_allclose(found, stats.nbinom.logpmf(x, r, q), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("events", "rows"), [(0, 0), (0, 1e12), (1e12, 1e12), (1e12, 3), (5, 2)])
@pytest.mark.parametrize(("shape", "rate"), [(1e-10, 1e-10), (1.0, 1.0), (1e10, 1e10)])
def test_the_predictive_at_the_extremes(shape, rate, events, rows):
    family = Poisson(prior=Gamma(shape, rate), estimate="posterior")
    x = [0.0, 1.0, 3.0, 1e6]
    found = poisson(family, events, rows).log_density(np.array(x))[:, 0]
    with mp.workdps(50):
        r, b = mp.mpf(shape) + mp.mpf(events), mp.mpf(rate) + mp.mpf(rows)
        expected = [
            float(
                mp.loggamma(r + k)
                - mp.loggamma(r)
                - mp.loggamma(mp.mpf(k) + 1)
                - r * mp.log1p(1 / b)
                - k * mp.log(b + 1)
            )
            for k in x
        ]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@given(st.lists(st.integers(0, 30), max_size=6), st.floats(0.1, 20.0), st.floats(0.1, 5.0))
def test_predictions_in_sequence_do_not_depend_on_their_order(counts, shape, rate):
    """Π p(x_i | x_1 … x_i−1) is the evidence, which no order changes."""
    prior = Gamma(shape, rate)

    def chain(values):
        total = 0.0
        for i, x in enumerate(values):
            seen = values[:i]
            density = poisson(Poisson(prior=prior, estimate="posterior"), sum(seen), len(seen))
            total += float(density.log_density(np.array([float(x)]))[0, 0])
        return total

    n, events = len(counts), sum(counts)
    evidence = math.lgamma(shape + events) - math.lgamma(shape)
    evidence += shape * math.log(rate) - (shape + events) * math.log(rate + n)
    evidence -= sum(math.lgamma(x + 1) for x in counts)
    assert chain(counts) == pytest.approx(evidence, rel=1e-10, abs=1e-10)
    assert chain(counts[::-1]) == pytest.approx(evidence, rel=1e-10, abs=1e-10)


def moments(x):
    x = np.asarray(x, dtype=float)
    tally = Moments.zeros(1, np.zeros(1))
    tally.n[:] = len(x)
    tally.s1_hi[:], tally.s2_hi[:] = x.sum(), (x**2).sum()
    return tally


def test_poisson_maximum_likelihood_is_the_mean_and_needs_rows():
    density = Poisson(estimate="mle").read(moments([3, 0, 2]), 1.0)
    assert density.rate[0] == pytest.approx(5 / 3, rel=1e-15)
    likely = stats.poisson.logpmf([3, 0, 2], density.rate[0]).sum()
    for rate in (1.6, 1.7):
        assert stats.poisson.logpmf([3, 0, 2], rate).sum() < likely
    with pytest.raises(ValueError, match=r"Poisson.*cannot estimate the column: nothing was count"):
        Poisson(estimate="mle").read(moments([]), 1.0)


def test_no_rows_at_all_have_one_event_a_row_whatever_alpha():
    for alpha in (0.0, 1.0, 5.0):
        density = PoissonDensity(Poisson(), np.zeros(2), np.zeros(2), alpha)
        assert density.rate.tolist() == [1.0, 1.0]
        assert np.isfinite(density.log_density(np.array([0.0, 4.0]))).all()


def test_alpha_of_poisson_is_rows_at_the_overall_mean():
    density = PoissonDensity(Poisson(), np.array([4.0, 1.0, 0.0]), np.array([2.0, 8.0, 0.0]), 3.0)
    np.testing.assert_allclose(density.rate, [(2 + 6) / 7, (8 + 6) / 4, 2.0])
    density = PoissonDensity(Poisson(), np.array([4.0, 1.0]), np.array([2.0, 8.0]), 3.0)
    np.testing.assert_allclose(density.rate, [(2 + 6) / 7, (8 + 6) / 4])


# ---- normal-inverse-gamma ------------------------------------------------------------------------
@given(st.floats(-5.0, 5.0), st.floats(0.05, 20.0))
def test_the_joint_density_is_that_of_scipy(mean, variance):
    expected = stats.invgamma.logpdf(variance, PRIOR.shape, scale=PRIOR.scale)
    expected += stats.norm.logpdf(mean, PRIOR.mean, math.sqrt(variance / PRIOR.strength))
    assert PRIOR.log_density(mean, variance) == pytest.approx(expected, rel=1e-10, abs=1e-10)


def updated(x):
    return NormalInverseGamma(*PRIOR.posterior(*described(np.asarray(x))))


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_the_posterior_is_prior_times_likelihood(n):
    x, posterior = X[:n], updated(X[:n])

    def ratio(mean, variance):
        joint = float(PRIOR.log_density(mean, variance))
        joint += float(np.sum(stats.norm.logpdf(x, mean, math.sqrt(variance))))
        return joint - float(posterior.log_density(mean, variance))

    everywhere = [ratio(m, v) for m in (-2.0, 0.1, 3.0) for v in (0.2, 1.0, 9.0)]
    evidence = float(PRIOR.log_evidence(*described(x)))  # p(x) at any parameters
    np.testing.assert_allclose(everywhere, evidence, rtol=1e-12, atol=1e-12)


def plane(function):
    """∫∫ function(mean, variance) by trapezoids in log σ² and (μ − μ₀)/σ: smooth, and 0 at the
    edges, so that they are exact to rounding."""
    z, s = np.linspace(-30.0, 30.0, 1201), np.linspace(-6.0, 30.0, 1201)
    sigma = np.exp(0.5 * s)[:, None]
    values = function(PRIOR.mean + sigma * z, sigma**2) * sigma**3
    return float(values.sum() * (z[1] - z[0]) * (s[1] - s[0]))


@pytest.mark.parametrize("n", [0, 2, 5])
def test_evidence_and_posterior_means_by_integration(n):
    x = X[:n]

    def joint(mean, variance):
        return np.exp(PRIOR.log_density(mean, variance)) * likelihood(mean, variance, x)

    evidence = plane(joint)
    assert math.exp(PRIOR.log_evidence(*described(x))) == pytest.approx(evidence, rel=1e-10)
    centre, variance, _ = gaussian(Gaussian(var_smoothing=0.0, prior=PRIOR), x).predictive
    assert centre[0] == pytest.approx(plane(lambda m, v: m * joint(m, v)) / evidence, rel=1e-10)
    assert variance[0] == pytest.approx(plane(lambda m, v: v * joint(m, v)) / evidence, rel=1e-10)


@pytest.mark.parametrize("n", [0, 2, 5])
def test_the_predictive_by_integration_is_student_t(n):
    posterior = updated(X[:n])
    family = Gaussian(var_smoothing=0.0, prior=PRIOR, estimate="posterior")
    density = gaussian(family, X[:n])
    assert density.what == "Student-t"
    for at in (-1.0, 0.7, 4.0):
        expected = plane(
            lambda m, v, at=at: np.exp(posterior.log_density(m, v)) * likelihood(m, v, at)
        )
        assert math.exp(density.log_density(np.array([at]))[0, 0]) == pytest.approx(
            expected, rel=1e-10
        )
    m, k, a, b = posterior.mean, posterior.strength, posterior.shape, posterior.scale
    by_scipy = stats.t.logpdf(X, 2 * a, m, math.sqrt(b * (k + 1) / (a * k)))
    np.testing.assert_allclose(density.log_density(X)[:, 0], by_scipy, rtol=1e-11)


def test_evidence_is_the_product_of_predictions_in_sequence():
    family = Gaussian(var_smoothing=0.0, prior=PRIOR, estimate="posterior")
    for order in (X, X[::-1]):
        chain = sum(
            float(gaussian(family, order[:i]).log_density(order[[i]])[0, 0])
            for i in range(len(order))
        )
        assert float(PRIOR.log_evidence(*described(X))) == pytest.approx(chain, rel=1e-12)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_the_map_estimate_is_the_densest_point(n):
    posterior = updated(X[:n])
    found = optimize.minimize(
        lambda z: -float(posterior.log_density(z[0], math.exp(z[1]))),
        [0.0, 0.0],
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 5000},
    )
    family = Gaussian(var_smoothing=0.0, prior=PRIOR, estimate="map")
    centre, variance, freedom = gaussian(family, X[:n]).predictive
    assert freedom is None
    assert centre[0] == pytest.approx(found.x[0], abs=1e-6)
    assert variance[0] == pytest.approx(math.exp(found.x[1]), rel=1e-6)
    top = posterior.log_density(centre[0], variance[0])
    for m, v in [(1e-3, 1.0), (-1e-3, 1.0), (0.0, 1.001), (0.0, 0.999)]:
        assert posterior.log_density(centre[0] + m, variance[0] * v) < top


def test_gaussian_maximum_likelihood_is_the_densest_for_the_rows():
    centre, variance, _ = gaussian(Gaussian(var_smoothing=0.0, estimate="mle"), X).predictive
    assert centre[0] == pytest.approx(X.mean(), rel=1e-15)
    assert variance[0] == pytest.approx(X.var(), rel=1e-15)
    top = stats.norm.logpdf(X, centre[0], math.sqrt(variance[0])).sum()
    for m, v in [(1e-3, 1.0), (-1e-3, 1.0), (0.0, 1.001), (0.0, 0.999)]:
        assert stats.norm.logpdf(X, centre[0] + m, math.sqrt(variance[0] * v)).sum() < top


def test_without_a_prior_the_parameters_are_integrated_out_under_a_flat_one():
    """p(μ, σ²) ∝ 1/σ²: Student-t of n − 1 degrees of freedom, s² (1 + 1/n); Gelman et al. (3.2)."""
    density = gaussian(Gaussian(var_smoothing=0.0, estimate="posterior"), X)
    n = len(X)
    scale = X.std(ddof=1) * math.sqrt(1 + 1 / n)
    expected = stats.t.logpdf(X, n - 1, X.mean(), scale)
    np.testing.assert_allclose(density.log_density(X)[:, 0], expected, rtol=1e-12)


@pytest.mark.parametrize("n", [1e12, 1e8, 3.0, 0.5])
@pytest.mark.parametrize("strength", [1e-10, 1.0, 1e10])
def test_evidence_at_the_extremes(strength, n):
    prior = NormalInverseGamma(0.0, strength, strength, strength)
    squares, mean = 2.0 * n, 0.25
    with mp.workdps(60):
        k, r, s = mp.mpf(strength), mp.mpf(n), mp.mpf(squares)
        a, b = k + r / 2, k + (s + k * r / (k + r) * mp.mpf(mean) ** 2) / 2
        expected = mp.loggamma(a) - mp.loggamma(k) + k * mp.log(k) - a * mp.log(b)
        expected += mp.log(k / (k + r)) / 2 - r / 2 * mp.log(2 * mp.pi)
    found = float(prior.log_evidence(n, mean, squares))
    assert found == pytest.approx(float(expected), rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("freedom", [1e-3, 1.0, 30.0, 1e6, 1e10, 1e12, 1e15])
def test_student_t_at_the_extremes(freedom):
    """With 1e12 rows it is a Gaussian to 1e-11, and subtracting logarithms of Gamma misses 4e-3."""
    x, variance = [0.0, 0.5, -3.0, 1e3], 2.5
    with mp.workdps(60):
        v = mp.mpf(freedom)
        expected = [
            float(
                mp.loggamma((v + 1) / 2)
                - mp.loggamma(v / 2)
                - mp.log(v * mp.pi * variance) / 2
                - (v + 1) / 2 * mp.log1p(mp.mpf(at) ** 2 / variance / v)
            )
            for at in x
        ]
    found = log_density(
        np.array(x), Predictive(np.zeros(4), np.full(4, variance), np.full(4, freedom))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_the_mean_of_a_variance_says_where_it_is_undefined():
    family = Gaussian(prior=NormalInverseGamma(0.0, 1.0, 0.5, 1.0))
    assert np.isfinite(gaussian(family, X).log_density(X)).all()
    with pytest.raises(ValueError, match=r"shape \+ n/2 > 1, and the prior's shape is 0.5; give"):
        _ = gaussian(family, X[:1]).predictive


# ---- numbers of any type, and bad input ----------------------------------------------------------
@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int64, int, np.array])
def test_numbers_of_any_type_are_float64_inside(kind):
    for prior in (Gamma(kind(2), kind(3)), NormalInverseGamma(kind(1), kind(2), kind(3), kind(4))):
        assert {type(value) for value in vars(prior).values()} == {float}


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Gamma(0, 1), ValueError, r"Gamma takes a finite shape above 0, got 0\.0"),
        (lambda: Gamma(1, -1), ValueError, r"Gamma takes a finite rate above 0, got -1\.0"),
        (lambda: Gamma(1, np.nan), ValueError, "Gamma takes a finite rate above 0, got nan"),
        (lambda: Gamma("1", 1), TypeError, "finite shape above 0, got '1': give a number"),
        (lambda: Gamma(1, 1).updated(-1, 2), ValueError, r"counts from 0 on, got -1\.0"),
        (lambda: NormalInverseGamma(np.inf, 1, 1, 1), ValueError, "takes a finite mean, got inf"),
        (lambda: NormalInverseGamma(0, 0, 1, 1), ValueError, r"strength above 0, got 0\.0"),
        (lambda: NormalInverseGamma(0, 1, -1, 1), ValueError, r"shape above 0, got -1\.0"),
        (lambda: NormalInverseGamma(0, 1, 1, np.nan), ValueError, "scale above 0, got nan"),
        (lambda: NormalInverseGamma(0, 1, 1, None), TypeError, "got None: give a number"),
    ],
)
def test_bad_priors_are_refused_with_the_rule_and_the_value(make, error, message):
    with pytest.raises(error, match=message):
        make()
