"""Heqin Yao, "贝叶斯统计观点下的拉普拉斯平滑" (2016): Laplace smoothing as maximum a posteriori
estimation, formula by formula. What the article derives is derived again with sympy, and then asked
of the library.

Where the article is wrong, or silent:

- Its mode of Beta(α, β), (α − 1) / (α + β − 2), holds for α, β > 1 only. Of Beta(½, ½) it is the
  *least* dense point, of Beta(1, 1) it is 0/0. The library says that the mode is undefined there.
- Its λ is the weight of the whole prior in the class prior, (count + λ/K) / (N + λ), and of one
  level in the conditional, (count + λ) / (N_c + λS_j): there the prior's weight is λS_j.
- It treats two outcomes and reads off K of them. The generalisation is derived below.
"""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import sympy as sp

from reference.logs import assert_logs
from reference.rational import exact
from tallybayes import CategoricalNB, NaiveBayes
from tallybayes.errors import RuledOutWarning
from tallybayes.families import Bernoulli, Beta, Categorical, ClassPrior, Dirichlet
from tallybayes.tally import ClassCounts, FeatureSums, LevelCounts

k, N, K = sp.symbols("k N K", positive=True)
p, theta = sp.symbols("p theta", positive=True)
lam, theta0 = sp.symbols("lambda theta_0", positive=True)
a, b = sp.symbols("alpha beta", positive=True)

COINS = [(0, 1), (1, 1), (3, 10), (7, 7), (12, 40)]
STRENGTHS = [Fraction(1, 3), Fraction(2), Fraction(25, 2)]
GUESSES = [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1)]


def estimated(family, heads, tosses):
    """P(heads) as the family reads it from counts of one class."""
    tally = FeatureSums(np.array([[float(heads)]]))
    classes = ClassCounts(np.array([float(tosses)]))
    return family.log_probabilities(tally, classes)[0, 0]


def levels_of(*counts):
    """Level counts of one class and one column."""
    return LevelCounts(np.array([0, len(counts)]), np.array([counts], dtype=float))


# ---- Bayes' rule with independent columns --------------------------------------------------------
ROWS = [("S", 1), ("M", 1), ("L", 2), ("S", 2), ("M", 2), ("M", 1), ("L", 1)]
LABELS = ["a", "a", "a", "b", "b", "b", "b"]


def table(rows=ROWS):
    return pd.DataFrame({"x1": [str(r[0]) for r in rows], "x2": [str(r[1]) for r in rows]})


def share(j, value, label, lam=0, n_levels=0):
    """(Σ I(x^(j) = value, y = label) + λ) / (Σ I(y = label) + λS_j)."""
    here = [row for row, y in zip(ROWS, LABELS, strict=True) if y == label]
    return Fraction(sum(row[j] == value for row in here) + lam) / (len(here) + lam * n_levels)


def test_the_prediction_is_the_largest_product_and_its_sum_the_evidence():
    model = CategoricalNB(alpha=0.0).fit([["SML".index(r[0]), r[1] - 1] for r in ROWS], LABELS)
    for value in "SML":
        for number in (1, 2):
            row = [["SML".index(value), number - 1]]
            products = [
                Fraction(LABELS.count(c), 7) * share(0, value, c) * share(1, number, c)
                for c in "ab"
            ]
            found = np.exp(model.predict_joint_log_proba(row)[0])
            np.testing.assert_allclose(found, [float(q) for q in products], rtol=1e-14)
            posterior = [float(q / sum(products)) for q in products]
            np.testing.assert_allclose(model.predict_proba(row)[0], posterior, rtol=1e-14)
            if products[0] != products[1]:
                assert model.predict(row)[0] == "ab"[int(products[1] > products[0])]


# ---- maximum likelihood --------------------------------------------------------------------------
def test_the_likelihood_is_flat_only_at_k_of_n():
    likelihood = sp.binomial(N, k) * p**k * (1 - p) ** (N - k)
    slope = sp.diff(sp.expand_log(sp.log(likelihood), force=True), p)
    assert sp.simplify(slope - (k / p - (N - k) / (1 - p))) == 0
    assert sp.solve(sp.together(slope), p) == [k / N]
    curve = sp.simplify(sp.diff(slope, p).subs(p, k / N) * k * (N - k))
    assert sp.factor(curve) == -(N**3)  # below 0: a maximum


