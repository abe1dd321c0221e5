"""How strongly to smooth, chosen from the counts themselves.

    evidence:        Σ_c log ∫ P(rows of c | p) Dirichlet(p; αN·q) dp, the Dirichlet-multinomial
    loo_likelihood:  Σ_c Σ_a k_ca log P(a | c; all rows but one)

Both need nothing but the tally, so that they can be had after any merge. MacKay and Peto (1995);
Geisser and Eddy (1979).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.cells import CellLaw
from tallybayes.families.rising import log_counts_evidence
from tallybayes.tally import GridCounts

__all__ = [
    "CRITERIA",
    "Criterion",
    "best_alpha",
    "class_evidence",
    "density_score",
    "law_score",
    "log_evidence",
]

Array = NDArray[np.float64]
Criterion = Literal["evidence", "loo_likelihood"]
CRITERIA: tuple[Criterion, ...] = ("evidence", "loo_likelihood")

GRID = 10.0 ** np.linspace(-6.0, 3.0, 19)
STEPS = 12  # of golden section between the neighbours of the best grid point
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


def log_evidence(rows: Array, law: CellLaw) -> float:
    """log P(rows) under a law's prior, in nats, every class by itself.

    Parameters
    ----------
    rows : float64 array (n_classes, n_cells)
        Rows, or weight, of each cell.
    law : CellLaw
        Its strength and base.
    """
    if law.strength == 0.0:
        return -np.inf if rows.any() else 0.0
    # without the cell for levels never seen, which stands beside the distribution
    concentration = law.strength * law.base_with_all()[: law.n_cells]
    rows = rows[:, : law.n_cells]
    rest = law.strength - concentration.sum()
    if rest > 1e-9 * law.strength:  # a second level that has not come yet
        concentration, rows = np.append(concentration, rest), np.pad(rows, ((0, 0), (0, 1)))
    return float(log_counts_evidence(concentration, rows).sum())


def law_score(criterion: Criterion, rows: Array, law: CellLaw) -> float:
    """The criterion for the cells of a column, in nats; see :func:`log_evidence`."""
    if criterion == "evidence":
        return log_evidence(rows, law)
    own = law.own_without(np.minimum(rows, 1.0))
    used = rows > 0.0
    return float((rows[used] * own[used]).sum())


def density_score(criterion: Criterion, density: Any, grid: GridCounts) -> float:
    """The criterion for a column read as a density, in nats; `grid` holds its values.

    For "loo_likelihood" each grid cell is at one value.
    """
    if criterion == "evidence":
        return float(density.log_evidence())
    values, total = grid.values(), 0.0
    for k, rows in enumerate(grid.counts):
        used = rows > 0.0
        own = np.full(int(used.sum()), k, dtype=np.intp)
        scores = density.without(values[used], own, np.minimum(rows[used], 1.0))[:, k]
        total += float((rows[used] * scores).sum())
    return total


def class_evidence(count: Array, alpha: float) -> float:
    """log P(labels) under a symmetric Dirichlet prior of the class probabilities, in nats."""
    return float(log_counts_evidence(np.full(len(count), alpha), count))


def best_alpha(score: Callable[[float], float]) -> float:
    """The α from 1e-6 to 1e3 of the largest score; 1 where the score does not tell.

    A grid in log α, then golden section about its best point.
    """
    values = np.array([score(alpha) for alpha in GRID.tolist()])
    if not np.isfinite(values).any() or np.ptp(values[np.isfinite(values)]) < 1e-9:
        return 1.0
    best = int(np.nanargmax(np.where(np.isfinite(values), values, -np.inf)))
    low, high = np.log(GRID[max(best - 1, 0)]), np.log(GRID[min(best + 1, len(GRID) - 1)])
    for _ in range(STEPS):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        if score(float(np.exp(left))) < score(float(np.exp(right))):
            low = left
        else:
            high = right
    return float(np.exp(0.5 * (low + high)))
