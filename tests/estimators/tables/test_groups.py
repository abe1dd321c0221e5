"""Rows that belong together are left out together, wherever rows are left out."""

import inspect

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import GroupKFold, cross_val_score

import tallybayes
import tallybayes.plots
from tallybayes import GaussianNB, NaiveBayes, WeightedNaiveBayes, cross_validate, leave_one_out
from tallybayes.errors import DependentRowsWarning
from tallybayes.estimators.array_base import ArrayClassifier
from tallybayes.families import Gaussian
from tallybayes.weighted.rows import group_folds, label_correlation, of_groups

TIMES = 12


def customers(n, seed=0):
    """One row a customer: what is known of each, and a label that it predicts in part."""
    rng = np.random.default_rng(seed)
    x = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": rng.normal(3e4, 9e3, n).round(2),
            "plan": rng.choice(list("abc"), n),
        }
    )
    score = x["age"] / 10 + x["income"] / 9e3 + 2 * (x["plan"] == "a") + rng.normal(0, 1.5, n)
    return x, np.where(score > 8.5, "yes", "no")


def visits(n=300, seed=0, times=TIMES):
    """Several rows of each customer, at different hours; the customer of each."""
    x, y = customers(n, seed)
    rows = pd.concat([x] * times, ignore_index=True)
    rows["hour"] = np.random.default_rng(seed + 1).integers(0, 24, len(rows))
    return rows, np.tile(y, times), np.tile(np.arange(n), times)


X, Y, GROUPS = visits()
NEW, NEW_Y = customers(600, 5)
NEW["hour"] = np.random.default_rng(6).integers(0, 24, len(NEW))


def loss(model, x=NEW, y=NEW_Y):
    own = np.searchsorted(model.classes_, y)
    return -np.log(model.predict_proba(x)[np.arange(len(y)), own]).mean()


def test_the_figures_of_a_fit_are_those_of_new_groups():
    model = WeightedNaiveBayes().fit(X, Y, groups=GROUPS)
    one_each = WeightedNaiveBayes().fit(X[:300], Y[:300])
    assert abs(loss(model) - model.log_loss_) < 3.0 * model.log_loss_se_
    assert loss(model) < loss(one_each) + 0.05
    assert model.log_loss_se_ > 0.5 * one_each.log_loss_se_
    assert model.class_count_.sum() == len(Y)


def test_columns_that_identify_groups_are_named():
    with pytest.warns(DependentRowsWarning, match="'income' identifies groups of rows.*groups="):
        WeightedNaiveBayes().fit(X, Y)


