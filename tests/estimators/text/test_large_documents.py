"""Long documents, many classes, and fits that are interrupted."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from tallybayes import TextNB
from tallybayes.text import CountVectorizer
from tallybayes.weighted import document_learning as learning


def test_a_document_of_100_mb_is_counted():
    times = 100_000_000 // len("tea with milk ") + 1
    counter = CountVectorizer()
    found = counter.fit_transform(["tea with milk " * times, "coffee"])
    assert counter.get_feature_names_out().tolist() == ["coffee", "milk", "tea", "with"]
    assert found.toarray().tolist() == [[0, times, times, times], [1, 0, 0, 0]]


@pytest.mark.parametrize("model", ["multinomial", "complement", "bernoulli"])
def test_a_thousand_classes_need_no_dense_table(model):
    classes, words = 1000, 100_000
    draw = np.random.default_rng(0).integers(0, words, (2 * classes, 40))
    documents = [" ".join(f"w{word}" for word in row) for row in draw]
    labels = np.arange(len(documents)) % classes
    tracemalloc.start()
    fitted = TextNB(model=model, ngram_range=(1, 1)).fit(documents, labels)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    seen = {(word, label) for row, label in zip(draw, labels, strict=True) for word in row}
    assert len(fitted.tally_.counts) == len(seen)
    assert 2 * peak < classes * len(fitted.tally_.terms) * 8


def test_weights_of_many_classes_are_learned_on_so_many_sums_at_most(monkeypatch):
    for name in ("MAX_CHOICE_SUMS", "MAX_SUMS"):
        monkeypatch.setattr(learning, name, 1 << 20)
    classes, words = 200, 100_000
    draw = np.random.default_rng(0).integers(0, words, (20 * classes, 30))
    documents = [" ".join(f"w{word}" for word in row) for row in draw]
    labels = np.arange(len(documents)) % classes
    tracemalloc.start()
    fitted = TextNB(ngram_range=(1, 1), ridge=False).fit(documents, labels)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert fitted.tally_.documents.tolist() == [20.0] * classes
    assert 2 * peak < classes * len(fitted.tally_.terms) * 8


@pytest.mark.parametrize("call", ["fit", "reweight"])
def test_an_interrupted_fit_leaves_the_model_as_it_was(call, monkeypatch):
    documents, labels = ["good tea", "bad tea", "good milk", "bad milk"] * 3, [1, 0] * 6
    model = TextNB().fit(documents, labels)
    before = model.predict_proba(documents)

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(learning, "choose_reading", interrupted)
    with pytest.raises(KeyboardInterrupt):
        getattr(model, call)([f"{text} or coffee" for text in documents], labels)
    assert model.predict_proba(documents).tobytes() == before.tobytes()
    assert "coffee" not in model.tally_.terms
