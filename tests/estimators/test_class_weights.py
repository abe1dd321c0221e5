"""class_weight= is what multiplying sample_weight by the weight of the label is, everywhere."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.estimator_checks import check_class_weight_classifiers

import tallybayes
from estimators.cases import ALL, every, refused, rows
from tallybayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    WeightedNaiveBayes,
    cross_validate,
    leave_one_out,
)
from tallybayes.errors import IncompatibleTallies, StaleWarning
from tallybayes.families import Categorical, Gaussian, Multinomial, Poisson
from tallybayes.models.class_weights import balanced

DICT = {0: 3.0, 2: 0.25}  # 1 weighs 1
OF_ROW = np.array([3.0, 1.0, 0.25])
COLUMNS = {
    "age": Gaussian(),
    "calls": Poisson(),
    "home": Categorical(),
    ("w1", "w2"): Multinomial(),
    ("g1", "g2"): Gaussian(covariance="full"),
}
DECLARED = {
    "declared": NaiveBayes(COLUMNS),
    "half-life": NaiveBayes(COLUMNS, half_life=20.0),
}
TABLES = {
    **DECLARED,
    "auto": NaiveBayes(),
    "chosen on rows": NaiveBayes(alpha="auto", calibrate="temperature"),
    "evidence": NaiveBayes(alpha="auto", criterion="evidence", class_alpha="auto"),
    "weighted": WeightedNaiveBayes(),
}
every_table = pytest.mark.parametrize("name", TABLES)
every_class_weight = pytest.mark.parametrize(
    "class_weight", [DICT, "balanced"], ids=["dict", "bal"]
)
pytestmark = pytest.mark.filterwarnings(
    "ignore::tallybayes.errors.RareClassWarning",
    "ignore::tallybayes.errors.UninformativeWarning",
    "ignore::tallybayes.errors.FamilyWarning",
)


def uneven(n=90, seed=0):
    """Whole numbers that every class of arrays accepts, uneven labels, and weights of rows."""
    x, y = rows(n=n, seed=seed)
    keep = np.flatnonzero((y != 1) | (np.arange(n) % 3 == 0))
    x, y = x[keep], y[keep]
    return x, y, np.random.default_rng(seed).integers(1, 5, len(y)) / 2.0


def table(n=160, seed=0):
    """A frame of every kind of column, uneven labels, and weights of rows."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=[0.6, 0.1, 0.3])
    x = pd.DataFrame(
        {
            "age": rng.normal(30.0 + 6.0 * y, 5.0).round(1),
            "calls": rng.poisson(1.0 + y),
            "home": np.array(["Bern", "Wien", "Rom", "Ulm"])[rng.integers(0, 2, n) + y],
            "w1": rng.poisson(1.0 + y),
            "w2": rng.poisson(2.0, n),
            "g1": rng.normal(y, 1.0),
            "g2": rng.normal(0.0, 1.0, n),
        }
    )
    x["g2"] += 0.5 * x["g1"]
    return x, y, rng.integers(1, 5, n) / 2.0


def products(class_weight, y, w):
    """What the sample weights would be."""
    if class_weight == "balanced":
        total = np.bincount(y, w)
        return w * (w.sum() / (len(total) * total))[y]
    return w * OF_ROW[y]


def same(model, other, x):
    """Both models hold the same and predict the same, bit for bit."""
    assert model.tally_ == other.tally_
    assert np.array_equal(model.predict_log_proba(x), other.predict_log_proba(x))


