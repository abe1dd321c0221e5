"""Columns that say nearly the same: how they are found, and which of them are learned."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.weighted import loss, proba, term_tables
from tallybayes.weighted import average as copies
from tallybayes.weighted.average import best_of_copies, learn, near_copies
from tallybayes.weighted.tables import column_table
from weighted.read import cells_of, codes_in, mixed

LINES = ("abc", "def", "ghi", "adg", "beh", "cfi", "aei", "ceg")
SQUARES = "abcdefghi"


def has_line(board, player):
    return any(all(board[SQUARES.index(s)] == player for s in line) for line in LINES)


@cache
def ends(board="-" * 9, player="x"):
    """The boards at the end of all games of noughts and crosses."""
    before = "o" if player == "x" else "x"
    if has_line(board, before) or "-" not in board:
        return {board}
    free = [i for i in range(9) if board[i] == "-"]
    return set().union(*(ends(board[:i] + player + board[i + 1 :], before) for i in free))


@cache
def squares():
    """These boards in some order; the class says whether x has won."""
    boards = np.random.default_rng(0).permutation(sorted(ends()))
    table = pd.DataFrame([list(board) for board in boards], columns=list(SQUARES))
    return table, np.array([int(has_line(board, "x")) for board in boards])


def half_and_half(again=None):
    """Boards to learn, and the others."""
    table, y = squares()
    if again is not None:
        table = table.assign(again=again)
    return (table[:700], y[:700]), (table[700:], y[700:])


def other_rows(column, share, seed=0):
    """A column of which a share of the rows have another row's value."""
    rng = np.random.default_rng(seed)
    return column.where(rng.random(len(column)) >= share, rng.permutation(column))


def groups_of(table, y):
    columns, rows, classes = cells_of(table, y)
    tables = [column_table(column, classes / classes.sum()) for column in columns]
    found = near_copies(columns, tables, rows)
    return sorted(sorted(columns[j].name for j in group) for group in found)


def fresh_loss(learned, table, y):
    return loss(proba(learned, codes_in(learned.columns, table)), y)


def left_out(learned):
    names = [column.name for column in learned.columns]
    return {names[j]: names[kept] for j, kept in learned.nearly.items()}


# ---- which columns are near-copies ---------------------------------------------------------------
def many_columns():
    rng = np.random.default_rng(0)
    y = np.arange(600) % 2
    table = pd.DataFrame({"x": rng.normal(y), "t": rng.choice(list("pqrs"), 600)})
    table["gaps"] = table["x"].where(rng.random(600) > 0.1)
    table["level"] = np.where(rng.random(600) < 0.01, "rare", "usual")
    return table, y


@pytest.mark.parametrize("seed", range(3))
def test_near_copies_are_found(seed):
    table, y = many_columns()
    rng = np.random.default_rng(seed)
    assert groups_of(table, y) == []
    table = table.assign(
        x2=table["x"] + 0.01 * rng.normal(size=600),
        x3=7.0 - 1e9 * table["x"] + 1e7 * rng.normal(size=600),  # another unit, the other way round
        t2=other_rows(table["t"], 0.01, seed),
    )
    assert groups_of(table, y) == [["t", "t2"], ["x", "x2", "x3"]]


