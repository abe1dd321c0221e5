"""Gaussians with a full covariance: estimates, densities, floors and priors, beside scipy.stats."""

import numpy as np
import pytest
from scipy import optimize
from scipy.stats import invwishart, multivariate_normal, multivariate_t

from tallybayes.engines.arrays import collect_array
from tallybayes.engines.parts import CorrelatedPart
from tallybayes.families import Gaussian, NormalInverseGamma, NormalInverseWishart
from tallybayes.families.gaussian import GaussianDensity
from tallybayes.families.gaussian_group import GaussianGroup, LeftOut
from tallybayes.schema import Columns
from tallybayes.tally import CrossMoments, GridCounts

NAMES = ("u", "v", "w", "x", "y", "z")
RNG = np.random.default_rng(8)
CODES = RNG.integers(0, 3, 60).astype(np.int32)
MIX = RNG.normal(size=(3, 3))
X = RNG.normal(size=(60, 3)) @ MIX + np.array([1.0, 30.0, -5.0]) + CODES[:, None]
QUERY = RNG.normal(size=(20, 3)) @ MIX + np.array([1.0, 30.0, -5.0])
WISHART = NormalInverseWishart([1.0, 30.0, -4.0], 2.0, 6.0, np.eye(3) + 0.3)


def cross_of(x, codes, weights=None, n_classes=3):
    columns = Columns(kind="cross", n_features=x.shape[1], origin=x[0].copy())
    tally = collect_array(columns, x, codes, n_classes, weights, whose="a test").tally
    assert isinstance(tally, CrossMoments)
    return tally


def group_of(x=X, codes=CODES, weights=None, n_classes=3, **options):
    family = Gaussian(**{"covariance": "full", "var_smoothing": 0.0, **options})
    names = NAMES[: x.shape[1]]
    return GaussianGroup.read(family, names, cross_of(x, codes, weights, n_classes))


def scores(group, x):
    part = CorrelatedPart(columns=group.names, likelihood=group, n_classes=len(group.own.n))
    return part.scored(x)


@pytest.mark.parametrize("ddof", [0, 1, 2.5])
def test_densities_are_those_of_scipy(ddof):
    group = group_of(ddof=ddof)
    for k in range(3):
        rows = X[k == CODES]
        cov = np.cov(rows.T, ddof=0) * len(rows) / (len(rows) - ddof)
        np.testing.assert_allclose(group.shape.covariance[k], cov, rtol=1e-12)
        expected = multivariate_normal(rows.mean(axis=0), cov).logpdf(QUERY)
        np.testing.assert_allclose(scores(group, QUERY)[:, k], expected, rtol=1e-11)


def test_the_ridge_is_a_share_of_each_columns_own_variance():
    scaled = X * np.array([1e-6, 1.0, 1e9])
    group = group_of(scaled, var_smoothing=0.1)
    cov = np.cov(scaled[CODES == 1].T, ddof=0) + 0.1 * np.diag(scaled.var(axis=0))
    np.testing.assert_allclose(group.shape.covariance[1], cov, rtol=1e-12)
    # so that the units of a column change log p by the logarithm of the scale alone
    plain, moved = (scores(group_of(x, var_smoothing=0.1), q) for x, q in (
        (X, QUERY), (scaled, QUERY * np.array([1e-6, 1.0, 1e9])),
    ))  # fmt: skip
    np.testing.assert_allclose(plain - moved, np.log(1e3), rtol=1e-9)


@pytest.mark.parametrize("gone", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)])
@pytest.mark.parametrize("estimate", ["mean", "posterior"])
def test_a_gap_leaves_the_marginal_distribution_of_the_others(gone, estimate):
    group = group_of(estimate=estimate)
    there = [j for j in range(3) if j not in gone]
    gaps = QUERY.copy()
    gaps[:, gone] = np.nan
    for k in range(3):
        centre = group.shape.centre[k][there]
        cov = group.shape.covariance[k][np.ix_(there, there)]
        if estimate == "mean":
            law = multivariate_normal(centre, cov)
        else:
            law = multivariate_t(centre, cov, df=group.shape.freedom[k])
        expected = law.logpdf(QUERY[:, there])
        np.testing.assert_allclose(scores(group, gaps)[:, k], expected, rtol=1e-10)


