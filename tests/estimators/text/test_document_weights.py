"""Weights of documents in the weighted model, and terms that are pruned in any."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes import TextNB, load
from tallybayes.errors import NegativeTally


def generated(n, seed, k=3):
    """Documents of k classes that prefer words of their own."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % k
    words = np.array([f"w{i}" for i in range(40)])
    rate = np.stack([np.roll(np.linspace(1, 8, 40) ** 2, 13 * c) for c in range(k)])
    rate /= rate.sum(axis=1, keepdims=True)
    return [" ".join(random.choice(words, 12, p=rate[c])) for c in y], y


X, Y = generated(150, 0)


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
    test, expected = generated(150, 9)
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
