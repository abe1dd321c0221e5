"""The strength of smoothing, chosen from the counts.

    evidence:        Σ_c log ∫ P(rows of c | p) Dirichlet(p; αN·q) dp, the Dirichlet-multinomial
    loo_likelihood:  Σ_c Σ_a k_ca log P(a | c; all rows but one)

Both need only the tally, and can be computed after any merge. If rows have weights, the evidence is
that of the effective rows (counts and strength divided by the weight u of one), and one row of a
class is u_c of its weight. A common factor on all weights changes neither criterion.

MacKay and Peto (1995); Geisser and Eddy (1979).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.contract.cells import CellLaw
from tallybayes.families.contract.density import NumberDensity, TunableDensity
from tallybayes.families.priors.gamma_ratios import log_counts_evidence, log_rising
from tallybayes.tally import UNIT_ROWS, GridCounts, RowWeights

__all__ = [
    "CRITERIA",
    "Criterion",
    "Tuning",
    "best_alpha",
    "class_evidence",
    "density_score",
    "each",
    "law_score",
]

Array = NDArray[np.float64]
Criterion = Literal["evidence", "loo_likelihood"]
CRITERIA: tuple[Criterion, ...] = ("evidence", "loo_likelihood")

MIN_LOG_ALPHA, MAX_LOG_ALPHA, GRID_POINTS = -6.0, 3.0, 19  # of log10 α
REFINEMENTS, POINTS_EACH_SIDE = 2, 5
"""Grids about the best point, and their points on either side of it."""

MAX_INTERMEDIATE = 1 << 20  # that are scored at once


def law_score(
    criterion: Criterion,
    rows: Array,
    law: CellLaw,
    alpha: Array,
    row_weights: RowWeights = UNIT_ROWS,
) -> Array:
    """The criterion for the cells of a column, under priors `alpha` times as strong as the law's.

    Parameters
    ----------
    criterion : {"evidence", "loo_likelihood"}
    rows : float64 array (n_classes, n_cells)
        Rows, or weight, of each cell.
    law : CellLaw
        Of one column; not without a prior.
    alpha : float64 array (n,)
        Above 0.
    row_weights : RowWeights

    Returns
    -------
    float64 array (n,)
        In nats of effective rows.
    """
    used = rows > 0.0  # other cells add nothing
    unit = row_weights.overall
    k, strength = rows[used], law.strength * alpha[:, None]
    step = max(1, MAX_INTERMEDIATE // max(len(k), 1))
    blocks = [strength[start : start + step] for start in range(0, len(strength), step)]
    if criterion == "evidence":
        base = np.broadcast_to(law.base_with_all(), rows.shape)[used]
        k, base = _in_one_order(k / unit, base)
        n = rows.sum(axis=1) / unit
        with np.errstate(divide="ignore", invalid="ignore"):
            total = np.concatenate([log_rising(s / unit * base, k).sum(axis=1) for s in blocks])
        total -= log_rising(strength / unit, n).sum(axis=1)
        return total if (base > 0.0).all() else np.full(len(alpha), -np.inf)
    left = law.own_left(np.minimum(rows, row_weights.by_class))
    parts = (np.broadcast_to(part, rows.shape)[used] for part in left)
    k, counts, whole, base = _in_one_order(k, *parts)
    with np.errstate(divide="ignore"):
        scores = [(k * (np.log(counts + s * base) - np.log(whole + s))).sum(axis=1) for s in blocks]
    return np.concatenate(scores) / unit


def _in_one_order(*cells: Array) -> list[Array]:
    """Cells ordered by their counts, so that sums over them do not depend on the given order."""
    order = np.lexsort(cells)
    return [part[order] for part in cells]


def each(score: Callable[[float], float]) -> Callable[[Array], Array]:
    """A score of one α, for :func:`best_alpha`."""
    return lambda alpha: np.array([score(a) for a in alpha.tolist()])


def density_score(
    criterion: Criterion,
    density: TunableDensity,
    alpha: float,
    grid: GridCounts,
    row_weights: RowWeights = UNIT_ROWS,
) -> float:
    """The criterion for a column read as a density, in nats of effective rows.

    For "loo_likelihood" each grid cell is at one value.

    Parameters
    ----------
    criterion : {"evidence", "loo_likelihood"}
    density : TunableDensity
    alpha : float
        The strength of the prior, in effective rows.
    grid : GridCounts
        The column's values.
    row_weights : RowWeights
    """
    unit = row_weights.overall
    if criterion == "evidence":
        return float(density.scaled(1.0 / unit).under(alpha).log_evidence())
    density = density.under(alpha * unit)
    by_class = np.broadcast_to(row_weights.by_class[:, 0], len(grid.counts))
    values, total = grid.values(), 0.0
    for k, rows in enumerate(grid.counts):
        used = rows > 0.0
        own = np.full(int(used.sum()), k, dtype=np.intp)
        scores = density.without(values[used], own, np.minimum(rows[used], by_class[k]))[:, k]
        total += float((rows[used] * scores).sum())
    return total / unit


def class_evidence(count: Array, alpha: float) -> float:
    """log P(labels) under a symmetric Dirichlet prior of the class probabilities, in nats."""
    return float(log_counts_evidence(np.full(len(count), alpha), count))


def best_alpha(score: Callable[[Array], Array]) -> float:
    """The α from 1e-6 to 1e3 of the largest score; 1 where the score does not decide.

    A grid in log α, finer ones between the neighbours of its best point, and the vertex of a
    parabola at last.

    Parameters
    ----------
    score : callable
        Of α, float64 array (n,), to scores like it.
    """

    def at(power: Array) -> Array:
        found = score(10.0**power)
        return np.where(np.isfinite(found), found, -np.inf)

    power = np.linspace(MIN_LOG_ALPHA, MAX_LOG_ALPHA, GRID_POINTS)
    values = at(power)
    finite = values[np.isfinite(values)]
    if not len(finite) or np.ptp(finite) < 1e-9:
        return 1.0
    for _ in range(REFINEMENTS):
        best = int(values.argmax())
        low, high = power[max(best - 1, 0)], power[min(best + 1, len(power) - 1)]
        power = np.linspace(low, high, 2 * POINTS_EACH_SIDE + 1)
        values = at(power)
    best = int(values.argmax())
    if not 0 < best < len(power) - 1:
        return float(10.0 ** power[best])
    left, middle, right = values[best - 1 : best + 2].tolist()
    bend = left - 2.0 * middle + right
    if not bend < -1e-12 * abs(middle):  # flat: what is left is rounding
        return float(10.0 ** power[best])
    vertex = 0.5 * np.clip((left - right) / bend, -1.0, 1.0)
    return float(10.0 ** (power[best] + vertex * (power[1] - power[0])))


class Tuning(NamedTuple):
    """How the strength of the priors of columns is chosen.

    Parameters
    ----------
    criterion : {"evidence", "loo_likelihood"}, optional
        The criterion that chooses the strength of each column's prior.
    scale : float
        The factor for priors that follow the model's alpha, without a criterion.
    row_weights : RowWeights
    """

    criterion: Criterion | None
    scale: float
    row_weights: RowWeights

    def of_law(self, law: CellLaw, alpha: float | None) -> tuple[CellLaw, float | None]:
        """A law of smoothing `alpha` as strong as it is to be, and its alpha then; as it is where
        that is None, because it does not follow the model's."""
        if alpha is None:
            return law, None
        criterion, factor = self.criterion, self.scale
        if criterion is not None:
            factor = best_alpha(
                lambda f: law_score(criterion, law.counts, law, f, self.row_weights)
            )
        return law if factor == 1.0 else law.scaled(factor), alpha * factor

    def of_density(
        self, density: NumberDensity, grid: GridCounts
    ) -> tuple[NumberDensity, float | None]:
        """A density with the strength of its prior chosen, where it is to be; and that strength.
        `grid` are the column's values."""
        criterion, weights, tunable = self.criterion, self.row_weights, density.tunable
        if criterion is None or tunable is None or not grid.counts.any():
            return density, None
        alpha = weights.overall * best_alpha(
            each(lambda a: density_score(criterion, tunable, a, grid, weights))
        )
        return tunable.under(alpha), alpha
