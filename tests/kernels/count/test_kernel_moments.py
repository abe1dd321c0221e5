"""Moments about an origin, dense and sparse, and their arithmetic, against exact twins."""

from fractions import Fraction

import numpy as np
import pytest

from reference import (
    ExactMoments,
    add_moments,
    centre_moments,
    chunk_bounds,
    count_moments,
    rebase_moments,
    to_moments,
)
from reference.inputs import FLOATS, FORMATS, WEIGHTS
from reference.rational import exact
from tallybayes import _kernels
from tallybayes.tally import Moments

DOUBLE_DOUBLE = Fraction(1, 2**100)  # the error of one step, as tally/numbers.py states it


def dense_moments(x, codes, weights, n_classes, origin, threads=2):
    tally = Moments.zeros(n_classes, np.asarray(origin, dtype=np.float64))
    fault = _kernels.moments_dense(x, codes, weights, tally.origin, *tally.sums, threads)
    return tally, fault


def column_moments(x, codes, weights, n_classes, origin, threads=2):
    tally = Moments.zeros(n_classes, np.asarray(origin, dtype=np.float64))
    columns = [np.ascontiguousarray(x[:, j]) for j in range(x.shape[1])]
    fault = _kernels.moments_columns(columns, codes, weights, tally.origin, *tally.sums, threads)
    return tally, fault


def sparse_moments(x, codes, weights, n_classes, threads=2):
    tally = Moments.zeros(n_classes, np.zeros(x.shape[1]))
    fault = _kernels.moments_sparse(
        x.indptr, x.indices, x.data, *x.shape, x.format == "csc", codes, weights,
        *tally.sums, threads,
    )  # fmt: skip
    return tally, fault


def assert_sums(tally, expected):
    """S1 and S2 are exactly the expected rationals."""
    found = to_moments(tally)
    assert (found.s1 == expected.s1).all()
    assert (found.s2 == expected.s2).all()


# ---- whole numbers: exactly ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("isa", _kernels.available_instruction_sets())
def test_weights_of_1_give_the_bits_of_no_weights(isa, dtype):
    _kernels.use_instruction_set(isa)
    rng = np.random.default_rng(6)
    for far in (0.0, 1e3, -1e9, 1e12):
        x = rng.normal(size=(40, 11)).astype(dtype)
        x[0] += dtype(far)
        codes = rng.integers(0, 2, size=40).astype(np.int32)
        plain, weighted = (dense_moments(x, codes, w, 2, x[1])[0] for w in (None, np.ones(40)))
        for a, b in zip(plain.sums, weighted.sums, strict=True):
            assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("weights", [None, "whole"])
@pytest.mark.parametrize("isa", _kernels.available_instruction_sets())
def test_a_column_is_summed_the_same_whatever_stands_beside_it(isa, weights):
    """A far row comes where ordinary squares are expected: only its own column is summed anew."""
    _kernels.use_instruction_set(isa)
    rng = np.random.default_rng(9)
    x = rng.lognormal(size=(3000, 15))
    codes = rng.integers(0, 2, size=3000).astype(np.int32)
    w = None if weights is None else WEIGHTS[weights](rng, 3000)
    plain, _ = dense_moments(x, codes, w, 2, np.ones(15))
    for j in range(15):
        far = x.copy()
        far[2500, j] = 1e12
        tally, _ = dense_moments(far, codes, w, 2, np.ones(15))
        for a, b in zip(tally.sums, plain.sums, strict=True):
            assert np.delete(a, j, axis=1).tobytes() == np.delete(b, j, axis=1).tobytes()


@pytest.mark.parametrize("weights", ["none", "whole"])
@pytest.mark.parametrize("offset", [100.0, 2020.0, -1.73e9, 1e12])
def test_chunks_of_values_close_to_each_other_are_summed_exactly(offset, weights):
    """Differences from a row of the chunk have few digits, their squares fit double-doubles."""
    rng = np.random.default_rng(12)
    x = np.round(offset + rng.uniform(0.0, 1e-4 * abs(offset), size=(9000, 3)), 6)
    codes = rng.integers(0, 2, size=9000).astype(np.int32)
    w = None if weights == "none" else WEIGHTS[weights](rng, 9000)
    tally, fault = dense_moments(x, codes, w, 2, x[1])
    assert fault == 0
    assert_sums(tally, count_moments(x, codes, w, 2, x[1]))


