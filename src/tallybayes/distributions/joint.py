"""The joint distribution p(x, y) = P(y) p(x | y), restored from its two factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from tallybayes.distributions.base import ClassConditional, Distribution, generator, size_of
from tallybayes.distributions.classes import Categorical

__all__ = ["Joint"]

Array = NDArray[np.float64]


class Joint(Distribution):
    """The joint distribution of rows and labels of a generative classifier.

    Parameters
    ----------
    prior : Categorical
        P(y).
    conditional : ClassConditional
        p(x | y), for the classes of the prior in their order.

    Attributes
    ----------
    prior, conditional
        As given.
    event_shape : tuple
        Of x, then of y.

    Examples
    --------
    >>> from tallybayes import GaussianNB
    >>> model = GaussianNB().fit([[0.0], [2.0], [5.0], [9.0]], ["a", "a", "b", "b"])
    >>> x, y = model.joint_.sample(3, random_state=0)
    >>> x.shape, y.tolist()
    ((3, 1), ['b', 'b', 'b'])
    >>> round(model.joint_.log_prob([1.0], "a").item(), 4)
    -1.6121
    """

    batch_shape: tuple[int, ...] = ()

    def __init__(self, prior: Categorical, conditional: ClassConditional) -> None:
        self.prior = prior
        self.conditional = conditional
        self.event_shape: tuple[Any, ...] = (list(conditional.event_shape), [])
        self.dtype: np.dtype[Any] = conditional.dtype

    def _details(self) -> dict[str, str]:
        factors = f"P(y): {type(self.prior).__name__}, p(x | y): {type(self.conditional).__name__}"
        return {**self.conditional._details(), "factors": f"({factors})"}

    def log_prob_of_classes(self, x: Any) -> Array:
        """log p(x, c) for every class c, in nats, (…, n_classes): the classifier's joint
        log-probabilities.

        Parameters
        ----------
        x : array-like
            Events; see :meth:`log_prob`.
        """
        return np.asarray(self.prior.log_probs + self.conditional.log_prob(x))

    def log_prob(self, x: Any, y: Any) -> Array:
        """log p(x, y), in nats.

        Parameters
        ----------
        x : events of the conditional
            Events.
        y : label or array-like of labels
            One for each event, or one for all.

        Returns
        -------
        float64 array
            A number for each event; −inf for what cannot be, such as a label that is not a class.

        Raises
        ------
        ValueError
            If x and y do not fit together.
        """
        scores = self.log_prob_of_classes(x)
        codes = self.prior.codes_of(y)
        try:
            codes = np.broadcast_to(codes, scores.shape[:-1])
        except ValueError:
            raise ValueError(
                f"y has the shape {codes.shape} for events of the shape {scores.shape[:-1]}: give "
                "a label for each, or one for all"
            ) from None
        taken = np.take_along_axis(scores, np.maximum(codes, 0)[..., None], axis=-1)[..., 0]
        return np.where(codes < 0, -np.inf, taken)

    def prob(self, x: Any, y: Any) -> Array:
        """p(x, y), like :meth:`log_prob`.

        Parameters
        ----------
        x : array-like
            Events; see :meth:`log_prob`.
        y : array-like
            Labels.
        """
        return np.asarray(np.exp(self.log_prob(x, y)))

    def marginal_log_prob(self, x: Any) -> Array:
        """log p(x) = log Σ_c P(c) p(x | c), in nats, a number for each event.

        Parameters
        ----------
        x : array-like
            Events; see :meth:`log_prob`.
        """
        return np.asarray(logsumexp(self.log_prob_of_classes(x), axis=-1))

    def marginal(self, features: Sequence[Any]) -> Joint:
        """p(x_S, y) of some columns S, whatever the others are; see
        :meth:`ClassConditional.marginal`.

        Parameters
        ----------
        features : list of str
            Names of the features to keep.
        """
        return Joint(self.prior, self.conditional.marginal(features))

    def best_class(self, x: Any) -> NDArray[Any]:
        """The most probable label of each event, of equally probable ones the first.

        Parameters
        ----------
        x : array-like
            Events; see :meth:`log_prob`.
        """
        best = self.log_prob_of_classes(x).argmax(axis=-1)
        labels: NDArray[Any] = self.prior.classes[best]
        return labels

    def sample(self, n: int | None = None, random_state: Any = None, **more: Any) -> Any:
        """Draw rows with their labels: y from the prior, x from its class.

        Parameters
        ----------
        n : int, optional
            How many; one row and its label by default.
        random_state : None, int, RandomState or Generator
            The seed, or the generator, of the draws.
        **more
            What the class conditional's ``sample`` takes besides, such as ``total_count``.

        Returns
        -------
        x : Any
            The events, n of them, in a form that the model reads.
        y : array (n,)
            The class of each.
        """
        count = size_of(n)
        rng = generator(random_state)
        codes = self.prior.draw(1 if count is None else count, rng)
        drawn = self.conditional.draw(codes, rng, **more)
        y = self.prior.classes[codes]
        if count is None:
            return self.conditional.as_row(drawn), y[0]
        return self.conditional.as_rows(drawn, count), y

    def entropy(self, **more: Any) -> float:
        """H(y) + Σ_c P(c) H(x | c), in nats; `more` as the class conditional's ``entropy``.

        Parameters
        ----------
        **more : Any
            Parameters of the class conditional.
        """
        probs = self.prior.probs
        within = np.asarray(self.conditional.entropy(**more))
        return self.prior.entropy() + float((probs * np.where(probs > 0.0, within, 0.0)).sum())