def nearly(model, other, x):
    """Both models hold and predict the same, to rounding."""
    schema = model.tally_.schema.join(other.tally_.schema)  # levels may come in another order
    mine, theirs = (m.tally_.aligned(schema).arrays() for m in (model, other))
    assert mine.keys() == theirs.keys()
    for name, array in mine.items():
        if array.dtype.kind == "f" and not name.endswith("_lo"):
            np.testing.assert_allclose(array, theirs[name], rtol=1e-9, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(
        model.predict_log_proba(x), other.predict_log_proba(x), rtol=1e-7, atol=1e-7
    )


# ---- fit -----------------------------------------------------------------------------------------
@every()
@every_class_weight
def test_fit_is_fit_with_the_products(NB, class_weight):
    x, y, w = uneven()
    model = NB(class_weight=class_weight).fit(x, y, sample_weight=w)
    same(model, NB().fit(x, y, sample_weight=products(class_weight, y, w)), x)
    model.fit(x, y)
    same(model, NB().fit(x, y, sample_weight=products(class_weight, y, np.ones(len(y)))), x)


@every_table
@every_class_weight
def test_fit_of_a_table_is_fit_with_the_products(name, class_weight):
    x, y, w = table()
    model = clone(TABLES[name]).set_params(class_weight=class_weight).fit(x, y, sample_weight=w)
    other = clone(TABLES[name]).fit(x, y, sample_weight=products(class_weight, y, w))
    same(model, other, x)
    assert model.class_count_.tolist() == other.class_count_.tolist()


@given(
    y=st.lists(st.integers(0, 4), min_size=1, max_size=30),
    strings=st.booleans(),
    data=st.data(),
)
def test_balanced_weights_are_those_of_scikit_learn(y, strings, data):
    labels = np.array(["abcde"[k] for k in y] if strings else y)
    w = np.array(data.draw(st.lists(st.floats(0.1, 9.0), min_size=len(y), max_size=len(y))))
    classes, codes = np.unique(labels, return_inverse=True)
    expected = compute_class_weight("balanced", classes=classes, y=labels, sample_weight=w)
    found = balanced(classes, np.bincount(codes, w))
    np.testing.assert_allclose([found.get(c, 1.0) for c in classes.tolist()], expected, rtol=1e-12)


def test_balanced_classes_have_equal_shares_and_the_rows_keep_their_sum():
    x, y, _ = uneven()
    model = GaussianNB(class_weight="balanced").fit(x, y)
    np.testing.assert_allclose(model.class_count_, len(y) / 3)
    np.testing.assert_allclose(model.class_prior_, 1 / 3)
    expected = compute_class_weight("balanced", classes=np.unique(y), y=y)
    assert list(model.class_weight_) == [0, 1, 2]
    np.testing.assert_allclose(list(model.class_weight_.values()), expected)


def test_no_class_weight_is_weight_1():
    x, y, _ = uneven()
    model = GaussianNB().fit(x, y)
    assert model.class_weight_ == {0: 1.0, 1: 1.0, 2: 1.0}
    same(model, GaussianNB(class_weight={}).fit(x, y), x)
    same(model, GaussianNB(class_weight={0: 1}).fit(x, y), x)
    with pytest.raises(AttributeError, match="class_weight_"):
        _ = GaussianNB().class_weight_


def test_labels_that_are_digits_in_texts_are_found():
    x, y, _ = uneven()
    model = GaussianNB(class_weight={"0": 3.0, "2": 0.25}).fit(x, y.astype(str))
    assert model.class_weight_ == {"0": 3.0, "1": 1.0, "2": 0.25}


def test_keys_may_be_numpy_scalars_and_labels_booleans():
    x, y, _ = uneven()
    weights = {np.int64(0): np.float32(3.0), np.int64(2): 0.25}
    same(GaussianNB(class_weight=weights).fit(x, y), GaussianNB(class_weight=DICT).fit(x, y), x)
    model = GaussianNB(class_weight={True: 2.0}).fit(x, y > 0)
    assert model.class_weight_ == {False: 1.0, True: 2.0}


def test_declared_classes_without_rows_are_no_class_to_balance():
    x, y, _ = table()
    model = NaiveBayes(COLUMNS, classes=[0, 1, 2, 9], class_weight="balanced").fit(x, y)
    assert model.class_weight_[9] == 1.0
    np.testing.assert_allclose(model.class_count_[:3], len(y) / 3)
    later = NaiveBayes(COLUMNS, classes=[0, 1, 2, 9]).fit(x, y).with_class_weight("balanced")
    assert later.class_weight_ == pytest.approx(model.class_weight_)


# ---- learning more, and unlearning -------------------------------------------------------------
@every()
def test_batches_learn_with_the_weights_of_a_dict(NB):
    x, y, w = uneven()
    model, other = NB(class_weight=DICT), NB()
    for part in np.array_split(np.arange(len(y)), 4):
        model.partial_fit(x[part], y[part], classes=[0, 1, 2], sample_weight=w[part])
        other.partial_fit(
            x[part], y[part], classes=[0, 1, 2], sample_weight=products(DICT, y[part], w[part])
        )
    same(model, other, x)
    one = GaussianNB(class_weight=DICT).partial_fit(x[:1], y[:1], classes=[0, 1, 2])
    assert one.class_count_.sum() == OF_ROW[y[0]]


@pytest.mark.parametrize("name", DECLARED)
def test_batches_and_rows_of_a_table_learn_with_the_weights_of_a_dict(name):
    x, y, w = table()
    model, other = clone(TABLES[name]).set_params(class_weight=DICT), clone(TABLES[name])
    records = x.to_dict("records")
    for i in range(30):
        model.learn_one(records[i], int(y[i]), w[i])
        other.learn_one(records[i], int(y[i]), products(DICT, y[i], w[i]))
    for part in (slice(30, 90), slice(90, 160)):
        model.partial_fit(x[part], y[part], sample_weight=w[part])
        other.partial_fit(x[part], y[part], sample_weight=products(DICT, y[part], w[part]))
    for i in range(10):
        model.learn_one(records[i], int(y[i]), w[i])
        other.learn_one(records[i], int(y[i]), products(DICT, y[i], w[i]))
    assert model.class_weight_ == {0: 3.0, 1: 1.0, 2: 0.25}
    same(model, other, x)


def test_a_row_that_has_to_be_read_as_a_table_is_weighed_once():
    model = NaiveBayes({"n": Gaussian()}, class_weight={"yes": 4.0})
    for value in (1.0, "2.5", 3.0):
        model.learn_one({"n": value}, "yes").learn_one({"n": 2.0}, "no")
    assert dict(zip(model.classes_, model.class_count_, strict=True)) == {"no": 3.0, "yes": 12.0}


def test_a_class_that_comes_later_has_its_weight():
    model = NaiveBayes(class_weight={"late": 5.0}).partial_fit([{"a": "x"}] * 4, ["no"] * 4)
    model.partial_fit([{"a": "y"}] * 2, ["late"] * 2)
    assert model.class_weight_ == {"late": 5.0, "no": 1.0}
    assert model.class_count_.tolist() == [10.0, 4.0]


@every()
@every_class_weight
def test_forgetting_undoes_learning(NB, class_weight):
    x, y, w = uneven()
    w = np.round(w * 2)  # whole weights are removed exactly
    model = NB(class_weight=class_weight).fit(x, y, sample_weight=w)
    held = model.class_weight_
    model.forget(x[40:], y[40:], sample_weight=w[40:])
    assert model.class_weight_ == held  # those that rows were counted with
    other = NB(class_weight=held).partial_fit(x[:40], y[:40], [0, 1, 2], w[:40])
    nearly(model, other, x)
    model.forget(x[:40], y[:40], sample_weight=w[:40])
    assert not model.class_count_.any()


# ---- leaving out, and choosing on rows -----------------------------------------------------------
@every()
@every_class_weight
def test_leaving_a_row_out_is_refitting_without_it(NB, class_weight):
    x, y, w = uneven(n=45)
    model = NB(class_weight=class_weight).fit(x, y, sample_weight=w)
    found = leave_one_out(model, x, y, sample_weight=w)
    held = model.class_weight_
    for i in range(0, len(y), 5):
        others = np.delete(np.arange(len(y)), i)
        again = clone(model).set_params(class_weight=held)
        again.partial_fit(x[others], y[others], [0, 1, 2], w[others])
        np.testing.assert_allclose(
            found[i], again.predict_log_proba(x[[i]])[0], rtol=1e-8, atol=1e-8
        )


@pytest.mark.parametrize("name", [name for name in TABLES if name != "half-life"])  # rows age there
@every_class_weight
@pytest.mark.filterwarnings("ignore::tallybayes.errors.StaleWarning")
def test_what_reads_rows_again_reads_the_products(name, class_weight):
    x, y, w = table()
    v = products(class_weight, y, w)
    model = clone(TABLES[name]).set_params(class_weight=class_weight).fit(x, y, sample_weight=w)
    other = clone(TABLES[name]).fit(x, y, sample_weight=v)
    found = leave_one_out(model, x, y, sample_weight=w)
    assert np.array_equal(found, leave_one_out(other, x, y, sample_weight=v))
    found = cross_validate(model, x, y, folds=3, sample_weight=w)
    assert np.array_equal(found, cross_validate(other, x, y, folds=3, sample_weight=v))
    part = np.arange(0, len(y), 2)
    if name == "chosen on rows":
        model.recalibrate(x.iloc[part], y[part], w[part])
        other.recalibrate(x.iloc[part], y[part], v[part])
        same(model, other, x)
    if name == "weighted":
        short = model.simplify(x, y, 2, sample_weight=w)
        same(short, other.simplify(x, y, 2, sample_weight=v), x)
        assert short.class_weight_ == model.class_weight_
        model.reweight(x.iloc[part], y[part], w[part])
        other.reweight(x.iloc[part], y[part], v[part])
        same(model, other, x)


@every_class_weight
def test_counts_made_elsewhere_keep_their_class_weights(class_weight):
    x, y, w = table()
    counted = NaiveBayes(class_weight=class_weight).fit(x, y, sample_weight=w)
    model = WeightedNaiveBayes().count_from(counted, x, y, w)
    expected = WeightedNaiveBayes(class_weight=class_weight).fit(x, y, sample_weight=w)
    same(model, expected, x)
    assert model.class_weight_ == counted.class_weight_ == expected.class_weight_


@every_class_weight
def test_counts_made_elsewhere_take_on_the_class_weights_asked_for(class_weight):
    x, y, w = table()
    plain = NaiveBayes().fit(x, y, sample_weight=w)
    model = WeightedNaiveBayes(class_weight=class_weight).count_from(plain, x, y, w)
    expected = WeightedNaiveBayes(class_weight=class_weight).fit(x, y, sample_weight=w)
    nearly(model, expected, x)
    assert plain.class_weight_ == {0: 1.0, 1: 1.0, 2: 1.0}


# ---- other weights after counting ----------------------------------------------------------------
@every()
@every_class_weight
def test_counts_are_weighed_anew(NB, class_weight):
    x, y, w = uneven()
    model = NB(class_weight={1: 8.0}).fit(x, y, sample_weight=w)
    counts = copy.copy(model).tally_
    other = model.with_class_weight(class_weight)
    expected = NB(class_weight=class_weight).fit(x, y, sample_weight=w)
    nearly(other, expected, x)
    assert other.class_weight_ == pytest.approx(expected.class_weight_)
    assert model.tally_ == counts
    assert model.class_weight == {1: 8.0}
    other.partial_fit(x, y, sample_weight=w)  # the parameter is the weights themselves
    np.testing.assert_allclose(other.class_count_, 2.0 * expected.class_count_)
    nearly(model.with_class_weight(None), NB().fit(x, y, sample_weight=w), x)


def test_a_table_is_weighed_anew():
    x, y, w = table()
    model = NaiveBayes(COLUMNS).fit(x, y, sample_weight=w).with_class_weight(DICT)
    nearly(model, NaiveBayes(COLUMNS, class_weight=DICT).fit(x, y, sample_weight=w), x)
    assert model.class_weight == {0: 3.0, 1: 1.0, 2: 0.25}
    rows_one_by_one = NaiveBayes(COLUMNS)
    for row, label, weight in zip(x.to_dict("records"), y.tolist(), w, strict=True):
        rows_one_by_one.learn_one(row, label, weight)
    nearly(rows_one_by_one.with_class_weight(DICT), model, x)


def test_what_was_chosen_on_rows_is_stale_after_other_weights():
    x, y, _ = table()
    model = NaiveBayes(calibrate="temperature").fit(x, y).with_class_weight("balanced")
    with pytest.warns(StaleWarning):
        model.predict(x)


def test_a_class_that_weighed_nothing_cannot_be_weighed_anew():
    x, y, _ = uneven()
    model = GaussianNB(class_weight={1: 0.0}).fit(x, y)
    with refused(ValueError, "class 1 were counted with weight 0", model):
        model.with_class_weight({1: 2.0})
    assert model.with_class_weight({1: 0.0, 0: 2.0}).class_count_.tolist()[1] == 0.0


def test_labels_that_are_no_classes_cannot_be_weighed_anew():
    x, y, _ = uneven()
    model = GaussianNB().fit(x, y)
    with refused(ValueError, "'typo'", model):
        model.with_class_weight({"typo": 2.0})


# ---- what is refused -----------------------------------------------------------------------------
@every()
@pytest.mark.parametrize("weights", [{"typo": 2.0}, {0: 2.0, 7: 3.0}, {"0": 1.0, "1": 5.0}])
def test_labels_that_are_no_classes_are_refused_by_name(NB, weights):
    x, y, _ = uneven()
    unknown = repr(next(label for label in weights if label not in (0, 1, 2)))
    with refused(ValueError, f"class_weight names .*{unknown}", model := NB(class_weight=weights)):
        model.fit(x, y)
    with refused(ValueError, f"class_weight names .*{unknown}", model):
        model.partial_fit(x, y, classes=[0, 1, 2])


def test_a_fold_may_lack_a_class_where_every_class_has_a_weight():
    x, y, _ = uneven()
    some = np.flatnonzero(y != 1)
    model = GaussianNB(class_weight={0: 2.0, 1: 3.0, 2: 4.0}).fit(x[some], y[some])
    assert model.class_weight_ == {0: 2.0, 2: 4.0}


def test_declared_classes_may_have_weights():
    x, y, _ = table()
    for declared in ({"classes": [7]}, {"class_prior": {0: 0.2, 1: 0.3, 2: 0.4, 7: 0.1}}):
        model = NaiveBayes(COLUMNS, class_weight={7: 2.0}, **declared).fit(x, y)
        assert model.class_weight_[7] == 2.0


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf, "heavy", None])
@pytest.mark.parametrize("NB", [GaussianNB, NaiveBayes, WeightedNaiveBayes])
def test_weights_below_0_and_what_is_no_number_are_refused(NB, wrong):
    x, y, _ = uneven()
    with refused(ValueError, "the class 1 the weight", model := NB(class_weight={1: wrong})):
        model.fit(x, y)


