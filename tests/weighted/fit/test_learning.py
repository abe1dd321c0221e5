"""Learning weights, pairs and corrections: rules, shrinkage, input at the edges."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from reference.weighted import loss, proba, term_tables
from tallybayes.weighted import search, ways
from tallybayes.weighted import search as rounds
from tallybayes.weighted.average import learn
from tallybayes.weighted.cells import ColumnCells, coarse, equal_frequency
from tallybayes.weighted.rows import LearningRows
from tallybayes.weighted.scores import log_normalised, rows_taken_out
from tallybayes.weighted.search import FitOptions
from tallybayes.weighted.tables import NULL_TERM, column_table, column_values
from tallybayes.weighted.ways import min_column_gain, shrunk, too_many_columns
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


def test_log_probabilities_of_the_learning_rows_sum_to_one():
    columns, rows, classes = cells_of(*mixed(600))
    learned = learn(columns, rows, classes)
    assert learned.log_proba.shape == (600, 2)
    np.testing.assert_allclose(np.exp(learned.log_proba).sum(axis=1), 1.0, rtol=1e-12)
    fitted = np.log(proba(learned, rows.cells)[np.arange(600), rows.y]).mean()
    assert learned.log_proba[np.arange(600), rows.y].mean() < fitted  # rows are taken out


LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def ends_of_games():
    """The 958 boards of tic-tac-toe after the last move, and whether x, who began, has a line
    (D. W. Aha, UCI Machine Learning Repository, 1991)."""
    boards = {}
    for n_x in (3, 4, 5):
        for xs in combinations(range(9), n_x):
            left = [square for square in range(9) if square not in xs]
            for n_o in {n_x - 1, n_x} if n_x < 5 else {4}:
                for os in combinations(left, n_o):
                    x_won, o_won = (any(set(line) <= set(of) for line in LINES) for of in (xs, os))
                    last_won = x_won != o_won and x_won == (n_x > n_o)
                    if last_won if x_won or o_won else n_x == 5:
                        board = "".join("xo"[s in os] if s in (*xs, *os) else "b" for s in range(9))
                        boards[board] = x_won
    table = pd.DataFrame([list(board) for board in boards], columns=[f"s{j}" for j in range(9)])
    order = np.random.default_rng(0).permutation(len(table))
    return table.loc[order].reset_index(drop=True), np.array(list(boards.values()), int)[order]


def fresh_loss(learned, table, y):
    return loss(proba(learned, codes_in(learned.columns, table)), y)


@pytest.fixture(scope="module")
def games():
    table, y = ends_of_games()
    assert np.bincount(y).tolist() == [332, 626]  # as published
    return (table[:760], y[:760]), (table[760:], y[760:])


def test_weak_ridges_learn_a_rule(games, monkeypatch):
    train, test = games
    columns, rows, classes = cells_of(*train)
    monkeypatch.setattr(search, "MAX_ROWS_OF_TRIPLES", 0)  # they leave nothing to learn
    learned = learn(columns, rows, classes)
    own = learned.log_proba[np.arange(len(learned.tested)), rows.y[learned.tested]]
    monkeypatch.setattr(ways, "RIDGES", ways.RIDGES[:3])
    without = learn(columns, rows, classes)
    assert fresh_loss(learned, *test) < min(0.5 * fresh_loss(without, *test), 0.03)
    before = without.log_proba[np.arange(len(own)), rows.y[without.tested]]
    assert own.mean() > before.mean()


@pytest.mark.parametrize("asked", [{}, {"interactions": 36}])
def test_the_fit_of_all_rows_is_corrected_alike(games, asked, monkeypatch):
    """Also where it is not fitted beside the parts."""
    (table, y), found = games[0], []
    for ridges in (ways.RIDGES[:2], ways.RIDGES):
        monkeypatch.setattr(ways, "RIDGES", ridges)
        learned = learn(*cells_of(table[:400], y[:400]), FitOptions(**asked))
        found.append(learned.parts)
    assert len(found[0]) == 6
    for part, other in zip(*found, strict=True):
        assert not np.array_equal(part.corrections[0], other.corrections[0])


def test_labels_that_are_mostly_chance_do_not_get_weak_ridges(monkeypatch):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.choice(["a", "b", "c"], (400, 5)), columns=list("vwxyz"))
    y = ((table["v"] == table["w"]) ^ (rng.random(400) < 0.3)).astype(int)
    learned = learn(*cells_of(table, y))
    monkeypatch.setattr(ways, "RIDGES", ways.RIDGES[:3])
    assert np.array_equal(learned.log_proba, learn(*cells_of(table, y)).log_proba)


def wide(n, d, telling, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    x = rng.normal(size=(n, d))
    x[:, :telling] += 1.2 * y[:, None]
    return pd.DataFrame(x).rename(columns="x{}".format), y


def wide_loss(learned, columns, telling):
    table, y = wide(2000, len(columns), telling, seed=1)
    cells = codes_in(columns, table)
    return loss(proba(learned, cells), y)


def own_loss(learned, y):
    return -learned.log_proba[np.arange(len(y)), y].mean()


@pytest.mark.parametrize("seed", range(3))
def test_columns_of_chance_teach_nothing(seed):
    """Of so many columns the best tell half of the rows by leave-one-out."""
    columns, rows, classes = cells_of(*wide(60, 300, 0, seed))
    learned = learn(columns, rows, classes)
    assert wide_loss(learned, columns, 0) < np.log(2.0) + 0.03
    assert own_loss(learned, rows.y) > np.log(2.0) - 0.05


@pytest.mark.parametrize("seed", range(2))
def test_printed_numbers_of_many_columns_are_honest(seed):
    columns, rows, classes = cells_of(*wide(200, 500, 5, seed))
    learned = learn(columns, rows, classes)
    assert learned.tested.tolist() == list(range(200))
    fresh = wide_loss(learned, columns, 5)
    assert fresh < 0.4  # 0.69 by the class shares
    assert own_loss(learned, rows.y) == pytest.approx(fresh, abs=0.1)


def test_where_columns_are_many_for_the_rows():
    assert not too_many_columns(10, 20.0)
    assert too_many_columns(11, 20.0)
    assert min_column_gain(1, 30.0) == -np.inf
    assert min_column_gain(10, 30.0) == pytest.approx(np.log(10.0))


@pytest.mark.parametrize("factor", [0.0, 0.4, 1.0])
def test_a_shrunk_model_lies_between_the_class_shares_and_the_fit(factor):
    columns, rows, classes = cells_of(*wide(80, 4, 3))
    p = classes / classes.sum()
    learned = learn(columns, rows, classes).main
    less = shrunk(learned, p, factor)
    full = np.log(proba(learned, rows.cells)) - np.log(p)
    expected = np.exp(log_normalised(np.log(p) + factor * full))
    np.testing.assert_allclose(proba(less, rows.cells), expected, rtol=1e-9)
    for table, whole in zip(term_tables(less), term_tables(learned), strict=True):
        np.testing.assert_allclose(table, factor * whole, atol=1e-12)


def test_a_narrow_kernel_pays_for_its_bumps():
    """Columns of noise that follow the labels of neighbours by chance do not get narrow kernels."""
    columns, _, classes = cells_of(*wide(120, 300, 0, seed=4))
    p = classes / classes.sum()
    gains = np.array([column_table(column, p).gain for column in columns])
    assert np.quantile(gains, 0.99) < 4.0


def numbers(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({f"x{j}": rng.normal(size=n) for j in range(d)})


def checked(columns, rows, classes, **options):
    """A model whose every number is finite."""
    learned = learn(columns, rows, classes, FitOptions(**options))
    n_classes = len(classes)
    assert learned.log_proba.shape == (rows.n, n_classes)
    np.testing.assert_allclose(np.exp(learned.log_proba).sum(axis=1), 1.0, rtol=1e-9)
    assert all(np.isfinite(table).all() for table in term_tables(learned.main))
    assert np.isfinite(learned.offset).all()
    assert (learned.weights.terms >= 0.0).all()
    p = proba(learned, rows.cells)
    assert np.isfinite(p).all()
    return learned


halves = np.array([0, 1] * 20)
tables = {
    "one column": (numbers(40, 1), halves),
    "one level": (pd.DataFrame({"a": ["x"] * 40}), halves),
    "constant": (pd.DataFrame({"a": ["x"] * 40, "b": 1.0, "c": np.arange(40.0)}), halves),
    "separated": (pd.DataFrame({"a": halves + 0.0, "b": np.arange(40.0)}), halves),
    "separated, many": (
        pd.DataFrame({"a": np.tile(halves, 60) + 0.0, "b": np.arange(2400.0)}),
        np.tile(halves, 60),
    ),
    "a class of one": (numbers(40, 3), np.array([0] * 20 + [1] * 19 + [2])),
    "a class of two": (numbers(40, 3), np.array([0] * 20 + [1] * 18 + [2] * 2)),
    "a class a row": (numbers(6, 2), np.arange(6)),
    "two rows": (numbers(2, 2), np.arange(2)),
    "five rows": (numbers(5, 3), np.arange(5) % 2),
    "more columns than rows": (numbers(20, 60), np.arange(20) % 2),
    "many classes": (numbers(600, 2), np.arange(600) % 200),
}


@pytest.mark.parametrize("name", tables)
def test_a_model_is_found(name):
    checked(*cells_of(*tables[name]))


def test_no_columns_one_class_no_weights():
    columns, rows, classes = cells_of(*mixed(40))
    none = replace(rows, cells=np.zeros((0, 40), dtype=np.int32))
    learned = checked([], none, classes)
    shares = classes / classes.sum()
    np.testing.assert_allclose(np.exp(learned.log_proba), np.tile(shares, (40, 1)), rtol=1e-3)
    checked(columns, replace(rows, weight=np.zeros(40)), classes)
    checked(columns, replace(rows, weight=np.full(40, 0.3)), classes)
    alone = [replace(c, counts=c.counts.sum(axis=1, keepdims=True)) for c in columns]
    single = LearningRows(rows.cells, np.zeros(40, dtype=np.int32), rows.weight, 1)
    checked(alone, single, np.array([40.0]))


def test_equal_columns_are_left_out():
    table, y = mixed(1200)
    columns, rows, classes = cells_of(table, y)
    table["again"], table["b2"] = table["copy"], table["b"]
    more = cells_of(table, y)
    learned, longer = checked(columns, rows, classes), checked(*more)
    whole = longer.main
    names = [column.name for column in more[0]]
    by_name = {names[j]: names[k] for j, k in longer.duplicates.items()}
    assert by_name == {"again": "copy", "b2": "b"}
    assert all(longer.weights.terms[j] == 0.0 for j in longer.duplicates)
    assert all(not term_tables(whole)[j].any() for j in longer.duplicates)
    np.testing.assert_allclose(longer.log_proba, learned.log_proba, atol=1e-9)


def test_a_near_copy_and_noise_change_little():
    table, y = mixed(2000)
    test, fresh = mixed(4000, seed=1)
    rng = np.random.default_rng(2)
    found = []
    for more in ({}, {"near": 0.01}, {"more noise": None}):
        for name, width in more.items():
            for some in (table, test):
                spread = rng.normal(size=len(some))
                some[name] = spread if width is None else some["copy"] + width * spread
        columns, rows, classes = cells_of(table, y)
        learned = learn(columns, rows, classes)
        cells = codes_in(columns, test)
        found.append(loss(proba(learned, cells), fresh))
    assert found[1] == pytest.approx(found[0], rel=0.03)
    assert found[2] == pytest.approx(found[1], rel=0.03)


def test_columns_of_chance_say_nothing_where_there_are_many():
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    table = numbers(100, 400)
    for name in ("x0", "x1", "x2"):
        table[name] += 1.5 * y
    columns, rows, classes = cells_of(table, y)
    learned = checked(columns, rows, classes)
    null_terms = [
        c.name
        for c, choice in zip(columns, learned.main.choices, strict=True)
        if choice == NULL_TERM
    ]
    assert len(null_terms) > 350
    assert not {"x0", "x1", "x2"} & set(null_terms)
    test = numbers(1000, 400, seed=1)
    fresh = rng.integers(0, 2, 1000)
    for name in ("x0", "x1", "x2"):
        test[name] += 1.5 * fresh
    cells = codes_in(columns, test)
    assert loss(proba(learned, cells), fresh) < 0.45  # 0.69 by the class shares


def test_a_copy_that_differs_where_it_matters_is_used():
    """The class is where the tariff that is listed is not the one that was paid."""

    def prices(n, seed):
        rng = np.random.default_rng(seed)
        found = pd.DataFrame({"listed": rng.choice(list("abcd"), n), "x": rng.normal(size=n)})
        other = rng.random(n) < 0.015
        y = ((rng.random(n) < 0.4) | other).astype(int)
        lower = found["listed"].map(dict(zip("abcd", "bcda", strict=True)))
        return found.assign(paid=found["listed"].where(~other, lower)), y

    (table, y), (test, fresh) = prices(3000, 0), prices(20_000, 1)
    learned = learn(*cells_of(table, y))
    p = proba(learned, codes_in(learned.columns, test))
    assert (p[test["listed"] != test["paid"], 1] > 0.8).all()
    alone = learn(*cells_of(table.drop(columns="paid"), y))
    assert loss(p, fresh) < loss(proba(alone, codes_in(alone.columns, test)), fresh)
