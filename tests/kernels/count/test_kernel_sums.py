"""Sums and moments of features by class, dense and sparse, against their exact twins."""

import numpy as np
import pytest
from scipy import sparse

from reference import LAYOUTS, count_moments, count_sums, stored_rows, to_moments
from reference.inputs import DTYPES, FLOATS, FORMATS, WEIGHTS, whole_numbers, with_index
from reference.rational import exact, exact_weights, rounded, zeros
from tallybayes import _kernels
from tallybayes.tally import FeatureSums, Moments


def counts(rng, shape, dtype):
    return np.abs(whole_numbers(rng, shape, dtype))


def summed(x, codes, weights, n_classes, threshold=None, non_negative=False, threads=2, start=0.0):
    """Sums of dense or sparse rows, and the fault."""
    sums = np.full((n_classes, x.shape[1]), start)
    rule = codes, weights, threshold, non_negative, sums, threads
    if sparse.issparse(x):
        rows = x.indptr, x.indices, x.data, *x.shape, x.format == "csc"
        return sums, _kernels.sums_sparse(*rows, *rule)
    return sums, _kernels.sums_dense(x, *rule)


def laid_out(x, form, index=np.int32):
    return x if form == "dense" else with_index(FORMATS[form](x), index)


# ---- known answers -------------------------------------------------------------------------------
@pytest.mark.parametrize("threshold", [0.0, 0.5, 40.0])  # without one: for every kind, below
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("form", ["dense", *FORMATS])
def test_sums_under_every_kind_of_weight_are_exact(form, weights, threshold):
    rng = np.random.default_rng(2)
    x = counts(rng, (90, 5), np.float64)
    codes = rng.integers(0, 4, size=90).astype(np.int32)
    w = WEIGHTS[weights](rng, 90)
    sums, fault = summed(laid_out(x, form), codes, w, 4, threshold)
    assert fault == 0
    np.testing.assert_array_equal(sums, rounded(count_sums(x, codes, w, 4, threshold)))


@pytest.mark.parametrize("form", ["dense", *FORMATS])
@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_of_rounded_terms_have_the_error_of_a_float64_sum(form, dtype):
    rng = np.random.default_rng(4)
    n, n_classes = 300, 2
    x = rng.lognormal(sigma=6.0, size=(n, 3)).astype(dtype)
    codes = rng.integers(0, n_classes, size=n).astype(np.int32)
    w = rng.normal(size=n)
    sums, _ = summed(laid_out(x, form), codes, w, n_classes)
    size = zeros(n_classes, 3)
    for k, weight, row in zip(codes, exact_weights(w, n), exact(x), strict=True):
        size[k] += abs(weight) * row
    error = abs(exact(sums) - count_sums(x, codes, w, n_classes))
    assert (error <= (n + 1) * size / 2**53).all()


@pytest.mark.parametrize("largest", [0.1, 0.7])
def test_sparse_sums_of_several_classes_are_the_same_on_any_number_of_threads(largest):
    rng = np.random.default_rng(5)
    x = sparse.random(9_000, 60, density=0.3, format="csr", random_state=5)
    share = np.r_[largest, np.full(11, (1 - largest) / 11)]
    codes = rng.choice(12, p=share, size=9_000).astype(np.int32)
    w = rng.normal(size=9_000)
    one, fault = summed(x, codes, w, 12, threads=1)
    assert fault == 0
    hot = sparse.csr_array((w, (codes, np.arange(9_000))), shape=(12, 9_000))
    np.testing.assert_allclose(one, (hot @ x).toarray())
    for threads in (2, 3, 5):
        np.testing.assert_array_equal(summed(x, codes, w, 12, threads=threads)[0], one)
    x.data[-1] = np.inf
    assert summed(x, codes, w, 12, threads=3)[1] == _kernels.NOT_FINITE


@pytest.mark.parametrize("form", ["dense", *FORMATS])
def test_float32_input_is_summed_in_float64(form):
    x = np.ones((9, 1), dtype=np.float32)
    x[0] = 2.0**24  # in float32 this plus 1 is this
    codes = np.zeros(9, dtype=np.int32)
    sums, _ = summed(laid_out(x, form), codes, None, 1)
    assert sums[0, 0] == 2.0**24 + 8


