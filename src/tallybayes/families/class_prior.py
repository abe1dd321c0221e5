"""The class prior, equations (9) and (12) of the seed article on categorical naive Bayes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import NegativeTally
from tallybayes.families.base import log
from tallybayes.tally import ClassCounts
from tallybayes.tally.base import RESIDUE

__all__ = ["ClassPrior", "PriorWithout"]

Array = NDArray[np.float64]


class PriorWithout(NamedTuple):
    """log P(c) after each row is taken out, up to a term of the row that all classes share.

    Parameters
    ----------
    other : float64 array (n_classes,)
        In the classes that a row is not of.
    own : float64 array (n_rows,)
        In its own class.
    """

    other: Array
    own: Array


@dataclass(frozen=True, eq=False)
class ClassPrior:
    """P(c) = (count_c + α) / (m + Kα), unless it is given.

    Parameters
    ----------
    alpha : float
        Smoothing λ of equation (12); 0 is the maximum likelihood of equation (9).
    given : float64 array (n_classes,), optional
        A prior that no count changes.
    """

    alpha: float = 0.0
    given: Array | None = None

    def log(self, classes: ClassCounts) -> Array:
        """log P(c), float64 (n_classes,), in nats; −inf for a class that cannot occur."""
        if self.given is not None:
            return log(self.given)
        smoothed = classes.count + self.alpha
        total = smoothed.sum()
        if not total > 0.0:
            raise ValueError(
                "the class prior cannot be estimated from no rows (the counts, or weights, sum to "
                "0): learn some rows, smooth the prior with class_alpha > 0, or give it"
            )
        prior: Array = log(smoothed) - np.log(total)
        return prior

    def log_without(
        self, classes: ClassCounts, own: NDArray[np.int64], weight: Array
    ) -> PriorWithout:
        """log P(c) after each row is taken out.

        Parameters
        ----------
        classes : ClassCounts
        own : int64 array (n_rows,)
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
        if rest.min(initial=0.0) < 0.0:
            i = int(np.flatnonzero(rest < 0.0)[0])
            raise NegativeTally(
                f"row {i} weighs {weight[i]:g}, more than the {classes.count[own[i]]:g} that its "
                "class holds: leave-one-out takes the rows that were learned, with their weights"
            )
        if self.given is not None:
            given = log(self.given)
            return PriorWithout(given, given[own])
        everything, pseudo = classes.count.sum(), self.alpha * len(classes.count)
        least = everything - weight.max(initial=0.0)
        if not (least if least > RESIDUE * everything else 0.0) + pseudo > 0.0:
            raise ValueError(
                "without its only row the class prior cannot be estimated: smooth it with "
                "class_alpha > 0, or give it"
            )
        rest += self.alpha
        return PriorWithout(log(classes.count + self.alpha), log(rest))
