"""Removing levels and columns without a count from a tally."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tallybayes.schema import Columns
from tallybayes.tally.base import Tally
from tallybayes.tally.levels import LevelCounts
from tallybayes.tally.text import TextCounts

__all__ = ["held_columns"]


def held_columns(
    columns: Columns, group: Tally, n_declared: NDArray[np.int64] | None
) -> tuple[Columns, Tally] | None:
    """Columns with the levels that rows hold, and their tally; None for a column without values."""
    if isinstance(group, TextCounts) and not group.documents.any():
        return None
    if not isinstance(group, LevelCounts):
        return columns, group
    seen: NDArray[np.bool_] = np.asarray(group.counts.any(axis=0))
    if columns.open:
        if seen.all():
            return columns, group
        if not seen.any():
            return None
        assert columns.levels is not None
        return replace(columns, levels=(columns.levels[0][seen],)), group.narrowed(seen)
    if columns.levels is not None:
        return columns, group
    code = np.arange(len(seen)) - np.repeat(group.start[:-1], group.n_levels)
    highest = np.zeros(group.n_features, dtype=np.int64)
    np.maximum.at(
        highest, np.repeat(np.arange(group.n_features), group.n_levels), (code + 1) * seen
    )
    n_levels = highest if n_declared is None else np.maximum(highest, n_declared)
    n_levels = np.minimum(n_levels, group.n_levels)
    if np.array_equal(n_levels, group.n_levels):
        return columns, group
    return (
        replace(columns, n_levels=n_levels),
        group.narrowed(code < np.repeat(n_levels, group.n_levels)),
    )
