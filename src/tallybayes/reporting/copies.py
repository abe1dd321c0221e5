"""Near-copies: columns that leave little of each other's entropy open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_COMPARED_ROWS", "near_copies"]

Codes = NDArray[np.intp]

MAX_COMPARED_ROWS = 2_000
"""Rows that columns are compared on, at most."""
MAX_COLUMNS = 40  # that are compared
MAX_OPEN_ENTROPY = 0.1  # of a column's entropy, which the other leaves open
MIN_ENTROPY = 0.1  # nats: a column of less entropy is nearly constant
MIN_ROWS_PER_CODE = 20  # rows a code
N_BINS = 16  # of numbers


def near_copies(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of columns that nearly determine each other.

    Parameters
    ----------
    rows : list of mappings
        Values by column.
    names : list of str
        Columns, the most important ones first.
    """
    if len(rows) < 2 * MIN_ROWS_PER_CODE:
        return []
    codes = {name: _codes([row.get(name) for row in rows]) for name in names[:MAX_COLUMNS]}
    entropies = {name: _entropy(of_rows) for name, of_rows in codes.items()}
    compared = [
        name
        for name, of_rows in codes.items()
        if entropies[name] > MIN_ENTROPY and (of_rows.max() + 1) * MIN_ROWS_PER_CODE <= len(rows)
    ]
    found = []
    for a, b in combinations(compared, 2):
        least, most = sorted((entropies[a], entropies[b]))
        if least < (1.0 - MAX_OPEN_ENTROPY) * most:  # the joint entropy is at least that of either
            continue
        joint = _entropy(codes[a] * (codes[b].max() + 1) + codes[b])
        if joint - least < MAX_OPEN_ENTROPY * least:
            found.append((a, b))
    return found


def _codes(values: list[Any]) -> Codes:
    """Codes of values; many different numbers are binned by rank."""
    if all(value is None or isinstance(value, int | float) for value in values):
        numbers = np.array([np.nan if v is None else v for v in values], dtype=np.float64)
        there = numbers[~np.isnan(numbers)]
        if len(np.unique(there)) > N_BINS:
            edges = np.unique(np.quantile(there, np.linspace(0.0, 1.0, N_BINS + 1)[1:-1]))
            place = np.searchsorted(edges, numbers, side="right") + 1
            return np.asarray(np.where(np.isnan(numbers), 0, place))
    at: dict[Any, int] = {}
    return np.array([at.setdefault(value, len(at)) for value in values], dtype=np.intp)


def _entropy(codes: Codes) -> float:
    """The entropy of codes, in nats."""
    counts = np.unique(codes, return_counts=True)[1] / len(codes)
    return float(-(counts @ np.log(counts)))
