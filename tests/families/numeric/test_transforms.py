"""Gaussians after a transform, against scipy.stats and scikit-learn's PowerTransformer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, optimize, stats
from sklearn.preprocessing import PowerTransformer

from tallybayes import NaiveBayes
from tallybayes.engines.tables import collect_table
from tallybayes.families import Gaussian
from tallybayes.families.normal import Transform, class_moments, transform_of
from tallybayes.tables import read_table
from tallybayes.tally import GridCounts

SHAPES = {
    "lognormal": lambda rng: rng.lognormal(1.0, 0.8, 400),
    "gamma": lambda rng: rng.gamma(2.0, 3.0, 400),
    "skewed to the left": lambda rng: -rng.gamma(2.0, 3.0, 400),
    "both signs": lambda rng: rng.normal(size=400) ** 3,
    "symmetric": lambda rng: rng.normal(0.0, 2.0, 400),
}


@pytest.fixture(params=SHAPES)
def x(request):
    return SHAPES[request.param](np.random.default_rng(7))


def grid_of(x, labels=None, weights=None):
    """The grid counts that the engine makes of a column."""
    labels = np.zeros(len(x), dtype=np.int32) if labels is None else labels
    table = read_table(np.asarray(x)[:, None])
    tally = collect_table(table, np.unique(labels), labels, weights)
    (grid,) = (group for group in tally.groups if isinstance(group, GridCounts))
    return grid


# ---- Yeo–Johnson ---------------------------------------------------------------------------------
@given(
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=8),
    st.one_of(st.floats(-4.0, 6.0), st.sampled_from([0.0, 1.0, 2.0])),
)
def test_yeo_johnson_is_that_of_scipy(values, exponent):
    x = np.array(values)
    expected = stats.yeojohnson(x, exponent)
    # scipy raises x + 1 to a power: near λ = 0 and 2 the difference loses digits that ours keeps
    size = 1e-10 * (1.0 + np.abs(expected))
    assert (np.abs(Transform("yeo-johnson", exponent).forward(x) - expected) <= size).all()


@pytest.mark.parametrize("exponent", [-1.0, 0.0, 0.5, 1.0, 2.0, 3.5])
def test_the_slope_is_the_derivative(exponent):
    transform, step = Transform("yeo-johnson", exponent), 1e-6
    x = np.array([-3.0, -0.5, 0.0, 0.25, 4.0])
    rise = (transform.forward(x + step) - transform.forward(x - step)) / (2.0 * step)
    np.testing.assert_allclose(transform.log_slope(x), np.log(rise), atol=1e-5)
    assert (np.diff(transform.forward(np.linspace(-5.0, 5.0, 101))) > 0.0).all()


def test_one_class_has_the_exponent_of_scikit_learn(x):
    ours = transform_of("yeo-johnson", grid_of(x))
    theirs = PowerTransformer(standardize=False).fit(x[:, None]).lambdas_[0]
    assert ours.exponent == pytest.approx(theirs, abs=1e-4)
    assert ours.exponent == pytest.approx(stats.yeojohnson_normmax(x), abs=1e-4)
    np.testing.assert_allclose(
        ours.forward(x),
        PowerTransformer(standardize=False).fit_transform(x[:, None])[:, 0],
        rtol=2e-3,
    )


def test_the_exponent_is_the_likeliest(x):
    """scipy's likelihood of λ is not larger anywhere else."""
    found = transform_of("yeo-johnson", grid_of(x)).exponent
    top = stats.yeojohnson_llf(found, x)
    for other in np.linspace(-4.5, 6.5, 45):
        assert stats.yeojohnson_llf(other, x) <= top + 1e-6


def test_classes_share_an_exponent_and_not_a_mean():
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.lognormal(0.0, 0.5, 300), rng.lognormal(2.0, 0.7, 200)])
    labels = np.repeat(np.array([0, 1], dtype=np.int32), [300, 200])

    def surprise(exponent):
        parts = [stats.yeojohnson(x[labels == k], exponent) for k in (0, 1)]
        slope = (exponent - 1.0) * (np.sign(x) * np.log1p(np.abs(x))).sum()
        return 0.5 * sum(len(g) * np.log(g.var()) for g in parts) - slope

    best = optimize.minimize_scalar(surprise, bounds=(-5.0, 7.0), method="bounded")
    found = transform_of("yeo-johnson", grid_of(x, labels)).exponent
    assert found == pytest.approx(best.x, abs=1e-4)


