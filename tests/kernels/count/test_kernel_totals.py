"""Sums and moments of features by class, dense and sparse, against their exact twins."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from reference import LAYOUTS, count_moments, count_sums, to_moments
from reference.inputs import DTYPES, FLOATS, FORMATS, WEIGHTS, whole_numbers, with_index
from reference.rational import rounded
from tallybayes import _kernels
from tallybayes.tally import Moments


class OfSums:
    """Sums of numbers from 0 on."""

    @staticmethod
    def numbers(rng, shape, dtype):
        return np.abs(whole_numbers(rng, shape, dtype))

    @staticmethod
    def counted(x, codes, weights, n_classes, threads=2, start=0.0):
        """The totals, and the fault."""
        sums = np.full((n_classes, x.shape[1]), start)
        if sparse.issparse(x):
            rows = x.indptr, x.indices, x.data, *x.shape, x.format == "csc"
            fault = _kernels.sums_sparse(*rows, codes, weights, None, True, sums, threads)
        else:
            fault = _kernels.sums_dense(x, codes, weights, None, True, sums, threads)
        return [sums], fault

    @staticmethod
    def need_exact(found, x, codes, weights, n_classes, *, is_sparse):
        np.testing.assert_array_equal(found[0], rounded(count_sums(x, codes, weights, n_classes)))

    @staticmethod
    def read(found):
        return found

    @staticmethod
    def of_matrix(hot, x):
        """The totals of a matrix, by the rows of each class."""
        return [hot @ x]


class OfMoments:
    """Double-doubles of sums and sums of squares, about an origin, or about 0 for sparse rows."""

    numbers = staticmethod(whole_numbers)

    @staticmethod
    def origin(d, is_sparse):
        return np.zeros(d) if is_sparse else np.arange(d) % 7 - 3.0

    @staticmethod
    def counted(x, codes, weights, n_classes, threads=2, start=0.0):
        origin = OfMoments.origin(x.shape[1], sparse.issparse(x))
        sums = [np.full((n_classes, x.shape[1]), start) for _ in range(4)]
        if sparse.issparse(x):
            rows = x.indptr, x.indices, x.data, *x.shape, x.format == "csc"
            fault = _kernels.moments_sparse(*rows, codes, weights, *sums, threads)
        else:
            fault = _kernels.moments_dense(x, codes, weights, origin, *sums, threads)
        return sums, fault

    @staticmethod
    def need_exact(found, x, codes, weights, n_classes, *, is_sparse):
        origin = OfMoments.origin(x.shape[1], is_sparse)
        tally = Moments.zeros(n_classes, origin)
        for total, array in zip(tally.sums, found, strict=True):
            total += array
        sums, expected = to_moments(tally), count_moments(x, codes, weights, n_classes, origin)
        assert (sums.s1 == expected.s1).all()
        assert (sums.s2 == expected.s2).all()

    @staticmethod
    def read(found):
        return [found[0] + found[1], found[2] + found[3]]

    @staticmethod
    def of_matrix(hot, x):
        if sparse.issparse(x):
            return [hot @ x, hot @ x.power(2)]
        t = x - OfMoments.origin(x.shape[1], False)
        return [hot @ t, hot @ t**2]


both = pytest.mark.parametrize("kind", [OfSums, OfMoments], ids=["sums", "moments"])
every_form = pytest.mark.parametrize("form", ["dense", *FORMATS])


def stored(x, form, index=np.int32):
    return x if form == "dense" else with_index(FORMATS[form](x), index)


def labels(rng, n, n_classes):
    return rng.integers(0, n_classes, size=n).astype(np.int32)


# ---- known answers -------------------------------------------------------------------------------
@both
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_every_type_layout_and_format_are_exact(kind, dtype):
    rng = np.random.default_rng(0)
    x, codes = kind.numbers(rng, (130, 7), dtype), labels(rng, 130, 3)
    w = WEIGHTS["fractional"](rng, 130)
    held = [hold(x) for hold in LAYOUTS.values()]
    held += [stored(x, form, index) for form in FORMATS for index in (np.int32, np.int64)]
    for rows in held:
        found, fault = kind.counted(rows, codes, w, 3)
        assert fault == 0
        kind.need_exact(found, x, codes, w, 3, is_sparse=sparse.issparse(rows))


@both
@every_form
@pytest.mark.parametrize("weights", WEIGHTS)
def test_every_kind_of_weight_is_exact(kind, weights, form):
    rng = np.random.default_rng(2)
    x, codes = kind.numbers(rng, (90, 5), np.float64), labels(rng, 90, 4)
    w = WEIGHTS[weights](rng, 90)
    found, fault = kind.counted(stored(x, form), codes, w, 4)
    assert fault == 0
    kind.need_exact(found, x, codes, w, 4, is_sparse=form != "dense")


SHAPES = [(0, 3, 2), (1, 1, 1), (1, 300, 3), (5, 0, 2), (40, 1, 100), (40, 257, 2), (70, 9, 1)]


@both
@every_form
@pytest.mark.parametrize(("n", "d", "n_classes"), [*SHAPES, (40, 600, 1)])
def test_every_shape_is_exact(kind, form, n, d, n_classes):
    rng = np.random.default_rng(3)
    x, codes = kind.numbers(rng, (n, d), np.float64), labels(rng, n, n_classes)
    found, fault = kind.counted(stored(x, form), codes, None, n_classes)
    assert fault == 0
    kind.need_exact(found, x, codes, None, n_classes, is_sparse=form != "dense")


def one_hot(codes, n_classes, w=None):
    """The rows of each class, with their weights."""
    w = np.ones(len(codes)) if w is None else w
    return sparse.csr_array((w, (codes, np.arange(len(codes)))), shape=(n_classes, len(codes)))


@both
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [3, 60])
@pytest.mark.parametrize("layout", ["C", "Fortran"])
def test_many_rows_and_columns_are_exact(kind, layout, n_classes, weighted):
    rng = np.random.default_rng(4)
    x = np.abs(rng.integers(-40, 40, size=(3 * 8192 + 5, 261)))
    codes = labels(rng, len(x), n_classes)
    w = rng.integers(0, 4, size=len(x)).astype(float) if weighted else None
    found, fault = kind.counted(LAYOUTS[layout](x.astype(np.float32)), codes, w, n_classes, 8)
    assert fault == 0
    expected = kind.of_matrix(one_hot(codes, n_classes, w), x)
    np.testing.assert_array_equal(kind.read(found), expected)


@both
@pytest.mark.parametrize("n_classes", [2, 9, 200])
@pytest.mark.parametrize("fmt", FORMATS)
def test_many_sparse_rows_and_columns_are_exact(kind, fmt, n_classes):
    rng = np.random.default_rng(5)
    x = sparse.random_array((45_000, 700), density=0.01, rng=rng, format=fmt)
    x.data = np.ceil(x.data * 8)
    codes = labels(rng, x.shape[0], n_classes)
    w = rng.integers(0, 4, size=x.shape[0]).astype(float)
    found, fault = kind.counted(x, codes, w, n_classes, 8)
    assert fault == 0
    expected = kind.of_matrix(one_hot(codes, n_classes, w).toarray(), x)
    np.testing.assert_array_equal(kind.read(found), expected)


@both
@every_form
def test_totals_add_to_what_was_counted(kind, form):
    x, codes = np.array([[1.0, 0.0], [2.0, 4.0]]), np.array([0, 1], dtype=np.int32)
    start, once, twice = (
        kind.counted(stored(x, form), codes, None, 2, 1, start)[0] for start in (0.0, 64.0, 128.0)
    )
    for none, one, two in zip(*map(kind.read, (start, once, twice)), strict=True):
        np.testing.assert_array_equal(one - none, two - one)


# ---- faults --------------------------------------------------------------------------------------
@both
@pytest.mark.parametrize(("row", "column"), [(0, 0), (63, 255), (64, 256), (299, 299), (150, 7)])
def test_a_value_that_is_not_finite_is_a_fault_wherever_it_stands(kind, row, column):
    codes = np.arange(300, dtype=np.int32) % 3
    for dtype in FLOATS:
        for value in (np.nan, np.inf, -np.inf):
            x = np.ones((300, 300), dtype=dtype)
            x[row, column] = value
            for layout in ("C", "Fortran", "spaced"):
                _, fault = kind.counted(LAYOUTS[layout](x), codes, None, 3)
                assert fault & _kernels.NOT_FINITE


@both
@every_form
@pytest.mark.parametrize("row", [0, 1, 2])
@pytest.mark.parametrize("weight", [None, 0.0, -1.0])
def test_a_weight_does_not_hide_a_fault(kind, form, row, weight):
    x, w = np.ones((3, 2)), np.ones(3)
    x[row, 1], w[row] = np.nan, 0.0 if weight is None else weight
    w = None if weight is None else w
    _, fault = kind.counted(stored(x, form), np.zeros(3, dtype=np.int32), w, 1)
    assert fault & _kernels.NOT_FINITE


@both
def test_a_fault_in_a_small_batch_adds_nothing(kind):
    x = np.ones((8192, 256))
    x[-1, -1] = np.nan
    found, fault = kind.counted(x, np.zeros(8192, dtype=np.int32), None, 1)
    assert fault
    assert not any(array.any() for array in found)


@both
@pytest.mark.parametrize("threads", [1, 3])
def test_a_fault_in_the_last_of_many_chunks_is_found(kind, threads):
    x = np.ones((6 * 8192, 20))
    x[-1, -1] = np.inf
    _, fault = kind.counted(x, np.zeros(len(x), dtype=np.int32), None, 1, threads)
    assert fault & _kernels.NOT_FINITE


@both
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("wrong", [-1, 3, 2**31 - 1, -(2**31)])
def test_a_sparse_index_out_of_range_is_a_fault(kind, wrong, fmt):
    held = stored(np.eye(3), fmt)
    held.indices[1] = wrong
    _, fault = kind.counted(held, np.zeros(3, dtype=np.int32), None, 1)
    assert fault & _kernels.OUT_OF_RANGE
