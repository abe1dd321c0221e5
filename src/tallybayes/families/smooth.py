"""A nonparametric density: fine bins whose counts are spread over their neighbours.

    P(x in b | c) = (Σ_b' k_h(b, b') n_cb' + α·q_b) / (n_c + α)

k_h is a triangular kernel of h bins on either side, q_b the share of bin b among all rows: where a
class has few rows it says what all classes say. h and α are chosen by leave-one-out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.binned import BinnedTable
from tallybayes.families.bins import quantile_bins
from tallybayes.families.loo import conditional
from tallybayes.schema import Kind
from tallybayes.tally import GridCounts

__all__ = ["Smooth"]

Array = NDArray[np.float64]

WIDTHS = (0, 1, 2, 4, 8, 16)
STRENGTHS = (1.0, 4.0, 16.0, 64.0)


def _kernel(n: int, width: int) -> Array:
    """Triangular weights between bins, (n, n); each column, a bin's rows, sums to 1."""
    apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    weight = np.maximum(0.0, 1.0 - apart / (width + 1.0))
    spread: Array = weight / weight.sum(axis=0)
    return spread


@dataclass(frozen=True)
class Smooth:
    """A smoothed density.

    Parameters
    ----------
    bins : int
        Fine bins of equal weight.
    width : int, optional
        h; chosen by leave-one-out by default.
    strength : float, optional
        α, in rows; chosen by leave-one-out by default.
    """

    kind: ClassVar[Kind] = "grid"
    bins: int = 128
    width: int | None = None
    strength: float | None = None

    def read(self, grid: GridCounts, classes: Array, alpha: float) -> BinnedTable:
        """The table, from grid counts; see :meth:`Binned.read`."""
        edges, counts = quantile_bins(grid, self.bins)
        total = counts.sum(axis=1, keepdims=True)
        everyone = counts.sum()
        base = counts.sum(axis=0) / everyone if everyone > 0.0 else np.ones(counts.shape[1])
        prior = classes[:, None]
        one = np.minimum(counts, 1.0)
        best: tuple[float, Array, str] | None = None
        for width in WIDTHS if self.width is None else (self.width,):
            kernel = _kernel(counts.shape[1], width)
            spread = counts @ kernel.T
            centre = np.diag(kernel)
            for strength in STRENGTHS if self.strength is None else (self.strength,):
                with np.errstate(divide="ignore", invalid="ignore"):
                    log_prob = np.log(spread + strength * base) - np.log(total + strength)
                    own = np.log(np.maximum(spread - one * centre, 0.0) + strength * base)
                    own -= np.log(total - one + strength)
                    likelihood = conditional(
                        counts,
                        np.log(prior) + log_prob,
                        np.log(np.maximum(prior - one, 0.0)) + own,
                    )
                if best is None or likelihood > best[0]:
                    best = (likelihood, log_prob, f"{counts.shape[1]} cells, width {width}")
        assert best is not None
        return BinnedTable(edges, best[1], best[0], best[2])
