"""Credible intervals of class probabilities: closed forms, coverage, and what must not matter."""

import copy

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tallybayes import NaiveBayes
from tallybayes.families import (
    Bernoulli,
    Binned,
    Categorical,
    Dirichlet,
    Gamma,
    Gaussian,
    Multinomial,
    NormalInverseGamma,
    Poisson,
    Smooth,
)
from tallybayes.families.priors import log_betas, log_dirichlet, log_gamma

LEVELS = ["u", "v", "w"]


def some_rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    k = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    table = pd.DataFrame(
        {
            "c": np.array(LEVELS)[np.where(rng.random(n) < 0.3, k, rng.integers(0, 3, n))],
            "b": rng.random(n) < 0.2 + 0.3 * k,
            "g": rng.normal(k, 1.5),
            "s": rng.normal(-k, 2.0),
            "f": rng.normal(k, 2.0),
            "e": rng.exponential(1.0 + k),
            "n": rng.poisson(1.0 + k),
            "p": rng.poisson(1.0 + k),
            "q": rng.poisson(3.0 - k),
        }
    )
    for name in ("c", "g", "s", "n"):
        table[name] = table[name].astype(object).where(rng.random(n) > 0.15, None)
    for name in ("g", "s", "n"):
        table[name] = pd.to_numeric(table[name])
    return table, np.array(["x", "y", "z"])[k]


EVERY = {
    "c": Categorical(levels=LEVELS),
    "b": Bernoulli(),
    "g": Gaussian(ddof=1),
    "s": Smooth(),
    "f": Binned(),
    "e": Gaussian(transform="log", estimate="posterior"),
    "n": Poisson(prior=Gamma(2.0, 1.0)),
    ("p", "q"): Multinomial(),
}
CASES = {
    "every family": {"columns": EVERY},
    "missing values are levels": {"columns": EVERY, "missing": "level"},
    "auto": {"alpha": "auto"},
    "evidence": {"alpha": "auto", "criterion": "evidence", "class_alpha": "auto"},
    "posterior": {"estimate": "posterior"},
    "mle": {"estimate": "mle"},
    "temperature": {"calibrate": "temperature"},
    "isotonic": {"calibrate": "isotonic"},
    "prior given": {"class_prior": [0.2, 0.3, 0.5], "class_alpha": 0.0},
}