def test_weights_count_as_rows():
    x = np.random.default_rng(4).gamma(2.0, 3.0, 60)
    weights = np.tile([1.0, 2.0, 3.0], 20)
    labels = np.zeros(60, dtype=np.int32)
    weighted = transform_of("yeo-johnson", grid_of(x, labels, weights))
    repeated = transform_of("yeo-johnson", grid_of(np.repeat(x, weights.astype(int))))
    assert weighted.exponent == repeated.exponent


def test_moments_are_those_of_the_transformed_values(x):
    transform = Transform("yeo-johnson", 0.3)
    n, mean, squares = class_moments(grid_of(x), transform)
    g = stats.yeojohnson(x, 0.3)
    assert n.tolist() == [len(x)]
    assert mean[0] == pytest.approx(g.mean(), rel=1e-10, abs=1e-10)
    assert squares[0] == pytest.approx(g.var() * len(x), rel=1e-10)


# ---- densities -----------------------------------------------------------------------------------
def scores(model, values):
    """log p(x | c) of each value, (n, K)."""
    return model.explain(np.asarray(values)[:, None]).contributions[:, :, 0]


def fitted(transform, x):
    """A model of one column; the second class has other values."""
    rows, labels = np.concatenate([x, 2.0 * x]), ["a"] * len(x) + ["b"] * len(x)
    columns = {"0": Gaussian(transform=transform, var_smoothing=0.0)}
    return NaiveBayes(columns).fit(rows[:, None], labels)


def test_log_is_lognormal():
    x = np.random.default_rng(5).lognormal(1.0, 0.6, 200)
    model = fitted("log", x)
    for k, part in enumerate((x, 2.0 * x)):
        shape, _, scale = stats.lognorm.fit(part, floc=0)
        expected = stats.lognorm.logpdf(x, shape, scale=scale)
        np.testing.assert_allclose(scores(model, x)[:, k], expected, rtol=1e-6, atol=1e-6)
        mu, sigma = np.log(part).mean(), np.log(part).std()
        exact = stats.lognorm.logpdf(x, sigma, scale=np.exp(mu))
        np.testing.assert_allclose(scores(model, x)[:, k], exact, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("transform", ["log", "yeo-johnson"])
def test_a_transformed_density_integrates_to_one(transform):
    x = np.random.default_rng(6).gamma(3.0, 1.0, 200)
    model = fitted(transform, x)
    low = 0.0 if transform == "log" else -0.999

    for k in (0, 1):
        volume, _ = integrate.quad(
            lambda at, k=k: np.exp(scores(model, [at])[0, k]), low, 400.0, limit=400, points=[1, 9]
        )
        assert volume == pytest.approx(1.0, abs=2e-3 if low else 1e-6)


def test_a_column_without_values_is_not_transformed():
    empty = GridCounts.zeros(2)
    assert transform_of("yeo-johnson", empty).exponent == 1.0
    assert transform_of("log", empty) == Transform("log")
    assert transform_of(None, empty) is None


def test_what_is_not_positive_has_no_logarithm():
    with pytest.raises(ValueError, match=r"row 1, column .0. holds 0\.0.*must be above 0"):
        NaiveBayes({"0": Gaussian(transform="log")}).fit([[1.0], [0.0]], ["a", "b"])


@pytest.mark.parametrize("value", [5e97, -1e200, 0.1])
def test_a_constant_of_any_size_is_a_constant(value):
    """Its mean is rounded, which is not a spread; powers beyond float64 are tried and passed
    over."""
    x, y = np.full((7, 1), value), [0, 0, 0, 0, 1, 1, 1]
    model = NaiveBayes([(float, Gaussian(transform="yeo-johnson"))]).fit(x, y)
    np.testing.assert_allclose(model.predict_proba(x)[:, 0], 5 / 9)
