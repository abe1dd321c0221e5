"""A group of columns of a table read as counts that share a total."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.contract.cells import log_ratio
from tallybayes.families.contract.family import less
from tallybayes.families.contract.group_family import GroupLikelihood
from tallybayes.families.lookup.categorical import Categorical
from tallybayes.families.priors.draws import log_dirichlet
from tallybayes.families.priors.gamma_ratios import log_counts_evidence, log_rising
from tallybayes.parameters import Description, ImproperPrior
from tallybayes.tally import FeatureSums

if TYPE_CHECKING:
    from tallybayes.families.contract.density import Tuning
    from tallybayes.families.counts.multinomial import Multinomial

__all__ = ["MultinomialCounts"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class MultinomialCounts(GroupLikelihood):
    """Multinomial, or Dirichlet-multinomial where the probabilities are integrated out.

    Parameters
    ----------
    family : Multinomial
    sums : float64 array (n_classes, n_columns)
        N_cj.
    alpha : float or float64 array (n_columns,)
        α_j.
    """

    score_kind: ClassVar[Literal["counts", "triangular"]] = "counts"
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
