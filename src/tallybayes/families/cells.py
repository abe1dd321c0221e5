"""Probabilities of cells (levels, or bins of a number) from their counts, with every row or without
one.

    P(a | c) = (k_ca + S·q_a) / (n_c + S)

k_ca is the weight of cell a in class c, spread over neighbouring cells where a density is smoothed;
n_c is the weight of the column's values in class c; q is the base measure and S its strength, in
rows: the posterior mean under a Dirichlet(S·q) prior. With q_a = 1/N and S = αN this is equation
(11) of article 1 in docs/origin.md. A class without a value uses the counts of all
classes together.

Leaving a row of class c and cell a out changes k_ca and n_c. It changes the probabilities of other
classes only if they use counts of all classes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.priors import Beta, PriorAndPosteriors, log_betas, log_counts_evidence
from tallybayes.score import ImproperPrior
from tallybayes.tally import UNIT_ROWS, RowWeights
from tallybayes.tally.base import less

__all__ = ["CellLaw", "alike", "conditional", "law_likelihood", "log_ratio"]

Array = NDArray[np.float64]


# ---- the law of a column's cells -----------------------------------------------------------------
def log_ratio(part: Array, whole: Array, n_cells: int | Array) -> Array:
    """log(part / whole), −inf for 0; 1/n_cells where there is nothing and no smoothing at all."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Array = np.log(part) - np.log(whole)
    empty = whole == 0.0
    if empty.any():
        nothing = np.broadcast_to(empty, ratio.shape)
        even = -np.log(np.maximum(n_cells, 1).astype(np.float64))
        ratio[nothing] = np.broadcast_to(even, ratio.shape)[nothing]
    return ratio


