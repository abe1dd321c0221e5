"""Gaussians with a full covariance, each row taken out of the counts: in closed form.

Leave-one-out is a change of rank one: with a = x − m, c = nw / (n − w), Σ = sS + E,

    S − c a aᵀ,   |Σ − s c a aᵀ| = |Σ| (1 − s c aᵀΣ⁻¹a),
    (Σ − s c a aᵀ)⁻¹ = Σ⁻¹ + s c uuᵀ / (1 − s c aᵀu),   u = Σ⁻¹a

(determinant lemma; Sherman and Morrison, 1950). The ridge changes by some 1/n of itself, of which
the first order is taken. Rows for which this could be off by more than 1e-12 (singular covariances,
a class of few rows, a row that makes most of its class's spread) are read again without the row.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.contract.class_statistics import Cells, Statistics
from tallybayes.families.multivariate.covariance import Scatter, log_density, log_of_distance
from tallybayes.tally import CrossMoments, Moments
from tallybayes.tally.base import RESIDUE

if TYPE_CHECKING:
    from tallybayes.families.multivariate.gaussian_group import GaussianGroup

__all__ = ["LeftOut"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

MIN_EIGENVALUE = 1e-4  # smallest eigenvalue of correlations with which an inverse is precise enough
MAX_FIRST_ORDER_CHANGE = 1e-6  # relative change of a covariance of which the square is neglected
MIN_REMAINING_SHARE = 1e-3
"""The share of a class's spread that a row that is taken out has to leave."""

MAX_UNKNOWN_SHARE = 1e-9
"""The share of what is left that the rounding of the mean may be."""

MAX_INTERMEDIATE = 1 << 20  # numbers of the intermediate results of rows that are read again


