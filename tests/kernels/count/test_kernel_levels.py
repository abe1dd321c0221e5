"""Counting level codes and grid cells, against their twins."""

import numpy as np
import pytest
from scipy import sparse

from reference import LAYOUTS, count_grid, count_levels, highest_codes
from reference.inputs import DTYPES, FLOATS, WEIGHTS
from reference.rational import rounded
from tallybayes import _kernels


def starts(n_levels):
    return np.concatenate([[0], np.cumsum(n_levels)]).astype(np.int64)


def rows(rng, n, n_levels, dtype=np.int64):
    x = np.floor(rng.uniform(size=(n, len(n_levels))) * n_levels)
    return (x % 2 if dtype is np.bool_ else x).astype(dtype)


def dense_levels(x, codes, weights, n_classes, start, threads=2):
    counts = np.zeros((n_classes, int(start[-1])))
    fault = _kernels.levels_dense(x, codes, weights, start, counts, threads)
    return counts, fault


def sparse_levels(x, codes, weights, n_classes, start):
    counts = np.zeros((n_classes, int(start[-1])))
    held = sparse.csr_array(x)
    fault = _kernels.levels_csr(
        held.indptr, held.indices, held.data, *held.shape, codes, weights, start, counts
    )
    return counts, fault


# ---- known answers -------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", DTYPES)
def test_level_counts_of_every_type_and_layout_are_exact(dtype):
    rng = np.random.default_rng(0)
    n_levels = np.array([2, 5, 3, 101])
    x = rows(rng, 120, n_levels, dtype)
    codes = rng.integers(0, 3, size=120).astype(np.int32)
    start = starts(n_levels)
    expected = rounded(count_levels(x, codes, None, 3, start))
    for hold in LAYOUTS.values():
        counts, fault = dense_levels(hold(x), codes, None, 3, start)
        assert fault == 0
        np.testing.assert_array_equal(counts, expected)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_level_counts_under_every_kind_of_weight_are_exact(form, weights):
    rng = np.random.default_rng(1)
    n_levels = np.array([4, 1, 7])
    x = rows(rng, 80, n_levels)
    codes = rng.integers(0, 4, size=80).astype(np.int32)
    w, start = WEIGHTS[weights](rng, 80), starts(n_levels)
    expected = count_levels(x, codes, w, 4, start)
    if form == "dense":
        counts, fault = dense_levels(x, codes, w, 4, start)
    else:
        counts, fault = sparse_levels(x, codes, w, 4, start)
        expected[:, start[:-1]] = 0  # code 0 is not stored
    assert fault == 0
    np.testing.assert_array_equal(counts, rounded(expected))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sparse_level_counts_of_every_type_are_exact(dtype, index):
    rng = np.random.default_rng(2)
    n_levels = np.array([3, 4])
    x = rows(rng, 60, n_levels, dtype)
    codes = rng.integers(0, 2, size=60).astype(np.int32)
    held, start = sparse.csr_array(x), starts(n_levels)
    counts = np.zeros((2, 7))
    fault = _kernels.levels_csr(
        held.indptr.astype(index), held.indices.astype(index), held.data, 60, 2, codes, None,
        start, counts,
    )  # fmt: skip
    expected = rounded(count_levels(x, codes, None, 2, start))
    expected[:, start[:-1]] = 0.0
    assert fault == 0
    np.testing.assert_array_equal(counts, expected)


