"""Bad documents, labels and options raise what scikit-learn raises, with a message that teaches.

TextNB takes documents without a single term, where scikit-learn has an empty vocabulary: it merges
with others, and predicts the class shares. n-grams of less than one token are refused everywhere.
"""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.feature_extraction.text import CountVectorizer as Peer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from tallybayes import NaiveBayes, TextNB
from tallybayes.families import Text
from tallybayes.text import CountVectorizer, TermWeighting

DOCUMENTS = ["good film", "bad film", "good one", "bad one"]
LABELS = ["a", "b", "a", "b"]
BAD = {
    "None": (["a b", None, "c", "d"], "document 1 is a missing value"),
    "NaN": (["a b", np.nan, "c", "d"], "document 1 is a missing value"),
    "number": (["a b", 3, "c", "d"], "document 1 is int 3"),
    "list": ([["a"], ["b"], ["c"], ["d"]], "document 0 is list"),
    "bytes": ([b"a b", b"\xff", b"c", b"d"], "document 1: decode it"),
    "one string": ("good film", "list"),
    "no sequence": (3, "iterable|make a list"),
}
OPTIONS = [
    ({"ngram_range": (2, 1)}, "ngram_range"),
    ({"ngram_range": (1,)}, "two"),
    ({"ngram_range": 3}, "ngram_range"),
    ({"ngram_range": (1.5, 2)}, "whole numbers"),
    ({"ngram_range": ("1", 2)}, "whole numbers"),
    ({"min_df": 0}, "min_df"),
    ({"min_df": -1}, "min_df"),
    ({"min_df": 5}, "raise max_df or lower min_df"),
    ({"min_df": 3, "max_df": 2}, "raise max_df or lower min_df"),
    ({"max_df": 0}, "max_df"),
    ({"max_df": 1.5}, "max_df"),
    ({"max_features": 0}, "max_features"),
    ({"stop_words": "german"}, "stop_words"),
    ({"analyzer": "nope"}, "analyzer"),
    ({"token_pattern": "("}, r"token_pattern='\('.*subpattern"),
    ({"token_pattern": "(a)(b)"}, "single group"),
    ({"strip_accents": "x"}, "strip_accents"),
    ({"lowercase": "yes"}, "lowercase"),
    ({"vocabulary": []}, "empty vocabulary"),
    ({"vocabulary": {"a": 1}}, "index 0"),
    ({"vocabulary": ["a", "a"]}, "Duplicate"),
]
OF_COUNTS = {"min_df", "max_df", "max_features", "vocabulary"}


def _pipeline():
    return make_pipeline(Peer(), MultinomialNB())


def _type_of(call):
    with pytest.raises(Exception) as found:  # noqa: PT011 (its type is the result)
        call()
    return found.type


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("model", ["weighted", "multinomial", "complement", "bernoulli"])
def test_documents_that_are_refused(what, model):
    bad, words = BAD[what]
    fitted, peer = TextNB(model=model, ridge=False).fit(DOCUMENTS, LABELS), _pipeline()
    before = pickle.dumps(fitted)
    expected = _type_of(lambda: peer.fit(bad, LABELS))
    for call in (fitted.fit, fitted.partial_fit, fitted.forget):
        with pytest.raises(expected, match=words):
            call(bad, LABELS)
    peer.fit(DOCUMENTS, LABELS)
    with pytest.raises(_type_of(lambda: peer.predict(bad)), match=words):
        fitted.predict(bad)
    assert pickle.dumps(fitted) == before


@pytest.mark.parametrize("what", BAD)
def test_documents_that_a_vectorizer_refuses(what):
    bad, words = BAD[what]
    vectorizer = CountVectorizer().fit(DOCUMENTS)
    before = dict(vectorizer.vocabulary_)
    expected = _type_of(lambda: Peer().fit(bad))
    for call in (vectorizer.fit, vectorizer.transform):
        with pytest.raises(expected, match=words):
            call(bad)
    assert vectorizer.vocabulary_ == before


@pytest.mark.parametrize(("options", "words"), OPTIONS, ids=str)
def test_options_that_are_refused(options, words):
    expected = _type_of(lambda: Peer(**options).fit(DOCUMENTS))
    with pytest.raises(expected, match=words):
        CountVectorizer(**options).fit(DOCUMENTS)
    if not OF_COUNTS & options.keys():
        with pytest.raises(expected, match=words):
            TextNB(**options).fit(DOCUMENTS, LABELS)
        with pytest.raises((ValueError, TypeError), match=re.escape(next(iter(options)))):
            Text(**options)


