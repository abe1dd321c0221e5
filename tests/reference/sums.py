"""Sums of features by class."""

import numpy as np

from reference.rational import exact, exact_weights, zeros


def count_sums(x, codes, weights, n_classes, threshold=None):
    """Σ w·x, or Σ w·[x > threshold], by class: exactly, (n_classes, d)."""
    if threshold is not None:
        x = x > threshold
    sums = zeros(n_classes, x.shape[1])
    for k, w, row in zip(codes.tolist(), exact_weights(weights, len(codes)), exact(x), strict=True):
        sums[k] += w * row
    return sums


def stored_rows(indptr, indices, data, shape, by_column=False):
    """The dense rows that three sparse arrays stand for; repeated entries are summed."""
    dense = np.zeros(shape, dtype=data.dtype)
    for major in range(len(indptr) - 1):
        for p in range(indptr[major], indptr[major + 1]):
            cell = (indices[p], major) if by_column else (major, indices[p])
            dense[cell] += data[p]
    return dense