@pytest.mark.parametrize("weights", [None, "fractional"])
@pytest.mark.parametrize("size", [10.0, 1e3, 1e6])
def test_a_shift_that_rounds_in_one_column_changes_no_other_on_any_instruction_set(size, weights):
    """Whether a shift rounds is a guess from the rows before. A far row makes it wrong for its own
    column; those that stand beside it are added anew."""
    rng = np.random.default_rng(11)
    plain = size + rng.uniform(size=(3000, 19))
    odd, x = [2, 3, 8, 12, 17], plain.copy()
    x[:, 3], x[:, 8] = rng.normal(size=3000), 0.0
    x[1500, 2], x[2000:2300, 12], x[2, 17] = 1e9, -size, 1e-9
    codes = rng.integers(0, 2, size=3000).astype(np.int32)
    w = None if weights is None else WEIGHTS[weights](rng, 3000)
    origin, found = x[1].copy(), []
    for isa in _kernels.available_instruction_sets():
        _kernels.use_instruction_set(isa)
        for matrix in (x, plain):
            tally, _ = dense_moments(matrix, codes, w, 2, origin)
            found.append(np.array(tally.sums))
    for sums, beside in zip(found[::2], found[1::2], strict=True):
        assert sums.tobytes() == found[0].tobytes()
        assert np.delete(sums, odd, axis=2).tobytes() == np.delete(beside, odd, axis=2).tobytes()


@pytest.mark.parametrize("isa", _kernels.available_instruction_sets())
def test_weights_of_both_signs_among_many_rows_are_exact(isa):
    _kernels.use_instruction_set(isa)
    rng = np.random.default_rng(10)
    x, w = rng.integers(-40, 40, size=(5000, 3)), rng.integers(-3, 4, size=5000)
    x[4000] = 2**20
    codes = rng.integers(0, 2, size=5000).astype(np.int32)
    tally, fault = dense_moments(x.astype(float), codes, w.astype(float), 2, np.zeros(3))
    assert fault == 0
    for k in range(2):
        rows, of_class = x[codes == k], w[codes == k]
        assert (tally.s1_hi[k] + tally.s1_lo[k] == of_class @ rows).all()
        assert (tally.s2_hi[k] + tally.s2_lo[k] == of_class @ rows**2).all()


# ---- real numbers: within the stated bounds ------------------------------------------------------
def far(rng, n, d):
    x = rng.normal(size=(n, d))
    x[0] = 1e9
    return x


REALS = {
    "normal": lambda rng, n, d: rng.normal(size=(n, d)),
    "lognormal": lambda rng, n, d: rng.lognormal(sigma=5.0, size=(n, d)),
    "far from 0": lambda rng, n, d: 1e8 + rng.normal(size=(n, d)),
    "first row far": far,
    "tiny": lambda rng, n, d: 1e-100 * rng.normal(size=(n, d)),
    "huge": lambda rng, n, d: 1e100 * rng.normal(size=(n, d)),
    "constant": lambda rng, n, d: np.full((n, d), 0.1),
}


BEYOND_FLOAT32 = ("tiny", "huge")
REALS_OF_TYPES = [(np.float64, name) for name in REALS] + [
    (np.float32, name) for name in REALS if name not in BEYOND_FLOAT32
]


