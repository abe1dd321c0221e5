"""A column of numbers, each class with some pooled rows of all classes.

With n_c rows of class c, k_ca of them at atom a and k_c at none, the mass of a value in a class is

    M_c(x) = k_ca at an atom a,  k_c f_c(x) beside them,

f_c a density, and with s rows of all classes

    p'(x|c) = (M_c(x) + s Σ_c M_c(x) / n) / (n_c + s).

The mixture is a distribution. It bounds the log-ratios of the column by what its counts support
(the rule of succession): log p'(x|c) − log p'(x|c') ≤ log((n + s)(n_c' + s) / (s (n_c + s))). A
class without a row of a kind is not ruled out by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.contract.class_statistics import TINY, GaussianEstimate
from tallybayes.families.contract.density import LearningDensity, TunableDensity
from tallybayes.families.contract.family import less, sums_of_others
from tallybayes.families.numeric.atoms import Atoms
from tallybayes.families.numeric.gaussian_density import GaussianDensity
from tallybayes.families.priors.prior_and_posteriors import PriorAndPosteriors
from tallybayes.parameters import Description, ImproperPrior, Laws, PooledLess, PooledTerms
from tallybayes.parameters.formula import LawMixture, NumberLaw
from tallybayes.tally import UNIT_ROWS, GridCounts, Moments, RowWeights

__all__ = ["Pooled", "mixed", "mixture_weights"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def mixed(mass: Array, n: Array, rows: float) -> Array:
    """log p'(x | c) of log M, (…, n_classes), and n_c shaped alike; 0 where x has no mass in any
    class: it then adds nothing."""
    top = mass.max(axis=-1, keepdims=True)
    some = np.isfinite(top)
    least = TINY * max(rows, 1.0)  # a share is finite where no row is left
    share = rows / np.maximum(n.sum(axis=-1, keepdims=True), least)
    if some.all():
        mass = np.exp(mass - top)
        pooled = share * mass.sum(axis=-1, keepdims=True)
        found: Array = np.log(mass + pooled) + top - np.log(n + rows)
        return found
    top = np.where(some, top, 0.0)
    mass = np.exp(mass - top)
    pooled = np.where(some, share * mass.sum(axis=-1, keepdims=True), 1.0)
    return np.where(some, np.log(mass + pooled) + top - np.log(n + rows), 0.0)


def mixture_weights(of_class: Array, n: Array, rows: float) -> Array:
    """p'(· | c) as a mixture: the probability of a draw from the distribution of each class.

    Parameters
    ----------
    of_class : float64 array (n_classes, n_parts)
        Rows of each class in each part of the mixture.
    n : float64 array (n_classes,)
        n_c, all rows of the class.
    rows : float
        s.

    Returns
    -------
    float64 array (n_classes, n_parts)
    """
    share = rows / max(float(n.sum()), TINY)
    return np.asarray((of_class + share * of_class.sum(axis=0)) / (n + rows)[:, None])


@dataclass(frozen=True, eq=False)
class Pooled(TunableDensity, LearningDensity):
    """A density, beside atoms or not, with rows of all classes.

    Parameters
    ----------
    density : GaussianDensity
        Of the values at no atom.
    atoms : Atoms
    rows : float
        s.
    """

    density: GaussianDensity
    atoms: Atoms
    rows: float = 1.0

    @classmethod
    def read(cls, family: GaussianEstimate, moments: Moments, grid: GridCounts) -> Pooled:
        """The density of one column without atoms."""
        density = GaussianDensity.read(family, moments, grid)
        return cls(density, Atoms.none(len(moments.n)), family.pooled_rows)

    @classmethod
    def beside_atoms(
        cls, family: GaussianEstimate, grid: GridCounts, cells: NDArray[np.bool_]
    ) -> Pooled:
        """The density of the values of one column that are not in `cells` of the grid, beside the
        probabilities of those that are."""
        atoms, rest = Atoms.split(grid, cells)
        return cls(GaussianDensity.of_grid(family, rest), atoms, family.pooled_rows)

    @cached_property
    def n(self) -> Array:
        """n_c, float64 (n_classes,)."""
        return np.asarray(self.density.own.n + self.atoms.counts.sum(axis=1))

    @cached_property
    def weights(self) -> tuple[Array, Array]:
        """p'(· | c) as a mixture: the probability of each atom, float64 (n_classes, n_atoms), and
        of a draw from the density of each class, (n_classes, n_classes)."""
        atoms = mixture_weights(self.atoms.counts, self.n, self.rows)
        return atoms, mixture_weights(np.diag(self.density.own.n), self.n, self.rows)

    def scaled(self, factor: float) -> Pooled:
        """The density of the same rows with `factor` times their weights."""
        atoms = replace(self.atoms, counts=factor * self.atoms.counts)
        return Pooled(self.density.scaled(factor), atoms, factor * self.rows)

    def learned(self, x: float, k: int, weight: float) -> Pooled:
        """The density after a row of value x and class k is added, atoms being the same values."""
        at = int(self.atoms.cell(np.array([x]))[0])
        if at == len(self.atoms):
            return Pooled(self.density.learned(x, k, weight), self.atoms, self.rows)
        counts = self.atoms.counts.copy()
        counts[k, at] += weight
        return replace(self, atoms=replace(self.atoms, counts=counts))

    def forgotten(self, x: float, k: int, weight: float) -> Pooled | None:
        """The density after such a row is taken out; see :meth:`LearningDensity.forgotten`."""
        at = int(self.atoms.cell(np.array([x]))[0])
        if at == len(self.atoms):
            density = self.density.forgotten(x, k, weight)
            return None if density is None else replace(self, density=density)
        counts = self.atoms.counts.copy()
        counts[k, at] = max(counts[k, at] - weight, 0.0)
        return replace(self, atoms=replace(self.atoms, counts=counts))

    def faded(self, factor: float) -> Pooled:
        """The density after every row has lost weight; see :meth:`LearningDensity.faded`."""
        atoms = replace(self.atoms, counts=factor * self.atoms.counts)
        return replace(self, density=self.density.faded(factor), atoms=atoms)

    @property
    def tunable(self) -> Pooled | None:
        return None if self.density.tunable is None else self

    def under(self, strength: float) -> Pooled:
        return replace(self, density=self.density.under(strength))

    def log_evidence(self) -> float:
        """log p(values at no atom) under the density's prior, in nats. The rows of all classes are
        not part of it: they are as many in every reading."""
        return self.density.log_evidence()

    def log_evidence_of(self, grid: GridCounts) -> float:
        if len(self.atoms):
            raise ImproperPrior(
                "is read as a density beside atoms",
                "declare Binned() or Gaussian(prior=NormalInverseGamma(…)) for it",
            )
        return self.density.log_evidence_of(grid)

    def prior_and_posteriors(self, column: str) -> PriorAndPosteriors:
        return self.density.prior_and_posteriors(column)

    def distribution(self, laws: Laws) -> Any:
        law = self.density.distribution(laws)
        return laws.beside_atoms(law, self.atoms.values, *self.weights)

    @property
    def what(self) -> str:
        shown = ", ".join(f"{value:.6g}" for value in self.atoms.values.tolist()[:3])
        if not shown:
            return self.density.what
        n = len(self.atoms)
        more = ", …" if n > 3 else ""
        return f"{self.density.what} beside {n} atom{'s' * (n > 1)} ({shown}{more})"

    def _mass(self, x: Array, density: Array, counts: Array, rest: Array) -> Array:
        """log M_c(x), (…, n_rows, n_classes), where `density` is log f_c(x), `counts` (n_classes,
        n_atoms) and `rest` k_c."""
        with np.errstate(divide="ignore"):
            mass = density + np.log(rest)
            at = self.atoms.cell(x)
            there = at < len(self.atoms)
            if there.any():
                mass[..., there, :] = np.log(counts).T[at[there]]
        return mass

    def log_density(self, x: Array) -> Array:
        density = self.density.log_density(x)
        return mixed(
            self._mass(x, density, self.atoms.counts, self.density.own.n), self.n, self.rows
        )

    def drawn(self, x: Array, rng: Any, n: int) -> Array:
        density = self.density.drawn(x, rng, n)
        return mixed(
            self._mass(x, density, self.atoms.counts, self.density.own.n), self.n, self.rows
        )

    def pooled(self) -> PooledTerms | None:
        own = self.density.quadratic()
        if own is None:
            return None
        with np.errstate(divide="ignore"):
            return PooledTerms(
                low=self.atoms.low,
                high=self.atoms.high,
                atoms=np.ascontiguousarray(np.log(self.atoms.counts.T)),
                constant=own.constant + np.log(self.density.own.n),
                mean=own.mean,
                scale=own.scale,
                shift=np.log(self.n + self.rows),
                share=self.rows / max(float(self.n.sum()), TINY),
            )

    def law(self) -> NumberLaw:
        with np.errstate(divide="ignore"):
            mixture = LawMixture(
                low=self.atoms.low,
                high=self.atoms.high,
                atoms=np.log(self.atoms.counts.T),
                rest=np.log(self.density.own.n),
                shift=np.log(self.n + self.rows),
                share=self.rows / max(float(self.n.sum()), TINY * max(self.rows, 1.0)),
            )
        return replace(self.density.law(), mixture=mixture)

    def pooled_less(self) -> PooledLess | None:
        own, family = self.density.own, self.density.family
        plain = family.prior is None and family.estimate != "posterior"
        if not plain or family.var_smoothing or not self.density.all_have_spread:
            return None
        return PooledLess(
            counts=np.ascontiguousarray(self.atoms.counts.T),
            rest=own.n,
            squares=np.maximum(own.squares, 0.0),
            n=self.n,
            rows=self.rows,
            less=family.ddof,
            least=family.min_variance,
        )

    def described(self) -> Description:
        what, rows, values = self.density.described()
        if not len(self.atoms):
            return Description(what, rows, values)
        shares = self.atoms.counts / np.maximum(self.n, 1e-300)[:, None]
        names = [f"share of {value:.6g}" for value in self.atoms.values.tolist()]
        return Description(self.what, [*rows, *names], np.concatenate([values, shares], axis=1))

    def without(self, x: Array, own: Index, weight: Array) -> Array:
        at = self.atoms.cell(x)
        beside = at == len(self.atoms)
        rows = np.arange(len(x))
        mass = self._mass(x, self.density.log_density(x), self.atoms.counts, self.density.own.n)
        n = np.repeat(self.n[None, :], len(x), axis=0)
        n[rows, own] = less(n[rows, own], weight)
        with np.errstate(divide="ignore"):
            k, c = rows[~beside], own[~beside]
            mass[k, c] = np.log(less(self.atoms.counts[c, at[k]], weight[k]))
            if beside.any():
                k, c = rows[beside], own[beside]
                scores = self.density.without(x[k], c, weight[k])
                left = np.repeat(self.density.own.n[None, :], len(k), axis=0)
                left[np.arange(len(k)), c] = less(self.density.own.n[c], weight[k])
                mass[k] = scores + np.log(left)
        return mixed(mass, n, self.rows)

    # ---- how well it tells the classes apart -----------------------------------------------------
    def likelihood(
        self, grid: GridCounts, classes: Array, row_weights: RowWeights = UNIT_ROWS
    ) -> float:
        """L of :mod:`tallybayes.families.lookup.leave_one_out`, each grid cell at one value. What
        classes without spread borrow from others is taken as it is."""
        return sum(self._blocks(grid, classes, row_weights.by_class))

    def _blocks(self, grid: GridCounts, classes: Array, row: Array) -> Iterator[float]:
        values, counts = grid.values(), grid.counts
        step = max(1, (1 << 18) // len(classes))
        for start in range(0, len(values), step):
            block = slice(start, start + step)
            yield self._likelihood(values[block], counts[:, block], classes, row)

    def _likelihood(self, x: Array, counts: Array, classes: Array, row: Array) -> float:
        one = np.minimum(counts, row)
        k, s, n = self.density.own.n[:, None], self.rows, self.n[:, None]
        mass = self._mass(x, self.density.log_density(x), self.atoms.counts, k[:, 0]).T
        left = self.density.own_without(x[None, :], np.arange(len(n))[:, None], one)
        with np.errstate(divide="ignore", invalid="ignore"):
            left += np.log(less(np.broadcast_to(k, one.shape), one))
            at = self.atoms.cell(x)
            there = at < len(self.atoms)
            rest = less(self.atoms.counts[:, at[there]], one[:, there])
            left[:, there] = np.log(rest)
            top = np.maximum(mass, left).max(axis=0)
            top = np.where(np.isfinite(top), top, 0.0)
            mass, left = np.exp(mass - top), np.exp(left - top)
            prior = classes[:, None]
            scale = prior / (n + s)
            pooled = s * (sums_of_others(mass) + left) / (n.sum() - one)
            others = sums_of_others(scale * mass) + pooled * sums_of_others(scale)
            own = np.maximum(prior - one, 0.0) * (left + pooled) / (less(n + 0.0 * one, one) + s)
            share = np.log(own / (own + others))
            share = np.where(np.isnan(share), np.log(classes / classes.sum())[:, None], share)
        used = counts > 0.0
        return float((counts[used] * share[used]).sum())
