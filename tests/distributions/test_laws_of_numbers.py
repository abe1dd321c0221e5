"""Columns of numbers as distributions, against scipy.stats and numerical integration."""

import itertools

import numpy as np
import pytest
import scipy.stats
from scipy.integrate import quad

from tallybayes import NaiveBayes
from tallybayes.distributions.table import ScipyLaw, TransformedLaw, law_of
from tallybayes.families import Binned, Gaussian, Multinomial, Poisson, Smooth
from tallybayes.families.contract import NumberDensity
from tallybayes.families.normal import Transform
from tallybayes.score import Description

N = 300


def column(family, values, y=None):
    """The distribution of one column in the classes 0 and 1."""
    y = np.arange(len(values)) % 2 if y is None else y
    model = NaiveBayes({"x": family}).fit([{"x": v} for v in np.asarray(values).tolist()], y)
    return model.class_conditional_["x"]


def numbers(kind, seed=0):
    rng = np.random.default_rng(seed)
    shift = np.arange(N) % 2
    return {
        "real": rng.normal(3 + shift, 2.0),
        "positive": rng.gamma(2.0, 1.0 + shift),
        "count": rng.poisson(2 + 3 * shift),
    }[kind]


GRID = {"real": np.linspace(-4, 9, 27), "positive": np.linspace(0.1, 9, 27), "count": np.arange(20)}


# ---- scipy.stats' own ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("family", "kind", "name"),
    [
        (Gaussian(), "real", "norm"),
        (Gaussian(estimate="posterior"), "real", "t"),
        (Gaussian(transform="log"), "positive", "lognorm"),
        (Poisson(), "count", "poisson"),
        (Poisson(estimate="posterior"), "count", "nbinom"),
    ],
    ids=str,
)
def test_a_column_is_what_scipy_calls_it(family, kind, name):
    one = column(family, numbers(kind))
    assert one.frozen.dist.name == name
    log = one.frozen.logpmf if kind == "count" else one.frozen.logpdf
    np.testing.assert_allclose(one.log_prob(GRID[kind]), log(GRID[kind][:, None]), rtol=1e-10)
    np.testing.assert_allclose(one.mean(), one.frozen.mean(), rtol=1e-14)
    np.testing.assert_allclose(one.stddev(), one.frozen.std(), rtol=1e-14)
    drawn = one.sample(20_000, random_state=0)
    assert drawn.shape == (20_000, 2)
    np.testing.assert_allclose(drawn.mean(axis=0), one.mean(), atol=0.05 * one.stddev().max())
    np.testing.assert_allclose(drawn.std(axis=0), one.stddev(), rtol=0.1)
    if kind != "count":
        for k in range(2):
            entropy = quad(
                lambda x, k=k: -one.prob(x)[k] * one.log_prob(x)[k],
                *((-60, 70) if kind == "real" else (1e-9, 400)),
                points=[0.5, 3.0, 6.0],
                limit=400,
            )[0]
            assert one.entropy()[k] == pytest.approx(entropy, abs=1e-6)


@pytest.mark.parametrize("estimate", ["mean", "posterior"])
def test_the_entropy_of_counts_is_the_sum(estimate):
    one = column(Poisson(estimate=estimate), numbers("count"))
    x = np.arange(400)
    p = one.prob(x)
    np.testing.assert_allclose(p.sum(axis=0), 1.0, rtol=1e-12)
    minus = -np.where(p > 0.0, p * np.where(p > 0.0, one.log_prob(x), 0.0), 0.0).sum(axis=0)
    np.testing.assert_allclose(one.entropy(), minus, rtol=1e-9)


def test_a_class_without_an_event():
    one = column(Poisson(alpha=0.0), [0, 3, 0, 5, 0, 4])
    assert one.mean().tolist() == [0.0, 4.0]
    assert one.entropy()[0] == 0.0
    assert one.sample(30, random_state=0)[:, 0].tolist() == [0.0] * 30


