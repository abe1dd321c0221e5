"""A density of counts as a table of what 0, 1, … say."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tallybayes.parameters import Inexpressible, Term
from tallybayes.parameters.formula import CellTable, CountCells
from tallybayes.tally import GridCounts

__all__ = ["count_term"]

Array = NDArray[np.float64]

MOST = 4096  # counts in a table
AT_LEAST = 256
BEYOND = 2  # times the largest count that was learned


class OfCounts(Protocol):
    """What says something of counts."""

    def log_density(self, x: Array) -> Array:
        """log p(x | c), float64 (n_rows, n_classes)."""


def count_term(column: str, density: OfCounts, grid: GridCounts) -> Term:
    """The density as a term of a formula.

    Parameters
    ----------
    column : str
    density : NumberDensity
    grid : GridCounts
        The counts that were learned.

    Raises
    ------
    Inexpressible
        Where these are beyond the table.
    """
    values = grid.values()
    most = float(values.max(initial=0.0))
    if most >= MOST:
        raise Inexpressible(
            f"column {column!r} is read as counts by a formula, which is said as a table of "
            f"0 to {MOST - 1:,}, and holds {most:,.0f}: declare another family for it, such as "
            "Binned()"
        )
    n = min(MOST, max(AT_LEAST, BEYOND * (int(most) + 1)))
    counts = np.arange(n, dtype=np.float64)
    scores = density.log_density(counts).T
    missing = np.zeros((len(scores), 1))
    return CellTable(CountCells(column, len(counts) + 1), np.concatenate([missing, scores], axis=1))
