"""A nonparametric density: fine bins whose counts are spread over their neighbours.

    P(x in b | c) = (Σ_b' k_h(b, b') n_cb' + S·q_b) / (n_c + S)

k_h is a triangular kernel of h bins on either side, q_b the share of bin b among all rows: where a
class has few rows it says what all classes say. h and S are chosen by leave-one-out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.binned import BinnedReading
from tallybayes.families.bins import quantile_bins
from tallybayes.families.cells import CellLaw
from tallybayes.families.hyperparameters import hold, whole_number
from tallybayes.families.loo import law_likelihood
from tallybayes.schema import Kind
from tallybayes.tally import UNIT_ROWS, GridCounts, RowWeights

__all__ = ["Smooth", "spread_of"]

Array = NDArray[np.float64]

WIDTHS = (0, 1, 2, 4, 8, 16)
STRENGTHS = (1.0, 4.0, 16.0, 64.0)  # in effective rows


def _kernel(n: int, width: int) -> Array:
    """Triangular weights between bins, (n, n); each column, a bin's rows, sums to 1."""
    apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    weight = np.maximum(0.0, 1.0 - apart / (width + 1.0))
    spread: Array = weight / weight.sum(axis=0)
    return spread


def spread_of(cell: int, n: int, width: int) -> Array:
    """How a row in one of n bins is spread over all, (n,): a column of the kernel."""
    weight = np.maximum(0.0, 1.0 - np.abs(np.arange(n) - cell) / (width + 1.0))
    return np.asarray(weight / weight.sum())


@dataclass(frozen=True)
class Smooth:
    """A smoothed density.

    Parameters
    ----------
    bins : int
        Fine bins of equally many effective rows.
    width : int, optional
        h; chosen by leave-one-out by default.
    strength : float, optional
        S, in rows of weight 1; chosen by leave-one-out by default.
    """

    kind: ClassVar[Kind] = "grid"
    bins: int = 128
    width: int | None = None
    strength: float | None = None

    def __post_init__(self) -> None:
        rule = "Smooth takes a whole number of bins from 1 on"
        object.__setattr__(self, "bins", whole_number(rule, self.bins, 1))
        if self.width is not None:
            rule = "Smooth takes a width that is a whole number from 0 on"
            object.__setattr__(self, "width", whole_number(rule, self.width, 0))
        if self.strength is not None:
            hold(self, "from 0 on, in rows", None, "strength")
            if self.strength < 0.0:
                raise ValueError(f"Smooth takes a strength from 0 on, got {self.strength!r}")

    def read(
        self,
        grid: GridCounts,
        classes: Array,
        alpha: float,
        row_weights: RowWeights = UNIT_ROWS,
    ) -> BinnedReading:
        """The bins and their law, from grid counts; see :meth:`Binned.read`."""
        edges, counts = quantile_bins(grid, self.bins, row_weights)
        n, rows = counts.shape[1], counts.sum(axis=0)
        total = counts.sum(axis=1, keepdims=True)
        strengths: tuple[float, ...] = tuple(s * row_weights.overall for s in STRENGTHS)
        best: BinnedReading | None = None
        for width in WIDTHS if self.width is None else (self.width,):
            kernel = _kernel(n, width)
            spread, centre = counts @ kernel.T, np.diag(kernel)
            for strength in strengths if self.strength is None else (self.strength,):
                law = CellLaw(
                    counts=spread,
                    total=total,
                    n_cells=n,
                    strength=strength,
                    rows=rows,
                    centre=centre,
                    row=row_weights.overall,
                    width=width,
                )
                likelihood = law_likelihood(counts, law, classes, row_weights)
                if best is None or likelihood > best.likelihood:
                    what = f"smooth density, {n} cells, width {width}"
                    best = BinnedReading(edges, law, likelihood, what)
        assert best is not None
        return best
