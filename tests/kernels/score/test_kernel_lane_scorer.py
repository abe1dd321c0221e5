"""Scores of dense rows, level codes and sparse rows, bit for bit as their twins."""

import numpy as np
import pytest
from scipy import sparse

from reference import (
    LAYOUTS,
    best_classes,
    score_codes,
    score_linear,
    score_quadratic,
    score_sparse,
)
from reference.inputs import DTYPES, FLOATS, special_classes, triple, whole_numbers, with_index
from tallybayes import _kernels

NEVER = -np.inf


def starts(n_entries):
    return np.concatenate([[0], np.cumsum(n_entries)]).astype(np.int64)


def scorer(first, second=None, offset=None, fallback=0, threads=2):
    if offset is None:
        offset = np.linspace(-1.0, 1.0, len(first))
    return _kernels.LaneScorer(first, second, offset, fallback, threads), offset


def codes_scores(compiled, x, start, K, threads=2):
    joint, found = np.empty((len(x), K)), np.empty(len(x), dtype=np.int64)
    reply = compiled.score_codes(x, start, joint, None, threads)
    assert compiled.score_codes(x, start, None, found, threads)[:2] == reply[:2]
    return joint, found, reply


def sparse_scores(compiled, x, K, threshold=None, non_negative=False, threads=2):
    joint, found = np.empty((x.shape[0], K)), np.empty(x.shape[0], dtype=np.int64)
    rule = (threshold, non_negative)
    reply = compiled.score_sparse(*triple(x), *rule, joint, None, threads)
    assert compiled.score_sparse(*triple(x), *rule, None, found, threads)[:2] == reply[:2]
    return joint, found, reply


def sparse_rows(rng, n, d, dtype=np.float64, density=0.3):
    """Rows with entries in any order and zeros that are stored."""
    x = np.abs(whole_numbers(rng, (n, d), dtype, top=5))
    x = np.where(rng.uniform(size=(n, d)) < density, x, np.zeros_like(x))
    held = sparse.csr_array(x)
    held.data[::7] = 0
    return held


# ---- level codes ---------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", DTYPES)
def test_codes_of_every_type_and_layout_are_looked_up(dtype):
    rng = np.random.default_rng(0)
    start = starts([3, 6, 2])  # levels and one more entry for what was not seen
    x = np.abs(whole_numbers(rng, (90, 3), dtype, top=9))
    table = rng.normal(size=(5, 11))
    compiled, offset = scorer(table)
    expected = score_codes(x, table, start, offset)
    for hold in LAYOUTS.values():
        joint, found, (fault, unseen, _) = codes_scores(compiled, hold(x), start, 5)
        assert fault == 0
        assert unseen == bool((x >= np.diff(start) - 1).any())
        np.testing.assert_array_equal(joint, expected)
        np.testing.assert_array_equal(found, expected.argmax(axis=1))


@pytest.mark.parametrize("entries", [3, 2100])  # of the wider table, 32 and 16 classes a block
@pytest.mark.parametrize("K", special_classes(100))
def test_codes_for_any_number_of_classes_are_looked_up(K, entries):
    rng = np.random.default_rng(1)
    start = starts([entries, 4, entries])
    x = rng.integers(0, 5, size=(130, 3))
    table, offset = rng.normal(size=(K, start[-1])), rng.normal(size=K)
    compiled, _ = scorer(table, offset=offset, fallback=K - 1)
    joint, found, _ = codes_scores(compiled, x, start, K)
    expected = score_codes(x, table, start, offset)
    np.testing.assert_array_equal(joint, expected)
    np.testing.assert_array_equal(found, expected.argmax(axis=1))