@pytest.mark.parametrize("documents", [[""] * 4, ["a"] * 4, []], ids=str)
def test_an_empty_vocabulary(documents):
    expected = _type_of(lambda: Peer().fit(documents))
    with pytest.raises(expected, match=r"empty vocabulary.*Give documents"):
        CountVectorizer().fit(documents)


@pytest.mark.parametrize("least", [0, -1])
def test_n_grams_of_no_token_are_refused(least):
    for make in (CountVectorizer, TextNB, Text):
        with pytest.raises(ValueError, match="from 1"):
            make(ngram_range=(least, 2)).fit(DOCUMENTS, LABELS)


@pytest.mark.parametrize("labels", [LABELS[:2], None, [1.0, 2.0, np.nan, 1.0]], ids=str)
def test_labels_that_are_refused(labels):
    expected = _type_of(lambda: _pipeline().fit(DOCUMENTS, labels))
    with pytest.raises(expected, match="label"):
        TextNB().fit(DOCUMENTS, labels)


def test_no_documents_at_all():
    for call in (lambda m: m.fit([], []), lambda m: m.fit(DOCUMENTS, LABELS).predict([])):
        with pytest.raises(ValueError, match="give at least one"):
            call(TextNB())


@pytest.mark.parametrize("documents", [{"a": 1}, {"a", "b"}, iter(DOCUMENTS)], ids=type)
def test_documents_without_an_order_are_refused(documents):
    with pytest.raises(TypeError, match="make a list"):
        TextNB().fit(documents, LABELS)


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table, pd.DataFrame, pa.record_batch])
def test_a_frame_is_no_column_of_documents(make):
    frame = make({"body": DOCUMENTS})
    with pytest.raises(ValueError, match=r"shape \(4, 1\): give one column"):
        TextNB().fit(frame, LABELS)
    with pytest.raises(TypeError, match=f"got a {type(frame).__name__}: give one column"):
        CountVectorizer().fit(frame)


@pytest.mark.parametrize("column", [pl.Series([1, 2]), pa.array([1, 2]), pa.array([[1], [2]])])
def test_a_column_of_other_values_is_named_by_its_type(column):
    for call in (CountVectorizer().fit, lambda x: TextNB().fit(x, ["a", "b"])):
        with pytest.raises(TypeError, match=r"got a column of (Int64|int64|list).*cast"):
            call(column)


def test_a_token_pattern_without_words_is_warned_of():
    for analyzer in ("char", str.split):
        with pytest.warns(UserWarning, match="is not used.*analyzer='word'"):
            TextNB(analyzer=analyzer, token_pattern=r"\w+").fit(DOCUMENTS, LABELS)


@pytest.mark.parametrize("model", ["weighted", "multinomial", "complement", "bernoulli"])
def test_one_class_is_certain(model):
    found = TextNB(model=model).fit(DOCUMENTS, ["a"] * 4)
    peer = _pipeline().fit(DOCUMENTS, ["a"] * 4)
    assert found.predict_proba(DOCUMENTS).tolist() == peer.predict_proba(DOCUMENTS).tolist()


def test_a_label_that_was_never_counted():
    model = TextNB(ridge=False).fit(DOCUMENTS, LABELS)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="class 'z'"):
        model.forget(DOCUMENTS[:1], ["z"])
    assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    ("x", "words"),
    [
        ([[-1.0, 2.0]], "Negative values"),
        ([[np.nan, 2.0]], "NaN"),
        ([["a"]], "could not convert"),
        ([1.0, 2.0], "2D array"),
        (np.zeros((0, 3)), "0 sample"),
    ],
    ids=str,
)
def test_counts_that_term_weighting_refuses(x, words):
    with pytest.raises(ValueError, match=words):
        TermWeighting().fit_transform(x)


@pytest.mark.parametrize("value", [["a"], {"a": 1}], ids=repr)
def test_values_of_a_text_column_that_are_refused(value):
    model = NaiveBayes({"t": Text()}).fit([{"t": d} for d in DOCUMENTS], LABELS)
    before = pickle.dumps(model)
    with pytest.raises((TypeError, ValueError), match="'t'"):
        model.partial_fit([{"t": "fine"}, {"t": value}], ["a", "b"])
    assert pickle.dumps(model) == before


def test_a_long_document():
    long = "good film " * 200_000  # 2 MB
    model = TextNB(ridge=False, ngram_range=(1, 2)).fit([long, "bad film"], ["a", "b"])
    assert np.isfinite(model.predict_proba([long, "bad"])).all()
    assert model.tally_.terms.tolist() == [
        "bad",
        "bad film",
        "film",
        "film good",
        "good",
        "good film",
    ]
    row = CountVectorizer().fit_transform([long])
    assert row.toarray().tolist() == [[200_000, 200_000]]