# ---- transforms ----------------------------------------------------------------------------------
@pytest.mark.parametrize("exponent", [-1.5, -0.2, 0.0, 0.3, 1.0, 1.7, 2.0, 2.6])
@pytest.mark.parametrize("light", [True, False])
def test_a_transformed_number(exponent, light):
    """Mass, entropy, moments and quantiles by integration over x, in place of over g(x)."""
    transform = Transform("yeo-johnson", exponent)
    centre, scale = np.array([0.2]), np.array([0.35])
    parameters = {"loc": centre, "scale": scale, **({} if light else {"df": np.array([30.0])})}
    base = ScipyLaw("norm" if light else "t", **parameters)
    law = TransformedLaw(base, transform, light)

    def p(x):
        g = transform.forward(np.asarray(x))
        return float(base.frozen.pdf(g)[0] * np.exp(transform.log_slope(np.asarray(x))))

    def integral(of):
        ends = [-np.inf, -3.0, -1.0, -0.3, 0.0, 0.2, 0.5, 1.0, 3.0, 10.0, np.inf]
        return sum(quad(of, a, b, limit=200)[0] for a, b in itertools.pairwise(ends))

    mass = integral(p)
    low, high = transform.bounds
    assert mass == pytest.approx((base.frozen.cdf(high) - base.frozen.cdf(low))[0], abs=1e-8)
    entropy = integral(lambda x: -p(x) / mass * np.log(max(p(x), 1e-300) / mass))
    assert law.entropy()[0] == pytest.approx(entropy, abs=1e-5)
    drawn = law.draw(np.zeros(20_000, dtype=np.intp), np.random.RandomState(0))
    below = integral(lambda x: p(x) / mass * (x < 0.5))
    assert (drawn < 0.5).mean() == pytest.approx(below, abs=0.02)
    if light and 0.0 <= exponent <= 2.0:
        mean = integral(lambda x: p(x) * x)
        assert law.mean()[0] == pytest.approx(mean, abs=1e-7)
        square = integral(lambda x: p(x) * (x - mean) ** 2)
        assert law.variance()[0] == pytest.approx(square, rel=1e-6)
    else:
        assert np.isnan(law.mean()).all()
        assert np.isnan(law.variance()).all()


def test_a_student_t_of_the_logarithm():
    one = column(Gaussian(transform="log", estimate="posterior"), numbers("positive"))
    assert one.frozen is None
    for k in range(2):
        entropy = quad(
            lambda x, k=k: -one.prob(x)[k] * one.log_prob(x)[k],
            1e-9,
            3000,
            points=[0.1, 1, 5, 30],
            limit=800,
        )[0]
        assert one.entropy()[k] == pytest.approx(entropy, abs=1e-4)
    drawn = one.sample(20_000, random_state=0)
    expected = np.exp(one.law.law.frozen.median())
    np.testing.assert_allclose(np.median(drawn, axis=0), expected, rtol=0.05)


@pytest.mark.parametrize("exponent", [-1.5, -0.2, 0.0, 0.3, 1.0, 1.7, 2.0, 2.6])
def test_a_transform_there_and_back(exponent):
    transform = Transform("yeo-johnson", exponent)
    x = np.array([-50.0, -1.0, -1e-9, 0.0, 1e-9, 0.5, 1.0, 50.0])
    np.testing.assert_allclose(transform.backward(transform.forward(x)), x, rtol=1e-8)
    low, high = transform.bounds
    far = transform.forward(np.array([-1e60, 1e60]))
    assert low <= far[0] < far[1] <= high


def test_a_logarithm_there_and_back():
    transform = Transform("log")
    x = np.array([1e-300, 0.5, 1.0, 1e300])
    np.testing.assert_allclose(transform.backward(transform.forward(x)), x, rtol=1e-12)
    assert transform.bounds == (-np.inf, np.inf)


