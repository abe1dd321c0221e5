"""Class conditional of rows of categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from tallybayes.distributions.arrays import ArrayConditional
from tallybayes.distributions.base import Index, Levels

__all__ = ["IndependentCategorical"]

Array = NDArray[np.float64]


class IndependentCategorical(ArrayConditional):
    """x_j | c is level a with probability P(x_j = a | c), every column by itself.

    Levels are codes from 0 on, or, where they were declared, values.

    Parameters
    ----------
    log_probs : list of float64 arrays (n_classes, n_levels of the column)
        Log-probabilities of the levels.
    log_unseen : float64 array (n_classes, n_features)
        What the model gives a level that the column does not have, beside the levels' 1; 0 leaves
        the column out of the product, −inf rules it out.
    classes : array (n_classes,)
        Labels of the classes.
    features : sequence
        Names of the features.
    values : sequence of arrays (n_levels of the column,), optional
        The declared levels of each column.

    Attributes
    ----------
    probs : list of float64 arrays (n_classes, n_levels of the column)
    """

    values: list[list[Any]] | None

    def __init__(
        self,
        log_probs: Sequence[Array],
        log_unseen: Array,
        classes: NDArray[Any],
        features: Sequence[Any],
        values: Sequence[NDArray[Any]] | None = None,
    ) -> None:
        super().__init__(classes, features)
        self._tables = [
            np.concatenate([table, log_unseen[:, [j]]], axis=1) for j, table in enumerate(log_probs)
        ]
        self.probs: list[Array] = [np.exp(table) for table in log_probs]
        self.values = None if values is None else [v.tolist() for v in values]
        self.dtype: np.dtype[Any] = np.dtype(np.int64) if values is None else np.dtype(object)

    def as_levels(self) -> Levels | None:
        if len(self.features) > 1:
            return None
        values = list(range(self.probs[0].shape[1])) if self.values is None else self.values[0]
        return Levels(values, self.probs[0], values)

    def _marginal(self, index: list[int]) -> IndependentCategorical:
        tables = [self._tables[j] for j in index]
        return IndependentCategorical(
            [table[:, :-1] for table in tables],
            np.stack([table[:, -1] for table in tables], axis=1),
            self.classes,
            [self.features[j] for j in index],
            None if self.values is None else [np.array(self.values[j], object) for j in index],
        )

    def _read(self, x: Any) -> NDArray[Any]:
        return np.asarray(x, dtype=np.float64 if self.values is None else object)

    def _codes(self, column: NDArray[Any], j: int) -> Index:
        """Entries of column j's table; −1 for what is not a level at all."""
        last = self._tables[j].shape[1] - 1
        if self.values is not None:
            at = {level: i for i, level in enumerate(self.values[j])}
            return np.array([at.get(v, last) for v in column.tolist()], dtype=np.intp)
        whole = (column >= 0.0) & (column == np.floor(column)) & np.isfinite(column)
        return np.where(whole, np.minimum(np.where(whole, column, 0.0), last), -1).astype(np.intp)

    def _log_prob(self, x: NDArray[Any]) -> Array:
        out = np.zeros((len(x), len(self.classes)))
        for j, table in enumerate(self._tables):
            codes = self._codes(x[:, j], j)
            out += np.where(codes[:, None] < 0, -np.inf, table.T[codes])
        return out

    def draw(self, codes: Index, rng: Any, **more: Any) -> NDArray[Any]:
        x = np.empty((len(codes), len(self.features)), dtype=np.int64)
        for j, probs in enumerate(self.probs):
            cumulative = np.cumsum(probs, axis=1)
            u = rng.uniform(size=len(codes))
            x[:, j] = (u[:, None] >= cumulative[codes, :-1]).sum(axis=1)
        if self.values is None:
            return x
        drawn = np.empty(x.shape, dtype=object)
        for j, values in enumerate(self.values):
            drawn[:, j] = np.array(values, dtype=object)[x[:, j]]
        return drawn

    def mode(self) -> NDArray[Any]:
        """The most probable level of each column, (n_classes, n_features)."""
        best = np.stack([p.argmax(axis=1) for p in self.probs], axis=1)
        if self.values is None:
            return best
        shape = best.shape
        flat = [self.values[j][best[k, j]] for k in range(shape[0]) for j in range(shape[1])]
        out = np.empty(len(flat), dtype=object)
        out[:] = flat
        return out.reshape(shape)

    def entropy(self, **more: Any) -> Array:
        """−Σ_j Σ_a P(a | c) log P(a | c), in nats, float64 (n_classes,)."""
        return np.asarray(sum(entr(p).sum(axis=1) for p in self.probs))