@pytest.mark.parametrize("estimate", ["mean", "posterior"])
@pytest.mark.parametrize("gap", [None, 1])
def test_a_column_adds_what_is_said_of_it_given_those_before(estimate, gap):
    """log p(x1) + log p(x2 | x1) + …, each the difference of two marginals; they add up."""
    group = group_of(estimate=estimate)
    query = QUERY.copy()
    if gap is not None:
        query[:, gap] = np.nan
    shares = np.zeros((len(query), 3, 3))
    part = CorrelatedPart(columns=group.names, likelihood=group, n_classes=3)
    total = part.scored(query, shares)
    np.testing.assert_allclose(shares.sum(axis=2), total, rtol=1e-13)
    before = np.zeros((len(query), 3))
    for j in range(3):
        upto = query.copy()
        upto[:, j + 1 :] = np.nan
        now = scores(group, upto)
        np.testing.assert_allclose(shares[:, :, j], now - before, rtol=1e-9, atol=1e-11)
        before = now


# ---- one column ----------------------------------------------------------------------------------
ONE = {
    "plain": {},
    "no smoothing": {"var_smoothing": 0.0},
    "unbiased": {"ddof": 1.0},
    "least variance": {"min_variance": 3.0},
    "posterior": {"estimate": "posterior"},
    "posterior, smoothed": {"estimate": "posterior", "var_smoothing": 0.01},
    **{
        f"prior, {e}": {"estimate": e, "prior": NormalInverseWishart(2.0, 1.5, 4.0, 3.0)}
        for e in ("mean", "map", "posterior")
    },
}


# without a prior a single column borrows where a class has no spread
CASES = [
    (name, case)
    for name in ONE
    for case in ("spread", "constant", "in a class", "single rows", "blank")
    if case in ("spread", "blank")
    or name.startswith("prior")
    or (case == "constant" and not name.startswith("posterior"))
]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_one_column_is_a_gaussian_of_that_column(name, case):
    x, codes = X[:, 1].copy(), CODES.copy()
    if case == "constant":
        x[:] = 4.0
    elif case == "in a class":
        x[codes == 1] = 4.0
    elif case == "single rows":
        x, codes = x[[0, 1, 5]], np.array([0, 1, 2], dtype=np.int32)
    elif case == "blank":
        codes[codes == 2] = 0
    full = Gaussian(covariance="full", **ONE[name])
    tally = cross_of(x[:, None], codes)
    group = GaussianGroup.read(full, ("v",), tally)
    density = GaussianDensity.read(full.of_one_column(), tally.columns(), GridCounts.zeros(3))
    query = np.concatenate([QUERY[:, 1], x])
    expected = density.log_density(query)
    np.testing.assert_allclose(scores(group, query[:, None]), expected, rtol=1e-12, atol=1e-12)
    weight = np.ones(len(x))
    own = codes.astype(np.intp)
    expected = density.without(x, own, weight)
    found = group.without(x[:, None], own, weight)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)
    assert np.isfinite(found).all()


# ---- singular covariances ------------------------------------------------------------------------
SINGULAR = {
    "fewer rows than columns": RNG.normal(size=(9, 6)),
    "a constant column": np.column_stack([X[:9], np.full(9, 2.5)]),
    "a column twice": np.column_stack([X[:9], X[:9, 1]]),
    "a column twice, scaled": np.column_stack([X[:9], -1e8 * X[:9, 1]]),
    "a sum of columns": np.column_stack([X[:9], X[:9].sum(axis=1)]),
    "all constant": np.full((9, 2), 3.0),
    "constant in a class": np.column_stack([X[:9], (np.arange(9) % 3 == 0).astype(float)]),
    "one row": X[:1],
}


