"""Methods of every fitted classifier: predictions, fitted attributes, saving."""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from tallybayes import scoring
from tallybayes.estimators.notebook import ShownInNotebooks
from tallybayes.models.base import Model
from tallybayes.models.class_weights import by_class
from tallybayes.tally import TableTally
from tallybayes.validation import like, warn_of_other_order

__all__ = ["Predicting"]

Array = NDArray[np.float64]


class Predicting(ShownInNotebooks, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of classifiers that hold a model. Not for direct use."""

    @abstractmethod
    def _read_rows(self, x: Any, *, learning: bool = False) -> Any:
        """X as the kernels read it; `learning` for rows to count."""

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _fitted(self) -> Model:
        model = self.__dict__.get("_model")
        if model is None:
            raise NotFittedError(
                f"This {self._name} instance is not fitted yet. Call 'fit' or 'partial_fit' with "
                "appropriate arguments before using this estimator."
            )
        return model  # type: ignore[no-any-return]

    def _attribute(self, name: str) -> Model:
        """The model, for a fitted attribute; AttributeError before it is fitted."""
        model = self.__dict__.get("_model")
        if model is None:
            raise AttributeError(f"{self._name} has no attribute {name!r} before it is fitted")
        return model  # type: ignore[no-any-return]

    # ---- predicting ------------------------------------------------------------------------------
    def predict(self, X: Any) -> Any:
        """The most probable class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        array (n_rows,)
            Labels; of equally probable classes the first.

        Raises
        ------
        ValueError
            For other features than in training, or values that they do not admit.
        """
        model = self._fitted()
        best = scoring.best_class(model.score, self._read_rows(X))
        return like(X, model.tally.schema.classes[best])

    def predict_joint_log_proba(self, X: Any) -> Any:
        """log P(c) + log p(x | c), in nats.

        Parameters
        ----------
        X : array-like or sparse matrix (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        array (n_rows, n_classes)
            −inf where a class rules a row out.
        """
        model = self._fitted()
        x = self._read_rows(X)
        return like(X, self._as_output(scoring.joint_log_likelihood(model.score, x), x))

    def predict_log_proba(self, X: Any) -> Any:
        """log P(c | x), in nats.

        Parameters
        ----------
        X : array-like or sparse matrix (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        array (n_rows, n_classes)
            A row that every class rules out gets the class prior, with a RuledOutWarning.
        """
        return like(X, self._posterior(X, log=True))

    def predict_proba(self, X: Any) -> Any:
        """P(c | x).

        Parameters
        ----------
        X : array-like or sparse matrix (n_rows, n_features)
            Rows to predict.

        Returns
        -------
        array (n_rows, n_classes)
            Rows sum to 1. A row that every class rules out gets the class prior, with a
            RuledOutWarning.
        """
        return like(X, self._posterior(X, log=False))

    def _posterior(self, X: Any, *, log: bool) -> Array:
        model = self._fitted()
        x = self._read_rows(X)
        return self._as_output(scoring.posterior(model.score, x, model.log_prior, log=log), x)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows whose label is predicted.

        Parameters
        ----------
        X : array-like or sparse matrix (n_rows, n_features)
            Rows to predict.
        y : array-like (n_rows,)
            Their labels.
        sample_weight : array-like (n_rows,), optional
            How much each row counts; 1 by default.

        Returns
        -------
        float
            The accuracy, by weight.
        """
        warn_of_other_order(X, y, sample_weight)
        return float(super().score(X, y, sample_weight))

    def _as_output(self, scores: Array, x: Any) -> Array:
        """Scores in the type that scikit-learn returns for these rows."""
        return scores

    # ---- fitted attributes -----------------------------------------------------------------------
    @property
    def classes_(self) -> NDArray[Any]:
        """Class labels, sorted, (n_classes,)."""
        return self._attribute("classes_").schema.classes

    @property
    def class_count_(self) -> Array:
        """Rows, or weight, of each class, float64 (n_classes,)."""
        return self._attribute("class_count_").tally.classes.count.copy()

    @property
    def class_weight_(self) -> dict[Any, float]:
        """What a row's weight was multiplied by, by label, for each class."""
        model = self._attribute("class_weight_")
        weights = by_class(model.class_weight, model.schema.classes)
        return dict(zip(model.schema.classes.tolist(), weights.tolist(), strict=True))

    @property
    def tally_(self) -> TableTally:
        """Everything that was counted. The model takes a copy before it changes it again."""
        return self._attribute("tally_").sharing().tally

    # ---- saving ----------------------------------------------------------------------------------
    def save(self, path: str | os.PathLike[str] | BinaryIO) -> None:
        """Write the model to a file that :func:`tallybayes.load` reads.

        The file is a safetensors file with a checksum. It holds counts and hyperparameters, no rows
        and no code; an existing file is replaced whole or not at all. A file opened for writing
        bytes may be given in place of a path.

        Parameters
        ----------
        path : str or path-like
            The file to write.

        Raises
        ------
        ModelFileError
            A ValueError: labels or parameters that a file cannot hold.
        OSError
            If the file cannot be written.
        """
        from tallybayes.estimators.persistence.saving import save

        save(self, path)
