"""The distribution of a column of numbers of a table in each class: draws, moments, entropy."""

from __future__ import annotations

import itertools
import warnings
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from tallybayes.distributions.base import Index, stats
from tallybayes.families.numeric.transforms import Transform
from tallybayes.parameters import Density

__all__ = ["BinsLaw", "Law", "MixtureLaw", "ScipyLaw", "TransformedLaw", "law_of"]

Array = NDArray[np.float64]

DISCRETE = {"poisson", "nbinom"}
MAX_COUNTS = 1 << 20  # that an entropy sums over
TAIL_PROBABILITY = 1e-15  # probability that a numerical integral leaves out on either side


class Law(ABC):
    """K one-dimensional distributions, one a class.

    Attributes
    ----------
    edges : float64 array (n_bins − 1,) or None
        Of bins.
    whole : bool
        Whether all values are whole numbers.
    """

    edges: Array | None = None
    whole = False

    @abstractmethod
    def draw(self, codes: Index, rng: Any) -> Array:
        """A number for each class index."""

    @abstractmethod
    def mean(self) -> Array:
        """float64 (n_classes,); NaN where there is none."""

    @abstractmethod
    def variance(self) -> Array:
        """float64 (n_classes,); NaN or infinite where there is none."""

    @abstractmethod
    def entropy(self) -> Array:
        """In nats, float64 (n_classes,)."""


class ScipyLaw(Law):
    """A distribution that scipy.stats has.

    Parameters
    ----------
    name : str
    parameters : float64 arrays (n_classes,)
        By scipy's names.

    Attributes
    ----------
    frozen : frozen distribution of scipy.stats
    """

    def __init__(self, name: str, **parameters: Array) -> None:
        self.distribution: Any = getattr(stats(), name)
        self.parameters = parameters
        self.frozen: Any = self.distribution(**parameters)
        self.whole: bool = name in DISCRETE

    def draw(self, codes: Index, rng: Any) -> Array:
        of_rows = {name: values[codes] for name, values in self.parameters.items()}
        drawn = self.distribution.rvs(**of_rows, size=len(codes), random_state=rng)
        return np.asarray(drawn, dtype=np.float64)

    def mean(self) -> Array:
        return np.asarray(self.frozen.mean())

    def variance(self) -> Array:
        return np.asarray(self.frozen.var())

    def entropy(self) -> Array:
        return np.asarray(self.frozen.entropy())


class TransformedLaw(Law):
    """x such that g(x), a transform, has a law of scipy.stats.

    Where g is bounded, the law of g has some probability beyond the bound: of no x, so that it is
    left out of draws and moments. Means exist for sure only where the tails of x are no heavier
    than a log-normal's; otherwise they are NaN.

    Parameters
    ----------
    law : ScipyLaw
        Of g.
    transform : Transform
    light : bool
        Whether g is Gaussian, rather than Student-t.
    """

    frozen = None

    def __init__(self, law: ScipyLaw, transform: Transform, light: bool) -> None:
        self.law = law
        self.transform = transform
        self.light = light

    def _each(self) -> list[Any]:
        n = len(next(iter(self.law.parameters.values())))
        return [
            self.law.distribution(**{name: v[k] for name, v in self.law.parameters.items()})
            for k in range(n)
        ]

    def draw(self, codes: Index, rng: Any) -> Array:
        of_rows = {name: values[codes] for name, values in self.law.parameters.items()}
        frozen = self.law.distribution(**of_rows)
        low, high = (frozen.cdf(bound) for bound in self.transform.bounds)
        share = rng.uniform(size=len(codes))
        return self.transform.backward(np.asarray(frozen.ppf(low + share * (high - low))))

    def _expected(self, of: Any) -> Array:
        """E of(x, log p(x)) under each class's law of x, normalised, float64 (n_classes,)."""
        from scipy.integrate import quad

        below, above = self.transform.bounds
        found = []
        for one in self._each():
            mass = one.cdf(above) - one.cdf(below)
            low = max(one.ppf(TAIL_PROBABILITY), np.nextafter(below, np.inf))
            high = min(one.isf(TAIL_PROBABILITY), np.nextafter(above, -np.inf))

            def weighed(g: float, one: Any = one, mass: float = mass) -> float:
                x = self.transform.backward(np.asarray(g))
                log_density = one.logpdf(g) + self.transform.log_slope(x) - np.log(mass)
                return float(one.pdf(g) / mass * of(float(x), float(log_density)))

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of slow convergence
                middle = [one.ppf(q) for q in (0.001, 0.1, 0.5, 0.9, 0.999)]
                points = [low, *(m for m in middle if low < m < high), high]
                parts = itertools.pairwise(points)
                found.append(sum(quad(weighed, a, b, limit=200)[0] for a, b in parts))
        return np.array(found)

    def _has_moments(self) -> bool:
        return self.light and (
            self.transform.kind == "log" or 0.0 <= self.transform.exponent <= 2.0
        )

    def mean(self) -> Array:
        if not self._has_moments():
            return np.full(len(self._each()), np.nan)
        return self._expected(lambda x, _: x)

    def variance(self) -> Array:
        if not self._has_moments():
            return np.full(len(self._each()), np.nan)
        return self._expected(lambda x, _: x * x) - self.mean() ** 2

    def entropy(self) -> Array:
        return -self._expected(lambda _, log_density: log_density)


