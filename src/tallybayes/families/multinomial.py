"""Counts that share a total, such as the words of a document: θ_cj = P(word j | c).

    θ_cj = (N_cj + α_j) / (N_c + Σ_j α_j),    log p(x|c) = Σ_j x_j log θ_cj

The multinomial coefficient, the same for every class, is left out: p(x|c) is the probability of one
sequence of words. Manning, Raghavan and Schütze (2008), section 13.2.

Under a prior Dirichlet(S·q) the posterior mean has α_j = S·q_j, the mode S·q_j − 1. With θ
integrated out, words are drawn from the Dirichlet-multinomial,

    log p(x|c) = log Γ(A) − log Γ(A + Σx) + Σ_j log Γ(a_j + x_j) − log Γ(a_j),   a_j = N_cj + α_j.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.categorical import Categorical
from tallybayes.families.cells import log_ratio
from tallybayes.families.contract import (
    Context,
    GroupFamily,
    Tuning,
    class_blocks,
)
from tallybayes.families.priors import (
    Dirichlet,
    Estimate,
    cannot_estimate,
    check_estimate,
    log_counts_evidence,
    log_dirichlet,
    log_rising,
    smoothing_number,
)
from tallybayes.schema import Kind
from tallybayes.score import (
    ComplementWithout,
    Counts,
    Description,
    ImproperPrior,
    Linear,
    SumsWithout,
)
from tallybayes.tally import ClassCounts, FeatureSums
from tallybayes.tally.base import less

__all__ = ["Complement", "Multinomial", "MultinomialCounts"]


Array = NDArray[np.float64]


Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Multinomial(GroupFamily):
    """Multinomial likelihood with additive smoothing.

    Parameters
    ----------
    alpha : float or float64 array (n_features,), optional
        Smoothing, in units of the features' counts. By default the model's alpha, or 1.
    prior : Dirichlet, optional
        In place of alpha.
    estimate : {"mean", "map", "mle", "posterior"}
        The posterior mean, its mode, maximum likelihood (a ValueError where nothing is counted), or
        the probabilities integrated out.
    """

    kind: ClassVar[Kind] = "sums"
    alone: ClassVar[bool] = False
    is_linear: ClassVar[bool] = True
    alpha: float | Array | None = None
    prior: Dirichlet | None = None
    estimate: Estimate = "mean"

    def __post_init__(self) -> None:
        check_estimate(self, Dirichlet, each=True)
        if self.prior is not None and self.prior.base == "marginal":
            raise ValueError("a marginal base is for one column of levels: use Categorical")

    @property
    def together(self) -> Kind:
        """The kind of tally of a group of columns; None where columns are read one by one."""
        return "sums"

    @property
    def least(self) -> int:
        return 1

    @property
    def follows(self) -> bool:
        return self.alpha is None and self.prior is None and self.estimate != "mle"

    def likelihood_together(
        self, names: tuple[str, ...], tally: FeatureSums | None, context: Context
    ) -> MultinomialCounts:
        if tally is None:
            tally = FeatureSums.zeros(len(context.classes), len(names))
        return MultinomialCounts.read(self, tally, context.alpha)

    def smoothing(self, n_features: int, alpha: float = 1.0) -> float | Array:
        """α_j: a number, or float64 array (n_features,); `alpha` where the family has none.

        Parameters
        ----------
        n_features : int
            How many features there are.
        alpha : float
            Pseudo-counts of each level.
        """
        if self.estimate == "mle":
            return 0.0
        if self.prior is None:
            return alpha if self.alpha is None else self.alpha
        if self.estimate == "map":
            return self.prior.excess(n_features)
        return self.prior.concentration(n_features)

    def need_counts(self, tally: FeatureSums) -> None:
        """Raise ValueError for maximum likelihood where no class has any count.

        Parameters
        ----------
        tally : Tally
            The counts that the family reads.
        """
        if self.estimate == "mle" and not tally.sums.any():
            raise cannot_estimate(self, "any column")

    def _smoothed(self, tally: FeatureSums, rows: slice, out: Array) -> Array:
        """N_cj + α_j of some classes into `out` (n, n_features); returns their sums (n, 1)."""
        alpha = self.smoothing(tally.sums.shape[1])
        np.add(tally.sums[rows], alpha, out=out)
        blank = ~tally.sums[rows].any(axis=1)
        if blank.any():  # a class without any word: all classes together
            self.need_counts(tally)
            out[blank] = tally.sums.sum(axis=0) + alpha
        total: Array = out.sum(axis=1, keepdims=True)
        nothing = total[:, 0] == 0.0
        if nothing.any():  # no word at all and no smoothing: every word alike
            out[nothing] = 1.0
            total[nothing] = out.shape[1]
        return total

    def log_probabilities(self, tally: FeatureSums) -> Array:
        """log θ_cj, float64 (n_classes, n_features).

        Parameters
        ----------
        tally : Tally
            The counts that the family reads.
        """
        log_prob = np.empty_like(tally.sums)
        with np.errstate(divide="ignore"):  # log 0 = −inf is meant
            for rows in class_blocks(log_prob.shape):
                part = log_prob[rows]
                total = self._smoothed(tally, rows, part)
                np.log(part, out=part)
                part -= np.log(total)
        return log_prob

    def parameters(self, tally: FeatureSums, classes: ClassCounts) -> Linear:
        """The parameters, as a score kind; see :meth:`Family.parameters`.

        Parameters
        ----------
        tally : Tally
            The counts that the family reads.
        classes : ClassCounts
            The counts of the classes.
        """
        if self.estimate == "posterior":
            raise ValueError(
                "estimate='posterior' is for a group of columns of a table: "
                "NaiveBayes(columns={('w1', 'w2'): Multinomial(estimate='posterior')})"
            )
        weights = self.log_probabilities(tally)
        return Linear(weights=weights, offset=np.zeros(len(weights)), non_negative=True)

    def without(self, tally: FeatureSums, classes: ClassCounts) -> SumsWithout:
        """The leave-one-out form; see :meth:`Family.without`.

        Parameters
        ----------
        tally : Tally
            The counts that the family reads.
        classes : ClassCounts
            The counts of the classes.
        """
        alpha = np.asarray(self.smoothing(tally.sums.shape[1]), dtype=np.float64)
        return SumsWithout(part=tally.sums, alpha=np.atleast_1d(alpha))


# ---- a group of columns of counts ----------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class MultinomialCounts(Counts):
    """Multinomial, or Dirichlet-multinomial where the probabilities are integrated out.

    Parameters
    ----------
    family : Multinomial
    sums : float64 array (n_classes, n_columns)
        N_cj.
    alpha : float or float64 array (n_columns,)
        α_j.
    """

    holds = "counts"

    family: Multinomial
    sums: Array
    alpha: float | Array

    @classmethod
    def read(cls, family: Multinomial, tally: FeatureSums, alpha: float) -> MultinomialCounts:
        """The group's counts; `alpha` is the model's."""
        family.need_counts(tally)
        return cls(family, tally.sums, family.smoothing(tally.sums.shape[1], alpha))

    @property
    def what(self) -> str:
        return "Dirichlet-multinomial" if self._integrated else "multinomial"

    @property
    def in_schema(self) -> str:
        return f"{self.what} of {self.sums.shape[1]} columns"

    def tuned(self, tuning: Tuning) -> tuple[MultinomialCounts, float | None]:
        if tuning.criterion is None or not self.family.follows:
            return self, None
        alpha = float(self.alpha)
        _, alpha_chosen = tuning.of_law(Categorical(alpha=alpha).law(self.sums), alpha)
        assert alpha_chosen is not None
        return replace(self, alpha=alpha_chosen), alpha_chosen

    @property
    def _integrated(self) -> bool:
        return self.family.estimate == "posterior"

    @cached_property
    def _smoothed(self) -> Array:
        """a_cj = N_cj + α_j; in a class without counts, of all classes together."""
        blank = ~self.sums.any(axis=1, keepdims=True)
        return np.where(blank, self.sums.sum(axis=0), self.sums) + self.alpha

    @property
    def concentration(self) -> Array | None:
        """a_cj of the Dirichlet-multinomial, (n_classes, n_columns); None for a multinomial."""
        return self._smoothed if self._integrated else None

    def log_evidence(self) -> float:
        """log P of one sequence of words in each class, in nats: no multinomial coefficient."""
        more = self.family.estimate == "map"
        added = np.broadcast_to(self.alpha, (self.sums.shape[1],)) + more
        if not (added > 0.0).all():
            raise ImproperPrior(
                "is not smoothed",
                "give an alpha above 0, or declare Multinomial(prior=Dirichlet(…))",
            )
        return float(log_counts_evidence(added, self.sums).sum())

    def slopes(self) -> Array | None:
        if self._integrated:
            return None
        a = self._smoothed
        return log_ratio(a, a.sum(axis=1, keepdims=True), a.shape[1])

    def described(self) -> Description:
        a = self._smoothed
        names = [f"P({j})" for j in range(a.shape[1])]
        share = a / np.maximum(a.sum(axis=1, keepdims=True), 1e-300)
        return Description(self.what, names, share)

    def _shares(self, x: Array, a: Array) -> Array:
        """What each column adds, of counts x and concentrations a: shapes (…, n_columns)."""
        total = a.sum(axis=-1, keepdims=True)
        if not self._integrated:
            log_prob = log_ratio(a, total, a.shape[-1])
            return np.asarray(np.where(x == 0.0, 0.0, x * np.where(x == 0.0, 0.0, log_prob)))
        length = x.sum(axis=-1, keepdims=True)
        some = np.maximum(a, 1e-300)
        each = log_rising(some, x)
        together = log_rising(some.sum(axis=-1, keepdims=True), length)
        return np.asarray(each - x / np.where(length > 0.0, length, 1.0) * together)

    def contributions(self, x: Array) -> Array:
        return self._shares(x[:, None, :], self._smoothed[None, :, :])

    def drawn(self, x: Array, rng: Any, n: int) -> Array:
        log_prob = log_dirichlet(self._smoothed, rng, n)  # (n, n_classes, n_columns)
        finite = np.where(np.isneginf(log_prob), -1e300, log_prob)
        return np.asarray(np.einsum("ij,nkj->nik", x, finite))

    def without(self, x: Array, own: Index, weight: Array) -> Array:
        taken = weight[:, None] * x
        everything = less(self.sums.sum(axis=0) + np.zeros(x.shape), taken)
        a = np.broadcast_to(self.sums, (len(x), *self.sums.shape)).copy()
        a[np.arange(len(x)), own] = less(self.sums[own], taken)
        blank = ~a.any(axis=2, keepdims=True)
        if blank.any():
            a = np.where(blank, everything[:, None, :], a)
        scores: Array = self._shares(x[:, None, :], a + self.alpha).sum(axis=2)
        return scores


# ---- complement naive Bayes: each class is scored by the counts of all other classes -------------
#     θ̃_cj = (α_j + Σ_{c'≠c} N_c'j) / Σ_j (…),    w_cj = −log θ̃_cj,    score_c(x) = Σ_j x_j w_cj
#
# Rennie, Shih, Teevan and Karger (2003), section 3.1; with ``norm`` each class's weights are
# divided by their sum, the second step of their table 4. These are scores, not log-probabilities
# of a generative model: the class prior does not enter.
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

    @property
    def is_linear(self) -> bool:
        """Whether the score of a class is linear in the row, with weights of its sums and α."""
        return not self.norm

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
