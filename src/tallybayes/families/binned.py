"""Numbers in bins: probabilities of cuts of the column, plain, or spread over neighbouring bins.

P_α(x in b | c) = (n_cb + α) / (n_c + α·B)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.families.cells import CellLaw, alike, law_likelihood
from tallybayes.families.contract import (
    BinnedReading,
    Context,
    NumberCounts,
    NumberFamily,
)
from tallybayes.families.priors import hold, hold_choice, smoothing_number, whole_number
from tallybayes.schema import Kind
from tallybayes.tally import UNIT_ROWS, GridCounts, RowWeights
from tallybayes.tally.numbers import lower_edges_of

__all__ = [
    "CANDIDATES",
    "FINE_BINS",
    "MAX_BINS",
    "MIN_SMOOTHING",
    "STRENGTHS",
    "WIDTHS",
    "Binned",
    "Bins",
    "Smooth",
    "best_bins",
    "best_density",
    "quantile_bins",
    "quantile_bins_of_each",
    "reading_of",
    "smooth_laws",
    "spread_of",
]

Array = NDArray[np.float64]


# ---- the family, and the choice of how many bins -------------------------------------------------
CANDIDATES = (2, 4, 8, 16, 32, 64, 128)
MIN_SMOOTHING = 1e-10  # smoothing with which bins are compared


@dataclass(frozen=True)
class Binned(NumberFamily):
    """Smoothed counts in bins.

    Parameters
    ----------
    bins : int or "auto"
        How many; the best of 2, 4, … 128 by leave-one-out, by default.
    cuts : {"quantile", "supervised"}
        Bins of equally many effective rows, or the cuts that separate the classes best.
    alpha : float, optional
        Smoothing, in rows of weight 1; by default the model's alpha, in effective rows.
    """

    kind: ClassVar[Kind] = "grid"
    bins: int | Literal["auto"] = "auto"
    cuts: Literal["quantile", "supervised"] = "quantile"
    alpha: float | None = None

    def __post_init__(self) -> None:
        if self.bins != "auto":
            rule = "Binned takes bins='auto' or a whole number of bins, from 1 to 2²⁰"
            object.__setattr__(self, "bins", whole_number(rule, self.bins, 1, MAX_BINS))
        hold_choice(self, "cuts", Literal["quantile", "supervised"])
        if self.alpha is not None:
            object.__setattr__(self, "alpha", smoothing_number("Binned", self.alpha))

    @property
    def follows(self) -> bool:
        return self.alpha is None

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
        """The bins and their law, from grid counts.

        Parameters
        ----------
        grid : GridCounts
            Grid counts of the column.
        classes : float64 array (n_classes,)
            Class counts, smoothed as the class prior is.
        alpha : float
            The model's alpha.
        row_weights : RowWeights
            Bins are compared with alpha in effective rows, so that a common factor on all weights
            chooses the same ones.
        """
        compared = row_weights.overall * max(
            alpha if self.alpha is None else self.alpha, MIN_SMOOTHING
        )
        if self.cuts == "supervised":
            finest = 128 if self.bins == "auto" else self.bins
            bins = supervised_bins(grid, compared, classes, finest, row_weights)
            likelihood = law_likelihood(
                bins.counts, _law(bins.counts, compared), classes, row_weights
            )
            return self.of_bins(bins, alpha, row_weights, likelihood)
        sizes = CANDIDATES if self.bins == "auto" else (self.bins,)
        best = best_bins(grid, classes, compared, row_weights, sizes)
        bins = quantile_bins(grid, best.bins, row_weights)
        return self.of_bins(bins, alpha, row_weights, best.likelihood)

    def of_bins(
        self, bins: Bins, alpha: float, row_weights: RowWeights, likelihood: float
    ) -> BinnedReading:
        """The bins and their law, whose L is known; see :meth:`read`.

        Parameters
        ----------
        bins : Bins
            Edges, and the cells between them.
        alpha : float
            Pseudo-counts of each level.
        row_weights : RowWeights
            Effective weights of rows, by class.
        likelihood : callable
            The log-likelihood of the rows under bins.
        """
        alpha = row_weights.overall * alpha if self.alpha is None else self.alpha
        what = f"binned, {bins.counts.shape[1]} bins"
        of_model = alpha if self.alpha is None else None
        return BinnedReading(bins.edges, _law(bins.counts, alpha), likelihood, what, of_model)


class BestBins(NamedTuple):
    """How many quantile bins are best, and their L."""

    bins: int
    likelihood: float


def best_bins(
    grid: GridCounts,
    classes: Array,
    alpha: float,
    row_weights: RowWeights = UNIT_ROWS,
    sizes: tuple[int, ...] = CANDIDATES,
) -> BestBins:
    """The best number of quantile bins by leave-one-out, the earlier of equals; `alpha` is in rows
    of weight 1."""
    found: list[Bins] = []
    best: BestBins | None = None
    for size in sizes:
        bins = quantile_bins(grid, size, row_weights)
        # few values are cut alike however many bins may be
        if any(np.array_equal(bins.edges, other.edges) for other in found):
            continue
        found.append(bins)
        likelihood = law_likelihood(bins.counts, _law(bins.counts, alpha), classes, row_weights)
        if best is None or likelihood > best.likelihood:
            best = BestBins(size, likelihood)
    assert best is not None
    return best


def _law(counts: Array, alpha: float) -> CellLaw:
    """Additive smoothing of the bins' counts."""
    n = counts.shape[1]
    return CellLaw(
        counts=counts,
        total=counts.sum(axis=1, keepdims=True),
        n_cells=n,
        strength=alpha * n,
        base=np.full(n, 1.0 / n),
    )