class MixtureLaw(Law):
    """Atoms beside a mixture of the classes' densities, or of their probabilities of counts.

    Parameters
    ----------
    law : ScipyLaw
        The densities, or probabilities.
    values : float64 array (n_atoms,)
    atoms : float64 array (n_classes, n_atoms)
        The probability of each atom.
    weights : float64 array (n_classes, n_classes)
        The probability of a draw from the density of each class.
    """

    frozen = None

    def __init__(self, law: ScipyLaw, values: Array, atoms: Array, weights: Array) -> None:
        self.law = law
        self.values = values
        self.atoms = atoms
        self.weights = weights
        self.whole: bool = law.whole

    def draw(self, codes: Index, rng: Any) -> Array:
        shares = np.concatenate([self.atoms, self.weights], axis=1)[codes]
        cumulative = np.cumsum(shares, axis=1)
        at = rng.uniform(size=len(codes)) * cumulative[:, -1]
        drawn = (at[:, None] >= cumulative[:, :-1]).sum(axis=1)
        n = len(self.values)
        x = self.law.draw(np.maximum(drawn - n, 0), rng)
        return np.where(drawn < n, np.append(self.values, 0.0)[np.minimum(drawn, n)], x)

    def mean(self) -> Array:
        return np.asarray(self.atoms @ self.values + self.weights @ self.law.mean())

    def variance(self) -> Array:
        mean = self.mean()[:, None]
        density = self.law.variance() + (self.law.mean() - mean) ** 2
        of_atoms = self.atoms * (self.values - mean) ** 2
        return np.asarray((self.weights * density).sum(axis=1) + of_atoms.sum(axis=1))

    def entropy(self) -> Array:
        """Of the atom, or the density beside them, by Gauss–Legendre quadrature between quantiles
        of the classes' densities; of counts the sum over them, but for their tails."""
        frozen = self.law.frozen
        if self.whole:
            most = min(float(np.max(frozen.isf(TAIL_PROBABILITY))), MAX_COUNTS)
            probs = np.asarray(frozen.pmf(np.arange(most + 1.0)[:, None])) @ self.weights.T
            return np.asarray(entr(self.atoms).sum(axis=1) + entr(probs).sum(axis=0))
        tails = np.array([10.0**-k for k in range(1, 16)])
        cuts = np.stack([frozen.ppf(0.5), *(f(t) for t in tails for f in (frozen.ppf, frozen.isf))])
        edges = np.unique(cuts)
        node, weight = np.polynomial.legendre.leggauss(16)
        half = 0.5 * np.diff(edges)[:, None]
        x = (edges[:-1, None] + half * (1.0 + node)).ravel()
        density = np.asarray(frozen.pdf(x[:, None])) @ self.weights.T
        return np.asarray(entr(self.atoms).sum(axis=1) + (half * weight).ravel() @ entr(density))


class BinsLaw(Law):
    """A number in bins. Within a bin the classes are alike: a value is drawn as it occurs in all
    classes together.

    Parameters
    ----------
    probs : float64 array (n_classes, n_bins)
    edges : float64 array (n_bins − 1,)
    values, weight : float64 arrays (n_values,)
        The values of the column, ascending, and how much of each was counted.
    bins : index array (n_values,)
        The bin that each is in, ascending.
    """

    last: Index
    frozen = None

    def __init__(
        self, probs: Array, edges: Array, values: Array, weight: Array, bins: Index
    ) -> None:
        self.probs = probs
        self.edges: Array = edges
        self.values = values
        self.bins = bins
        mass = np.bincount(bins, weights=weight, minlength=probs.shape[1])
        self.within: Array = weight / np.where(mass > 0.0, mass, 1.0)[bins]  # P(value | bin)
        self.last = np.cumsum(np.bincount(bins, minlength=probs.shape[1]))  # of each bin, one on

    def draw(self, codes: Index, rng: Any) -> Array:
        cumulative = np.cumsum(self.probs, axis=1)
        share = rng.uniform(size=len(codes)) * cumulative[codes, -1]
        drawn = (share[:, None] >= cumulative[codes, :-1]).sum(axis=1)
        # the bins' values one after the other, each bin 1 wide
        place = self.bins + np.concatenate(
            [
                np.minimum(np.cumsum(self.within[self.bins == b]), 1.0)
                for b in range(self.probs.shape[1])
            ]
        )
        at = np.searchsorted(place, drawn + rng.uniform(size=len(codes)), side="right")
        at = np.minimum(at, np.maximum(self.last[drawn] - 1, 0))
        return self.values[at] if len(self.values) else np.full(len(codes), np.nan)

    def _moment(self, of_values: Array) -> Array:
        if not len(self.values):
            return np.full(len(self.probs), np.nan)
        each = np.bincount(
            self.bins, weights=self.within * of_values, minlength=self.probs.shape[1]
        )
        return np.asarray(self.probs @ each / self.probs.sum(axis=1))

    def mean(self) -> Array:
        return self._moment(self.values)

    def variance(self) -> Array:
        return np.array(
            [self._moment((self.values - m) ** 2)[k] for k, m in enumerate(self.mean())]
        )

    def entropy(self) -> Array:
        """Of the bin."""
        return np.asarray(entr(self.probs).sum(axis=1))


class _EveryLaw:
    """Makes the laws of this module; see :class:`tallybayes.parameters.Laws`."""

    scipy = ScipyLaw
    transformed = TransformedLaw
    beside_atoms = MixtureLaw


def law_of(density: Density) -> Law:
    """The law of a column that is read as a density.

    Raises
    ------
    TypeError
        For a density that has none.
    """
    law = density.distribution(_EveryLaw())
    assert isinstance(law, Law)
    return law