@pytest.mark.parametrize("smoothing", [0.0, 1e-9, 1e-3])
@pytest.mark.parametrize("estimate", ["mean", "posterior"])
@pytest.mark.parametrize("name", SINGULAR)
def test_a_singular_covariance_is_finite(name, estimate, smoothing):
    x = SINGULAR[name]
    codes = (np.arange(len(x)) % 3).astype(np.int32)
    group = group_of(x, codes, estimate=estimate, var_smoothing=smoothing)
    query = np.concatenate([x, x + 1.0])
    found = scores(group, query)
    assert np.isfinite(found).all()
    assert (np.einsum("kjj->kj", group.shape.factor) > 1e-6).all()
    left = group.without(x, codes.astype(np.intp), np.ones(len(x)))
    assert np.isfinite(left).all()
    assert np.isfinite(group.drawn(query, np.random.default_rng(0), 2)).all()
    if estimate == "mean":  # a row of the class is likelier than the same row beside it
        own = np.arange(len(x)), codes
        assert (found[: len(x)][own] >= found[len(x) :][own]).all()


def test_the_floor_is_as_stated():
    x = np.column_stack([X[:, 0], X[:, 0], np.full(60, 2.0)])
    cov = group_of(x).shape.covariance
    for k in range(3):
        variance = X[k == CODES, 0].var()
        # of correlations 1 the eigenvalues are 2 and 0, which becomes 1e-9
        difference = cov[k][0, 0] + cov[k][1, 1] - 2.0 * cov[k][0, 1]
        assert difference == pytest.approx(2.0 * 1e-9 * variance, rel=1e-5)
        np.testing.assert_allclose(cov[k][0, :2], variance, rtol=1e-8)
        assert cov[k][2].tolist() == [0.0, 0.0, 1.0]  # constant throughout
    inside = np.where(CODES == 0, 7.0, X[:, 0])  # constant in a class
    cov = group_of(np.column_stack([inside, X[:, 1]])).shape.covariance
    assert cov[0][0, 0] == pytest.approx(1e-9 * inside.var())
    assert cov[0][0, 1] == 0.0


def test_the_least_variance_holds_in_every_direction():
    cov = group_of(min_variance=2.0).shape.covariance
    plain = group_of().shape.covariance
    least = np.linalg.eigvalsh(plain)[:, 0]
    assert least.min() < 2.0 < least.max()
    for k in range(3):
        values, vectors = np.linalg.eigh(plain[k])
        expected = (vectors * np.maximum(values, 2.0)) @ vectors.T
        np.testing.assert_allclose(cov[k], expected, rtol=1e-10, atol=1e-12)


def test_a_class_of_too_few_rows_has_the_covariance_of_all():
    codes = np.where(np.arange(60) == 7, 2, np.arange(60) % 2).astype(np.int32)
    group = group_of(X, codes, n_classes=4, ddof=1.0)
    everyone = np.cov(X.T, ddof=0)
    np.testing.assert_allclose(group.shape.covariance[2], everyone, rtol=1e-12)
    np.testing.assert_allclose(group.shape.centre[2], X[7], rtol=1e-14)
    np.testing.assert_allclose(group.shape.covariance[3], everyone, rtol=1e-12)
    np.testing.assert_allclose(group.shape.centre[3], X.mean(axis=0), rtol=1e-14)


# ---- priors --------------------------------------------------------------------------------------
def test_the_prior_density_is_that_of_scipy():
    rng = np.random.default_rng(0)
    mean, cov = rng.normal(size=3), invwishart(7, np.eye(3)).rvs(random_state=rng)
    expected = multivariate_normal(WISHART.mean, cov / 2.0).logpdf(mean)
    expected += invwishart(6.0, np.eye(3) + 0.3).logpdf(cov)
    assert WISHART.log_density(mean, cov) == pytest.approx(expected, rel=1e-12)