@pytest.mark.parametrize("wrong", ["auto", 3.0, [1, 2]])
def test_class_weight_is_balanced_a_dict_or_none(wrong):
    x, y, _ = uneven()
    with pytest.raises(ValueError, match="The 'class_weight' parameter of GaussianNB must be"):
        GaussianNB(class_weight=wrong).fit(x, y)


@every()
def test_weight_0_is_sample_weight_0(NB):
    x, y, _ = uneven()
    model = NB(class_weight={1: 0.0}, class_alpha=1.0).fit(x, y)
    other = NB(class_alpha=1.0).fit(x, y, sample_weight=np.where(y == 1, 0.0, 1.0))
    same(model, other, x)


@every()
def test_balanced_batches_are_refused_in_the_words_of_scikit_learn(NB):
    x, y, _ = uneven()
    words = "class_weight 'balanced' is not supported for partial_fit"
    with refused(ValueError, words, model := NB(class_weight="balanced")):
        model.partial_fit(x, y, classes=[0, 1, 2])
    model.fit(x, y)
    with refused(ValueError, words, model):
        model.partial_fit(x, y)


def test_balanced_rows_are_refused_too():
    words = "class_weight 'balanced' is not supported for partial_fit and learn_one"
    model = NaiveBayes(class_weight="balanced")
    for call in (
        lambda: model.learn_one({"a": 1.0}, 0),
        lambda: model.partial_fit([{"a": 1.0}], [0]),
    ):
        with refused(ValueError, words, model):
            call()
    assert not model.__sklearn_is_fitted__()
    x, y, _ = table()
    weighted = WeightedNaiveBayes(class_weight="balanced").fit(x, y)
    with refused(ValueError, words, weighted):
        weighted.partial_fit(x, y)
    with refused(ValueError, words, weighted):
        weighted.learn_one(x.iloc[0].to_dict(), 0)