@pytest.mark.parametrize("K", [3, 40])
@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1023, 1024, 1025, 33_000])
def test_codes_of_any_number_of_rows_are_looked_up(n, K):
    rng = np.random.default_rng(2)
    start = starts([4, 5])
    x = rng.integers(0, 6, size=(n, 2), dtype=np.int8)
    table = rng.normal(size=(K, 9))
    compiled, offset = scorer(table)
    joint, found, _ = codes_scores(compiled, x, start, K, threads=3)
    expected = score_codes(x, table, start, offset)
    np.testing.assert_array_equal(joint, expected)
    np.testing.assert_array_equal(found, expected.argmax(axis=1))


def test_rows_without_columns_score_their_offset():
    compiled, offset = scorer(np.empty((3, 0)))
    joint, found, _ = codes_scores(compiled, np.empty((4, 0), dtype=np.int64), starts([]), 3)
    assert joint.tolist() == [offset.tolist()] * 4
    assert found.tolist() == [2] * 4


@pytest.mark.parametrize("K", [2, 40])
def test_a_row_of_codes_that_every_class_rules_out_gets_the_fallback(K):
    table = np.zeros((K, 3))
    table[:, 1] = NEVER
    compiled, _ = scorer(table, offset=np.zeros(K), fallback=1)
    joint, found, _ = codes_scores(compiled, np.array([[1], [0]] * 50), starts([3]), K)
    assert found.tolist() == [1, 0] * 50
    assert np.isneginf(joint[::2]).all()
    best = np.empty(100, dtype=np.int64)
    x = np.array([[1], [0]] * 50)
    assert compiled.score_codes(x, starts([3]), None, best, 2) == (0, False, 50)


def test_the_first_of_equal_classes_is_best():
    for K in (5, 40, 70):
        offset = np.zeros(K)
        offset[[3, K - 1]] = 1.0
        compiled, _ = scorer(np.zeros((K, 2)), offset=offset)
        _, found, _ = codes_scores(compiled, np.zeros((9, 1), dtype=int), starts([2]), K)
        assert found.tolist() == [3] * 9


@pytest.mark.parametrize(
    ("value", "dtype", "flag"),
    [
        (np.nan, np.float64, "NOT_FINITE"),
        (np.inf, np.float32, "NOT_FINITE"),
        (-np.inf, np.float64, "NOT_FINITE"),
        (-1, np.int8, "NEGATIVE"),
        (-1.0, np.float32, "NEGATIVE"),
        (0.5, np.float64, "NOT_INTEGER"),
    ],
)
@pytest.mark.parametrize("row", [0, 1500])
def test_what_is_no_code_is_a_fault(row, value, dtype, flag):
    x = np.zeros((1501, 2), dtype=dtype)
    x[row, 1] = value
    compiled, _ = scorer(np.zeros((2, 4)))
    _, _, (fault, _, _) = codes_scores(compiled, x, starts([2, 2]), 2)
    assert fault == getattr(_kernels, flag)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(2.0**60, np.float64), (1e30, np.float32), (2**63, np.uint64), (2**62, np.int64)],
)
def test_a_code_however_large_is_one_that_was_not_seen(value, dtype):
    table = np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]])
    compiled, _ = scorer(table, offset=np.zeros(2))
    x = np.array([[0], [value], [1]], dtype=dtype)
    joint, _, (fault, unseen, _) = codes_scores(compiled, x, starts([3]), 2)
    assert (fault, unseen) == (0, True)
    assert joint.tolist() == [[1.0, 8.0], [4.0, 32.0], [2.0, 16.0]]


@pytest.mark.parametrize("start", [[0, 2], [0, 2, 5], [0, 1, 2, 4]])
def test_starts_that_do_not_fit_the_table_are_refused(start):
    compiled, _ = scorer(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="start"):
        codes_scores(compiled, np.zeros((1, 2), dtype=int), np.array(start), 2)


