"""Complement naive Bayes: each class is scored by the counts of all other classes.

    θ̃_cj = (α_j + Σ_{c'≠c} N_c'j) / Σ_j (…),    w_cj = −log θ̃_cj,    score_c(x) = Σ_j x_j w_cj

Rennie, Shih, Teevan and Karger (2003), section 3.1; with ``norm`` each class's weights are divided
by their sum, the second step of their table 4. These are scores, not log-probabilities of a
generative model: the class prior does not enter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.contract.family import class_blocks
from tallybayes.families.priors.hyperparameters import smoothing_number
from tallybayes.parameters import ComplementWithout, Linear
from tallybayes.schema import Kind
from tallybayes.tally import ClassCounts, FeatureSums

__all__ = ["Complement"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Complement:
    """Complement weights with additive smoothing.

    Parameters
    ----------
    alpha : float or float64 array (n_features,)
        Smoothing, in units of the features' counts.
    norm : bool
        Divide each class's weights by their sum.
    """

    kind: ClassVar[Kind] = "sums"
    uses_prior: ClassVar[bool] = False
    alpha: float | Array = 1.0
    norm: bool = False

    def __post_init__(self) -> None:
        alpha = np.asarray(self.alpha, dtype=np.float64)
        for value in alpha[~((alpha >= 0.0) & (alpha < np.inf))].tolist():
            smoothing_number("Complement", value)
        object.__setattr__(self, "norm", bool(self.norm))

    def weights(self, tally: FeatureSums) -> Array:
        """w_cj, float64 (n_classes, n_features).

        With α = 0 a feature that only class c has would weigh +∞ for c: it weighs −inf for the
        other classes instead, which it rules out, and 0 for c.

        Parameters
        ----------
        tally : Tally
            The counts that the family reads.
        """
        weights = np.empty_like(tally.sums)
        everything = tally.sums.sum(axis=0)
        # a complement is empty of j where all that was counted of j, if anything, is the class's
        zero_possible = not np.all(np.asarray(self.alpha) > 0.0)
        certain = np.zeros(weights.shape if zero_possible else (0, 0), dtype=bool)
        for rows in class_blocks(weights.shape):
            part = weights[rows]
            np.subtract(everything, tally.sums[rows], out=part)
            part += self.alpha  # last, so that a small one is not lost beside large counts
            total = part.sum(axis=1, keepdims=True)
            nothing = total[:, 0] == 0.0
            if nothing.any():  # nothing outside the class and no smoothing: every word alike
                part[nothing] = 1.0
                total[nothing] = part.shape[1]
            if zero_possible:
                certain[rows] = part == 0.0
                part[certain[rows]] = 1.0
            np.log(part, out=part)
            part -= np.log(total)
            if zero_possible:
                part[certain[rows]] = 0.0
            if self.norm:
                total = part.sum(axis=1, keepdims=True)
                part /= np.where(total == 0.0, 1.0, total)
            else:
                np.negative(part, out=part)
        if zero_possible:
            alone = certain.any(axis=0) & (everything > 0.0)  # a word of no row adds nothing
            weights[~certain & alone] = -np.inf
        return weights

    def parameters(self, tally: FeatureSums, classes: ClassCounts) -> Linear:
        """The parameters, as a score kind; see :meth:`Family.parameters`.

        Parameters
        ----------
        tally : Tally
            The counts that the family reads.
        classes : ClassCounts
            The counts of the classes.
        """
        weights = self.weights(tally)
        return Linear(weights=weights, offset=np.zeros(len(weights)), non_negative=True)

    def without(self, tally: FeatureSums, classes: ClassCounts) -> ComplementWithout:
        """The leave-one-out form; see :meth:`Family.without`.

        Parameters
        ----------
        tally : Tally
            The counts that the family reads.
        classes : ClassCounts
            The counts of the classes.
        """
        everything = tally.sums.sum(axis=0)
        alpha = np.atleast_1d(np.asarray(self.alpha, dtype=np.float64))
        return ComplementWithout(
            part=everything - tally.sums, everything=everything, alpha=alpha, norm=self.norm
        )