def test_rows_are_not_learned_with_other_weights_than_those_before():
    x, y, _ = uneven()
    model = GaussianNB().fit(x, y)
    words = r"class_weight is \{0: 3.0, 2: 0.25\} by now, but rows were counted with None"
    with refused(ValueError, words, model.set_params(class_weight=DICT)):
        model.partial_fit(x, y)
    model.forget(x[:3], y[:3])  # with the weights that they were counted with
    assert model.class_count_.sum() == len(y) - 3
    model.set_params(class_weight=model.class_weight_).partial_fit(x[:3], y[:3])
    assert model.class_count_.sum() == len(y)
    assert model.set_params(class_weight=DICT).fit(x, y).class_weight_[0] == 3.0


@pytest.mark.parametrize("class_weight", [{1: 3.0}, "balanced"], ids=["dict", "balanced"])
def test_rows_one_by_one_are_forgotten_with_the_weights_that_they_were_learned_with(class_weight):
    x, y, _ = table()
    x = x[["age", "calls", "home"]]
    model = NaiveBayes(class_weight=class_weight).fit(x, y)
    held = model.class_weight_
    for row, label in zip(x[100:].to_dict("records"), y[100:].tolist(), strict=True):
        model.forget_one(row, label)
    nearly(model, NaiveBayes(class_weight=held).fit(x[:100], y[:100]), x)
    if class_weight != "balanced":
        for row, label in zip(x[100:].to_dict("records"), y[100:].tolist(), strict=True):
            model.learn_one(row, label)
        nearly(model, NaiveBayes(class_weight=held).fit(x, y), x)


