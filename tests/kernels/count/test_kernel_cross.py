"""Cross moments, their arithmetic, and triangular scores, against exact or plain twins."""

from fractions import Fraction

import numpy as np
import pytest
from tests.kernels.bits import assert_same_bits

from reference import cross
from reference.inputs import WEIGHTS
from tallybayes import _kernels
from tallybayes.tally import CrossMoments, Moments

DOUBLE_DOUBLE = Fraction(1, 2**100)


def counted(x, codes, weights, n_classes, origin, threads=2):
    tally = CrossMoments.zeros(n_classes, np.asarray(origin, dtype=np.float64))
    fault = _kernels.cross_dense(x, codes, weights, tally.origin, *tally.totals, threads)
    return tally, fault


def rows_of(seed, n, d, n_classes, scale=1.0):
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) * scale
    return mixed, rng.integers(0, n_classes, n).astype(np.int32), rng


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(
    ("n", "d", "n_classes"), [(0, 3, 2), (1, 1, 1), (1, 5, 3), (6, 0, 2), (60, 2, 9), (40, 7, 2)]
)
def test_cross_moments_of_whole_numbers_are_exact(n, d, n_classes, weights):
    rng = np.random.default_rng(0)
    x = rng.integers(-40, 40, (n, d)).astype(np.float64)
    codes, origin = rng.integers(0, n_classes, n).astype(np.int32), rng.integers(-5, 5, d)
    w = WEIGHTS[weights](rng, n)
    tally, fault = counted(x, codes, w, n_classes, origin)
    expected = cross.count_cross(x, codes, w, n_classes, origin)
    assert fault == 0
    for found, exactly in zip(cross.to_cross(tally), expected, strict=True):
        assert (found == exactly).all()


@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e100])
@pytest.mark.parametrize("weighted", [False, True])
def test_products_about_the_mean_are_within_the_stated_bound(weighted, scale):
    x, codes, rng = rows_of(1, 90, 3, 2, scale)
    x += 1e6 * scale
    w = rng.uniform(0.1, 3.0, 90) if weighted else None
    origin = x[0].copy()
    tally, fault = counted(x, codes, w, 2, origin)
    assert fault == 0
    truth = cross.count_cross(x, codes, w, 2, origin)
    exactly = cross.centre_cross(truth, origin)[1]
    found = cross.centre_cross(cross.to_cross(tally), origin)[1]
    bound = cross.cross_bound(x, codes, w, 2)
    size = np.stack([np.diag(s2) for s2 in truth.s2]).sum(axis=1)[:, None, None]
    assert (abs(found - exactly) <= bound + 16 * DOUBLE_DOUBLE * size).all()
    assert (bound > 0).any()


def test_threads_and_instruction_sets_change_nothing():
    x, codes, rng = rows_of(2, 3 * 8192 + 17, 4, 3)
    w = rng.uniform(0.0, 2.0, len(x))
    assert_same_bits(lambda n: counted(x, codes, w, 3, x[0], n)[0].totals, (1, 2, 7))


def test_the_diagonal_is_what_moments_count():
    """The same chunks, origins and sums."""
    x, codes, _ = rows_of(3, 200, 3, 2)
    for rows in (np.round(x * 8), x):
        tally, _ = counted(rows, codes, None, 2, rows[0])
        moments = Moments.zeros(2, tally.origin)
        moments.add_weight(np.bincount(codes, minlength=2)[:, None].astype(float))
        _kernels.moments_dense(rows, codes, None, tally.origin, *moments.sums, 1)
        means = tally.columns().mean_and_squares(), moments.mean_and_squares()
        for a, b in zip(*means, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-15)


@pytest.mark.parametrize(
    "bad", [np.nan, np.inf, -np.inf, 1e200], ids=["nan", "inf", "-inf", "too large"]
)
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_what_is_not_finite_is_a_fault(bad, weight):
    x, codes, _ = rows_of(4, 30, 3, 2)
    x[11, 1] = bad
    w = np.ones(30)
    w[11] = weight
    fault = counted(x, codes, w, 2, np.zeros(3))[1]
    assert fault == (0 if weight == 0.0 and bad == 1e200 else _kernels.NOT_FINITE)


