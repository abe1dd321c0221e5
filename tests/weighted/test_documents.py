"""Learning on documents: independence of their order, and that it learns what is there."""

import numpy as np
import pytest
from scipy.special import log_softmax

from reference.documents import dense_counts, documents_of, table_of
from tallybayes import TextNB, set_num_threads
from tallybayes.errors import DependentRowsWarning
from tallybayes.weighted import ridge as ridges
from tallybayes.weighted.document_learning import DocumentScorer, learn_documents
from tallybayes.weighted.documents import BinWeights, learn_bin_weights
from tallybayes.weighted.ridge import Features, RidgeProblem, TfidfColumns, solve_together, spread


def topics(n, k, seed, words=200):
    """Documents of k topics that prefer words of their own."""
    random = np.random.default_rng(seed)
    y = random.integers(0, k, n).astype(np.int32)
    y[:k] = np.arange(k)
    rate = 0.15 * random.gamma(0.5, 1.0, (k, words))
    return random.poisson(rate[y]), y


def fitted(counts, y, k, ridge):
    N = dense_counts(counts, y, k)
    table = table_of(N, np.bincount(y, minlength=k).astype(float), np.zeros(len(N)))
    return table, learn_documents(table, documents_of(counts), y, ridge=ridge)[0]


def scores_of(counts, y, k, ridge, test):
    return DocumentScorer(*fitted(counts, y, k, ridge)).joint(documents_of(test))


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("ridge", [True, False])
def test_the_order_of_documents_and_the_threads_change_no_bit(k, ridge):
    counts, y = topics(150, k, k)
    test, _ = topics(20, k, 9)
    order = np.random.default_rng(0).permutation(len(y))
    set_num_threads(1)
    one = scores_of(counts, y, k, ridge, test)
    set_num_threads(3)
    other = scores_of(counts[order], y[order], k, ridge, test)
    set_num_threads(None)
    assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("k", [2, 5])
def test_held_out_figures_are_about_those_of_new_documents(k):
    everything, labels = topics(2400, k, 3, words=60)
    _, learned = fitted(everything[:400], labels[:400], k, True)
    scores = scores_of(everything[:400], labels[:400], k, True, everything[400:])
    own = log_softmax(scores, axis=1)[np.arange(2000), labels[400:]]
    figures = learned.figures
    assert abs(figures.log_loss + own.mean()) < 4.0 * figures.log_loss_se
    assert figures.accuracy > 1.0 / k + 0.3


def test_an_order_of_terms_of_one_document_each_has_bins():
    y = np.repeat(np.arange(2), 10).astype(np.int32)
    counts = np.concatenate([np.eye(2, dtype=int)[y], np.eye(20, dtype=int)], axis=1)
    N = dense_counts(counts, y, 2)
    order = np.repeat([0, 1], [2, 20])
    table = table_of(N, np.full(2, 10.0), order)
    learned, _ = learn_documents(table, documents_of(counts), y, ridge=False)
    assert len(learned.weights.weights) == table.n_bins == 20
    joint = DocumentScorer(table, learned).joint(documents_of(counts))
    assert (joint.argmax(axis=1) == y).all()


def test_labels_of_chance_are_predicted_as_such():
    counts, y = topics(400, 2, 4)
    y = np.random.default_rng(5).integers(0, 2, 400).astype(np.int32)
    test, _ = topics(400, 2, 6)
    proba = np.exp(log_softmax(scores_of(counts, y, 2, True, test), axis=1))
    assert np.abs(proba - 0.5).mean() < 0.1


def tfidf_of_topics(k):
    counts, y = topics(300, k, 7, words=80)
    documents = documents_of(counts)
    features = Features.of((counts > 0).sum(axis=0).astype(float), 300.0, 1000)
    return TfidfColumns.of(documents, documents.tf, features), y


def test_the_inverse_frequency_of_a_term_in_every_document_is_1():
    """log((n + 1) / (N_t + 1)) + 1; a term of a single document has no column."""
    features = Features.of(np.array([4.0, 1.0, 2.0]), 4.0, 10)
    np.testing.assert_allclose(features.idf, [1.0, 1.0 + np.log(5 / 2), 1.0 + np.log(5 / 3)])
    assert features.column.tolist() == [0, -1, 1]


def ridge_of(columns, y, k, without=()):
    weight = np.ones(300)
    weight[list(without)] = 0.0
    return RidgeProblem(columns, np.zeros((300, k)), y, weight)


