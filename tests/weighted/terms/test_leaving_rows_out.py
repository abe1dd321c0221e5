"""Leave-one-out: the scores of a row are those of a model counted without it."""

from dataclasses import replace

import numpy as np
import pytest

from reference.weighted import term_tables
from tallybayes.weighted.average import learn
from tallybayes.weighted.rows import sampled
from tallybayes.weighted.scores import log_normalised
from tallybayes.weighted.search import FitOptions
from weighted.read import cells_of, mixed

PLAIN = FitOptions(polish=False, penalty=1.0)


def counted_by_weight(columns, rows):
    """The columns with the counts of rows by their weights."""
    found = []
    for column, cells in zip(columns, rows.cells, strict=True):
        counts = np.zeros(column.counts.shape)
        np.add.at(counts, (cells, rows.y), rows.weight)
        found.append(replace(column, counts=counts))
    return found


def without(columns, rows, i):
    """The columns with row i's counts taken out."""
    found = []
    for column, cells in zip(columns, rows.cells, strict=True):
        counts = column.counts.copy()
        counts[cells[i], rows.y[i]] -= rows.weight[i]
        found.append(replace(column, counts=counts))
    return found


def words_only(n, seed=0):
    table, y = mixed(n, seed)
    return cells_of(table[["a", "b"]], y)


def test_columns_of_words_are_counted_without_the_row():
    columns, rows, classes = words_only(80)
    learned = learn(columns, rows, classes, replace(PLAIN, interactions=0))
    for i in (0, 17, 79):
        tables = term_tables(replace(learned.main, columns=without(columns, rows, i)))
        scores = learned.offset + sum(t[c[i]] for t, c in zip(tables, rows.cells, strict=True))
        expected = log_normalised(scores[None])[0]
        np.testing.assert_allclose(learned.log_proba[i], expected, rtol=1e-9, atol=1e-9)


def test_a_row_of_any_weight_is_left_out_whole_and_one_of_weight_0_is_none():
    columns, rows, _ = words_only(60)
    rng = np.random.default_rng(0)
    weighted = replace(rows, weight=np.append(rng.choice([0.3, 1.0, 2.5], 50), np.zeros(10)))
    columns = counted_by_weight(columns, weighted)
    total = np.bincount(rows.y, weighted.weight)
    learned = learn(columns, weighted, total, replace(PLAIN, interactions=0))
    for i in range(60):
        tables = term_tables(replace(learned.main, columns=without(columns, weighted, i)))
        scores = learned.offset + sum(t[c[i]] for t, c in zip(tables, rows.cells, strict=True))
        expected = log_normalised(scores[None])[0]
        np.testing.assert_allclose(learned.log_proba[i], expected, rtol=1e-6, atol=1e-6)
    there = np.flatnonzero(weighted.weight)
    again = learn(columns, weighted.take(there), total, replace(PLAIN, interactions=0))
    np.testing.assert_allclose(again.weights.terms, learned.weights.terms, atol=1e-6)


@pytest.mark.parametrize("most", [1, 40, 500, 5000])
def test_a_sample_is_fair(most):
    rng = np.random.default_rng(0)
    y = np.append(rng.integers(0, 2, 2000), [2, 2, 2]).astype(np.int32)
    weight = np.append(rng.choice([0.0, 1.0, 2.0], 2000), np.ones(3))
    index, stands = sampled(y, weight, 3, most)
    assert (np.diff(index) > 0).all()
    assert (weight[index] > 0).all()
    assert set(y[index]) == {0, 1, 2}
    some = np.count_nonzero(weight)
    if most >= some:
        np.testing.assert_array_equal(stands, weight[index])
    else:
        kept = min(1.0, most / some)
        total = np.bincount(y[index], stands / weight[index], 3)
        np.testing.assert_allclose(total, kept * np.bincount(y[weight > 0], minlength=3))


def test_many_rows_are_learned_on_a_sample(monkeypatch):
    columns, rows, classes = cells_of(*mixed(6000))
    whole = learn(columns, rows, classes)
    monkeypatch.setattr("tallybayes.weighted.search.MAX_ROWS", 1500)
    part = learn(columns, rows, classes)
    own = np.arange(6000), rows.y
    assert part.log_proba.shape == whole.log_proba.shape
    assert part.log_proba[own].mean() == pytest.approx(whole.log_proba[own].mean(), abs=0.02)


def test_where_classes_are_many_an_equal_share_of_each_is_looked_at(monkeypatch):
    columns, rows, classes = cells_of(*mixed(6000))
    whole = learn(columns, rows, classes)
    monkeypatch.setattr("tallybayes.weighted.average.MAX_VALUES", 2 * 2000)
    part = learn(columns, rows, classes)
    assert len(part.tested) == len(set(part.tested.tolist())) <= 2000
    shares = np.bincount(rows.y[part.tested], minlength=2) / len(part.tested)
    np.testing.assert_allclose(shares, classes / classes.sum(), atol=0.01)
    strongest = [p.columns for p in whole.pairs][:1]
    assert [p.columns for p in part.pairs][:1] == strongest
    losses = [
        -m.log_proba[np.arange(len(m.tested)), rows.y[m.tested]].mean() for m in (part, whole)
    ]
    assert losses[0] == pytest.approx(losses[1], abs=0.03)