def test_numbers_of_few_values_are_told_with_noise():
    """Of equal values noise makes different cells."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    whole = pd.Series(rng.integers(0, 2, 400) + 2 * y)
    table = pd.DataFrame({"whole": whole, "again": whole + 0.01 * rng.normal(size=400)})
    assert groups_of(table, y) == [["again", "whole"]]


def test_columns_that_tell_other_things_are_no_copies():
    table, y = many_columns()
    rng = np.random.default_rng(1)
    table = table.assign(
        noisy=table["x"] + 0.3 * rng.normal(size=600),
        some=other_rows(table["t"], 0.1),
        coarse=np.where(table["t"] < "r", "first", "last"),
        late=np.where(rng.random(600) < 0.01, "rare", "usual"),
        same="always",
        one=1.0,
    )
    assert groups_of(table, y) == []


def test_a_spectrum_is_no_group():
    """Columns each of which says nearly what the next says."""
    table, y = many_columns()
    rng = np.random.default_rng(2)
    for place in range(5):
        table[f"s{place}"] = table["x"] + 0.05 * rng.normal(size=600)
    assert groups_of(table.drop(columns="x"), y) == []
    assert groups_of(table.drop(columns=["s0", "s1", "s2"]), y) == [["s3", "s4", "x"]]


def test_a_row_of_weight_two_is_two_rows():
    table, y = many_columns()
    columns, rows, classes = cells_of(table.assign(t2=other_rows(table["t"], 0.02)), y)
    tables = [column_table(column, classes / classes.sum()) for column in columns]
    differ = rows.cells[1] != rows.cells[-1]
    few = replace(rows, weight=np.where(differ, 10.0, 1.0))
    twice = rows.take(np.repeat(np.arange(600), few.weight.astype(int)))
    assert near_copies(columns, tables, rows)
    assert near_copies(columns, tables, few) == near_copies(columns, tables, twice) == []


def test_no_rows_no_columns():
    columns, rows, _ = cells_of(*many_columns())
    tables = [column_table(column, np.full(2, 0.5)) for column in columns]
    assert near_copies([], [], replace(rows, cells=rows.cells[:0])) == []
    assert near_copies(columns[:1], tables[:1], replace(rows, cells=rows.cells[:1])) == []
    assert near_copies(columns, tables, replace(rows, weight=np.zeros(600))) == []
    near_copies(columns, tables, rows.take(np.arange(0)))
    near_copies(columns, tables, rows.take(np.arange(1)))


def test_of_many_rows_no_copies_are_looked_for(monkeypatch):
    table, y = many_columns()
    table = table.assign(t2=other_rows(table["t"], 0.01))
    assert groups_of(table, y)
    monkeypatch.setattr(copies, "MAX_ROWS", 599)
    assert groups_of(table, y) == []
    monkeypatch.setattr(copies, "MAX_ROWS", 600)
    monkeypatch.setattr(copies, "MAX_WORK", 600 * 2 * 5 - 1)
    assert groups_of(table, y) == []


@cache
def learned_of_mixed():
    columns, rows, classes = cells_of(*mixed(60))
    return learn(columns, rows, classes), rows


# ---- which of them are learned -------------------------------------------------------------------
@given(
    sizes=st.lists(st.integers(2, 12), max_size=12),
    best=st.integers(0, 10**6),
    seed=st.integers(0, 10**6),
)
def test_one_or_all_of_a_group_are_heard(sizes, best, seed):
    """Whatever the fits say, and so many of them at most."""
    d = sum(sizes) + 3
    order = np.random.default_rng(seed).permutation(d).tolist()
    groups = [[order.pop() for _ in range(size)] for size in sizes]
    rng, calls = np.random.default_rng(best), []
    told, rows = learned_of_mixed()
    rows = replace(rows, cells=np.zeros((d, 60), dtype=np.int32))

    def learn_of(kept):
        calls.append(kept)
        p = np.full((60, 2), 1e-9)
        p[np.arange(60), rows.y] = rng.random()
        return replace(told, tested=np.arange(60), log_proba=np.log(p))

    found = best_of_copies(groups, learn_of, rows)
    assert 1 <= len(calls) <= 1 + copies.MAX_ADDITIONAL_FITS
    for place, group in enumerate(groups):
        out = [j for j in group if j in found.nearly]
        assert len(out) in (0, len(group) - 1)
        assert {found.nearly[j] for j in out} <= set(group) - set(out)
        if place >= copies.MAX_ADDITIONAL_FITS:
            assert not out
    assert not set(order) & set(found.nearly)
    assert [j for j in range(d) if j not in found.nearly] in calls


def test_all_of_all_groups_is_another_choice():
    """Where each group gains a little, and all of them enough."""
    told, rows = learned_of_mixed()
    rows = replace(rows, cells=np.zeros((5, 60), dtype=np.int32))

    def found(nats, groups):
        def learn_of(kept):
            log_proba = np.full((60, 2), -5.0)
            log_proba[0, rows.y[0]] += nats * len(kept)
            return replace(told, tested=np.arange(60), log_proba=log_proba)

        return best_of_copies(groups, learn_of, rows).nearly

    assert found(4.0, [[3, 1], [0, 4]]) == {}
    assert found(2.0, [[3, 1], [0, 4]]) == {1: 3, 4: 0}
    assert found(6.0, [[3, 1]]) == {}
    assert found(4.0, [[3, 1]]) == {1: 3}


@pytest.mark.parametrize("rows_of", [lambda: mixed(800), squares])
def test_without_near_copies_nothing_changes(rows_of, monkeypatch):
    columns, rows, classes = cells_of(*rows_of())
    learned = learn(columns, rows, classes)
    assert learned.nearly == {}
    monkeypatch.setattr(copies, "near_copies", lambda *_: [])
    plain = learn(columns, rows, classes)
    for one, other in zip(term_tables(learned.main), term_tables(plain.main), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(learned.log_proba, plain.log_proba)


@cache
def with_a_copy(seed):
    """What is learned where a column nearly copies a square, and its loss on other boards."""
    some, others = half_and_half(other_rows(squares()[0]["e"], 0.01, seed))
    learned = learn(*cells_of(*some))
    return learned, fresh_loss(learned, *others)


def test_a_near_copy_of_a_square_is_left_out():
    some, others = half_and_half()
    learned, now = with_a_copy(0)
    assert left_out(learned) == {"again": "e"}
    j = next(iter(learned.nearly))
    assert learned.weights.terms[j] == 0.0
    assert not term_tables(learned.main)[j].any()
    assert not [pair for pair in learned.pairs if j in (pair.first, pair.second)]
    # the parts that are left out follow all columns
    assert now < fresh_loss(learn(*cells_of(*some)), *others) + 0.02


def test_a_square_and_its_near_copy_together_would_be_worse(monkeypatch):
    """Where the class is a rule of three squares, a row with a wrong one is dear."""
    alone = [with_a_copy(seed)[1] for seed in range(3)]
    monkeypatch.setattr(copies, "MAX_ROWS", 0)
    together = [with_a_copy.__wrapped__(seed)[1] for seed in range(3)]
    assert np.mean(together) > 1.1 * np.mean(alone)


def test_the_order_of_columns_does_not_matter():
    (table, y), (test, _) = half_and_half(other_rows(squares()[0]["e"], 0.01))
    learned = with_a_copy(0)[0], learn(*cells_of(table[["again", *reversed(SQUARES)]], y))
    assert [left_out(one) for one in learned] == [{"again": "e"}] * 2
    found = [proba(one, codes_in(one.columns, test)) for one in learned]
    np.testing.assert_allclose(found[0], found[1], atol=5e-3)  # corrections end 0.1 nats apart


def prices(n, seed=0):
    """The tariffs paid and listed, and a class that nothing else tells: where they differ."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"listed": rng.choice(list("abcd"), n), "x": rng.normal(size=n)})
    other = rng.random(n) < 0.015
    y = (rng.random(n) < 0.4).astype(int)
    y[other] = 1
    lower = table["listed"].map(dict(zip("abcd", "bcda", strict=True)))
    table["paid"] = table["listed"].where(~other, lower)
    return table, y


def test_a_copy_that_differs_where_it_matters_is_kept():
    table, y = prices(3000)
    assert groups_of(table, y) == [["listed", "paid"]]
    learned = learn(*cells_of(table, y))
    assert learned.nearly == {}
    test, fresh = prices(20_000, seed=1)
    differ = test["listed"] != test["paid"]
    p = proba(learned, codes_in(learned.columns, test))
    assert (p[differ, 1] > 0.8).all()
    alone = learn(*cells_of(table.drop(columns="paid"), y))
    assert fresh_loss(learned, test, fresh) < fresh_loss(alone, test, fresh)


def test_equal_and_nearly_equal_columns_together():
    (table, y), _ = half_and_half(other_rows(squares()[0]["e"], 0.01))
    table = table.assign(last=table["e"])
    table.insert(0, "first", table["again"])
    learned = learn(*cells_of(table, y))
    names = [column.name for column in learned.columns]
    same = {names[j]: names[k] for j, k in learned.duplicates.items()}
    assert same == {"again": "first", "last": "e"}
    assert left_out(learned) == {"first": "e"}
