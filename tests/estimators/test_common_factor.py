"""A common factor on all weights changes nothing that is chosen; a row is left out whole."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine, make_classification
from sklearn.metrics import balanced_accuracy_score
from sklearn.naive_bayes import GaussianNB as Theirs
from sklearn.utils.class_weight import compute_sample_weight

from tallybayes import GaussianNB, LazyNaiveBayes, NaiveBayes, leave_one_out, load
from tallybayes.errors import WeightScaleWarning
from tallybayes.families import Categorical

CHOSEN = {
    "alpha by evidence": {"alpha": "auto", "criterion": "evidence"},
    "alpha by leave-one-out": {"alpha": "auto", "criterion": "loo_likelihood"},
    "alpha on rows": {"alpha": "auto"},
    "temperature": {"alpha": "auto", "calibrate": "temperature"},
    "isotonic": {"alpha": "auto", "calibrate": "isotonic"},
}
every_choice = pytest.mark.parametrize("parameters", CHOSEN.values(), ids=CHOSEN)
beside = pytest.mark.filterwarnings("ignore::tallybayes.errors.MixedColumnWarning")
factors = pytest.mark.parametrize("factor", [2.0, 1000.0, 0.001])


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    table = pd.DataFrame(
        {
            "normal": rng.normal(y, 1.0),
            "skewed": rng.exponential(1.0 + y),
            "many": rng.normal(size=n) ** 3 + (y == 1),
            "count": rng.poisson(1.0 + y),
            "text": np.array(list("abcdefgh"))[(rng.integers(0, 6, n) + y) % 8],
        }
    )
    table.loc[rng.random(n) < 0.1, ["skewed", "text"]] = None
    return table, y, rng


def fitted(parameters, X, y, weight):
    # the prior's declared smoothing is in units of weight
    model = NaiveBayes(class_prior=[1 / 3] * 3, class_alpha=0.0, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y, weight)


@every_choice
@factors
def test_predictions_do_not_see_a_common_factor(parameters, factor):
    X, y, rng = rows()
    for weight in (np.ones(len(y)), rng.choice([0.5, 1.0, 4.0], len(y))):
        once, scaled = (fitted(parameters, X, y, w) for w in (weight, factor * weight))
        families, same = (m.schema_["family"].str.split(",").str[0] for m in (once, scaled))
        assert families.tolist() == same.tolist()
        np.testing.assert_allclose(
            scaled.predict_log_proba(X), once.predict_log_proba(X), rtol=2e-3, atol=2e-3
        )


@factors
def test_readings_that_are_equal_are_not_told_apart_by_rounding(factor):
    X, y = pd.DataFrame({"a": [0, 0, 0, 0]}), ["n", "n", "n", "s"]
    model = NaiveBayes(alpha="auto", criterion="evidence")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightScaleWarning)
        model.fit(X, y, np.full(4, factor))
    assert model.schema_["family"][0].startswith("Gaussian")


def test_a_column_too_small_for_float64_has_no_spread_to_shrink_to():
    X = pd.DataFrame({"a": [5e-163, 4.4e-162, 1e-162, 0.0]})
    model = NaiveBayes(alpha="auto", criterion="evidence").fit(X, [0, 1, 0, 1])
    assert np.isfinite(model.predict_log_proba(X)).all()


@factors
def test_families_and_bins_do_not_see_it_under_a_declared_alpha(factor):
    X, y, _ = rows()
    X = X.drop(columns="text")
    once = fitted({}, X, y, None)
    scaled = fitted({}, X, y, np.full(len(y), factor))
    assert scaled.schema_["family"].tolist() == once.schema_["family"].tolist()
    np.testing.assert_allclose(scaled.predict_log_proba(X), once.predict_log_proba(X), rtol=1e-6)


@factors
def test_what_is_chosen_among_near_equals_does_not_see_it_through_the_class_prior(factor):
    """Readings that are nearly equal are decided by the class counts, smoothed by class_alpha."""
    for seed in (3, 8, 11, 20, 36):
        rng = np.random.default_rng(seed)
        y = (rng.random(40) < 0.1).astype(int)
        y[:2] = 1, 0
        X = pd.DataFrame({f"c{j}": np.round(rng.exponential(1 + 0.5 * y), 1) for j in range(3)})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeightScaleWarning)
            once, scaled = (NaiveBayes().fit(X, y, np.full(40, f)) for f in (1.0, factor))
        assert scaled.schema_["family"].tolist() == once.schema_["family"].tolist()


@factors
def test_a_chosen_alpha_is_in_units_of_the_weights(factor):
    X, y, _ = rows()
    for name in ("alpha by evidence", "alpha by leave-one-out", "alpha on rows"):
        once = fitted(CHOSEN[name], X, y, None).alpha_
        scaled = fitted(CHOSEN[name], X, y, np.full(len(y), factor)).alpha_
        assert once.keys() == scaled.keys()
        for column, alpha in once.items():
            assert scaled[column] == pytest.approx(factor * alpha, rel=0.02)


def tickets(n=600, seed=0):
    """A string of which most rows have their own, as ticket numbers are, and one that says more."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    numbers = np.where(rng.random(n) < 0.5, rng.integers(0, 2 * n, n), 10 * rng.integers(0, n, n))
    grade = np.array(list("abc"))[np.clip(rng.integers(0, 3, n) - y, 0, 2)]
    return pd.DataFrame({"ticket": [f"t{t}" for t in numbers], "grade": grade}), y


