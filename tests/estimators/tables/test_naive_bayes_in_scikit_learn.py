"""NaiveBayes inside scikit-learn's tools, with tables whose columns are strings, numbers and
missing values."""

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.validation import check_is_fitted

from tallybayes import NaiveBayes
from tallybayes.families import Binned, Categorical, Gaussian

N = 300
RNG = np.random.default_rng(2)
Y = RNG.choice(["beer", "tea", "wine"], N, p=[0.4, 0.35, 0.25])
K = np.searchsorted(["beer", "tea", "wine"], Y)
X = pd.DataFrame(
    {
        "age": np.array([25.0, 45.0, 60.0])[K] + RNG.normal(0, 8, N).round(1),
        "visits": RNG.poisson(np.array([4, 1, 2])[K]),
        "town": np.array([list("aab"), list("abc"), list("bcc")])[K, RNG.integers(0, 3, N)],
        "member": RNG.random(N) < np.array([0.2, 0.8, 0.5])[K],
    }
)
X.loc[RNG.random(N) < 0.1, "age"] = np.nan
X.loc[RNG.random(N) < 0.1, "town"] = None
STRINGS = {
    "str": X,
    "pyarrow": X.astype({"town": pd.ArrowDtype(pa.string())}),
    "category": X.astype({"town": "category"}),
}
EVERY_STRING = pytest.mark.parametrize("x", STRINGS.values(), ids=STRINGS)
EXPECTED = NaiveBayes().fit(X, Y).predict_proba(X)
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


def by_hand():
    """Accuracy on each of the folds."""
    scores = []
    for train, test in FOLDS.split(X, Y):
        model = NaiveBayes().fit(X.iloc[train], Y[train])
        scores.append(model.score(X.iloc[test], Y[test]))
    return scores


@EVERY_STRING
def test_cross_val_score_is_fitting_and_scoring_by_hand(x):
    scores = cross_val_score(NaiveBayes(), x, Y, cv=FOLDS)
    assert scores.tolist() == by_hand()
    assert scores.mean() > 0.7


@pytest.mark.parametrize(
    "frame",
    [pl.from_pandas, lambda t: t.to_numpy(dtype=object), lambda t: t.to_dict("records")],
    ids=["polars", "array of objects", "dicts"],
)
def test_cross_validation_of_other_tables(frame):
    assert cross_val_score(NaiveBayes(), frame(X), Y, cv=FOLDS).tolist() == by_hand()


@EVERY_STRING
@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba"])
def test_cross_val_predict(x, method):
    got = cross_val_predict(NaiveBayes(), x, Y, cv=FOLDS, method=method)
    train, test = next(FOLDS.split(X, Y))
    expected = getattr(NaiveBayes().fit(X.iloc[train], Y[train]), method)(X.iloc[test])
    assert got[test].tolist() == expected.tolist()


def test_cross_validate_passes_weights():
    w = RNG.integers(1, 4, N)
    got = cross_validate(
        NaiveBayes(), X, Y, cv=FOLDS, params={"sample_weight": w}, return_estimator=True
    )
    for (train, _), model in zip(FOLDS.split(X, Y), got["estimator"], strict=True):
        counts = [w[train][Y[train] == label].sum() for label in model.classes_]
        assert model.class_count_.tolist() == counts


# ---- search ----
@EVERY_STRING
def test_a_grid_search_over_columns_gaps_and_smoothing(x):
    grid = {
        "columns": ["auto", {"age": Gaussian()}, {"age": Binned(bins=4)}, {"town": None}],
        "missing": ["ignore", "level"],
        "alpha": [0.5, 2.0],
    }
    search = GridSearchCV(NaiveBayes(), grid, cv=FOLDS, scoring="neg_log_loss").fit(x, Y)
    assert search.best_params_["columns"] != {"town": None}
    best = NaiveBayes(**search.best_params_).fit(x, Y)
    assert search.predict_proba(x).tolist() == best.predict_proba(x).tolist()
    assert search.feature_names_in_.tolist() == list(X)


def test_a_grid_search_in_two_threads_is_that_in_one():
    grid = {"alpha": [0.1, 1.0, 10.0]}
    alone = GridSearchCV(NaiveBayes(), grid, cv=FOLDS).fit(X, Y)
    with joblib.parallel_config("threading", n_jobs=2):
        together = GridSearchCV(NaiveBayes(), grid, cv=FOLDS).fit(X, Y)
    key = "mean_test_score"
    assert alone.cv_results_[key].tolist() == together.cv_results_[key].tolist()