# ---- cutting a column of numbers into bins, from its grid counts ---------------------------------
MAX_BINS = 2**20  # that a declaration may request


class Bins(NamedTuple):
    """Bins of a column.

    Parameters
    ----------
    edges : float64 array (n_bins − 1,)
        x is in the bin that counts the edges at or below it.
    counts : float64 array (n_classes, n_bins)
    """

    edges: Array
    counts: Array


def quantile_bins(grid: GridCounts, n_bins: int, row_weights: RowWeights = UNIT_ROWS) -> Bins:
    """About `n_bins` bins of equally many effective rows; a value of more rows has its own bin.

    Bins of equal weight would be narrow around the rows of a class whose rows weigh more, so that
    the cuts alone separated the classes, and no leave-one-out takes them back.
    """
    return quantile_bins_of_each([grid], [n_bins], row_weights)[0]


def quantile_bins_of_each(
    grids: Sequence[GridCounts], n_bins: Sequence[int], row_weights: RowWeights = UNIT_ROWS
) -> list[Bins]:
    """:func:`quantile_bins` of each column, all with the same classes."""
    found = [Bins(np.empty(0), np.zeros((grid.n_classes, 1))) for grid in grids]
    filled = [j for j, grid in enumerate(grids) if len(grid.keys)]
    if not filled:
        return found
    some = [grids[j] for j in filled]
    n_cells = [len(grid.keys) for grid in some]
    ends = np.cumsum(n_cells)
    begins = ends - n_cells
    label = np.empty(ends[-1], dtype=np.int32)
    _kernels.quantile_bins(
        [np.ascontiguousarray(grid.counts) for grid in some],
        np.ascontiguousarray(np.broadcast_to(row_weights.by_class[:, 0], some[0].n_classes)),
        np.array([n_bins[j] for j in filled], dtype=np.int64),
        label,
    )
    # a bin starts where the label changes, or the column
    starts = np.ones(len(label), dtype=bool)
    np.not_equal(label[1:], label[:-1], out=starts[1:])
    starts[begins] = True
    first = np.flatnonzero(starts)
    keys = np.concatenate([grid.keys for grid in some])[first]
    shift = np.repeat([grid.shift for grid in some], n_cells)[first]
    edges = lower_edges_of(keys, shift)
    low = 0
    for j, begin, high in zip(
        filled, begins.tolist(), np.searchsorted(first, ends).tolist(), strict=True
    ):
        counts = grids[j].counts
        if high - low < counts.shape[1]:  # else each cell is a bin
            counts = np.add.reduceat(counts, first[low:high] - begin, 1)
        found[j] = Bins(edges[low + 1 : high], counts)
        low = high
    return found


def supervised_bins(
    grid: GridCounts,
    alpha: float,
    classes: Array,
    finest: int = 128,
    row_weights: RowWeights = UNIT_ROWS,
) -> Bins:
    """The bins that separate the classes best, by dynamic programming over quantile bins.

    A bin is worth Σ_c n_cb log((n_cb − u_c + a_c) / (n_b − u_c + a)), the leave-one-out
    log-likelihood of the class given the bin, u_c the weight of a row and a_c = α·K·(share of
    class c): values add over bins, and a split that fits noise costs more than it gains.
    """
    fine = quantile_bins(grid, finest, row_weights)
    m = fine.counts.shape[1]
    share = classes / classes.sum()
    pseudo = alpha * len(classes) * share[:, None]
    before = np.concatenate([np.zeros((len(classes), 1)), np.cumsum(fine.counts, axis=1)], axis=1)
    best = np.full(m + 1, -np.inf)
    best[0] = 0.0
    start = np.zeros(m + 1, dtype=np.intp)
    for end in range(1, m + 1):
        counts = before[:, [end]] - before[:, :end]  # bins from each start to `end`
        one = np.minimum(counts, row_weights.by_class)
        total = counts.sum(axis=0) - one
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = counts * np.log((counts - one + pseudo) / (total + pseudo.sum()))
        worth = best[:end] + np.where(counts > 0.0, gain, 0.0).sum(axis=0)
        start[end] = int(np.argmax(worth))
        best[end] = worth[start[end]]
    cuts = [m]
    while cuts[-1] > 0:
        cuts.append(int(start[cuts[-1]]))
    first = np.array(cuts[:0:-1], dtype=np.intp)
    return Bins(fine.edges[first[1:] - 1], np.add.reduceat(fine.counts, first, axis=1))


# ---- a nonparametric density: fine bins whose counts are spread over their neighbours -----------
#     P(x in b | c) = (Σ_b' k_h(b, b') n_cb' + S·q_b) / (n_c + S)
#
# k_h is a triangular kernel of h bins on either side, q_b the share of bin b among all rows: a
# class of few rows resembles all classes together. h and S are chosen by leave-one-out.
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
