"""Documents, slowly: dense counts, ratios and scores, as the formulas have them."""

from itertools import pairwise

import numpy as np

from tallybayes.families.text import BINS, TermTable
from tallybayes.tokens.counting import Documents


def documents_of(counts):
    """Documents from a dense array of counts (n_documents, n_terms)."""
    rows, terms = np.nonzero(counts)
    indptr = np.searchsorted(rows, np.arange(len(counts) + 1)).astype(np.int64)
    return Documents(
        indptr, terms.astype(np.int32), counts[rows, terms].astype(np.int32), counts.shape[1]
    )


def hashes(documents, salt):
    """Σ of the finalizer of SplitMix64 of term + 2⁴⁰ · count + salt, uint64 (n_documents,)."""
    found = []
    for begin, end in pairwise(documents.indptr.tolist()):
        row = zip(documents.terms[begin:end], documents.counts[begin:end], strict=True)
        found.append(sum(_finalized(int(t) + (int(n) << 40) + salt) for t, n in row) % 2**64)
    return found


def _finalized(key):
    key %= 2**64
    key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    key = (key ^ key >> 27) * 0x94D049BB133111EB % 2**64
    return key ^ key >> 31


def dense_counts(counts, y, n_classes):
    """N_tk, float64 (n_terms, n_classes)."""
    return np.stack([(counts[y == k] > 0).sum(axis=0) for k in range(n_classes)], 1).astype(float)


def table_of(N, documents, order):
    """The sparse table of dense counts."""
    terms, classes = np.nonzero(N)
    start = np.searchsorted(terms, np.arange(len(N) + 1)).astype(np.int64)
    return TermTable(
        start, classes.astype(np.int32), N[terms, classes], documents, order.astype(np.int8)
    )


def ratio_sums(counts, N, order, tau, share):
    """Σ tf·T in each bin, centred over the classes, (n_documents, n_classes, n_bins)."""
    tf, total = np.log1p(counts), N.sum(axis=1)
    T = np.log((N + tau) / (total[:, None] * share + tau))
    T -= T.mean(axis=1, keepdims=True)
    size = np.minimum(np.log2(np.maximum(total, 1)).astype(int), BINS - 1) + BINS * order
    Z = np.zeros((len(counts), N.shape[1], BINS * (int(order.max()) + 1)))
    for t in np.flatnonzero(total > 0):
        Z[:, :, size[t]] += tf[:, t, None] * T[t]
    return Z


def tfidf(counts, column, idf):
    """tf-idf of the terms with a column, by the length of all terms, (n_documents, n_columns)."""
    X = np.log1p(counts) * idf
    return X[:, column >= 0] / np.maximum(np.sqrt((X**2).sum(axis=1, keepdims=True)), 1e-300)
