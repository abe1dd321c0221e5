"""Gaussian leave-one-out beside two passes over the other rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import without
from reference.inputs import moments_of
from tallybayes import _kernels


def moments(x, own, weight, K, smoothing, each, scores):
    """The kernel on the rows that were counted: `scores` replaced, and which rows it leaves."""
    redo = np.empty(len(x), dtype=np.uint8)
    counted = moments_of(x, own, weight, K)
    _kernels.moments_without(x, own, weight, *counted, smoothing, each, scores, redo, 2)
    return redo.astype(bool)


def numbers(seed, n, d, how):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) + rng.normal(size=d)
    if how == "mixed scales":  # so that a row shows in all classes, by the share added to variances
        x *= 10.0 ** rng.integers(-3, 3, d)
    if how == "far":  # one row has nearly all of a sum of squares, or two have
        x[rng.integers(n, size=2), rng.integers(d)] += 10.0 ** rng.integers(3, 10)
    return np.asarray(x, np.float32 if how == "float32" else None, "F" if how == "Fortran" else "C")


def check_moments(x, own, weight, K, smoothing, each, rows=slice(None)):
    """Of all rows, or of some: the twin reads all rows for each."""
    n, d = x.shape
    wide, expected, scores = x.astype(np.float64), np.zeros((n, K)), np.zeros((n, K))
    everyone = without.class_moments(wide, own, weight, K, smoothing, each)
    for i in np.arange(n)[rows]:
        rest = np.where(np.arange(n) == i, 0.0, weight)
        others = without.class_moments(wide, own, rest, K, smoothing, each)
        expected[i] = without.moments_score(wide[i], *others)
        scores[i] = without.moments_score(wide[i], *everyone)
    assert not moments(x, own, weight, K, smoothing, each, scores).any()
    size = d + np.abs(expected).max(axis=1, keepdims=True)
    assert (np.abs(scores - expected) <= 1e-10 * size)[rows].all()


READ = ["C", "Fortran", "float32", "mixed scales", "far"]


@pytest.mark.parametrize("each", [False, True])
@given(
    st.integers(0, 2**20),
    st.integers(3, 12),
    st.sampled_from([1, 3, 8, 11]),
    st.integers(1, 4),
    st.booleans(),
    st.sampled_from([1e-9, 1e-5, 1e-2]),
    st.sampled_from(READ),
)
def test_moments_are_those_of_the_other_rows(each, seed, n, d, K, weighted, smoothing, how):
    rng = np.random.default_rng(seed)
    own = rng.integers(0, K, n)  # perhaps of classes with one row, or none
    weight = rng.choice([0.5, 1.0, 2.0], n) if weighted else np.ones(n)
    check_moments(numbers(seed, n, d, how), own, weight, K, smoothing, each)


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("how", READ)
@pytest.mark.parametrize("smoothing", [0.0, 1e-9, 1e-4])
def test_moments_of_more_rows(smoothing, how, each):
    x, own = numbers(3, 150, 530, how), np.arange(150) % 3
    far = np.abs(x).max(axis=1).argsort()[-3:]
    some = np.union1d(np.arange(0, 150, 7), far)
    check_moments(x, own, np.ones(150), 3, smoothing, each, some)
    weight = np.random.default_rng(4).uniform(0.5, 2.0, 150)
    check_moments(x, own, weight, 3, smoothing, each, some)


def test_rows_that_the_kernel_leaves_to_the_caller():
    x = np.array([[0.0, 1.0], [0.0, 2.0], [5.0, 1.0], [0.0, 4.0]])
    own, weight = np.array([0, 0, 1, 0]), np.ones(4)
    scores = np.zeros((4, 2))
    # without smoothing the first column has no variance in class 0
    redo = moments(x, own, weight, 2, 0.0, False, scores)
    assert redo.all()
    redo = moments(x, own, weight, 2, 1e-3, False, scores)
    assert not redo.any()
    # a constant column says nothing
    x[:, 0] = 3.0
    redo = moments(x, own, weight, 2, 1e-3, True, scores)
    assert not redo.any()
    only = moments(x[:1], own[:1], weight[:1], 2, 1e-3, True, scores[:1])
    assert only.all()  # nothing is left
