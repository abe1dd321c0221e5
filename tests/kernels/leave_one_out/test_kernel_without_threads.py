"""Leave-one-out kernels return the same bits on any threads and with every instruction set."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pytest
from scipy import sparse
from tests.kernels.bits import assert_same_bits

from reference.inputs import moments_of
from tallybayes import _kernels


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