@pytest.mark.parametrize("fmt", FORMATS)
def test_sparse_entries_may_repeat_be_zero_and_stand_in_any_order(fmt):
    indptr = np.array([0, 4, 4, 6])
    indices = np.array([2, 0, 2, 1, 1, 0])
    data = np.array([1.0, 2.0, 4.0, 0.0, 16.0, 32.0])
    codes = np.array([0, 1, 0], dtype=np.int32)
    sums = np.zeros((2, 3))
    by_column = fmt == "csc"
    _kernels.sums_sparse(indptr, indices, data, 3, 3, by_column, codes, None, None, False, sums, 1)
    x = stored_rows(indptr, indices, data, (3, 3), by_column)
    np.testing.assert_array_equal(sums, rounded(count_sums(x, codes, None, 2)))


@pytest.mark.parametrize("fmt", FORMATS)
def test_row_pointers_may_begin_after_unused_entries(fmt):
    held = laid_out(np.array([[7.0, 7.0], [1.0, 0.0], [2.0, 4.0]]), fmt)
    indptr = held.indptr[1:]
    codes = np.zeros(len(indptr) - 1 if fmt == "csr" else 3, dtype=np.int32)
    shape = (2, 2) if fmt == "csr" else (3, 1)
    sums = np.zeros((1, shape[1]))
    _kernels.sums_sparse(
        indptr, held.indices, held.data, *shape, fmt == "csc", codes, None, None, False, sums, 1
    )
    assert sums.tolist() == ([[3.0, 4.0]] if fmt == "csr" else [[11.0]])


@pytest.mark.parametrize("spread", ["spaced", "reversed"])
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("which", ["data", "indices", "indptr"])
def test_sparse_arrays_are_read_through_their_strides_or_refused(which, fmt, spread):
    held = laid_out(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 0.0, 5.0]]), fmt)
    codes = np.array([0, 1, 1], dtype=np.int32)
    expected = summed(held, codes, None, 2)[0]
    array = getattr(held, which)
    if spread == "spaced":
        room = np.zeros(2 * len(array), dtype=array.dtype)
        room[::2] = array
        strided = room[::2]
    else:  # room on both sides, so that a wrong read stays within it
        room = np.zeros(4 * len(array), dtype=array.dtype)
        room[len(array) : 2 * len(array)] = array[::-1]
        strided = room[2 * len(array) - 1 : len(array) - 1 : -1]
    np.testing.assert_array_equal(strided, array)
    arrays = {"indptr": held.indptr, "indices": held.indices, "data": held.data, which: strided}
    sums = np.zeros((2, 3))
    try:
        _kernels.sums_sparse(
            *arrays.values(), 3, 3, fmt == "csc", codes, None, None, False, sums, 1
        )
    except (TypeError, ValueError):
        return
    np.testing.assert_array_equal(sums, expected)


# ---- faults --------------------------------------------------------------------------------------
@pytest.mark.parametrize("threshold", [None, 0.5])
@pytest.mark.parametrize("form", ["dense", *FORMATS])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64])
def test_a_negative_value_is_a_fault_only_where_it_is_not_admitted(dtype, form, threshold):
    x = np.ones((70, 3), dtype=dtype)
    x[65, 2] = -1
    codes = np.zeros(70, dtype=np.int32)
    for non_negative in (False, True):
        _, fault = summed(laid_out(x, form), codes, None, 1, threshold, non_negative)
        assert fault == (_kernels.NEGATIVE if non_negative else 0)


def test_minus_zero_is_no_negative_value():
    _, fault = summed(np.array([[-0.0]]), np.zeros(1, dtype=np.int32), None, 1, None, True)
    assert fault == 0


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_largest_finite_values_are_no_fault(dtype):
    x = np.array([[np.finfo(dtype).max, -np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal]])
    _, fault = summed(x.astype(dtype), np.zeros(1, dtype=np.int32), None, 1)
    assert fault == 0