def test_moving_the_origin_is_exact_to_double_double():
    x, codes, rng = rows_of(5, 50, 3, 2)
    w = rng.uniform(0.1, 3.0, 50)
    tally, _ = counted(x, codes, w, 2, x[0])
    for target in (np.zeros(3), np.array([1e9, -1e-9, 0.1])):
        moved = tally.rebased(target)
        exactly = cross.rebase_cross(cross.to_cross(tally), tally.origin, target)
        found = cross.to_cross(moved)
        held = cross.to_cross(tally)
        delta = abs(cross.exact(tally.origin) - cross.exact(target))
        size = (
            abs(held.s2)
            + delta[:, None] * abs(held.s1)[:, None, :]
            + abs(held.s1)[:, :, None] * delta[None, :]
            + abs(held.n)[:, None, None] * delta[:, None] * delta[None, :]
        )
        assert (abs(found.s2 - exactly.s2) <= DOUBLE_DOUBLE * size).all()
        step = abs(held.s1) + abs(held.n)[:, None] * delta
        assert (abs(found.s1 - exactly.s1) <= DOUBLE_DOUBLE * step).all()
        back = moved.rebased(tally.origin)
        np.testing.assert_allclose(back.s2_hi, tally.s2_hi, rtol=1e-12, atol=1e-9)


def test_what_is_read_is_exact_after_one_rounding():
    x, codes, _ = rows_of(6, 50, 3, 3)
    tally, _ = counted(x, codes, None, 4, np.array([1e6, 0.0, -3.0]))
    mean, scatter = tally.mean_and_scatter()
    exact_mean, exact_scatter = cross.centre_cross(cross.to_cross(tally), tally.origin)
    assert (mean[:3] == exact_mean[:3].astype(float)).all()
    np.testing.assert_allclose(scatter, exact_scatter.astype(float), rtol=1e-15)
    assert np.array_equal(scatter, scatter.transpose(0, 2, 1))
    assert np.array_equal(mean[3], tally.origin)
    assert not scatter[3].any()


@pytest.mark.parametrize("freedom", [False, True])
@pytest.mark.parametrize(("n", "d", "K"), [(0, 2, 2), (1, 1, 1), (30, 5, 3)])
def test_triangular_scores(n, d, K, freedom):
    rng = np.random.default_rng(7)
    x, mean = rng.normal(size=(n, d)), rng.normal(size=(K, d))
    rotation, constant = np.tril(rng.normal(size=(K, d, d))), rng.normal(size=(K, d))
    nu = rng.uniform(0.5, 9.0, K) if freedom else None
    scores, shares = np.full((n, K), 0.25), np.empty((n, K, d))
    _kernels.score_triangular(x, mean, rotation, constant, nu, scores, shares, 2)
    expected = cross.score_triangular(x, mean, rotation, constant, nu)
    if freedom:
        np.testing.assert_allclose(shares, expected, rtol=1e-13, atol=1e-14)
    else:
        assert np.array_equal(shares, expected)
    np.testing.assert_allclose(scores, 0.25 + expected.sum(axis=2), rtol=1e-12, atol=1e-13)
    again = np.full((n, K), 0.25)
    _kernels.score_triangular(x, mean, rotation, constant, nu, again, None, 1)
    assert np.array_equal(again, scores)


@pytest.mark.parametrize("freedom", [None, np.array([3.0])])
def test_rows_too_far_away_for_float64_have_no_probability(freedom):
    rotation = np.array([[[1e200, 0.0], [1e200, -1e200]]])
    x = np.array([[1e200, 1e200], [0.0, 1e200], [0.0, 0.0]])
    scores, shares = np.zeros((3, 1)), np.empty((3, 1, 2))
    flat = np.zeros((1, 2))
    _kernels.score_triangular(x, flat, rotation, flat, freedom, scores, shares, 1)
    assert scores.ravel().tolist() == [-np.inf, -np.inf, 0.0]
    assert shares[:, 0].tolist() == [[-np.inf, 0.0], [0.0, -np.inf], [0.0, 0.0]]
    assert not np.isnan(shares).any()


def test_shapes_that_do_not_fit_are_refused():
    tally = CrossMoments.zeros(2, np.zeros(3))
    with pytest.raises(ValueError, match="wrong length"):
        counted(np.zeros((4, 2)), np.zeros(4, dtype=np.int32), None, 2, np.zeros(3))
    with pytest.raises(ValueError, match="wrong length"):
        _kernels.add_cross(*tally.totals, *CrossMoments.zeros(2, np.zeros(2)).totals, 1.0)
    with pytest.raises(ValueError, match="wrong length"):
        _kernels.rebase_cross(*tally.totals, np.zeros(2), np.zeros(3))
    with pytest.raises(IndexError, match="class code is out of range"):
        counted(np.zeros((1, 3)), np.array([2], dtype=np.int32), None, 2, np.zeros(3))