LEVELS = {"ticket": Categorical(), "grade": Categorical()}


@factors
def test_smoothing_of_declared_families_is_in_units_of_weight(factor):
    """Weights and alpha times a factor are the same model (decision 0012)."""
    X, y = tickets()
    known = {"columns": LEVELS, "class_prior": [0.5, 0.5], "class_alpha": 0.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightScaleWarning)
        once = NaiveBayes(alpha=0.5, **known).fit(X, y)
        scaled = NaiveBayes(alpha=0.5 * factor, **known).fit(X, y, np.full(len(y), factor))
    np.testing.assert_allclose(scaled.predict_log_proba(X), once.predict_log_proba(X), atol=1e-9)


def test_chosen_smoothing_of_many_levels_does_not_see_a_common_factor():
    """Declared, it weighs less as the weights grow: hundreds of levels then say too much."""
    X, y = tickets(1200)
    (X, y), (fresh, truth) = (X[:600], y[:600]), (X[600:], y[600:])

    def loss(factor, **parameters):
        model = NaiveBayes(**parameters).fit(X, y, np.full(len(y), factor))
        return -model.predict_log_proba(fresh)[np.arange(len(fresh)), truth].mean()

    for factor in (2.0, 10.0, 1000.0):
        assert loss(factor, alpha="auto") == pytest.approx(loss(1.0, alpha="auto"), abs=1e-3)
        assert loss(factor) == pytest.approx(loss(1.0), abs=1e-3)
    assert loss(1000.0, columns=LEVELS) > loss(1.0, columns=LEVELS) + 0.05