def test_the_posterior_is_prior_times_likelihood():
    """At any (μ, Σ): log prior + log likelihood − log evidence = log posterior."""
    rows = X[CODES == 0]
    scatter = np.cov(rows.T, ddof=0) * len(rows)
    n, mean = np.array(float(len(rows))), rows.mean(axis=0)
    centre, strength, freedom, scale = WISHART.posterior(n, mean, scatter)
    updated = NormalInverseWishart(centre, float(strength), float(freedom), (scale + scale.T) / 2)
    evidence = float(WISHART.log_evidence(n, mean, scatter))
    rng = np.random.default_rng(1)
    for _ in range(3):
        mu, cov = mean + rng.normal(size=3), invwishart(9, np.eye(3)).rvs(random_state=rng)
        both = WISHART.log_density(mu, cov) + multivariate_normal(mu, cov).logpdf(rows).sum()
        assert both - evidence == pytest.approx(updated.log_density(mu, cov), rel=1e-10)


def test_the_mode_is_the_top_of_the_posterior_and_the_mean_its_mean():
    rows = X[CODES == 0][:, :2]
    prior = NormalInverseWishart([1.0, 30.0], 2.0, 8.0, np.array([[2.0, 0.5], [0.5, 1.0]]))
    codes = np.zeros(len(rows), dtype=np.int32)
    top = group_of(rows, codes, n_classes=1, prior=prior, estimate="map").shape

    def loss(p):
        root = np.array([[np.exp(p[2]), 0.0], [p[3], np.exp(p[4])]])
        cov = root @ root.T
        log = prior.log_density(p[:2], cov)
        return -log - multivariate_normal(p[:2], cov).logpdf(rows).sum()

    start = np.linalg.cholesky(top.covariance[0] * 1.2)
    at = [*(top.centre[0] + 0.1), np.log(start[0, 0]), start[1, 0], np.log(start[1, 1])]
    found = optimize.minimize(loss, at, tol=1e-12)
    root = np.array([[np.exp(found.x[2]), 0.0], [found.x[3], np.exp(found.x[4])]])
    np.testing.assert_allclose(found.x[:2], top.centre[0], rtol=1e-5)
    np.testing.assert_allclose(root @ root.T, top.covariance[0], rtol=1e-4)
    mean = group_of(rows, codes, n_classes=1, prior=prior).shape
    draws = invwishart(
        8.0 + len(rows), prior.posterior(*group_of(rows, codes, n_classes=1).own)[3][0]
    ).rvs(40_000, random_state=0)
    np.testing.assert_allclose(mean.covariance[0], draws.mean(axis=0), rtol=0.03)


@pytest.mark.parametrize("prior", [None, WISHART])
def test_integrated_out_it_is_a_multivariate_t(prior):
    group = group_of(prior=prior, estimate="posterior")
    for k in range(3):
        rows = X[k == CODES]
        n, scatter = len(rows), np.cov(rows.T, ddof=0) * len(rows)
        if prior is None:
            law = multivariate_t(rows.mean(axis=0), scatter * (n + 1) / (n * (n - 3)), df=n - 3)
        else:
            centre, kappa, nu, scale = prior.posterior(
                np.array(float(n)), rows.mean(axis=0), scatter
            )
            law = multivariate_t(
                centre, scale * (kappa + 1) / (kappa * (nu - 2.0)), df=float(nu) - 2.0
            )
        np.testing.assert_allclose(scores(group, QUERY)[:, k], law.logpdf(QUERY), rtol=1e-10)