@pytest.mark.parametrize(
    ("n", "d", "n_classes"),
    [(0, 3, 2), (1, 1, 1), (1, 300, 3), (5, 0, 2), (60, 1, 100), (60, 300, 2)],
)
def test_level_counts_of_every_shape_are_exact(n, d, n_classes):
    rng = np.random.default_rng(3)
    n_levels = rng.integers(1, 6, size=d)
    x, start = rows(rng, n, n_levels), starts(n_levels)
    codes = rng.integers(0, n_classes, size=n).astype(np.int32)
    counts, fault = dense_levels(x, codes, None, n_classes, start)
    assert fault == 0
    np.testing.assert_array_equal(counts, rounded(count_levels(x, codes, None, n_classes, start)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n_classes", "n_levels"), [(2, 3), (50, 400)])
def test_many_rows_are_counted(n_classes, n_levels, weighted):
    rng = np.random.default_rng(4)
    n, d = 60_000, 20
    x = rng.integers(0, n_levels, size=(n, d)).astype(np.int16)
    codes = rng.integers(0, n_classes, size=n).astype(np.int32)
    w = rng.integers(0, 7, size=n).astype(float) if weighted else None
    counts, fault = dense_levels(x, codes, w, n_classes, starts([n_levels] * d), threads=8)
    assert fault == 0
    cell = codes[:, None] * (d * n_levels) + np.arange(d) * n_levels + x
    repeated = None if w is None else np.repeat(w, d)
    expected = np.bincount(cell.ravel(), repeated, n_classes * d * n_levels)
    np.testing.assert_array_equal(counts.ravel(), expected)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_level_counts_add_to_what_was_counted(form):
    x = np.array([[1], [1], [2]])
    codes = np.array([0, 1, 1], dtype=np.int32)
    counts, start = np.full((2, 3), 10.0), starts([3])
    if form == "dense":
        _kernels.levels_dense(x, codes, None, start, counts, 1)
    else:
        held = sparse.csr_array(x)
        _kernels.levels_csr(held.indptr, held.indices, held.data, 3, 1, codes, None, start, counts)
    assert counts.tolist() == [[10.0, 11.0, 10.0], [10.0, 11.0, 11.0]]


@pytest.mark.parametrize("dtype", DTYPES)
def test_highest_codes_of_every_type_and_layout(dtype):
    x = rows(np.random.default_rng(5), 40, np.array([1, 3, 9, 100]), dtype)
    highest = np.empty(4, dtype=np.int64)
    for hold in LAYOUTS.values():
        assert _kernels.highest_codes(hold(x), highest, 2) == 0
        np.testing.assert_array_equal(highest, highest_codes(x))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("n", "d"), [(0, 3), (1, 1), (3, 0), (200_000, 6)])
def test_highest_codes_of_every_shape(n, d, order):
    x = np.random.default_rng(6).integers(0, 9, size=(n, d), dtype=np.int32)
    x[-1:] += 5  # in the last chunk only
    highest = np.empty(d, dtype=np.int64)
    assert _kernels.highest_codes(np.asarray(x, order=order), highest, 3) == 0
    np.testing.assert_array_equal(highest, x.max(axis=0, initial=-1))


def test_highest_codes_of_large_whole_numbers():
    highest = np.empty(1, dtype=np.int64)
    for dtype, top in [(np.int64, 2**63 - 1), (np.uint64, 2**62 - 1), (np.float64, 2**53 - 1)]:
        assert _kernels.highest_codes(np.array([[top]], dtype=dtype), highest, 1) == 0
        assert highest[0] == top


# ---- faults --------------------------------------------------------------------------------------
FAULTY = {
    "NaN": (np.nan, "NOT_FINITE"),
    "infinity": (np.inf, "NOT_FINITE"),
    "minus infinity": (-np.inf, "NOT_FINITE"),
    "negative": (-1.0, "NEGATIVE"),
    "negative fraction": (-0.5, "NEGATIVE"),
    "fraction": (0.5, "NOT_INTEGER"),
    "huge": (1e300, "OUT_OF_RANGE"),
    "two to the 53": (2.0**53, "OUT_OF_RANGE"),
    "beyond the levels": (2.0, "OUT_OF_RANGE"),
}


@pytest.mark.parametrize("layout", ["C", "Fortran"])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("value", FAULTY)
def test_what_is_no_code_of_the_column_is_a_fault(value, dtype, layout):
    number, flag = FAULTY[value]
    x = np.ones((300, 4))
    x[123, 2] = 1e30 if dtype is np.float32 and value == "huge" else number
    x = LAYOUTS[layout](x.astype(dtype))
    codes = np.zeros(300, dtype=np.int32)
    start = starts([2] * 4)
    for form in (dense_levels, sparse_levels):
        _, fault = form(x, codes, None, 1, start)
        assert fault == getattr(_kernels, flag)
    highest = np.empty(4, dtype=np.int64)
    fault = _kernels.highest_codes(x, highest, 1)
    if flag == "OUT_OF_RANGE":  # a code all the same, and the caller sees that it is too large
        assert fault == 0
        assert highest[2] >= 2
    else:
        assert fault == getattr(_kernels, flag)


@pytest.mark.parametrize("dtype", [np.int8, np.int64])
def test_a_negative_whole_number_is_a_fault(dtype):
    x = np.array([[1], [-1]], dtype=dtype)
    assert _kernels.highest_codes(x, np.empty(1, dtype=np.int64), 1) == _kernels.NEGATIVE


def test_a_code_beyond_two_to_the_62_reads_as_that():
    x, highest = np.array([[2**63]], dtype=np.uint64), np.empty(1, dtype=np.int64)
    assert _kernels.highest_codes(x, highest, 1) == 0
    assert highest[0] == 2**62


def test_minus_zero_is_the_code_zero():
    counts, fault = dense_levels(
        np.array([[-0.0]]), np.zeros(1, dtype=np.int32), None, 1, starts([1])
    )
    assert fault == 0
    assert counts.tolist() == [[1.0]]


@pytest.mark.parametrize("weighted", [False, True])
def test_a_fault_in_a_small_batch_counts_nothing(weighted):
    x = np.zeros((8192, 3), dtype=np.int64)
    x[-1, -1] = 1
    w = np.ones(8192) if weighted else None
    counts, fault = dense_levels(x, np.zeros(8192, dtype=np.int32), w, 1, starts([1] * 3))
    assert fault
    assert not counts.any()


@pytest.mark.parametrize("wrong", [-1, 2, 2**31 - 1])
def test_a_sparse_index_out_of_range_is_a_fault(wrong):
    held = sparse.csr_array(np.array([[1, 0], [0, 1]]))
    held.indices[0] = wrong
    fault = _kernels.levels_csr(
        held.indptr, held.indices, held.data, 2, 2, np.zeros(2, dtype=np.int32), None,
        starts([2, 2]), np.zeros((1, 4)),
    )  # fmt: skip
    assert fault & _kernels.OUT_OF_RANGE


def test_sizes_that_do_not_fit_are_refused():
    x, codes = np.zeros((3, 2), dtype=np.int64), np.zeros(3, dtype=np.int32)
    with pytest.raises(ValueError, match="start"):
        dense_levels(x, codes, None, 1, starts([1]))
    with pytest.raises(ValueError, match="counts"):
        _kernels.levels_dense(x, codes, None, starts([1, 1]), np.zeros((1, 3)), 1)
    with pytest.raises(ValueError, match="codes"):
        dense_levels(x, codes[:2], None, 1, starts([1, 1]))
    with pytest.raises(ValueError, match="weights"):
        dense_levels(x, codes, np.ones(2), 1, starts([1, 1]))


@pytest.mark.parametrize("kernel", ["levels_dense", "levels_csr"])
def test_levels_whose_starts_are_no_row_of_cells_are_refused(kernel):
    x, codes = np.array([[2, 0]]), np.zeros(1, dtype=np.int32)
    room = np.zeros((1, 64))  # what is written wrongly stays within it
    counts = room[:, 16:17]
    for start in ([0, 40, 1], [-8, 0, 1]):
        held = sparse.csr_array(x)
        call = {
            "levels_dense": lambda s: _kernels.levels_dense(x, codes, None, s, counts, 1),
            "levels_csr": lambda s, h=held: _kernels.levels_csr(
                h.indptr, h.indices, h.data, 1, 2, codes, None, s, counts
            ),
        }[kernel]
        with pytest.raises(ValueError, match="start"):
            call(np.array(start, dtype=np.int64))


# ---- columns that lie apart ----------------------------------------------------------------------
@pytest.mark.parametrize("weights", WEIGHTS)
def test_codes_of_columns_that_lie_apart_begin_with_missing_values(weights):
    rng = np.random.default_rng(8)
    n_levels = np.array([3, 1, 8])
    x = rows(rng, 90, n_levels)
    codes, w = rng.integers(0, 2, 90).astype(np.int32), WEIGHTS[weights](rng, 90)
    start = starts(n_levels)
    columns = [(x[:, j] - 1).astype(np.int32) for j in range(3)]
    counts = np.zeros((2, int(start[-1])))
    assert _kernels.levels_columns(columns, codes, w, start, counts, 2) == 0
    np.testing.assert_array_equal(counts, dense_levels(x, codes, w, 2, start)[0])


def test_codes_of_columns_that_lie_apart_are_checked():
    codes, start, counts = np.zeros(2, dtype=np.int32), starts([2]), np.zeros((1, 2))
    for wrong, fault in ((-2, _kernels.NEGATIVE), (1, _kernels.OUT_OF_RANGE)):
        column = np.array([0, wrong], dtype=np.int32)
        assert _kernels.levels_columns([column], codes, None, start, counts, 1) & fault


BUDGET = 24

COLUMNS = {
    "decimals": lambda rng, n: np.round(rng.normal(0, 10, n), 2),
    "positive": lambda rng, n: rng.lognormal(3, 1, n),
    "few whole numbers": lambda rng, n: rng.integers(-6, 9, n).astype(float),
    "many whole numbers": lambda rng, n: rng.integers(0, 9000, n).astype(float),
    "mostly zero": lambda rng, n: np.where(rng.random(n) < 0.8, 0.0, rng.normal(size=n)),
    "both zeros": lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, -0.0),
    "ascending": lambda rng, n: np.arange(n) / 7.0,
    "next to zero": lambda rng, n: rng.integers(-40, 40, n) * 5e-324,
    "of every size": lambda rng, n: rng.normal(size=n) * 10.0 ** rng.integers(-300, 300, n),
    "far rows": lambda rng, n: np.where(rng.random(n) < 0.02, 1e300, rng.normal(size=n)),
    "missing": lambda rng, n: np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
}