# ---- levels of columns that nobody declared ------------------------------------------------------
def mixed_table(n=120, seed=1):
    """Strings, strings with gaps, numbers, and strings beside numbers."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X, _ = tickets(n, seed)
    X["x"] = rng.normal(y).round(2)
    X["beside"] = [v if rng.random() < 0.8 else "?" for v in rng.normal(y).round(2).tolist()]
    X.loc[rng.random(n) < 0.2, ["grade", "x"]] = None
    return X, y


def test_no_level_of_an_undeclared_column_says_more_than_its_effective_rows_support():
    """One row of weight 1,000 is one row: at most log((1 + 1) / (0 + 1)) beside as many others."""
    X = pd.DataFrame({"level": ["a", "b", "c", "d"]})
    y = ["n", "n", "y", "y"]
    for factor in (1.0, 2.0, 1000.0):
        table = NaiveBayes().fit(X, y, np.full(4, factor)).tables_["level"]
        nats = table.select_dtypes("number").to_numpy()
        assert np.abs(nats[:, 0] - nats[:, 1]).max() == pytest.approx(np.log(2.0))
    declared = NaiveBayes({"level": Categorical()}).fit(X, y, np.full(4, 1000.0)).tables_["level"]
    nats = declared.select_dtypes("number").to_numpy()
    assert np.abs(nats[:, 0] - nats[:, 1]).max() == pytest.approx(np.log(1001.0))


@beside
@pytest.mark.parametrize("missing", ["ignore", "level"])
@pytest.mark.parametrize("factor", [2.0, 3.7, 1000.0])
def test_undeclared_columns_do_not_see_a_common_factor_above_one(missing, factor):
    X, y = mixed_table()
    known = {"class_prior": [0.5, 0.5], "class_alpha": 0.0, "missing": missing}
    for weight in (np.ones(len(y)), np.r_[np.full(40, 5.0), np.ones(len(y) - 40)]):
        once, scaled = (NaiveBayes(**known).fit(X, y, w) for w in (weight, factor * weight))
        np.testing.assert_allclose(
            scaled.predict_log_proba(X), once.predict_log_proba(X), atol=1e-9
        )
        found = leave_one_out(scaled, X, y, factor * weight)
        np.testing.assert_allclose(found, leave_one_out(once, X, y, weight), atol=1e-9)
        np.testing.assert_allclose(
            [scaled.alpha_[name] for name in once.alpha_],
            [factor * alpha for alpha in once.alpha_.values()],
        )


def test_rows_that_weigh_one_at_most_have_the_alpha_that_was_given():
    X, y = mixed_table()
    X = X[["ticket", "grade"]]
    for weight in (None, np.ones(len(y)), np.tile([1.0, 0.5, 0.25], len(y) // 3)):
        model, declared = (NaiveBayes(c, alpha=0.5).fit(X, y, weight) for c in ("auto", LEVELS))
        assert model.alpha_ == declared.alpha_ == {"ticket": 0.5, "grade": 0.5}
        assert (model.predict_log_proba(X) == declared.predict_log_proba(X)).all()


@beside
def test_smoothing_per_effective_row_is_the_same_however_rows_came():
    """In one batch, one by one, merged, forgotten, saved and loaded."""
    X, y = mixed_table()
    weight = np.tile([1.0, 4.0, 20.0], len(y) // 3)
    rows, labels = X.astype(object).where(X.notna(), None).to_dict("records"), y.tolist()
    once = NaiveBayes().fit(X, y, weight)
    expected = once.predict_log_proba(X)
    assert once.alpha_["ticket"] == pytest.approx((weight @ weight) / weight.sum())

    def check(model):
        np.testing.assert_allclose(model.predict_log_proba(X), expected, atol=1e-9)
        one = list(model.predict_proba_one(rows[0]).values())
        np.testing.assert_allclose(np.log(one), expected[0], atol=1e-9)

    halves = [NaiveBayes().fit(X[i::2], y[i::2], weight[i::2]) for i in (0, 1)]
    check(halves[0].merge(halves[1]))
    model = NaiveBayes()
    for row, label, w in zip(rows, labels, weight.tolist(), strict=True):
        model.learn_one(row, label, w)
    check(model)
    more = NaiveBayes().fit(pd.concat([X, X]), np.r_[y, y], np.r_[weight, 50.0 * weight])
    check(more.forget(X, y, 50.0 * weight))
    file = io.BytesIO()
    once.save(file)
    file.seek(0)
    check(load(file))
    assert once.decay(0.5).alpha_["ticket"] == pytest.approx((weight @ weight) / weight.sum() / 2)


def test_questions_to_a_source_smooth_undeclared_levels_as_a_fit_does():
    X, y = mixed_table(300)
    X = X.drop(columns="beside")
    table = X.assign(y=y, w=np.where(y == 1, 30.0, 2.0))
    model = NaiveBayes().fit(X, y, table["w"])
    fitted = NaiveBayes().fit(table, "y", sample_weight="w")  # a source is read in parts
    np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize("missing", ["ignore", "level"])
def test_lazy_answers_smooth_undeclared_levels_as_a_fit_does(missing):
    X, y = mixed_table(300)
    strings = X[["ticket", "grade"]]
    options = {"class_weight": {1: 30.0, 0: 2.0}, "missing": missing}
    asked = LazyNaiveBayes(strings.assign(y=y), target="y", **options)
    expected = NaiveBayes(**options).fit(strings, y)
    np.testing.assert_allclose(
        asked.predict_proba(strings), expected.predict_proba(strings), rtol=1e-9
    )
    source, known = X.drop(columns="beside").assign(y=y), {"class_prior": [0.5, 0.5]}
    once, scaled = (
        LazyNaiveBayes(source, "y", class_weight={0: w, 1: w}, missing=missing, **known)
        for w in (1.0, 500.0)
    )
    np.testing.assert_allclose(scaled.predict_proba(X), once.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("factor", [1.0, 7.0, 0.01])
def test_identifiers_are_found_among_weighted_rows(factor):
    X, y, rng = rows()
    X["id"] = [f"r{i}" for i in range(len(y))]
    X["pairs"] = [f"r{i // 2}" for i in range(len(y))]
    for weight in (np.full(len(y), factor), factor * rng.choice([0.5, 1.0, 4.0], len(y))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read = NaiveBayes().fit(X, y, weight).schema_.set_index("column")["family"]
        assert read["id"] == "left out"
        assert read["pairs"] != "left out"


@pytest.mark.parametrize("seed", range(3))
def test_balanced_weights_predict_balanced(seed):
    """As well as scikit-learn's GaussianNB with the same weights, up to two rows of the rare class
    of some 100."""
    X, y = make_classification(4000, 8, weights=[0.95], random_state=seed)
    weight = compute_sample_weight("balanced", y[:2000])
    truth = y[2000:]

    def score(model):
        found = model.fit(X[:2000], y[:2000], weight).predict(X[2000:])
        return balanced_accuracy_score(truth, found)

    theirs = score(Theirs())
    assert score(GaussianNB()) >= theirs - 1e-12
    assert score(NaiveBayes()) >= theirs - 1.0 / (truth == 1).sum()


@pytest.mark.parametrize("seed", range(3))
def test_noise_says_nothing_where_rows_of_a_class_weigh_more(seed):
    """Bins of equal weight would be narrow around rows of the rare class: cuts that know labels."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(2000, 6)), columns=list("abcdef"))
    y = np.r_[np.zeros(950, int), np.ones(50, int), np.zeros(950, int), np.ones(50, int)]
    weight = compute_sample_weight("balanced", y[:1000])
    model = NaiveBayes().fit(X[:1000], y[:1000], weight)
    fine = model.schema_["family"].str.contains("1[0-9][0-9] ").sum()
    assert fine <= 1  # of six columns
    nats = -model.predict_log_proba(X[1000:])[np.arange(1000), y[1000:]]
    assert np.average(nats, weights=compute_sample_weight("balanced", y[1000:])) < np.log(2.0) + 0.1


