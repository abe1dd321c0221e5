"""Documents without labels: soft counts, soft labels that no held-out label has touched, and λ."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from reference.documents import dense_counts, documents_of, ratio_sums
from tallybayes import set_num_threads
from tallybayes.weighted.documents import Reading
from tallybayes.weighted.unlabelled import (
    DenseRatios,
    Matrices,
    PartLabelled,
    choose_weight,
    rounded,
)


def topics(n, k, seed, words=300, strength=1.0):
    """Documents of k topics that prefer words of their own."""
    rate = 0.1 * np.random.default_rng(0).gamma(0.3, 1.0, (k, words)) ** strength
    random = np.random.default_rng(seed)
    y = (np.arange(n) % k).astype(np.int32)
    return random.poisson(rate[y]), y


def part_of(counts, y, n_labelled, k):
    return PartLabelled(
        documents_of(counts[:n_labelled]),
        y[:n_labelled],
        documents_of(counts[n_labelled:]),
        np.zeros(counts.shape[1], dtype=np.int8),
        k,
    )


COUNTS = arrays(np.int64, (7, 5), elements=st.integers(0, 2))
PROBA = arrays(np.float64, (4, 3), elements=st.floats(0.01, 1.0))


@given(COUNTS, PROBA, st.sampled_from([0.125, 1.0]))
def test_soft_counts_are_the_sums_that_the_formula_has(counts, proba, weight):
    soft = rounded(proba / proba.sum(axis=1, keepdims=True))
    part = part_of(counts, np.array([0, 1, 2, 0, 0, 0, 0], dtype=np.int32), 3, 3)
    expected = dense_counts(counts[:3], part.y, 3)
    expected += weight * ((counts[3:] > 0).T @ soft.toarray())
    counted = np.ones(3, dtype=bool)
    table = part.table(counted, soft, weight)
    found = np.zeros((5, 3))
    found[np.repeat(np.arange(5), np.diff(table.start)), table.classes] = table.counts
    np.testing.assert_array_equal(found, expected)  # sums of 32nds are exact
    documents = 1.0 + weight * soft.toarray().sum(axis=0)
    np.testing.assert_array_equal(table.documents, documents)
    for kind in ("mass", "docs"):
        if expected.any():
            share = part.share(kind, counted, soft, weight)
            np.testing.assert_allclose(share, table.share(kind), rtol=1e-12)


@given(PROBA)
def test_rounded_posteriors_are_multiples_and_near(proba):
    proba /= proba.sum(axis=1, keepdims=True)
    found = rounded(proba).toarray()
    assert (32.0 * found == np.round(32.0 * found)).all()
    assert np.abs(found - proba).max() <= 1.5 / 32.0 + 1e-12
    assert not (found == 1.0 / 32.0).any()


def test_documents_of_which_nothing_is_known_are_not_counted():
    assert rounded(np.full((2, 50), 1.0 / 50.0)).nnz == 0
    part = part_of(*topics(30, 3, 0), 20, 3)
    nothing = csr_array((10, 3))
    counted = np.ones(20, dtype=bool)
    a, b = part.table(counted, nothing, 1.0), part.table(counted, None, 0.0)
    assert a.counts.tobytes() == b.counts.tobytes()


def test_dense_ratios_are_those_of_the_sparse_table():
    counts, y = topics(60, 3, 1)
    part = part_of(counts, y, 40, 3)
    reading = Reading(0.3, "mass", 0.5, 20.0)
    matrices, counted = Matrices.of(part, reading), np.arange(40) < 30
    soft = rounded(np.random.default_rng(2).dirichlet(np.ones(3), 20))
    N, documents = matrices.counts(counted, soft, 1.0)
    table = part.table(counted, soft, 1.0)
    np.testing.assert_array_equal(documents, table.documents)
    ratios = DenseRatios(N, documents, reading)
    expected = table.sums(
        part.unlabelled, part.unlabelled.tf, 0.3, table.share("mass"), None, threads=1
    )
    np.testing.assert_allclose(ratios.sums(part.unlabelled), expected, atol=1e-4)
    slow = ratio_sums(counts[40:], N, np.zeros(len(N), int), 0.3, table.share("mass"))
    np.testing.assert_allclose(ratios.sums(part.unlabelled), slow, atol=1e-4)


def test_the_counts_of_a_run_do_not_depend_on_the_labels_of_its_fold():
    counts, y = topics(60, 3, 3)
    soft = rounded(np.random.default_rng(2).dirichlet(np.ones(3), 20))
    counted, other = np.arange(40) >= 10, y.copy()
    other[:10] = (other[:10] + 1) % 3
    reading = Reading(0.3, "docs", 0.0, 20.0)
    found = [
        Matrices.of(part_of(counts, labels, 40, 3), reading).counts(counted, soft, 1.0)[0]
        for labels in (y, other)
    ]
    np.testing.assert_array_equal(*found)


def learned_from(chosen):
    """The table of a choice, and what is learned beside it."""
    soft, counted = chosen.step.soft[-1], np.ones(len(chosen.part.y), dtype=bool)
    kept = np.diff(chosen.part.table(counted, soft, chosen.step.weight).start) > 0
    table = chosen.part.with_terms(kept).table(counted, soft, chosen.step.weight)
    return table, chosen.learned(table, kept, ridge=True)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_order_of_documents_and_the_threads_change_no_bit(threads):
    counts, y = topics(400, 3, 4, strength=0.4)
    random = np.random.default_rng(5)
    order = np.concatenate([random.permutation(45), 45 + random.permutation(355)])
    one = choose_weight(part_of(counts, y, 45, 3), forced=True)
    set_num_threads(threads)
    other = choose_weight(part_of(counts[order], y[order], 45, 3), forced=True)
    set_num_threads(None)
    np.testing.assert_array_equal(one.unlabelled.path, other.unlabelled.path)
    (table, learned), (table_2, learned_2) = learned_from(one), learned_from(other)
    assert table.counts.tobytes() == table_2.counts.tobytes()
    assert learned.weights.weights.tobytes() == learned_2.weights.weights.tobytes()


def test_unlabelled_documents_of_the_same_topics_are_counted():
    counts, y = topics(900, 3, 6, strength=0.4)
    chosen = choose_weight(part_of(counts, y, 30, 3))
    assert chosen is not None
    path = chosen.unlabelled.path
    assert chosen.unlabelled.weight > 0.0
    assert path[0, :2].tolist() == [0.0, 0.0]
    assert path[:, 2].min() < path[0, 2] - 0.1
    soft = chosen.step.soft[-1].toarray()  # in canonical order: counted by class
    np.testing.assert_allclose(soft.sum(axis=0) / 290.0, 1.0, atol=0.25)


@pytest.mark.parametrize("seed", range(5))
def test_labels_of_chance_are_not_spread(seed):
    counts, _ = topics(400, 2, seed)
    y = np.random.default_rng(seed).integers(0, 2, 400).astype(np.int32)
    y[:4] = [0, 0, 1, 1]
    chosen = choose_weight(part_of(counts, y, 60, 2))
    if chosen is not None:  # by luck: then it is about as good as the shares of the classes
        losses = chosen.unlabelled.path[:, 2]
        assert losses[0] - losses.min() < 0.2


@pytest.mark.parametrize(
    ("n_labelled", "k"), [(3, 3), (400, 3), (10, 1)], ids=["one a class", "all", "one class"]
)
def test_without_evidence_nothing_is_counted(n_labelled, k):
    counts, y = topics(400, 3, 7)
    assert choose_weight(part_of(counts, y * (k > 1), n_labelled, k)) is None


@pytest.mark.parametrize("counts", [np.zeros((60, 4), int), np.ones((60, 2), int)])
def test_terms_that_say_nothing_are_learned_from_all_the_same(counts):
    y = (np.arange(60) % 2).astype(np.int32)
    chosen = choose_weight(part_of(counts, y, 30, 2), forced=True)
    _, learned = learned_from(chosen)
    assert learned.figures.log_loss == pytest.approx(np.log(2.0), abs=0.1)


def test_a_class_of_one_document_stays_in_every_run():
    counts, y = topics(300, 3, 8, strength=0.4)
    y[:41] = np.append(np.arange(40) % 2, 2)
    chosen = choose_weight(part_of(counts, y, 41, 3), forced=True)
    assert (chosen.fit.fold == -1).sum() == 1
    assert chosen.fit.y.max() == 1