@pytest.mark.parametrize(("heads", "tosses"), COINS)
def test_mle_is_the_relative_frequency(heads, tosses):
    assert_logs(estimated(Bernoulli(estimate="mle"), heads, tosses), Fraction(heads, tosses))
    found = Categorical(estimate="mle").log_probabilities(levels_of(heads, tosses - heads))
    assert_logs(found[0], [Fraction(heads, tosses), Fraction(tosses - heads, tosses)])


def test_mle_of_a_table_counts():
    family = Categorical(estimate="mle")
    model = NaiveBayes({"x1": family, "x2": family}, class_alpha=0.0).fit(table(), LABELS)
    assert_logs(model.class_log_prior_, [Fraction(3, 7), Fraction(4, 7)])
    got = model.explain(table()).contributions
    for i, row in enumerate(ROWS):
        for c, label in enumerate("ab"):
            assert_logs(got[i, c], [share(0, row[0], label), share(1, row[1], label)])


def test_one_zero_is_the_whole_product_and_smoothing_ends_it():
    rows, labels = [("S", 1), ("M", 2)], ["a", "b"]
    family = Categorical(estimate="mle")
    model = NaiveBayes({"x1": family, "x2": family}).fit(table(rows), labels)
    mixed = table([("S", 2)])
    assert np.isneginf(model.predict_joint_log_proba(mixed)).all()
    with pytest.warns(RuledOutWarning):
        model.predict(mixed)
    smooth = NaiveBayes().fit(table(rows), labels)
    assert np.isfinite(smooth.predict_joint_log_proba(mixed)).all()


# ---- the Beta distribution -----------------------------------------------------------------------
def test_the_normalising_integral_is_the_beta_function():
    for alpha, beta in [(2, 3), (5, 1), (4, 4)]:
        integral = sp.integrate(p ** (alpha - 1) * (1 - p) ** (beta - 1), (p, 0, 1))
        assert integral == sp.beta(alpha, beta).rewrite(sp.gamma)
        density = Beta(alpha, beta).density([0.3])[0]
        expected = sp.Rational(3, 10) ** (alpha - 1) * sp.Rational(7, 10) ** (beta - 1) / integral
        assert density == pytest.approx(float(expected), rel=1e-14)


def test_the_mean_of_a_beta():
    """EX = B(α + 1, β) / B(α, β)."""
    ratio = sp.gammasimp((sp.beta(a + 1, b) / sp.beta(a, b)).rewrite(sp.gamma))
    assert sp.simplify(ratio - a / (a + b)) == 0
    for alpha, beta in [(0.5, 0.5), (2, 3), (1, 9)]:
        assert Beta(alpha, beta).mean == pytest.approx(alpha / (alpha + beta), rel=1e-15)


def test_the_mode_of_a_beta():
    slope = sp.diff((a - 1) * sp.log(p) + (b - 1) * sp.log(1 - p), p)
    assert sp.simplify(sp.solve(slope, p)[0] - (a - 1) / (a + b - 2)) == 0
    for alpha, beta in [(2, 3), (1.5, 9), (1, 2), (4, 1)]:
        prior = Beta(alpha, beta)
        assert prior.mode == pytest.approx((alpha - 1) / (alpha + beta - 2), rel=1e-15)
        grid = np.linspace(0.0, 1.0, 1001)
        assert (prior.density(grid) <= prior.density(prior.mode) * (1 + 1e-14)).all()


@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 0.5), (0.5, 3.0), (3.0, 0.99), (1.0, 1.0)])
def test_where_the_articles_mode_is_none(alpha, beta):
    """At (α − 1) / (α + β − 2) the density is least, or outside of 0 … 1, or it is 0/0."""
    with pytest.raises(ValueError, match=r"mode of Beta.*undefined.*take the mean"):
        _ = Beta(alpha, beta).mode
    if alpha == beta == 0.5:
        article = (alpha - 1) / (alpha + beta - 2)
        grid = np.linspace(0.01, 0.99, 99)
        assert (Beta(alpha, beta).density(grid) >= Beta(alpha, beta).density(article)).all()