@pytest.mark.parametrize("kind", ["string", "number"])
def test_a_column_that_predicts_the_label_identifies_no_groups(kind):
    """A number whose neighbours have the same label, and a level of few values."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 200, 2000)
    y = np.where(x + rng.normal(0, 9, 2000) > 90, "a", "b")
    found = x if kind == "number" else (x // 10).astype(str)
    WeightedNaiveBayes().fit(pd.DataFrame({"x": found, "z": rng.normal(size=2000)}), y)


def test_groups_of_one_row_change_nothing():
    x, y = customers(400)
    one = WeightedNaiveBayes().fit(x, y)
    other = WeightedNaiveBayes().fit(x, y, groups=np.random.default_rng(0).permutation(400))
    assert other.log_loss_ == one.log_loss_
    np.testing.assert_array_equal(other.predict_proba(x), one.predict_proba(x))


def test_the_order_of_rows_and_the_names_of_groups_change_no_bit():
    one = WeightedNaiveBayes().fit(X, Y, groups=GROUPS)
    order = np.random.default_rng(0).permutation(len(Y))
    named = np.array([f"c{999 - g}" for g in GROUPS])
    other = WeightedNaiveBayes().fit(X.iloc[order], Y[order], groups=named[order])
    np.testing.assert_array_equal(other.predict_proba(NEW), one.predict_proba(NEW))


@pytest.mark.parametrize(("kind", "rows"), [("copies", (50, 50)), ("independent", (970, 1000))])
def test_a_group_counts_as_its_independent_rows(kind, rows):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(50), 20)
    own = rng.integers(0, 2, 50)[groups] if kind == "copies" else rng.integers(0, 2, 1000)
    table = WeightedNaiveBayes().fit(X[:9], Y[:9])._table(X[:1000], ())
    weight = rng.random(1000) + 0.5
    found = of_groups(table, own, weight, groups)
    assert rows[0] <= len(found.rows) <= rows[1]
    total = np.bincount(groups[found.rows], found.weight)
    np.testing.assert_allclose(total, np.bincount(groups, weight))
    assert (label_correlation(own, weight, groups) > 0.9) == (kind == "copies")


def test_folds_are_of_whole_groups_and_hold_each_class_alike():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 80, 600).astype(np.uint64)
    y = (groups % 3 == 0).astype(np.int32)
    fold = group_folds(groups, y, 5, 1)
    assert all(len(set(fold[groups == g].tolist())) == 1 for g in set(groups.tolist()))
    assert np.ptp([y[fold == f].mean() for f in range(5)]) < 0.15


# ---- leave-one-out and cross-validation ----------------------------------------------------------
def test_leave_one_out_subtracts_the_whole_group():
    columns = {"age": Gaussian(), "income": Gaussian(), "hour": Gaussian()}
    x, y, groups = visits(25, times=3)
    model = NaiveBayes(columns).fit(x, y)
    found = leave_one_out(model, x, y, groups=groups)
    for g in range(25):
        others = groups != g
        expected = NaiveBayes(columns).fit(x[others], y[others]).predict_log_proba(x[~others])
        np.testing.assert_allclose(found[~others], expected, rtol=1e-9, atol=1e-12)


def test_leave_one_out_of_arrays_and_of_weighted_models():
    x, y, groups = visits(60)
    numbers = x[["age", "hour"]].to_numpy(dtype=float)
    found = leave_one_out(GaussianNB().fit(numbers, y), numbers, y, groups=groups)
    some = groups == 7
    expected = GaussianNB().fit(numbers[~some], y[~some]).predict_log_proba(numbers[some])
    np.testing.assert_allclose(found[some], expected, rtol=1e-7)
    model = WeightedNaiveBayes().fit(x, y, groups=groups)
    own = np.searchsorted(model.classes_, y)[:, None]
    alone = -np.take_along_axis(leave_one_out(model, x, y), own, 1).mean()
    assert alone < -np.take_along_axis(leave_one_out(model, x, y, groups=groups), own, 1).mean()


@pytest.mark.parametrize("folds", [5, GroupKFold(5)])
def test_cross_validation_holds_whole_groups_out(folds):
    model = NaiveBayes({"income": None})
    found = cross_validate(model, X, Y, folds, groups=GROUPS)
    own = np.searchsorted(["no", "yes"], Y)
    held_out = -found[np.arange(len(Y)), own].mean()
    fitted = NaiveBayes({"income": None}).fit(X, Y)
    assert abs(held_out - loss(fitted)) < 0.1


def test_folds_that_split_a_group_are_refused():
    with pytest.raises(ValueError, match=r"the rows of one group, such as those of row \d+"):
        cross_validate(NaiveBayes(), X, Y, np.arange(len(Y)) % 2, groups=GROUPS // 2)


def test_routed_groups_reach_the_fit():
    with sklearn.config_context(enable_metadata_routing=True):
        model = WeightedNaiveBayes().set_fit_request(groups=True)
        folds = GroupKFold(3)
        scores = cross_val_score(
            model, X, Y, cv=folds, params={"groups": GROUPS}, scoring="neg_log_loss"
        )
    assert abs(scores.mean() + loss(WeightedNaiveBayes().fit(X, Y, groups=GROUPS))) < 0.15


# ---- what else is chosen on rows -----------------------------------------------------------------
@pytest.mark.parametrize("alpha", [1.0, "auto"])
def test_smoothing_and_calibration_leave_groups_out(alpha):
    """Each customer's own level predicts its label, as long as other rows of it are counted."""
    x, y, groups = visits(200)
    x["customer"] = [f"c{g}" for g in groups]
    x = x.drop(columns=["income", "age"])
    rng = np.random.default_rng(9)
    new, new_y = x.iloc[:200].copy(), rng.permutation(y[:200])
    new["customer"] = "nobody"
    parameters = {"alpha": alpha, "calibrate": "temperature", "criterion": "loo_log_loss"}
    rows = NaiveBayes(**parameters).fit(x, y)
    together = NaiveBayes(**parameters).fit(x, y, groups=groups)
    assert together.class_count_.tolist() == rows.class_count_.tolist()
    assert loss(together, new, new_y) < loss(rows, new, new_y)
    again = NaiveBayes(**parameters).fit(x, y).recalibrate(x, y, groups=groups)
    np.testing.assert_allclose(again.predict_proba(new), together.predict_proba(new))


@pytest.mark.filterwarnings("ignore::tallybayes.errors.DependentRowsWarning")
def test_weights_are_learned_again_with_groups():
    whole = WeightedNaiveBayes().fit(X, Y, groups=GROUPS)
    again = WeightedNaiveBayes().fit(X, Y).reweight(X, Y, groups=GROUPS)
    counted = WeightedNaiveBayes().count_from(NaiveBayes().fit(X, Y), X, Y, groups=GROUPS)
    first = WeightedNaiveBayes().partial_fit(X, Y, groups=GROUPS)
    for model in (again, counted, first):
        np.testing.assert_array_equal(model.predict_proba(NEW), whole.predict_proba(NEW))
    short = whole.simplify(X, Y, 2, groups=GROUPS)
    assert loss(short) < loss(WeightedNaiveBayes().fit(X, Y))