@pytest.mark.parametrize("cells", [1, 1 << 18], ids=["one at a time", "all at once"])
@pytest.mark.parametrize("k", [2, 4])
def test_ridges_together_are_those_alone_to_the_last_bit(k, cells, monkeypatch):
    monkeypatch.setattr(ridges, "MAX_INTERMEDIATE", cells)
    columns, y = tfidf_of_topics(k)
    held_out = [range(f * 100, f * 100 + 100) for f in range(3)]
    together = [ridge_of(columns, y, k, out) for out in held_out]
    for penalty in (1.0, 0.1):
        solve_together(together, penalty)
    for problem, out in zip(together, held_out, strict=True):
        alone = ridge_of(columns, y, k, out)
        for penalty in (1.0, 0.1):
            solve_together([alone], penalty)
        assert problem.a.tobytes() == alone.a.tobytes()
        assert problem.scores.tobytes() == alone.scores.tobytes()
        assert not problem.a[list(out)].any()


@pytest.mark.parametrize("k", [2, 4])
def test_a_ridge_does_not_depend_on_the_penalties_before(k):
    columns, y = tfidf_of_topics(k)
    later, at_once = ridge_of(columns, y, k), ridge_of(columns, y, k)
    for penalty in (1.0, 0.01, 3.0, 0.3):
        solve_together([later], penalty)
    solve_together([at_once], 0.3)
    np.testing.assert_allclose(later.scores, columns.gram(later.a), atol=1e-3)
    losses = []
    for problem in (later, at_once):
        own = log_softmax(spread(problem.scores, problem.n_classes), axis=1)[np.arange(300), y]
        losses.append(-own.sum() + 0.5 * 0.3 * float((problem.a * problem.scores).sum()))
    assert abs(losses[0] - losses[1]) < 2e-5 * 300


@pytest.mark.parametrize("k", [2, 4])
def test_the_ridge_is_where_its_gradient_vanishes(k):
    columns, y = tfidf_of_topics(k)
    problem = ridge_of(columns, y, k)
    solve_together([problem], 0.3)
    u = columns.coefficients(problem.a).astype(float)
    P = np.exp(log_softmax(spread(problem.scores, problem.n_classes), axis=1))
    rest = np.eye(k)[y] - P
    X = np.stack([columns.gram(e) for e in np.eye(300, dtype=np.float32)[:, :, None]])[:, :, 0]
    if k == 2:
        rest = 0.5 * (rest[:, 1:] - rest[:, :1])
    gap = X @ (rest - 0.3 * problem.a)  # XXᵀ times what has to be 0 up to the null space
    assert np.abs(gap).max() < 0.05 * np.abs(X @ rest).max()
    assert u.any()


def test_weights_of_bins_are_where_the_gradient_vanishes():
    random = np.random.default_rng(8)
    sums, y = random.normal(size=(200, 3, 4)), random.integers(0, 3, 200).astype(np.int32)
    sums[np.arange(200), y, 0] += 1.0
    sums[np.arange(200), y, 1] -= 1.0
    weight = random.random(200)
    found, _ = learn_bin_weights(sums, y, weight, BinWeights.start(4, 3))
    P = np.exp(log_softmax(found.scores(sums), axis=1))
    rest = (P - np.eye(3)[y]) * weight[:, None]
    scale = np.sqrt((weight[:, None, None] * sums**2).sum((0, 1)) / (3 * weight.sum())) + 1e-3
    in_weights = np.einsum("ik,ikg->g", rest, sums) + scale**2 * found.weights
    held = found.weights == 0.0
    assert held.any()
    assert (in_weights[held] >= 0.0).all()
    assert np.abs(in_weights[~held]).max() < 1e-2
    assert np.abs(rest.sum(axis=0) + 2.0 * found.intercept).max() < 1e-2
    found, _ = learn_bin_weights(sums, y, weight, BinWeights.start(4, 3), shares=True)
    P = np.exp(log_softmax(found.scores(sums), axis=1))
    rest = (P - np.eye(3)[y]) * weight[:, None]
    shares = np.log(np.bincount(y, weight) + 1.0)
    beyond = found.intercept - shares + shares.mean()
    assert np.abs(rest.sum(axis=0) + 0.2 * beyond).max() < 1e-2


def test_ten_documents_with_labels_of_chance_are_not_learned_by_heart():
    words, losses = np.array([f"w{i}" for i in range(40)]), []
    for seed in range(20):
        random = np.random.default_rng(seed)
        documents = [" ".join(random.choice(words, 12)) for _ in range(210)]
        model = TextNB(ridge=False).fit(documents[:10], np.arange(10) % 2)
        losses.append(-model.predict_log_proba(documents[10:]).mean())  # labels are as likely
    assert np.mean(losses) < 1.1


