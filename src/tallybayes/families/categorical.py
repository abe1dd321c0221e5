"""Categorical features: P(x_j = a | c), equations (10), (11) of article 1 in docs/origin.md.

    P_α(x_j = a | c) = (n_cja + α) / (n_cj + α·N_j)

with n_cja the weight of level a in class c, n_cj = Σ_a n_cja and N_j the number of levels, declared
or found. The same expression with n_cja = 0, α / (n_cj + α·N_j), serves a level that the column
does not have. A class without any observation in a column uses the pooled counts of all classes.

α is short for a prior: the posterior mean under Dirichlet(strength = α·N_j), and the posterior mode
under Dirichlet.from_mode(uniform, strength = α·N_j), are both this expression. Under a prior
Dirichlet(S·q) the mean is (n_cja + S·q_a) / (n_cj + S), the mode (n_cja + S·q_a − 1) / (n_cj + S −
N_j). A row has one level, so with the probabilities integrated out it is predicted by the mean.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.cells import CellLaw
from tallybayes.families.contract import Context, CountedLevels, LevelFamily, LevelReading
from tallybayes.families.priors import (
    Dirichlet,
    Estimate,
    cannot_estimate,
    check_estimate,
    hold_choice,
    log,
)
from tallybayes.schema import Kind
from tallybayes.score import CellsWithout, Lookup, Unseen
from tallybayes.tally import ClassCounts, LevelCounts

__all__ = ["Categorical"]


Array = NDArray[np.float64]


def _levels(given: Any) -> tuple[Hashable, ...]:
    """Declared levels as a tuple.

    Raises
    ------
    ValueError
        If there is none, one is a missing value or no scalar, or one is named twice.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError(f"levels is a list of the values of a column, got {given!r}")
    levels = tuple(given.tolist() if isinstance(given, np.ndarray) else given)
    if not levels:
        raise ValueError("levels is empty: name the values that the column can take")
    for level in levels:
        if level is None or type(level).__name__ == "NAType" or level != level:
            raise ValueError(
                f"levels names {level!r}, a missing value: leave it out "
                "(NaiveBayes(missing='level') takes a missing value as evidence)"
            )
        if not isinstance(level, Hashable):
            raise ValueError(
                f"levels names {level!r}, which is not a number, string, boolean or date"
            )
    known = [(isinstance(level, bool), level) for level in levels]  # True equals 1
    if len(set(known)) < len(known):
        _, twice = next(level for level in known if known.count(level) > 1)
        raise ValueError(f"levels names {twice!r} twice: name each level once")
    return levels