@pytest.mark.parametrize("weights", [None, "whole", "fractional"])
@pytest.mark.parametrize(("dtype", "reals"), REALS_OF_TYPES)
def test_mean_and_sum_of_squares_are_within_the_bound_of_a_chunk(dtype, reals, weights):
    rng = np.random.default_rng(6)
    n, d, n_classes = 200, 3, 2
    x = REALS[reals](rng, n, d).astype(dtype)
    codes = rng.integers(0, n_classes, size=n).astype(np.int32)
    w = None if weights is None else WEIGHTS[weights](rng, n)
    origin = x[0].astype(np.float64)
    tally, fault = dense_moments(x, codes, w, n_classes, origin)
    assert fault == 0
    truth = count_moments(x, codes, w, n_classes, origin)
    found = to_moments(tally)._replace(n=truth.n)
    mean, squares = centre_moments(found, origin)
    true_mean, true_squares = centre_moments(truth, origin)
    first, second = chunk_bounds(x, codes, w, n_classes)
    slack = 16 * DOUBLE_DOUBLE * (truth.s2 + abs(truth.s1))
    assert (abs(mean - true_mean) * truth.n <= first + slack).all()
    assert (abs(squares - true_squares) <= second + slack).all()


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("weights", [None, "fractional"])
@pytest.mark.parametrize("reals", REALS)
def test_sparse_sums_are_within_the_bound_of_double_doubles(reals, weights, fmt):
    rng = np.random.default_rng(7)
    n, d, n_classes = 200, 3, 2
    x = REALS[reals](rng, n, d)
    codes = rng.integers(0, n_classes, size=n).astype(np.int32)
    w = None if weights is None else rng.lognormal(size=n)
    tally, fault = sparse_moments(FORMATS[fmt](x), codes, w, n_classes)
    assert fault == 0
    truth = count_moments(x, codes, w, n_classes, np.zeros(d))
    size = count_moments(abs(x), codes, w, n_classes, np.zeros(d))
    found = to_moments(tally)
    assert (abs(found.s1 - truth.s1) <= n * DOUBLE_DOUBLE * size.s1).all()
    assert (abs(found.s2 - truth.s2) <= n * DOUBLE_DOUBLE * size.s2).all()


def test_one_row_additions_stay_accurate():
    """Each row is a chunk of its own: what 20,000 additions lose is below 20,000 · 2⁻¹⁰⁰."""
    rng = np.random.default_rng(8)
    n = 20_000
    x = np.round(rng.normal(size=(n, 2)) * 2.0**20) / 2.0**20  # so that int64 holds exact sums
    x[0] = 2.0**30
    origin = x[0].copy()
    tally = Moments.zeros(1, origin)
    totals, codes = tally.sums, np.zeros(1, dtype=np.int32)
    for i in range(n):
        _kernels.moments_dense(x[i : i + 1], codes, None, origin, *totals, 1)
    tally.n += n
    grid = [[int(v) for v in column] for column in (x * 2.0**20).T]
    for j, column in enumerate(grid):
        t = [v - column[0] for v in column]
        s1, s2 = Fraction(sum(t), 2**20), Fraction(sum(v * v for v in t), 2**40)
        found = to_moments(tally)
        assert abs(found.s1[0, j] - s1) <= n * DOUBLE_DOUBLE * abs(s1)
        assert abs(found.s2[0, j] - s2) <= n * DOUBLE_DOUBLE * s2
    np.testing.assert_allclose(tally.mean_and_squares()[1][0], ((x - x.mean(0)) ** 2).sum(0))


def test_float32_is_squared_in_float64():
    x = np.array([[0.0], [2.0**13 + 2.0**-10]], dtype=np.float32)
    tally, _ = dense_moments(x, np.zeros(2, dtype=np.int32), None, 1, [0.0])
    assert tally.s2_hi[0, 0] == (2.0**13 + 2.0**-10) ** 2


# ---- arithmetic ----------------------------------------------------------------------------------
def random_moments(rng, n_classes, d, origin, magnitudes=9):
    x = rng.normal(size=(40, d)) * 10.0 ** rng.integers(-magnitudes, magnitudes + 1, size=d)
    codes = rng.integers(0, n_classes, size=40).astype(np.int32)
    tally, _ = dense_moments(x, codes, None, n_classes, origin)
    tally.n += np.bincount(codes, minlength=n_classes)[:, None]
    return tally


