"""Integer codes: how often each level occurs, and the highest of each column."""

import numpy as np

from reference.rational import exact_weights, zeros


def highest_codes(x):
    """The largest code of each column, −1 without rows."""
    return np.array([max((int(v) for v in column), default=-1) for column in x.T], dtype=np.int64)


def count_levels(x, codes, weights, n_classes, start):
    """Σ w by class and level, exactly, (n_classes, start[-1]); column j begins at start[j]."""
    counts = zeros(n_classes, int(start[-1]))
    for k, w, row in zip(codes.tolist(), exact_weights(weights, len(codes)), x, strict=True):
        for j, code in enumerate(row):
            counts[k, int(start[j]) + int(code)] += w
    return counts