# ---- sparse rows ---------------------------------------------------------------------------------
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["linear", "binary", "quadratic"])
def test_sparse_rows_of_every_type_are_scored(kind, dtype, index):
    rng = np.random.default_rng(3)
    x = with_index(sparse_rows(rng, 90, 12, dtype), index)
    first = rng.normal(size=(5, 12))
    second = rng.normal(size=(5, 12)) if kind == "quadratic" else None
    threshold = 1.0 if kind == "binary" else None
    compiled, offset = scorer(first, second)
    joint, found, reply = sparse_scores(compiled, x, 5, threshold)
    expected = score_sparse(*triple(x)[:3], first, offset, second, threshold)
    assert reply[:2] == (0, False)
    np.testing.assert_array_equal(joint, expected)
    np.testing.assert_array_equal(found, expected.argmax(axis=1))


@pytest.mark.parametrize("d", [20, 4200])  # of the wider table, 32 and 16 classes a block
@pytest.mark.parametrize("K", special_classes(100))
def test_sparse_rows_for_any_number_of_classes_are_scored(K, d):
    rng = np.random.default_rng(4)
    x = sparse_rows(rng, 70, 20)
    x.resize(70, d)
    first, offset = rng.normal(size=(K, d)), rng.normal(size=K)
    for second in (None, rng.normal(size=(K, d))):
        compiled, _ = scorer(first, second, offset)
        joint, found, _ = sparse_scores(compiled, x, K)
        expected = score_sparse(*triple(x)[:3], first, offset, second)
        np.testing.assert_array_equal(joint, expected)
        np.testing.assert_array_equal(found, expected.argmax(axis=1))


@pytest.mark.parametrize("dtype", [np.float64, np.int16])
@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1024, 1025, 2100])
def test_sparse_rows_of_any_number_are_scored(n, dtype):
    rng = np.random.default_rng(5)
    x = sparse_rows(rng, n, 6, dtype)
    first = rng.normal(size=(4, 6))
    compiled, offset = scorer(first)
    joint, _, _ = sparse_scores(compiled, x, 4, threads=3)
    np.testing.assert_array_equal(joint, score_sparse(*triple(x)[:3], first, offset))


@pytest.mark.parametrize("dtype", [np.float64, np.int16])
def test_row_pointers_may_begin_after_unused_entries(dtype):
    rng = np.random.default_rng(6)
    x = sparse_rows(rng, 2500, 6, dtype)
    first = rng.normal(size=(4, 6))
    compiled, offset = scorer(first)
    joint = np.empty((1300, 4))
    indptr = x.indptr[1200:].copy()
    reply = compiled.score_sparse(indptr, x.indices, x.data, 1300, 6, None, False, joint, None, 2)
    assert reply[0] == 0
    np.testing.assert_array_equal(joint, score_sparse(indptr, x.indices, x.data, first, offset))


def test_a_stored_zero_says_nothing_whatever_its_weight():
    x = sparse.csr_array(
        (np.array([0.0, -0.0, 2.0]), np.array([0, 1, 0]), np.array([0, 2, 3])), (2, 2)
    )
    compiled, _ = scorer(np.full((2, 2), NEVER), offset=np.array([1.0, 2.0]), fallback=1)
    joint, found, _ = sparse_scores(compiled, x, 2)
    assert joint.tolist() == [[1.0, 2.0], [NEVER, NEVER]]
    assert found.tolist() == [1, 1]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 1500])
def test_a_value_that_is_not_finite_is_a_fault(row, value, dtype):
    dense = np.ones((1501, 2), dtype=dtype)
    dense[row, 1] = value
    for threshold in (None, 0.5):
        compiled, _ = scorer(np.ones((2, 2)))
        _, _, (fault, _, _) = sparse_scores(compiled, sparse.csr_array(dense), 2, threshold)
        assert fault == _kernels.NOT_FINITE


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64])
def test_a_negative_value_is_a_fault_only_where_it_is_not_admitted(dtype):
    dense = np.ones((40, 3), dtype=dtype)
    dense[39, 2] = -1
    compiled, _ = scorer(np.ones((2, 3)))
    for non_negative in (False, True):
        _, _, reply = sparse_scores(compiled, sparse.csr_array(dense), 2, non_negative=non_negative)
        assert reply[0] == (_kernels.NEGATIVE if non_negative else 0)


