"""A document by itself: the numbers of the batch, and the counts of the vectorizer."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import tallybayes
from tallybayes import TextNB, set_num_threads
from tallybayes.errors import NegativeTally
from tallybayes.estimators.vectorizer import CountVectorizer

HAM = ["lunch at noon?", "see you at noon", "ok, see you", "Is lunch at one?", "語 at home"]
SPAM = ["cheap pills now", "buy cheap pills!", "win cash now!!!", "cheap cash", "", "Straße"]
DOCUMENTS, LABELS = (HAM + SPAM) * 9, (["ham"] * 5 + ["spam"] * 6) * 9
MODELS = [
    TextNB(**options).fit(DOCUMENTS, LABELS)
    for options in (
        {},
        {"ridge": False, "stop_words": ["at"]},
        {"n_features": 23, "stop_words": "english"},
        {"analyzer": "char_wb", "ngram_range": (2, 4), "strip_accents": "unicode"},
    )
]
MODELS.append(TextNB().fit(DOCUMENTS, np.arange(99) % 5))
some = st.lists(
    st.one_of(st.sampled_from([*HAM, *SPAM, "now you see lunch", "\0"]), st.text(max_size=9)),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("model", MODELS, ids=str)
@settings(deadline=None, max_examples=20)
@given(some)
def test_the_bits_of_the_batch(model, documents):
    for ask in (model.predict_proba, model.predict_log_proba, model.predict_joint_log_proba):
        set_num_threads(3)
        whole = ask(documents)
        set_num_threads(1)
        assert np.concatenate([ask([d]) for d in documents]).tobytes() == whole.tobytes()
        assert ask(tuple(documents)).tobytes() == whole.tobytes()
        assert ask([d.encode() for d in documents]).tobytes() == whole.tobytes()
    set_num_threads(None)
    assert [model.predict([d])[0] for d in documents] == model.predict(documents).tolist()


@pytest.mark.parametrize("model", MODELS, ids=str)
@settings(deadline=None, max_examples=20)
@given(some)
def test_the_counts_of_the_vectorizer(model, documents):
    tally, counter = model.tally_, model._counter
    rows = counter.rows(documents, tally)
    vectorizer = CountVectorizer(**counter.options)
    if model.n_features is None:
        expected = vectorizer.set_params(vocabulary=tally.terms.tolist()).transform(documents)
    else:
        expected = vectorizer.transform(documents)[:, tally.terms]
    found = np.zeros((len(documents), tally.n_terms), dtype=int)
    row = np.repeat(np.arange(len(documents)), np.diff(rows.indptr))
    found[row, rows.terms] = rows.counts
    assert found.tolist() == expected.toarray().tolist()
    assert (rows.counts > 0).all()


def test_probabilities_are_those_of_the_scores():
    for model in MODELS:
        scores = model.predict_joint_log_proba(DOCUMENTS[:11])
        expected = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_log_proba(DOCUMENTS[:11]), expected, atol=1e-12)
        np.testing.assert_allclose(model.predict_proba(DOCUMENTS[:11]), np.exp(expected))


def test_methods_for_one_document_are_those_for_several():
    for model in MODELS:
        for document, explained in zip(DOCUMENTS[:11], model.explain(DOCUMENTS[:11]), strict=True):
            assert model.predict_one(document) == model.predict([document])[0]
            shares = model.predict_proba([document])[0]
            assert model.predict_proba_one(document) == dict(
                zip(model.classes_.tolist(), shares.tolist(), strict=True)
            )
            assert str(explained) == repr(explained) == str(model.explain_one(document))
            assert explained.document == document


@pytest.mark.parametrize("options", [{"model": "multinomial"}, {"ridge": False}], ids=str)
def test_documents_are_learned_and_forgotten_one_by_one(options):
    several = TextNB(**options).fit(DOCUMENTS[:3], LABELS[:3])
    one = copy.deepcopy(several)
    weights = [1.0, 2.0, 0.5, 1.0] * 2
    rows = list(zip(DOCUMENTS[3:11], LABELS[3:11], weights, strict=True))
    documents, labels, _ = zip(*rows, strict=True)
    several.partial_fit(documents, labels, sample_weight=weights)
    for document, label, weight in rows:
        assert one.learn_one(document, label, weight) is one
    assert one == several
    assert one.learn_one("no weight", "spam", 0.0) == several
    for document, label, weight in rows:
        one.forget_one(document, label, weight)
    assert one == TextNB(**options).fit(DOCUMENTS[:3], LABELS[:3])
    first = TextNB(**options).learn_one(DOCUMENTS[0], LABELS[0])
    assert first == TextNB(**options).fit(DOCUMENTS[:1], LABELS[:1])


@pytest.mark.parametrize("analyzer", ["char", "char_wb"])
@pytest.mark.parametrize("ridge", [True, False])
def test_terms_may_end_in_nul(ridge, analyzer, tmp_path):
    ends = ["win\0", "\0", "see\0\0 you", "w\0in", "noon\0\0"] * 4
    documents, labels = [*DOCUMENTS, *ends], [*LABELS, *["spam", "ham"] * 10]
    options = {"analyzer": analyzer, "ngram_range": (1, 3), "ridge": ridge}
    model = TextNB(**options).fit(documents[:-8], labels[:-8])
    weighted = copy.deepcopy(model)
    for document, label in zip(documents[-8:], labels[-8:], strict=True):
        model.learn_one(document, label)
    live = np.array([list(model.predict_proba_one(d).values()) for d in documents])
    model.save(tmp_path / "m.tally")
    saved = tallybayes.load(tmp_path / "m.tally").predict_proba(documents)
    np.testing.assert_allclose(live, saved, atol=1e-12)
    batch = weighted.partial_fit(documents[-8:], labels[-8:]).predict_proba(documents)
    np.testing.assert_allclose(live, batch, atol=1e-12)


@pytest.mark.parametrize(
    ("document", "label", "weight", "message"),
    [
        ("a b", None, 1.0, "a label and a finite weight"),
        ("a b", float("nan"), 1.0, "a label and a finite weight"),
        ("a b", "spam", -1.0, "forget_one takes documents away"),
        ("a b", "spam", float("inf"), "finite weight"),
        (["a", "b"], "spam", 1.0, "document 0 is list"),
        (None, "spam", 1.0, "document 0 is a missing value"),
        ("a b", 3, 1.0, "cannot be joined"),
    ],
)
def test_a_document_that_cannot_be_learned_changes_nothing(document, label, weight, message):
    model = TextNB(model="multinomial").fit(DOCUMENTS, LABELS)
    before = copy.deepcopy(model)
    with pytest.raises(ValueError, match=message):
        model.learn_one(document, label, weight)
    assert model == before
    with pytest.raises(NegativeTally):
        model.forget_one("never seen", "ham", 1e3)
    assert model == before


def test_models_compare_by_content():
    assert clone(TextNB()) == TextNB() != TextNB(ridge=False)
    assert hash(TextNB()) == hash(MODELS[0])
    assert TextNB() != MODELS[0] != MODELS[1]
    for model in MODELS:
        again = copy.deepcopy(model)
        assert again == model == pickle.loads(pickle.dumps(model))
        assert again.partial_fit(["one more"], model.classes_[:1]) != model