# ---- weights that sum to much less than the rows -------------------------------------------------
def test_tiny_weights_are_pointed_out_with_the_factor():
    X, y, _ = rows()
    weight = np.full(len(y), 1.0 / len(y))
    with pytest.warns(WeightScaleWarning, match="multiply sample_weight by 300"):
        NaiveBayes().fit(X, y, weight)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NaiveBayes().fit(X, y, len(y) * weight)
        NaiveBayes(alpha="auto", class_alpha="auto").fit(X, y, weight)
        NaiveBayes().fit(X, y, np.full(len(y), 0.2))


def test_arrays_with_smoothing_point_it_out_too():
    from tallybayes import CategoricalNB, MultinomialNB

    X, y = load_wine(return_X_y=True)
    weight = np.full(len(y), 1e-3)
    for model in (MultinomialNB(), CategoricalNB()):
        with pytest.warns(WeightScaleWarning, match="multiply sample_weight by 1000"):
            model.fit(X.astype(np.int64), y, weight)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MultinomialNB(alpha=0.0).fit(X, y, weight)
        GaussianNB().fit(X, y, weight)


# ---- laws ----------------------------------------------------------------------------------------
@settings(max_examples=30)
@given(
    st.lists(st.floats(0.05, 20.0), min_size=4, max_size=25),
    st.floats(1e-3, 1e3),
    st.integers(0, 1000),
    st.sampled_from(["auto", 1.0]),
)
def test_any_weights_times_any_factor_read_numbers_alike(weights, factor, seed, alpha):
    rng = np.random.default_rng(seed)
    y = np.r_[0, 1, rng.integers(0, 2, len(weights) - 2)]
    X = pd.DataFrame({"x": rng.normal(y).round(1), "n": rng.poisson(1.0 + y)})
    X.loc[rng.random(len(y)) < 0.2, "x"] = np.nan
    w = np.array(weights)
    models = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for weight in (w, factor * w):
            model = NaiveBayes(class_prior=[0.5, 0.5], class_alpha=0.0, alpha=alpha)
            models.append(model.fit(X, y, weight).predict_log_proba(X))
    np.testing.assert_allclose(models[0], models[1], rtol=0.01, atol=0.01)