def test_rows_learned_and_asked_in_turn_have_the_weights_of_a_dict():
    x, y, _ = table()
    x = x[["age", "calls", "home"]]
    columns = {"age": Gaussian(), "calls": Poisson(), "home": Categorical()}
    model = NaiveBayes(columns, class_weight=DICT).fit(x[:80], y[:80])
    for row, label in zip(x[80:].to_dict("records"), y[80:].tolist(), strict=True):
        model.predict_proba_one(row)
        model.learn_one(row, label)
    found = list(model.predict_proba_one(x.iloc[0].to_dict()).values())
    expected = NaiveBayes(columns, class_weight=DICT).fit(x, y)
    np.testing.assert_allclose(found, expected.predict_proba(x[:1])[0], rtol=1e-6)
    nearly(model, expected, x)


@pytest.mark.parametrize("NB", [GaussianNB, NaiveBayes])
def test_a_model_that_holds_no_rows_learns_under_other_weights(NB):
    x, y, _ = uneven()
    model = NB(class_weight="balanced").fit(x, y).forget(x, y)
    model.set_params(class_weight=DICT).partial_fit(x, y, classes=[0, 1, 2])
    assert model.class_weight_ == {0: 3.0, 1: 1.0, 2: 0.25}
    nearly(model, NB(class_weight=DICT).fit(x, y), x)