@dataclass(frozen=True, eq=False, kw_only=True)
class CellLaw:
    """The probabilities of a column's cells in each class.

    Parameters
    ----------
    counts : float64 array (n_classes, n_cells)
        k_ca. A cell for values never seen may stand among them, with count 0.
    total : float64 array (n_classes, 1)
        n_c. Here and below there may be one for each cell, where columns stand side by side.
    n_cells : int
        N: cells that a value can be in.
    strength : float
        S, in rows.
    base : float64 array (n_cells,), optional
        q. By default the shares of the cells among all classes, with one row spread evenly besides:
        q_a = (m_a + 1/N) / (m + 1).
    rows : float64 array (n_cells,), optional
        m_a where k is spread, else Σ_c k_ca.
    centre : float64 array (n_cells,), optional
        The share of a row that stays in its own cell; 1 where k is not spread.
    row : float
        The weight of the one row that a default `base` spreads evenly.
    width : int
        How many neighbours on either side k is spread over.
    prior_cells : int, optional
        How many of the cells, the first ones, have a share in the prior; all but a last one for
        values never seen, by default.
    mode : bool
        Whether the probabilities are the mode under a prior, which then has one row more of each
        cell than S·q.
    """

    counts: Array
    total: Array
    n_cells: int | Array
    strength: float | Array
    base: Array | None = None
    rows: Array | None = None
    centre: Array | float = 1.0
    row: float | Array = 1.0
    width: int = 0
    prior_cells: int | None = None
    mode: bool = False

    def scaled(self, factor: float) -> CellLaw:
        """The law with a prior `factor` times as strong."""
        return replace(self, strength=self.strength * factor)

    @classmethod
    def joined(cls, laws: Sequence[CellLaw]) -> CellLaw:
        """Columns side by side as one law; none of them spreads its counts or follows the marginal
        shares."""
        widths = [law.counts.shape[1] for law in laws]

        def each(values: list[Any]) -> Array:
            return np.repeat(np.array(values, dtype=np.float64), widths)

        return cls(
            counts=np.concatenate([law.counts for law in laws], axis=1),
            total=np.concatenate(
                [np.broadcast_to(law.total, law.counts.shape) for law in laws], axis=1
            ),
            n_cells=each([law.n_cells for law in laws]),
            strength=each([law.strength for law in laws]),
            base=np.concatenate([law.base for law in laws if law.base is not None]),
        )

    def take(self, cells: NDArray[np.integer]) -> CellLaw:
        """The law of some cells, which may repeat: a cell a row, for rows of different weight."""
        rows = self.counts.sum(axis=0) if self.rows is None else self.rows
        return replace(
            self,
            counts=self.counts[:, cells],
            base=None if self.base is None else self.base[cells],
            rows=rows[cells],
            total=self.total if self.total.shape[1] == 1 else self.total[:, cells],
            n_cells=self.n_cells if isinstance(self.n_cells, int) else self.n_cells[cells],
            strength=self.strength if isinstance(self.strength, float) else self.strength[cells],
            centre=self.centre if isinstance(self.centre, float) else self.centre[cells],
        )

    def _base(self, weight: Array | float) -> Array:
        """q without a row of this weight in the cell; weight 0: q as it is."""
        if self.base is not None:
            return self.base
        rows = self.counts.sum(axis=0) if self.rows is None else self.rows
        everyone = self.total.sum(axis=0)
        share = less(rows, weight) + self.row / self.n_cells
        return np.asarray(share / (less(everyone, weight) + self.row))

    def base_with_all(self) -> Array:
        """q with every row counted, float64 (n_cells,)."""
        return self._base(0.0)

    def _log(self, counts: Array, total: Array, base: Array) -> Array:
        return log_ratio(counts + self.strength * base, total + self.strength, self.n_cells)

    @property
    def others_change(self) -> bool:
        """Whether taking a row out changes the scores of the other classes, because they use the
        counts of all classes."""
        return self.base is None or bool((self.total == 0.0).any())

    def log_prob(self) -> Array:
        """log P(a | c), float64 (n_classes, n_cells), in nats."""
        blank = self.total == 0.0
        counts, total = self.counts, self.total
        if blank.any():
            counts = np.where(blank, counts.sum(axis=0), counts)
            total = np.where(blank, total.sum(axis=0), total)
        return self._log(counts, total, self._base(0.0))

    @classmethod
    def log_probs(cls, laws: Sequence[CellLaw]) -> list[Array]:
        """:meth:`log_prob` of each law; those of the same shape are computed together."""
        found: dict[int, Array] = {}
        forms = [(law.counts.shape, law.total.shape, law.base is None) for law in laws]
        for places in alike(forms, [law.counts.size for law in laws]):
            some = [laws[i] for i in places]
            total = np.stack([law.total for law in some])
            if total.shape[2] > 1 or not total.all():
                found |= {i: laws[i].log_prob() for i in places}
                continue
            scalars = zip(*((law.n_cells, law.row, law.strength) for law in some), strict=True)
            n_cells, row, strength = (
                np.array([[value] for value in values], dtype=np.float64) for values in scalars
            )
            if some[0].base is not None:
                base = np.stack([law.base for law in some if law.base is not None])
            else:
                rows = np.stack([k.counts.sum(axis=0) if k.rows is None else k.rows for k in some])
                base = (less(rows, 0.0) + row / n_cells) / (less(total.sum(axis=1), 0.0) + row)
            part = np.empty((len(some), *some[0].counts.shape))
            for law, prior, out in zip(some, strength * base, part, strict=True):
                np.add(law.counts, prior, out=out)
            with np.errstate(divide="ignore"):
                np.log(part, out=part)
                part -= np.log(total + strength[:, :, None])
            found |= zip(places, part, strict=True)
        return [found[i] for i in range(len(laws))]

    def other_without(self, weight: Array | float) -> Array:
        """log P(a | c) in the classes that a row in cell a is not of, after it is taken out.

        Parameters
        ----------
        weight : float or float64 array (n_cells,)
            The row's weight.

        Returns
        -------
        float64 array (n_classes, n_cells)
        """
        counts, total = self.counts, self.total
        blank = total == 0.0
        if blank.any():
            everyone = np.broadcast_to(total.sum(axis=0), counts.shape[1:])
            pooled = less(self.pooled, weight * np.asarray(self.centre), everyone)
            counts = np.where(blank, pooled, counts)
            total = np.where(blank, less(everyone, weight), total)
        return self._log(counts, total, self._base(weight))

    def own_without(self, weight: Array | float) -> Array:
        """log P(a | c) in class c after a row of class c and cell a is taken out.

        Parameters
        ----------
        weight : float, or float64 array that broadcasts to (n_classes, n_cells)
            The row's weight.

        Returns
        -------
        float64 array (n_classes, n_cells)
        """
        return self._log(*self.own_left(weight))

    def own_left(self, weight: Array | float) -> tuple[Array, Array, Array]:
        """k_ca, n_c and q of class c after a row of class c and cell a is taken out: arrays that
        broadcast to (n_classes, n_cells)."""
        moved = weight * np.asarray(self.centre)
        # a cell may be what other cells leave of the total: absent entries, missing values
        counts = less(self.counts, moved, self.total)
        left = less(np.broadcast_to(self.total, counts.shape), weight)
        gone = left == 0.0
        if gone.any():
            everyone = np.broadcast_to(self.total.sum(axis=0), counts.shape)
            pooled = less(np.broadcast_to(self.pooled, counts.shape), moved, everyone)
            counts = np.where(gone, pooled, counts)
            left = np.where(gone, less(everyone, weight), left)
        return counts, left, self._base(weight)

    def drawn(self, cells: NDArray[np.intp], rng: Any, n: int) -> Array:
        """log P(a | c) of cells (n_used,), drawn from the posterior: float64 (n, n_classes,
        n_used). Each cell is drawn by itself, from the Beta that the Dirichlet gives it, and in the
        same way whatever other cells are."""
        law = self.take(cells)
        counts, total = law.counts, np.broadcast_to(law.total, law.counts.shape)
        blank = total == 0.0
        if blank.any():
            counts = np.where(blank, counts.sum(axis=0), counts)
            total = np.where(blank, law.total.sum(axis=0), total)
        mine = counts + law.strength * law.base_with_all()
        rest = np.maximum(total + law.strength - mine, 0.0)
        return log_betas(mine, rest, cells, int(rng.integers(2**63)), n)

    # ---- the prior, and what the rows make of it -------------------------------------------------
    def log_evidence(self) -> float:
        """log P(counts) under the prior, in nats, every class by itself.

        Raises
        ------
        ImproperPrior
            Where the counts are smoothed by each other, or not at all.
        """
        if self.base is None:
            raise ImproperPrior(
                "is read as a smoothed density",
                "declare Binned() or Gaussian(prior=NormalInverseGamma(…)) for it",
            )
        if self.mode:
            prior = self._concentration()
            return float(log_counts_evidence(prior, self.counts[:, : len(prior)]).sum())
        if self.strength == 0.0:
            raise ImproperPrior(
                "is not smoothed",
                "give an alpha above 0, or declare Categorical(prior=Dirichlet(…))",
            )
        # without the cell for levels never seen, which stands beside the distribution
        n = int(self.n_cells)
        concentration = self.strength * self.base[:n]
        rows = self.counts[:, :n]
        rest = self.strength - concentration.sum()
        if rest > 1e-9 * self.strength:  # a second level that has not come yet
            concentration, rows = np.append(concentration, rest), np.pad(rows, ((0, 0), (0, 1)))
        return float(log_counts_evidence(concentration, rows).sum())

    def _concentration(self) -> Array:
        """The Dirichlet prior of the cells that have a share in it."""
        n = self.counts.shape[1] - 1 if self.prior_cells is None else self.prior_cells
        return np.asarray(self.strength * self.base_with_all()[:n] + float(self.mode))

    def prior_and_posteriors(self, cell: int, parameter: str) -> PriorAndPosteriors:
        """The Beta distributions of the probability of a cell, which is called `parameter`.

        Raises
        ------
        ImproperPrior
            Where the cell, or all others, have no prior.
        """
        added = self._concentration()
        if not (added[cell] > 0.0 and added.sum() > added[cell]):
            raise ImproperPrior("is not smoothed", "give an alpha above 0, and two levels")
        prior = Beta(float(added[cell]), float(np.delete(added, cell).sum()))
        blank = self.total == 0.0  # such a class is like all classes together
        counts = np.where(blank, self.counts.sum(axis=0), self.counts)
        posteriors = [prior.updated(k[cell], np.delete(k, cell).sum()) for k in counts]
        return PriorAndPosteriors(parameter, prior, list(posteriors))

    @property
    def pooled(self) -> Array:
        """k of all classes together, float64 (n_cells,)."""
        return np.asarray(self.counts.sum(axis=0))


