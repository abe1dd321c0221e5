"""A document by itself: the numbers of the batch, and the counts of the vectorizer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes import TextNB, set_num_threads
from tallybayes.estimators.text.count_vectorizer import CountVectorizer

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