# ---- maximum a posteriori ------------------------------------------------------------------------
def test_a_uniform_prior_makes_map_equal_mle():
    posterior = sp.log(p) * k + sp.log(1 - p) * (N - k) + sp.log(1)
    assert sp.solve(sp.diff(posterior, p), p) == [k / N]
    for heads, tosses in COINS:
        under = Bernoulli(prior=Beta(1, 1), estimate="map")
        mle = Bernoulli(estimate="mle")
        assert estimated(under, heads, tosses) == estimated(mle, heads, tosses)
    for counts in [(3, 0, 4), (1, 1, 1), (0, 0, 9)]:
        under = Categorical(prior=Dirichlet(3), estimate="map").log_probabilities
        mle = Categorical(estimate="mle").log_probabilities
        assert (under(levels_of(*counts)) == mle(levels_of(*counts))).all()


def test_the_prior_of_a_guess_has_its_mode_there():
    """α = λθ₀ + 1, β = λ(1 − θ₀) + 1."""
    mode = ((a - 1) / (a + b - 2)).subs({a: lam * theta0 + 1, b: lam * (1 - theta0) + 1})
    assert sp.simplify(mode - theta0) == 0
    for strength in STRENGTHS:
        for guess in GUESSES:
            prior = Beta.from_mode(guess, strength)
            assert prior.mode == pytest.approx(float(guess), rel=1e-15)
            assert prior.a == pytest.approx(float(strength * guess + 1), rel=1e-15)
            assert prior.b == pytest.approx(float(strength * (1 - guess) + 1), rel=1e-15)


def test_the_posterior_is_a_beta_again_and_its_mode_is_theta_map():
    density = theta ** (k + lam * theta0) * (1 - theta) ** (N - k + lam * (1 - theta0))
    slope = sp.diff(sp.expand_log(sp.log(density), force=True), theta)
    (top,) = sp.solve(sp.together(slope), theta)
    assert sp.simplify(top - (k + lam * theta0) / (N + lam)) == 0
    assert sp.simplify(top.subs({k: 0, N: 0}) - theta0) == 0
    numbers = {k: 3, N: 8, lam: 4, theta0: sp.Rational(1, 4)}
    whole = sp.integrate(sp.expand(density.subs(numbers)), (theta, 0, 1))
    assert whole == sp.beta(3 + 1 + 1, 5 + 3 + 1).rewrite(sp.gamma)
    posterior = Beta.from_mode(0.25, 4).updated(3, 5)
    at = sp.Rational(2, 5)
    expected = (density.subs(numbers) / whole).subs(theta, at)
    assert posterior.density(float(at)) == pytest.approx(float(expected), rel=1e-14)


@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("guess", GUESSES)
@pytest.mark.parametrize(("heads", "tosses"), [*COINS, (0, 0)])
def test_theta_map(heads, tosses, guess, strength):
    """(k + λθ₀) / (N + λ); of no tosses θ₀."""
    expected = (heads + strength * guess) / (tosses + strength)
    if not tosses:
        assert expected == guess
    yes_no = Bernoulli(prior=Beta.from_mode(guess, strength), estimate="map")
    assert_logs(estimated(yes_no, heads, tosses), expected)
    base = [float(guess), float(1 - guess)]
    levels = Categorical(prior=Dirichlet.from_mode(base, float(strength)), estimate="map")
    tally = levels_of(heads, tosses - heads)
    close = exact(np.array(base)) * Fraction(float(strength))
    shares = [(heads + close[0]) / (tosses + Fraction(float(strength)))]
    assert_logs(levels.log_probabilities(tally)[0, :1], shares)
    np.testing.assert_allclose(np.exp(levels.log_probabilities(tally)).sum(), 1.0, rtol=1e-15)


def test_an_untossed_coin_is_fair_and_maximum_likelihood_cannot_say():
    fair = Bernoulli(prior=Beta.from_mode(0.5, 2), estimate="map")
    assert_logs(estimated(fair, 0, 0), Fraction(1, 2))
    with pytest.raises(ValueError, match=r"cannot estimate.*nothing was counted.*give a prior"):
        estimated(Bernoulli(estimate="mle"), 0, 0)
    with pytest.raises(ValueError, match=r"cannot estimate column 0: nothing was counted"):
        Categorical(estimate="mle").log_probabilities(levels_of(0, 0))
    with pytest.raises(ValueError, match="cannot be estimated from no rows"):
        ClassPrior().log(ClassCounts(np.zeros(2)))


