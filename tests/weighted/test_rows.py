"""Samples and folds of rows: fair, in any order; factors of held-out scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax

from tallybayes.weighted.cells import in_effective_rows
from tallybayes.weighted.ridge import HeldOut
from tallybayes.weighted.rows import (
    LearningRows,
    canonical,
    row_keys,
    salted,
    sampled,
    thinned,
    twin_folds,
)
from weighted.read import cells_of, mixed

rows = given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 300),
    n_classes=st.integers(1, 4),
    values=st.sampled_from([1, 2, 30, 10**6]),
    folds=st.sampled_from([2, 3, 5]),
)


def drawn(seed, n, n_classes, values):
    """Contents and labels; few values make many twins."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(-1, values, (2, n)).astype(np.int32)
    y = rng.integers(0, n_classes, n).astype(np.int32)
    return cells, y, row_keys(list(cells), y)


@rows
def test_twins_are_in_one_fold_unless_they_are_more_than_its_share(
    seed, n, n_classes, values, folds
):
    _, y, keys = drawn(seed, n, n_classes, values)
    fold = twin_folds(keys, y, n_classes, folds, 1)
    assert ((fold >= 0) & (fold < folds)).all()
    largest = np.zeros(n_classes, dtype=int)
    for key in np.unique(keys):
        twins = np.flatnonzero(keys == key)
        k = y[twins[0]]
        if len(twins) * folds <= np.count_nonzero(y == k):
            assert len(set(fold[twins])) == 1
            largest[k] = max(largest[k], len(twins))
    for k in range(n_classes):
        sizes = np.bincount(fold[y == k], minlength=folds)
        assert np.ptp(sizes) <= max(largest[k], 1)


@rows
def test_folds_follow_what_rows_are(seed, n, n_classes, values, folds):
    """Equal rows may change places, so that it is the rows of each kind in a fold that count."""
    _, y, keys = drawn(seed, n, n_classes, values)
    order = np.random.default_rng(seed).permutation(n)
    fold = twin_folds(keys, y, n_classes, folds, 1)
    again = twin_folds(keys[order], y[order], n_classes, folds, 1)
    for f in range(folds):
        assert sorted(keys[fold == f]) == sorted(keys[order][again == f])


def test_rows_of_one_content_and_several_labels_are_spread():
    """Not those of one label together: the rest would say that it never comes with this content."""
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 1000, (3, 500)).astype(np.int32)
    cells[:, :60] = -1
    cells[:, 60:64], cells[:, 64:68] = 1, 2
    y = np.arange(500, dtype=np.int32) % 2
    y[64:68] = 1  # copies of each other
    weight = np.ones(500)
    fold = LearningRows(cells, y, weight, 2).folds(5, 1)
    for label in range(2):
        assert np.bincount(fold[:60][y[:60] == label]).max() < 15
    assert len(set(fold[60:64])) > 1
    assert len(set(fold[64:68])) == 1
    weight[64:67:2], y[64:67:2] = 0.0, 0  # rows that are not there
    fold = LearningRows(cells, y, weight, 2).folds(5, 1)
    assert fold[65] == fold[67]


def test_folds_of_two_salts_are_independent():
    y = np.zeros(20_000, dtype=np.int32)
    keys = salted(np.arange(20_000, dtype=np.uint64), 0)
    one, other = (twin_folds(keys, y, 1, 5, salt) for salt in (1, 2))
    together = np.bincount(5 * one + other, minlength=25)
    assert np.abs(together - 800).max() < 5 * np.sqrt(800)


def test_keys_tell_rows_apart_and_are_spread_evenly():
    cells = np.stack(np.meshgrid(np.arange(-1, 60), np.arange(60), [0, 1])).reshape(3, -1)
    cells = cells.astype(np.int32)
    keys = row_keys(list(cells[:2]), cells[2])
    assert len(np.unique(keys)) == cells.shape[1]
    bits = np.unpackbits(keys.view(np.uint8)).reshape(len(keys), 64)
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 5 * 0.5 / np.sqrt(len(keys))


@rows
def test_rows_in_canonical_order_are_the_same_from_any_order(seed, n, n_classes, values, folds):
    cells, y, _ = drawn(seed, n, n_classes, values)
    weight = np.random.default_rng(seed).choice([1.0, 2.0, 0.5], n)
    columns = cells_of(*mixed(10))[0][:2]
    given_rows = LearningRows(cells, y, weight, n_classes)
    order = np.random.default_rng(seed).permutation(n)
    one, was = canonical(given_rows, columns)
    other, _ = canonical(given_rows.take(order), columns)
    for name in ("cells", "y", "weight", "keys"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.cells, cells[:, was])
    turned, _ = canonical(LearningRows(cells[::-1].copy(), y, weight, n_classes), columns[::-1])
    np.testing.assert_array_equal(turned.cells, one.cells[::-1])


