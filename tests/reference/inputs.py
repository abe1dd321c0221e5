"""Element types, sparse formats and weights that the kernels read."""

import numpy as np
from scipy import sparse

from tallybayes import _kernels
from tallybayes.tally import Moments
from tallybayes.tally.numbers import ROUNDING, VANISHING, origin_of
from tallybayes.tally.terms import term_array

FLOATS = [np.float32, np.float64]
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
DTYPES = [*FLOATS, *INTEGERS, np.bool_]
FORMATS = {"csr": sparse.csr_array, "csc": sparse.csc_array}

# Fractions are multiples of 2⁻¹⁰, so that their sums are exact in float64.
WEIGHTS = {
    "none": lambda rng, n: None,
    "whole": lambda rng, n: rng.integers(1, 9, size=n).astype(float),
    "zero": lambda rng, n: rng.integers(0, 2, size=n).astype(float),
    "fractional": lambda rng, n: rng.integers(1, 4096, size=n) / 1024.0,
    "negative": lambda rng, n: rng.integers(-4096, 4096, size=n) / 1024.0,
}


def whole_numbers(rng, shape, dtype, top=60):
    """Whole numbers that every type holds, negative ones where it can; about half are zero."""
    low = 0 if np.dtype(dtype).kind in "ub" else -top
    x = rng.integers(low, top, size=shape) * rng.integers(0, 2, size=shape)
    return (x % 2 if dtype is np.bool_ else x).astype(dtype)


def with_index(x, dtype):
    """A sparse matrix with the indices as `dtype`."""
    x = x.copy()
    x.indptr, x.indices = x.indptr.astype(dtype), x.indices.astype(dtype)
    return x


def triple(x):
    """A sparse matrix as the kernels take it."""
    return x.indptr, x.indices, x.data, *x.shape


def special_classes(K):
    """How many classes are interesting: a lane more and less than a block of 8, 16, 24 and 32."""
    return [k for k in (1, 2, 7, 8, 9, 16, 17, 24, 25, 31, 32, 33, 40, 64, 65, 100) if k <= K]


def moments_of(x, own, weight, n_classes):
    """The totals of dense rows by class and of all together, their origin, and what is rounding."""
    tally, codes = Moments.zeros(n_classes, origin_of(x)), own.astype(np.int32)
    n, rest = np.zeros((2, n_classes))
    _kernels.count_classes(codes, weight, n, 1, rest)
    tally.add_weight(n[:, None], rest[:, None])
    _kernels.moments_dense(x, codes, weight, tally.origin, *tally.sums, 1)
    return tally.totals, tally.pooled().totals, tally.origin, tally.rest, VANISHING, ROUNDING


def word_rows(documents):
    """The terms of documents that are sets of words, in order, and the documents as rows of them:
    terms, indptr and places."""
    terms = sorted(set().union(*documents))
    places = [sorted(terms.index(word) for word in words) for words in documents]
    indptr = np.concatenate([[0], np.cumsum([len(p) for p in places])]).astype(np.int64)
    return term_array(terms), indptr, np.array([p for one in places for p in one], dtype=np.int32)