@dataclass(frozen=True)
class Categorical(LevelFamily):
    """Categorical likelihood with additive smoothing, or under a Dirichlet prior.

    Parameters
    ----------
    alpha : float, optional
        α of equation (11), in rows; 0 is the maximum likelihood of equation (10). By default the
        model's alpha, or 1.
    unseen : {"smooth", "ignore", "error"}, optional
        A level that the column does not have: smoothed as above, left out of the product, or
        refused. By default the model's `unseen`, or "smooth".
    levels : sequence, optional
        For a column of a table: its levels, whether they occur or not. Others are refused. Kept as
        a tuple.
    prior : Dirichlet, optional
        In place of alpha.
    estimate : {"mean", "map", "mle", "posterior"}
        The posterior mean, its mode, or maximum likelihood, a ValueError where no class has a
        value; "posterior" is the mean.
    """

    kind: ClassVar[Kind] = "levels"
    alpha: float | None = None
    unseen: Unseen | None = None
    levels: Sequence[Hashable] | None = None
    prior: Dirichlet | None = None
    estimate: Estimate = "mean"

    @property
    def names_levels_only(self) -> bool:
        return self.alpha is None and self.prior is None and self.unseen is None

    def __post_init__(self) -> None:
        if self.levels is not None:
            object.__setattr__(self, "levels", _levels(self.levels))
        check_estimate(self, Dirichlet)
        if self.unseen is not None:
            hold_choice(self, "unseen", Unseen)
        if self.estimate == "map" and self.prior is not None and self.prior.base == "marginal":
            raise ValueError(
                "the mode under a marginal base is undefined; use estimate='mean' with it"
            )

    @property
    def needs_values(self) -> bool:
        return self.needs_levels

    @property
    def needs_levels(self) -> bool:
        """Whether a prior has a probability for each level, which are not declared."""
        prior = self.prior
        alike = prior is None or prior.base is None or isinstance(prior.base, str)
        return not alike and self.levels is None

    @property
    def follows(self) -> bool:
        return self.alpha is None and self.prior is None and self.estimate != "mle"

    def likelihood(self, counted: CountedLevels, context: Context) -> LevelReading:
        cells, has_missing = counted.cells(), int(counted.missing is not None)
        law = self.law(cells, counted.n_levels + has_missing, context.alpha)
        if counted.counts.shape[1] > len(counted.levels):  # a cell of levels that are not named
            law = law.take(np.delete(np.arange(cells.shape[1]), has_missing + len(counted.levels)))
        if self.estimate == "map":
            law = replace(law, mode=True)
        what = f"categorical, {counted.n_levels} level{'s'[: counted.n_levels != 1]}"
        return LevelReading(counted.levels, law, what, grows=self.prior is None)

    def smoothing(self, n_levels: int, alpha: float = 1.0) -> tuple[float, Array | None]:
        """Strength S and base q of (k_a + S·q_a) / (n + S); q is None for the marginal shares.

        Parameters
        ----------
        n_levels : int
            How many levels there are.
        alpha : float
            Used where the family has none.
        """
        even = np.full(n_levels, 1.0 / max(n_levels, 1))
        if self.estimate == "mle":
            return 0.0, even
        if self.prior is None:
            return (alpha if self.alpha is None else self.alpha) * n_levels, even
        if self.prior.base == "marginal":
            return self.prior.strength, None
        concentration = self.prior.concentration(n_levels)
        if self.estimate == "map":
            concentration = self.prior.excess(n_levels)
        total = float(concentration.sum())
        return total, concentration / total if total > 0.0 else even

    def law(self, counts: Array, n_levels: int | None = None, alpha: float = 1.0) -> CellLaw:
        """The law of one column.

        Parameters
        ----------
        counts : float64 array (n_classes, n_cells)
            The levels' counts, and maybe a last cell without counts for levels never seen. Under a
            prior that takes all levels alike, some of the levels may share a cell, which then
            counts in the total only.
        n_levels : int, optional
            N_j; all cells by default.
        alpha : float
            Used where the family has none.

        Raises
        ------
        ValueError
            For maximum likelihood where no class has a value.
        """
        if self.estimate == "mle" and not counts.any():
            raise cannot_estimate(self, "the column")
        cells = counts.shape[1]
        n_levels = cells if n_levels is None else n_levels
        strength, base = self.smoothing(n_levels, alpha)
        if base is not None and cells > n_levels:  # a level never seen is like one of equal share
            base = np.append(base, np.full(cells - n_levels, 1.0 / max(n_levels, 1)))
        elif base is not None:
            base = base[:cells]
        total = counts.sum(axis=1, keepdims=True)
        return CellLaw(counts=counts, total=total, n_cells=n_levels, strength=strength, base=base)

    def _smoothed(self, tally: LevelCounts) -> tuple[Array, Array, Array]:
        """Numerators (n_classes, cells), denominators (n_classes, n_features) and the numerator of
        a level never seen (n_features,)."""
        counts, totals = tally.counts, tally.totals()
        blank = totals == 0.0
        if blank.any():
            empty = blank.all(axis=0)
            if self.estimate == "mle" and empty.any():
                raise cannot_estimate(self, f"column {int(empty.argmax())}")
            cells = np.repeat(blank, tally.n_levels, axis=1)
            counts = np.where(cells, counts.sum(axis=0), counts)
            totals = np.where(blank, totals.sum(axis=0), totals)
        pseudo: Array | float
        if self.prior is None:
            alpha = 0.0 if self.estimate == "mle" else 1.0 if self.alpha is None else self.alpha
            unseen = np.full(tally.n_features, float(alpha))
            pseudo, strength = alpha, alpha * tally.n_levels
        else:
            pseudo, strength, unseen = self._pseudo(tally)
        counts, totals = counts + pseudo, totals + strength
        nothing = totals == 0.0  # no observation in any class and no smoothing: every level alike
        if nothing.any():
            counts = np.where(np.repeat(nothing, tally.n_levels, axis=1), 1.0, counts)
            totals = np.where(nothing, np.maximum(tally.n_levels, 1), totals)
        return counts, totals, unseen

    def _pseudo(self, tally: LevelCounts) -> tuple[Array, Array, Array]:
        """Pseudo-counts (cells,), their sums and that of a level never seen (n_features,)."""
        laws = [
            self.law(np.pad(tally.column(j), ((0, 0), (0, 1))), int(n))
            for j, n in enumerate(tally.n_levels)
        ]
        each = [law.strength * law.base_with_all() for law in laws]
        pseudo = np.concatenate([part[:-1] for part in each]) if each else np.empty(0)
        strength = np.array([law.strength for law in laws])
        return pseudo, strength, np.array([part[-1] for part in each])

    def log_probabilities(self, tally: LevelCounts) -> Array:
        """log P_α(x_j = a | c), float64 (n_classes, cells), in the tally's order of cells.

        Parameters
        ----------
        tally : Tally
            The counts that the family reads.
        """
        counts, totals, _ = self._smoothed(tally)
        log_prob: Array = log(counts) - np.repeat(np.log(totals), tally.n_levels, axis=1)
        return log_prob

    def parameters(self, tally: LevelCounts, classes: ClassCounts) -> Lookup:
        """The parameters, as a score kind; see :meth:`Family.parameters`.

        Parameters
        ----------
        tally : Tally
            The counts that the family reads.
        classes : ClassCounts
            The counts of the classes.
        """
        counts, totals, unseen = self._smoothed(tally)
        d = tally.n_features
        start = tally.start + np.arange(d + 1)
        table = np.empty((tally.n_classes, int(start[-1])))
        last = start[1:] - 1
        seen = np.ones(table.shape[1], dtype=bool)
        seen[last] = False
        log_totals = np.log(totals)
        table[:, seen] = log(counts) - np.repeat(log_totals, tally.n_levels, axis=1)
        table[:, last] = log(np.broadcast_to(unseen, totals.shape)) - log_totals
        if self.unseen == "ignore":
            table[:, last] = 0.0
        return Lookup(
            table=table,
            start=start,
            offset=np.zeros(tally.n_classes),
            unseen=self.unseen or "smooth",
        )

    def without(self, tally: LevelCounts, classes: ClassCounts) -> CellsWithout:
        """The leave-one-out form; see :meth:`Family.without`.

        Parameters
        ----------
        tally : Tally
            The counts that the family reads.
        classes : ClassCounts
            The counts of the classes.
        """
        levels = tally.n_levels.tolist()
        laws = (self.law(tally.column(j), max(n, 1)) for j, n in enumerate(levels))
        return CellsWithout(laws=tuple(laws))
