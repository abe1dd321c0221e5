"""The classifier of documents: its counts, predictions, weights and explanations."""

import copy
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from tallybayes import TextNB, load
from tallybayes.errors import IncompatibleTallies, InvalidDocument, NegativeTally, StaleWarning
from tallybayes.weighted.documents import BinWeights

HAM = ["lunch at noon?", "see you at noon", "ok, see you", "Is lunch at one?", "at home now"]
SPAM = ["cheap pills now", "buy cheap pills!", "win cash now!!!", "cheap cash", "buy now"]
DOCUMENTS = HAM + SPAM
LABELS = ["ham"] * 5 + ["spam"] * 5

some_documents = st.lists(st.sampled_from([*DOCUMENTS, "", "語", "Straße"]), min_size=1, max_size=6)


def generated(n, seed, k=3):
    """Documents of k classes that prefer words of their own."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % k
    words = np.array([f"w{i}" for i in range(40)])
    rate = np.stack([np.roll(np.linspace(1, 8, 40) ** 2, 13 * c) for c in range(k)])
    rate /= rate.sum(axis=1, keepdims=True)
    return [" ".join(random.choice(words, 12, p=rate[c])) for c in y], [f"c{c}" for c in y]


@pytest.mark.parametrize("options", [{}, {"ridge": False}, {"n_features": 1000}], ids=str)
def test_it_learns(options):
    documents, y = generated(300, 0)
    test, expected = generated(300, 1)
    model = TextNB(**options).fit(documents, y)
    assert model.score(test, expected) > 0.85
    proba = model.predict_proba(test)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.log(proba), model.predict_log_proba(test), atol=1e-9)
    own = -np.log(proba[np.arange(300), np.arange(300) % 3]).mean()
    assert abs(own - model.log_loss_) < 6.0 * model.log_loss_se_
    assert abs(model.accuracy_ - model.score(test, expected)) < 6.0 * model.accuracy_se_ + 0.01


@settings(deadline=None, max_examples=20)
@given(some_documents, some_documents)
def test_batches_parts_and_order_give_one_tally(a, b):
    y = [len(d) % 2 for d in a + b]
    whole = TextNB(ridge=False, analyzer="word").fit(a + b, y)
    first = TextNB(ridge=False, analyzer="word").fit(a, y[: len(a)])
    second = TextNB(ridge=False, analyzer="word").fit(b, y[len(a) :])
    again = TextNB(ridge=False, analyzer="word").fit((a + b)[::-1], y[::-1])
    assert again.tally_ == whole.tally_
    assert again.predict_proba(a).tobytes() == whole.predict_proba(a).tobytes()
    assert clone(first).fit(a, y[: len(a)]).partial_fit(b, y[len(a) :]).tally_ == whole.tally_
    assert first.merge(second).tally_ == whole.tally_


def terms_of(document):
    """Words and pairs of words."""
    words = document.split()
    return Counter(words + [f"{a} {b}" for a, b in pairwise(words)])


def scored_by_hand(model, document, others, y):
    """log P(c | document) by the formula, of terms that are counted in other documents."""
    labels = model.classes_.tolist()
    reading, weights, intercept = (
        model._model.learned.reading,
        *model._model.learned.weights,
    )
    share = model._model.table.share(reading.share)
    held = terms_of(document)
    N = {term: np.zeros(len(labels)) for term in held}
    for other, label in zip(others, y, strict=True):
        for term in held.keys() & terms_of(other).keys():
            N[term][labels.index(label)] += 1.0
    scores = np.zeros(len(labels))
    for term, count in held.items():
        n = N[term].sum()
        if n > 0.0:
            ratio = np.log((N[term] + reading.tau) / (n * share + reading.tau))
            which = 10 * term.count(" ") + min(int(np.log2(n)), 9)
            scores += weights[which] * float(np.float32(np.log1p(count))) * ratio
    length = sum(float(np.float32(np.log1p(count))) for count in held.values())
    scores = intercept + scores * (length / reading.mean_length) ** -reading.power
    return scores - np.logaddexp.reduce(scores)


@pytest.mark.parametrize("share", ["docs", "mass"])
@pytest.mark.parametrize("power", [0.0, 0.5])
@pytest.mark.parametrize("k", [2, 3])
def test_leave_one_out_is_counting_again_without_the_document(share, power, k):
    """Whatever the reading that was chosen."""
    documents, y = generated(72, 2, k)
    documents, y = ([v for i, v in enumerate(held) if i % 6] for held in (documents, y))  # uneven
    model = TextNB(ridge=False).fit(documents, y)
    learned = model._model.learned
    reading = learned.reading._replace(share=share, power=power)
    weights = BinWeights(np.linspace(0.2, 0.7, 20), np.linspace(-0.3, 0.1, k))
    learned = replace(learned, reading=reading, weights=weights)
    model._model = replace(model._model, learned=learned)
    found = model.leave_one_out(documents, y)
    for i in (0, 17, 41):
        rest = [j for j in range(60) if j != i]
        others = [documents[j] for j in rest], [y[j] for j in rest]
        again = scored_by_hand(model, documents[i], *others)
        np.testing.assert_allclose(found[i], again, atol=1e-12, rtol=0.0)
        counted = scored_by_hand(model, documents[i], documents, y)
        assert np.abs(found[i] - counted).max() > 1e-3  # its own counts would be seen
        seen = model.predict_log_proba([documents[i]])[0]
        np.testing.assert_allclose(seen, counted, atol=1e-12, rtol=0.0)


def test_with_a_ridge_it_says_that_it_is_stale():
    documents, y = generated(300, 3)
    model = TextNB().fit(documents, y)
    assert model.penalty_ is not None
    model.partial_fit(documents[:5], y[:5])
    with pytest.warns(StaleWarning, match="reweight"):
        model.predict(documents[:2])
    model.reweight(documents, y)
    model.predict(documents[:2])


def test_a_class_that_comes_or_goes_drops_the_ridge_with_one_warning():
    documents, y = generated(300, 3)
    fitted = TextNB().fit(documents, y)
    new = TextNB().fit(["w1 w2", "w3"], ["new", "c0"])
    c0 = [d for d, label in zip(documents, y, strict=True) if label == "c0"]
    for learn, words in (
        (lambda m: m.partial_fit(["w1 w2"], ["new"]), "'new' came"),
        (lambda m: m.merge(new), "'new' came"),
        (lambda m: m.forget(c0, ["c0"] * len(c0)), "'c0' went"),
    ):
        model = copy.deepcopy(fitted)
        assert model.penalty_ is not None
        with pytest.warns(StaleWarning, match=f"{words} after the ridge.*reweight") as caught:
            learn(model)
        assert len(caught) == 1
        assert model.penalty_ is None
        model.partial_fit(["w5"], ["newer"])  # once: there is no ridge any more
        model.predict(documents[:2])
    without = TextNB(ridge=False).fit(documents, y)
    without.partial_fit(["w1 w2"], ["new"]).predict(["w1"])


def test_explanations_add_up_and_stand_where_the_terms_do():
    model = TextNB().fit(DOCUMENTS, LABELS)
    text = "Cheap lunch, cheap pills now"
    found = model.explain_one(text)
    total = found.base + found.contributions.sum(axis=0)
    np.testing.assert_allclose(total, model.predict_joint_log_proba([text])[0], atol=1e-12)
    assert found.label == model.predict([text])[0]
    assert text[slice(*next(iter(found.spans()))[:2])].lower() in found.terms
    assert {text[a:b].lower() for a, b, _ in found.spans()} >= {"cheap", "pills", "cheap pills"}
    assert str(found).startswith(f"{found.label}: ")
    assert found.probabilities.sum() == pytest.approx(1.0)


def test_top_terms_of_a_class_that_the_model_does_not_have_are_refused():
    model = TextNB(ridge=False).fit(["a b", "c d"], [1, 2])
    with pytest.raises(ValueError, match=r"'x' is not a class of the model: name one of \[1, 2\]"):
        model.top_terms("x")


@pytest.mark.parametrize("n", [-1, 1.5, "3", None])
def test_a_number_of_top_terms_that_cannot_be_is_refused(n):
    model = TextNB(ridge=False).fit(["a b", "c d"], [1, 2])
    with pytest.raises(ValueError, match="whole number from 0 on"):
        model.top_terms(1, n)
    assert model.top_terms(1, 0) == []


OTHERS = {
    "analyzer is 'word' in one and 'char'": {"analyzer": "char"},
    "n_features is None in one and 64": {"n_features": 64},
    r"ngram_range is \(1, 2\) in one and \(1, 3\)": {"ngram_range": (1, 3)},
    "one model is weighted": {"model": "bernoulli", "ridge": False},
}


@pytest.mark.parametrize("words", OTHERS)
def test_models_that_count_otherwise_do_not_merge(words):
    model = TextNB(ridge=False).fit(DOCUMENTS, LABELS)
    before = model.tally_
    with pytest.raises(IncompatibleTallies, match=words):
        model.merge(TextNB(**({"ridge": False} | OTHERS[words])).fit(DOCUMENTS, LABELS))
    with pytest.raises(IncompatibleTallies, match="cannot take in a int"):
        model.merge(3)
    assert model.tally_ is before


def test_top_terms_are_those_of_the_class():
    documents, y = generated(300, 4)
    model = TextNB(ngram_range=(1, 1)).fit(documents, y)
    top = [int(term[1:]) for term, _ in model.top_terms("c0", 5)]
    assert min(top) > 25


def test_text_without_spaces_is_read_in_characters():
    chinese = ["北京房价上涨", "股票今天下跌", "球队赢得比赛", "球员今天转会"]
    model = TextNB().fit(chinese, ["a", "a", "b", "b"])
    assert model.analyzer_ == "char"
    assert TextNB().fit(DOCUMENTS, LABELS).analyzer_ == "word"


@pytest.mark.parametrize("container", ["tuple", "array", "pandas", "polars", "pyarrow"])
def test_columns_of_any_library(container):
    import pandas
    import polars
    import pyarrow

    make = {
        "tuple": tuple,
        "array": np.array,
        "pandas": pandas.Series,
        "polars": polars.Series,
        "pyarrow": pyarrow.array,
    }[container]
    model = TextNB().fit(make(DOCUMENTS), LABELS)
    assert (
        model.predict(make(DOCUMENTS)).tolist()
        == TextNB().fit(DOCUMENTS, LABELS).predict(DOCUMENTS).tolist()
    )


@pytest.mark.parametrize(
    ("x", "y", "error", "words"),
    [
        (["a", None], [0, 1], InvalidDocument, "document 1 is a missing value"),
        (["a", 3.0], [0, 1], InvalidDocument, "document 1 is float"),
        ([b"a", b"\xff"], [0, 1], UnicodeDecodeError, "utf-8.*invalid start byte, in document 1: "),
        ("a", [0], ValueError, "single string"),
        ([["a"], ["b"]], [0, 1], InvalidDocument, "document 0 is list"),
        ([], [], ValueError, "no documents"),
        (["a", "b"], [0], ValueError, "2 rows"),
        (["a", "b"], [0.5, 1.5], ValueError, "continuous"),
    ],
    ids=str,
)
def test_bad_input_is_refused_and_changes_nothing(x, y, error, words):
    model = TextNB(ridge=False).fit(DOCUMENTS, LABELS)
    before = model.tally_
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(error, match=words):
            learn(x, y)
        assert model.tally_ is before
        assert model.predict(["cheap pills"]).tolist() == ["spam"]


def test_bad_options_and_calls():
    with pytest.raises(ValueError, match="ngram_range"):
        TextNB(ngram_range=(2, 1)).fit(DOCUMENTS, LABELS)
    with pytest.raises(ValueError, match="analyzer"):
        TextNB(analyzer="letters").fit(DOCUMENTS, LABELS)
    model = TextNB(ridge=False).fit(DOCUMENTS, LABELS)
    with pytest.raises(NegativeTally, match="forget"):
        model.forget(["cheap pills now"], ["ham"])
    other = TextNB(ridge=False, ngram_range=(1, 1)).fit(DOCUMENTS, LABELS)
    with pytest.raises(IncompatibleTallies, match="analyzer"):
        model.merge(other)
    with pytest.raises(ValueError, match="initial classes"):
        model.partial_fit(["a"], ["new"], classes=["ham", "spam"])


@pytest.mark.parametrize("documents", [["", "", ""], ["a", "a", "a"], ["", "a", "b"]], ids=str)
def test_documents_that_say_nothing(documents):
    proba = TextNB().fit(documents, [0, 0, 1]).predict_proba(["", "c"])
    assert np.isfinite(proba).all()
    assert (proba[:, 0] > 0.5).all()


def test_a_single_class():
    assert TextNB().fit(["a", "b"], [1, 1]).predict_proba(["c"]).tolist() == [[1.0]]


X, Y = generated(150, 0)[0], np.arange(150) % 3


@pytest.mark.parametrize("ridge", [False, True])
def test_weight_1_is_bit_for_bit_as_without(ridge):
    plain = TextNB(ridge=ridge).fit(X, Y)
    ones = TextNB(ridge=ridge).fit(X, Y, sample_weight=np.ones(len(X)))
    assert ones.tally_ == plain.tally_
    assert ones.predict_proba(X).tobytes() == plain.predict_proba(X).tobytes()
    assert ones.log_loss_ == plain.log_loss_
    assert ones.leave_one_out(X, Y).tobytes() == plain.leave_one_out(X, Y).tobytes()


@settings(deadline=None, max_examples=8)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.5]), min_size=150, max_size=150))
def test_weights_are_counted_and_forgotten(weights):
    weights = np.array(weights)
    if not weights.any():
        return
    model = TextNB(ridge=False, analyzer="word").fit(X, Y, sample_weight=weights)
    kept = weights > 0
    assert model.tally_.documents.sum() == weights.sum()
    if (weights == np.round(weights)).all():
        repeated = np.repeat(np.arange(150), weights.astype(int))
        again = TextNB(ridge=False).fit([X[i] for i in repeated], Y[repeated])
        assert model.tally_ == again.tally_
    before = model.tally_
    model.partial_fit(X, Y, sample_weight=weights).forget(X, Y, sample_weight=weights)
    assert model.tally_ == before
    found = model.leave_one_out(X, Y, sample_weight=weights)
    for i in np.flatnonzero(kept)[:3]:
        if weights[kept & (Y[i] == Y)].sum() == weights[i]:
            continue
        model.forget([X[i]], [Y[i]], sample_weight=[weights[i]])
        rest = model.tally_
        model.partial_fit([X[i]], [Y[i]], sample_weight=[weights[i]])
        assert rest.documents.sum() == weights.sum() - weights[i]
        assert np.isfinite(found[i]).all()


def test_a_document_of_any_weight_is_left_out_whole():
    weights = np.random.default_rng(3).choice([0.5, 1.0, 4.0], len(X))
    model = TextNB(ridge=False, ngram_range=(1, 1)).fit(X, Y, sample_weight=weights)
    found = model.leave_one_out(X, Y, sample_weight=weights)
    reading, held = model._model.learned.reading, model._model.learned.weights
    share = model._model.table.share(reading.share)
    for i in range(5):
        terms, counts = np.unique(X[i].split(), return_counts=True)
        scores, length = held.intercept.copy(), 0.0
        tf = np.log1p(counts, dtype=np.float32).astype(float)
        factor = (tf.sum() / reading.mean_length) ** -reading.power
        for term, value in zip(terms, tf, strict=True):
            N = np.zeros(3)
            for j, document in enumerate(X):
                if j != i and term in document.split():
                    N[Y[j]] += weights[j]
            if N.sum() > 0.0:
                ratio = np.log((N + reading.tau) / (N.sum() * share + reading.tau))
                bin_ = min(int(np.log2(max(N.sum(), 1.0))), 9)
                scores += held.weights[bin_] * value * factor * (ratio - ratio.mean())
            length += value
        expected = scores - np.logaddexp.reduce(scores)
        np.testing.assert_allclose(found[i], expected, atol=1e-9)


@pytest.mark.parametrize("ridge", [False, True])
def test_heavier_documents_count_for_more(ridge):
    """Wrong labels of little weight do less harm, and the figures are weighted."""
    random = np.random.default_rng(5)
    wrong = random.random(len(X)) < 0.4
    y = np.where(wrong, (Y + 1) % 3, Y)
    light = np.where(wrong, 0.01, 1.0)
    test, expected = generated(150, 9)[0], np.arange(150) % 3
    weighted = TextNB(ridge=ridge).fit(X, y, sample_weight=light)
    plain = TextNB(ridge=ridge).fit(X, y)
    assert weighted.score(test, expected) > plain.score(test, expected)
    assert weighted.accuracy_ > plain.accuracy_
    assert 0.0 < weighted.log_loss_ < plain.log_loss_
    assert np.isfinite([weighted.log_loss_se_, weighted.accuracy_se_]).all()
    order = random.permutation(len(X))
    again = TextNB(ridge=ridge).fit([X[i] for i in order], y[order], sample_weight=light[order])
    np.testing.assert_allclose(again.predict_proba(test), weighted.predict_proba(test), atol=1e-6)


@pytest.mark.parametrize("weight", [1e-9, 1e12])
@pytest.mark.parametrize("model", ["weighted", "multinomial", "complement", "bernoulli"])
def test_weights_of_any_size(model, weight):
    weights = np.full(len(X), weight)
    fitted = TextNB(model=model).fit(X, Y, sample_weight=weights)
    assert np.isfinite(fitted.predict_log_proba(X)).all()
    assert np.isfinite(fitted.leave_one_out(X, Y, sample_weight=weights)).all()
    assert np.isfinite([fitted.log_loss_, fitted.log_loss_se_, fitted.accuracy_]).all()
    plain = TextNB(model=model, ridge=False).fit(X, Y, sample_weight=weights)
    assert plain.forget(X, Y, sample_weight=weights).tally_.n_terms == 0


@pytest.mark.parametrize("model", ["weighted", "multinomial", "complement", "bernoulli"])
def test_rare_terms_are_pruned(model, tmp_path):
    options = {"ridge": False} if model == "weighted" else {"model": model}
    fitted = TextNB(**options).fit(X, Y)
    half = TextNB(**options).fit(X[:75], Y[:75]).prune(2)
    other = TextNB(**options).fit(X[75:], Y[75:]).prune(2)
    whole = copy.deepcopy(half).merge(other)
    assert fitted.tally_.n_terms > whole.tally_.n_terms
    assert whole.tally_.pruned == 2.0
    assert (whole.predict(X) == fitted.predict(X)).mean() > 0.8
    whole.save(tmp_path / "model")
    assert load(tmp_path / "model").tally_ == whole.tally_
    whole.forget(X[:70], Y[:70])
    assert (whole.tally_.counts > 0.0).all()
    assert np.isfinite(whole.predict_proba(X)).all()
    before = whole.tally_
    with pytest.raises(NegativeTally, match="more documents of class"):
        whole.forget(X, Y)
    with pytest.raises(ValueError, match="min_df"):
        whole.prune(-1)
    assert whole.tally_ is before
