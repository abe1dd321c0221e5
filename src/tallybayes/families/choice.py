"""The family of a column of numbers, chosen when its tally is read.

Candidates are a Gaussian, bins of equal weight, a smoothed density and, where values repeat more
than a density allows, a Gaussian beside these atoms; the candidate that separates the classes best
by leave-one-out (:mod:`tallybayes.families.cells`) is taken; the earlier one wins a
tie. A plain Gaussian is not a candidate if nearly all rows of a class have one value: the few
others do not determine its spread. The choice depends only on the tally: it is the same for a
batch, for single rows and for merged parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.families.binned import (
    CANDIDATES,
    FINE_BINS,
    MIN_SMOOTHING,
    STRENGTHS,
    WIDTHS,
    Binned,
    quantile_bins_of_each,
    reading_of,
    smooth_laws,
)
from tallybayes.families.contract import BinnedReading, NumberCounts
from tallybayes.families.gaussian import Gaussian, Pooled, any_nearly_constant, atom_cells
from tallybayes.families.negative_binomial import MAX_COUNT_OF_SIZES, PooledCounts
from tallybayes.families.normal import Statistics
from tallybayes.families.priors import log
from tallybayes.tally import UNIT_ROWS, GridCounts, RowWeights
from tallybayes.tally.numbers import VANISHING

__all__ = [
    "UNDECLARED",
    "ReadAs",
    "can_read_as",
    "choose",
    "is_of_counts",
    "read_each_as",
    "score_counts",
]

Array = NDArray[np.float64]


# ---- the readings that a column may have, and the choice by leave-one-out ------------------------
Reading = Pooled | PooledCounts | BinnedReading

UNDECLARED = Gaussian(var_smoothing=0.0, ddof=1.0, pooled_rows=1.0)
"""A column of numbers whose family nobody declared, as a Gaussian: a class of one row has no
variance of its own, and none outvotes its rows."""

MIN_POOLED_ROWS = 1e-9  # effective rows of all classes that only a class without rows shows

TOLERANCE = 1e-9
"""Share of L within which two readings are equals, whatever the order of its sums was."""

CLEARLY_WORSE = 1.0 + 1e-8
"""L times this is so far below L that no rounding makes them equal."""


@dataclass(frozen=True)
class ReadAs:
    """The chosen reading of a column of numbers without a declared family.

    Parameters
    ----------
    family : {"gaussian", "atoms", "bins", "smooth", "counts"}
        A Gaussian, one beside atoms, bins of equal weight, a smoothed density, or a negative
        binomial.
    likelihood : float
        L of :mod:`tallybayes.families.cells`.
    bins : int
        The number of bins; 0 for a Gaussian.
    width : int
    strength : float
        Of a smoothed density, the strength in effective rows.
    """

    family: Literal["gaussian", "atoms", "bins", "smooth", "counts"]
    likelihood: float
    bins: int = 0
    width: int = 0
    strength: float = 0.0


def choose(
    columns: Sequence[NumberCounts],
    classes: Array,
    alpha: float,
    plain: Gaussian,
    row_weights: RowWeights = UNIT_ROWS,
) -> list[ReadAs]:
    """The best reading of each column of numbers; of equal ones, the earlier.

    Parameters
    ----------
    columns : sequence of NumberCounts
    classes : float64 array (n_classes,)
        Class counts, smoothed as the class prior is.
    alpha : float
        Smoothing of bins, in effective rows.
    plain : Gaussian
        The Gaussian that is a candidate.
    row_weights : RowWeights
    """
    one, candidates = row_weights.overall, _Candidates(columns, classes, alpha, plain, row_weights)
    filled, counts, values = candidates.filled, candidates.counts, candidates.values
    found = [ReadAs("gaussian", 0.0)] * len(columns)  # without a value all are equal
    cells = candidates.cells()
    gaussians = candidates.gaussians([_better(*pair) for pair in cells])
    atoms = np.empty(len(filled), dtype=np.uint8)
    _kernels.find_atoms(counts, values, len(classes), one, atoms)
    for j, pair, likelihood, some in zip(filled, cells, gaussians, atoms, strict=True):
        grid = columns[j].grid
        at_atoms = atom_cells(grid, one) if some else None
        if at_atoms is not None and any_nearly_constant(grid, at_atoms, one):
            likelihood = -np.inf
        best = _better(_better(ReadAs("gaussian", likelihood), pair[0]), pair[1])
        if at_atoms is not None and not at_atoms.all():
            beside = Pooled.beside_atoms(plain, grid, at_atoms)
            likelihood = beside.likelihood(grid, classes, row_weights)
            # to name a value costs log n nats: so much each atom has to gain
            nats = float(np.log(grid.counts.sum() / one))
            if likelihood - len(beside.atoms) * one * nats > best.likelihood:
                best = ReadAs("atoms", likelihood)
        found[j] = best
    # a negative binomial, where that is better
    has_atoms = dict(zip(filled, atoms, strict=True))
    as_counts = {
        j: (k, x, CLEARLY_WORSE * found[j].likelihood)
        for j, k, x in zip(filled, counts, values, strict=True)
    }
    scores = score_counts(as_counts, classes, candidates.row, one, MIN_POOLED_ROWS * one)
    for j, likelihood in scores.items():
        best = _better(found[j], ReadAs("counts", likelihood))
        if best is found[j]:
            continue
        if not has_atoms[j] or is_of_counts(columns[j].grid, one):
            found[j] = best
    return found


class _Candidates:
    """The candidate readings of some columns."""

    def __init__(
        self,
        columns: Sequence[NumberCounts],
        classes: Array,
        alpha: float,
        plain: Gaussian,
        row_weights: RowWeights,
    ) -> None:
        self.columns, self.classes, self.plain = columns, classes, plain
        self.row_weights = row_weights
        self.one = row_weights.overall
        self.pseudo = self.one * max(alpha, MIN_SMOOTHING)
        self.filled = [j for j, column in enumerate(columns) if column.grid.counts.any()]
        grids = [columns[j].grid for j in self.filled]
        self.counts = [np.ascontiguousarray(grid.counts) for grid in grids]
        self.values = GridCounts.values_of_each(grids)
        by_class = np.broadcast_to(row_weights.by_class[:, 0], classes.shape)
        self.row = np.ascontiguousarray(by_class)

    def cells(self) -> list[tuple[ReadAs, ReadAs]]:
        """The best bins and the best smoothed density of each column that has values."""
        n = len(self.filled)
        bins = np.empty((n, len(CANDIDATES)))
        densities = np.empty((n, len(WIDTHS) * len(STRENGTHS)))
        _kernels.score_cells(
            self.counts,
            self.classes,
            self.row,
            self.one,
            self.pseudo,
            np.array(CANDIDATES, dtype=np.int64),
            FINE_BINS,
            np.array(WIDTHS, dtype=np.int64),
            np.array(STRENGTHS) * self.one,
            bins,
            densities,
        )
        bins[np.isnan(bins)] = -np.inf  # those of fewer bins
        options = [(width, strength) for width in WIDTHS for strength in STRENGTHS]
        best_bins, best_densities = bins.argmax(axis=1), densities.argmax(axis=1)
        each = np.arange(n)
        found = zip(
            best_bins.tolist(),
            bins[each, best_bins].tolist(),
            best_densities.tolist(),
            densities[each, best_densities].tolist(),
            strict=True,
        )
        return [
            (ReadAs("bins", score, CANDIDATES[i]), ReadAs("smooth", dense, FINE_BINS, *options[k]))
            for i, score, k, dense in found
        ]

    def gaussians(self, others: list[ReadAs]) -> list[float]:
        """L of the Gaussian of each column that has values; where it is below that of another
        reading, any number below that."""
        plain, columns = self.plain, [self.columns[j] for j in self.filled]
        # the rows of all classes bound the loss of what a density does not explain: they are no
        # excuse for one that does not fit
        rows = MIN_POOLED_ROWS * self.one

        def one_by_one(column: NumberCounts) -> float:
            alone = replace(Pooled.read(plain, *column), rows=rows)
            return alone.likelihood(column.grid, self.classes, self.row_weights)

        if plain.estimate == "posterior" or plain.prior is not None or plain.var_smoothing:
            return [one_by_one(column) for column in columns]
        if not columns:
            return []
        shape, moments = (len(columns), len(self.classes)), [column.moments for column in columns]
        n, s1_hi, s1_lo, s2_hi, s2_lo, n_lo = (
            np.concatenate(parts).reshape(shape)
            for parts in zip(*(of_column.totals for of_column in moments), strict=True)
        )
        origin = np.concatenate([of_column.origin for of_column in moments])
        mean, squares, of_all = np.empty(shape), np.empty(shape), np.empty((len(columns), 3))
        _kernels.centre_columns(
            n, s1_hi, s1_lo, s2_hi, s2_lo, n_lo, origin, VANISHING, mean, squares, of_all
        )
        own, everyone = Statistics(n, mean, squares), Statistics(*np.hsplit(of_all, 3))
        within = plain.spread(own)
        centre, variance, _ = plain.predictive(own, everyone, np.zeros((len(columns), 1)), within)
        constant = -0.5 * np.log(2.0 * np.pi * variance) + log(own.n)
        scores = np.empty(len(columns))
        _kernels.score_gaussians(
            self.counts,
            self.values,
            self.classes,
            self.row,
            own.n,
            own.mean,
            own.squares,
            np.ascontiguousarray(centre),
            np.ascontiguousarray(constant),
            np.ascontiguousarray(np.sqrt(0.5 / variance)),
            of_all,
            rows,
            plain.divisor_less,
            plain.min_variance,
            np.array([column.grid.shift == 0 for column in columns], dtype=np.uint8),
            np.array([CLEARLY_WORSE * other.likelihood for other in others]),
            scores,
        )
        # NaN where float64 sums are left with too few digits of the other rows
        return [
            one_by_one(column) if score != score else score
            for column, score in zip(columns, scores.tolist(), strict=True)
        ]


def _better(first: ReadAs, second: ReadAs) -> ReadAs:
    """The better of two readings; the first if they are equal."""
    least = first.likelihood
    if np.isfinite(least):
        least += TOLERANCE * abs(least)
    return second if second.likelihood > least else first


def read_each_as(
    choices: Sequence[ReadAs],
    columns: Sequence[NumberCounts],
    alpha: float,
    plain: Gaussian,
    row_weights: RowWeights = UNIT_ROWS,
) -> list[Reading]:
    """Columns as they were chosen to be read; other parameters are those of :func:`choose`."""
    in_bins = [i for i, choice in enumerate(choices) if choice.bins]
    grids, sizes = [columns[i].grid for i in in_bins], [choices[i].bins for i in in_bins]
    bins = dict(zip(in_bins, quantile_bins_of_each(grids, sizes, row_weights), strict=True))
    smooth = [i for i in in_bins if choices[i].family == "smooth"]
    one = row_weights.overall
    widths = [choices[i].width for i in smooth]
    strengths = [choices[i].strength * one for i in smooth]
    laws = smooth_laws([bins[i] for i in smooth], widths, strengths, one)
    densities = dict(zip(smooth, laws, strict=True))
    readings: list[Reading] = []
    for i, (choice, (moments, grid)) in enumerate(zip(choices, columns, strict=True)):
        if choice.family == "bins":
            readings.append(Binned().of_bins(bins[i], alpha, row_weights, choice.likelihood))
        elif choice.family == "smooth":
            readings.append(reading_of(bins[i], densities[i], choice.likelihood))
        elif choice.family == "counts":
            readings.append(PooledCounts.read(grid, one, plain.pooled_rows))
        elif choice.family == "atoms":
            readings.append(Pooled.beside_atoms(plain, grid, atom_cells(grid, one)))
        else:
            readings.append(Pooled.read(plain, moments, grid))
    return readings


def can_read_as(choice: ReadAs, grid: GridCounts, row: float) -> bool:
    """Whether :func:`choose` can find this of a column; `row` is the weight of a row."""
    kind, options = choice.family, (choice.bins, choice.width, choice.strength)
    if kind == "gaussian":
        spread = not any_nearly_constant(grid, atom_cells(grid, row), row)
        return options == (0, 0, 0.0) and spread
    if not grid.counts.any():
        return False
    if kind == "atoms":
        cells = atom_cells(grid, row)
        return options == (0, 0, 0.0) and bool(cells.any()) and not cells.all()
    if kind == "counts":
        return options == (0, 0, 0.0) and is_of_counts(grid, row)
    if kind == "bins":
        return choice.bins in CANDIDATES and options[1:] == (0, 0.0)
    fits = choice.width in WIDTHS and choice.strength in STRENGTHS
    return kind == "smooth" and choice.bins == FINE_BINS and fits


# ---- columns without a declared family that may be read as counts, negative binomial -------------
# They hold few different, small whole numbers from 0 on, with more variance than mean, and no
# class with nearly one value only. Each row is left out of the mean and the size of its class. The
# size is recomputed only if the column is the best candidate so far with the sizes of all rows.
MAX_CELLS = 512
"""Different values times classes, at most."""
MAX_WORK = float(1 << 20)
"""Different values times classes times the largest value, at most: a few milliseconds."""


def is_of_counts(grid: GridCounts, row: float) -> bool:
    """Whether a column may be read as counts; `row` is the weight of a row."""
    some = _overdispersed(grid.counts, grid.values())
    return some and not any_nearly_constant(grid, atom_cells(grid, row), row)


def _overdispersed(counts: Array, values: Array) -> bool:
    """Whether values are few small counts with more variance than mean."""
    if not 2 < len(values) <= MAX_CELLS // len(counts):
        return False
    most = min(MAX_COUNT_OF_SIZES, MAX_WORK / (len(values) * len(counts)))
    if values[0] < 0.0 or values[-1] > most or (values != np.floor(values)).any():
        return False
    rows = counts.sum(axis=0)
    n, total, squares = rows.sum(), rows @ values, rows @ (values * values)
    return bool(squares - total * total / n > total)


def score_counts(
    columns: Mapping[int, tuple[Array, Array, float]],
    classes: Array,
    row: Array,
    one: float,
    pooled: float,
) -> dict[int, float]:
    """L of the columns that are small counts; where it is below that of what a column is read as,
    any number below that.

    Parameters
    ----------
    columns : mapping
        By number: counts (n_classes, n_values), values, and an L; one below it need not be exact.
    classes : float64 array (n_classes,)
        Class counts, smoothed as the class prior is.
    row : float64 array (n_classes,)
        The weight of a row of each class.
    one : float
        And of any row: the rows at the overall mean that each class has.
    pooled : float
        Rows of all classes.
    """
    some = {j: column for j, column in columns.items() if _overdispersed(*column[:2])}
    if not some:
        return {}
    counts, values, enough = (list(part) for part in zip(*some.values(), strict=True))
    scores = np.empty(len(some))
    _kernels.score_counts(counts, values, classes, row, one, pooled, np.array(enough), scores)
    return dict(zip(some, scores.tolist(), strict=True))