# ---- bins ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("family", [Binned(bins=5), Binned(cuts="supervised"), Smooth()], ids=str)
@pytest.mark.parametrize("kind", GRID)
def test_numbers_in_bins(family, kind):
    values = numbers(kind)
    one = column(family, values)
    edges, probs = one.law.edges, one.law.probs
    np.testing.assert_allclose(probs.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(one.entropy(), [scipy.stats.entropy(p) for p in probs], rtol=1e-12)
    drawn = one.sample(30_000, random_state=0)
    assert set(np.unique(drawn)) <= set(values.tolist())  # as they occur, not in between
    for k in range(2):
        bins = np.searchsorted(edges, drawn[:, k], side="right")
        count = np.bincount(bins, minlength=len(edges) + 1)
        assert scipy.stats.chisquare(count, 30_000 * probs[k]).pvalue > 1e-5
    np.testing.assert_allclose(drawn.mean(axis=0), one.mean(), atol=0.05)
    np.testing.assert_allclose(drawn.std(axis=0), one.stddev(), rtol=0.03)


def test_within_a_bin_values_are_drawn_as_they_occur():
    values = [1.0] * 60 + [2.0] * 30 + [3.0] * 10 + [8.0] * 100
    one = column(Binned(cuts="supervised"), values, [0] * 50 + [1] * 50 + [1] * 100)
    assert len(one.law.edges) >= 1
    drawn = one.sample(40_000, random_state=0)[:, 0]
    first = drawn[drawn < one.law.edges[0]]
    inside = np.array(values)[np.array(values) < one.law.edges[0]]
    for value in np.unique(inside):
        assert (first == value).mean() == pytest.approx((inside == value).mean(), abs=0.01)


def test_a_column_whose_rows_are_all_forgotten():
    rows = [{"x": 1.0}, {"x": 2.0}, {"x": 5.0}]
    model = NaiveBayes({"x": Binned()}).fit(rows, [0, 1, 1])
    model.forget(rows[:1], [0])
    assert np.isfinite(model.class_conditional_["x"].sample(5, random_state=0)).all()


# ---- counts in a group ---------------------------------------------------------------------------
@pytest.mark.parametrize("estimate", ["mean", "posterior"])
def test_a_group_of_counts(estimate):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    counts = rng.poisson([[1.0, 2.0, 0.5]], size=(60, 3)) + y[:, None] * [1, 0, 0]
    rows = [dict(zip("abc", row, strict=True)) for row in counts.tolist()]
    model = NaiveBayes({("a", "b", "c"): Multinomial(estimate=estimate)}).fit(rows, y)
    group = model.class_conditional_["b"]
    space = np.array([(i, j, 4 - i - j) for i in range(5) for j in range(5 - i)])
    probs = group.prob(space, coefficient=True)
    np.testing.assert_allclose(probs.sum(axis=0), 1.0, rtol=1e-12)
    for k in range(2):
        if estimate == "posterior":
            law = scipy.stats.dirichlet_multinomial(group.concentration[k], 4)
            np.testing.assert_allclose(probs[:, k], law.pmf(space), rtol=1e-9)
            np.testing.assert_allclose(group.mean(4)[k], law.mean(), rtol=1e-12)
            np.testing.assert_allclose(group.variance(4)[k], law.var(), rtol=1e-9)
        minus = -(probs[:, k] * group.log_prob(space)[:, k]).sum()
        assert group.entropy(4)[k] == pytest.approx(minus, rel=1e-9)
    drawn = group.sample(8_000, random_state=0, total_count=4)
    np.testing.assert_allclose(drawn.mean(axis=0), group.mean(4), atol=0.06)
    np.testing.assert_allclose(drawn.var(axis=0), group.variance(4), rtol=0.1)


class Even(NumberDensity):
    """A density that says nothing, and has no law."""

    what = "even"

    def log_density(self, x):
        return np.zeros((len(x), 2))

    def without(self, x, own, weight):
        return self.log_density(x)

    def drawn(self, x, rng, n):
        return np.zeros((n, len(x), 2))

    def described(self):
        return Description("even", [], np.zeros((2, 0)))


def test_a_density_without_a_law_is_refused():
    with pytest.raises(TypeError, match="no distribution for a Even"):
        law_of(Even())
