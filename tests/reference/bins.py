"""Numbers to bins: the entry of a table in which each falls."""

from __future__ import annotations

import numpy as np


def bin_entries(x, edges):
    """1 + the number of edges ≤ x as float64, and 0 for NaN, int32 (n_rows,)."""
    values = [float(value) for value in x.tolist()]
    entries = [0 if v != v else 1 + sum(e <= v for e in edges.tolist()) for v in values]
    return np.array(entries, dtype=np.int32)
