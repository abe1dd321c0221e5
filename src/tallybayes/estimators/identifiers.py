"""Columns of texts that are all different, as identifiers are, and the warning about them."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import LeftOutWarning, warn_user

__all__ = ["IDENTIFIER_ROWS", "is_identifier", "warn_of_identifier"]

Array = NDArray[np.float64]

IDENTIFIER_ROWS = 50
"""From so many rows on, a column of all-different texts is an identifier and left out."""


def is_identifier(counts: Array, n_named: int, n_levels: int) -> bool:
    """Whether every level of a column of texts, with these counts (n_classes, n_cells), has but one
    row, and there are many. Levels that are not named share a cell and have one row each where
    there are as many rows as levels."""
    rows = counts.sum(axis=0)
    alone = bool((rows[:n_named] <= 1.0).all()) and float(rows.sum()) <= n_levels
    return n_levels >= IDENTIFIER_ROWS and alone


def warn_of_identifier(name: str, counts: Array, warned: set[Hashable]) -> None:
    """Warns that the column is left out, once for each fit; `counts` are of its levels."""
    warn_user(
        f"column {name!r} is left out: its {int(counts.sum())} texts are all different, as an "
        "identifier's are. Declare a family for it in columns= to use it, or columns={...: None} "
        "to silence this",
        LeftOutWarning,
        warned=warned,
        about=name,
    )
