"""A program: whether a class code out of range is refused where several threads count.

Its argument is a JSON array of attempts: kernel, format of a sparse matrix, threads. Prints a line
for each: "refused", or what went wrong. Code that follows such a code ends the process.
"""

import json
import sys

import numpy as np
from scipy import sparse

from tallybayes import _kernels

N, D, K = 24 * 8192, 20, 50
START = np.arange(D + 1, dtype=np.int64) * 3


def attempt(kernel, fmt, threads, dense, levels, held):
    """One of the kernels on codes that are wrong in one chunk or in all."""
    x = held.asformat(fmt)
    triple = (x.indptr, x.indices, x.data, N, D, fmt == "csc")
    totals = [np.zeros((K, D)) for _ in range(4)]
    rng = np.random.default_rng(1)
    for wrong in ([8000], [N - 1], range(4000, N, 8192)):
        codes = rng.integers(0, K, size=N).astype(np.int32)
        codes[8192:] = K - 1  # later chunks hold one class, whose slot is 0 and no other
        codes[list(wrong)] = K
        for weights in (None, rng.uniform(1.0, 2.0, size=N)):
            rest = (codes, weights)
            calls = {
                "moments_dense": lambda r=rest: (dense, *r, np.zeros(D), *totals),
                "sums_dense": lambda r=rest: (dense, *r, None, False, totals[0]),
                "levels_dense": lambda r=rest: (levels, *r, START, np.zeros((K, 3 * D))),
                "count_classes": lambda r=rest: (*r, np.zeros(K)),
                "moments_sparse": lambda r=rest: (*triple, *r, *totals),
                "sums_sparse": lambda r=rest: (*triple, *r, None, False, totals[0]),
            }
            try:
                getattr(_kernels, kernel)(*calls[kernel](), threads)
            except IndexError:
                continue
            return "a class code out of range was not refused"
    return "refused"


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    data = (
        rng.normal(size=(N, D)),
        rng.integers(0, 3, size=(N, D)),
        sparse.csr_array(np.where(rng.random((N, D)) < 0.4, rng.random((N, D)), 0.0)),
    )
    for what in json.loads(sys.argv[1]):
        print(attempt(*what, *data), flush=True)
