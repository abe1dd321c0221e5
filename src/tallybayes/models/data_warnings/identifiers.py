"""Columns of strings that are all different, as identifiers are, and the warning about them."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import LeftOutWarning, warn_user

__all__ = ["IDENTIFIER_ROWS", "is_identifier", "warn_of_identifier"]

Array = NDArray[np.float64]

IDENTIFIER_ROWS = 50
"""From so many rows on, a column of all-different strings is an identifier and left out."""


def is_identifier(counts: Array, n_named: int, n_levels: int, row_weight: float = 1.0) -> bool:
    """Whether every level of a column of strings, with these counts (n_classes, n_cells), has but
    one row, and there are many. Levels that are not named share a cell and have one row each where
    there are as many rows as levels.

    `row_weight` is that of an effective row, u = Σw²/Σw: levels of one row each have Σk² = u·Σk
    over their counts k, and any two rows in one level make it more.
    """
    rows = counts.sum(axis=0)
    named = rows[:n_named]
    most = row_weight * (1.0 + 1e-9)
    alone = float((named * named).sum()) <= most * float(named.sum())
    return n_levels >= IDENTIFIER_ROWS and alone and float(rows.sum()) <= most * n_levels


def warn_of_identifier(name: str, counts: Array, warned: set[Hashable]) -> None:
    """Warns that the column is left out, once for each fit; `counts` are of its levels."""
    warn_user(
        f"column {name!r} is left out: its {int(counts.sum())} strings are all different, as an "
        "identifier's are. Declare a family for it in columns= to use it, or columns={...: None} "
        "to silence this",
        LeftOutWarning,
        warned=warned,
        about=name,
    )
