"""The evidence and the leave-one-out likelihood of counts, and the strength that they choose."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from tallybayes.families import Categorical, Gaussian, Poisson, contract
from tallybayes.families.cells import CellLaw
from tallybayes.families.contract import law_score
from tallybayes.families.gaussian import GaussianDensity
from tallybayes.families.poisson import PoissonDensity
from tallybayes.families.priors import ClassPrior, best_alpha, class_evidence, each
from tallybayes.score import ImproperPrior
from tallybayes.tally import ClassCounts, GridCounts, Moments

mpmath.mp.dps = 60


def by_mpmath(rows, alpha):
    """log Π_c B(k_c + α) / B(α), the Dirichlet-multinomial without its coefficient."""
    alpha, total = mpmath.mpf(alpha), mpmath.mpf(0)
    for counts in rows:
        n, size = len(counts), mpmath.fsum(map(mpmath.mpf, counts))
        total += mpmath.loggamma(n * alpha) - mpmath.loggamma(n * alpha + size)
        for k in counts:
            total += mpmath.loggamma(k + alpha) - mpmath.loggamma(alpha)
    return float(total)


def law_of(rows, alpha=1.0):
    return Categorical(alpha=alpha).law(np.asarray(rows, dtype=float))


@pytest.mark.parametrize("alpha", [1e-10, 0.01, 0.5, 1.0, 7.0, 1e10])
@pytest.mark.parametrize(
    "rows", [[[0, 0, 0]], [[3, 1, 0], [0, 0, 9]], [[0.5, 2.25]], [[1, 0], [10**6, 3], [0, 0]]]
)
def test_evidence_is_the_dirichlet_multinomial(rows, alpha):
    expected = by_mpmath(rows, alpha)
    found = law_of(rows, alpha).log_evidence()
    # a difference of log-gammas of about n·log n: that is what rounding is relative to
    size = sum(alpha * len(r) + sum(r) for r in rows)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-14 * size * np.log(size + 2.0) + 1e-9)


def test_evidence_of_huge_counts():
    rows = [[1e12, 1e12], [1e12, 0.0]]
    found = law_of(rows).log_evidence()
    assert found == pytest.approx(by_mpmath(rows, 1.0), rel=1e-10)


def test_there_is_no_evidence_without_a_prior():
    with pytest.raises(ImproperPrior, match="give an alpha above 0"):
        law_of([[1, 0]], 0.0).log_evidence()
    with pytest.raises(ImproperPrior, match="smoothed density"):
        replace(law_of([[1, 0]]), base=None).log_evidence()


def test_what_the_prior_rules_out_has_no_evidence():
    base = np.array([1.0, 0.0])
    rows = np.array([[2.0, 1.0]])
    law = CellLaw(counts=rows, total=np.array([[3.0]]), n_cells=2, strength=1.0, base=base)
    assert law.log_evidence() == -np.inf


@pytest.mark.parametrize("count", [[0.0, 0.0], [3.0, 4.0, 0.0], [1.0], [1e6, 2.0]])
def test_class_evidence_is_the_dirichlet_multinomial(count):
    for alpha in (1e-3, 0.5, 1.0, 20.0):
        found = class_evidence(np.array(count), alpha)
        assert found == pytest.approx(by_mpmath([count], alpha), rel=1e-9, abs=1e-7)


def test_the_likelihood_of_all_rows_but_one():
    rows = np.array([[3.0, 1.0, 0.0], [2.0, 0.0, 5.0]])
    for alpha in (0.1, 1.0, 3.0):
        expected = 0.0
        for counts in rows:
            for k in counts[counts > 0]:
                expected += k * np.log((k - 1 + alpha) / (counts.sum() - 1 + 3 * alpha))
        law = law_of(rows)
        found = law_score("loo_likelihood", rows, law, np.array([alpha, 2.0]))
        assert found[0] == pytest.approx(expected)


def drawn_rows(seed, strength, n=200, cells=6):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(cells, strength), size=5)
    return np.stack([rng.multinomial(n, each) for each in p]).astype(float)


@pytest.mark.parametrize("criterion", ["evidence", "loo_likelihood"])
@pytest.mark.parametrize("seed", range(6))
def test_the_chosen_alpha_is_best(criterion, seed):
    """Against scipy's minimiser, started from a grid three times as fine as ours."""
    rows = drawn_rows(seed, [0.05, 0.3, 1.0, 2.0, 10.0, 0.5][seed])
    law = law_of(rows)

    def score(alpha):
        if criterion == "evidence":
            return law.scaled(alpha).log_evidence()
        own = law.scaled(alpha).own_without(np.minimum(rows, 1.0))
        return float((rows[rows > 0.0] * own[rows > 0.0]).sum())

    found = best_alpha(lambda alphas: law_score(criterion, rows, law, alphas))
    grid = np.linspace(np.log(1e-6), np.log(1e3), 55)
    top = grid[np.argmax([score(np.exp(g)) for g in grid])]
    best = minimize_scalar(
        lambda g: -score(np.exp(g)),
        bounds=(max(top - 0.4, grid[0]), min(top + 0.4, grid[-1])),
        method="bounded",
    )
    assert score(found) >= -best.fun - 1e-3
    assert np.log(found) == pytest.approx(best.x, abs=0.01)


