"""What the terms of a model say of the learning rows, and the scores that weights make of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Terms", "Weights", "scores_of", "shares_of"]

Array = NDArray[np.float64]
Values = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Weights:
    """Learned weights.

    Parameters
    ----------
    terms : float64 array (n_terms,)
        w, 0 or more.
    deviations : float64 array (n_classes, n_terms)
        u; 0 for two classes.
    offsets : float64 array (n_classes,)
        b, in nats.
    scale : float
        γ.
    """

    terms: Array
    deviations: Array
    offsets: Array
    scale: float

    def by_class(self) -> Array:
        """w_t + u_tk, float64 (n_classes, n_terms)."""
        return self.terms + self.deviations

    def times(self, factor: float) -> Weights:
        """All of them, the offsets too, times a factor."""
        return Weights(
            factor * self.terms, factor * self.deviations, factor * self.offsets, self.scale
        )

    def with_more(self, count: int, start: float) -> Weights:
        """So many more terms, of this weight."""
        before = len(self.terms)
        terms = np.full(before + count, start)
        deviations = np.zeros((len(self.deviations), before + count))
        terms[:before], deviations[:, :before] = self.terms, self.deviations
        return Weights(terms, deviations, self.offsets, self.scale)


class Terms:
    """What terms say of the learning rows, in room that grows.

    Of two classes only the difference is kept, the second's less the first's: (1, n_terms, n_rows).
    Of more, each class: (n_classes, n_terms, n_rows).

    Parameters
    ----------
    n_classes, n_rows : int
    room : int
        Terms that there may be without a copy; what is not used takes no memory.
    """

    def __init__(self, n_classes: int, n_rows: int, room: int = 16) -> None:
        self.n_classes = n_classes
        layers = 1 if n_classes == 2 else n_classes
        self._room = np.empty((layers, max(room, 1), n_rows), dtype=np.float32)
        self.pair: list[bool] = []

    def __len__(self) -> int:
        return len(self.pair)

    @property
    def values(self) -> Values:
        return self._room[:, : len(self.pair)]

    def add(self, values: Values, *, pair: bool) -> None:
        """One more term, values (n_classes, n_rows), centred over classes."""
        if len(self) == self._room.shape[1]:
            layers, room, n_rows = self._room.shape
            wider = np.empty((layers, 2 * room, n_rows), dtype=np.float32)
            wider[:, :room] = self._room
            self._room = wider
        self._room[:, len(self)] = values[1:] - values[:1] if self.n_classes == 2 else values
        self.pair.append(pair)


def scores_of(values: Values, by_class: Array, offset: Array) -> Array:
    """S, float64 (n_classes, n_rows).

    Parameters
    ----------
    values : float32 array, as of :class:`Terms`
    by_class : float64 array (n_classes, n_terms)
    offset : float64 array (n_classes,)
        log p + b.
    """
    scores = np.empty((len(offset), values.shape[2]))
    if len(values) == 1:
        half = 0.5 * (by_class[1].astype(np.float32) @ values[0])
        np.subtract(offset[0], half, out=scores[0])
        np.add(offset[1], half, out=scores[1])
        return scores
    for k, w in enumerate(by_class.astype(np.float32)):
        np.add(w @ values[k], offset[k], out=scores[k])
    return scores


def shares_of(scores: Array) -> Array:
    """P, float64 (n_classes, n_rows), of scores."""
    shares: Array = scores - scores.max(axis=0)
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=0)
    return shares
