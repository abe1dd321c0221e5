"""Corrections of cells, and when none is looked for."""

from __future__ import annotations

import numpy as np
import pytest

from tallybayes.weighted import search as polish
from tallybayes.weighted.objective import CorrectedRows, solved
from tallybayes.weighted.search import correction, stops_early


def rows(seed, effect, n=3000, missing=False):
    """Two terms of 20 cells; the scores do not know what the first one's cells do."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(-1 if missing else 0, 20, (n, 2)).astype(np.int32)
    apart = rng.normal(size=n)
    push = np.append(effect * rng.choice([-1.0, 1.0], 20), 0.0)[cells[:, 0]]
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-apart - push))).astype(np.int32)
    weight = rng.choice([0.5, 1.0, 2.0], n) if seed % 2 else np.ones(n)
    scores = np.column_stack([-0.5 * apart, 0.5 * apart])
    return cells, scores, y, weight


def fold_of(n):
    return np.random.default_rng(2).permutation(n) % polish.FOLDS


def numbered(cells):
    """The cells over both terms."""
    return np.where(cells < 0, -1, cells + np.array([0, 20])).astype(np.int32)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("effect", [0.0, 0.2, 1.0])
def test_what_is_hopeless_is_what_the_first_step_loses(seed, effect):
    """Term by term as with the cells of all terms side by side."""
    cells, scores, y, weight = rows(seed, effect, missing=seed > 3)
    both = CorrectedRows(numbered(cells), scores, y, weight, 40)
    held_out = fold_of(len(y)) == 0
    train, test = both.only(~held_out), both.only(held_out)
    nothing = np.zeros(both.shape)
    step = solved(train, train.curvature(), polish.RIDGES[0], nothing, steps=1)
    lost = test.loss(step)[0] - test.loss(nothing)[0]
    assert stops_early(cells.T, scores, y, weight, held_out) == (lost > polish.MIN_GAIN)


def test_what_helps_is_not_hopeless():
    cells, scores, y, weight = rows(0, 1.0)
    assert not stops_early(cells.T, scores, y, weight, fold_of(len(y)) == 0)
    found = correction(numbered(cells), scores, y, weight, 40, fold_of(len(y)))
    assert found is not None
    assert np.abs(found.cells[:20]).mean() > 5.0 * np.abs(found.cells[20:]).mean()


def test_noise_is_hopeless():
    """Many terms that say nothing."""
    rng = np.random.default_rng(0)
    _, scores, y, weight = rows(0, 0.0)
    cells = rng.integers(0, 50, (20, len(y))).astype(np.int32)
    assert stops_early(cells, scores, y, weight, fold_of(len(y)) == 0)
    over = cells + 50 * np.arange(20, dtype=np.int32)[:, None]
    terms = np.ascontiguousarray(over.T)
    assert correction(terms, scores, y, weight, 1000, fold_of(len(y))) is None


def test_certain_rows_are_no_trouble():
    cells, _, y, weight = rows(0, 0.0)
    held_out = fold_of(len(y)) == 0
    certain = np.where(y[:, None] == [0, 1], 1e6, -1e6)
    assert not stops_early(cells.T, certain, y, weight, held_out)
    stops_early(
        cells.T, -certain, y, weight, held_out
    )  # nothing overflows, which would be an error here
