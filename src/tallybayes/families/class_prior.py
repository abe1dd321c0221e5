"""The class prior, equations (9) and (12) of the seed article on categorical naive Bayes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.base import log
from tallybayes.tally import ClassCounts

__all__ = ["ClassPrior"]

Array = NDArray[np.float64]


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
