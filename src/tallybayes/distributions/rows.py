"""Class conditionals of rows of numbers: independent normals and yes/no features."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from tallybayes.distributions.arrays import ArrayConditional
from tallybayes.distributions.base import Index, Levels, stats

__all__ = ["IndependentBernoulli", "IndependentNormal"]

Array = NDArray[np.float64]


class IndependentNormal(ArrayConditional):
    """x_j | c ~ N(μ_cj, σ²_cj), every column by itself: a normal with a diagonal covariance.

    Parameters
    ----------
    mean, stddev : float64 arrays (n_classes, n_features)
        Means of the features in each class.
    classes : array (n_classes,)
        Labels of the classes.
    features : sequence
        Names of the features.

    Attributes
    ----------
    frozen : scipy.stats.norm(mean, stddev)
        The columns one by one, (n_classes, n_features): cdf, ppf, interval and the rest.

    Examples
    --------
    >>> from tallybayes import GaussianNB
    >>> model = GaussianNB().fit([[0.0], [2.0], [5.0], [9.0]], ["a", "a", "b", "b"])
    >>> model.class_conditional_
    <tallybayes.distributions.IndependentNormal batch_shape=[2] event_shape=[1] dtype=float64 \
classes=['a', 'b'] features=[0]>
    >>> model.class_conditional_.mean().tolist()
    [[1.0], [7.0]]
    """

    def __init__(
        self, mean: Array, stddev: Array, classes: NDArray[Any], features: Sequence[Any]
    ) -> None:
        super().__init__(classes, features)
        self._mean = np.asarray(mean)
        self._stddev = np.asarray(stddev)

    @cached_property
    def frozen(self) -> Any:
        """The columns one by one, as scipy.stats.norm."""
        return stats().norm(self._mean, self._stddev)

    def _marginal(self, index: list[int]) -> IndependentNormal:
        features = [self.features[j] for j in index]
        return IndependentNormal(
            self._mean[:, index], self._stddev[:, index], self.classes, features
        )

    def _log_prob(self, x: NDArray[Any]) -> Array:
        return np.asarray(self.frozen.logpdf(x[:, None, :]).sum(axis=2))

    def draw(self, codes: Index, rng: Any, **more: Any) -> Array:
        return rng.normal(self._mean[codes], self._stddev[codes])  # type: ignore[no-any-return]

    def mean(self) -> Array:
        """μ, float64 (n_classes, n_features)."""
        return self._mean.copy()

    def stddev(self) -> Array:
        """σ, float64 (n_classes, n_features)."""
        return self._stddev.copy()

    def variance(self) -> Array:
        """σ², float64 (n_classes, n_features)."""
        return self._stddev**2

    def entropy(self, **more: Any) -> Array:
        """Differential entropy Σ_j ½ log(2πe σ²_cj), in nats, float64 (n_classes,)."""
        return np.asarray(self.frozen.entropy().sum(axis=1))


class IndependentBernoulli(ArrayConditional):
    """x_j | c is 1 with probability p_cj and 0 otherwise, every column by itself.

    Parameters
    ----------
    log_present, log_absent : float64 arrays (n_classes, n_features)
        log p and log(1 − p), each exact where the other is near 0.
    classes : array (n_classes,)
        Labels of the classes.
    features : sequence
        Names of the features.
    threshold : float, optional
        x is read as [x > threshold], as the model reads it. Without it x is 0 or 1, and anything
        else has probability 0.

    Attributes
    ----------
    probs : float64 array (n_classes, n_features)
        p.
    frozen : scipy.stats.bernoulli(p)
        The columns one by one.
    """

    dtype: np.dtype[Any] = np.dtype(np.int64)

    def __init__(
        self,
        log_present: Array,
        log_absent: Array,
        classes: NDArray[Any],
        features: Sequence[Any],
        threshold: float | None = None,
    ) -> None:
        super().__init__(classes, features)
        self._log_present = log_present
        self._log_absent = log_absent
        self.threshold = threshold
        self.probs: Array = np.exp(log_present)

    @cached_property
    def frozen(self) -> Any:
        """The columns one by one, as scipy.stats.bernoulli."""
        return stats().bernoulli(self.probs)

    def as_levels(self) -> Levels | None:
        if len(self.features) > 1:
            return None
        probs = np.stack([1.0 - self.probs[:, 0], self.probs[:, 0]], axis=1)
        at = self.threshold
        names = ["0", "1"] if at is None or at == 0.0 else [f"≤ {at:g}", f"> {at:g}"]
        values = (0.0, 1.0) if at is None else (at, np.nextafter(at, np.inf))
        return Levels(names, probs, values, at)

    def _marginal(self, index: list[int]) -> IndependentBernoulli:
        return IndependentBernoulli(
            self._log_present[:, index],
            self._log_absent[:, index],
            self.classes,
            [self.features[j] for j in index],
            self.threshold,
        )

    def _log_prob(self, x: NDArray[Any]) -> Array:
        if self.threshold is not None:
            x = np.where(np.isnan(x), np.nan, x > self.threshold)
        x = x[:, None, :]
        each = np.where(x == 1.0, self._log_present, np.where(x == 0.0, self._log_absent, -np.inf))
        return np.asarray(np.where(np.isnan(x), np.nan, each).sum(axis=2))

    def _log_prob_of_sparse(self, x: Any) -> Array:
        if self.threshold is not None and self.threshold < 0.0:
            return super()._log_prob_of_sparse(x)
        x = x.copy()
        x.sum_duplicates()
        wrong = np.isnan(x.data)
        if self.threshold is None:
            wrong |= (x.data != 0.0) & (x.data != 1.0)
        if wrong.any():
            return super()._log_prob_of_sparse(x)
        x.data = (x.data > (self.threshold or 0.0)).astype(np.float64)
        never, always = np.isneginf(self._log_present), np.isneginf(self._log_absent)
        absent = np.where(always, 0.0, self._log_absent)
        # all features absent, then the present ones in their place
        out = np.asarray(x @ (np.where(never, 0.0, self._log_present) - absent).T)
        out += absent.sum(axis=1)
        lacking = always.sum(axis=1) - x @ always.T.astype(np.float64)
        out[(x @ never.T.astype(np.float64) > 0.0) | (lacking > 0.0)] = -np.inf
        return out

    def _cells_a_row(self, sparse: bool) -> int:
        return len(self.classes) if sparse else super()._cells_a_row(sparse)

    def draw(self, codes: Index, rng: Any, **more: Any) -> NDArray[np.int64]:
        p = self.probs[codes]
        return (rng.uniform(size=p.shape) < p).astype(np.int64)  # type: ignore[no-any-return]

    def mean(self) -> Array:
        """p, float64 (n_classes, n_features)."""
        return self.probs.copy()

    def variance(self) -> Array:
        """p(1 − p), float64 (n_classes, n_features)."""
        return np.asarray(np.exp(self._log_present + self._log_absent))

    def stddev(self) -> Array:
        """√(p(1 − p)), float64 (n_classes, n_features)."""
        return np.sqrt(self.variance())

    def entropy(self, **more: Any) -> Array:
        """−Σ_j p log p + (1 − p) log(1 − p), in nats, float64 (n_classes,)."""
        absent = np.exp(self._log_absent)
        return np.asarray((entr(self.probs) + entr(absent)).sum(axis=1))
