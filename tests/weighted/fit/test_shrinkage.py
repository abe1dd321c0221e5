"""Shrinkage toward the class shares: by the rows left out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reference.weighted import loss, proba
from tallybayes.weighted.average import learn
from tallybayes.weighted.scores import log_normalised
from tallybayes.weighted.tables import column_table
from tallybayes.weighted.ways import min_column_gain, shrunk, too_many_columns
from weighted.read import cells_of, codes_in


def wide(n, d, telling, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    x = rng.normal(size=(n, d))
    x[:, :telling] += 1.2 * y[:, None]
    return pd.DataFrame(x).rename(columns="x{}".format), y


def fresh_loss(learned, columns, telling):
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
    assert fresh_loss(learned, columns, 0) < np.log(2.0) + 0.03
    assert own_loss(learned, rows.y) > np.log(2.0) - 0.05


@pytest.mark.parametrize("seed", range(2))
def test_printed_numbers_of_many_columns_are_honest(seed):
    columns, rows, classes = cells_of(*wide(200, 500, 5, seed))
    learned = learn(columns, rows, classes)
    assert learned.tested.tolist() == list(range(200))
    fresh = fresh_loss(learned, columns, 5)
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
    tables = less.term_tables(columns, p)
    for table, whole in zip(tables, learned.term_tables(columns, p), strict=True):
        np.testing.assert_allclose(table, factor * whole, atol=1e-12)


def test_a_narrow_kernel_pays_for_its_bumps():
    """Columns of noise that follow the labels of neighbours by chance do not get narrow kernels."""
    columns, _, classes = cells_of(*wide(120, 300, 0, seed=4))
    p = classes / classes.sum()
    gains = np.array([column_table(column, p).gain for column in columns])
    assert np.quantile(gains, 0.99) < 4.0