def test_integrated_out_is_the_ratio_of_evidences_and_the_integral_over_parameters():
    rows = X[CODES == 0][:6, :1]
    prior = NormalInverseWishart(1.0, 2.0, 5.0, 3.0)
    codes = np.zeros(6, dtype=np.int32)
    group = group_of(rows, codes, n_classes=1, prior=prior, estimate="posterior")
    n, mean, scatter = group.own
    one = np.array([[0.3]])
    more = group_of(np.vstack([rows, one]), np.zeros(7, dtype=np.int32), n_classes=1, prior=prior)
    ratio = prior.log_evidence(*more.own) - prior.log_evidence(n, mean, scatter)
    found = float(scores(group, one)[0, 0])
    assert found == pytest.approx(float(ratio[0]), rel=1e-10)
    centre, strength, freedom, scale = prior.posterior(n, mean, scatter)
    updated = NormalInverseWishart(centre[0], strength[0], freedom[0], scale[0])

    def joint(mu, log_v):
        v = np.exp(log_v)
        log = updated.log_density(np.array([mu]), np.array([[v]]))
        return np.exp(log + multivariate_normal(mu, v).logpdf(one[0, 0]) + log_v)

    m = float(centre[0, 0])
    means, log_variances = np.linspace(m - 9.0, m + 9.0, 61), np.linspace(-4.0, 6.0, 51)
    values = [[joint(mu, log_v) for log_v in log_variances] for mu in means]
    area = np.trapezoid(np.trapezoid(values, log_variances), means)
    assert np.log(area) == pytest.approx(found, rel=1e-6)


def test_draws_average_to_the_integral():
    group = group_of(prior=WISHART, estimate="posterior")
    drawn = group.drawn(QUERY[:4], np.random.default_rng(3), 40_000)
    mean = np.log(np.exp(drawn).mean(axis=0))
    np.testing.assert_allclose(mean, scores(group, QUERY[:4]), rtol=0.05, atol=0.05)
    group = group_of(estimate="posterior")
    gaps = QUERY[:4].copy()
    gaps[1, 2] = gaps[2, :2] = gaps[3] = np.nan
    mean = np.log(np.exp(group.drawn(gaps, np.random.default_rng(3), 40_000)).mean(axis=0))
    np.testing.assert_allclose(mean, scores(group, gaps), rtol=0.05, atol=0.05)
    assert not mean[3].any()


# ---- leave-one-out -------------------------------------------------------------------------------
SETTINGS = {
    "plain": {"var_smoothing": 1e-9},
    "no smoothing": {},
    "much smoothing": {"var_smoothing": 0.3},
    "unbiased": {"ddof": 1.0, "var_smoothing": 1e-9},
    "least variance": {"min_variance": 2.0},
    "posterior": {"estimate": "posterior", "var_smoothing": 1e-6},
    **{f"prior, {e}": {"prior": WISHART, "estimate": e} for e in ("mean", "map", "posterior")},
    "prior, smoothed": {"prior": WISHART, "var_smoothing": 0.1},
}


SOME = np.unique([*range(0, 60, 9), *range(5, 10)])  # with those of a small class


def refitted(x, codes, weights, **options):
    """log p(x | c) of some rows by groups that are read from all other rows."""
    found = []
    for i in SOME:
        rest = np.arange(len(x)) != i
        left = group_of(x[rest], codes[rest], weights[rest], **options)
        found.append(scores(left, x[[i]])[0])
    return np.array(found)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", ["many", "a single row", "two rows", "four rows"])
@pytest.mark.parametrize("name", SETTINGS)
def test_leaving_a_row_out_is_reading_the_others(name, rows, weighted):
    codes = CODES.copy()
    if rows != "many":
        few = {"a single row": 1, "two rows": 2, "four rows": 4}[rows]
        codes[codes == 2] = 0
        codes[5 : 5 + few] = 2
    rng = np.random.default_rng(5)
    weights = rng.choice([0.5, 1.0, 1.7, 2.0], 60) if weighted else np.ones(60)
    group = group_of(X, codes, weights, **SETTINGS[name])
    found = group.without(X, codes.astype(np.intp), weights)[SOME]
    expected = refitted(X, codes, weights, **SETTINGS[name])
    size = 1.0 + np.abs(expected).max(axis=1, keepdims=True)
    # four rows of three columns less one leave a singular covariance: the sums are known to 1e-16,
    # which is 1e-7 of the ridge, or floor, of 1e-9
    singular = ("plain", "no smoothing", "unbiased")
    near_singular = rows == "four rows" and name in singular
    assert (np.abs(found - expected) <= (1e-5 if near_singular else 1e-10) * size).all()


