"""The five inside scikit-learn's own tools."""

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_wine
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OrdinalEncoder
from sklearn.utils.validation import check_is_fitted

from estimators.cases import DISCRETE, PROMISED, every, peer, rows
from tallybayes import CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

X, Y = load_wine(return_X_y=True)
NAMES = np.array(["barolo", "grignolino", "barbera"])
DOCUMENTS = [
    "green tea",
    "black tea",
    "black coffee",
    "white coffee",
    "green tea leaf",
    "coffee bean",
]
DRINKS = ["tea", "tea", "coffee", "coffee", "tea", "coffee"]


def pipeline(NB):
    """Steps that give an estimator what it reads."""
    if NB is CategoricalNB:
        bins = KBinsDiscretizer(5, encode="ordinal", strategy="uniform")
        return make_pipeline(bins, NB(min_categories=5))
    return make_pipeline(MinMaxScaler(clip=True), NB())


@every()
def test_a_pipeline_scores_as_with_scikit_learns_class(NB):
    mine = pipeline(NB)
    theirs = make_pipeline(
        mine[0], peer(NB)(**({"min_categories": 5} if NB is CategoricalNB else {}))
    )
    scores = cross_val_score(mine, X, NAMES[Y], cv=5)
    np.testing.assert_allclose(scores, cross_val_score(theirs, X, NAMES[Y], cv=5), rtol=1e-12)
    assert scores.mean() > 0.35


@every(*DISCRETE)
def test_a_grid_search_over_alpha_finds_what_scikit_learns_class_finds(NB):
    grid = {f"{NB.__name__.lower()}__alpha": [1e-3, 0.1, 1.0, 30.0]}
    mine = GridSearchCV(pipeline(NB), grid, cv=4, scoring="neg_log_loss").fit(X, Y)
    theirs = pipeline(NB)
    theirs.steps[1] = (
        theirs.steps[1][0],
        peer(NB)(**{"min_categories": 5} if NB is CategoricalNB else {}),
    )
    theirs = GridSearchCV(theirs, grid, cv=4, scoring="neg_log_loss").fit(X, Y)
    assert mine.best_params_ == theirs.best_params_
    np.testing.assert_allclose(
        mine.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-7
    )


def test_a_grid_search_over_gaussian_smoothing_in_two_threads():
    grid = {"var_smoothing": [1e-9, 1e-3, 1.0], "var_smoothing_of": ["largest", "feature"]}
    alone = GridSearchCV(GaussianNB(), grid, cv=3).fit(X, Y)
    with joblib.parallel_config("threading", n_jobs=2):
        together = GridSearchCV(GaussianNB(), grid, cv=3).fit(X, Y)
    assert alone.best_score_ > 0.95
    assert (
        alone.cv_results_["mean_test_score"].tolist()
        == together.cv_results_["mean_test_score"].tolist()
    )


@every()
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities_can_be_calibrated(NB, method):
    model = CalibratedClassifierCV(pipeline(NB), method=method, cv=3).fit(X, NAMES[Y])
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.score(X, NAMES[Y]) > 0.5


@every()
def test_ensembles_and_one_against_the_rest(NB):
    x, y = rows(n=120)
    for tool in (
        BaggingClassifier(NB(), n_estimators=3, random_state=0),
        OneVsRestClassifier(NB()),
        VotingClassifier([("a", NB()), ("b", NB(class_alpha=1.0))], voting="soft"),
    ):
        assert tool.fit(x, y).score(x, y) > 0.4


@every()
def test_permutation_importance(NB):
    x, y = rows(n=200)
    importance = permutation_importance(NB().fit(x, y), x, y, n_repeats=3, random_state=0)
    assert importance.importances_mean.max() > 0.0


@pytest.mark.parametrize("NB", [MultinomialNB, ComplementNB])
def test_texts_are_classified_through_a_vectorizer(NB):
    model = make_pipeline(CountVectorizer(), NB()).fit(DOCUMENTS, DRINKS)
    assert model.predict(["tea leaf", "coffee"]).tolist() == ["tea", "coffee"]
    search = GridSearchCV(model, {f"{NB.__name__.lower()}__alpha": [0.1, 1.0]}, cv=2)
    assert search.fit(DOCUMENTS, DRINKS).best_score_ >= 0.5


def test_categories_are_classified_through_an_encoder():
    frame = pd.DataFrame({"sky": ["sun", "rain", "sun", "rain"], "n": [1, 2, 3, 4]})
    plans = ["out", "in", "out", "in"]
    encode = OrdinalEncoder(dtype=np.int64).set_output(transform="pandas")
    columns = ColumnTransformer([("code", encode, ["sky"])], verbose_feature_names_out=False)
    columns.set_output(transform="pandas")
    model = make_pipeline(columns, CategoricalNB()).fit(frame, plans)
    assert model[-1].feature_names_in_.tolist() == ["sky"]
    assert model.predict(frame).tolist() == plans


@every()
def test_it_says_what_it_is(NB):
    import sklearn.base

    model = NB()
    assert sklearn.base.is_classifier(model)
    tags, theirs = model.__sklearn_tags__(), peer(NB)().__sklearn_tags__()
    assert tags.target_tags == theirs.target_tags
    assert tags.input_tags.positive_only == theirs.input_tags.positive_only
    assert tags.input_tags.categorical == theirs.input_tags.categorical or not PROMISED
    assert tags.input_tags.sparse  # GaussianNB and CategoricalNB too
    assert not tags.array_api_support  # which promises to refuse rows of another library
    with pytest.raises(sklearn.exceptions.NotFittedError):
        check_is_fitted(model)
    check_is_fitted(model.fit(*rows()))


@every()
def test_it_shows_itself(NB):
    model = NB(class_alpha=2.0)
    assert repr(model) == f"{NB.__name__}(class_alpha=2.0)"
    assert NB.__name__ in model.fit(*rows())._repr_html_()


@every()
def test_parameters_are_those_of_scikit_learn_and_more(NB):
    mine, theirs = NB().get_params(), peer(NB)().get_params()
    assert mine.items() >= theirs.items()
    assert set(mine) - set(theirs) <= {
        "class_alpha",
        "class_weight",
        "levels",
        "non_integer",
        "unseen",
        "var_smoothing_of",
    }


@every()
def test_methods_are_those_of_scikit_learn_and_more(NB):
    def public(cls):
        return {name for name in dir(cls) if not name.startswith("_")}

    assert public(NB) >= {n for n in public(peer(NB)) if not n.startswith("set_")}
    assert {
        "forget",
        "merge",
        "with_class_prior",
        "save",
        "tally_",
        "probability_tables_",
    } <= public(NB)