class LeftOut:
    """The leave-one-out likelihood of a group of columns for rows that were counted.

    Parameters
    ----------
    group : GaussianGroup
    """

    def __init__(self, group: GaussianGroup) -> None:
        self.group = group

    @cached_property
    def _pooled(self) -> CrossMoments:
        """All classes together."""
        return self.group.tally.pooled()

    @cached_property
    def _columns(self) -> Moments:
        """The columns of all classes together, one by one."""
        return self._pooled.columns()

    @cached_property
    def _inverse(self) -> tuple[Array, Array, Mask]:
        """Σ⁻¹ (n_classes, d, d), log |Σ| and for which classes the closed form is precise."""
        shape = self.group.shape
        terms = self.group.terms(tuple(range(self.group.d)))
        inverse = np.swapaxes(terms.rotation, -1, -2) @ terms.rotation
        few = self.group.scales(self.group.own.n, self.group.everyone.n)[2]
        fine = (shape.least > MIN_EIGENVALUE) & ~few & (self.group.own.n > 0.0)
        return inverse, shape.log_det, fine & (self.group.family.min_variance == 0.0)

    def scores(self, x: Array, own: Index, weight: Array) -> Array:
        """log p(x | c), (n_rows, n_classes), in nats, of rows (n_rows, d) without missing values;
        `own` is the class of each, `weight` its weight."""
        squares = np.einsum("jj->j", self.group.everyone.squares)
        everyone = Statistics(self.group.everyone.n, self.group.everyone.mean, squares)

        def recount(at: Cells) -> tuple[Array, Array, Array]:
            return self._columns.without(np.zeros_like(at[0]), at[1], x[at], weight[at[0]])

        left = everyone.without(x, weight[:, None], recount)
        ridge = self.group.ridge(left.variance)
        scores = np.empty((len(x), len(self.group.own.n)))
        again = np.empty(scores.shape, dtype=bool)
        for k in range(scores.shape[1]):
            scores[:, k], again[:, k] = self._others(x, k, ridge)
            mine = np.flatnonzero(own == k)
            scores[mine, k], again[mine, k] = self._downdated(
                x[mine], k, weight[mine], ridge[mine], left.n[mine, 0]
            )
        rows, classes = np.nonzero(again)
        step = max(1, MAX_INTERMEDIATE // (self.group.d * self.group.d))
        for start in range(0, len(rows), step):
            i, of = rows[start : start + step], classes[start : start + step]
            taken = np.where(own[i] == of, weight[i], 0.0)
            scores[i, of] = self._again(x[i], of, taken, weight[i])
        return scores

    def _others(self, x: Array, k: int, ridge: Array) -> tuple[Array, Mask]:
        """log p(x | k) of rows that class k does not hold, after the ridge has changed; and for
        which of them this is not precise enough."""
        inverse, log_det, fine = self._inverse
        apart = x - self.group.shape.centre[k]
        u = apart @ inverse[k]
        moved = ridge - self.group.ridge(self.group.everyone.variance)
        diagonal = np.einsum("jj->j", inverse[k])
        distance = (apart * u).sum(axis=1) - (moved * u**2).sum(axis=1)
        freedom = None if self.group.shape.freedom is None else self.group.shape.freedom[k]
        log = log_of_distance(distance, log_det[k] + moved @ diagonal, self.group.d, freedom)
        return log, (np.abs(moved) @ diagonal > MAX_FIRST_ORDER_CHANGE) | ~fine[k]

    def _downdated(
        self, x: Array, k: int, weight: Array, ridge: Array, everyone: Array
    ) -> tuple[Array, Mask]:
        """log p(x | k) of rows that class k holds, each after it is taken out; and for which of
        them this is not precise enough."""
        inverse, log_det, fine = self._inverse
        if not fine[k] or not len(x):
            return np.zeros(len(x)), np.ones(len(x), dtype=bool)
        n = self.group.own.n[k]
        left = n - weight
        some = left > RESIDUE * n
        left = np.where(some, left, 1.0)
        strength = n if self.group.prior is None else self.group.prior.strength + n
        rest = strength - np.where(some, weight, 0.0)
        was = self.group.scales(self.group.own.n, self.group.everyone.n)[0][k]
        scale, freedom, few = self.group.scales(left, everyone)
        grown = scale / was
        apart = x - self.group.shape.centre[k]
        u = apart @ inverse[k]
        distance = (apart * u).sum(axis=1)
        share = was * strength * weight / rest
        shrunk = 1.0 - share * distance
        # the mean is known to its last place, and differences from it to no more
        centre, deviation = self.group.shape.centre[k], self.group.shape.deviation[k]
        place = (np.spacing(np.abs(centre)) / deviation).max(initial=0.0)
        place *= np.sqrt(self.group.d / self.group.shape.least[k])
        unknown = share * (2.0 * np.sqrt(distance) + place) * place
        again = ~some | few | (shrunk < MIN_REMAINING_SHARE) | (left < MIN_REMAINING_SHARE * n)
        again |= unknown > MAX_UNKNOWN_SHARE * shrunk
        shrunk = np.where(again, 1.0, shrunk)
        moved = ridge / grown[:, None] - self.group.ridge(self.group.everyone.variance)
        diagonal = np.einsum("jj->j", inverse[k]) + (share / shrunk)[:, None] * u**2
        log = (
            log_det[k]
            + np.log(shrunk)
            + self.group.d * np.log(grown)
            + (moved * diagonal).sum(axis=1)
        )
        distance = distance / shrunk - (moved * (u / shrunk[:, None]) ** 2).sum(axis=1)
        distance = distance / grown * (strength / rest) ** 2  # from the mean of the others
        again |= (np.abs(moved) * diagonal).sum(axis=1) > MAX_FIRST_ORDER_CHANGE
        return log_of_distance(distance, log, self.group.d, freedom), again

    def _again(self, x: Array, k: Index, taken: Array, weight: Array) -> Array:
        """log p(x | k) of rows, read from the sums that are left when each is taken out: `taken` of
        its class k, `weight` of all together."""

        def of_class(at: Cells) -> tuple[Array, Array, Array]:
            return self.group.tally.without(k[at], x[at], taken[at])

        def of_all(at: Cells) -> tuple[Array, Array, Array]:
            return self._pooled.without(np.zeros_like(k[at]), x[at], weight[at])

        own = Scatter(*(part[k] for part in self.group.own))
        left = own.without(x, taken, of_class)
        there = taken > 0.0
        own = Scatter(
            np.where(there, left.n, own.n),
            np.where(there[:, None], left.mean, own.mean),
            np.where(there[:, None, None], left.squares, own.squares),
        )
        return log_density(
            x, self.group.expected(own, self.group.everyone.without(x, weight, of_all))
        )
