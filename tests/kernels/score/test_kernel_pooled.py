"""The kernel that scores numbers beside atoms, against its readable twin."""

from __future__ import annotations

import numpy as np
import pytest

from reference import pooled
from tallybayes import _kernels

RNG = np.random.default_rng(5)
LESS = 1.0


def column(n_atoms, classes, rows=1.0):
    """What a column counted, as the twin takes it."""
    low = np.arange(float(n_atoms))
    counts = RNG.integers(1, 9, size=(n_atoms, classes)).astype(float)
    k = RNG.uniform(20.0, 60.0, size=classes)
    mean, squares = RNG.normal(size=classes), k * RNG.uniform(0.2, 2.0, size=classes)
    return low, np.nextafter(low, 9.0), counts, k, mean, squares, rows, LESS


def scorer_of(columns, classes):
    scorer = _kernels.PooledScorer(classes)
    for low, high, counts, k, mean, squares, rows, less in columns:
        n, variance = k + counts.sum(axis=0), squares / (k - less)
        with np.errstate(divide="ignore"):
            constant = np.log(k) - 0.5 * np.log(2 * np.pi * variance)
            scale, share = np.sqrt(0.5 / variance), rows / n.sum()
            atoms = np.log(counts)
            scorer.add(low, high, atoms, constant, mean, scale, np.log(n + rows), share)
        scorer.add_less(counts, k, squares, n, rows, less, 0.0)
    return scorer


def values_of(n, n_atoms):
    edges = [np.nan, -0.0, 1e-300, -1.0, 4.5, np.nextafter(1.0, 2.0), 9.0, -40.0]
    return np.concatenate([edges, RNG.normal(size=n), np.arange(float(n_atoms))])


@pytest.mark.parametrize("n_atoms", [0, 1, 5])
@pytest.mark.parametrize("classes", [1, 2, 7, 300])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_scores_are_those_of_the_twin(n_atoms, classes, n_columns):
    columns = [column(n_atoms, classes) for _ in range(n_columns)]
    x = [RNG.permutation(values_of(300, n_atoms)) for _ in columns]
    before = RNG.normal(size=classes)
    found = np.repeat(before[None, :], len(x[0]), axis=0)
    scorer_of(columns, classes).score(x, found, 2)
    expected = before + sum(pooled.scores(v, *c) for v, c in zip(x, columns, strict=True))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_atoms", [0, 1, 5])
@pytest.mark.parametrize("classes", [1, 2, 7, 300])
@pytest.mark.parametrize("n_columns", [1, 3])
def test_rows_taken_out_are_as_never_counted(n_atoms, classes, n_columns):
    columns = [column(n_atoms, classes) for _ in range(n_columns)]
    x = [RNG.permutation(values_of(60, n_atoms)) for _ in columns]
    n = len(x[0])
    own, weight = RNG.integers(classes, size=n), RNG.choice([0.0, 0.5, 1.0], size=n)
    before = RNG.normal(size=classes)
    found = np.repeat(before[None, :], n, axis=0)
    redo = np.zeros((n, n_columns), dtype=np.uint8)
    scorer_of(columns, classes).score_without(x, own, weight, found, redo, 2)
    expected = np.repeat(before[None, :], n, axis=0)
    for j, (v, c) in enumerate(zip(x, columns, strict=True)):
        known = redo[:, j] == 0
        taken = v[known], own[known], weight[known]
        expected[known] += pooled.scores_without(*taken, *c)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    for j, (v, (_, _, _, k, mean, squares, _, _)) in enumerate(zip(x, columns, strict=True)):
        taken = (v - mean[own]) ** 2 * weight * k[own] / (k[own] - weight)
        assert not redo[~(taken > 0.99 * squares[own]), j].any()


def test_the_product_of_many_columns_neither_overflows_nor_vanishes():
    columns = [column(0, 3, rows) for rows in [1e-200, 1e-200, 1e-150, 1e150, 1e200, 1.0] * 20]
    x = [RNG.normal(size=40) for _ in columns]
    found = np.zeros((40, 3))
    scorer_of(columns, 3).score(x, found, 1)
    expected = sum(pooled.scores(v, *c) for v, c in zip(x, columns, strict=True))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_value_that_no_class_has_any_mass_for_says_nothing():
    found = np.zeros((2, 2))
    scorer_of([column(0, 2)], 2).score([np.array([1e300, -1e160])], found, 1)
    assert (found == 0.0).all()


@pytest.mark.parametrize(
    ("n_own", "value", "weight"),
    [
        pytest.param(1.0, 0.0, 1.0, id="the only row of its class"),
        pytest.param(2.0, 0.0, 1.0, id="no divisor is left"),
        pytest.param(9.0, 2.0, 1.0, id="no spread is left"),
        pytest.param(9.0, 3.0, 1.0, id="more than the spread"),
    ],
)
def test_rows_that_leave_no_variance_are_for_the_caller(n_own, value, weight):
    n = np.array([n_own, 50.0])
    # class 0 holds a value at a distance of 2 from the mean, and others that are all alike
    squares = np.array([2.0**2 * n_own / max(n_own - 1.0, 1.0), 40.0])
    none, table = np.empty(0), np.empty((0, 2))
    scorer = _kernels.PooledScorer(2)
    zero, one = np.zeros(2), np.ones(2)
    scorer.add(none, none, table, zero, zero, one, zero, 0.1)
    scorer.add_less(table, n, squares, n, 1.0, 1.0, 0.0)
    scores, redo = np.zeros((1, 2)), np.zeros((1, 1), dtype=np.uint8)
    own, weights = np.zeros(1, dtype=np.int64), np.array([weight])
    scorer.score_without([np.array([value])], own, weights, scores, redo, 1)
    assert redo.all()
    assert (scores == 0.0).all()


def test_what_does_not_fit_is_refused():
    none, one, two, table = np.empty(0), np.zeros(1), np.zeros(2), np.empty((0, 2))
    scorer = _kernels.PooledScorer(2)
    with pytest.raises(ValueError, match="add the column first"):
        scorer.add_less(table, two, two, two, 1.0, 1.0, 0.0)
    with pytest.raises(ValueError, match="a parameter has the wrong length"):
        scorer.add(none, none, table, two, two, one, two, 1.0)
    with pytest.raises(ValueError, match="atoms has the wrong length"):
        scorer.add(one, one, table, two, two, two, two, 1.0)
    scorer.add(none, none, table, two, two, two, two, 1.0)
    scores, redo = np.empty((1, 2)), np.zeros((1, 1), dtype=np.uint8)
    with pytest.raises(ValueError, match="a column has the wrong length"):
        scorer.score([two], scores, 1)
    with pytest.raises(ValueError, match="other columns"):
        scorer.score([], scores, 1)
    with pytest.raises(ValueError, match="scores has the wrong length"):
        scorer.score([one], np.empty((1, 3)), 1)
    with pytest.raises(ValueError, match="no row can be taken out"):
        scorer.score_without([one], np.zeros(1, np.int64), one, scores, redo, 1)
    scorer.add_less(table, two, two, two, 1.0, 1.0, 0.0)
    with pytest.raises(ValueError, match="own is not a class"):
        scorer.score_without([one], np.full(1, 2, np.int64), one, scores, redo, 1)
    with pytest.raises(ValueError, match="at least one class"):
        _kernels.PooledScorer(0)