MALFORMED = {
    "decreasing": ([0, 2, 1, 3], None, None),
    "negative": ([-1, 1, 2, 3], None, None),
    "beyond the data": ([0, 1, 2, 4], None, None),
    "too short": ([0, 1, 3], None, None),
    "too long": ([0, 1, 2, 3, 3], None, None),
    "empty": ([], None, None),
    "fewer indices than data": ([0, 1, 2, 3], slice(0, 2), None),
    "fewer data than rows point to": ([0, 1, 2, 3], None, slice(0, 2)),
}


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("how", MALFORMED)
def test_malformed_row_pointers_are_refused(how, fmt):
    pointers, indices, data = MALFORMED[how]
    held = laid_out(np.eye(3), fmt)
    sums = np.zeros((1, 3))
    with pytest.raises(ValueError, match="indptr"):
        _kernels.sums_sparse(
            np.array(pointers, dtype=np.int32),
            held.indices if indices is None else held.indices[indices].copy(),
            held.data if data is None else held.data[data].copy(),
            3,
            3,
            fmt == "csc",
            np.zeros(3, dtype=np.int32),
            None,
            None,
            False,
            sums,
            1,
        )
    assert not sums.any()


@pytest.mark.parametrize(
    ("pointer", "index"), [(np.int32, np.int64), (np.int16, np.int16), (np.float64, np.float64)]
)
def test_index_types_that_are_not_read_are_refused(pointer, index):
    held = sparse.csr_array(np.eye(3))
    with pytest.raises(TypeError, match="int32 or both int64"):
        _kernels.sums_sparse(
            held.indptr.astype(pointer), held.indices.astype(index), held.data, 3, 3, False,
            np.zeros(3, dtype=np.int32), None, None, False, np.zeros((1, 3)), 1,
        )  # fmt: skip


@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (2, 1 << 18), (1, (1 << 18) + 1), (20, 100_000)])
def test_tables_are_zero_and_apart_however_large(shape):
    first, second = (FeatureSums.zeros(*shape).sums for _ in range(2))
    for table in (first, second):
        assert table.shape == shape
        assert table.dtype == np.float64
        assert table.flags.carray
        assert not table.any()
    first += 1.0
    assert not second.any()
    rest = first[:, -1:].copy()
    del first, table
    again = FeatureSums.zeros(*shape).sums
    assert not again.any()
    assert (rest == 1.0).all()


@pytest.mark.parametrize("shape", [(0, 10), (10, 0), (-1, 1 << 22), (1 << 40, 1 << 40)])
def test_no_huge_table_of_nothing_or_of_more_than_there_is(shape):
    assert _kernels.huge_table(*shape) is None


class OfSums:
    """Sums of numbers from 0 on."""

    @staticmethod
    def numbers(rng, shape, dtype):
        return np.abs(whole_numbers(rng, shape, dtype))

    @staticmethod
    def counted(x, codes, weights, n_classes, threads=2, start=0.0):
        """The totals, and the fault."""
        sums, fault = summed(x, codes, weights, n_classes, None, True, threads, start)
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
    held += [laid_out(x, form, index) for form in FORMATS for index in (np.int32, np.int64)]
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
    found, fault = kind.counted(laid_out(x, form), codes, w, 4)
    assert fault == 0
    kind.need_exact(found, x, codes, w, 4, is_sparse=form != "dense")


SHAPES = [(0, 3, 2), (1, 1, 1), (1, 300, 3), (5, 0, 2), (40, 1, 100), (40, 257, 2), (70, 9, 1)]


@both
@every_form
@pytest.mark.parametrize(("n", "d", "n_classes"), [*SHAPES, (40, 600, 1)])
def test_every_shape_is_exact(kind, form, n, d, n_classes):
    rng = np.random.default_rng(3)
    x, codes = kind.numbers(rng, (n, d), np.float64), labels(rng, n, n_classes)
    found, fault = kind.counted(laid_out(x, form), codes, None, n_classes)
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
        kind.counted(laid_out(x, form), codes, None, 2, 1, start)[0] for start in (0.0, 64.0, 128.0)
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
    _, fault = kind.counted(laid_out(x, form), np.zeros(3, dtype=np.int32), w, 1)
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
    x = laid_out(np.eye(3), fmt)
    x.indices[1] = wrong
    _, fault = kind.counted(x, np.zeros(3, dtype=np.int32), None, 1)
    assert fault & _kernels.OUT_OF_RANGE
