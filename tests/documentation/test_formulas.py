"""The formulas of the pages outside Learn: each is computed from rows, and compared with a model.

Those of Learn are computed by cells of their chapter.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax

from tallybayes import MultinomialNB, NaiveBayes, WeightedNaiveBayes
from tallybayes.families import (
    Bernoulli,
    Binned,
    Categorical,
    Gaussian,
    NegativeBinomial,
    Poisson,
    family_names,
)

ROOT = Path(__file__).resolve().parents[2]
N = 400
ALPHA = 0.7

rng = np.random.default_rng(0)
y = rng.integers(0, 2, N)
NUMBERS = rng.normal(y, 1.0)
COUNTS = rng.negative_binomial(3, 0.4 / (1 + y))
LEVELS = np.array(list("uvw"))[(rng.integers(0, 3, N) + y * (rng.random(N) < 0.5)) % 3]
BOOLEANS = rng.random(N) < 0.3 + 0.3 * y


def fitted(family, values):
    """The distribution of a column in each class, under a family."""
    rows = [{"x": value} for value in values.tolist()]
    return NaiveBayes({"x": family}, alpha=ALPHA).fit(rows, y).class_conditional_["x"]


def in_class(values):
    return [values[y == c] for c in (0, 1)]


def gaussian():
    found = fitted(Gaussian(), NUMBERS)
    np.testing.assert_allclose(found.mean(), [x.mean() for x in in_class(NUMBERS)])
    np.testing.assert_allclose(found.variance(), [x.var() for x in in_class(NUMBERS)], rtol=1e-6)
    deviation = np.sqrt(found.variance())
    for x in (-2.0, 0.3):
        np.testing.assert_allclose(
            found.log_prob([x])[0], stats.norm.logpdf(x, found.mean(), deviation)
        )


def categorical():
    found = fitted(Categorical(), LEVELS)
    for level in "uvw":
        expected = [((x == level).sum() + ALPHA) / (len(x) + 3 * ALPHA) for x in in_class(LEVELS)]
        np.testing.assert_allclose(found.prob([level])[0], expected)


def bernoulli():
    found = fitted(Bernoulli(), BOOLEANS)
    expected = [(x.sum() + ALPHA) / (len(x) + 2 * ALPHA) for x in in_class(BOOLEANS)]
    np.testing.assert_allclose(found.prob([True])[0], expected)


def poisson():
    found = fitted(Poisson(), COUNTS)
    for x in (0, 3, 40):
        np.testing.assert_allclose(
            found.log_prob([x])[0], stats.poisson.logpmf(x, found.mean()), rtol=1e-10
        )


def negative_binomial():
    found = fitted(NegativeBinomial(), COUNTS)
    m, r = found.mean(), found.mean() ** 2 / (found.variance() - found.mean())
    for x in (0, 3, 40):
        np.testing.assert_allclose(
            found.log_prob([x])[0], stats.nbinom.logpmf(x, r, r / (r + m)), rtol=1e-9
        )


def binned():
    found = fitted(Binned(bins=4), NUMBERS)
    edges = found.edges
    for k in range(4):
        x = NUMBERS[np.searchsorted(edges, NUMBERS, side="right") == k][0]
        counts = [
            (np.searchsorted(edges, part, side="right") == k).sum() for part in in_class(NUMBERS)
        ]
        sizes = [len(part) for part in in_class(NUMBERS)]
        expected = [(m + ALPHA) / (n + 4 * ALPHA) for m, n in zip(counts, sizes, strict=True)]
        np.testing.assert_allclose(found.prob([x])[0], expected)


def multinomial():
    x = np.stack([COUNTS, NUMBERS.argsort() % 5], axis=1)
    model = MultinomialNB(alpha=ALPHA).fit(x, y)
    sums = np.array([x[y == c].sum(axis=0) + ALPHA for c in (0, 1)])
    theta = sums / sums.sum(axis=1, keepdims=True)
    joint = np.log([(y == c).mean() for c in (0, 1)]) + x @ np.log(theta).T
    np.testing.assert_allclose(model.predict_joint_log_proba(x), joint)


FAMILIES = {
    "gaussian": ("N(μ_c, σ²_c)", gaussian),
    "categorical": ("(n_ca + α) / (n_c + αN)", categorical),
    "bernoulli": ("(n_c1 + α) / (n_c + 2α)", bernoulli),
    "poisson": ("λ_cˣ e^(−λ_c) / x!", poisson),
    "negative-binomial": ("mean m_c, variance m_c + m_c²/r_c", negative_binomial),
    "binned": ("(n_cb + α) / (n_c + αB)", binned),
    "multinomial": ("Π θ_cj^(x_j), columns that share a total", multinomial),
}
WITHOUT_A_FORMULA = {"smooth", "text"}  # the table says in words what they are


@pytest.mark.parametrize("name", FAMILIES)
def test_the_formula_of_a_family_is_what_its_model_computes(name, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import docs_reference

    formula, compute = FAMILIES[name]
    assert docs_reference.FAMILIES[name][0] == formula
    compute()


def test_every_family_has_a_formula_that_is_computed():
    assert {*family_names()} == {*FAMILIES} | WITHOUT_A_FORMULA


# ---- docs/weighted.md ----------------------------------------------------------------------------
@pytest.fixture(scope="module")
def weighted():
    rows = [
        {"number": number, "count": count, "level": level}
        for number, count, level in zip(
            NUMBERS.tolist(), COUNTS.tolist(), LEVELS.tolist(), strict=True
        )
    ]
    return WeightedNaiveBayes().fit(rows, y), rows[:50]


def share_of_the_prior(model, rows):
    """A share of half a row of every prediction is the class prior."""
    share = 0.5 / (N + 0.5)
    prior = np.exp(model.class_log_prior_)
    posterior = softmax(model.predict_joint_log_proba(rows), axis=1)
    mixed = (1.0 - share) * posterior + share * prior
    np.testing.assert_allclose(model.predict_proba(rows), mixed, rtol=1e-12)


def sum_of_tables(model, rows):
    """Of levels, which lie in a cell by their name: what a row adds stands in the table."""
    table = {cell: values for cell, *values in model.tables_["level"].itertuples(index=False)}
    found = model.explain(rows)
    j = list(found.columns).index("level")
    for row, contribution in zip(rows, found.contributions, strict=True):
        np.testing.assert_allclose(contribution[:, j], table[row["level"]], atol=1e-12)
    total = found.base + found.contributions.sum(axis=2)
    np.testing.assert_allclose(total, model.predict_joint_log_proba(rows), atol=1e-12)


WEIGHTED = {
    "score_k = log P(k) + b_k + Σ_t (": sum_of_tables,
    "P'(k)   = (1 − ε) P(k | score) + ε p_k,    ε = ½ / (n + ½)": share_of_the_prior,
}
MINIMISED = "minimise  Σ_i w_i"  # its optimum is that of tests/weighted/optim


@pytest.mark.parametrize("formula", WEIGHTED)
def test_the_formulas_of_weighted_models_are_what_they_compute(formula, weighted):
    text = (ROOT / "docs" / "weighted.md").read_text(encoding="utf-8")
    assert formula in text
    WEIGHTED[formula](*weighted)


def test_every_formula_of_the_guide_to_weighted_models_is_computed():
    text = (ROOT / "docs" / "weighted.md").read_text(encoding="utf-8")
    without_code = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    found = re.findall(r"^    (\S.* = .*|minimise .*)$", without_code, re.MULTILINE)
    known = [*WEIGHTED, MINIMISED]
    assert [line for line in found if not line.startswith(tuple(known))] == []
    assert len(found) == len(known)
