"""Yes/no features: p_cj = P(x_j = 1 | c), the multivariate Bernoulli model.

    p_cj = (n_cj1 + α_j) / (n_c + 2α_j),    log p(x|c) = Σ_j x_j log p_cj + (1 − x_j) log(1 − p_cj)

McCallum and Nigam (1998); Manning, Raghavan and Schütze (2008), section 13.3. Under a prior
Beta(a, b) the posterior mean is (n_cj1 + a) / (n_c + a + b), the mode has a − 1 and b − 1 for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.cells import CellLaw
from tallybayes.families.contract import (
    Context,
    CountedLevels,
    LevelFamily,
    LevelReading,
    class_blocks,
)
from tallybayes.families.priors import (
    Beta,
    Estimate,
    cannot_estimate,
    check_estimate,
    hold,
    log,
)
from tallybayes.schema import Kind
from tallybayes.score import Linear, PresenceWithout
from tallybayes.tally import ClassCounts, FeatureSums
from tallybayes.tally.base import is_residue

__all__ = ["Bernoulli"]


Array = NDArray[np.float64]

YES = ("True", "yes", "1", "true", "Yes", "y", "t")
"""What a column that has one of its two levels so far may call x = 1."""


@dataclass(frozen=True, eq=False)
class Bernoulli(LevelFamily):
    """Bernoulli likelihood with additive smoothing.

    Parameters
    ----------
    alpha : float or float64 array (n_features,), optional
        Smoothing, in rows, of each of the two levels. By default the model's alpha, or 1.
    threshold : float, optional
        x counts as present where x > threshold. A column of a table has two levels instead, of
        which the last in order ("True", "yes", "1") is x = 1.
    prior : Beta, optional
        In place of alpha.
    estimate : {"mean", "map", "mle", "posterior"}
        The posterior mean, its mode, or maximum likelihood, a ValueError where there are no rows;
        "posterior" is the mean.
    """

    kind: ClassVar[Kind] = "sums"
    most_levels: ClassVar[int] = 2
    alpha: float | Array | None = None
    threshold: float | None = None
    prior: Beta | None = None
    estimate: Estimate = "mean"

    def __post_init__(self) -> None:
        check_estimate(self, Beta, each=True)
        if self.threshold is not None:
            hold(self, "", None, "threshold")

    # ---- as the family of a column of two levels -------------------------------------------------
    @property
    def follows(self) -> bool:
        return self.alpha is None and self.prior is None and self.estimate != "mle"

    @property
    def names_levels_only(self) -> bool:
        return self.alpha is None and self.prior is None

    def check(self, key: Any) -> None:
        if self.threshold is not None:
            raise ValueError(
                f"columns= gives {key!r} a Bernoulli with a threshold, which is for BernoulliNB: "
                "give the table a column of two levels"
            )

    def likelihood(self, counted: CountedLevels, context: Context) -> LevelReading:
        """Of levels in order, of which one may not have come yet."""
        named, has_missing = counted.levels, counted.missing is not None
        order = np.argsort(np.array(named, dtype=object)) if named else np.empty(0, int)
        levels = [named[i] for i in order]
        cells = counted._replace(levels=levels, counts=counted.counts[:, order]).cells()
        yes, no = (float(a) for a in self.smoothing(context.alpha))
        of_missing = [0.5 * (yes + no)] if has_missing else []
        pseudo = [no, yes] if len(levels) == 2 else [yes if v in YES else no for v in levels]
        pseudo = [*of_missing, *pseudo]
        strength = yes + no + sum(of_missing)
        one_to_come = len(levels) < 2
        rest = np.array([*pseudo, (strength - sum(pseudo)) if one_to_come else yes])
        law = CellLaw(
            counts=cells,
            total=cells.sum(axis=1, keepdims=True),
            n_cells=max(cells.shape[1] - 1, 2),
            strength=strength,
            base=rest / strength if strength > 0.0 else np.full(len(rest), 0.5),
            prior_cells=cells.shape[1] if one_to_come else None,
            mode=self.estimate == "map",
        )
        return LevelReading(levels, law, "Bernoulli", grows=False)

    def smoothing(self, alpha: float = 1.0) -> tuple[float | Array, float | Array]:
        """What is added to the counts of 1 and of 0; `alpha` where the family has none.

        Parameters
        ----------
        alpha : float
            Pseudo-counts of each level.
        """
        if self.estimate == "mle":
            return 0.0, 0.0
        if self.prior is None:
            added = alpha if self.alpha is None else self.alpha
            return added, added
        if self.estimate != "map":
            return self.prior.a, self.prior.b
        return self.prior.excess

    def _counts(
        self, tally: FeatureSums, classes: ClassCounts, rows: slice
    ) -> tuple[Array, Array, Array]:
        """Smoothed present, absent and total of some classes, (n, n_features) or (n, 1)."""
        present, total = tally.sums[rows], classes.count[rows, None]
        blank = total == 0.0
        if blank.any():  # a class without rows: all classes together
            if self.estimate == "mle" and not classes.count.any():
                raise cannot_estimate(self, "any column")
            present = np.where(blank, tally.sums.sum(axis=0), present)
            total = np.where(blank, classes.count.sum(), total)
        absent = total - present  # of weights summed apart: what is rounding is 0
        absent[(absent < 0.0) | is_residue(absent, np.broadcast_to(total, absent.shape))] = 0.0
        present = np.minimum(present, total)
        yes, no = self.smoothing()
        absent += no
        present, total = present + yes, total + (np.asarray(yes) + no)
        nothing = total == 0.0
        if nothing.any():  # no rows at all and no smoothing: both levels alike
            present, absent = np.where(nothing, 1.0, present), np.where(nothing, 1.0, absent)
            total = np.where(nothing, 2.0, total)
        return present, absent, total

    def log_probabilities(self, tally: FeatureSums, classes: ClassCounts) -> Array:
        """log p_cj, float64 (n_classes, n_features).

        Parameters
        ----------
        tally : Tally
            The counts that the family reads.
        classes : ClassCounts
            The counts of the classes.
        """
        log_prob = np.empty_like(tally.sums)
        for rows in class_blocks(log_prob.shape):
            present, _, total = self._counts(tally, classes, rows)
            np.subtract(log(present), np.log(total), out=log_prob[rows])
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
        weights = np.empty_like(tally.sums)
        offset = np.empty(len(weights))
        required = None
        for rows in class_blocks(weights.shape):
            present, absent, total = self._counts(tally, classes, rows)
            # log(1 − p) from the counts: 1 − exp(log p) would lose it where p is near 1
            log_total, log_absent = np.log(total), log(absent)
            log_absent -= log_total
            certain = np.isneginf(log_absent)
            if certain.any():  # 1 − p = 0: the feature must be present, and then adds log p = 0
                if required is None:
                    required = np.zeros(weights.shape, dtype=bool)
                required[rows] = certain
                log_absent[certain] = 0.0
            offset[rows] = log_absent.sum(axis=1)
            part = weights[rows]
            np.subtract(log(present), log_total, out=part)
            part -= log_absent
        return Linear(weights=weights, offset=offset, threshold=self.threshold, required=required)

    def without(self, tally: FeatureSums, classes: ClassCounts) -> PresenceWithout:
        """The leave-one-out form; see :meth:`Family.without`.

        Parameters
        ----------
        tally : Tally
            The counts that the family reads.
        classes : ClassCounts
            The counts of the classes.
        """
        total = classes.count[:, None]
        yes, no = self.smoothing()
        absent = total - tally.sums
        absent[(absent < 0.0) | is_residue(absent, np.broadcast_to(total, absent.shape))] = 0.0
        present = np.minimum(tally.sums, total)
        return PresenceWithout(
            present=present,
            absent=absent,
            rows=classes.count,
            yes=np.atleast_1d(np.asarray(yes, dtype=np.float64)),
            no=np.atleast_1d(np.asarray(no, dtype=np.float64)),
            threshold=0.5 if self.threshold is None else self.threshold,
        )
