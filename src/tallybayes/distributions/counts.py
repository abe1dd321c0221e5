"""Class conditional of counts that share a total, such as the words of a document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, gammaln

from tallybayes.distributions.arrays import ArrayConditional
from tallybayes.distributions.base import Index, shown, size_of, stats

__all__ = ["Multinomial", "totals_of"]

Array = NDArray[np.float64]


def totals_of(total_count: Any) -> NDArray[np.int64]:
    """Totals of draws: a whole number, or one a draw."""
    total = np.asarray(total_count)
    if total.dtype.kind not in "iu" or (total < 0).any() or total.ndim > 1:
        raise ValueError(
            f"total_count is a whole number from 0 on, or one for each row, got {total_count!r}"
        )
    return total.astype(np.int64)


def _log_orders(total: Array, each: Array) -> Array:
    """log N! / Π x_j!, (n_rows, 1), of N and Σ_j log x_j!."""
    return np.asarray(gammaln(np.maximum(total, 0.0) + 1.0) - each)[:, None]


class Multinomial(ArrayConditional):
    """Counts x with Σx = N drawn one after the other by θ_c; N is given and not modelled.

    ``log_prob`` is that of one sequence with these counts, Σ_j x_j log θ_cj, which is what the
    model scores. With ``coefficient=True`` it is that of the counts in any order, log N! / Πx_j!
    more: the same for every class.

    Parameters
    ----------
    log_probs : float64 array (n_classes, n_features)
        log θ.
    classes : array (n_classes,)
        Labels of the classes.
    features : sequence
        Names of the features.

    Attributes
    ----------
    probs, log_probs : float64 arrays (n_classes, n_features)
    """

    dtype: np.dtype[Any] = np.dtype(np.int64)
    shares_total = True

    def column(self, name: Any) -> Multinomial:
        return self

    def __init__(self, log_probs: Array, classes: NDArray[Any], features: Sequence[Any]) -> None:
        super().__init__(classes, features)
        self.log_probs: Array = np.asarray(log_probs)
        self.probs: Array = np.exp(self.log_probs)

    def _marginal(self, index: list[int]) -> Multinomial:
        raise TypeError(
            f"the columns {shown(self.features)} are counts that share a total, which is given and "
            "not modelled: some of them alone have no distribution; take all of them"
        )

    def _cells_a_row(self, sparse: bool) -> int:
        return len(self.classes) if sparse else len(self.features) + len(self.classes)

    def _log_prob(self, x: NDArray[Any], coefficient: bool = False) -> Array:
        out = self._sequence(x)
        out[(x < 0.0).any(axis=1)] = -np.inf
        if coefficient:
            possible = np.maximum(x, 0.0)
            out += _log_orders(x.sum(axis=1), gammaln(possible + 1.0).sum(axis=1))
        return out

    def _log_prob_of_sparse(self, x: Any, coefficient: bool = False) -> Array:
        x = x.copy()
        x.sum_duplicates()
        row = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
        out = self._sequence(x)
        out[row[x.data < 0.0]] = -np.inf
        if coefficient:
            each = gammaln(np.maximum(x.data, 0.0) + 1.0)
            total = np.asarray(x.sum(axis=1)).ravel()
            together = np.bincount(row, weights=each, minlength=len(out)).astype(np.float64)
            out += _log_orders(total, together)
        return out

    def _sequence(self, x: Any) -> Array:
        """Σ_j x_j log θ_cj; 0 times −inf is 0: a word that does not occur."""
        none = np.isneginf(self.log_probs)
        out = np.asarray(x @ np.where(none, 0.0, self.log_probs).T, dtype=np.float64)
        if none.any():
            out[np.asarray((x > 0) @ none.T.astype(np.float64)) > 0.0] = -np.inf
        return out

    def log_prob(self, x: Any, *, coefficient: bool = False) -> Array:
        """log p(x | c) given Σx, in nats.

        Parameters
        ----------
        x : array-like (…, n_features), or sparse matrix (n_rows, n_features)
            Counts.
        coefficient : bool
            Counts in any order, rather than one sequence with these counts.

        Returns
        -------
        float64 array (…, n_classes)
            −inf for what cannot be, such as a negative count.

        Raises
        ------
        ValueError
            For other columns than the distribution has.
        """
        return self._by_block(x, coefficient=coefficient)

    def prob(self, x: Any, *, coefficient: bool = False) -> Array:
        """p(x | c), like :meth:`log_prob`."""
        return np.asarray(np.exp(self.log_prob(x, coefficient=coefficient)))

    def draw(
        self, codes: Index, rng: Any, total_count: ArrayLike = 1, **more: Any
    ) -> NDArray[np.int64]:
        totals = totals_of(total_count)
        if totals.ndim and len(totals) != len(codes):
            raise ValueError(f"total_count has {len(totals)} values for {len(codes)} draws")
        totals = np.broadcast_to(totals, (len(codes),))
        share = self.probs / self.probs.sum(axis=1, keepdims=True)
        x = np.empty((len(codes), share.shape[1]), dtype=np.int64)
        for i, (k, n) in enumerate(zip(codes, totals, strict=True)):
            x[i] = rng.multinomial(n, share[k])
        return x

    def sample(
        self,
        n: int | None = None,
        random_state: Any = None,
        *,
        total_count: ArrayLike = 1,
        **more: Any,
    ) -> NDArray[Any]:
        """Draw events of every class.

        Parameters
        ----------
        n : int, optional
            Draws of each class; one, without an axis for it, by default.
        random_state : None, int, RandomState or Generator
            The seed, or the generator, of the draws.
        total_count : int or array-like (n,)
            Σx, of all draws or of each.
        **more : Any
            Parameters of the class conditional.

        Returns
        -------
        int64 array (n, n_classes, n_features), or (n_classes, n_features)
            Draws of each class; one draw without the first axis.
        """
        totals = totals_of(total_count)
        if totals.ndim:
            if len(totals) != (count := size_of(n)):
                raise ValueError(f"total_count has {len(totals)} values for n={count} draws")
            totals = np.repeat(totals, len(self.classes))
        return super().sample(n, random_state, total_count=totals)

    def mean(self, total_count: float = 1) -> Array:
        """Nθ, float64 (n_classes, n_features).

        Parameters
        ----------
        total_count : float, optional
            The total of an event; see :meth:`log_prob`.
        """
        return total_count * self.probs

    def variance(self, total_count: float = 1) -> Array:
        """Nθ(1 − θ), float64 (n_classes, n_features).

        Parameters
        ----------
        total_count : float, optional
            The total of an event; see :meth:`log_prob`.
        """
        return total_count * self.probs * (1.0 - self.probs)

    def stddev(self, total_count: float = 1) -> Array:
        """√(Nθ(1 − θ)), float64 (n_classes, n_features).

        Parameters
        ----------
        total_count : float, optional
            The total of an event; see :meth:`log_prob`.
        """
        return np.sqrt(self.variance(total_count))

    def entropy(self, total_count: int = 1, *, coefficient: bool = False, **more: Any) -> Array:
        """Entropy of a sequence of N, or with ``coefficient=True`` of its counts, in nats, float64
        (n_classes,)."""
        n = int(totals_of(total_count))
        if not coefficient:
            return np.asarray(n * entr(self.probs).sum(axis=1))
        share = self.probs / self.probs.sum(axis=1, keepdims=True)
        return np.array([float(stats().multinomial.entropy(n, p)) for p in share])
