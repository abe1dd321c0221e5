"""What smoothed counts gain by leave-one-out, a cell and class at a time."""

from __future__ import annotations

import numpy as np

__all__ = ["table_gains"]


def table_gains(counts, removed, p, summed, strength):
    """Σ rows · log[(C − r + a·p_k) / ((m − r + a)·p_k)] over cells and classes, for each way of
    summing counts over neighbours and each a: float64 (n_ways, n_strengths)."""
    gains = np.zeros((len(summed), len(strength)))
    for v, k in zip(*np.nonzero(counts), strict=True):
        less = min(counts[v, k], removed[v, k])
        left = np.maximum(summed[:, v, k] - less, 0.0)[:, None]
        rows = np.maximum(summed[:, v].sum(axis=1) - less, 0.0)[:, None]
        gains += counts[v, k] * np.log((left / p[k] + strength) / (rows + strength))
    return gains
