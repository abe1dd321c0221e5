"""Leave-one-out kernels beside their twins, on any threads and with every instruction set."""

from functools import cache, partial

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from tests.kernels.bits import assert_same_bits

from reference import LAYOUTS, without
from reference.inputs import moments_of, with_index
from tallybayes import _kernels
from tallybayes.engines.leave_one_out import raise_unlearned
from tallybayes.errors import NegativeTally

ALPHAS = {"none": [0.0], "one": [1.0], "small": [1e-10], "huge": [1e10], "each": None}
CLASSES = [1, 2, 3, 8, 9, 17, 26, 33, 40]  # a lane more and less than a block


def close(found, expected, size=1.0):
    """To rounding beside numbers of this size; −inf only beside −inf."""
    assert np.array_equal(np.isneginf(found), np.isneginf(expected))
    finite = np.isfinite(expected)
    apart = np.where(finite, found, 0.0) - np.where(finite, expected, 0.0)
    room = 1e-12 * (size + np.abs(np.where(finite, expected, 0.0)))
    assert (np.abs(apart) <= room).all()


def some_rows(seed, n, d, K, weighted, values="whole"):
    """Counts, classes and weights: duplicates, empty rows, a feature that one row has alone."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 6, (n, d)) * rng.integers(0, 2, (n, d)).astype(np.float64)
    if values == "fractions":
        x *= rng.integers(1, 9, (n, d)) / 8.0
    if n > 1:
        x[rng.integers(n)] = x[rng.integers(n)]
        x[rng.integers(n)] = 0.0
        x[:, 0] = 0.0
        x[rng.integers(n), 0] = 3.0
    weight = rng.choice([0.5, 1.0, 1.75, 2.0], n) if weighted else np.ones(n)
    return x, rng.integers(0, K, n), weight, rng


def sums_of(x, own, weight, K):
    sums = np.zeros((K, x.shape[1]))
    np.add.at(sums, own, weight[:, None] * x)
    return sums


def smoothing(name, d):
    alpha = ALPHAS[name]
    return np.linspace(0.5, 2.0, d) if alpha is None else np.array(alpha)


def entries(x, how, threshold=None):
    """The rows as the kernels read them: dense, or CSR with stored zeros, columns in any order."""
    if how in LAYOUTS:
        return _kernels.RowEntries.dense(LAYOUTS[how](x), threshold)
    held = sparse.csr_array(np.ones_like(x))
    held.data = x[np.repeat(np.arange(len(x)), x.shape[1]), held.indices]
    for i in range(len(x)):
        row = slice(held.indptr[i], held.indptr[i + 1])
        held.indices[row], held.data[row] = held.indices[row][::-1], held.data[row][::-1].copy()
    held = with_index(held, np.dtype(how))
    return _kernels.RowEntries.csr(held.indptr, held.indices, held.data, *held.shape, threshold)


rows = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**20),
        "n": st.integers(0, 14),
        "d": st.integers(1, 7),
        "K": st.integers(1, 4),
        "weighted": st.booleans(),
    }
)
readings = st.sampled_from(["C", "Fortran", "spaced", "int32", "int64"])
names = st.sampled_from(sorted(ALPHAS))
SINGLE = {"seed": 1, "n": 1, "d": 3, "K": 2, "weighted": False}
EMPTY = {"seed": 1, "n": 0, "d": 3, "K": 2, "weighted": False}


# ---- counts --------------------------------------------------------------------------------------
@given(rows, readings, names, st.sampled_from(["whole", "fractions"]))
@example(SINGLE, "C", "none", "whole")
@example(EMPTY, "int32", "one", "whole")
def test_sums_are_those_of_the_other_rows(made, how, alpha, values):
    x, own, weight, _ = some_rows(**made, values=values)
    part, added = sums_of(x, own, weight, made["K"]), smoothing(alpha, made["d"])
    score, length = np.empty(len(x)), np.empty(len(x))
    assert not _kernels.sums_without(entries(x, how), own, weight, part, added, score, length, 2)
    expected, lengths = without.sums_without(x, own, weight, part, added)
    close(score, expected, 1e3)
    close(length, lengths)


@given(rows, readings)
def test_sums_of_a_table_are_those_of_the_own_class(made, how):
    x, own, weight, rng = some_rows(**made)
    table = rng.normal(size=(made["K"], made["d"]))
    score, length = np.empty(len(x)), np.empty(len(x))
    assert not _kernels.own_sums(entries(x, how), own, weight, table, score, length, 2)
    close(score, (x * table[own]).sum(axis=1), 1e2)
    close(length, x.sum(axis=1))


@given(rows, readings, names, names)
@example(SINGLE, "C", "none", "none")
@example(EMPTY, "int64", "one", "one")
def test_presence_is_that_of_the_other_rows(made, how, first, second):
    x, own, weight, _ = some_rows(**made)
    K, yes, no = made["K"], smoothing(first, made["d"]), smoothing(second, made["d"])
    present = sums_of(x > 0.0, own, weight, K)
    whole = np.bincount(own, weight, K)
    absent = whole[:, None] - present
    pair = np.stack((present, absent), axis=-1)
    score, ruled = np.empty(len(x)), np.empty(len(x))
    read = entries(x, how, 0.0)
    assert not _kernels.presence_without(read, own, weight, pair, whole, yes, no, score, ruled, 2)
    expected, ruled_out = without.presence_without(x, own, weight, present, absent, whole, yes, no)
    close(score, expected, 1e3)
    assert np.array_equal(ruled, ruled_out)


@pytest.mark.parametrize("rest", [2.0**-41, 0.4])
@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_what_rounding_left_of_a_class_is_0_beside_the_class(smoothing, rest):
    whole, rounded = np.array([rest * 2.0**41]), 1.0 + rest  # a row of weight 1 is absent
    table, own, weight = np.array([[rounded]]), np.zeros(1, dtype=np.int64), np.ones(1)
    alpha, (score, zeros) = np.array([smoothing]), np.zeros((2, 1))
    _kernels.shifted_logs(table, own, weight, alpha, whole, whole, 1.0, score, zeros, 1)
    assert zeros == (smoothing == 0.0)
    assert score == (0.0 if smoothing == 0.0 else np.log(1.0 / whole))
    read, pair = entries(np.ones((1, 1)), "C", 0.0), np.array([[[2.0, rounded]]])
    _kernels.presence_without(read, own, weight, pair, whole, alpha, alpha, score, zeros, 1)
    assert zeros == (smoothing == 0.0)
    assert score == np.log(1.0 + smoothing)


def test_half_a_row_beside_a_large_class_is_counted():
    table, whole = np.array([[1.5]]), np.array([2.0**50])
    own, weight, alpha = np.zeros(1, dtype=np.int64), np.ones(1), np.zeros(1)
    score, zeros = np.zeros((2, 1))
    _kernels.shifted_logs(table, own, weight, alpha, whole, np.ones(1), 1.0, score, zeros, 1)
    assert (score, zeros) == (np.log(0.5), 0.0)


def test_many_alike_columns_add_up():
    """100,000 columns of nearly all the weight: each says little, all together say −10."""
    table, own, weight = np.full((1, 100_000), 9999.0), np.zeros(1, dtype=np.int64), np.ones(1)
    score, zeros, none = np.zeros(1), np.zeros(1), np.zeros(1)
    _kernels.shifted_logs(table, own, weight, none, *[np.array([9999.0])] * 2, 1.0, score, zeros, 1)
    np.testing.assert_allclose(score, 100_000 * np.log1p(-1.0 / 9999.0), rtol=1e-12)


@given(rows, names, st.sampled_from([1e-3, 1.0, 1e3, 1e12]))
@example({**SINGLE, "d": 700}, "one", 1e3)
def test_shifted_logs_are_logs_of_what_is_left(made, alpha, scale):
    x, own, weight, rng = some_rows(**made)
    K, d = made["K"], made["d"]
    # counts far above any weight take the series, those near it do not
    table = weight.max(initial=0.0) + scale * rng.integers(0, 3, (K, d)) * rng.random((K, d))
    added = smoothing(alpha, d)
    score, zeros, whole = np.ones(len(x)), np.zeros(len(x)), table.max(axis=1, initial=1.0)
    _kernels.shifted_logs(table, own, weight, added, whole, whole, -1.0, score, zeros, 2)
    expected, none = without.shifted_logs(table, own, weight, added, whole, whole)
    close(score, 1.0 - expected, 1e2 * d)
    assert np.array_equal(zeros, none)


# ---- complements ---------------------------------------------------------------------------------
def complement(x, own, weight, sums, alpha, norm, how, threads=2):
    everything = sums.sum(axis=0)
    part = everything - sums
    smoothed = part + alpha
    some = smoothed > 0.0
    scorer = _kernels.ComplementScorer(
        part,
        part.sum(axis=1),
        everything,
        np.log(np.where(some, smoothed, 1.0)).sum(axis=1),
        some.sum(axis=1).astype(np.float64),
        alpha,
        norm,
        threads,
    )
    scores = np.empty((len(x), len(sums)))
    assert not scorer.score(entries(x, how), own, weight, scores, threads)
    return scores


@pytest.mark.parametrize("norm", [False, True])
@given(rows, readings, names, st.sampled_from(["whole", "fractions"]), st.sampled_from(CLASSES))
@example(SINGLE, "C", "none", "whole", 2)
@example(EMPTY, "int32", "one", "whole", 9)
def test_complements_are_those_of_the_other_rows(norm, made, how, alpha, values, K):
    x, own, weight, _ = some_rows(**{**made, "K": K}, values=values)
    sums, added = sums_of(x, own, weight, K), smoothing(alpha, made["d"])
    found = complement(x, own, weight, sums, added, norm, how)
    close(found, without.complement_without(x, own, weight, sums, added, norm), 1e3)


@pytest.mark.parametrize("norm", [False, True])
def test_complements_of_long_rows_and_of_small_and_large_numbers(norm):
    x, own, weight, _ = some_rows(5, 40, 300, 3, False)
    for scale in (1.0, 1e-30, 1e30):  # the products of 66 binary digits are left for logarithms
        sums = sums_of(scale * x, own, weight, 3)
        found = complement(scale * x, own, weight, sums, np.array([scale]), norm, "C")
        expected = without.complement_without(scale * x, own, weight, sums, scale, norm)
        close(found / scale, expected / scale, 1e5)


# ---- level codes ---------------------------------------------------------------------------------
@given(rows, st.sampled_from(sorted(LAYOUTS)), st.sampled_from([np.int8, np.int64, np.float32]))
def test_codes_are_looked_up_in_the_own_class(made, layout, dtype):
    x, own, _, rng = some_rows(**made)
    start = np.arange(0, 6 * made["d"] + 1, 6, dtype=np.int64)
    table, scores = rng.normal(size=(made["K"], start[-1])), np.full((len(x), made["K"]), 7.0)
    held = LAYOUTS[layout](x.astype(dtype))
    assert not _kernels.codes_without(held, start, table, own, scores, 2)
    expected = np.full_like(scores, 7.0)
    expected[np.arange(len(x)), own] = without.codes_without(x.astype(int), start, table, own)
    close(scores, expected)


def test_a_code_that_was_not_learned_is_refused():
    start, scores = np.array([0, 3], dtype=np.int64), np.zeros((2, 1))
    x, own = np.array([[1], [3]]), np.zeros(2, dtype=np.int64)
    assert _kernels.codes_without(x, start, np.zeros((1, 3)), own, scores, 1)
    with pytest.raises(NegativeTally, match="row 1, column 0 holds the level 3"):
        raise_unlearned(x, start)


# ---- Bayes' rule ---------------------------------------------------------------------------------
@given(st.integers(0, 2**20), st.integers(0, 30), st.integers(1, 5))
def test_the_posterior_is_normalised_with_the_prior_of_each_row(seed, n, K):
    rng = np.random.default_rng(seed)
    scores = np.where(rng.random((n, K)) < 0.3, -np.inf, 30.0 * rng.normal(size=(n, K)))
    own, mine, other = rng.integers(0, K, n), rng.normal(size=n), rng.normal(size=K)
    expected, out = without.posterior_without(scores, own, other, mine)
    found = scores.copy()
    assert _kernels.posterior_without(found, own, other, mine, 2) == out
    close(found, expected)


def test_a_class_out_of_range_is_refused():
    for own in (np.array([2]), np.array([-1])):
        with pytest.raises(IndexError):
            _kernels.posterior_without(np.zeros((1, 2)), own, np.zeros(2), np.zeros(1), 1)


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


@cache
def random_rows(seed, n, d, per_row, K):
    """CSR rows with different weights; more than eight threads have work."""
    rng = np.random.default_rng(seed)
    x = sparse.random_array((n, d), density=per_row / d, format="csr", rng=rng)
    x.data = np.where(rng.random(x.nnz) < 0.5, np.ceil(5.0 * x.data), x.data)
    read = _kernels.RowEntries.csr(x.indptr, x.indices, x.data, n, d, None)
    return read, rng.integers(0, K, n), rng.uniform(0.5, 2.0, n)


def run_counts(kernel, K, threads):
    read, own, weight = random_rows(6, 30_000, 900, 40, K)
    rng = np.random.default_rng(9)
    part, alpha = 10.0 + rng.random((K, 900)), rng.random(900)
    out = np.zeros(len(own)), np.zeros(len(own))
    if kernel == "sums":
        _kernels.sums_without(read, own, weight, part, alpha, *out, threads)
    elif kernel == "table":
        _kernels.own_sums(read, own, weight, part, *out, threads)
    elif kernel == "presence":
        pair = np.stack((part, 2.0 * part), axis=-1)
        rows = 2.0 * part.max(axis=1)
        _kernels.presence_without(read, own, weight, pair, rows, alpha, alpha, *out, threads)
    else:
        whole = 100.0 * part.max(axis=1)
        _kernels.shifted_logs(
            100.0 * part, own, weight, alpha, whole, 1.0 + part[:, 0], 1.0, *out, threads
        )
    return out


def run_complement(norm, zeros, K, threads):
    read, own, weight = random_rows(7, 12_000, 900, 40, K)
    rng = np.random.default_rng(9)
    part, alpha = 10.0 + rng.random((K, 900)), np.zeros(1) if zeros else rng.random(900)
    logs = np.log(part + alpha).sum(axis=1)
    scorer = _kernels.ComplementScorer(
        part, part.sum(axis=1), part.sum(axis=0), logs, np.full(K, 900.0), alpha, norm, threads
    )
    scores = np.empty((len(own), K))
    scorer.score(read, own, weight, scores, threads)
    return [scores]


def run_dense(kernel, each, threads):
    n, d, K = 30_000, 45, 5
    rng = np.random.default_rng(8)
    own, weight = rng.integers(0, K, n), rng.uniform(0.5, 2.0, n)
    if kernel == "codes":
        codes, start = rng.integers(0, 6, (n, d)), np.arange(0, 6 * d + 1, 6, dtype=np.int64)
        scores = np.zeros((n, K))
        _kernels.codes_without(codes, start, rng.normal(size=(K, 6 * d)), own, scores, threads)
    elif kernel == "posterior":
        scores = 30.0 * rng.normal(size=(n, K))
        _kernels.posterior_without(scores, own, rng.normal(size=K), weight, threads)
    else:
        x, scores = rng.normal(size=(n, d)) * 10.0 ** np.linspace(-3, 3, d), np.zeros((n, K))
        x[:K] += 1e9
        own[:K] = np.arange(K)  # a far row in each class
        rule = 1e-9, each, scores, np.empty(n, dtype=np.uint8), threads
        _kernels.moments_without(x, own, weight, *moments_of(x, own, weight, K), *rule)
    return [scores]


CASES = {
    **{name: (run_counts, name, 7) for name in ("sums", "table", "presence", "logs")},
    **{
        f"complement, {K} classes, {norm=}, {zeros=}": (run_complement, norm, zeros, K)
        for K in (3, 16, 24, 40)
        for norm in (False, True)
        for zeros in (False, True)
    },
    "codes": (run_dense, "codes", False),
    "posterior": (run_dense, "posterior", False),
    "moments": (run_dense, "moments", False),
    "moments, each": (run_dense, "moments", True),
}


@pytest.mark.parametrize("case", CASES)
def test_threads_and_instruction_sets_do_not_change_a_bit(case):
    run, *arguments = CASES[case]
    assert_same_bits(partial(run, *arguments))
