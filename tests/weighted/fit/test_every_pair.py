"""Pairs of columns that gain little each by themselves, and much together."""

from __future__ import annotations

import numpy as np
import pytest

from tallybayes import WeightedNaiveBayes, get_num_threads, leave_one_out, load, set_num_threads
from tallybayes.weighted.cells.columns import ColumnCells, coarse
from tallybayes.weighted.fit import averaging, learning
from tallybayes.weighted.terms.pair_terms import PairCells, coarser

TRAIN, D = 1500, 9


def clouds():
    """Sixty clouds of points with six labels: no two columns tell clouds apart, all of them do."""
    rng = np.random.default_rng(0)
    centres = 2.0 * rng.normal(size=(60, D))
    own = rng.integers(0, 60, TRAIN + 500)
    return np.round(centres[own] + 0.5 * rng.normal(size=(len(own), D))), own % 6


def fresh_loss(model, X, y):
    return -np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean()


@pytest.fixture(scope="module")
def rows():
    X, y = clouds()
    return (X[:TRAIN], y[:TRAIN]), (X[TRAIN:], y[TRAIN:])


@pytest.fixture(scope="module")
def model(rows):
    return WeightedNaiveBayes().fit(*rows[0])


def parts_of(model):
    return model._model.chosen.weighting.learned.parts


def test_all_pairs_together_say_more_than_those_that_gain_alone(rows, model, monkeypatch):
    train, test = rows
    monkeypatch.setattr(averaging, "with_every_pair", lambda way: None)
    without = WeightedNaiveBayes().fit(*train)
    every = D * (D - 1) // 2
    assert all(len(part.pairs) < every for part in parts_of(without))
    assert all(len(part.pairs) == every for part in parts_of(model))
    assert fresh_loss(model, *test) < 0.9 * fresh_loss(without, *test)
    assert model.log_loss_ < without.log_loss_


def test_threads_change_nothing_of_it(rows, model, monkeypatch):
    monkeypatch.setattr(learning, "SMALL", 0)
    before = get_num_threads()
    try:
        set_num_threads(2)
        other = WeightedNaiveBayes().fit(*rows[0])
    finally:
        set_num_threads(before)
    X, _ = rows[1]
    assert np.array_equal(other.predict_proba(X), model.predict_proba(X))


def test_pairs_that_weigh_nothing_are_terms_like_others(rows, model, tmp_path):
    (X, y), (fresh, _) = rows
    assert any(not part.weights.terms.all() for part in parts_of(model))
    said = model.predict_joint_log_proba(fresh)
    model.save(tmp_path / "m.tally")
    assert np.array_equal(load(tmp_path / "m.tally").predict_joint_log_proba(fresh), said)
    short = model.simplify(X, y, max_terms=12)
    assert np.isfinite(short.predict_joint_log_proba(fresh)).all()
    without = leave_one_out(model, X[:200], y[:200])
    np.testing.assert_allclose(np.exp(without).sum(axis=1), 1.0)


def test_coarser_cells_of_a_pair_are_those_of_its_columns():
    rng = np.random.default_rng(1)
    number = ColumnCells(
        name="x", counts=rng.integers(1, 9, (13, 2)).astype(float), edges=np.arange(11.0)
    )
    level = ColumnCells(
        name="l", counts=rng.integers(1, 9, (4, 2)).astype(float), levels=["a", "b", "c"]
    )
    maps = np.arange(13, dtype=np.int32), np.arange(4, dtype=np.int32)
    pair = PairCells(0, 1, maps, (13, 4))
    cells = coarser(pair, [number, level], 5)
    few = coarse(number, 5)
    assert cells.tolist() == [few[i] * 4 + j for i in range(13) for j in range(4)]
    assert coarser(pair, [number, level], 12) is None
    assert coarser(PairCells(1, 1, (maps[1], maps[1]), (4, 4)), [number, level], 5) is None
