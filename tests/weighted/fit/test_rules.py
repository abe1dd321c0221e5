"""Corrections of cells where labels follow a rule."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from reference.weighted import loss, proba
from tallybayes.weighted import search, ways
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