# ---- K outcomes ----------------------------------------------------------------------------------
def test_the_generalisation_to_more_levels():
    """Σ (k_j + λq_j) log θ_j is stationary on Σ θ_j = 1 at (k_j + λq_j) / (N + λ) alone."""
    counts = sp.symbols("k_1:4", positive=True)
    shares = [*sp.symbols("q_1:3", positive=True)]
    shares.append(1 - sum(shares))
    thetas, mu = sp.symbols("theta_1:4", positive=True), sp.Symbol("mu")
    weights = [c + lam * q for c, q in zip(counts, shares, strict=True)]
    slopes = [w / t - mu for w, t in zip(weights, thetas, strict=True)]  # of the Lagrangian
    (found,) = sp.solve([*slopes, sum(thetas) - 1], [*thetas, mu], dict=True)
    for t, w in zip(thetas, weights, strict=True):
        assert sp.simplify(found[t] - w / (sum(counts) + lam)) == 0


@pytest.mark.parametrize("counts", [(3, 0, 5), (0, 0, 0), (1, 1, 7)])
def test_the_mode_after_k_of_n_rows(counts):
    mode, strength = [0.5, 0.125, 0.375], 4.0
    expected = [
        (Fraction(c) + 4 * Fraction(q)) / (sum(counts) + 4)
        for c, q in zip(counts, mode, strict=True)
    ]
    prior = Dirichlet.from_mode(mode, strength)
    family = Categorical(prior=prior, estimate="map")
    assert_logs(family.log_probabilities(levels_of(*counts))[0], expected)
    np.testing.assert_allclose(prior.updated(counts).mode(), [float(e) for e in expected])


# ---- Laplace smoothing ---------------------------------------------------------------------------
def test_the_class_prior_with_its_weight_shared_out():
    """(count + λ/K) / (N + λ) is (count + λ̂) / (N + λ̂K) with λ̂ = λ/K."""
    hat = sp.Symbol("lambda_hat", positive=True)
    first, second = (k + lam / K) / (N + lam), (k + hat) / (N + hat * K)
    assert sp.simplify(first - second.subs(hat, lam / K)) == 0
    counts = sp.symbols("c_1:5", positive=True)
    total = sum((c + lam / 4) / (sum(counts) + lam) for c in counts)
    assert sp.simplify(total) == 1


@pytest.mark.parametrize("strength", [Fraction(1), Fraction(6), Fraction(1, 2)])
def test_the_class_prior_of_a_model(strength):
    hat = strength / 2
    expected = [(LABELS.count(c) + hat) / (7 + strength) for c in "ab"]
    model = NaiveBayes(class_alpha=float(hat)).fit(table(), LABELS)
    assert_logs(model.class_log_prior_, expected)
    codes = [["SML".index(r[0]), r[1] - 1] for r in ROWS]
    assert_logs(CategoricalNB(class_alpha=float(hat)).fit(codes, LABELS).class_log_prior_, expected)
    by_prior = Dirichlet(strength).updated([3, 4]).mean()  # E P(c), the same number
    np.testing.assert_allclose(by_prior, [float(e) for e in expected], rtol=1e-15)


def test_a_smoothed_table_is_a_distribution():
    """Every (count + λ) / (N_c + λS_j) is from 0 on, and they sum to 1."""
    counts = sp.symbols("c_1:6", nonnegative=True)
    each = [(c + lam) / (sum(counts) + lam * 5) for c in counts]
    assert all(e.is_nonnegative for e in each)
    assert sp.simplify(sum(each)) == 1


@pytest.mark.parametrize("strength", [Fraction(1), Fraction(1, 2), Fraction(7)])
def test_the_conditional_of_a_model(strength):
    model = NaiveBayes(alpha=float(strength)).fit(table(), LABELS)
    n_levels = [3, 2]
    got = model.explain(table()).contributions
    for i, row in enumerate(ROWS):
        for c, label in enumerate("ab"):
            assert_logs(got[i, c], [share(j, row[j], label, strength, n_levels[j]) for j in (0, 1)])
    every = pd.DataFrame({"x1": ["S", "M", "L"]})
    first = np.exp(model.explain(every.assign(x2="1")).contributions[:, :, 0])
    np.testing.assert_allclose(first.sum(axis=0), 1.0, rtol=1e-14)
