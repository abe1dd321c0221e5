"""A nonparametric density: fine bins whose counts are spread over their neighbours.

    P(x in b | c) = (Σ_b' k_h(b, b') n_cb' + S·q_b) / (n_c + S)

k_h is a triangular kernel of h bins on either side, q_b the share of bin b among all rows: a class
of few rows resembles all classes together. h and S are chosen by leave-one-out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.binned import MAX_BINS, Bins, quantile_bins
from tallybayes.families.cells import CellLaw, alike, law_likelihood
from tallybayes.families.contract import (
    BinnedReading,
    Context,
    NumberCounts,
    NumberFamily,
)
from tallybayes.families.priors import hold, whole_number
from tallybayes.schema import Kind
from tallybayes.tally import UNIT_ROWS, GridCounts, RowWeights

__all__ = [
    "FINE_BINS",
    "STRENGTHS",
    "WIDTHS",
    "Smooth",
    "best_density",
    "reading_of",
    "smooth_laws",
    "spread_of",
]


Array = NDArray[np.float64]

WIDTHS = (0, 1, 2, 4, 8, 16)
FINE_BINS = 128
STRENGTHS = (1.0, 4.0, 16.0, 64.0)  # in effective rows

MAX_CELLS = 1 << 14
"""Numbers of the tables that are spread together."""


@lru_cache(maxsize=64)
def _kernel(n: int, width: int) -> Array:
    """Triangular weights between bins, (n, n); each column, a bin's rows, sums to 1."""
    apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    weight = np.maximum(0.0, 1.0 - apart / (width + 1.0))
    spread: Array = weight / weight.sum(axis=0)
    spread.flags.writeable = False  # callers share it
    return spread


def spread_of(cell: int, n: int, width: int) -> Array:
    """How a row in one of n bins is spread over all, (n,): a column of the kernel."""
    weight = np.maximum(0.0, 1.0 - np.abs(np.arange(n) - cell) / (width + 1.0))
    return np.asarray(weight / weight.sum())


@dataclass(frozen=True)
class Smooth(NumberFamily):
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
    bins: int = FINE_BINS
    width: int | None = None
    strength: float | None = None

    def __post_init__(self) -> None:
        rule = "Smooth takes a whole number of bins, from 1 to 2²⁰"
        object.__setattr__(self, "bins", whole_number(rule, self.bins, 1, MAX_BINS))
        if self.width is not None:
            rule = "Smooth takes a width that is a whole number, from 0 to 2²⁰"
            object.__setattr__(self, "width", whole_number(rule, self.width, 0, MAX_BINS))
        if self.strength is not None:
            hold(self, "from 0 on, in rows", None, "strength")
            if self.strength < 0.0:
                raise ValueError(f"Smooth takes a strength from 0 on, got {self.strength!r}")

    def likelihood(self, counts: NumberCounts, context: Context) -> BinnedReading:
        alpha = context.alpha_of_bins
        return self.read(counts.grid, context.classes, alpha, context.row_weights)

    def read(
        self,
        grid: GridCounts,
        classes: Array,
        alpha: float,
        row_weights: RowWeights = UNIT_ROWS,
    ) -> BinnedReading:
        """The bins and their law, from grid counts; see :meth:`Binned.read`.

        Parameters
        ----------
        grid : GridCounts
            Grid counts of the column.
        classes : ClassCounts
            The counts of the classes.
        alpha : float
            Pseudo-counts of each level.
        row_weights : RowWeights
            Effective weights of rows, by class.
        """
        unit = row_weights.overall
        best = best_density(
            grid,
            classes,
            row_weights,
            self.bins,
            WIDTHS if self.width is None else (self.width,),
            STRENGTHS if self.strength is None else (self.strength / unit,),
        )
        strength = best.strength * unit if self.strength is None else self.strength
        bins = quantile_bins(grid, self.bins, row_weights)
        [law] = smooth_laws([bins], [best.width], [strength], unit)
        return reading_of(bins, law, best.likelihood)


class BestDensity(NamedTuple):
    """Which width and strength, in effective rows, are best, and their L."""

    width: int
    strength: float
    likelihood: float


def best_density(
    grid: GridCounts,
    classes: Array,
    row_weights: RowWeights = UNIT_ROWS,
    bins: int = FINE_BINS,
    widths: tuple[int, ...] = WIDTHS,
    strengths: tuple[float, ...] = STRENGTHS,
) -> BestDensity:
    """The best density by leave-one-out, the earlier of equals; strengths are in effective rows."""
    fine, unit = quantile_bins(grid, bins, row_weights), row_weights.overall
    best: BestDensity | None = None
    for width in widths:
        [spread] = smooth_laws([fine], [width], [0.0], unit)
        for strength in strengths:
            law = replace(spread, strength=strength * unit)
            likelihood = law_likelihood(fine.counts, law, classes, row_weights)
            if best is None or likelihood > best.likelihood:
                best = BestDensity(width, strength, likelihood)
    assert best is not None
    return best


def smooth_laws(
    bins: Sequence[Bins], widths: Sequence[int], strengths: Sequence[float], unit: float
) -> list[CellLaw]:
    """The laws of columns with these fine bins, whose rows are spread over neighbours.

    Parameters
    ----------
    bins : sequence of Bins
        Of the same classes.
    widths : sequence of int
        h of each.
    strengths : sequence of float
        S of each, in rows of weight 1.
    unit : float
        The weight of a row.
    """
    shapes = [of.counts.shape for of in bins]
    laws: list[CellLaw | None] = [None] * len(bins)
    keys = list(zip(shapes, widths, strict=True))
    for places in alike(keys, [math.prod(shape) for shape in shapes], MAX_CELLS):
        (_, n), width = keys[places[0]]
        kernel = _kernel(n, width)
        tables = [bins[i].counts for i in places]
        counts = np.stack(tables) if len(tables) > 1 else tables[0][None]
        rows, total = counts.sum(axis=1), counts.sum(axis=2, keepdims=True)
        spread = counts @ kernel.T
        centre = np.diag(kernel)
        for i, k, n_c, m in zip(places, spread, total, rows, strict=True):
            laws[i] = CellLaw(
                counts=k,
                total=n_c,
                n_cells=n,
                strength=strengths[i],
                rows=m,
                centre=centre,
                row=unit,
                width=width,
            )
    return [law for law in laws if law is not None]


def reading_of(bins: Bins, law: CellLaw, likelihood: float) -> BinnedReading:
    """Fine bins and their law, whose L is known."""
    what = f"smooth density, {law.n_cells} cells, width {law.width}"
    return BinnedReading(bins.edges, law, likelihood, what, brief="smooth density")
