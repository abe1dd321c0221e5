"""Dirichlet and Beta against exact fractions, mpmath, scipy.stats and predictions in sequence."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from reference.logs import ln
from tallybayes import NaiveBayes
from tallybayes.families import Bernoulli, Beta, Dirichlet

positive = st.one_of(st.floats(0.01, 50.0), st.sampled_from([1e-10, 1.0, 1e10]))
whole = st.integers(0, 6)


def in_sequence(concentration, counts):
    """P(rows) as a product of predictions, each row by the posterior mean before it."""
    a, product = [Fraction(x) for x in concentration], Fraction(1)
    for level, count in enumerate(counts):
        for _ in range(count):
            product *= a[level] / sum(a)
            a[level] += 1
    return product


@st.composite
def with_counts(draw):
    n = draw(st.integers(1, 5))
    strength = draw(positive)
    base = draw(st.lists(st.integers(1, 9), min_size=n, max_size=n))
    counts = draw(st.lists(whole, min_size=n, max_size=n))
    return Dirichlet(strength, np.array(base) / sum(base)), counts


# ---- Dirichlet -----------------------------------------------------------------------------------
@given(with_counts())
def test_evidence_is_the_product_of_predictions_in_sequence(case):
    prior, counts = case
    expected = ln(in_sequence(prior.concentration(len(counts)), counts))
    assert prior.log_evidence(counts) == pytest.approx(expected, rel=1e-11, abs=1e-11)


@given(with_counts())
def test_evidence_is_a_ratio_of_densities(case):
    """p(rows) = p(p) P(rows | p) / p(p | rows), at any p."""
    prior, counts = case
    at = np.full(len(counts), 1.0 / len(counts))
    if prior.strength > 1e6:
        return  # densities of 1e10 rows are known to 1e-5 only
    likelihood = float(np.sum(counts) * np.log(at[0]))
    ratio = prior.log_density(at) + likelihood - prior.updated(counts).log_density(at)
    assert float(prior.log_evidence(counts)) == pytest.approx(ratio, rel=1e-9, abs=1e-9)


def test_evidence_of_many_tables_at_once():
    prior, counts = Dirichlet(3.0), np.array([[[1, 0, 2], [4, 4, 4]], [[0, 0, 0], [9, 0, 0]]])
    found = prior.log_evidence(counts)
    assert found.shape == (2, 2)
    for i in np.ndindex(2, 2):
        assert found[i] == pytest.approx(ln(in_sequence([1, 1, 1], counts[i].tolist())))


@pytest.mark.parametrize("alpha", [1e-10, 1.0, 1e10])
def test_a_hundred_thousand_levels(alpha):
    n = 100_000
    counts = np.zeros(n)
    counts[[0, 5, 7]] = 1.0, 1e12, 2.5
    prior = Dirichlet(alpha * n)
    with mp.workdps(50):
        a = mp.mpf(float(prior.concentration(n)[0]))
        expected = sum(mp.loggamma(a + k) - mp.loggamma(a) for k in (1, mp.mpf(10) ** 12, 2.5))
        expected -= mp.loggamma(n * a + counts.sum()) - mp.loggamma(n * a)
    assert float(prior.log_evidence(counts)) == pytest.approx(float(expected), rel=1e-11)
    posterior = prior.updated(counts)
    assert posterior.mean().sum() == pytest.approx(1.0, rel=1e-12)
    share = (counts[5] + alpha) / (counts.sum() + alpha * n)
    assert posterior.mean()[5] == pytest.approx(share, rel=1e-13)


@given(with_counts())
def test_the_posterior_mean_is_the_prediction(case):
    prior, counts = case
    a = [Fraction(x) for x in prior.concentration(len(counts)).tolist()]
    expected = [float((x + k) / (sum(a) + sum(counts))) for x, k in zip(a, counts, strict=True)]
    np.testing.assert_allclose(prior.updated(counts).mean(), expected, rtol=1e-13)


@given(with_counts(), st.floats(0.1, 20.0))
def test_the_posterior_mode_is_the_densest(case, strength):
    """No step from the mode along the simplex finds a denser p."""
    base, counts = case[0].base, case[1]
    posterior = Dirichlet.from_mode(base, strength).updated(counts)
    mode = posterior.mode()
    expected = (np.array(counts) + strength * np.array(base)) / (sum(counts) + strength)
    np.testing.assert_allclose(mode, expected, rtol=1e-13)
    top = posterior.log_density(mode)
    for i in range(len(mode)):
        for j in range(len(mode)):
            step = 0.25 * min(mode[i], 1.0 - mode[j]) if i != j else 0.0
            moved = mode.copy()
            moved[i] -= step
            moved[j] += step
            assert posterior.log_density(moved) <= top + 1e-9


def test_density_is_that_of_scipy():
    rng = np.random.default_rng(0)
    for n in (2, 3, 7):
        a = rng.uniform(0.3, 4.0, n)
        prior = Dirichlet(a.sum(), a / a.sum())
        for at in rng.dirichlet(np.ones(n), 5):
            at = at / at.sum()
            assert prior.log_density(at) == pytest.approx(stats.dirichlet.logpdf(at, a), rel=1e-9)


def test_density_integrates_to_one():
    prior = Dirichlet(6.0, [0.5, 0.2, 0.3])

    def at(q, p):
        return math.exp(prior.log_density([p, q, 1.0 - p - q]))

    volume, _ = integrate.dblquad(at, 0.0, 1.0, 0.0, lambda p: 1.0 - p, epsabs=1e-9)
    assert volume == pytest.approx(1.0, abs=1e-7)


def test_a_level_of_concentration_zero_is_certain_not_to_be():
    prior = Dirichlet(2.0, [0.0, 0.5, 0.5])
    assert prior.log_density([0.0, 0.3, 0.7]) == pytest.approx(0.0)  # uniform over the other two
    assert prior.log_density([0.2, 0.3, 0.5]) == -np.inf
    assert prior.log_evidence([1, 0, 0]) == -np.inf
    assert prior.updated([0, 1, 0]).mean().tolist() == [0.0, 2.0 / 3.0, 1.0 / 3.0]


def test_the_mode_of_a_beta_is_that_of_yes():
    """(a − 1) / (a + b − 2)."""
    assert Beta(4, 2).mode == pytest.approx(3 / 4, rel=1e-15)
    assert Beta(4, 2).excess == (3.0, 1.0)


@pytest.mark.parametrize("strength", [1e-10, 1e-3, 1.0, 47.0, 1e10])
@pytest.mark.parametrize("mode", [[0.0, 1.0], [0.25, 0.75], [1 / 3, 1 / 3, 1 / 3], [0.0, 0.1, 0.9]])
def test_from_mode_keeps_the_mode_and_the_strength(mode, strength):
    """Also where 1 + λθ₀ rounds: 1 + 1e-10 − 1 is not 1e-10."""
    prior = Dirichlet.from_mode(mode, strength)
    np.testing.assert_allclose(prior.mode(), mode, rtol=1e-14)
    np.testing.assert_allclose(prior.excess(len(mode)), np.array(mode) * strength, rtol=1e-15)
    np.testing.assert_allclose(
        prior.concentration(len(mode)), 1.0 + strength * np.array(mode), rtol=1e-14
    )
    if len(mode) == 2:
        two = Beta.from_mode(mode[0], strength)
        assert two.mode == pytest.approx(mode[0], rel=1e-14)
        np.testing.assert_allclose(two.excess, prior.excess(2), rtol=1e-14)


def test_the_mode_says_where_it_is_undefined():
    with pytest.raises(ValueError, match=r"concentration 0.5 is below 1.*take the mean"):
        Dirichlet(1.5, [1 / 3, 2 / 3]).mode()
    for uniform in (Dirichlet(49.0), Dirichlet.from_mode([1 / 49] * 49, 0.0)):
        with pytest.raises(ValueError, match="every p is equally dense under a uniform prior"):
            uniform.mode(49)


def test_without_strength_there_is_no_distribution_until_rows_come():
    flat = Dirichlet(0)
    for ask in (lambda: flat.mean(2), lambda: flat.log_evidence([1, 0])):
        with pytest.raises(ValueError, match=r"strength 0 is improper: it has no .*learn rows"):
            ask()
    with pytest.raises(ValueError, match="has no density"):
        flat.log_density([0.5, 0.5])
    assert flat.updated([0, 0]) == flat
    assert flat.updated([1, 3]).mean().tolist() == [0.25, 0.75]


def test_a_base_is_kept_as_it_is_given_however_often_it_is_copied():
    rng = np.random.default_rng(1)
    for n in range(2, 40):
        base = rng.dirichlet(np.ones(n))
        first = Dirichlet(2.0, base / base.sum())
        again = Dirichlet(first.strength, first.base)
        assert again.base == first.base


# ---- Beta ----------------------------------------------------------------------------------------
@given(positive, positive, st.integers(0, 20), st.integers(0, 20))
def test_beta_is_the_dirichlet_of_two_levels(a, b, yes, no):
    expected = ln(in_sequence([a, b], [yes, no]))
    found = Beta(a, b).log_evidence(yes, no)
    if 1e-8 < a / b < 1e8:
        assert float(found) == pytest.approx(expected, rel=1e-11, abs=1e-11)
    else:  # one level 1e20 times the other: 1 − p is below what float64 tells from 1
        assert float(found) == pytest.approx(expected, rel=1e-6, abs=1e-6)
    posterior = Beta(a, b).updated(yes, no)
    mean = (Fraction(a) + yes) / (Fraction(a) + Fraction(b) + yes + no)
    assert posterior.mean == pytest.approx(float(mean), rel=1e-13)


@given(st.floats(0.2, 30.0), st.floats(0.2, 30.0))
def test_beta_density_is_that_of_scipy(a, b):
    at = np.array([-0.5, 0.0, 1e-3, 0.3, 0.7, 0.999, 1.0, 1.5])
    expected = stats.beta.pdf(at, a, b)
    np.testing.assert_allclose(Beta(a, b).density(at), expected, rtol=1e-9)


def test_beta_evidence_is_the_integral_of_the_likelihood():
    prior = Beta(1.7, 0.8)
    for yes, no in [(0, 0), (3, 1), (0.5, 2.25)]:
        with mp.workdps(30):
            found = mp.quad(
                lambda t, yes=yes, no=no: (
                    t ** (yes + mp.mpf("0.7")) * (1 - t) ** (no - mp.mpf("0.2"))
                ),
                [0, 0.5, 1],
            ) / mp.beta(mp.mpf("1.7"), mp.mpf("0.8"))
        assert float(prior.log_evidence(yes, no)) == pytest.approx(float(mp.log(found)), rel=1e-9)


def test_beta_evidence_takes_arrays():
    found = Beta(1, 1).log_evidence(np.array([0, 1, 2]), np.array([[2], [0]]))
    assert found.shape == (2, 3)
    assert found[0, 1] == pytest.approx(math.log(1 / 12))


# ---- numbers of any type -------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64, int, Fraction, np.array])
def test_numbers_of_any_type_are_float64_inside(kind):
    prior = Dirichlet(kind(3), [0.25, 0.75])
    assert type(prior.strength) is float
    assert prior.concentration(2).dtype == np.float64
    assert type(Beta(kind(2), kind(3)).mean) is float
    assert Beta.from_mode(kind(1), kind(4)) == Beta(5.0, 1.0)
    assert Dirichlet.from_mode([0, 1], kind(4)) == Dirichlet(6.0, [1 / 6, 5 / 6])


@pytest.mark.parametrize("n", [2, 3, 7, 100_000])
def test_a_base_of_float32_sums_to_one_as_well_as_it_can(n):
    base = np.random.default_rng(n).dirichlet(np.ones(n)).astype(np.float32)
    prior = Dirichlet(np.float32(0.3) * n, base)
    assert sum(prior.base) == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(prior.mean(), base, rtol=1e-6)


# ---- bad input -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Dirichlet(-1), ValueError, r"finite strength from 0 on, in rows, got -1\.0"),
        (lambda: Dirichlet(np.nan), ValueError, "finite strength from 0 on, in rows, got nan"),
        (lambda: Dirichlet(np.inf), ValueError, "finite strength from 0 on, in rows, got inf"),
        (lambda: Dirichlet("3"), TypeError, "strength from 0 on, in rows, got '3': give a number"),
        (lambda: Dirichlet([3.0]), TypeError, r"got \[3\.0\]: give a number"),
        (lambda: Dirichlet(1, "uniform"), ValueError, "'marginal', None or prob.* got 'uniform'"),
        (lambda: Dirichlet(1, []), ValueError, r"list of probabilities, one a level, got \[\]"),
        (lambda: Dirichlet(1, [0.5, -0.5, 1.0]), ValueError, "list of probabilities.*-0.5"),
        (lambda: Dirichlet(1, [np.nan, 1.0]), ValueError, "list of probabilities.*nan"),
        (lambda: Dirichlet(1, ["a", "b"]), TypeError, "list of probabilities.*'a'"),
        (lambda: Dirichlet(1, [[0.5, 0.5]]), ValueError, "list of probabilities"),
        (lambda: Dirichlet(1, [1, 2]), ValueError, r"must sum to 1; it sums to 3\.0: divide it"),
        (lambda: Dirichlet(1, [0.5, 0.4999]), ValueError, "must sum to 1; it sums to 0.9999"),
        (lambda: Dirichlet.from_mode([2], 1), ValueError, "mode must sum to 1; it sums to 2"),
        (lambda: Dirichlet.from_mode([1], -1), ValueError, "from_mode takes a finite strength"),
        (lambda: Dirichlet(1).mean(), ValueError, "say how many levels"),
        (lambda: Dirichlet(1, "marginal").mode(3), ValueError, "known only beside counts"),
        (lambda: Dirichlet(1, [1.0]).mean(2), ValueError, "has 1 probabilities for 2 levels"),
        (lambda: Dirichlet(1).log_density([0.5, 0.6]), ValueError, "p must sum to 1"),
        (lambda: Dirichlet(1).updated([1, -2]), ValueError, r"counts from 0 on, got -2\.0"),
        (lambda: Dirichlet(1).log_evidence([np.inf]), ValueError, "counts from 0 on, got inf"),
        (lambda: Beta(0, 1), ValueError, r"Beta takes a finite a above 0, got 0\.0"),
        (lambda: Beta(1, -2), ValueError, r"Beta takes a finite b above 0, got -2\.0"),
        (lambda: Beta(1, np.inf), ValueError, "Beta takes a finite b above 0, got inf"),
        (lambda: Beta(None, 1), TypeError, "finite a above 0, got None: give a number"),
        (lambda: Beta.from_mode(1.5, 1), ValueError, r"a mode from 0 to 1, got 1\.5"),
        (lambda: Beta.from_mode(np.nan, 1), ValueError, "a mode from 0 to 1, got nan"),
        (lambda: Beta.from_mode(0.5, -1), ValueError, r"strength from 0 on, in rows, got -1\.0"),
        (lambda: Beta(1, 1).updated(-1, 0), ValueError, r"counts from 0 on, got -1\.0"),
        (lambda: Beta(1, 1).log_evidence(-1, 0), ValueError, r"counts from 0 on, got -1\.0"),
    ],
)
def test_bad_priors_are_refused_with_the_rule_and_the_value(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_column_of_two_levels_adds_the_rows_of_yes_to_yes():
    """P(yes | c) = (n_yes + a) / (n + a + b) under Beta(a, b)."""
    rows = pd.DataFrame({"b": ["no", "yes", "no", "no"]})
    model = NaiveBayes({"b": Bernoulli(prior=Beta(3, 1))}).fit(rows, ["u", "u", "v", "v"])
    found = model.explain(pd.DataFrame({"b": ["yes", "no"]})).contributions[:, :, 0]
    np.testing.assert_allclose(np.exp(found), [[4 / 6, 3 / 6], [2 / 6, 3 / 6]], rtol=1e-12)
