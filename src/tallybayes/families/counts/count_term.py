"""Negative binomials as a term of a formula: a table of log p(0), log p(1), …, and a tail beyond
it."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.priors.gamma_ratios import correction
from tallybayes.parameters import Inexpressible, Term
from tallybayes.parameters.formula import CountCells, CountTail, CountTerm
from tallybayes.tally import GridCounts

__all__ = ["Pooling", "count_term"]

Array = NDArray[np.float64]

MAX_CELLS = 4096
MIN_CELLS = 256  # from here on three terms of Stirling's series are exact
MAX_COUNT = 2.0**20  # up to it the tail is exact to 1e-9 nats


class OfCounts(Protocol):
    """A likelihood of counts."""

    def log_density(self, x: Array) -> Array:
        """log p(x | c), float64 (n_rows, n_classes)."""


class Pooling(NamedTuple):
    """Rows of all classes that each class is given.

    Parameters
    ----------
    log_rows, shift : float64 arrays (n_classes,)
    share : float
    """

    log_rows: Array
    shift: Array
    share: float


def count_term(
    column: str,
    density: OfCounts,
    grid: GridCounts,
    mean: Array,
    size: Array,
    pooling: Pooling | None = None,
) -> Term:
    """The density as a term of a formula.

    Parameters
    ----------
    column : str
    density : NumberDensity
    grid : GridCounts
        The counts that were learned.
    mean, size : float64 arrays (n_classes,)
        Of the negative binomials.
    pooling : Pooling, optional
        None where every class is by itself.

    Raises
    ------
    Inexpressible
        Where counts were learned that are beyond what SQL computes exactly.
    """
    most = float(grid.values().max(initial=0.0))
    if most > MAX_COUNT:
        raise Inexpressible(
            f"column {column!r} is read as counts by a formula, which SQL computes exactly up to "
            f"{MAX_COUNT:,.0f}, and holds {most:,.0f}: declare another family for it, such as "
            "Binned()"
        )
    n = int(min(MAX_CELLS, max(MIN_CELLS, most + 1.0)))
    scores = density.log_density(np.arange(n, dtype=np.float64)).T
    scores = np.concatenate([np.zeros((len(scores), 1)), scores], axis=1)
    constant = -size * np.log1p(mean / size) - correction(size) - 0.5 * np.log(2.0 * np.pi)
    if pooling is None:
        tail = CountTail(constant, mean, size, None, np.zeros_like(constant))
    else:
        of_rows = constant + pooling.log_rows
        tail = CountTail(of_rows, mean, size, pooling.share, pooling.shift)
    return CountTerm(CountCells(column, n + 1), scores, tail, MAX_COUNT)