@pytest.mark.parametrize("factor", [1.0, -1.0, 2.0, 0.3, 1e-9, 0.0])
def test_totals_add_within_the_stated_bound(factor):
    rng = np.random.default_rng(9)
    a, b = (random_moments(rng, 3, 4, np.ones(4)) for _ in range(2))
    expected = add_moments(to_moments(a), to_moments(b), factor)
    size = add_moments(
        ExactMoments(*map(abs, to_moments(a))), ExactMoments(*map(abs, to_moments(b))), abs(factor)
    )
    _kernels.add_moments(*a.totals, *b.totals, factor)
    found = to_moments(a)
    assert (abs(found.s1 - expected.s1) <= DOUBLE_DOUBLE * size.s1).all()
    assert (abs(found.s2 - expected.s2) <= DOUBLE_DOUBLE * size.s2).all()
    assert (abs(found.n - expected.n) <= size.n / 2**52).all()


@pytest.mark.parametrize("new", [0.0, 1.0, 1e9, -1e9, 1e-9, 0.1])
def test_the_origin_moves_within_the_stated_bound(new):
    """tally/numbers.py: the error is below 2⁻¹⁰⁰·(|S2| + nδ²), of S2, and alike of S1."""
    rng = np.random.default_rng(10)
    old = rng.normal(size=4)
    tally = random_moments(rng, 3, 4, old)
    before, origin = to_moments(tally), np.full(4, new)
    expected = rebase_moments(before, old, origin)
    _kernels.rebase_moments(*tally.totals, old, origin)
    found, delta = to_moments(tally), abs(exact(old) - exact(origin))
    s2 = DOUBLE_DOUBLE * (abs(before.s2) + before.n * delta**2)
    s1 = DOUBLE_DOUBLE * (abs(before.s1) + before.n * delta)
    assert (found.n == before.n).all()
    assert (abs(found.s1 - expected.s1) <= s1).all()
    assert (abs(found.s2 - expected.s2) <= s2).all()


def test_moving_the_origin_there_and_back_keeps_mean_and_squares():
    rng = np.random.default_rng(11)
    tally = random_moments(rng, 2, 3, np.zeros(3), magnitudes=0)
    mean, squares = tally.mean_and_squares()
    there = tally.rebased(np.full(3, 1e9))
    back = there.rebased(np.zeros(3))
    for moved in (there, back):
        again, same = moved.mean_and_squares()
        deviation = np.sqrt(squares / np.maximum(tally.n, 1.0))
        assert (np.abs(again - mean) <= 2.0**-40 * deviation + np.spacing(np.abs(mean))).all()
        np.testing.assert_allclose(same, squares, rtol=2.0**-40)


def test_means_and_squares_are_read_to_the_last_place():
    rng = np.random.default_rng(12)
    tally = random_moments(rng, 3, 5, rng.normal(size=5))
    offset, squares = np.empty((3, 5)), np.empty((3, 5))
    _kernels.centre_moments(*tally.totals, np.zeros(5), 0.0, offset, squares)
    sums = to_moments(tally)
    mean, expected = centre_moments(sums, np.zeros(5))
    assert (abs(exact(offset) - mean) <= abs(mean) / 2**52).all()
    cancelled = 4 * DOUBLE_DOUBLE * sums.s2
    assert (abs(exact(squares) - expected) <= expected / 2**52 + cancelled).all()


def test_cells_without_rows_read_as_zero():
    tally = Moments.zeros(2, np.array([5.0, -5.0]))
    mean, squares = tally.mean_and_squares()
    np.testing.assert_array_equal(mean, [[5.0, -5.0]] * 2)
    assert not squares.any()


def test_a_sum_of_squares_below_the_residue_reads_as_zero():
    one = np.ones((1, 1))
    for rest, read in [(2.0**-80, 2.0**-80), (2.0**-95, 0.0), (-(2.0**-95), 0.0)]:
        offset, squares = np.empty((1, 1)), np.empty((1, 1))
        totals = (one, one, 0.0 * one, one, rest * one, 0.0 * one)
        _kernels.centre_moments(*totals, np.zeros(1), 2.0**-90, offset, squares)
        assert squares[0, 0] == read


