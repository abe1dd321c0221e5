"""The class prior, equations (9) and (12) of article 1 in the README's list of origins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import NegativeTally
from tallybayes.families.contract import best_alpha, class_evidence, each, log
from tallybayes.families.priors import log_dirichlet
from tallybayes.persistence import NonNegative, Shape, Within
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

    def matrix(self, own: NDArray[np.int64]) -> Array:
        """The same as float64 (n_rows, n_classes); `own` is the class of each row."""
        wide = np.tile(self.other, (len(own), 1))
        wide[np.arange(len(own)), own] = self.own
        return wide


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

    alpha: NonNegative | None = 0.0
    given: Annotated[Array, Shape("n_classes"), Within(0.0)] | None = None

    def strength(self, classes: ClassCounts) -> float:
        """α, in rows of weight 1; where it is chosen, by the evidence of the effective rows.

        Parameters
        ----------
        classes : ClassCounts
            The counts of the classes.
        """
        if self.alpha is not None:
            return self.alpha
        unit = classes.pooled_row_weight
        return unit * best_alpha(each(lambda alpha: class_evidence(classes.count / unit, alpha)))

    def need_rows(self, classes: ClassCounts) -> None:
        """Check that there is something to estimate the prior from.

        Parameters
        ----------
        classes : ClassCounts
            The counts of the classes.

        Raises
        ------
        ValueError
            If there are no rows, and the prior is neither smoothed nor given.
        """
        if self.given is not None or classes.count.sum() > 0.0:
            return
        if not (classes.count + self.strength(classes)).sum() > 0.0:
            raise ValueError(
                "the class prior cannot be estimated from no rows (the counts, or weights, sum to "
                "0): learn some rows, smooth the prior with class_alpha > 0, or give it"
            )

    def log(self, classes: ClassCounts) -> Array:
        """log P(c), float64 (n_classes,), in nats; −inf for a class that cannot occur.

        Parameters
        ----------
        classes : ClassCounts
            The counts of the classes.
        """
        if self.given is not None:
            return log(self.given)
        smoothed = classes.count + self.strength(classes)
        total = smoothed.sum()
        if not total > 0.0:
            self.need_rows(classes)
        prior: Array = log(smoothed) - np.log(total)
        return prior

    def drawn(self, classes: ClassCounts, rng: Any, n: int) -> Array:
        """log P(c) drawn from its posterior, float64 (n, n_classes); as it is, where given.

        Parameters
        ----------
        classes : ClassCounts
            The counts of the classes.
        rng : numpy.random.Generator
            The source of random numbers.
        n : int
            How many draws.
        """
        if self.given is not None:
            return np.broadcast_to(log(self.given), (n, len(self.given)))
        return log_dirichlet(classes.count + self.strength(classes), rng, n)

    def log_without(
        self, classes: ClassCounts, own: NDArray[np.int64], weight: Array
    ) -> PriorWithout:
        """log P(c) after each row is taken out.

        Parameters
        ----------
        classes : ClassCounts
            The counts of the classes.
        own : int64 array (n_rows,)
            The class of each row.
        weight : float64 array (n_rows,)
            The weight of each row.

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
        alpha = self.strength(classes)
        everything, pseudo = classes.count.sum(), alpha * len(classes.count)
        least = everything - weight.max(initial=0.0)
        if not (least if least > RESIDUE * everything else 0.0) + pseudo > 0.0:
            i = int(weight.argmax())
            raise ValueError(
                f"row {i} has all of the weight that was learned, {everything:g}: without it no "
                "rows are left to estimate the class prior from. Smooth the prior with "
                "class_alpha > 0, or give it"
            )
        rest += alpha
        return PriorWithout(log(classes.count + alpha), log(rest))