def counted(x, codes, weights, n_classes, least_shift=0, budget=BUDGET):
    fault, shift, keys, counts = _kernels.grid_counts(
        x, codes, weights, n_classes, budget, least_shift
    )
    assert fault == 0
    order = np.argsort(keys)
    return shift, keys[order].tolist(), counts.reshape(-1, n_classes)[order].T


@pytest.mark.parametrize("least_shift", [0, 49])
@pytest.mark.parametrize("column", COLUMNS)
def test_grid_counts_are_those_of_the_finest_grid_within_the_budget(column, least_shift):
    rng = np.random.default_rng(0)
    x, codes = COLUMNS[column](rng, 700), rng.integers(0, 3, 700).astype(np.int32)
    for weights in WEIGHTS.values():
        w = weights(rng, 700)
        shift, keys, counts = counted(x, codes, w, 3, least_shift)
        found = count_grid(x, codes, w, 3, BUDGET, least_shift)
        assert (shift, keys) == found[:2]
        np.testing.assert_array_equal(counts, rounded(found[2]))


@pytest.mark.parametrize("column", COLUMNS)
def test_a_grid_that_starts_coarse_adds_to_what_all_rows_give(column):
    rng = np.random.default_rng(1)
    x, codes = COLUMNS[column](rng, 600), np.zeros(600, dtype=np.int32)
    whole = counted(x, codes, None, 1)
    later = counted(x[300:], codes[300:], None, 1, counted(x[:300], codes[:300], None, 1)[0])
    assert later[0] <= whole[0]
    assert counted(x[300:], codes[300:], None, 1, whole[0])[0] == whole[0]


def test_columns_of_any_stride_are_counted_alike():
    rng = np.random.default_rng(2)
    x, codes = rng.normal(size=(500, 3)), rng.integers(0, 2, 500).astype(np.int32)
    for a, b in zip(
        counted(x[:, 1], codes, None, 2), counted(x[:, 1].copy(), codes, None, 2), strict=True
    ):
        np.testing.assert_array_equal(a, b)


def test_infinity_is_a_fault_wherever_it_is_and_a_wrong_class_is_refused():
    codes = np.zeros(300, dtype=np.int32)
    for place in (0, 299):
        x = np.ones(300)
        x[place] = -np.inf
        assert _kernels.grid_counts(x, codes, None, 1, BUDGET)[0] == _kernels.NOT_FINITE
    with pytest.raises(IndexError, match="class code"):
        _kernels.grid_counts(np.ones(300), codes + 1, None, 1, BUDGET)
    with pytest.raises(ValueError, match="bits"):
        _kernels.grid_counts(np.ones(300), codes, None, 1, BUDGET, 64)
