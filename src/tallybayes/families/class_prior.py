"""The class prior, equations (9) and (12) of the seed article on categorical naive Bayes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import NegativeTally
from tallybayes.families.base import log
from tallybayes.families.draws import log_dirichlet
from tallybayes.families.strength import best_alpha, class_evidence, each
from tallybayes.tally import ClassCounts
from tallybayes.tally.base import RESIDUE

__all__ = ["ClassPrior"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClassPrior:
    """P(c) = (count_c + α) / (m + Kα), unless it is given.

    Parameters
    ----------
    alpha : float or None
        Smoothing λ of equation (12); 0 is the maximum likelihood of equation (9); None: the one of
        the largest evidence.
    given : float64 array (n_classes,), optional
        A prior that no count changes.
    """

    alpha: float | None = 0.0
    given: Array | None = None

    def strength(self, classes: ClassCounts) -> float:
        """α, in rows."""
        if self.alpha is not None:
            return self.alpha
        return best_alpha(each(lambda alpha: class_evidence(classes.count, alpha)))

    def log(self, classes: ClassCounts) -> Array:
        """log P(c), float64 (n_classes,), in nats; −inf for a class that cannot occur."""
        if self.given is not None:
            return log(self.given)
        smoothed = classes.count + self.strength(classes)
        total = smoothed.sum()
        if not total > 0.0:
            raise ValueError(
                "the class prior cannot be estimated from no rows (the counts, or weights, sum to "
                "0): learn some rows, smooth the prior with class_alpha > 0, or give it"
            )
        prior: Array = log(smoothed) - np.log(total)
        return prior

    def drawn(self, classes: ClassCounts, rng: Any, n: int) -> Array:
        """log P(c) drawn from its posterior, float64 (n, n_classes); as it is, where given."""
        if self.given is not None:
            return np.broadcast_to(log(self.given), (n, len(self.given)))
        return log_dirichlet(classes.count + self.strength(classes), rng, n)

    def log_without(self, classes: ClassCounts, own: NDArray[np.intp], weight: Array) -> Array:
        """log P(c) after each row is taken out, float64 (n_rows, n_classes), in nats.

        Parameters
        ----------
        classes : ClassCounts
        own : index array (n_rows,)
            The class of each row.
        weight : float64 array (n_rows,)

        Raises
        ------
        NegativeTally
            If a row weighs more than its class holds: it was not counted.
        ValueError
            If nothing is left, and the prior is neither smoothed nor given.
        """
        rest = classes.count[own] - weight
        rest[np.abs(rest) <= RESIDUE * classes.count[own]] = 0.0
        if (rest < 0.0).any():
            i = int(np.flatnonzero(rest < 0.0)[0])
            raise NegativeTally(
                f"row {i} weighs {weight[i]:g}, more than the {classes.count[own[i]]:g} that its "
                "class holds: leave-one-out takes the rows that were learned, with their weights"
            )
        if self.given is not None:
            return np.broadcast_to(log(self.given), (len(own), len(self.given))).copy()
        alpha = self.strength(classes)
        count = classes.count + alpha
        total = classes.count.sum() - weight
        total[np.abs(total) <= RESIDUE * classes.count.sum()] = 0.0
        total += alpha * len(count)
        if not (total > 0.0).all():
            raise ValueError(
                "without its only row the class prior cannot be estimated: smooth it with "
                "class_alpha > 0, or give it"
            )
        scores: Array = log(count) - np.log(total)[:, None]
        scores[np.arange(len(own)), own] = log(rest + alpha) - np.log(total)
        return scores
