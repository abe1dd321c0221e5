"""Kernels for weights, corrections and cells, beside their NumPy twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.bits import assert_same_bits
from tests.reference import pairs as twin
from tests.reference.equal_shares import equal_shares

from tallybayes import _kernels

ROWS, TERMS, CELLS = 1100, 21, 7


def corrected(n_classes, seed=0):
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, CELLS, (ROWS, TERMS)) + CELLS * np.arange(TERMS)
    cells[rng.random(cells.shape) < 0.1] = -1
    scores = rng.normal(size=(ROWS, n_classes))
    y = rng.integers(0, n_classes, ROWS).astype(np.int32)
    weight = rng.choice([0.0, 1.0, 1.5], ROWS)
    return cells.astype(np.int32), scores, y, weight, rng.normal(size=(CELLS * TERMS, n_classes))


def gradient_of(n_classes, threads=1):
    cells, scores, y, weight, q = corrected(n_classes)
    gradient = np.zeros_like(q)
    loss = _kernels.correction_gradient(cells, scores, y, weight, q, gradient, threads)
    return loss, gradient


@pytest.mark.parametrize("n_classes", [2, 3, 5, 10, 26])
def test_corrections_of_many_terms(n_classes):
    loss, gradient = gradient_of(n_classes)
    expected = twin.correction(*corrected(n_classes))
    assert loss == pytest.approx(expected[0], rel=1e-6)
    np.testing.assert_allclose(gradient, expected[1], atol=1e-4)


@pytest.mark.parametrize("n_classes", [3, 10, 26])
def test_instruction_sets_change_nothing_of_corrections(n_classes):
    assert_same_bits(lambda threads: gradient_of(n_classes, threads), (1,))


@pytest.mark.parametrize("n", [0, 1, ROWS])
def test_what_corrections_add_is_summed_term_by_term(n):
    cells, _, _, _, q = corrected(3)
    expected = np.zeros((n, 3))
    for column in cells[:n].T:
        expected += np.where(column[:, None] < 0, 0.0, q[column])
    for threads in (1, 3):
        added = np.full((n, 3), np.nan)
        _kernels.corrections_added(cells[:n], q, added, threads)
        assert np.array_equal(added, expected)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 30), terms=st.integers(0, 5))
def test_scaled_rows(seed, n, terms):
    rng = np.random.default_rng(seed)
    wide = rng.normal(size=(terms + 2, 40)).astype(np.float32)
    index, factor = rng.integers(0, 40, n), rng.random(n).astype(np.float32)
    found = np.empty((terms, n), dtype=np.float32)
    _kernels.scaled_rows(wide[:terms], index, factor, found)
    assert np.array_equal(found, wide[:terms, index] * factor)


@given(
    weight=st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0, 50.0]) | st.floats(0.0, 1e6)),
    most=st.integers(0, 9),
)
def test_labels_of_values_that_weigh_alike(weight, most):
    weight, label = np.array(weight, dtype=np.float64), np.empty(len(weight), dtype=np.intp)
    total = float(weight.sum())
    _kernels.equal_shares(weight, total, most, label)
    assert label.tolist() == equal_shares(weight, total, most)


def test_a_pair_screened_beside_others_gains_what_it_gains_alone():
    rng = np.random.default_rng(0)
    for n_classes in (3, 10, 26):
        y = rng.integers(0, n_classes, 300).astype(np.int32)
        proba = rng.dirichlet(np.ones(n_classes), 300).astype(np.float32)
        codes, size = rng.integers(0, 4, (5, 300)).astype(np.uint8), np.full(5, 4)
        pairs = np.array([(0, 1), (0, 2), (1, 2), (3, 4), (0, 4)], dtype=np.int32)
        given = codes, size, y, rng.random(300).astype(np.float32), proba, np.ones((1, n_classes))

        def screened(some, given=given):
            codes, size, y, weight, proba, t = given
            gains = np.empty((len(some), 1))
            _kernels.screen_pairs(codes, size, some, y, weight, proba, t, gains, 1)
            return gains.ravel().tolist()

        alone = [screened(pairs[q : q + 1])[0] for q in range(5)]
        assert screened(pairs) == alone
        assert screened(pairs[::-1].copy()) == alone[::-1]