def test_waiting_rows_are_kept_where_the_weights_change():
    model = NaiveBayes(class_weight={"yes": 4.0}).learn_one({"a": "x"}, "yes")
    model.set_params(class_weight={"yes": 5.0})
    with pytest.raises(ValueError, match="rows were counted with"):
        model.learn_one({"a": "x"}, "yes")
    assert model.class_count_.tolist() == [4.0]
    model.set_params(class_weight={"yes": 4.0}).learn_one({"a": "y"}, "no")
    assert model.class_count_.tolist() == [1.0, 4.0]


# ---- merging, comparing, keeping -------------------------------------------------------------
@pytest.mark.parametrize("NB", [*ALL, NaiveBayes])
def test_models_of_other_class_weights_do_not_merge(NB):
    x, y, _ = uneven()
    a, b = NB(class_weight={0: 2.0, 1: 3.0}).fit(x, y), NB(class_weight={1: 3.0, 2: 5.0}).fit(x, y)
    with refused(IncompatibleTallies, "0 2 here and 1 there, 2 1 here and 5 there", a, b):
        a.merge(b)
    with refused(IncompatibleTallies, "0 2 here and 1 there", a):
        a.merge(NB().fit(x, y).with_class_weight({1: 3.0}))


def test_models_of_the_same_class_weights_merge():
    x, y, w = uneven()
    half = len(y) // 2
    held = GaussianNB(class_weight="balanced").fit(x, y, w).class_weight_
    parts = [
        GaussianNB(class_weight=held).fit(x[part], y[part], w[part])
        for part in (slice(half), slice(half, None))
    ]
    total = sum(parts)
    assert total.class_weight_ == held
    nearly(total, GaussianNB(class_weight="balanced").fit(x, y, w), x)
    tables = [NaiveBayes(class_weight=held).fit(x[p::2], y[p::2]) for p in (0, 1)]
    assert (tables[0] + tables[1]).class_weight_ == held


