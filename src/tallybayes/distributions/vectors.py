"""A group of correlated columns of a table as a distribution, one for each class."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import psi

from tallybayes.distributions.arrays import ArrayConditional
from tallybayes.distributions.base import Index, stats
from tallybayes.engines.memory.scores.correlated import CorrelatedPart
from tallybayes.families.priors.gamma_ratios import log_rising
from tallybayes.tables import Empty, Table

__all__ = ["GroupOfNumbers"]

Array = NDArray[np.float64]


class PartOfGroup:
    """Some columns of a group as it scores them: the others are missing values.

    Parameters
    ----------
    whole : CorrelatedPart or PartOfGroup
    index : list of int
        Which of its columns.
    """

    whole: CorrelatedPart | PartOfGroup
    index: list[int]

    def __init__(self, whole: CorrelatedPart | PartOfGroup, index: list[int]) -> None:
        self.whole, self.index = whole, index
        self.columns: tuple[str, ...] = tuple(whole.columns[j] for j in index)

    def scored(self, values: Array) -> Array:
        """log p(x | c), (n_rows, n_classes), of rows (n_rows, n_columns), NaN for missing
        values."""
        wide = np.full((len(values), len(self.whole.columns)), np.nan)
        wide[:, self.index] = values
        return self.whole.scored(wide)

    def contributions(self, x: Table) -> dict[str, Array]:
        """What each column adds, (n_rows, n_classes), in nats, by name."""
        nothing = Empty(x.n_rows)
        others = {n: nothing for n in self.whole.columns if n not in self.columns}
        shares = self.whole.contributions(Table({**x.columns, **others}, x.n_rows, x.named))
        return {name: shares[name] for name in self.columns}


class GroupOfNumbers(ArrayConditional):
    """x | c ~ N(μ_c, Σ_c), or a multivariate Student-t if the parameters are integrated out; events
    are rows of the group's columns. A missing value, NaN, is left out: the other columns have their
    marginal distribution.

    Parameters
    ----------
    part : CorrelatedPart
        What the model reads the column by.
    classes : array (n_classes,)
        Labels of the classes.

    Attributes
    ----------
    what : str
        The family.
    frozen : list of scipy.stats.multivariate_normal or multivariate_t
        One a class.
    """

    part: CorrelatedPart | PartOfGroup

    def __init__(self, part: CorrelatedPart, classes: NDArray[Any]) -> None:
        super().__init__(classes, part.columns)
        self.part = part
        self.what: str = part.likelihood.what  # type: ignore[attr-defined]
        shape = part.likelihood.shape  # type: ignore[attr-defined]
        self._centre: Array = shape.centre
        self._root: Array = shape.deviation[:, :, None] * shape.factor
        self._scale: Array = shape.covariance
        self._log_det: Array = shape.log_det
        self.freedom: Array | None = shape.freedom

    def _marginal(self, index: list[int]) -> GroupOfNumbers:
        twin = copy(self)
        twin.__dict__.pop("frozen", None)
        ArrayConditional.__init__(twin, self.classes, [self.features[j] for j in index])
        twin.part = PartOfGroup(self.part, index)
        twin._centre = self._centre[:, index]
        twin._scale = self._scale[:, index][:, :, index]
        twin._root = np.asarray(np.linalg.cholesky(twin._scale), dtype=np.float64)
        twin._log_det = np.linalg.slogdet(twin._scale).logabsdet
        return twin

    @cached_property
    def frozen(self) -> list[Any]:
        """The classes one by one, of scipy.stats."""
        each = zip(self._centre, self._scale, strict=True)
        if self.freedom is None:
            return [stats().multivariate_normal(mean, cov) for mean, cov in each]
        return [
            stats().multivariate_t(mean, cov, df=nu)
            for (mean, cov), nu in zip(each, self.freedom, strict=True)
        ]

    def _log_prob(self, x: NDArray[Any]) -> Array:
        infinite = np.isinf(x)
        scores = self.part.scored(np.where(infinite, 0.0, x))
        scores[infinite.any(axis=1)] = -np.inf
        return scores

    def draw(self, codes: Index, rng: Any, **more: Any) -> Array:
        z = rng.standard_normal((len(codes), len(self.features)))
        if self.freedom is not None:
            nu = self.freedom[codes]
            z = z * np.sqrt(nu / rng.chisquare(nu))[:, None]
        return np.asarray(self._centre[codes] + np.einsum("nij,nj->ni", self._root[codes], z))

    def mean(self) -> Array:
        """E x, float64 (n_classes, n_columns); NaN where it does not exist."""
        if self.freedom is None:
            return self._centre.copy()
        return np.where(self.freedom[:, None] > 1.0, self._centre, np.nan)

    def covariance(self) -> Array:
        """Cov x, float64 (n_classes, n_columns, n_columns); of a Student-t NaN where it does not
        exist."""
        if self.freedom is None:
            return self._scale.copy()
        nu = self.freedom[:, None, None]
        exists = nu > 2.0
        return np.where(exists, self._scale * nu / np.where(exists, nu - 2.0, 1.0), np.nan)

    def variance(self) -> Array:
        """Var x of each column, float64 (n_classes, n_columns)."""
        return np.array(np.einsum("kjj->kj", self.covariance()))

    def stddev(self) -> Array:
        """The roots of :meth:`variance`."""
        return np.sqrt(self.variance())

    def entropy(self, **more: Any) -> Array:
        """Differential entropy, in nats, float64 (n_classes,)."""
        d = len(self.features)
        if self.freedom is None:
            return np.asarray(0.5 * (d * (1.0 + np.log(2.0 * np.pi)) + self._log_det))
        half, nu = 0.5 * (self.freedom + d), self.freedom
        constant = 0.5 * (d * np.log(nu * np.pi) + self._log_det) - log_rising(0.5 * nu, 0.5 * d)
        return np.asarray(constant + half * (psi(half) - psi(0.5 * nu)))
