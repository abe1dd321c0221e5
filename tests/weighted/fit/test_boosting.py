"""Boosting of cells where labels follow a rule."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from reference.weighted import loss, proba, term_tables
from tallybayes import get_num_threads, set_num_threads
from tallybayes.weighted import average, ways
from tallybayes.weighted.average import learn
from tallybayes.weighted.search import FitOptions
from weighted.read import cells_of, codes_in

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


def test_boosting_learns_a_rule_that_no_ridge_does(games, monkeypatch):
    train, test = games
    columns, rows, classes = cells_of(*train)
    learned = learn(columns, rows, classes)
    own = learned.log_proba[np.arange(len(learned.tested)), rows.y[learned.tested]]
    monkeypatch.setattr(ways, "CYCLES", ())
    without = learn(columns, rows, classes)
    assert fresh_loss(learned, *test) < 0.8 * fresh_loss(without, *test)
    before = without.log_proba[np.arange(len(own)), rows.y[without.tested]]
    assert own.mean() > before.mean()
    assert [len(part.pairs) for part in learned.parts] == [len(p.pairs) for p in without.parts]


def test_threads_change_nothing_of_boosted_cells(games, monkeypatch):
    monkeypatch.setattr(average, "MAX_ONE_THREAD_WORK", 0)
    monkeypatch.setattr(ways, "CYCLES", (5,))
    (table, y), _ = games
    found, before = [], get_num_threads()
    try:
        for threads in (1, 2):
            set_num_threads(threads)
            learned = learn(*cells_of(table[:400], y[:400]))
            found.append([table for part in learned.parts for table in term_tables(part)])
    finally:
        set_num_threads(before)
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))


@pytest.mark.parametrize("asked", [{}, {"interactions": 36}])
def test_the_fit_of_all_rows_is_boosted_alike(games, asked, monkeypatch):
    """Also where it is not fitted beside the parts."""
    always = -np.inf  # whatever the rows left out lose
    monkeypatch.setattr(ways, "FIRST_BOOST_STANDARD_ERRORS", always)
    (table, y), found = games[0], []
    for cycles in ((), (5,)):
        monkeypatch.setattr(ways, "CYCLES", cycles)
        learned = learn(*cells_of(table[:400], y[:400]), FitOptions(**asked))
        found.append(learned.parts)
    assert len(found[0]) == 6
    for part, other in zip(*found, strict=True):
        assert [pair.first for pair in part.pairs] == [pair.first for pair in other.pairs]
        assert not np.array_equal(part.corrections[0], other.corrections[0])


def test_where_ridges_are_enough_cells_are_not_boosted(monkeypatch):
    """Labels of which most are chance."""
    tried = []
    monkeypatch.setattr(ways, "boosted", lambda path, cycles: tried.append(cycles))
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.choice(["a", "b", "c"], (400, 5)), columns=list("vwxyz"))
    y = ((table["v"] == table["w"]) ^ (rng.random(400) < 0.3)).astype(int)
    learn(*cells_of(table, y))
    assert not tried


def test_boosting_begins_only_where_it_gains_more_than_three_standard_errors(games, monkeypatch):
    """A gain that just passes two is the best of several looks."""
    (table, y), found = games[0], []
    for errors in (ways.FIRST_BOOST_STANDARD_ERRORS, 1e3):
        monkeypatch.setattr(ways, "FIRST_BOOST_STANDARD_ERRORS", errors)
        monkeypatch.setattr(ways, "BOOST_STANDARD_ERRORS", -np.inf)
        found.append(learn(*cells_of(table, y)).log_proba)
    monkeypatch.setattr(ways, "CYCLES", ())
    without = learn(*cells_of(table, y)).log_proba
    assert not np.array_equal(found[0], without)
    np.testing.assert_array_equal(found[1], without)