@pytest.mark.parametrize("NB", [*ALL, NaiveBayes, WeightedNaiveBayes])
def test_copies_files_and_other_priors_keep_class_weights(NB, tmp_path):
    x, y, w = uneven()
    model = NB(class_weight="balanced").fit(x, y, w)
    model.save(tmp_path / "m.tally")
    twins = {
        "copy": copy.copy(model),
        "deepcopy": copy.deepcopy(model),
        "pickle": pickle.loads(pickle.dumps(model)),
        "file": tallybayes.load(tmp_path / "m.tally"),
    }
    for name, twin in twins.items():
        assert twin.class_weight_ == model.class_weight_, name
        assert twin == model, name
        twin.forget(x, y, w)
    other = model.with_class_prior([0.2, 0.3, 0.5])
    assert other.class_weight_ == model.class_weight_
    fresh = clone(model)
    assert fresh.class_weight == "balanced"
    assert not fresh.__sklearn_is_fitted__()


def test_models_differ_where_class_weights_do():
    x, y, w = uneven()
    a = GaussianNB(class_weight={0: 2.0}).fit(x, y, sample_weight=w)
    b = GaussianNB().fit(x, y, sample_weight=np.where(y == 0, 2.0, 1.0) * w)
    assert a.tally_ == b.tally_
    b.set_params(class_weight={0: 2.0})  # a parameter that no row was counted with
    assert a != b
    assert a == GaussianNB(class_weight={0: 2.0}).fit(x, y, sample_weight=w)


# ---- what they are for ---------------------------------------------------------------------------
def rare(seed):
    """Rows to learn and to ask, and their labels, one in twenty of the second class."""
    x, y = make_classification(2000, 8, weights=[0.95], random_state=seed)
    return x[:1000], x[1000:], y[:1000], y[1000:]


def score(model, seed):
    """The balanced accuracy on fresh rows."""
    x, fresh, y, expected = rare(seed)
    return balanced_accuracy_score(expected, model.fit(x, y).predict(fresh))


@pytest.mark.parametrize("NB", [GaussianNB, WeightedNaiveBayes])
def test_balanced_weights_find_more_of_a_rare_class(NB):
    found, without = (
        np.mean([score(NB(class_weight=weight), seed) for seed in range(4)])
        for weight in ("balanced", None)
    )
    assert found > without + 0.03


def test_the_complement_model_has_no_prior_that_could_balance():
    x, y, _ = uneven()
    model = ComplementNB(class_weight=DICT).fit(x, y)
    np.testing.assert_allclose(
        np.exp(model.class_log_prior_), model.class_count_ / model.class_count_.sum()
    )
    other = model.with_class_prior([0.98, 0.01, 0.01])
    assert np.array_equal(other.predict_proba(x), model.predict_proba(x))


class _Shifted:
    """A mixin: scikit-learn's check draws negative numbers, which these classes refuse."""

    def fit(self, X, y):
        return super().fit(np.floor(X + 100.0), y)

    def predict(self, X):
        return super().predict(np.floor(X + 100.0))


@pytest.mark.parametrize(
    "NB", [MultinomialNB, BernoulliNB, CategoricalNB, ComplementNB], ids=lambda NB: NB.__name__
)
def test_the_check_of_scikit_learn_passes_on_numbers_that_are_counts(NB):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_class_weight_classifiers(NB.__name__, type(NB.__name__, (_Shifted, NB), {})())
