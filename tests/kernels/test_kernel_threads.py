"""Every kernel returns the same bits on any number of threads and with every instruction set; and
at once.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse
from tests.kernels.bits import assert_same_bits

import tallybayes
from reference.inputs import triple
from tallybayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB, _kernels
from tallybayes.tally import Moments

ROWS = 9 * 8192 + 17


@cache
def rng_data(seed, *shape):
    data = np.random.default_rng(seed).normal(size=shape)
    data.flags.writeable = False
    return data


@cache
def class_codes(n, K):
    # sorted in part, so that some chunks hold few classes and others all
    codes = np.random.default_rng(1).integers(0, K, size=n).astype(np.int32)
    codes[: n // 3].sort()
    return codes


@cache
def row_weights(n):
    return np.random.default_rng(2).uniform(-0.5, 2.0, size=n)


@cache
@cache
def text(n, d, per_row, index=np.int32, dtype=np.float64):
    rng = np.random.default_rng(3)
    indices = np.sort(rng.integers(0, d, size=(n, per_row)), axis=1).ravel()
    data = rng.lognormal(size=n * per_row).astype(dtype)
    indptr = np.arange(n + 1) * per_row
    return sparse.csr_array((data, indices.astype(index), indptr.astype(index)), shape=(n, d))


def weights_of(weighted, n):
    return row_weights(n) if weighted else None


# ---- each case: threads -> the arrays that a kernel filled ---------------------------------------
def rank_labels(threads):
    y = np.random.default_rng(4).integers(-500, 500, size=17 * 65536)
    codes = np.empty(len(y), dtype=np.int32)
    return [_kernels.rank_labels(y, 1 << 20, codes, threads), codes]


def count_classes(weighted, threads):
    n, K = 17 * 65536, 12
    count = np.zeros(K)
    _kernels.count_classes(class_codes(n, K), weights_of(weighted, n), count, threads)
    return [count]


def moments_dense(dtype, order, K, weighted, threads):
    x = np.asarray(rng_data(5, ROWS, 15), dtype=dtype, order=order)
    tally = Moments.zeros(K, np.full(15, 0.1))
    codes, w = class_codes(ROWS, K), weights_of(weighted, ROWS)
    _kernels.moments_dense(x, codes, w, tally.origin, *tally.sums, threads)
    return tally.totals


def moments_wide(threads):
    x = rng_data(6, 2 * 8192 + 5, 700)
    tally = Moments.zeros(4, np.zeros(700))
    codes = class_codes(len(x), 4)
    _kernels.moments_dense(x, codes, None, tally.origin, *tally.sums, threads)
    return tally.totals


def moments_sparse(by_column, K, weighted, threads):
    x = text(60_000, 3000, 20)
    x = x.tocsc() if by_column else x
    tally = Moments.zeros(K, np.zeros(3000))
    codes, w = class_codes(60_000, K), weights_of(weighted, 60_000)
    _kernels.moments_sparse(*triple(x), by_column, codes, w, *tally.sums, threads)
    return tally.totals


def sums_dense(dtype, threshold, weighted, threads):
    x = rng_data(7, ROWS, 15).astype(dtype)
    sums = np.zeros((9, 15))
    codes, w = class_codes(ROWS, 9), weights_of(weighted, ROWS)
    _kernels.sums_dense(x, codes, w, threshold, False, sums, threads)
    return [sums]


def sums_sparse(by_column, K, weighted, threads):
    x = text(60_000, 3000, 20)
    x = x.tocsc() if by_column else x
    sums = np.zeros((K, 3000))
    codes, w = class_codes(60_000, K), weights_of(weighted, 60_000)
    _kernels.sums_sparse(*triple(x), by_column, codes, w, None, True, sums, threads)
    return [sums]


def levels_dense(weighted, threads):
    x = np.random.default_rng(8).integers(0, 6, size=(ROWS, 15))
    start, counts = np.arange(16, dtype=np.int64) * 6, np.zeros((9, 90))
    codes, w = class_codes(ROWS, 9), weights_of(weighted, ROWS)
    _kernels.levels_dense(x, codes, w, start, counts, threads)
    highest = np.empty(15, dtype=np.int64)
    _kernels.highest_codes(x, highest, threads)
    return [counts, highest]


def dense_scores(kind, dtype, K, threads):
    n, d = 5000, 140
    x = np.abs(rng_data(9, n, d)).astype(dtype)
    first, second = rng_data(10, K, d), None
    if kind == "quadratic":
        second = np.abs(rng_data(11, K, d))
    elif kind == "masked":
        first = np.where(first < -2.0, -np.inf, first)
    scorer = _kernels.DenseScorer(first, second, np.zeros(K), 0, None, False)
    return both(lambda *out: scorer.score(x, *out, threads), n, K)


def code_scores(K, threads):
    n = 110_000 if K > 32 else 30_000
    x = np.random.default_rng(12).integers(0, 7, size=(n, 8), dtype=np.int16)
    table, start = rng_data(13, K, 8 * 6), np.arange(9, dtype=np.int64) * 6
    scorer = _kernels.LaneScorer(table, None, np.zeros(K), 0, threads)
    return both(lambda *out: scorer.score_codes(x, start, *out, threads), n, K)


def sparse_scores(kind, K, index, dtype, threads):
    x = text(20_000, 3000, 20, index, dtype)
    first = rng_data(14, K, 3000)
    second = -np.abs(rng_data(15, K, 3000)) if kind == "quadratic" else None
    scorer = _kernels.LaneScorer(first, second, np.zeros(K), 0, threads)
    rule = (1.0 if kind == "binary" else None, False)
    return both(lambda *out: scorer.score_sparse(*triple(x), *rule, *out, threads), 20_000, K)


def normalise(probability, threads):
    scores, evidence = 30.0 * rng_data(16, 30_000, 5), np.empty(30_000)
    _kernels.normalise(scores, np.zeros(5), probability, evidence, threads)
    return [scores, evidence]


def bin_entries(dtype, threads):
    x = (100.0 * rng_data(17, 20 * 16384)).astype(dtype)
    edges, entries = np.linspace(-90.0, 90.0, 61), np.empty(len(x), dtype=np.int32)
    _kernels.bin_entries(x, edges, entries, threads)
    return [entries]


def pooled_columns(K, without, threads):
    n, low = 9 * 4096 + 17, np.array([-0.1, 0.5])
    scorer, x = _kernels.PooledScorer(K), []
    for j in range(3):
        constant, mean, shift = rng_data(20 + j, 3, K)
        scale, rest = np.exp(rng_data(23 + j, 2, K))
        atoms = rng_data(26 + j, 2, K)
        scorer.add(low, low + 0.01, atoms, constant, mean, scale, shift, 0.01)
        counts, rest = np.exp(2.0 + atoms), 20.0 + 9.0 * rest
        scorer.add_less(counts, rest, rest, rest + counts.sum(axis=0), 1.0, 1.0, 0.0)
        x.append(np.where(rng_data(29 + j, n) > 2.0, np.nan, rng_data(30 + j, n)))
    scores, redo = rng_data(33, n, K).copy(), np.zeros((n, 3), dtype=np.uint8)
    if without:
        own = class_codes(n, K).astype(np.int64)
        scorer.score_without(x, own, np.abs(row_weights(n)), scores, redo, threads)
    else:
        scorer.score(x, scores, threads)
    return [scores, redo]


def text_codes(threads):
    rows = np.random.default_rng(18).integers(0, 900, size=(9, 40_000))
    columns = [pa.chunked_array([row.astype(str)]) for row in rows]
    read = _kernels.encode_strings([column.__arrow_c_stream__() for column in columns], threads)
    return [array for codes, levels in read for array in (codes, np.array(levels))]


def products_with_columns(C, threads):
    x = sparse.csc_array(text(6_000, 700, 40, dtype=np.float32))
    x.sum_duplicates()
    columns = x.indptr.astype(np.int64), x.indices.astype(np.int32), x.data
    D = rng_data(19, 6_000, C).astype(np.float32)
    gram, U = np.empty_like(D), np.empty((700, C), dtype=np.float32)
    _kernels.gram_times(*columns, D, gram, threads)
    _kernels.columns_times(*columns, D, U, threads)
    np.testing.assert_allclose(U, x.T @ D.astype(float), atol=1e-3)
    np.testing.assert_allclose(gram, x @ (x.T @ D.astype(float)), rtol=1e-3, atol=0.5)
    return [gram, U]


def both(score, n, K):
    joint, best = np.empty((n, K)), np.empty(n, dtype=np.int64)
    score(joint, None)
    score(None, best)
    return [joint, best]


CASES = {
    "rank_labels": (rank_labels,),
    "count_classes": (count_classes, False),
    "count_classes, weights": (count_classes, True),
    "moments": (moments_dense, np.float64, "C", 9, False),
    "moments, weights": (moments_dense, np.float64, "C", 9, True),
    "moments, float32": (moments_dense, np.float32, "C", 9, False),
    "moments, float32, weights": (moments_dense, np.float32, "C", 9, True),
    "moments, Fortran": (moments_dense, np.float64, "F", 3, True),
    "moments, many classes": (moments_dense, np.float64, "C", 3000, True),
    "moments, many columns": (moments_wide,),
    "moments, CSR, few classes": (moments_sparse, False, 2, True),
    "moments, CSR, many classes": (moments_sparse, False, 50, True),
    "moments, CSC": (moments_sparse, True, 9, True),
    "sums": (sums_dense, np.float64, None, True),
    "sums, float32": (sums_dense, np.float32, None, True),
    "sums, no weights": (sums_dense, np.float64, None, False),
    "sums above a threshold": (sums_dense, np.float64, 0.5, True),
    "sums, CSR, few classes": (sums_sparse, False, 2, True),
    "sums, CSR, many classes": (sums_sparse, False, 50, True),
    "sums, CSC": (sums_sparse, True, 9, True),
    "levels": (levels_dense, False),
    "levels, weights": (levels_dense, True),
    "linear": (dense_scores, "linear", np.float64, 7),
    "linear, float32": (dense_scores, "linear", np.float32, 7),
    "linear, integers": (dense_scores, "linear", np.int16, 40),
    "masked": (dense_scores, "masked", np.float64, 7),
    "quadratic": (dense_scores, "quadratic", np.float64, 7),
    "quadratic, float32": (dense_scores, "quadratic", np.float32, 40),
    **{f"codes, {K} classes": (code_scores, K) for K in (3, 16, 24, 32, 70)},
    **{
        f"sparse {kind}, {K} classes": (sparse_scores, kind, K, index, dtype)
        for kind in ("linear", "binary", "quadratic")
        for K, index, dtype in [
            (3, np.int32, np.float64),
            (16, np.int64, np.float32),
            (24, np.int32, np.float32),
            (32, np.int64, np.float64),
            (70, np.int32, np.int16),
        ]
    },
    "bins": (bin_entries, np.float64),
    "bins, integers": (bin_entries, np.int16),
    "texts": (text_codes,),
    **{f"ridge, {C} numbers": (products_with_columns, C) for C in (1, 3, 20, 64, 150)},
    **{f"densities, {K} classes": (pooled_columns, K, False) for K in (2, 9, 200)},
    **{f"densities without a row, {K} classes": (pooled_columns, K, True) for K in (2, 9, 200)},
    "log posterior": (normalise, False),
    "posterior": (normalise, True),
}


@pytest.mark.parametrize("case", CASES)
def test_threads_and_instruction_sets_do_not_change_a_bit(case):
    run, *arguments = CASES[case]
    assert_same_bits(partial(run, *arguments))


@pytest.mark.parametrize("threads", [0, -3, 10_000])
def test_any_number_of_threads_may_be_asked_for(threads):
    x = np.ones((40, 3))
    sums = np.zeros((1, 3))
    codes = np.zeros(40, dtype=np.int32)
    assert _kernels.sums_dense(x, codes, None, None, True, sums, threads) == 0
    assert sums.tolist() == [[40.0] * 3]


def test_the_best_instruction_set_is_chosen_at_import():
    names = _kernels.available_instruction_sets()
    assert names[0] == "baseline"
    assert _kernels.instruction_set() == names[-1]


def test_an_instruction_set_that_is_not_there_is_refused():
    before = _kernels.instruction_set()
    with pytest.raises(ValueError, match="baseline"):
        _kernels.use_instruction_set("mmx")
    assert _kernels.instruction_set() == before


N, D, K = 40_000, 30, 5  # enough rows for several kernel threads a call


def rows(form):
    rng = np.random.default_rng(0)
    y = rng.integers(0, K, size=N)
    x = rng.normal(size=(N, D)) + y[:, None]
    if form == "reals":
        return x, y
    x = np.floor(np.abs(x))
    return (sparse.csr_array(x) if form == "csr" else x), y


ESTIMATORS = {
    "GaussianNB": (GaussianNB, "reals"),
    "CategoricalNB": (CategoricalNB, "counts"),
    "MultinomialNB": (MultinomialNB, "counts"),
    "MultinomialNB, CSR": (MultinomialNB, "csr"),
    "ComplementNB": (ComplementNB, "counts"),
    "BernoulliNB, CSR": (BernoulliNB, "csr"),
}


def outputs(model, x):
    tally = [array.tobytes() for array in model.tally_.arrays().values()]
    return [*tally, model.predict(x).tobytes(), model.predict_proba(x).tobytes()]


@pytest.mark.parametrize("case", ESTIMATORS)
def test_python_threads_that_fit_at_once_get_what_one_gets(case):
    estimator, form = ESTIMATORS[case]
    x, y = rows(form)
    tallybayes.set_num_threads(3)
    alone = outputs(estimator().fit(x, y), x)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: outputs(estimator().fit(x, y), x), range(6)))
    assert all(found == alone for found in together)


@pytest.mark.parametrize("case", ESTIMATORS)
def test_python_threads_that_ask_one_fresh_model_get_what_one_gets(case):
    estimator, form = ESTIMATORS[case]
    x, y = rows(form)
    alone = estimator().fit(x, y).predict_proba(x).tobytes()
    for _ in range(3):  # what is read from a tally on first use is read by all at once
        model = estimator().fit(x, y)
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _, m=model: m.predict_proba(x).tobytes(), range(6)))
        assert all(one == alone for one in found)


FORK = """
import os
import numpy as np
import tallybayes
from tallybayes import GaussianNB