def test_groups_may_be_a_column_of_the_rows(tmp_path):
    whole = WeightedNaiveBayes().fit(X, Y, groups=GROUPS)
    rows = X.assign(label=Y, customer=[f"{g:04}" for g in GROUPS])
    path = tmp_path / "visits.csv"
    rows.to_csv(path, index=False)
    for source in (rows, path):
        model = WeightedNaiveBayes().fit(source, "label", groups="customer")
        assert model.schema_["column"].tolist() == list(X.columns)
        np.testing.assert_allclose(model.predict_proba(NEW), whole.predict_proba(NEW), atol=1e-9)
        first = WeightedNaiveBayes().partial_fit(source, "label", groups="customer")
        np.testing.assert_array_equal(first.predict_proba(NEW), model.predict_proba(NEW))
        first.partial_fit(source, "label", groups="customer")
        assert first.schema_["column"].tolist() == list(X.columns)
        assert first.class_count_.sum() == 2 * len(Y)


# ---- what leaves rows out ------------------------------------------------------------------------
TAKES_NO_GROUPS = {
    "forget": "takes rows away",
    "score": "judges rows that are new",
    "ReliabilityDisplay.from_estimator": "draws what a model predicts of new rows",
    "DecisionRegionDisplay.from_estimator": "draws what a model predicts, and points",
    "ClassConditionalDisplay.from_estimator": "draws what a model says, and rows",
    "JointPlot.from_estimator": "draws what a model says, and rows",
    "JointPlot.from_predictions": "draws rows",
    "PairPlot.from_estimator": "draws what a model says, and rows",
    "PairPlot.from_predictions": "draws rows",
    "CostClassifier.fit": "hands what it is given to its model",
    "CostClassifier.partial_fit": "hands what it is given to its model",
    "Hierarchy.fit": "chooses by the evidence of counts, and leaves no row out",
    "Hierarchy.partial_fit": "counts",
    "MultiLabel.partial_fit": "counts; tune takes groups",
}
CHOOSE_NOTHING_ON_ROWS = ("fit", "partial_fit")  # of arrays


def methods_of_rows_and_labels():
    """Every public function and method that takes rows with labels: (owner, name, parameters)."""
    listed = [(name, getattr(tallybayes, name)) for name in tallybayes.__all__]
    listed += [(name, getattr(tallybayes.plots, name)) for name in tallybayes.plots.__all__]
    for name, public in listed:
        members = vars_of(public) if inspect.isclass(public) else [(name, public)]
        members = [member for member in members if callable(member[1])]
        for method, held in members:
            parameters = inspect.signature(held).parameters
            if {"X", "y"} <= parameters.keys():
                yield public, method, parameters


def vars_of(public):
    found = inspect.getmembers(public, callable)
    return [(name, held) for name, held in found if not name.startswith("_")]


def test_whatever_leaves_rows_out_takes_groups():
    found = set()
    for public, method, parameters in methods_of_rows_and_labels():
        of_arrays = inspect.isclass(public) and issubclass(public, ArrayClassifier)
        named = {method, f"{public.__name__}.{method}"} & TAKES_NO_GROUPS.keys()
        nothing = bool(named) or (of_arrays and method in CHOOSE_NOTHING_ON_ROWS)
        assert ("groups" in parameters) != nothing, (public, method)
        found.add(method)
    assert {"fit", "reweight", "recalibrate", "report", "leave_one_out", "cross_validate"} <= found


# ---- bad input -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (GROUPS[:-1], "groups is one value a row, and X has 3600 rows; got .* shape \\(3599,\\)"),
        (np.where(GROUPS == 7, np.nan, GROUPS), "groups has a missing value in row 7"),
        (
            np.where(GROUPS == 7, np.datetime64("NaT"), GROUPS.astype("datetime64[ns]")),
            "groups has a missing value in row 7",
        ),
    ],
)
def test_bad_groups_are_named_and_leave_the_model_as_it_was(groups, message):
    model = WeightedNaiveBayes().fit(X, Y, groups=GROUPS)
    before = model.predict_proba(NEW)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y, groups=groups)
    np.testing.assert_array_equal(model.predict_proba(NEW), before)


def test_a_source_without_the_column_or_a_group_is_named():
    rows = X.assign(label=Y, customer=[None, *GROUPS[1:].tolist()])
    with pytest.raises(ValueError, match="no column 'nobody', the group"):
        WeightedNaiveBayes().fit(rows, "label", groups="nobody")
    with pytest.raises(ValueError, match="row 0 has no value in 'customer', the column of groups"):
        WeightedNaiveBayes().fit(rows, "label", groups="customer")
    with pytest.raises(ValueError, match="groups is the name of a column where y is"):
        WeightedNaiveBayes().fit(rows, "label", groups=GROUPS)