def test_the_closed_form_is_used_where_it_is_precise(monkeypatch):
    group = group_of(var_smoothing=1e-9)
    monkeypatch.setattr(LeftOut, "_again", lambda *_: pytest.fail("read again"))
    group.without(X, CODES.astype(np.intp), np.ones(60))


# ---- what is refused -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"covariance": "tied"}, ValueError, "'diag' .* or 'full' .*, got 'tied'"),
        ({"covariance": None}, ValueError, "got None"),
        ({"covariance": "full", "transform": "log"}, ValueError, "for a single column"),
        (
            {"covariance": "full", "prior": NormalInverseGamma(0.0, 1.0, 1.0, 1.0)},
            TypeError,
            "takes a NormalInverseWishart as prior",
        ),
        ({"prior": WISHART}, TypeError, "takes a NormalInverseGamma as prior"),
        ({"covariance": "full", "prior": WISHART, "estimate": "mle"}, ValueError, "give alpha or"),
        ({"covariance": "full", "ddof": -1.0}, ValueError, "ddof from 0 on"),
    ],
)
def test_what_a_family_does_not_take(options, error, words):
    with pytest.raises(error, match=words):
        Gaussian(**options)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((0.0, 0.0, 2.0, 1.0), "strength above 0"),
        ((0.0, 1.0, -1.0, 1.0), "freedom above 0"),
        ((np.nan, 1.0, 2.0, 1.0), "vector as mean"),
        (([[0.0]], 1.0, 2.0, 1.0), "vector as mean"),
        (("x", 1.0, 2.0, 1.0), "vector as mean"),
        ((0.0, 1.0, 2.0, 0.0), "positive definite"),
        ((0.0, 1.0, 2.0, [1.0, -1.0]), "positive definite"),
        ((0.0, 1.0, 2.0, [[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
        ((0.0, 1.0, 2.0, [[1.0, 0.5], [0.0, 1.0]]), "symmetric"),
        ((0.0, 1.0, 2.0, [[1.0, 0.5]]), "symmetric"),
        ((0.0, 1.0, 2.0, np.zeros((1, 1, 1))), "matrix as scale"),
    ],
)
def test_what_a_prior_does_not_take(values, words):
    with pytest.raises(ValueError, match=words):
        NormalInverseWishart(*values)


def test_a_prior_of_other_columns_is_refused():
    for prior, words in (
        (NormalInverseWishart([0.0, 1.0], 1.0, 5.0, 1.0), "mean is for 2 columns, .* has 3"),
        (NormalInverseWishart(0.0, 1.0, 5.0, [1.0, 1.0]), "scale is for 2 columns, .* has 3"),
        (NormalInverseWishart(0.0, 1.0, 2.0, 1.0), "freedom above 2, got 2"),
    ):
        with pytest.raises(ValueError, match=words):
            group_of(prior=prior)
    small = NormalInverseWishart(0.0, 1.0, 2.5, 1.0)
    with pytest.raises(ValueError, match="posterior mean of the covariance is undefined"):
        group_of(X, np.where(CODES == 2, 0, CODES).astype(np.int32), prior=small)
    group_of(X, np.where(CODES == 2, 0, CODES).astype(np.int32), prior=small, estimate="map")


def test_priors_are_values():
    again = NormalInverseWishart((1.0, 30.0, -4.0), 2, 6, (np.eye(3) + 0.3).tolist())
    assert again == WISHART
    assert hash(again) == hash(WISHART)
    assert repr(NormalInverseWishart(0, 1, 2, 3)) == (
        "NormalInverseWishart(mean=0.0, strength=1.0, freedom=2.0, scale=3.0)"
    )