@pytest.mark.parametrize("most", [1, 7, 100, 1000])
def test_a_thinner_set_of_rows_has_the_share_of_each_class_and_content(most):
    y = np.repeat(np.arange(3, dtype=np.int32), [5, 100, 1000])
    some = thinned(y, 3, most)
    assert (np.diff(some) > 0).all()
    assert set(y[some]) == {0, 1, 2}
    wanted = np.maximum(np.array([5, 100, 1000]) * most / len(y), 1)
    assert np.abs(np.bincount(y[some]) - wanted).max() < 1
    np.testing.assert_array_equal(thinned(y, 3, 2000), np.arange(len(y)))


def test_a_sample_of_few_contents_has_all_of_them():
    """Rows by their keys, of which the sample does not take the first."""
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 2, (3, 40_000)).astype(np.int32)
    y = rng.integers(0, 2, 40_000).astype(np.int32)
    keys = row_keys(list(cells), y)
    order = np.argsort(keys)
    some, _ = sampled(y[order], np.ones(40_000), 2, 1000)
    share = np.unique(keys[order][some], return_counts=True)[1]
    assert len(share) == 16
    assert np.abs(share - 1000 / 16).max() < 15


@given(
    st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=20),
    st.floats(1e-9, 1e9),
)
def test_effective_rows_are_the_weights_to_nine_digits(weights, unit):
    weight = np.array(weights)
    found = in_effective_rows(weight, unit)
    np.testing.assert_allclose(found, weight / unit, rtol=1e-9)
    counts = np.arange(1000.0)
    np.testing.assert_array_equal(in_effective_rows(counts * unit, unit), counts)


N = 2000


def scores_drawn(below, ridge, sample=False, n=N, k=3, seed=0):
    """Scores of documents whose labels are drawn from `below` and `ridge` times their scores."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0.0, 1.5, (n, k, 2))
    proba = np.exp(log_softmax(scores @ [below, ridge], axis=1))
    y = (rng.random((n, 1)) > proba.cumsum(axis=1)).sum(axis=1).clip(0, k - 1).astype(np.int32)
    return HeldOut(y, np.ones(n), rng.random(n) < 0.5, sample), scores


def of_others(held, steps):
    return held.brier(held.by_the_choice_of_others(steps)).sum()


def test_two_factors_are_found_where_labels_follow_two():
    held, scores = scores_drawn(0.5, 2.0)
    one, two = held.scaled(scores)
    assert one.scale.weights[0] == one.scale.weights[1]
    assert two.scale.weights == pytest.approx([0.5, 2.0], rel=0.15)
    assert two.brier < one.brier
    assert of_others(held, [one, two]) < of_others(held, [one])


def test_two_factors_are_no_candidate_where_they_do_not_predict_others_better():
    refused = 0
    for seed in range(12):
        held, scores = scores_drawn(1.0, 1.0, n=60, seed=seed)
        found = held.scaled(scores)
        refused += len(found) == 1
        for step in found[1:]:
            of_other_half = sum(
                held.brier(proba)[at].sum()
                for proba, at in zip(step.halves, (~held.half, held.half), strict=True)
            )
            of_one = sum(
                held.brier(proba)[at].sum()
                for proba, at in zip(found[0].halves, (~held.half, held.half), strict=True)
            )
            assert of_other_half < of_one
    assert refused > 3


@pytest.mark.parametrize("because", ["a sample", "no ridge"])
def test_one_factor_where_a_second_could_not_be_used(because):
    held, scores = scores_drawn(0.5, 2.0, sample=because == "a sample")
    if because == "no ridge":
        scores[:, :, 1] = 0.0
    (one,) = held.scaled(scores)
    assert one.scale.weights[0] == one.scale.weights[1]


def test_figures_of_chance_do_not_gain_by_the_choice():
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(N, 2, 2))
    y = rng.integers(0, 2, N, dtype=np.int32)
    held = HeldOut(y, np.ones(N), rng.random(N) < 0.5, False)
    steps = [step for part in (scores, 2.0 * scores, -scores) for step in held.scaled(part)]
    log_proba = held.by_the_choice_of_others(steps)
    assert -log_proba[np.arange(N), y].mean() > np.log(2.0) - 0.002