rng = np.random.default_rng(0)
x, y = rng.normal(size=(60_000, 20)), rng.integers(0, 4, size=60_000)
tallybayes.set_num_threads(4)
model = GaussianNB().fit(x, y)  # the parent has used threads
expected = model.predict_proba(x).tobytes()
for _ in range(3):
    child = os.fork()
    if not child:
        right = model.predict_proba(x).tobytes() == expected
        right &= GaussianNB().fit(x, y).predict_proba(x).tobytes() == expected
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "the child predicts otherwise"
assert model.predict_proba(x).tobytes() == expected
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_fits_and_predicts_after_its_parent_used_threads():
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", FORK],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


SPAWN = """
import multiprocessing
import pickle
import numpy as np
import tallybayes
from tallybayes import GaussianNB


def predicted(model):
    x = np.random.default_rng(0).normal(size=(60_000, 20))
    tallybayes.set_num_threads(3)
    return model.predict_proba(x).tobytes()


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60_000, 20)), rng.integers(0, 4, size=60_000)
    model = GaussianNB().fit(x, y)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.map(predicted, [model] * 2)
    assert found == [predicted(model)] * 2, "a spawned process predicts otherwise"
"""


def test_spawned_processes_predict_the_same(tmp_path):
    script = tmp_path / "spawn.py"
    script.write_text(SPAWN)
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", script], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