@pytest.mark.parametrize("kernel", ["add_moments", "rebase_moments", "centre_moments"])
def test_totals_of_other_shapes_are_refused(kernel):
    a, b = Moments.zeros(2, np.zeros(3)), Moments.zeros(2, np.zeros(4))
    with pytest.raises(ValueError, match="wrong length"):
        {
            "add_moments": lambda: _kernels.add_moments(*a.totals, *b.totals, 1.0),
            "rebase_moments": lambda: _kernels.rebase_moments(*a.totals, b.origin, b.origin),
            "centre_moments": lambda: _kernels.centre_moments(
                *a.totals, a.origin, 0.0, b.n, b.s1_hi
            ),
        }[kernel]()


# ---- faults --------------------------------------------------------------------------------------


def test_rows_of_weight_zero_only_count_as_nothing():
    tally, fault = dense_moments(
        np.ones((3, 2)), np.zeros(3, dtype=np.int32), np.zeros(3), 1, [5, 5]
    )
    assert fault == 0
    assert not any(array.any() for array in tally.totals)


@pytest.mark.parametrize("far_away", ["row", "origin"])
@pytest.mark.parametrize("size", [1e155, 1e200, 1e307, -1e307])
def test_squares_that_exceed_float64_are_a_fault_or_show(size, far_away):
    """What overflows is never a finite wrong number; the engine looks at the totals besides."""
    x = np.array([[0.0], [size if far_away == "row" else 0.0]])
    tally, fault = dense_moments(
        x, np.zeros(2, dtype=np.int32), None, 1, [size if far_away == "origin" else 0.0]
    )
    assert fault & _kernels.NOT_FINITE or not np.isfinite(tally.s2_hi).all()


@pytest.mark.parametrize("n_classes", [1, 2, 7, 60])
def test_columns_are_centred_together_as_each_alone(n_classes):
    rng = np.random.default_rng(n_classes)
    columns = []
    for origin in (0.0, -3.25, 1e6):
        x, w = origin + rng.normal(size=(90, 1)), rng.exponential(size=90)
        codes = rng.integers(0, n_classes, size=90).astype(np.int32)
        codes[codes == 1] = 0  # the second class has no rows
        tally, _ = dense_moments(x, codes, w, n_classes, [origin])
        tally.add_weight(np.bincount(codes, w, n_classes)[:, None])
        columns.append(tally)
    each = zip(*(column.totals for column in columns), strict=True)
    totals = [np.concatenate(parts, axis=1).T.copy() for parts in each]
    mean, squares = np.empty((3, n_classes)), np.empty((3, n_classes))
    everyone = np.empty((3, 3))
    origin = np.concatenate([c.origin for c in columns])
    _kernels.centre_columns(*totals, origin, 2.0**-90, mean, squares, everyone)
    for j, column in enumerate(columns):
        own, pool = column.mean_and_squares(), column.pooled()
        np.testing.assert_array_equal([mean[j], squares[j]], [part[:, 0] for part in own])
        expected = [pool.n[0, 0], *(part[0, 0] for part in pool.mean_and_squares())]
        np.testing.assert_array_equal(everyone[j], expected)


# ---- columns that lie apart ----------------------------------------------------------------------
@pytest.mark.parametrize("weights", WEIGHTS)
def test_columns_that_lie_apart_are_counted_as_a_matrix(weights):
    rng = np.random.default_rng(9)
    x = rng.normal(100.0, 3.0, size=(9000, 5))  # more than a chunk
    codes, w = rng.integers(0, 3, 9000).astype(np.int32), WEIGHTS[weights](rng, 9000)
    apart, fault = column_moments(x, codes, w, 3, x[0])
    assert fault == 0
    assert apart == dense_moments(x, codes, w, 3, x[0])[0]


def test_columns_that_lie_apart_are_checked():
    x, codes = np.ones((40, 2)), np.zeros(40, dtype=np.int32)
    x[30, 1] = np.inf
    assert column_moments(x, codes, None, 1, [0.0, 0.0])[1] == _kernels.NOT_FINITE
    sums = Moments.zeros(1, np.zeros(2)).sums
    with pytest.raises(ValueError, match="a column has the wrong length"):
        _kernels.moments_columns([np.ones(40), np.ones(39)], codes, None, np.zeros(2), *sums, 1)
