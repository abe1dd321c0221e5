"""Counts with more variance than Poisson's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from tallybayes import NaiveBayes, leave_one_out
from tallybayes.errors import FamilyWarning
from tallybayes.families import Gamma, NegativeBinomial, Poisson
from tallybayes.testing.families import check_number_family

COUNTS = st.lists(st.integers(0, 40), min_size=3, max_size=25)


def fitted(family, x, y=None, **options):
    y = ["a"] * len(x) if y is None else y
    return NaiveBayes({"x": family}, **options).fit([{"x": int(v)} for v in x], y)


def parameters(model):
    """Mean and size of each class."""
    mean, dispersion = model._fitted().parts[0].described().values.T
    return mean, 1.0 / dispersion


def test_mites_on_apple_leaves():
    """C. I. Bliss and R. A. Fisher, Biometrics 9, 1953, table 1: k = 1.02459, mean 1.1467."""
    x = np.repeat(np.arange(8), [70, 38, 17, 10, 9, 3, 2, 1])
    mean, size = parameters(fitted(NegativeBinomial(estimate="mle"), x))
    assert mean[0] == pytest.approx(172 / 150)
    assert size[0] == pytest.approx(1.02459, abs=5e-6)


@given(COUNTS)
def test_the_likelihood_is_largest(x):
    x = np.array(x)
    if not x.any():
        return
    mean, size = parameters(fitted(NegativeBinomial(estimate="mle"), x))

    def loss(log_size):
        """A product for each count, which is precise for large sizes, too."""
        r = np.exp(log_size)
        ways = sum(np.log1p(np.arange(v) / r).sum() for v in x.tolist())
        return -(ways + x.sum() * np.log(mean[0]) - ((x + r) * np.log1p(mean[0] / r)).sum())

    others = [
        minimize(lambda p: loss(p[0]), [start], method="Nelder-Mead").fun for start in (-1, 2)
    ]
    assert loss(np.log(size[0])) <= min(others) + 1e-6 * (1.0 + abs(min(others)))


@given(COUNTS)
def test_counts_without_more_variance_are_poisson(x):
    x = np.array(x)
    if x.var() > x.mean():
        return
    rows = [{"x": v} for v in range(30)]
    found = fitted(NegativeBinomial(estimate="mle"), x).predict_joint_log_proba(rows)
    expected = fitted(Poisson(estimate="mle"), x).predict_joint_log_proba(rows)
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_a_prior_of_the_dispersion_draws_it_to_itself():
    x = np.random.default_rng(0).negative_binomial(0.5, 0.1, 200)
    free = parameters(fitted(NegativeBinomial(), x))[1]
    weak = parameters(fitted(NegativeBinomial(prior=Gamma(1.0, 1e-9)), x))[1]
    np.testing.assert_allclose(weak, free, rtol=1e-6)
    strong = parameters(fitted(NegativeBinomial(prior=Gamma(1e9, 1e8)), x))[1]
    np.testing.assert_allclose(strong, 0.1, rtol=1e-3)


@pytest.mark.parametrize(
    "family",
    [NegativeBinomial(), NegativeBinomial(alpha=0.2, prior=Gamma(2.0, 3.0))],
    ids=["default", "prior"],
)
def test_it_keeps_the_promises_of_a_table(family):
    rng = np.random.default_rng(1)
    y = np.repeat(["a", "b", "c"], [30, 12, 4])
    x = rng.negative_binomial(1.0, 1.0 / (1.0 + np.where(y == "a", 2.0, 6.0)))
    check_number_family("negative-binomial", family, x, y)


@pytest.mark.filterwarnings("ignore::tallybayes.errors.WeightScaleWarning")
@pytest.mark.filterwarnings("ignore::tallybayes.errors.RuledOutWarning")
@given(COUNTS, st.lists(st.floats(0.5, 9.0), min_size=25, max_size=25))
def test_a_weighted_row_left_out_was_never_there(x, weight):
    y, weight = np.arange(len(x)) % 2, np.array(weight[: len(x)])
    rows = [{"x": v} for v in x]
    model = NaiveBayes({"x": NegativeBinomial()}, classes=[0, 1])
    found = leave_one_out(model.fit(rows, y, sample_weight=weight), rows, y, weight)
    rest = np.arange(len(x)) != 0
    model.fit(rows[1:], y[rest], sample_weight=weight[rest])
    np.testing.assert_allclose(found[0], model.predict_log_proba(rows[:1])[0], atol=1e-6)


def test_overdispersed_counts_are_told_better_than_by_poisson():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 4_000)
    x = rng.negative_binomial(0.8, 0.8 / (0.8 + np.where(y, 6.0, 3.0)))
    losses = []
    for family in (NegativeBinomial(), Poisson()):
        log_proba = fitted(family, x[:2_000], y[:2_000]).predict_log_proba(
            pd.DataFrame({"x": x[2_000:]})
        )
        losses.append(-log_proba[np.arange(2_000), y[2_000:]].mean())
    assert losses[0] < losses[1] - 0.02


def test_its_distribution_is_scipy_s():
    x = np.random.default_rng(3).negative_binomial(2.0, 0.2, 300)
    model = fitted(NegativeBinomial(), x, np.arange(300) % 2)
    mean, size = parameters(model)
    column = model.class_conditional_["x"]
    np.testing.assert_allclose(column.mean(), mean)
    np.testing.assert_allclose(column.variance(), mean + mean**2 / size)
    drawn = column.sample(20_000, random_state=0)
    assert np.mean(drawn) == pytest.approx(mean.mean(), rel=0.05)


def test_explained_and_described():
    model = fitted(NegativeBinomial(), [0, 3, 1, 9, 2, 0], list("aabbab"))
    assert model.schema_.loc[0, "family"] == "negative binomial"
    assert "negative binomial" in repr(model.tables_) or len(model.tables_["x"])
    assert model.explain([{"x": 4}]).contributions.shape == (1, 2, 1)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"alpha": -1.0}, ValueError, "alpha from 0 on"),
        ({"alpha": 1.0, "estimate": "mle"}, ValueError, "maximum likelihood is not smoothed"),
        ({"prior": "strong"}, TypeError, "takes a Gamma as prior"),
        ({"estimate": "posterior"}, ValueError, "estimate from 'mean', 'mle'"),
    ],
)
def test_bad_parameters_are_refused(given, error, message):
    with pytest.raises(error, match=message):
        NegativeBinomial(**given)


@pytest.mark.parametrize("missing", ["ignore", "level"])
@pytest.mark.parametrize("columns", ["auto", {"x": NegativeBinomial()}])
def test_one_row_says_what_a_table_of_it_says(columns, missing):
    """Counts up to the largest that was learned are looked up; others, and fractions, are not."""
    rng = np.random.default_rng(7)
    y = np.repeat(["a", "b"], 300)
    x = rng.negative_binomial(2, np.where(y == "a", 0.5, 0.2)).astype(float)
    model = NaiveBayes(columns, missing=missing).fit(pd.DataFrame({"x": x}), y)
    most = int(x.max())
    asked = [*range(most + 3), 10 * most, 6000.0, np.nan]
    asked += [0.5] if columns == "auto" else []
    for value in asked:
        table = model.predict_proba(pd.DataFrame({"x": [value]}))[0]
        assert list(model.predict_proba_one({"x": value}).values()) == pytest.approx(
            table, abs=1e-15
        )
    assert len(model._fitted().parts[0].likelihood.of_counts()) == most + 1


def test_a_row_of_weight_2_is_two_rows_and_forgetting_undoes_learning_row_by_row():
    """Between readings the sizes stay, and the means follow."""
    rng = np.random.default_rng(7)
    y = np.repeat(["a", "b"], 300)
    x = pd.DataFrame({"x": rng.negative_binomial(2, np.where(y == "a", 0.5, 0.2))})
    answers = []
    for weights in ([2.0], [1.0, 1.0]):
        model = NaiveBayes().fit(x, y)
        assert model.schema_.loc[0, "family"] == "negative binomial"
        before = model.predict_proba_one({"x": 4})
        for weight in weights:
            model.learn_one({"x": 40}, "a", weight)
        answers.append(list(model.predict_proba_one({"x": 4}).values()))
        for weight in weights:
            model.forget_one({"x": 40}, "a", weight)
        assert model.predict_proba_one({"x": 4}) == pytest.approx(before, rel=1e-12)
    assert answers[0] != pytest.approx(list(before.values()), rel=1e-3)
    assert answers[0] == pytest.approx(answers[1], rel=1e-12)


def test_bad_values_are_refused_or_warned_of():
    model = fitted(NegativeBinomial(), [0, 3, 1, 9], list("aabb"))
    before = model.predict_joint_log_proba([{"x": 2}])
    with pytest.raises(ValueError, match="-1"):
        model.partial_fit([{"x": -1}], ["a"])
    assert (model.predict_joint_log_proba([{"x": 2}]) == before).all()
    with pytest.warns(FamilyWarning, match=r"NegativeBinomial.*counts"):
        NaiveBayes({"x": NegativeBinomial()}).fit([{"x": 1.5}, {"x": 2}], ["a", "b"]).predict(
            [{"x": 1}]
        )
    with pytest.raises(AttributeError, match="log_evidence_ needs a proper prior"):
        model.log_evidence_  # noqa: B018