@pytest.mark.parametrize("dtype", [np.float64, np.int16])
@pytest.mark.parametrize("wrong", [-1, 3, 2**31 - 1, -(2**31)])
def test_an_index_out_of_range_is_a_fault(wrong, dtype):
    x = sparse.csr_array(np.eye(3, dtype=dtype))
    x.indices[1] = wrong
    compiled, _ = scorer(np.ones((2, 3)))
    _, _, (fault, _, _) = sparse_scores(compiled, x, 2)
    assert fault & _kernels.OUT_OF_RANGE


@pytest.mark.parametrize("indptr", [[0, 2, 1, 3], [-1, 1, 2, 3], [0, 1, 2, 4], [0, 1, 3]])
def test_malformed_row_pointers_are_refused(indptr):
    x = sparse.csr_array(np.eye(3))
    compiled, _ = scorer(np.ones((2, 3)))
    joint = np.empty((3, 2))
    with pytest.raises(ValueError, match="indptr"):
        compiled.score_sparse(
            np.array(indptr, dtype=np.int32), x.indices, x.data, 3, 3, None, False, joint, None, 1
        )


@pytest.mark.parametrize("which", ["data", "indices"])
def test_sparse_arrays_are_read_through_their_strides_or_refused(which):
    x = sparse.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 0.0, 5.0]]))
    first = np.arange(6.0).reshape(2, 3)
    compiled, offset = scorer(first)
    room = np.zeros(2 * x.nnz, dtype=getattr(x, which).dtype)
    room[::2] = getattr(x, which)
    arrays = {"indptr": x.indptr, "indices": x.indices, "data": x.data, which: room[::2]}
    joint = np.empty((3, 2))
    try:
        compiled.score_sparse(*arrays.values(), 3, 3, None, False, joint, None, 1)
    except (TypeError, ValueError):
        return
    np.testing.assert_array_equal(joint, score_sparse(*triple(x)[:3], first, offset))


def test_the_scorer_keeps_a_copy_of_its_parameters():
    first = np.ones((2, 3))
    compiled, _ = scorer(first, offset=np.zeros(2))
    first[:] = 7.0
    joint, found, _ = sparse_scores(compiled, sparse.csr_array(np.ones((1, 3))), 2)
    assert joint.tolist() == [[3.0, 3.0]]
    assert best_classes(joint, 0)[0].tolist() == found.tolist()


@pytest.mark.parametrize("n_classes", [1, 9, 40, 500])
@pytest.mark.parametrize("threads", [1, 3])
def test_tables_of_columns_score_as_side_by_side(n_classes, threads):
    rng = np.random.default_rng(n_classes)
    widths = rng.integers(1, 9, 200)
    tables = [np.log(rng.random((n_classes, width))) for width in widths]
    zeros, offset = np.zeros((n_classes, 1)), rng.normal(size=n_classes)
    joined = np.concatenate([part for table in tables for part in (table, zeros)], axis=1)
    start = np.concatenate([[0], np.cumsum(widths + 1)])
    codes = rng.integers(0, widths + 1, (30, 200)).astype(np.int32)
    found, expected = np.empty((2, 30, n_classes))
    scorer = _kernels.LaneScorer.of_columns(tables, offset, 0, threads)
    scorer.score_codes(codes, start, found, None, threads)
    _kernels.LaneScorer(joined, None, offset, 0, 1).score_codes(codes, start, expected, None, 1)
    assert found.tobytes() == expected.tobytes()


def dense_scorer(first, second=None, offset=None, fallback=0, threshold=None, non_negative=False):
    if offset is None:
        offset = np.linspace(-1.0, 1.0, len(first))
    return _kernels.DenseScorer(first, second, offset, fallback, threshold, non_negative), offset


def scores(compiled, x, n_classes, threads=2):
    joint = np.empty((len(x), n_classes))
    reply = compiled.score(x, joint, None, threads)
    return joint, reply


