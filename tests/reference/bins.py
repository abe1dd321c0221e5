"""Bins of numbers, and the entry of a table in which each number falls."""

import numpy as np

from tallybayes.tally import UNIT_ROWS

DECIMALS = 9  # of effective rows


def bin_entries(x, edges):
    """1 + the number of edges ≤ x as float64, and 0 for NaN, int32 (n_rows,)."""
    values = [float(value) for value in x.tolist()]
    entries = [0 if v != v else 1 + sum(e <= v for e in edges.tolist()) for v in values]
    return np.array(entries, dtype=np.int32)


def quantile_labels(counts, n_bins, row_weights=UNIT_ROWS):
    """A number for each cell that changes where a bin ends; parameters are those of
    `quantile_bins`."""
    # rounded, so that the last bits of a common factor on all weights move no row over a cut
    weight = np.round(counts / row_weights.by_class, DECIMALS).sum(axis=0)
    heavy = weight > np.cumsum(weight)[-1] / n_bins
    light = np.where(heavy, 0.0, weight)
    room = max(1, n_bins - int(heavy.sum()))
    middle = np.cumsum(light) - light / 2.0
    rank = np.floor(room * middle / max(np.cumsum(light)[-1], 1e-300)).astype(np.intp)
    # a heavy value separates what lies on its two sides
    side = 2 * np.cumsum(heavy) - heavy
    return side * (room + 1) + np.where(heavy, 0, np.minimum(rank, room))