@pytest.mark.parametrize("criterion", ["evidence", "loo_likelihood"])
def test_scores_of_many_alphas_are_scores_of_each(criterion, monkeypatch):
    rows = drawn_rows(0, 0.5)
    rows[2] = 0.0
    rows[3] = [0.25, 0.0, 1.5, 0.0, 0.0, 0.0]
    alpha = 10.0 ** np.linspace(-6.0, 3.0, 10)
    found = law_score(criterion, rows, law_of(rows), alpha)
    if criterion == "evidence":
        expected = [law_of(rows, a).log_evidence() for a in alpha]
    else:
        own = [law_of(rows, a).own_without(np.minimum(rows, 1.0)) for a in alpha]
        expected = [(rows[rows > 0.0] * o[rows > 0.0]).sum() for o in own]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    monkeypatch.setattr(contract, "MAX_INTERMEDIATE", 7)
    np.testing.assert_allclose(law_score(criterion, rows, law_of(rows), alpha), found, rtol=1e-12)


def test_a_cell_that_the_base_rules_out_has_no_evidence():
    rows, base = np.array([[2.0, 1.0]]), np.array([1.0, 0.0])
    law = CellLaw(counts=rows, total=np.array([[3.0]]), n_cells=2, strength=1.0, base=base)
    assert law_score("evidence", rows, law, np.array([1.0, 2.0])).tolist() == [-np.inf] * 2
    assert best_alpha(lambda a: law_score("evidence", rows, law, a)) == 1.0


def test_evidence_finds_the_strength_that_drew_the_counts():
    found = []
    for true in (0.1, 1.0, 10.0):
        rng = np.random.default_rng(1)
        p = rng.dirichlet(np.full(8, true), size=300)
        rows = np.stack([rng.multinomial(200, each) for each in p]).astype(float)
        law = law_of(rows)
        found.append(best_alpha(lambda a, r=rows, w=law: law_score("evidence", r, w, a)))
    np.testing.assert_allclose(found, [0.1, 1.0, 10.0], rtol=0.15)


@pytest.mark.parametrize(
    "score", [lambda a: 0.0, lambda a: -np.inf, lambda a: 3.0 + 1e-13 * a, lambda a: np.nan]
)
def test_a_score_that_does_not_tell_leaves_alpha_at_one(score):
    assert best_alpha(each(score)) == 1.0


def test_the_ends_of_the_range_are_kept():
    assert 1e-6 <= best_alpha(lambda a: -np.log(a)) < 2e-6
    assert 500.0 < best_alpha(np.log) <= 1e3


def test_the_class_prior_takes_the_alpha_of_the_largest_evidence():
    classes = ClassCounts(np.array([90.0, 5.0, 3.0, 2.0]))
    alpha = ClassPrior(alpha=None).strength(classes)
    for other in (alpha / 1.5, alpha * 1.5):
        assert class_evidence(classes.count, alpha) > class_evidence(classes.count, other)
    expected = (classes.count + alpha) / (100.0 + 4.0 * alpha)
    np.testing.assert_allclose(np.exp(ClassPrior(alpha=None).log(classes)), expected)


def test_a_gaussian_without_a_prior_has_no_evidence():
    moments, grid = Moments.zeros(1, np.zeros(1)), GridCounts.zeros(1)
    density = GaussianDensity.read(Gaussian(), moments, grid)
    with pytest.raises(ValueError, match="has no evidence"):
        density.log_evidence()


def test_events_that_never_happen_are_no_surprise():
    """Zeros only: a prior about the overall mean, 0, expects them."""
    density = PoissonDensity(Poisson(), np.array([4.0, 2.0]), np.zeros(2), 1.0)
    assert density.log_evidence() == 0.0
