"""Methods of a model of p(x, y) beside classification: log p(x), and draws."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from tallybayes import scoring
from tallybayes.estimators.arrays.base import ArrayClassifier
from tallybayes.estimators.distribution_attributes import AsDistributions
from tallybayes.validation import codes_of, label_array, like

__all__ = ["GenerativeClassifier"]

Array = NDArray[np.float64]


class GenerativeClassifier(AsDistributions, ArrayClassifier):
    """Base class of the classifiers whose score is log P(c) + log p(x | c). Not for direct use."""

    def score_samples(self, X: Any) -> Any:
        """log p(x) = log Σ_c P(c) p(x | c), in nats: how well the model knows such a row.

        Parameters
        ----------
        X : array-like or sparse matrix (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        array (n_rows,)
            −inf for a row that every class rules out.
        """
        model = self._fitted()
        x = self._read_rows(X)
        evidence = scoring.log_evidence(model.score, x, model.log_prior)
        return like(X, self._as_output(evidence, x))

    def sample(
        self, n: int | None = None, y: ArrayLike | None = None, random_state: Any = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Draw rows from the model.

        Parameters
        ----------
        n : int, optional
            Rows. May be left out where y has the number.
        y : label or array-like (n,), optional
            The class of each row, or of all of them; drawn from the class prior by default.
        random_state : int, RandomState or None
            The seed, or the generator, of the draws.

        Returns
        -------
        X : array (n, n_features)
            The rows.
        y : array (n,)
            Their labels.

        Raises
        ------
        ValueError
            If n and y do not fit, or y names an unknown class.
        """
        return self._sample(n, y, random_state)

    def _sample(
        self, n: int | None, y: Any, random_state: Any, **size: Any
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        model = self._fitted()
        classes = model.schema.classes
        rng = check_random_state(random_state)
        if n is not None and (isinstance(n, bool) or not isinstance(n, Integral) or n < 0):
            raise ValueError(f"n must be a whole number of rows, got {n!r}")
        if y is None:
            if n is None:
                raise ValueError("say how many rows to draw: sample(n), or sample(y=labels)")
            share = np.exp(model.log_prior)  # given priors sum to 1 only nearly
            codes = rng.choice(len(classes), size=int(n), p=share / share.sum())
        else:
            labels = label_array(y)
            if labels.ndim == 0:
                labels = np.full(1 if n is None else int(n), labels)
            if labels.ndim != 1:
                raise ValueError(
                    f"y is one label, or one a row; got an array of shape {labels.shape}"
                )
            if n is not None and len(labels) != n:
                raise ValueError(f"n={n} rows were asked for, but y has {len(labels)} labels")
            codes = codes_of(labels, classes) if len(labels) else np.empty(0, dtype=np.int32)
        rows = codes.astype(np.intp)
        x = model.family.sample(model.group, model.tally.classes, rows, rng, **size)
        return x, classes[rows]
