"""The formulas of the pages outside Learn: each is computed from rows, and compared with a model.

Those of Learn are computed by cells of their chapter.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax

from tallybayes import (
    MultinomialNB,
    NaiveBayes,
    TextNB,
    WeightedNaiveBayes,
    leave_one_out,
)
from tallybayes.families import (
    Bernoulli,
    Binned,
    Categorical,
    Gaussian,
    NegativeBinomial,
    Poisson,
    family_names,
)
from tallybayes.weighted.ways import min_column_gain

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
MINIMISED = "minimise  Σ_i w_i"  # its optimum is that of TESTS, below


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


# ---- docs/glossary.md ---------------------------------------------------------------------------
WEIGHT = rng.integers(1, 4, N).astype(float)
TABLE = [{"level": x, "count": n} for x, n in zip(LEVELS.tolist(), COUNTS.tolist(), strict=True)]


@pytest.fixture(scope="module")
def plain():
    return NaiveBayes({"level": Categorical(), "count": Poisson()}).fit(TABLE, y)


def feature_sums(plain):
    x = np.stack([COUNTS, NUMBERS.argsort() % 5], axis=1)
    found = MultinomialNB().fit(x, y, sample_weight=WEIGHT).feature_count_
    expected = [[(WEIGHT * x[:, j])[y == c].sum() for j in (0, 1)] for c in (0, 1)]
    np.testing.assert_array_equal(found, expected)


def effective_rows(plain):
    found = NaiveBayes().fit(TABLE, y, sample_weight=WEIGHT).tally_.classes.effective_rows
    expected = [w.sum() ** 2 / (w**2).sum() for w in in_class(WEIGHT)]
    np.testing.assert_allclose(found, expected)


def concentration(plain):
    """The smoothing of N levels weighs as much as αN rows of their mean."""
    found = fitted(Categorical(), LEVELS)
    weight = 3 * ALPHA / (np.bincount(y) + 3 * ALPHA)
    shares = [(x == "u").mean() for x in in_class(LEVELS)]
    np.testing.assert_allclose(found.prob(["u"])[0], (1 - weight) * shares + weight / 3)


def expected_cost(plain):
    costs = [[0.0, 5.0], [1.0, 0.0]]  # of the class of a row, and of a decision
    found = plain.decide(TABLE[:50], costs)
    np.testing.assert_allclose(found.expected, plain.predict_proba(TABLE[:50]) @ costs)


def score_of_a_learned_row(plain):
    """P-values are shares of learned rows whose scores are as high (decision 35)."""
    model = NaiveBayes({"level": Categorical(), "count": Poisson()}).fit(TABLE, y)
    model.conformalize(TABLE, y)
    learned = -leave_one_out(model, TABLE, y)[np.arange(N), y]
    scores = -np.log(model.predict_proba(TABLE[:50]))
    expected = ((learned >= scores[..., None]).sum(axis=-1) + 1) / (N + 1)
    np.testing.assert_allclose(model.p_values(TABLE[:50]), expected)
    np.testing.assert_array_equal(
        model.prediction_set(TABLE[:50], coverage=0.9), expected > 1 - 0.9
    )


def joint_log_likelihood(plain):
    parts = plain.class_conditional_
    found = parts["level"].log_prob(LEVELS.tolist()) + parts["count"].log_prob(COUNTS.tolist())
    np.testing.assert_allclose(
        plain.predict_joint_log_proba(TABLE), plain.class_log_prior_ + found, rtol=1e-12
    )


def log_loss(plain):
    documents = [f"{level} " * (1 + n) for level, n in zip(LEVELS, COUNTS, strict=True)]
    model = TextNB(model="multinomial").fit(documents, y, sample_weight=WEIGHT)
    own = leave_one_out(model, documents, y, sample_weight=WEIGHT)[np.arange(N), y]
    np.testing.assert_allclose(model.log_loss_, -(WEIGHT * own).sum() / WEIGHT.sum())


GLOSSARY = {
    "Σ w_i x_ij": feature_sums,
    "(Σw)² / Σw²": effective_rows,
    "(n_cv + α) / (n_c + αN)": lambda plain: categorical(),
    "S = αN, m": concentration,
    "Σ_c P(c ∣ x)·cost(c, d)": expected_cost,
    "s_i = −log P₋ᵢ(y_i ∣ x_i)": score_of_a_learned_row,
    "log P(c) + Σ_j log p(x_j given c)": joint_log_likelihood,
    "−Σ w log P(y given x) / Σ w": log_loss,
}
NOT_PUBLIC = {"Σ w (x − o)(x − o)ᵀ", "T = 0"}  # below


@pytest.mark.parametrize("formula", GLOSSARY)
def test_the_formulas_of_the_glossary_are_what_its_names_compute(formula, plain):
    GLOSSARY[formula](plain)


def test_every_formula_of_the_glossary_is_computed():
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    symbols = [row.split(" | ")[2] for row in text.splitlines() if row.count(" | ") >= 4]
    found = {symbol for symbol in symbols if re.search(r"[Σ/·]|^[^(]* = ", symbol)}
    assert found == {*GLOSSARY} | NOT_PUBLIC


# ---- formulas that no public name gives alone ----------------------------------------------------
TESTS = {
    "glossary": {
        "Σ w (x − o)(x − o)ᵀ": "tally/test_moments_accuracy.py",
        "T = 0": "weighted/fit/test_learning.py",
    },
    "weighted": {
        "T[v, k] = log[(C_vk + a·p_k) / ((m_v + a)·p_k)]": "weighted/fit/test_learning.py",
        "minimise  Σ_i w_i": "weighted/optim/test_weights.py",
    },
    "architecture": {
        "T = log[(C + a·p) / ((m + a)·p)]": "weighted/fit/test_learning.py",
        "max(0, 1 − distance / width)": "weighted/cells/test_cells.py",
        "log[(C + t) / (E + t)]": "kernels/weighted/test_kernel_pairs.py",
        "ridge · Σ q²": "kernels/weighted/test_kernel_weights.py",
    },
    "decisions/0012-effective-rows": {
        "n_eff = (Σw)² / Σw²": "tally/test_effective_rows.py",
        "u     = Σw² / Σw": "tally/test_effective_rows.py",
    },
    "decisions/0035-decisions-and-sets": {
        "p(x, c) = (#{i : s_i ≥ s(x, c)} + 1) / (n + 1)": "documentation/test_formulas.py",
        "set(x)  = {c : p(x, c) > 1 − coverage}": "documentation/test_formulas.py",
    },
}


@pytest.mark.parametrize("page", TESTS)
def test_formulas_that_another_test_computes_stand_in_the_page(page):
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    assert [formula for formula in TESTS[page] if formula not in text] == []
    assert [name for name in TESTS[page].values() if not (ROOT / "tests" / name).is_file()] == []


def test_the_gain_that_a_column_needs_grows_with_the_columns_for_each_row():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert "less than log(30 · columns / rows) nats" in text
    assert min_column_gain(400, 300) == pytest.approx(np.log(30 * 400 / 300))