def test_intercepts_of_many_classes_do_not_fit_the_noise():
    """Few documents of each class, whose scores are right as they are."""
    random = np.random.default_rng(0)
    scores = 4.0 * random.normal(size=(3300, 100, 1))
    proba = np.exp(log_softmax(scores[:, :, 0], axis=1)).cumsum(axis=1)
    y = (proba < random.random((3300, 1))).sum(axis=1).clip(max=99).astype(np.int32)
    start = BinWeights(np.ones(1), np.zeros(100))
    found, _ = learn_bin_weights(scores[:300], y[:300], np.ones(300), start)
    new, own = scores[300:], (np.arange(3000), y[300:])
    loss = [-log_softmax(at.scores(new), axis=1)[own].mean() for at in (found, start)]
    assert loss[0] < loss[1] + 0.08


@pytest.mark.parametrize("ridge", [True, False])
@pytest.mark.parametrize(
    "counts", [np.zeros((30, 4), int), np.ones((30, 1), int)], ids=["empty", "everywhere"]
)
def test_terms_that_say_nothing_leave_the_shares(counts, ridge):
    y = (np.arange(30) % 3 == 0).astype(np.int32)
    proba = np.exp(log_softmax(scores_of(counts, y, 2, ridge, counts), axis=1))
    np.testing.assert_allclose(proba[:, 1], 1 / 3, atol=0.02)


def test_a_bin_without_documents_is_as_its_neighbour():
    sums = np.zeros((2, 2, 6))
    sums[:, :, [1, 4]] = 1.0
    found = BinWeights(np.arange(6.0), np.zeros(2)).filled(sums, 3)
    assert found.weights.tolist() == [1.0, 1.0, 1.0, 4.0, 4.0, 4.0]


def test_a_bin_of_huge_sums_beside_others_is_learned_without_a_warning():
    """As of one document of 100 MB beside short ones."""
    random = np.random.default_rng(0)
    y = np.tile([0, 1], 20).astype(np.int32)
    sums = np.zeros((40, 2, 2))
    sums[:, :, 0] = random.normal(size=(40, 2))
    sums[np.arange(40), y, 0] += 1.0
    sums[0, :, 1] = [1e10, -1e10]
    found, loss = learn_bin_weights(sums, y, np.ones(40), BinWeights.start(2, 2))
    others, _ = learn_bin_weights(sums[1:, :, :1], y[1:], np.ones(39), BinWeights.start(1, 2))
    assert loss < np.log(2.0)
    assert 0.5 < found.weights[0] / others.weights[0] < 2.0


# ---- copies --------------------------------------------------------------------------------------
def spoken(n, seed, length=9):
    """Documents of one class more often with some words, drawn independently."""
    random = np.random.default_rng(seed)
    y = np.where(random.random(n) < 0.5, "b", "a")
    words = np.array([f"w{i}" for i in range(60)])
    chosen = random.integers(0, 60, (n, length)) // np.where(y == "a", 2, 1)[:, None]
    return np.array([" ".join(words[row]) for row in chosen], dtype=object), y


@pytest.mark.parametrize("oversampled", [False, True])
def test_copies_of_documents_are_one_that_weighs_more(oversampled):
    texts, y = spoken(200, 0)
    again = np.tile(np.arange(200), 10)
    weight = np.full(200, 10.0)
    if oversampled:
        again = np.append(np.arange(200), np.repeat(np.flatnonzero(y == "b"), 9))
        weight = np.where(y == "b", 10.0, 1.0)
    with pytest.warns(DependentRowsWarning, match="documents repeat.* copies of 200 observations"):
        copies = TextNB().fit(texts[again], y[again])
    heavy = TextNB().fit(texts, y, sample_weight=weight)
    assert copies.log_loss_ == pytest.approx(heavy.log_loss_, rel=1e-9)
    new, _ = spoken(100, 1)
    np.testing.assert_allclose(copies.predict_proba(new), heavy.predict_proba(new), rtol=1e-9)


def test_short_documents_are_alike_by_chance():
    texts, y = spoken(4000, 0, length=1)
    one, other = TextNB().fit(texts, y), TextNB().fit(texts[::-1], y[::-1])
    np.testing.assert_array_equal(one.predict_proba(texts[:9]), other.predict_proba(texts[:9]))
