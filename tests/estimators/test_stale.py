"""What was learned on rows is stale while the counts differ from those it was learned with, and
no longer: an update that is forgotten again leaves it as it was."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes import NaiveBayes, TextNB, WeightedNaiveBayes, load
from tallybayes.errors import StaleWarning

rng = np.random.default_rng(3)
N = 60
X = pd.DataFrame({"n": rng.normal(size=N) * 0.1, "job": rng.choice(["cook", "smith"], N)})
Y = np.where(rng.random(N) < 0.2, rng.integers(0, 2, N), (X["job"] == "cook").to_numpy())
MORE, LABELS = X.iloc[:4].assign(job=["cook", "baker", "miller", "smith"]), Y[:4]
TEXTS = ["good day sun", "bad day rain", "sun and fun", "rain again"] * 15
OTHER_TEXTS = ["new sun", "rain and sun", "old rain", "sun"]

TABLES = {
    "temperature": NaiveBayes(calibrate="temperature").fit(X, Y),
    "isotonic": NaiveBayes(alpha="auto", calibrate="isotonic").fit(X, Y),
    "weighted": WeightedNaiveBayes().fit(X, Y),
}
OF_TEXTS = [1, 0, 1, 0] * 15
MODELS = TABLES | {"text": TextNB().fit(TEXTS, OF_TEXTS)}


def rows_of(name):
    """Rows that the model learned, and others."""
    return (TEXTS, OTHER_TEXTS) if name == "text" else (X, MORE)


def is_stale(model, rows):
    """Whether a prediction warns."""
    model = copy.copy(model)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        model.predict_proba(rows)
    assert {warning.category for warning in given} <= {StaleWarning}
    return bool(given)


@pytest.mark.parametrize("name", MODELS)
def test_it_is_as_it_was_when_the_counts_are(name, tmp_path):
    known, others = rows_of(name)
    fitted = MODELS[name]
    before = fitted.predict_proba(known)
    changed = copy.copy(fitted).partial_fit(others, LABELS)
    assert is_stale(changed, known)
    changed.save(tmp_path / "model.tally")
    for model in (changed, load(tmp_path / "model.tally")):
        model.forget(others, LABELS)
        assert not is_stale(model, known)
        assert model == fitted
        np.testing.assert_allclose(model.predict_proba(known), before, rtol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_row_by_row(name):
    known, others = rows_of(name)
    one = others[0] if name == "text" else others.iloc[0].to_dict()
    model = copy.copy(MODELS[name])
    model.predict_one(one)
    model.learn_one(one, LABELS[0])
    with pytest.warns(StaleWarning):
        model.predict_proba_one(one)
    model.forget_one(one, LABELS[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_proba_one(one)
    assert not is_stale(model, known)


def same(model, path):
    return model


def copied(model, path):
    return copy.copy(model)


def saved(model, path):
    model.save(path)
    return load(path)


@pytest.mark.parametrize("kept", [same, copied, saved])
@pytest.mark.parametrize("forget", ["forget", "forget_one"])
def test_few_documents_that_were_learned_before_a_copy_may_be_forgotten_after(
    kept, forget, tmp_path
):
    model = copy.copy(MODELS["text"]).partial_fit(OTHER_TEXTS[:1], LABELS[:1])
    model = kept(model, tmp_path / "model.tally")
    many = TEXTS * 8  # more than are counted in place
    model.partial_fit(many, OF_TEXTS * 8).forget(many, OF_TEXTS * 8)
    if forget == "forget":
        model.forget(OTHER_TEXTS[:1], LABELS[:1])
    else:
        model.forget_one(OTHER_TEXTS[0], LABELS[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_proba(TEXTS[:2])
    assert model == MODELS["text"]


@pytest.mark.parametrize("name", TABLES)
def test_other_levels_with_the_same_counts_are_other_counts(name):
    first, label = X.iloc[:1], Y[:1]
    model = copy.copy(MODELS[name]).forget(first, label)
    model.partial_fit(first.assign(job="zoo"), label)
    assert is_stale(model, X)


def test_what_went_with_a_term_is_not_what_was_learned():
    model = copy.copy(MODELS["text"]).forget(TEXTS[1::4], OF_TEXTS[1::4])
    assert "bad" not in model.tally_.terms.tolist()
    model.partial_fit(TEXTS[1::4], OF_TEXTS[1::4])
    assert is_stale(model, TEXTS)  # the coefficient of the term is gone


def test_half_the_counts_stay_stale():
    for name in TABLES:
        assert is_stale(copy.copy(MODELS[name]).decay(0.5), X)


@pytest.mark.parametrize("name", ["temperature", "weighted"])
@settings(max_examples=20)
@given(st.lists(st.integers(0, 5), max_size=6))
def test_it_is_stale_exactly_if_the_counts_differ(name, rows):
    """Rows that are learned if they are not counted a second time, and else forgotten again."""
    model, twice = copy.copy(MODELS[name]), set()
    for row in rows:
        one, label = X.iloc[[row]], Y[[row]]
        if row in twice:
            model.forget(one, label)
        else:
            model.partial_fit(one, label)
        twice ^= {row}
    assert is_stale(model, X) == bool(twice)
