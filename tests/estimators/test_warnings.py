"""Warnings have a class for each cause, name the caller's line, and come once for each fit."""

import copy
import inspect
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tallybayes import (
    MultinomialNB,
    NaiveBayes,
    WeightedNaiveBayes,
    cross_validate,
    errors,
    leave_one_out,
    load,
)
from tallybayes.errors import (
    LeakWarning,
    LeftOutWarning,
    RareClassWarning,
    SmoothingWarning,
    StaleWarning,
    TallyWarning,
    UninformativeWarning,
    UnseenWarning,
)

N = 300
HERE = Path(__file__).name


@pytest.fixture(scope="module")
def rows():
    """A table with an identifier, a number that says something and a string that says nothing."""
    rng = np.random.default_rng(0)
    number = rng.normal(size=N)
    return pd.DataFrame(
        {"id": [f"u{i}" for i in range(N)], "number": number, "text": rng.choice(list("xyz"), N)}
    )


@pytest.fixture(scope="module")
def labels(rows):
    noise = np.random.default_rng(1).normal(size=N)
    return np.where(rows["number"] + noise > 0, "p", "q")


def given(action):
    """The warnings of an action, repeated ones too."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return caught


@pytest.mark.parametrize(
    "name", [n for n in errors.__all__ if inspect.isclass(vars(errors)[n]) and "Warning" in n]
)
def test_every_warning_is_a_tally_warning(name):
    assert issubclass(getattr(errors, name), TallyWarning)
    assert issubclass(TallyWarning, UserWarning)


# ---- a class for each cause ----------------------------------------------------------------------
def test_an_identifier_is_left_out_with_a_warning_of_its_class(rows, labels):
    for model in (NaiveBayes(), WeightedNaiveBayes()):
        with pytest.warns(LeftOutWarning, match="column 'id'"):
            model.fit(rows, labels).predict(rows)


def test_one_cause_can_be_silenced(rows, labels):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOutWarning)
        model = NaiveBayes().fit(rows, labels)
        model.predict(rows)
        with pytest.raises(UnseenWarning):  # any other is an error here
            model.predict(rows.assign(text="new"))


def test_rows_for_the_weighted_model_have_classes_of_warnings():
    rng = np.random.default_rng(2)
    coin = rng.choice(["heads", "tails"], 200)
    noise = pd.DataFrame({"noise": rng.choice(list("ab"), 200)})
    with pytest.warns(UninformativeWarning):
        WeightedNaiveBayes().fit(noise, coin)
    with pytest.warns(LeakWarning, match="copy"):
        WeightedNaiveBayes().fit(pd.DataFrame({"copy": coin}), coin)
    few = np.where(np.arange(200) < 2, "rare", coin)
    caught = given(lambda: WeightedNaiveBayes().fit(noise, few))
    assert RareClassWarning in {w.category for w in caught}


def test_alpha_that_is_raised_has_a_class_of_warnings():
    with pytest.warns(SmoothingWarning):
        MultinomialNB(alpha=0.0, force_alpha=False).fit([[1.0, 2.0], [0.0, 3.0]], [0, 1])


# ---- the caller's line ---------------------------------------------------------------------------
def test_a_warning_names_the_line_of_the_caller(rows, labels):
    caught = given(lambda: WeightedNaiveBayes().fit(rows, labels))
    line = inspect.currentframe().f_lineno - 1
    assert [(Path(w.filename).name, w.lineno) for w in caught] == [(HERE, line)]


@pytest.mark.parametrize(
    "ask",
    [
        lambda model, x, y: make_pipeline(FunctionTransformer(), model).fit(x, y).predict(x),
        lambda model, x, y: cross_val_score(model, x, y, cv=3),
        lambda model, x, y: cross_val_predict(make_pipeline(model), x, y, cv=3),
        lambda model, x, y: GridSearchCV(model, {"class_alpha": [1.0]}, cv=3).fit(x, y),
    ],
    ids=["pipeline", "cross_val_score", "cross_val_predict", "grid search"],
)
def test_scikit_learn_between_does_not_hide_the_caller(rows, labels, ask):
    caught = given(lambda: ask(NaiveBayes(), rows, labels))
    assert caught
    assert {(w.category, Path(w.filename).name) for w in caught} == {(LeftOutWarning, HERE)}


def test_a_worker_without_the_callers_frames_still_warns(rows, labels):
    from joblib import Parallel, delayed

    def fit():
        return WeightedNaiveBayes().fit(rows, labels)

    caught = given(lambda: Parallel(2, backend="threading")(delayed(fit)() for _ in range(2)))
    assert {w.category for w in caught} == {LeftOutWarning}


# ---- once for each fit ---------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [NaiveBayes, WeightedNaiveBayes])
def test_one_fit_warns_once_however_often_it_is_asked(rows, labels, kind):
    model = kind()

    def ask():
        model.fit(rows, labels)
        for _ in range(3):
            model.predict(rows)
            _ = model.schema_

    assert [w.category for w in given(ask)] == [LeftOutWarning]
    assert [w.category for w in given(ask)] == [LeftOutWarning]  # another fit


def test_folds_do_not_repeat_a_warning(rows, labels):
    model = NaiveBayes().fit(rows, labels)
    assert [w.category for w in given(lambda: cross_validate(model, rows, labels))] == [
        LeftOutWarning
    ]
    assert len(given(lambda: leave_one_out(model, rows, labels))) == 1


def test_rows_one_by_one_do_not_repeat_a_warning(rows, labels):
    records = rows.to_dict("records")
    for model, category in (
        (NaiveBayes(), LeftOutWarning),
        (NaiveBayes(columns={"id": None}, calibrate="temperature"), StaleWarning),
        (WeightedNaiveBayes(columns={"id": None}), StaleWarning),
    ):
        model.fit(rows, labels)

        def ask(model=model):
            for i, row in enumerate(records[:5]):
                model.learn_one({**row, "id": f"v{i}"}, labels[i])
                model.predict_one(row)

        assert [w.category for w in given(ask)] == [category]


def test_columns_of_new_levels_are_warned_of_once_each(rows, labels):
    model = NaiveBayes(columns={"id": None}).fit(rows.assign(other=rows["text"]), labels)
    asked = rows.assign(text="new", other="new")
    caught = given(lambda: [model.predict(asked), model.predict_proba(asked)])
    assert [w.category for w in caught] == [UnseenWarning, UnseenWarning]


def test_choosing_again_renews_the_warning(rows, labels):
    model = NaiveBayes(columns={"id": None}, calibrate="temperature").fit(rows, labels)
    for _ in range(2):
        model.partial_fit(rows[:20], labels[:20])
        assert [w.category for w in given(lambda: model.predict(rows))] == [StaleWarning]
        model.recalibrate(rows, labels)
        assert not given(lambda: model.predict(rows))


def test_a_copy_and_a_file_warn_for_themselves(rows, labels, tmp_path):
    model = NaiveBayes(columns={"id": None}, calibrate="temperature").fit(rows, labels)
    model.partial_fit(rows[:20], labels[:20])
    first, second = copy.copy(model), copy.deepcopy(model)
    model.save(tmp_path / "model.tally")
    for one in (first, second, model, load(tmp_path / "model.tally")):
        assert len(given(lambda one=one: one.predict(rows))) == 1


def test_a_warning_that_is_an_error_is_raised_again(rows, labels):
    model = NaiveBayes().fit(rows, labels)
    for _ in range(2):
        with pytest.raises(LeftOutWarning):  # the suite turns warnings into errors
            model.predict(rows)
