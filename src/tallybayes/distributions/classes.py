"""The class prior P(y) as a distribution over labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tallybayes.distributions.base import Distribution, generator, shown, size_of, stats

__all__ = ["Categorical"]

Array = NDArray[np.float64]


class Categorical(Distribution):
    """A distribution over labels.

    Parameters
    ----------
    log_probs : float64 array (n_classes,)
        In nats. Probabilities that sum to 1 only nearly are taken as they are; draws are by their
        shares.
    classes : array (n_classes,)
        The labels.

    Attributes
    ----------
    probs, log_probs : float64 arrays (n_classes,)
    classes : array (n_classes,)

    Examples
    --------
    >>> import numpy as np
    >>> from tallybayes.distributions import Categorical
    >>> prior = Categorical(np.log([0.25, 0.75]), np.array(["ham", "spam"]))
    >>> prior
    <tallybayes.distributions.Categorical batch_shape=[] event_shape=[] dtype=<U4 \
classes=['ham', 'spam'] probs=[0.25, 0.75]>
    >>> prior.prob(["spam", "ham"]).tolist()
    [0.75, 0.25]
    """

    batch_shape: tuple[int, ...] = ()
    event_shape: tuple[Any, ...] = ()

    def __init__(self, log_probs: ArrayLike, classes: ArrayLike) -> None:
        self.log_probs: NDArray[np.float64] = np.array(log_probs, dtype=np.float64)
        self.classes: NDArray[Any] = np.array(classes)
        if self.log_probs.ndim != 1 or self.log_probs.shape != self.classes.shape:
            raise ValueError(
                f"log_probs has the shape {self.log_probs.shape} for labels of the shape "
                f"{self.classes.shape}: give one log-probability a label"
            )
        self.probs: NDArray[np.float64] = np.exp(self.log_probs)
        if not np.isclose(self.probs.sum(), 1.0):
            raise ValueError(
                f"the probabilities sum to {self.probs.sum().item()!r}; they must sum to 1"
            )
        self.dtype: np.dtype[Any] = self.classes.dtype
        self._code = {label: k for k, label in enumerate(self.classes.tolist())}

    def _details(self) -> dict[str, str]:
        probs = [float(f"{p:.3g}") for p in self.probs.tolist()]
        return {"classes": shown(self.classes.tolist()), "probs": shown(probs)}

    def codes_of(self, labels: Any) -> NDArray[np.intp]:
        """The index of each label, in the shape of `labels`; −1 for what is not a class.

        Parameters
        ----------
        labels : array-like
            Labels of classes.
        """
        given = np.asarray(labels)
        codes = [self._code.get(label, -1) for label in given.ravel().tolist()]
        return np.array(codes, dtype=np.intp).reshape(given.shape)

    def log_prob(self, y: Any) -> Array:
        """log P(y), in nats.

        Parameters
        ----------
        y : label or array-like of labels
            Labels.

        Returns
        -------
        float64 array, of the shape of y
            −inf for what is not a class.
        """
        return np.asarray(np.append(self.log_probs, -np.inf)[self.codes_of(y)])

    def prob(self, y: Any) -> Array:
        """P(y), like :meth:`log_prob`.

        Parameters
        ----------
        y : array-like
            Labels.
        """
        return np.asarray(np.exp(self.log_prob(y)))

    def draw(self, n: int, rng: Any) -> NDArray[np.intp]:
        """n class indices.

        Parameters
        ----------
        n : int
            How many draws.
        rng : numpy.random.Generator
            The source of random numbers.
        """
        share = self.probs / self.probs.sum()
        return rng.choice(len(share), size=n, p=share).astype(np.intp)  # type: ignore[no-any-return]

    def sample(self, n: int | None = None, random_state: Any = None) -> Any:
        """n labels, (n,); one label by default.

        Parameters
        ----------
        n : int, optional
            How many draws.
        random_state : None, int, RandomState or Generator
            The seed, or the generator, of the draws.
        """
        count = size_of(n)
        drawn = self.classes[self.draw(1 if count is None else count, generator(random_state))]
        return drawn[0] if count is None else drawn

    def mode(self) -> Any:
        """The most probable label, the first of equals. Labels have no mean."""
        return self.classes[int(np.argmax(self.probs))]

    def entropy(self) -> float:
        """−Σ_c P(c) log P(c), in nats."""
        return float(stats().entropy(self.probs))