# ---- how well one column alone separates the classes, by exact leave-one-out on its counts -------
# Each row is predicted from the tally without it:
#
#     L = Σ_c Σ_b n_cb · log p(c | b),   own counts taken one row smaller
#
# A row is an effective row of its class, u_c = Σw²/Σw of its weights, or all that the cell holds
# if that is less: the tally does not know which rows are in a cell.
#
# L is the leave-one-out conditional log-likelihood, in nats times weight; it needs no second pass
# over rows and no measure for x, so that families of densities and of probabilities compare.
def conditional(
    weight: Array, full: Array, own: Array, classes: Array, row_weights: RowWeights = UNIT_ROWS
) -> float:
    """L from log-probabilities of x.

    Parameters
    ----------
    weight : float64 array (n_classes, n_cells)
        Rows of each class in each cell.
    full, own : float64 arrays (n_classes, n_cells)
        log p(x | c) with every row, and without one row of class c in the cell.
    classes : float64 array (n_classes,)
        Class counts, smoothed as the class prior is.
    row_weights : RowWeights
    """
    prior = classes[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        full = np.log(prior) + full
        own = np.log(np.maximum(prior - np.minimum(weight, row_weights.by_class), 0.0)) + own
    top = np.maximum(full.max(axis=0), own.max(axis=0))
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        everyone = np.exp(full - top)
        mine = np.exp(own - top)
        rest = np.maximum(everyone.sum(axis=0) - everyone, 0.0)
        share = np.where(weight > 0.0, np.log(mine / (rest + mine)), 0.0)
    share = np.where(np.isnan(share), -np.inf, share)
    used = weight > 0.0
    return float((weight[used] * share[used]).sum())


def law_likelihood(
    rows: Array, law: CellLaw, classes: Array, row_weights: RowWeights = UNIT_ROWS
) -> float:
    """L of the cells of a column; `rows` (n_classes, n_cells) counts them unspread."""
    own = law.own_without(np.minimum(rows, row_weights.by_class))
    return conditional(rows, law.log_prob(), own, classes, row_weights)


# ---- tables of many columns, computed together where they have the same shape --------------------
MAX_CELLS = 1 << 16
"""Numbers of the tables that are computed together: few enough to stay in the cache."""


def alike(
    keys: Sequence[Hashable], sizes: Sequence[int], at_once: int = MAX_CELLS
) -> Iterator[list[int]]:
    """The places of equal keys, in parts of at most so many numbers, or of one table.

    Parameters
    ----------
    keys : sequence of hashable
    sizes : sequence of int
        How many numbers the table of each has; equal where the keys are.
    at_once : int
        Numbers of a part.
    """
    places: dict[Hashable, list[int]] = {}
    for i, key in enumerate(keys):
        places.setdefault(key, []).append(i)
    for same in places.values():
        step = max(1, at_once // max(1, sizes[same[0]]))
        for start in range(0, len(same), step):
            yield same[start : start + step]