@pytest.mark.filterwarnings("ignore:every class gives probability 0")
@pytest.mark.parametrize("case", CASES)
def test_bounds_hold_the_prediction_and_depend_on_nothing_else(case):
    X, y = some_rows()
    model = NaiveBayes(**CASES[case]).fit(X, y)
    rows = X[:60]
    lower, upper = model.predict_proba_interval(rows)
    assert lower.shape == upper.shape == (60, 3)
    assert ((lower >= 0.0) & (lower <= upper) & (upper <= 1.0)).all()
    proba = model.predict_proba(rows)
    assert ((lower <= proba) & (proba <= upper)).mean() > 0.8

    # the same call again, after others, in another batch, in another order, of a copy
    for twin in (model, copy.deepcopy(model)):
        again = twin.predict_proba_interval(rows)
        np.testing.assert_array_equal(again, (lower, upper))
    for part in (slice(0, 1), slice(7, 23), slice(None, None, -1)):
        some = model.predict_proba_interval(rows.iloc[part])
        np.testing.assert_allclose(some[0], lower[part], rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(some[1], upper[part], rtol=1e-12, atol=1e-15)


def test_rows_are_taken_in_parts_of_one_set_of_draws(monkeypatch):
    from tallybayes.estimators import naive_bayes

    X, y = some_rows()
    model = NaiveBayes(EVERY, missing="level").fit(X, y)
    whole = model.predict_proba_interval(X[:50], n_draws=50)
    monkeypatch.setattr(naive_bayes, "MAX_DRAWN", 50 * 3 * 7)  # seven rows at once
    parts = model.predict_proba_interval(X[:50], n_draws=50)
    np.testing.assert_allclose(parts, whole, rtol=1e-12, atol=1e-15)


def test_the_seed_chooses_the_draws():
    X, y = some_rows()
    model = NaiveBayes(EVERY).fit(X, y)
    first = model.predict_proba_interval(X[:5])
    np.testing.assert_array_equal(model.predict_proba_interval(X[:5], random_state=0), first)
    other = model.predict_proba_interval(X[:5], random_state=1)
    assert (np.abs(np.array(other) - first) > 0.0).all()
    assert (np.abs(np.array(other) - first) < 0.1).all()
    state = np.random.RandomState(0)
    np.testing.assert_array_equal(model.predict_proba_interval(X[:5], random_state=state), first)
    assert (np.array(model.predict_proba_interval(X[:5], random_state=state)) != first).any()


def test_a_wider_level_has_wider_bounds():
    X, y = some_rows()
    model = NaiveBayes(EVERY, calibrate="temperature").fit(X, y)
    before = None
    for level in (0.1, 0.5, 0.8, 0.9, 0.99):
        bounds = model.predict_proba_interval(X[:30], level)
        if before is not None:
            assert (bounds[0] <= before[0]).all()
            assert (bounds[1] >= before[1]).all()
            assert (bounds[1] - bounds[0]).mean() > (before[1] - before[0]).mean()
        before = bounds


# ---- closed forms --------------------------------------------------------------------------------
def exact_bounds(k, n, prior, level, other=0.5):
    """Quantiles of π·p / (π·p + (1 − π)·q) with p ~ Beta(k + 1, n − k + 2) of 3 levels, q known."""
    p = stats.beta(k + 1.0, n - k + 2.0).ppf([(1 - level) / 2, (1 + level) / 2])
    return prior * p / (prior * p + (1.0 - prior) * other)


@pytest.mark.parametrize(("k", "n"), [(0, 2), (1, 2), (2, 2), (3, 40), (300, 1000)])
def test_bounds_of_one_column_are_beta_quantiles(k, n):
    """One class has so many rows that it is known; the prior is given. With 400 draws the rank of a
    bound is off by about ±0.011 (one standard error); four of them are allowed."""
    X = pd.DataFrame({"c": ["u"] * k + ["v"] * (n - k) + ["u", "v"]})
    y = ["few"] * n + ["many"] * 2
    weight = [1.0] * n + [1e9, 1e9]
    columns = {"c": Categorical(levels=LEVELS)}
    plain = NaiveBayes(columns, class_prior=[0.3, 0.7], class_alpha=0.0)
    model = plain.fit(X, y, sample_weight=weight)
    for n_draws, allowed in ((400, 0.044), (20_000, 0.0065)):
        lower, upper = model.predict_proba_interval(
            pd.DataFrame({"c": ["u"]}), 0.9, n_draws=n_draws
        )
        for bound, rank in ((lower[0, 0], 0.05), (upper[0, 0], 0.95)):
            p = 0.7 * 0.5 * bound / (0.3 * (1.0 - bound))  # the share that gives this bound
            assert stats.beta(k + 1.0, n - k + 2.0).cdf(p) == pytest.approx(rank, abs=allowed)
        exact = exact_bounds(k, n, 0.3, 0.9)
        if n_draws > 400:
            np.testing.assert_allclose([lower[0, 0], upper[0, 0]], exact, rtol=0.08, atol=0.002)
        np.testing.assert_allclose(lower[0, 0] + upper[0, 1], 1.0)  # two classes mirror each other


def test_the_error_of_the_bounds_is_what_is_documented():
    """Over 200 seeds the rank of a bound of 400 draws has a standard error of ±0.011: the ±0.015 of
    the documentation hold four times in five."""
    X = pd.DataFrame({"c": ["u"] * 3 + ["v"] * 7 + ["u", "v"]})
    y, weight = ["few"] * 10 + ["many"] * 2, [1.0] * 10 + [1e9, 1e9]
    columns = {"c": Categorical(levels=LEVELS)}
    plain = NaiveBayes(columns, class_prior=[0.5, 0.5], class_alpha=0.0)
    model, ranks = plain.fit(X, y, sample_weight=weight), []
    for seed in range(200):
        bounds = model.predict_proba_interval(pd.DataFrame({"c": ["u"]}), random_state=seed)
        share = [0.5 * b[0, 0] / (1.0 - b[0, 0]) for b in bounds]
        ranks.append(stats.beta(4.0, 9.0).cdf(share))
    off = np.abs(np.array(ranks) - [0.05, 0.95])
    assert (off <= 0.015).mean() > 0.75
    assert np.sqrt((off**2).mean()) == pytest.approx(0.0109, abs=0.002)


def test_the_class_prior_is_drawn():
    """Without columns that count, P(c) is Beta."""
    X, y = pd.DataFrame({"c": [None] * 12}), ["a"] * 3 + ["b"] * 9
    model = NaiveBayes(class_alpha=0.5).fit(X, y)
    lower, upper = model.predict_proba_interval(X[:1], 0.8, n_draws=20_000)
    exact = stats.beta(3.5, 9.5).ppf([0.1, 0.9])
    np.testing.assert_allclose([lower[0, 0], upper[0, 0]], exact, atol=0.006)


def test_a_given_class_prior_is_not_drawn():
    X, y = pd.DataFrame({"c": [None] * 12}), ["a"] * 3 + ["b"] * 9
    model = NaiveBayes(class_prior=[0.2, 0.8], class_alpha=0.0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba_interval(X[:1]), [[[0.2, 0.8]]] * 2)


def many(name, values, columns, prior, class_alpha=0.0):
    """A model of the class "few" with these values and of a class "many" of 10,000 rows."""
    rng = np.random.default_rng(0)
    sure = {"g": rng.normal(0.0, 1.0, 10_000), "n": rng.poisson(2.0, 10_000)}[name]
    X = pd.DataFrame({name: [*values, *sure]})
    y = ["few"] * len(values) + ["many"] * 10_000
    plain = NaiveBayes(columns, class_prior=prior, class_alpha=class_alpha)
    return plain.fit(X, y), sure


def test_bounds_of_events_are_gamma_quantiles():
    values, a, b = [1, 4, 2], 2.0, 1.0
    model, sure = many("n", values, {"n": Poisson(prior=Gamma(a, b))}, [0.5, 0.5])
    lower, upper = model.predict_proba_interval(pd.DataFrame({"n": [0]}), n_draws=20_000)
    rate = stats.gamma(a + 7.0, scale=1.0 / (b + 3.0)).ppf([0.95, 0.05])  # p(0) = e^−λ falls
    exact = np.exp(-rate) / (np.exp(-rate) + np.exp(-sure.mean()))
    np.testing.assert_allclose([lower[0, 0], upper[0, 0]], exact, atol=0.012)


def test_bounds_of_numbers_are_those_of_the_posterior_by_scipy():
    """μ and σ² drawn by scipy from the normal-inverse-gamma posterior."""
    values = np.array([1.0, 2.5, 2.0, 0.5])
    prior = NormalInverseGamma(0.0, 0.5, 2.0, 2.0)
    model, _ = many("g", values, {"g": Gaussian(prior=prior)}, [0.5, 0.5])
    centre, strength, shape, scale = prior.posterior(
        4.0, values.mean(), ((values - values.mean()) ** 2).sum()
    )
    rng = np.random.default_rng(5)
    variance = stats.invgamma(shape, scale=scale).rvs(200_000, random_state=rng)
    mean = rng.normal(centre, np.sqrt(variance / strength))
    p = stats.norm(mean, np.sqrt(variance)).pdf(1.0)
    q = stats.norm(0.0, 1.0).pdf(1.0)
    exact = np.quantile(p / (p + q), [0.05, 0.95])
    lower, upper = model.predict_proba_interval(pd.DataFrame({"g": [1.0]}), n_draws=20_000)
    np.testing.assert_allclose([lower[0, 0], upper[0, 0]], exact, atol=0.015)


# ---- width ---------------------------------------------------------------------------------------
def width_of(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = pd.DataFrame(
        {
            "c": np.array(LEVELS)[np.where(rng.random(n) < 0.3, y, rng.integers(0, 3, n))],
            "g": rng.normal(0.5 * y, 1.0),
        }
    )
    columns = {"c": Categorical(levels=LEVELS), "g": Gaussian()}
    model = NaiveBayes(columns).fit(X, y)
    rows = pd.DataFrame({"c": ["u", "v", "w"] * 3, "g": [-1.0, 0.0, 1.0] * 3})
    lower, upper = model.predict_proba_interval(rows)
    return (upper - lower).mean()


def test_width_shrinks_with_the_root_of_the_rows():
    widths = np.array([width_of(n) for n in (400, 1600, 6400, 25_600)])
    np.testing.assert_allclose(widths[:-1] / widths[1:], 2.0, rtol=0.2)


def test_a_class_seen_twice_is_uncertain():
    """Its bounds are far apart, and those between two frequent classes are not."""
    rng = np.random.default_rng(0)
    k = np.concatenate([np.repeat([0, 1], 500), [2, 2]])
    X = pd.DataFrame({"c": np.array(LEVELS)[k], "g": rng.normal(k, 1.0)})
    columns = {"c": Categorical(levels=LEVELS, alpha=0.2), "g": Gaussian()}
    model = NaiveBayes(columns, class_prior=[1 / 3] * 3, class_alpha=0.0).fit(X, k)
    lower, upper = model.predict_proba_interval(pd.DataFrame({"c": [None], "g": [1.5]}))
    assert upper[0, 2] - lower[0, 2] > 0.3
    frequent = model.predict_proba_interval(pd.DataFrame({"c": ["v"], "g": [1.0]}))
    assert (frequent[1] - frequent[0])[0, :2].max() < 0.1


# ---- coverage ------------------------------------------------------------------------------------
NIG, GAMMA = NormalInverseGamma(0.0, 0.5, 3.0, 3.0), Gamma(2.0, 1.0)
DRAWN_FROM = {
    "c": Categorical(levels=LEVELS, prior=Dirichlet(3.0)),
    "d": Categorical(levels=LEVELS, prior=Dirichlet(3.0)),
    "g": Gaussian(prior=NIG),
    "n": Poisson(prior=GAMMA),
}


def coverage(n, repeats):
    """How often 90 % intervals hold the true probability: parameters drawn from the prior, rows
    from the parameters."""
    rng = np.random.default_rng(n)
    hits = []
    for _ in range(repeats):
        theta = rng.dirichlet([1.0, 1.0])
        p = rng.dirichlet([1.0] * 3, size=(2, 2))  # column, class
        variance = NIG.scale / rng.gamma(NIG.shape, 1.0, size=2)
        mean = rng.normal(0.0, np.sqrt(variance / NIG.strength))
        rate = rng.gamma(GAMMA.shape, 1.0 / GAMMA.rate, size=2)

        def table(m, theta=theta, p=p, variance=variance, mean=mean, rate=rate):
            y = (rng.random(m) < theta[1]).astype(int)
            codes = [(rng.random(m)[:, None] > p[j][y].cumsum(1)[:, :2]).sum(1) for j in (0, 1)]
            g, events = rng.normal(mean[y], np.sqrt(variance[y])), rng.poisson(rate[y])
            level = np.array(LEVELS)
            strings = {"c": level[codes[0]], "d": level[codes[1]]}
            return pd.DataFrame({**strings, "g": g, "n": events}), y, codes

        X, y, _ = table(n)
        rows, _, codes = table(25)
        model = NaiveBayes(DRAWN_FROM, classes=[0, 1]).fit(X, y)
        lower, upper = model.predict_proba_interval(rows, n_draws=200)
        g, events = rows[["g"]].to_numpy(), rows[["n"]].to_numpy()
        joint = np.log(theta) + np.log(p[0].T[codes[0]]) + np.log(p[1].T[codes[1]])
        joint = joint + stats.norm(mean, np.sqrt(variance)).logpdf(g)
        joint = joint + stats.poisson(rate).logpmf(events)
        true = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
        hits.append(((lower <= true) & (true <= upper)).mean())
    return float(np.mean(hits))


@pytest.mark.parametrize("n", [20, 200, 2000])
def test_ninety_of_a_hundred_intervals_hold_the_true_probability(n):
    assert 0.85 <= coverage(n, 70) <= 0.95


# ---- draws ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [1e-3, 0.5, 1.0, 30.0])
def test_draws_of_gammas_in_log_space(shape):
    draws = log_gamma(np.array(shape), np.random.default_rng(0), (20_000,))
    if shape >= 0.5:
        assert stats.kstest(np.exp(draws), stats.gamma(shape).cdf).pvalue > 1e-3
    else:  # most lie below the least float: their logarithm is that of U^(1/a), nearly
        assert stats.kstest(shape * draws, stats.expon.sf, alternative="two-sided").statistic > 0.9
        assert stats.kstest(-shape * draws, stats.expon.cdf).statistic < 0.02


@pytest.mark.parametrize(("a", "b"), [(1.0, 2.0), (0.01, 0.5), (300.0, 2.0), (1e-3, 1e-3)])
def test_draws_of_betas_in_log_space(a, b):
    cells = np.array([3, 0])
    draws = log_betas(np.array([[a, b]]), np.array([[b, a]]), cells, 7, 10_000)
    assert draws.shape == (10_000, 1, 2)
    for t in (1e-6, 0.01, 0.3, 0.7, 0.98, 0.999):
        below = (draws[:, 0] <= np.log(t)).mean(axis=0)
        expected = [stats.beta(a, b).cdf(t), stats.beta(b, a).cdf(t)]
        np.testing.assert_allclose(below, expected, atol=0.02)
    alone = log_betas(np.array([[a]]), np.array([[b]]), cells[:1], 7, 10_000)
    np.testing.assert_array_equal(alone[:, :, 0], draws[:, :, 0])


def test_draws_of_certain_and_impossible_cells():
    draws = log_betas(np.array([[0.0, 2.0, 0.0]]), np.array([[2.0, 0.0, 0.0]]), np.arange(3), 0, 50)
    np.testing.assert_array_equal(draws[:, 0], [[-np.inf, 0.0, -np.inf]] * 50)


def test_draws_of_dirichlets():
    a = np.array([0.02, 1.0, 5.0])
    draws = np.exp(log_dirichlet(a, np.random.default_rng(0), 20_000))
    np.testing.assert_allclose(draws.sum(axis=1), 1.0)
    for j in range(3):
        marginal = stats.beta(a[j], a.sum() - a[j])
        assert stats.kstest(draws[:, j], marginal.cdf).statistic < 0.02
