"""Grid counts: the finest grid of the floats' own bits that has no more cells than the budget."""

import numpy as np

from reference.rational import exact_weights, zeros

MAGNITUDE = (1 << 63) - 1


def grid_keys(x, shift):
    """The cell of each number, a list: the bits of its magnitude without the last `shift`, counted
    downwards from −1 below 0."""
    keys = []
    for bits in np.asarray(x, dtype=np.float64).view(np.int64).tolist():
        magnitude = bits & MAGNITUDE
        keys.append(-(magnitude >> shift) - 1 if bits < 0 and magnitude else magnitude >> shift)
    return keys


def count_grid(x, codes, weights, n_classes, budget, least_shift=0):
    """The bits that are dropped, the cells in order, and Σ w by class and cell, exactly. Rows
    without a value or without weight have no cell."""
    x, w = np.asarray(x, dtype=np.float64), exact_weights(weights, len(codes))
    rows = [i for i in range(len(x)) if not np.isnan(x[i]) and w[i] != 0]
    shift = least_shift
    while len(set(grid_keys(x[rows], shift))) > budget:
        shift += 1
    keys = grid_keys(x[rows], shift)
    cells = sorted(set(keys))
    counts = zeros(n_classes, len(cells))
    for i, key in zip(rows, keys, strict=True):
        counts[int(codes[i]), cells.index(key)] += w[i]
    return shift, cells, counts
