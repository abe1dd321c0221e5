"""Columns of counts: Poisson, negative binomials and their sizes."""

from decimal import Decimal, localcontext

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize

from tallybayes import NaiveBayes, leave_one_out
from tallybayes.errors import FamilyWarning
from tallybayes.families import Gamma, NegativeBinomial, Poisson
from tallybayes.families.negative_binomial import MAX_CODE, MAX_LOG_SIZE, Sizes, distinct_rows
from tallybayes.families.poisson import MOST_COUNTS
from tallybayes.testing.families import check_number_family

RATES = {"low": (0.4, 3.0), "high": (300.0, 900.0), "beyond any table": (40.0, 1e5)}


@pytest.mark.parametrize("estimate", ["mean", "posterior"])
@pytest.mark.parametrize("rates", RATES)
def test_counts_inside_and_beyond_the_table_have_the_density_of_scipy(rates, estimate):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.poisson(rate, 200) for rate in RATES[rates]])[:, None].astype(float)
    y = np.repeat(["a", "b"], 200)
    model = NaiveBayes({0: Poisson(estimate=estimate)}).fit(x, y)
    ends = [0, 1, 27, MOST_COUNTS - 1, MOST_COUNTS, 10 * MOST_COUNTS, *map(int, RATES[rates])]
    asked = np.array([[*map(float, ends), np.nan]]).T
    mean, total = x.mean(), np.array([x[y == label].sum() for label in "ab"])
    shape, rate = total + mean, 200.0 + 1.0  # alpha is one row at the overall mean
    law = (
        stats.poisson(shape / rate)
        if estimate == "mean"
        else stats.nbinom(shape, rate / (rate + 1.0))
    )
    expected = np.nan_to_num(law.logpmf(asked)) + np.log(0.5)
    expected[-1] = np.log(0.5)  # a missing value says nothing
    np.testing.assert_allclose(model.predict_joint_log_proba(asked), expected, rtol=1e-8)


def test_a_fraction_has_the_factorial_of_the_gamma_function():
    model = NaiveBayes({0: Poisson()}).fit([[2.0], [4.0]], ["a", "b"])
    with pytest.warns(match="not a whole number"):
        (found,) = model.predict_joint_log_proba([[2.5]])
    (low,), (high,) = (model.predict_joint_log_proba([[x]]) for x in (2.0, 3.0))
    assert (np.minimum(low, high) < found).all()


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


NONE = np.zeros(1)
FIRST = np.zeros(1, dtype=np.intp)


def slope(values, counts, log_size):
    """Σ_x n_x Σ_{i<x} 1/(r + i) − n log(1 + x̄/r), in 60 digits."""
    r, n = log_size.exp(), sum(counts)
    mean = sum(c * x for c, x in zip(counts, values, strict=True)) / n
    each = (
        c * sum((1 / (r + i) for i in range(x)), Decimal(0))
        for c, x in zip(counts, values, strict=True)
    )
    return sum(each, Decimal(0)) - n * (1 + mean / r).ln()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dispersed", [True, False])
def test_sizes_without_a_row_are_the_roots(seed, dispersed):
    rng = np.random.default_rng(seed)
    x = rng.negative_binomial(8, 0.6, 400) if dispersed else rng.poisson(3.0, 400)
    weight = rng.choice([0.25, 1.75, 2.5], 400)
    values = np.unique(x)
    counts = np.array([[weight[x == v].sum() for v in values]])
    sizes = Sizes(values.astype(np.float64), counts, None)
    value, w = x[:1].astype(np.float64), weight[:1]
    found = float(sizes.without(FIRST, value, w)[0])
    if found == MAX_LOG_SIZE:  # without the row, variance does not exceed the mean
        rest, at = counts[0] - w * (values == x[0]), values
        mean = rest @ at / rest.sum()
        assert rest @ (at - mean) ** 2 <= rest @ at * (1.0 + 1e-12)
        return
    with localcontext() as context:
        context.prec = 60
        exact = [Decimal(c) for c in counts[0].tolist()]
        exact[values.tolist().index(int(x[0]))] -= Decimal(float(w[0]))
        low, high = (
            slope(values.tolist(), exact, Decimal(found) + Decimal(step)) for step in (-1e-8, 1e-8)
        )
    assert low > 0 > high


def test_values_beyond_those_counted_are_solved_without_the_kernel():
    sizes = Sizes(np.array([0.0, 1.0, 9.0]), np.array([[5.0, 3.0, 2.0]]), None)
    nothing = sizes.without(FIRST, np.array([50.0]), NONE)
    np.testing.assert_allclose(nothing, sizes.of_all, rtol=1e-9)


VALUES = st.sampled_from([0.0, 1.0, 2.0, 2.5, -1.0, 7.0, MAX_CODE - 1.0, float(MAX_CODE), 1e300])


@given(st.lists(st.tuples(st.integers(0, 3), VALUES, st.sampled_from([0.5, 1.0, 3.0]))))
def test_each_content_is_there_once_and_found_again(rows):
    own = np.array([row[0] for row in rows], dtype=np.intp)
    x = np.array([row[1] for row in rows])
    weight = np.array([row[2] for row in rows])
    first, place = distinct_rows(own, x, weight)
    assert len(first) == len(set(rows))
    for column in (own, x, weight):
        np.testing.assert_array_equal(column[first][place], column)


@pytest.mark.parametrize("scale", [1.0, 1e6, 0.1])
def test_many_codes_in_two_columns_are_sorted_not_multiplied(scale):
    rng = np.random.default_rng(0)
    x, z = rng.integers(0, 60_000, (2, 500)) * scale
    first, place = distinct_rows(x, z)
    assert len(first) == len(set(zip(x, z, strict=True)))
    np.testing.assert_array_equal(x[first][place], x)
    np.testing.assert_array_equal(z[first][place], z)
