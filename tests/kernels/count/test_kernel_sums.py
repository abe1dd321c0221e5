"""Feature sums by class, dense and sparse, against their twin."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from reference import count_sums, stored_rows
from reference.inputs import FLOATS, FORMATS, WEIGHTS, whole_numbers, with_index
from reference.rational import exact, exact_weights, rounded, zeros
from tallybayes import _kernels
from tallybayes.tally import FeatureSums


def counts(rng, shape, dtype):
    return np.abs(whole_numbers(rng, shape, dtype))


def dense_sums(x, codes, weights, n_classes, threshold=None, non_negative=False, threads=2):
    sums = np.zeros((n_classes, x.shape[1]))
    fault = _kernels.sums_dense(x, codes, weights, threshold, non_negative, sums, threads)
    return sums, fault


def sparse_sums(x, codes, weights, n_classes, threshold=None, non_negative=False, threads=2):
    sums = np.zeros((n_classes, x.shape[1]))
    fault = _kernels.sums_sparse(
        x.indptr,
        x.indices,
        x.data,
        *x.shape,
        x.format == "csc",
        codes,
        weights,
        threshold,
        non_negative,
        sums,
        threads,
    )
    return sums, fault


def stored(x, fmt, index=np.int32):
    return with_index(FORMATS[fmt](x), index)


# ---- known answers -------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [None, 0.0, 0.5, 40.0])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("form", ["dense", *FORMATS])
def test_sums_under_every_kind_of_weight_are_exact(form, weights, threshold):
    rng = np.random.default_rng(2)
    x = counts(rng, (90, 5), np.float64)
    codes = rng.integers(0, 4, size=90).astype(np.int32)
    w = WEIGHTS[weights](rng, 90)
    if form == "dense":
        sums, fault = dense_sums(x, codes, w, 4, threshold)
    else:
        sums, fault = sparse_sums(stored(x, form), codes, w, 4, threshold)
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
    if form == "dense":
        sums, _ = dense_sums(x, codes, w, n_classes)
    else:
        sums, _ = sparse_sums(stored(x, form), codes, w, n_classes)
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
    one, fault = sparse_sums(x, codes, w, 12, threads=1)
    assert fault == 0
    hot = sparse.csr_array((w, (codes, np.arange(9_000))), shape=(12, 9_000))
    np.testing.assert_allclose(one, (hot @ x).toarray())
    for threads in (2, 3, 5):
        np.testing.assert_array_equal(sparse_sums(x, codes, w, 12, threads=threads)[0], one)
    x.data[-1] = np.inf
    assert sparse_sums(x, codes, w, 12, threads=3)[1] == _kernels.NOT_FINITE


@pytest.mark.parametrize("form", ["dense", *FORMATS])
def test_float32_input_is_summed_in_float64(form):
    x = np.ones((9, 1), dtype=np.float32)
    x[0] = 2.0**24  # in float32 this plus 1 is this
    codes = np.zeros(9, dtype=np.int32)
    if form == "dense":
        sums, _ = dense_sums(x, codes, None, 1)
    else:
        sums, _ = sparse_sums(stored(x, form), codes, None, 1)
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
    held = stored(np.array([[7.0, 7.0], [1.0, 0.0], [2.0, 4.0]]), fmt)
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
    held = stored(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 0.0, 5.0]]), fmt)
    codes = np.array([0, 1, 1], dtype=np.int32)
    expected = sparse_sums(held, codes, None, 2)[0]
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
        if form == "dense":
            _, fault = dense_sums(x, codes, None, 1, threshold, non_negative)
        else:
            _, fault = sparse_sums(stored(x, form), codes, None, 1, threshold, non_negative)
        assert fault == (_kernels.NEGATIVE if non_negative else 0)


def test_minus_zero_is_no_negative_value():
    _, fault = dense_sums(np.array([[-0.0]]), np.zeros(1, dtype=np.int32), None, 1, None, True)
    assert fault == 0


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_largest_finite_values_are_no_fault(dtype):
    x = np.array([[np.finfo(dtype).max, -np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal]])
    _, fault = dense_sums(x.astype(dtype), np.zeros(1, dtype=np.int32), None, 1)
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
    held = stored(np.eye(3), fmt)
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