def test_a_clone_has_equal_parameters_and_no_counts():
    model = NaiveBayes({"age": Gaussian(ddof=1)}, alpha=0.5, classes=["cider"]).fit(X, Y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    with pytest.raises(sklearn.exceptions.NotFittedError):
        check_is_fitted(copy)
    check_is_fitted(model)
    assert is_classifier(model)


# ---- pipelines and column transformers ----
@EVERY_STRING
@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_behind_a_column_transformer_with_names(x, output):
    """Gaussians do not mind a linear change of a column; names come from the transformer."""
    scale = ColumnTransformer(
        [("scaled", StandardScaler(), ["age"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform=output)
    columns = {"age": Gaussian(var_smoothing=0.0)}
    model = make_pipeline(scale, NaiveBayes(columns)).fit(x, Y)
    assert model[-1].feature_names_in_.tolist() == ["age", "visits", "town", "member"]
    families = dict(zip(*model[-1].schema_[["column", "family"]].to_numpy().T, strict=True))
    assert families["town"] == "categorical, 3 levels"
    expected = NaiveBayes(columns).fit(x, Y).predict_proba(x)
    np.testing.assert_allclose(model.predict_proba(x), expected, rtol=1e-9)


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_set_output_of_a_whole_pipeline(output):
    pipeline = make_pipeline(
        FunctionTransformer(lambda t: t, feature_names_out="one-to-one"), NaiveBayes()
    ).set_output(transform=output)
    x = X if output == "pandas" else pl.from_pandas(X)
    assert pipeline.fit(x, Y).predict_proba(x).tolist() == EXPECTED.tolist()
    assert pipeline[-1].feature_names_in_.tolist() == list(X)
    with sklearn.config_context(transform_output=output):
        assert isinstance(NaiveBayes().fit(X, Y).predict_proba(X), np.ndarray)


def test_behind_a_column_transformer_without_names():
    """Its output is then an array of objects, whose columns are numbered."""
    parts = [
        ("numbers", SimpleImputer(), make_column_selector(dtype_include="number")),
        ("rest", "passthrough", ["town", "member"]),
    ]
    model = make_pipeline(ColumnTransformer(parts), NaiveBayes()).fit(X, Y)
    assert not hasattr(model[-1], "feature_names_in_")
    assert model[-1].schema_["column"].tolist() == ["0", "1", "2", "3"]
    assert model[-1].schema_["holds"].tolist() == ["numbers", "numbers", "strings", "strings"]
    assert model.score(X, Y) > 0.7


def test_as_a_step_that_is_searched_and_cut_off():
    pick = ColumnTransformer([("keep", "passthrough", ["age", "town"])])
    pick.set_output(transform="pandas")
    model = make_pipeline(pick, NaiveBayes())
    grid = {
        "naivebayes__alpha": [0.1, 1.0],
        "columntransformer__keep": ["passthrough", FeatureUnion([("same", "passthrough")])],
    }
    search = GridSearchCV(model, grid, cv=2, error_score="raise")
    best = search.fit(X, Y).best_estimator_
    assert len(best[:-1].get_feature_names_out()) == 2
    assert best[-1].n_features_in_ == 2


# ---- ensembles and calibration ----
@EVERY_STRING
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration(x, method):
    model = CalibratedClassifierCV(NaiveBayes(), method=method, cv=FOLDS).fit(x, Y)
    np.testing.assert_allclose(model.predict_proba(x).sum(axis=1), 1.0)
    assert model.score(x, Y) > 0.7
    assert model.feature_names_in_.tolist() == list(X)


def test_calibration_of_a_model_that_is_trained_already():
    model = CalibratedClassifierCV(FrozenEstimator(NaiveBayes().fit(X, Y))).fit(X, Y)
    assert model.score(X, Y) > 0.7


@EVERY_STRING
def test_soft_voting_of_one_model_twice_is_that_model(x):
    model = VotingClassifier([("a", NaiveBayes()), ("b", NaiveBayes())], voting="soft").fit(x, Y)
    np.testing.assert_allclose(model.predict_proba(x), EXPECTED, rtol=1e-12)
    hard = VotingClassifier([("a", NaiveBayes()), ("b", NaiveBayes())]).fit(x, Y)
    assert hard.predict(x).tolist() == NaiveBayes().fit(x, Y).predict(x).tolist()


@pytest.mark.parametrize(
    "tool",
    [
        StackingClassifier(
            [("a", NaiveBayes()), ("b", NaiveBayes(missing="level"))],
            final_estimator=NaiveBayes(),
            cv=3,
        ),
        OneVsRestClassifier(NaiveBayes()),
    ],
    ids=lambda tool: type(tool).__name__,
)
def test_tools_that_pass_frames_on(tool):
    assert tool.fit(X, Y).score(X, Y) > 0.7


def test_bagging_hands_rows_on_as_arrays():
    bag = BaggingClassifier(NaiveBayes(), n_estimators=3, random_state=0)
    numbers = X[["age", "visits"]]
    assert bag.fit(numbers, Y).score(numbers, Y) > 0.6


def test_a_tuned_threshold():
    yes = Y == "tea"
    tuned = TunedThresholdClassifierCV(NaiveBayes(), scoring="f1", cv=FOLDS).fit(X, yes)
    assert tuned.score(X, yes) > 0.7


@EVERY_STRING
def test_permutation_importance_of_texts(x):
    model = NaiveBayes({"town": Categorical()}).fit(x, Y)
    got = permutation_importance(model, x, Y, n_repeats=3, random_state=0).importances_mean
    assert got.shape == (4,)
    assert (got > 0).all()


# ---- names ----
@pytest.mark.parametrize("frame", [lambda t: t, pl.from_pandas, pa.Table.from_pandas])
def test_feature_names(frame):
    model = NaiveBayes().fit(frame(X), Y)
    assert model.feature_names_in_.tolist() == list(X)
    assert model.feature_names_in_.dtype == object
    assert model.n_features_in_ == 4
    model.partial_fit(frame(X[X.columns[::-1]]), Y)  # columns are joined by name
    assert model.feature_names_in_.tolist() == list(X)


def test_it_shows_itself():
    model = NaiveBayes({"age": None}, alpha=2.0)
    assert repr(model) == "NaiveBayes(alpha=2.0, columns={'age': None})"
    assert "NaiveBayes" in model.fit(X, Y)._repr_html_()
    tags = model.__sklearn_tags__()
    assert (tags.input_tags.allow_nan, tags.input_tags.string, tags.input_tags.categorical) == (
        True,
        True,
        True,
    )
