"""log_evidence_ is the sum of the logarithms with which rows are predicted by the rows before."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import gammaln

from tallybayes import NaiveBayes
from tallybayes.families import (
    Bernoulli,
    Beta,
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

LEVELS = ["u", "v", "w"]
NIG = NormalInverseGamma(0.5, 0.5, 2.0, 3.0)


def some_rows(n=25, seed=0):
    rng = np.random.default_rng(seed)
    k = rng.integers(0, 3, n)
    table = pd.DataFrame(
        {
            "c": np.array(LEVELS)[rng.integers(0, 3, n)],
            "b": rng.random(n) < 0.3,
            "g": rng.normal(k, 1.0),
            "e": rng.exponential(1.0 + k),
            "n": rng.poisson(2.0, n),
            "p": rng.poisson(1.0, n),
            "q": rng.poisson(3.0, n),
        }
    )
    table["b"] = table["b"].map({True: "yes", False: "no"})
    return table, np.array(["x", "y", "z"])[k]


def one_class(columns, table):
    """Σ log p(row | rows before it), the first row excepted, and the model that has learned all."""
    model, total = NaiveBayes(columns, classes=["x"]), 0.0
    for i, row in enumerate(table.to_dict("records")):
        if i:
            total += model.predict_joint_log_proba([row])[0, 0]
        model.partial_fit([row], ["x"])
    return total, model


EXACT = {"estimate": "posterior", "var_smoothing": 0.0}
CASES = {
    "levels": {"c": Categorical(levels=LEVELS)},
    "levels, a base": {"c": Categorical(levels=LEVELS, prior=Dirichlet(4.0, [0.2, 0.3, 0.5]))},
    "integrated levels": {"c": Categorical(levels=LEVELS, estimate="posterior")},
    "numbers": {"g": Gaussian(prior=NIG, **EXACT)},
    "log of numbers": {"e": Gaussian(prior=NIG, transform="log", **EXACT)},
    "events": {"n": Poisson(prior=Gamma(2.0, 0.5), estimate="posterior")},
    "words": {("p", "q"): Multinomial(alpha=0.7, estimate="posterior")},
}


def names_in(columns):
    return [name for key in columns for name in ([key] if isinstance(key, str) else key)]


def first_row(name, table):
    """log p of the first row under the prior alone, by scipy."""
    row = table.iloc[0]
    if "levels" in name:
        base = [0.2, 0.3, 0.5] if "base" in name else [1 / 3] * 3
        return np.log(base[LEVELS.index(row["c"])])
    if "numbers" in name:
        x = np.log(row["e"]) if "log" in name else row["g"]
        scale = np.sqrt(NIG.scale * (NIG.strength + 1) / (NIG.shape * NIG.strength))
        slope = -np.log(row["e"]) if "log" in name else 0.0
        return stats.t(2 * NIG.shape, NIG.mean, scale).logpdf(x) + slope
    if name == "events":
        return stats.nbinom(2.0, 0.5 / 1.5).logpmf(row["n"])
    coefficient = gammaln(row["p"] + row["q"] + 1) - gammaln(row["p"] + 1) - gammaln(row["q"] + 1)
    words = stats.betabinom(row["p"] + row["q"], 0.7, 0.7).logpmf(row["p"])
    return words - coefficient


@pytest.mark.parametrize("name", CASES)
def test_it_is_the_product_of_sequential_predictions(name):
    table = some_rows()[0][names_in(CASES[name])]
    total, model = one_class(CASES[name], table)
    assert model.log_evidence_ == pytest.approx(total + first_row(name, table), rel=1e-9)


def test_labels_are_predicted_in_turn():
    y = np.array(list("abacabba"))
    count, total = dict.fromkeys("abc", 0.5), 0.0
    for label in y:
        total += np.log(count[label] / sum(count.values()))
        count[label] += 1.0
    model = NaiveBayes(class_alpha=0.5).fit(pd.DataFrame({"g": [None] * 8}), y)
    assert model.log_evidence_ == pytest.approx(total)
    given = NaiveBayes(class_prior=[0.2, 0.3, 0.5], class_alpha=0.0)
    given.fit(pd.DataFrame({"g": [None] * 8}), y)
    assert given.log_evidence_ == pytest.approx(4 * np.log(0.2) + 3 * np.log(0.3) + np.log(0.5))


DECLARED = {
    "c": Categorical(levels=LEVELS, prior=Dirichlet(2.0)),
    "b": Bernoulli(prior=Beta(2.0, 1.0)),
    "g": Gaussian(prior=NIG),
    "e": Binned(bins=4),
    "n": Poisson(prior=Gamma(2.0, 1.0)),
    ("p", "q"): Multinomial(),
}


@pytest.mark.parametrize("missing", ["ignore", "level"])
def test_columns_and_classes_add_up(missing):
    """Whole = labels + each column by itself; missing values are predicted where they are
    evidence."""
    table, y = some_rows(40)
    for name in ("c", "g"):
        table[name] = table[name].astype(object).where(np.arange(40) % 5 > 0, None)
    table["g"] = pd.to_numeric(table["g"])
    whole = NaiveBayes(DECLARED, missing=missing).fit(table, y).log_evidence_
    nothing = NaiveBayes().fit(pd.DataFrame({"k": [None] * 40}), y).log_evidence_
    total = nothing
    for key, family in DECLARED.items():
        names = [key] if isinstance(key, str) else list(key)
        model = NaiveBayes({key: family}, missing=missing).fit(table[names], y)
        total += model.log_evidence_ - nothing
    assert whole == pytest.approx(total)
    if missing == "level":
        ignored = NaiveBayes(DECLARED).fit(table, y).log_evidence_
        assert whole < ignored  # it predicts more


def test_a_column_is_that_of_its_prior():
    table, y = some_rows(40)
    nothing = NaiveBayes().fit(pd.DataFrame({"k": [None] * 40}), y).log_evidence_
    beta, dirichlet, gamma = Beta(2.0, 1.0), Dirichlet(2.0), Gamma(2.0, 1.0)
    expected = {"b": 0.0, "c": 0.0, "g": 0.0, "n": 0.0}
    for label in np.unique(y):
        rows = table[y == label]
        yes = float((rows["b"] == "yes").sum())
        expected["b"] += float(beta.log_evidence(yes, len(rows) - yes))
        counts = [(rows["c"] == level).sum() for level in LEVELS]
        expected["c"] += float(dirichlet.log_evidence(counts))
        x = rows["g"]
        expected["g"] += float(NIG.log_evidence(len(x), x.mean(), ((x - x.mean()) ** 2).sum()))
        shape = gamma.shape
        for n, events in enumerate(rows["n"].tolist()):
            p = (gamma.rate + n) / (gamma.rate + n + 1.0)
            expected["n"] += stats.nbinom(shape, p).logpmf(events)
            shape += events
    for name, value in expected.items():
        model = NaiveBayes({name: DECLARED[name]}).fit(table[[name]], y)
        assert model.log_evidence_ - nothing == pytest.approx(value), name


@pytest.mark.parametrize(
    ("under_mean", "under_map"),
    [
        (
            {"c": Categorical(levels=LEVELS, alpha=1.7)},
            {"c": Categorical(levels=LEVELS, alpha=0.7, estimate="map")},
        ),
        (
            {"c": Categorical(levels=LEVELS, prior=Dirichlet(6.0))},
            {"c": Categorical(levels=LEVELS, prior=Dirichlet(6.0), estimate="map")},
        ),
        (
            {"b": Bernoulli(prior=Beta(3.0, 2.0))},
            {"b": Bernoulli(prior=Beta(3.0, 2.0), estimate="map")},
        ),
        ({"b": Bernoulli(alpha=2.0)}, {"b": Bernoulli(alpha=1.0, estimate="map")}),
        (
            {("p", "q"): Multinomial(alpha=1.5)},
            {("p", "q"): Multinomial(alpha=0.5, estimate="map")},
        ),
        (
            {"n": Poisson(prior=Gamma(2.0, 1.0))},
            {"n": Poisson(prior=Gamma(2.0, 1.0), estimate="map")},
        ),
        (
            {"g": Gaussian(prior=NIG)},
            {"g": Gaussian(prior=NIG, estimate="posterior")},
        ),
    ],
    ids=lambda columns: str(next(iter(columns))),
)
@pytest.mark.parametrize("missing", ["ignore", "level"])
def test_the_estimate_does_not_change_the_prior(under_mean, under_map, missing):
    """alpha = a is short for Dirichlet(a·N) under the mean, and for the prior with that mode, whose
    concentrations are 1 + a, under the mode."""
    table, y = some_rows()
    if "Beta" in repr(under_mean):
        missing = (
            "ignore"  # a Beta says nothing of missing values: their share depends on the estimate
        )
    names = names_in(under_mean)
    if missing == "level" and names[0] in ("b", "c"):
        table[names[0]] = table[names[0]].where(np.arange(len(y)) % 4 > 0, None)
    one = NaiveBayes(under_mean, missing=missing).fit(table[names], y)
    other = NaiveBayes(under_map, missing=missing).fit(table[names], y)
    assert one.log_evidence_ == pytest.approx(other.log_evidence_)


IMPROPER = {
    "g": ({"g": Gaussian()}, {}, "'g' is read as a Gaussian without a prior: declare Gaussian"),
    "e": ({"e": Smooth()}, {}, "'e' is read as a smoothed density: declare Binned"),
    "c": ({"c": Categorical(estimate="mle")}, {}, "'c' is not smoothed: give an alpha above 0"),
    "b": ({"b": Bernoulli()}, {"alpha": 0.0}, "'b' is not smoothed"),
    "n": ({"n": Poisson(estimate="mle")}, {}, "'n' is read as Poisson without a prior: declare P"),
    "p": ({("p", "q"): Multinomial(estimate="mle")}, {}, "'p', 'q'. is not smoothed"),
    "bins": ({"e": Binned()}, {"alpha": 0.0}, "'e' is not smoothed"),
    "model": ({"c": Categorical()}, {"estimate": "mle", "alpha": 0.0}, "'c' is not smoothed"),
    "classes": ({"c": Categorical()}, {"class_alpha": 0.0}, "class prior is not smoothed: give cl"),
}


@pytest.mark.parametrize("name", IMPROPER)
def test_an_improper_prior_has_no_evidence(name):
    columns, options, message = IMPROPER[name]
    table, y = some_rows()
    model = NaiveBayes(columns, **options).fit(table[names_in(columns)], y)
    with pytest.raises(AttributeError, match=message):
        _ = model.log_evidence_
    assert not hasattr(model, "log_evidence_")


def test_there_is_none_before_fitting():
    with pytest.raises(AttributeError, match="before it is fitted"):
        _ = NaiveBayes().log_evidence_


def test_chosen_strengths_have_the_most_evidence():
    table, y = some_rows(60)
    table = table[["c", "b", "g", "n"]]
    tells = np.arange(60) % 3 > 0  # a strength in the midst of its range
    table["c"] = np.where(tells, np.array(LEVELS)[np.searchsorted(["x", "y", "z"], y)], table["c"])
    table["b"] = np.where(tells & (y == "x"), "yes", table["b"])
    table["n"] += 3 * (y == "z")
    columns = {"g": Gaussian(ddof=1), "n": Poisson()}
    options = {"alpha": "auto", "criterion": "evidence"}
    chosen = NaiveBayes(columns, class_alpha="auto", **options).fit(table, y)
    at_one = NaiveBayes(columns, **options).fit(table, y)
    assert at_one.log_evidence_ <= chosen.log_evidence_ + 1e-6
    for factor in (0.3, 3.0):
        for name, family in (("c", Categorical), ("b", Categorical), ("n", Poisson)):
            other = columns | {name: family(alpha=factor * chosen.alpha_[name])}
            other = NaiveBayes(other, class_alpha="auto", **options).fit(table, y)
            assert other.log_evidence_ < chosen.log_evidence_, name


def test_it_is_the_same_after_a_merge_and_in_any_order():
    table, y = some_rows(60)
    whole = NaiveBayes(DECLARED).fit(table, y)
    parts = NaiveBayes(DECLARED).fit(table[20:], y[20:])
    merged = parts.merge(NaiveBayes(DECLARED).fit(table[:20], y[:20]))
    order = np.random.default_rng(0).permutation(60)
    shuffled = NaiveBayes(DECLARED).fit(table.iloc[order], y[order])
    assert merged.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-12)
    assert shuffled.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-12)
    assert merged.forget(table, y).log_evidence_ == pytest.approx(0.0, abs=1e-9)


def test_huge_tables_and_constants():
    n = 100_000
    y = np.repeat(["a", "b"], n // 2)
    table = pd.DataFrame({"u": np.arange(n).astype(str), "k": "same", "z": np.zeros(n, int)})
    model = NaiveBayes({"u": Categorical(), "z": Poisson()}).fit(table, y)
    assert np.isfinite(model.log_evidence_)
    alone = NaiveBayes({"z": Poisson()}).fit(table[["k", "z"]], y)
    labels = NaiveBayes().fit(pd.DataFrame({"k": [None] * n}), y)
    assert alone.log_evidence_ == pytest.approx(labels.log_evidence_)
