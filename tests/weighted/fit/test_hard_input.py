"""Input at the edges: few rows, one level, separated classes, copies, many columns or classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reference.weighted import loss, proba, term_tables
from tallybayes.weighted.average import learn
from tallybayes.weighted.rows import LearningRows
from tallybayes.weighted.search import FitOptions
from tallybayes.weighted.tables import NULL_TERM
from weighted.read import cells_of, codes_in, mixed


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