def best(compiled, x, threads=2):
    found = np.empty(len(x), dtype=np.int64)
    reply = compiled.score(x, None, found, threads)
    return found, reply


def parameters(kind, rng, K, d):
    """First and second parameters and the twin of a kind of score."""
    if kind == "quadratic":
        mean, scale = rng.normal(size=(K, d)), rng.lognormal(size=(K, d))
        return mean, scale, lambda x, offset: score_quadratic(x, mean, scale, offset)
    weights = rng.normal(size=(K, d))
    if kind == "masked":
        weights[rng.uniform(size=(K, d)) < 0.2] = NEVER
        weights[0] = np.abs(weights[0])  # a class that nothing rules out
    return weights, None, lambda x, offset: score_linear(x, weights, offset)


KINDS = ["linear", "masked", "quadratic"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_every_type_and_layout_are_bit_equal(kind, dtype):
    rng = np.random.default_rng(0)
    x = np.abs(whole_numbers(rng, (70, 9), dtype, top=4))
    first, second, twin = parameters(kind, rng, 5, 9)
    compiled, offset = dense_scorer(first, second)
    for hold in LAYOUTS.values():
        joint, reply = scores(compiled, hold(x), 5)
        assert reply == (0, False, 0)
        np.testing.assert_array_equal(joint, twin(x, offset))


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 511, 512, 513, 1100])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_any_number_of_rows_are_bit_equal(kind, n):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, 3)) if kind != "masked" else np.abs(rng.normal(size=(n, 3)))
    first, second, twin = parameters(kind, rng, 4, 3)
    compiled, offset = dense_scorer(first, second)
    joint, reply = scores(compiled, x, 4)
    expected = twin(x, offset)
    np.testing.assert_array_equal(joint, expected)
    np.testing.assert_array_equal(best(compiled, x)[0], best_classes(expected, 0)[0])
    assert reply == (0, False, 0)


@pytest.mark.parametrize("K", [1, 2, 3, 8, 9, 33, 100])
@pytest.mark.parametrize("d", [0, 1, 127, 128, 129, 300])
def test_scores_of_any_number_of_classes_and_columns_are_bit_equal(d, K):
    rng = np.random.default_rng(2)
    x = np.abs(rng.normal(size=(40, d)))
    for kind in KINDS:
        first, second, twin = parameters(kind, rng, K, d)
        compiled, offset = dense_scorer(first, second, fallback=K - 1)
        expected = twin(x, offset)
        np.testing.assert_array_equal(scores(compiled, x, K)[0], expected)
        np.testing.assert_array_equal(best(compiled, x)[0], best_classes(expected, K - 1)[0])


@pytest.mark.parametrize("threshold", [0.0, 0.5, -1.0, 2.0])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_threshold_reads_x_as_yes_or_no(dtype, threshold):
    rng = np.random.default_rng(3)
    x = whole_numbers(rng, (50, 4), dtype, top=4)
    weights = rng.normal(size=(3, 4))
    compiled, offset = dense_scorer(weights, threshold=threshold)
    joint, _ = scores(compiled, x, 3)
    np.testing.assert_array_equal(joint, score_linear(x, weights, offset, threshold))


def test_an_absent_feature_says_nothing_whatever_its_weight():
    weights = np.array([[NEVER, 1.0], [2.0, NEVER]])
    compiled, _ = dense_scorer(weights, offset=np.zeros(2))
    joint, _ = scores(compiled, np.array([[0.0, 3.0], [-0.0, 0.0], [1.0, 1.0]]), 2)
    assert joint.tolist() == [[3.0, NEVER], [0.0, 0.0], [NEVER, NEVER]]


def test_a_row_that_every_class_rules_out_gets_the_fallback_and_is_counted():
    weights = np.array([[NEVER, 1.0], [NEVER, 2.0], [NEVER, 0.0]])
    compiled, _ = dense_scorer(weights, offset=np.zeros(3), fallback=2)
    x = np.array([[1.0, 5.0], [0.0, 5.0]] * 40)
    found, (fault, unseen, ruled_out) = best(compiled, x)
    assert found.tolist() == [2, 1] * 40
    assert (fault, unseen, ruled_out) == (0, False, 40)


