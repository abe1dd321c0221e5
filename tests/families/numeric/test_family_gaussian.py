"""Gaussian: means, variances and what is added to them, and transforms."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import integrate, optimize, stats
from sklearn.preprocessing import PowerTransformer

from reference import centre_moments, count_moments
from reference.rational import rounded
from tallybayes import NaiveBayes
from tallybayes.engines.arrays import collect_array
from tallybayes.engines.tables import collect_table
from tallybayes.families import Gaussian
from tallybayes.families.normal import Transform, class_moments, transform_of
from tallybayes.schema import Columns
from tallybayes.tables import read_table
from tallybayes.tally import ClassCounts, GridCounts, Moments

CLOSE = 1e-9


def collect(x, codes, weights=None, n_classes=2, origin=None):
    origin = np.zeros(x.shape[1]) if origin is None else origin
    columns = Columns(kind="moments", n_features=x.shape[1], origin=origin)
    return collect_array(columns, x, codes, n_classes, weights, whose="a test").tally


def estimates(x, codes, weights, n_classes):
    """Exact means and variances by class, and of all classes together."""
    zero = np.zeros(x.shape[1])
    by_class = count_moments(x, codes, weights, n_classes, zero)
    pooled = count_moments(x, 0 * codes, weights, 1, zero)
    mean, squares = centre_moments(by_class, zero)
    pooled_mean, pooled_squares = centre_moments(pooled, zero)
    variance = np.where(by_class.n == 0, pooled_squares / pooled.n, squares)
    with_rows = by_class.n != 0
    variance[with_rows] = squares[with_rows] / by_class.n[with_rows]
    mean = np.where(with_rows, mean, pooled_mean)
    return mean, variance, (pooled_squares / pooled.n)[0]


@st.composite
def rows(draw, n_classes=2):
    n, d = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    x = draw(hnp.arrays(np.float64, (n, d), elements=st.floats(-4.0, 4.0, width=16)))
    x = x * draw(hnp.arrays(np.float64, d, elements=st.sampled_from([1.0, 1e-3, 1e3])))
    codes = draw(hnp.arrays(np.int32, n, elements=st.integers(0, n_classes - 1)))
    w = draw(
        st.one_of(st.none(), hnp.arrays(np.float64, n, elements=st.floats(0.125, 2.0, width=16)))
    )
    return x, codes, w


@pytest.mark.parametrize("relative_to", ["largest", "feature"])
@pytest.mark.parametrize("var_smoothing", [0.0, 1e-9, 0.5])
@given(data=rows())
def test_means_and_variances_are_those_of_the_rows(relative_to, var_smoothing, data):
    x, codes, w = data
    mean, variance, pooled = estimates(x, codes, w, 2)
    found = Gaussian(var_smoothing, relative_to).mean_variance(collect(x, codes, w))
    share = Fraction(var_smoothing)
    epsilon = share * (pooled if relative_to == "feature" else pooled.max())
    np.testing.assert_allclose(found.epsilon, rounded(np.asarray(epsilon)), rtol=CLOSE, atol=1e-300)
    spread = np.sqrt(rounded(np.maximum(pooled, 0)))
    np.testing.assert_allclose(found.mean, rounded(mean), rtol=CLOSE, atol=CLOSE * spread.max())
    exactly = variance + epsilon
    # rule 2: what is still 0
    floor = np.where(pooled == 0, Fraction(1), Fraction(1e-9) * pooled)
    exactly = rounded(np.where(exactly == 0, floor, exactly))
    np.testing.assert_allclose(found.variance, exactly, rtol=1e-6)


@given(data=rows(n_classes=3))
def test_parameters_are_the_density_of_each_class(data):
    """offset − Σ((x − mean)·scale)² = Σ log N(x_j; μ_cj, σ²_cj)."""
    x, codes, w = data
    tally = collect(x, codes, w, n_classes=3)
    family = Gaussian(1e-9)
    mean, variance, _ = family.mean_variance(tally)
    parameters = family.parameters(tally, ClassCounts.zeros(3))
    np.testing.assert_array_equal(parameters.mean, mean)
    for row in x:
        score = parameters.offset - (((row - parameters.mean) * parameters.scale) ** 2).sum(axis=1)
        density = -0.5 * np.log(2 * np.pi * variance) - (row - mean) ** 2 / (2 * variance)
        np.testing.assert_allclose(score, density.sum(axis=1), rtol=1e-12, atol=1e-10)


@given(data=rows())
def test_smoothing_is_read_and_never_stored(data):
    tally = collect(*data)
    before = tally.copy()
    for var_smoothing in (1e-9, 10.0):
        for relative_to in ("largest", "feature"):
            Gaussian(var_smoothing, relative_to).parameters(tally, ClassCounts.zeros(2))
    assert tally == before


# ---- zero variance -------------------------------------------------------------------------------
CODES = np.array([0, 0, 1, 1], dtype=np.int32)


def test_a_variance_of_zero_becomes_a_billionth_of_the_column_s():
    x = np.array([[1.0], [1.0], [3.0], [5.0]])
    found = Gaussian(0.0).mean_variance(collect(x, CODES))
    pooled = x.var()
    np.testing.assert_allclose(found.variance[:, 0], [1e-9 * pooled, 1.0], rtol=1e-12)


@pytest.mark.parametrize("relative_to", ["largest", "feature"])
@pytest.mark.parametrize("var_smoothing", [0.0, 1e-9])
def test_a_constant_column_says_nothing_about_any_class(var_smoothing, relative_to):
    x = np.array([[7.0, 1.0], [7.0, 2.0], [7.0, 8.0], [7.0, 9.0]])
    family = Gaussian(var_smoothing, relative_to)
    with_it = family.parameters(collect(x, CODES), ClassCounts.zeros(2))
    assert np.isfinite(with_it.scale).all()
    assert np.isfinite(with_it.offset).all()
    assert (with_it.mean[:, 0] == 7.0).all()
    assert with_it.scale[0, 0] == with_it.scale[1, 0]
    variance = family.mean_variance(collect(x, CODES)).variance[:, 0]
    if var_smoothing == 0.0 or relative_to == "feature":
        assert variance.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("value", [0.1, 1e8 + 0.1, -1e-5, 1e300])
def test_a_constant_column_is_constant_however_far_from_zero(value):
    if value == 1e300:
        value = 1e150  # squares of differences from an origin at 0 have to fit float64
    x = np.full((4, 1), value)
    for weights in (None, np.array([0.1, 0.2, 0.3, 0.7])):
        found = Gaussian(0.0).mean_variance(collect(x, CODES, weights))
        assert found.variance.tolist() == [[1.0], [1.0]]
        np.testing.assert_allclose(found.mean, value, rtol=1e-15)


def test_one_row_has_its_own_mean_and_the_rule_s_variance():
    x = np.array([[2.0], [4.0]])
    found = Gaussian(0.0).mean_variance(collect(x, np.array([0, 1], dtype=np.int32)))
    assert found.mean[:, 0].tolist() == [2.0, 4.0]
    np.testing.assert_allclose(found.variance[:, 0], [1e-9, 1e-9])
    alone = Gaussian(1e-9).mean_variance(collect(x[:1], np.zeros(1, dtype=np.int32), n_classes=1))
    assert alone.variance.tolist() == [[1.0]]


def test_a_class_without_rows_uses_the_rows_of_all_classes():
    x = np.array([[1.0], [3.0], [8.0]])
    codes = np.array([0, 0, 2], dtype=np.int32)
    found = Gaussian(0.0).mean_variance(collect(x, codes, n_classes=3))
    np.testing.assert_allclose(found.mean[1], x.mean())
    np.testing.assert_allclose(found.variance[1], x.var())
    np.testing.assert_allclose(found.mean[0], 2.0)


def test_no_rows_at_all_give_finite_parameters():
    parameters = Gaussian().parameters(Moments.zeros(2, np.array([5.0])), ClassCounts.zeros(2))
    for array in (parameters.mean, parameters.scale, parameters.offset):
        assert np.isfinite(array).all()


def test_smoothing_by_feature_keeps_a_column_of_tiny_scale():
    rng = np.random.default_rng(0)
    x = np.column_stack([1e9 * rng.normal(size=40), 1e-6 * rng.normal(size=40)])
    codes = (np.arange(40) % 2).astype(np.int32)
    x[codes == 1, 1] += 1e-5
    tally = collect(x, codes)
    by_feature = Gaussian(1e-9, "feature").mean_variance(tally)
    largest = Gaussian(1e-9, "largest").mean_variance(tally)
    _, variance, pooled = estimates(x, codes, None, 2)
    np.testing.assert_allclose(by_feature.epsilon, 1e-9 * rounded(pooled), rtol=1e-9)
    np.testing.assert_allclose(by_feature.variance[:, 1], rounded(variance[:, 1]), rtol=1e-6)
    assert (largest.variance[:, 1] > 1e15 * by_feature.variance[:, 1]).all()


@pytest.mark.parametrize("origin", [0.0, 1e9, -3.0])
def test_the_origin_does_not_show(origin):
    rng = np.random.default_rng(1)
    x, codes = rng.normal(size=(50, 2)), (np.arange(50) % 2).astype(np.int32)
    near = Gaussian().mean_variance(collect(x, codes, origin=x[0].copy()))
    far = Gaussian().mean_variance(collect(x, codes, origin=np.full(2, origin)))
    np.testing.assert_allclose(far.variance, near.variance, rtol=1e-9)
    np.testing.assert_allclose(far.mean, near.mean, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e100, 1e150])
def test_extreme_scales_give_finite_parameters(scale):
    rng = np.random.default_rng(2)
    x, codes = scale * rng.normal(size=(50, 2)), (np.arange(50) % 2).astype(np.int32)
    tally = collect(x, codes, origin=x[0].copy())
    found = Gaussian(0.0).mean_variance(tally)
    by_class = [(x[codes == k] / scale).var(axis=0) * scale**2 for k in (0, 1)]
    np.testing.assert_allclose(found.variance, by_class, rtol=1e-9)
    parameters = Gaussian(0.0).parameters(tally, ClassCounts.zeros(2))
    assert np.isfinite(parameters.scale).all()
    assert np.isfinite(parameters.offset).all()


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
