"""Learning weights, pairs and corrections of columns read as cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reference.weighted import loss, proba, term_tables
from tallybayes.weighted import search as rounds
from tallybayes.weighted.average import learn
from tallybayes.weighted.cells import ColumnCells, coarse, equal_frequency
from tallybayes.weighted.scores import log_normalised, rows_taken_out
from tallybayes.weighted.search import FitOptions
from tallybayes.weighted.tables import column_table, column_values
from weighted.read import cells_of, codes_in, mixed


def test_labels_weigh_alike():
    weight = np.array([1.0, 1.0, 50.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    assert equal_frequency(weight, 4).tolist() == [0, 0, 1, 2, 2, 2, 3, 3]
    assert equal_frequency(np.ones(6), 3).tolist() == [0, 0, 1, 1, 2, 2]
    assert equal_frequency(np.array([5.0]), 8).tolist() == [0]
    assert equal_frequency(np.empty(0), 8).tolist() == []


def test_cells_hold_every_row():
    table, y = mixed(500)
    columns, rows, _ = cells_of(table, y)
    for column, cells in zip(columns, rows.cells, strict=True):
        counted = np.zeros_like(column.counts)
        np.add.at(counted, (cells, rows.y), 1.0)
        np.testing.assert_array_equal(counted, column.counts)
        joined = coarse(column, 8)
        assert joined.max() <= 9
        assert (np.diff(joined) >= 0).all()


def test_of_many_levels_the_rarest_share_a_cell():
    weight = np.array([[3.0], [1.0], [9.0], [2.0], [0.0]])
    levels = ColumnCells(name="t", counts=weight, levels=list("abcd"))
    assert coarse(levels, 8, 3).tolist() == [1, 2, 0, 2, 2]
    assert coarse(levels, 8).tolist() == [0, 1, 2, 3, 4]


def test_a_row_is_taken_out_of_its_column():
    """Each value is the log-ratio of the counts without the row, where no kernel spreads them."""
    columns, rows, classes = cells_of(*mixed(60))
    share = classes / classes.sum()
    column, cells = columns[2], rows.cells[2]
    table = column_table(column, share)
    values = column_values(table, cells, rows.y, rows.removed, share)
    v, k = int(cells[0]), int(rows.y[0])
    counts = column.counts.copy()
    m = counts[v].sum()

    def full(a):
        return np.log((counts + a * share) / (counts.sum(axis=1) + a)[:, None] / share)

    a = next(a for a in 0.25 * 2.0 ** np.arange(12) if np.allclose(table.full, full(a)))
    counts[v, k] -= 1.0
    z = np.log((counts[v] + a * share) / (m - 1.0 + a) / share)
    np.testing.assert_allclose(values[:, 0], z - z.mean(), rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_many_rows_read_what_a_cell_says_from_a_table(n_classes):
    rng = np.random.default_rng(n_classes)
    n, share = 3000, np.full(n_classes, 1.0 / n_classes)
    cells = rng.integers(0, 9, n).astype(np.int32)
    y = rng.integers(0, n_classes, n).astype(np.int32)
    counts = np.zeros((9, n_classes))
    np.add.at(counts, (cells, y), 1.0)
    column = ColumnCells(name="c", counts=counts, levels=list("abcdefgh"))
    table = column_table(column, share)
    found = column_values(table, cells, y, np.ones(n), share)
    assert found.flags.c_contiguous
    some = np.flatnonzero(rng.random(n) < 0.01)  # too few for a table to pay
    each = column_values(table, cells[some], y[some], np.ones(len(some)), share)
    np.testing.assert_allclose(found[:, some], each, rtol=1e-6)


def test_scores_of_a_sample_and_of_the_other_rows_are_those_of_all(monkeypatch):
    """What the terms of the sample say, and what is recomputed from tables, fit together."""
    columns, rows, classes = cells_of(*mixed(3000))
    share = classes / classes.sum()
    tables = [column_table(column, share) for column in columns]
    monkeypatch.setattr(rounds, "MAX_ROWS", 1000)
    learning = rounds.Rounds(columns, tables, rows, share, FitOptions())
    learning.add_pairs()
    assert learning.rest.pairs
    assert len(learning.index) == 1000
    pairs = [pair.term for pair in learning.rest.pairs]
    again = rows_taken_out(tables, pairs, learning.rounds, rows, share)
    found, expected = learning.scores().T, again.scores(learning.weights)
    apart = np.abs(log_normalised(np.ascontiguousarray(found)) - log_normalised(expected))
    assert apart.max() < 1e-4


def test_a_pair_that_tells_only_together_is_found():
    columns, rows, classes = cells_of(*mixed(1500))
    alone = learn(columns, rows, classes, FitOptions(interactions=0, polish=False))
    together = learn(columns, rows, classes, FitOptions(polish=False))
    names = [c.name for c in columns]
    found = {frozenset(names[j] for j in p.columns) for p in together.pairs}
    assert frozenset("ab") in found
    test, y = mixed(1500, seed=1)
    cells = codes_in(columns, test)
    assert loss(proba(together, cells), y) < 0.6 * loss(proba(alone, cells), y)


def test_tables_of_terms_are_those_of_the_formula():
    columns, rows, classes = cells_of(*mixed(1500))
    (learned,) = learn(columns, rows, classes, FitOptions(parts=1)).parts
    rng = np.random.default_rng(0)
    for corrections in (None, [rng.normal(size=(n, 2)) for n in learned.sizes]):
        corrected = replace(learned, corrections=corrections)
        found = corrected.term_tables(columns, classes / classes.sum())
        assert len(found) == len(columns) + len(learned.pairs) > len(columns)
        for table, expected in zip(found, term_tables(corrected), strict=True):
            np.testing.assert_allclose(table, expected, rtol=1e-9, atol=1e-12)


def test_noise_and_copies_weigh_little():
    table, y = mixed(1500)
    columns, rows, classes = cells_of(table, y)
    learned = learn(columns, rows, classes)
    by_name = dict(zip([c.name for c in columns], learned.weights.terms, strict=False))
    assert by_name["x"] + by_name["copy"] == pytest.approx(1.0, abs=0.35)  # not 2
    p = proba(learned, rows.cells)
    assert abs(p[:, 1].mean() - y.mean()) < 0.02


def test_permuted_labels_leave_the_class_shares():
    table, y = mixed(1200)
    y = np.random.default_rng(3).permutation(y)
    columns, rows, classes = cells_of(table, y)
    learned = learn(columns, rows, classes)
    assert not learned.pairs
    test, fresh = mixed(1200, seed=2)
    fresh = np.random.default_rng(4).permutation(fresh)
    cells = codes_in(columns, test)
    assert loss(proba(learned, cells), fresh) < np.log(2.0) + 0.01


@pytest.mark.parametrize("n_classes", [2, 3])
def test_few_rows_and_classes(n_classes):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), 3)
    table = pd.DataFrame({"x": rng.normal(y), "one": "same"})
    columns, rows, classes = cells_of(table, y)
    learned = learn(columns, rows, classes)
    p = proba(learned, rows.cells)
    assert np.isfinite(p).all()
    assert all(np.isfinite(t).all() for t in term_tables(learned.main))


def test_corrections_are_added_to_tables():
    columns, rows, classes = cells_of(*mixed(1500))
    share, rng = classes / classes.sum(), np.random.default_rng(0)
    learned = replace(learn(columns, rows, classes).main, corrections=None)
    plain = learned.term_tables(columns, share)
    assert [table.shape for table in plain] == [(size, len(share)) for size in learned.sizes]
    more = [rng.normal(size=table.shape) for table in plain]
    corrected = replace(learned, corrections=more).term_tables(columns, share)
    for table, added, found in zip(plain, more, corrected, strict=True):
        expected = table + added - added.mean(axis=1, keepdims=True)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_no_more_pairs_than_asked_for():
    columns, rows, classes = cells_of(*mixed(1500))
    assert len(learn(columns, rows, classes, FitOptions(interactions=1)).pairs) == 1
    assert not learn(columns, rows, classes, FitOptions(interactions=0)).pairs


def test_log_probabilities_of_the_learning_rows_sum_to_one():
    columns, rows, classes = cells_of(*mixed(600))
    learned = learn(columns, rows, classes)
    assert learned.log_proba.shape == (600, 2)
    np.testing.assert_allclose(np.exp(learned.log_proba).sum(axis=1), 1.0, rtol=1e-12)
    fitted = np.log(proba(learned, rows.cells)[np.arange(600), rows.y]).mean()
    assert learned.log_proba[np.arange(600), rows.y].mean() < fitted  # rows are taken out