def test_a_class_ruled_out_by_its_offset_is_never_best():
    compiled, _ = dense_scorer(np.zeros((2, 1)), offset=np.array([NEVER, -1e300]), fallback=0)
    found, (_, _, ruled_out) = best(compiled, np.ones((3, 1)))
    assert found.tolist() == [1, 1, 1]
    assert ruled_out == 0


def test_the_first_of_equal_classes_is_best_for_dense_rows():
    compiled, _ = dense_scorer(np.ones((40, 2)), offset=np.zeros(40), fallback=7)
    assert best(compiled, np.ones((5, 2)))[0].tolist() == [0] * 5
    offset = np.zeros(40)
    offset[[11, 30]] = 1.0
    compiled, _ = dense_scorer(np.ones((40, 2)), offset=offset, fallback=7)
    assert best(compiled, np.ones((5, 2)))[0].tolist() == [11] * 5


def test_far_rows_score_minus_infinity_and_not_nan():
    compiled, _ = dense_scorer(np.zeros((2, 1)), np.array([[1e200], [1.0]]), offset=np.zeros(2))
    joint, reply = scores(compiled, np.array([[1e300]]), 2)
    assert joint.tolist() == [[NEVER, NEVER]]
    assert reply[0] == 0


@pytest.mark.parametrize("layout", ["C", "Fortran", "spaced"])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_a_fault_wherever_it_stands(value, dtype, layout):
    for row, column in [(0, 0), (31, 127), (32, 128), (699, 199)]:
        x = np.ones((700, 200), dtype=dtype)
        x[row, column] = value
        for threshold in (None, 0.5):
            compiled, _ = dense_scorer(np.ones((2, 200)), threshold=threshold)
            _, (fault, _, _) = scores(compiled, LAYOUTS[layout](x), 2)
            assert fault == _kernels.NOT_FINITE


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64])
def test_a_negative_number_is_a_fault_of_a_dense_row_only_where_it_is_not_admitted(dtype):
    x = np.ones((40, 3), dtype=dtype)
    x[39, 2] = -1
    for non_negative in (False, True):
        compiled, _ = dense_scorer(np.ones((2, 3)), non_negative=non_negative)
        _, (fault, _, _) = scores(compiled, x, 2)
        assert fault == (_kernels.NEGATIVE if non_negative else 0)


def test_parameters_and_rows_that_do_not_fit_are_refused():
    ones = np.ones((2, 3))
    with pytest.raises(ValueError, match="offset"):
        dense_scorer(ones, offset=np.zeros(3))
    with pytest.raises(ValueError, match="second"):
        dense_scorer(ones, np.ones((2, 4)))
    for fallback in (-1, 2):
        with pytest.raises(ValueError, match="fallback"):
            dense_scorer(ones, fallback=fallback)
    compiled, _ = dense_scorer(ones)
    with pytest.raises(ValueError, match="columns"):
        scores(compiled, np.ones((1, 4)), 2)
    with pytest.raises(ValueError, match="joint"):
        scores(compiled, np.ones((1, 3)), 3)
    with pytest.raises(ValueError, match="either"):
        compiled.score(np.ones((1, 3)), None, None, 1)
    with pytest.raises(TypeError, match="real numbers"):
        scores(compiled, np.ones((1, 3), dtype=complex), 2)


def test_the_parameters_live_as_long_as_the_scorer():
    compiled = dense_scorer(np.full((2, 3), 2.0), offset=np.zeros(2))[0]
    np.random.default_rng(4).normal(size=(1000, 100))  # whatever would reuse their memory
    assert scores(compiled, np.ones((1, 3)), 2)[0].tolist() == [[6.0, 6.0]]
