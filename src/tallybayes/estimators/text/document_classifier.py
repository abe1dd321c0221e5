"""Methods of a fitted classifier of documents: predictions, explanations and attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags

from tallybayes.errors import StaleWarning, warn_user
from tallybayes.estimators.locked_learning import LOCK
from tallybayes.estimators.notebook import ShownInNotebooks
from tallybayes.estimators.reported import Reported, draw_waterfall
from tallybayes.estimators.text.counter import DocumentCounter
from tallybayes.estimators.text.given_documents import (
    CountedRows,
    aged,
    groups_of,
    labels_of,
    need_counted,
    need_documents,
    weights_of,
)
from tallybayes.estimators.text.unlabelled_documents import need_labels
from tallybayes.explain.explanation import DocumentExplanation, explain_document, top_terms
from tallybayes.models.base import same
from tallybayes.models.documents import TextModel
from tallybayes.models.live_documents import LiveDocuments
from tallybayes.tally import TermCounts
from tallybayes.tokens.counting import Documents
from tallybayes.tokens.documents import (
    TextDocuments,
    all_at_once,
    as_objects,
    document_batches,
)
from tallybayes.validation import codes_of, warn_of_other_order

__all__ = ["FEW_DOCUMENTS", "LIVE_DOCUMENTS", "DocumentClassifier"]

Array = NDArray[np.float64]

LIVE_DOCUMENTS = "_live_documents"
"""The attribute that holds a model whose counts change in place; `_model` is not set then."""
FEW_DOCUMENTS = 256
"""Documents up to which a live model learns and answers; more are counted and scored together."""


class DocumentClassifier(Reported, ShownInNotebooks, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of classifiers of documents. Not for direct use."""

    _reads = "documents"
    _counter: DocumentCounter
    unlabelled: Any
    half_life: float | None

    # ---- state -----------------------------------------------------------------------------------
    def _fitted(self) -> TextModel:
        model = self._held_model()
        _need_classes(model.tally.labels)
        return model

    def _held_model(self) -> TextModel:
        """The model, which may hold no documents any more."""
        held = self.__dict__
        live = held.get(LIVE_DOCUMENTS)
        model: TextModel | None = held.get("_model") if live is None else live.model()
        if model is None and (live := held.get(LIVE_DOCUMENTS)):  # another thread made it meanwhile
            model = live.model()
        if model is None:
            raise NotFittedError(
                "This TextNB instance is not fitted yet. Call 'fit' or 'partial_fit' with "
                "appropriate arguments before using this estimator."
            )
        return model

    def _hold(self, model: TextModel) -> None:
        """Takes a model, and with it the place of a live one."""
        self.__dict__["_model"] = model
        self.__dict__.pop(LIVE_DOCUMENTS, None)

    def __eq__(self, other: object) -> bool:
        """Whether two models are of one class and hold the same parameters and, where they are
        fitted, the same counts and scores."""
        if not isinstance(other, DocumentClassifier):
            return NotImplemented
        if self is other:
            return True
        if type(self) is not type(other) or not same(
            self.get_params(deep=False), other.get_params(deep=False)
        ):
            return False
        fitted = self.__sklearn_is_fitted__()
        if fitted != other.__sklearn_is_fitted__():
            return False
        return not fitted or (
            self._counter.options == other._counter.options
            and self._held_model().equals(other._held_model())
        )

    def __hash__(self) -> int:
        """Of the class alone: a model may be a key, and stays one when it learns."""
        return hash(type(self))

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in self.__dict__ or LIVE_DOCUMENTS in self.__dict__

    def _read(self, X: Any) -> tuple[TextModel, Documents]:
        """The model as it is now, and documents as rows of its terms."""
        need_documents(X)
        model = self._fitted()
        if model.needs_reweighting:
            _warn_of_ridge()
        return model, self._counter.rows(X, model.tally)

    def _live_batch(self, X: Any) -> tuple[LiveDocuments, TextDocuments, Any] | None:
        """The live model, and few documents for it; None where there is none, or they are many, or
        the whole model has been made, which gives the bits of a saved one."""
        live: LiveDocuments | None = self.__dict__.get(LIVE_DOCUMENTS)
        if live is None or live.is_whole:
            return None
        return self._read_for(live, X)

    def _live_one(self, document: Any) -> tuple[LiveDocuments, TextDocuments, Any] | None:
        """The live model, if there is one, and a document for it."""
        live: LiveDocuments | None = self.__dict__.get(LIVE_DOCUMENTS)
        return None if live is None else self._read_for(live, [document])

    def _read_for(
        self, live: LiveDocuments, X: Any
    ) -> tuple[LiveDocuments, TextDocuments, Any] | None:
        need_documents(X)
        if len(X) > FEW_DOCUMENTS:
            return None
        _need_classes(live.labels)
        if live.needs_reweighting:
            _warn_of_ridge()
        if type(X) is list:
            return live, all_at_once(X), X
        batches = list(document_batches(X))
        return (live, *batches[0]) if len(batches) == 1 else None

    def _counted_rows(
        self, model: TextModel, X: Any, y: Any, sample_weight: Any, groups: Any
    ) -> CountedRows:
        """Documents that a model has counted, as rows of its terms."""
        need_documents(X)
        if self.unlabelled is not None:
            need_labels(y, "this call")
        documents = self._counter.rows(X, model.tally)
        warn_of_other_order(X, y, sample_weight, groups)
        labels = labels_of(y, len(documents), type(self).__name__)
        weights = weights_of(sample_weight, len(documents))
        if sample_weight is None:
            weights = aged(None, len(documents), self.half_life)
        together = groups_of(groups, len(documents))
        return CountedRows(documents, codes_of(labels, model.tally.labels), weights, together)

    # ---- predicting ------------------------------------------------------------------------------
    def predict_joint_log_proba(self, X: Any) -> Array:
        """The score of each class, in nats up to a constant of the document.

        Parameters
        ----------
        X : list, array or column of str (n_documents,)
            Documents.

        Returns
        -------
        float64 array (n_documents, n_classes)
            Scores.
        """
        few = self._live_batch(X)
        if few is not None:
            return few[0].joint(*few[1:])[1]
        model, documents = self._read(X)
        return model.scorer.joint(documents)

    def predict_log_proba(self, X: Any) -> Array:
        """log P(c | document), in nats.

        Parameters
        ----------
        X : list, array or column of str (n_documents,)
            Documents.

        Returns
        -------
        float64 array (n_documents, n_classes)
            Log-probabilities.
        """
        return self._posterior(X, log=True)[1]

    def predict_proba(self, X: Any) -> Array:
        """P(c | document).

        Parameters
        ----------
        X : list, array or column of str (n_documents,)
            Documents.

        Returns
        -------
        float64 array (n_documents, n_classes)
            Rows sum to 1.
        """
        return self._posterior(X)[1]

    def _posterior(self, X: Any, *, log: bool = False) -> tuple[NDArray[Any], Array]:
        """The classes, and P(c | document) or its logarithm."""
        few = self._live_batch(X)
        if few is not None:
            return few[0].posterior(*few[1:], log=log)
        model, documents = self._read(X)
        return model.tally.labels, model.scorer.posterior(documents, log=log)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each document.

        Parameters
        ----------
        X : list, array or column of str (n_documents,)
            Documents.

        Returns
        -------
        array (n_documents,)
            Labels; of equally probable classes the first.
        """
        few = self._live_batch(X)
        if few is not None:
            labels, scores = few[0].joint(*few[1:])
        else:
            model, documents = self._read(X)
            labels, scores = model.tally.labels, model.scorer.joint(documents)
        found: NDArray[Any] = labels[scores.argmax(axis=1)]
        return found

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The share of documents whose label is predicted.

        Parameters
        ----------
        X : list, array or column of str (n_documents,)
            Documents to predict.
        y : array-like (n_documents,)
            Their labels.
        sample_weight : array-like (n_documents,), optional
            How much each document counts; 1 by default.

        Returns
        -------
        float
            The accuracy, by weight.
        """
        warn_of_other_order(X, y, sample_weight)
        return float(super().score(X, y, sample_weight))

    def leave_one_out(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Array:
        """log P(c | document) of documents that are counted, each without itself.

        The weighted model takes the document out of the counts; class shares, weights and τ are
        those of all documents, and the ridge, which holds every document, is left out: a model
        with a ridge is judged by :attr:`log_loss_`. The other models predict each document as if
        they were fitted on the others, but an idf that is fixed stays; a class whose only document
        is left out has probability 0.

        Parameters
        ----------
        X : list, array or column of str (n_documents,)
            Documents that are counted.
        y : array-like (n_documents,)
            Their labels.
        sample_weight : array-like (n_documents,), optional
            What each was counted with; 1 by default. With a half-life, what each weighs by now;
            by default that of the last documents that were learned, in their order.
        groups : array-like (n_documents,), optional
            Documents that belong together, such as those of one author, have one value: each is
            predicted without its whole group, of which X has all documents.

        Returns
        -------
        float64 array (n_documents, n_classes)
            Log-probabilities, in nats.

        Raises
        ------
        NegativeTally
            A ValueError: a document weighs more than was counted of its class.
        """
        model = self._fitted()
        counted = self._counted_rows(model, X, y, sample_weight, groups)
        documents, codes, weights, together = counted
        given = np.ones(len(documents)) if weights is None else weights
        need_counted(given, codes, model.tally.documents)
        return model.left_out(documents, codes, weights, together)

    # ---- one document ----------------------------------------------------------------------------
    def predict_one(self, document: str) -> Any:
        """The most probable label of one document.

        Parameters
        ----------
        document : str
            A document.

        Returns
        -------
        label
            The most probable label.
        """
        few = self._live_one(document)
        return self.predict([document]).tolist()[0] if few is None else few[0].best(*few[1:])

    def predict_proba_one(self, document: str) -> dict[Any, float]:
        """P(c | document) of one document, by label.

        Parameters
        ----------
        document : str
            A document.

        Returns
        -------
        dict
            The probability of each label.
        """
        few = self._live_one(document)
        asked = self._posterior([document]) if few is None else few[0].posterior(*few[1:])
        labels, shares = asked
        return dict(zip(labels.tolist(), shares[0].tolist(), strict=True))

    # ---- explaining ------------------------------------------------------------------------------
    def explain(self, X: Any) -> list[DocumentExplanation]:
        """:meth:`explain_one` of each document.

        Parameters
        ----------
        X : list, array or column of str (n_documents,)
            Documents.

        Returns
        -------
        list of DocumentExplanation
            One a document.
        """
        model, rows = self._read(X)
        return [
            explain_document(model, rows.take(np.array([i])), document, draw_waterfall)
            for i, document in enumerate(as_objects(X))
        ]

    def explain_one(self, document: str) -> DocumentExplanation:
        """What each term of a document adds to the score of each class.

        Parameters
        ----------
        document : str
            A document.

        Returns
        -------
        DocumentExplanation
            Its ``base + contributions.sum(axis=0)`` is :meth:`predict_joint_log_proba`.
        """
        model, rows = self._read([document])
        return explain_document(model, rows, document, draw_waterfall)

    def top_terms(self, label: Any, n: int = 10) -> list[tuple[Any, float]]:
        """The terms that add most to a class against all others: of one occurrence, in a
        document of mean length for the weighted model, without the ridge and without
        `length_normalize`.

        Parameters
        ----------
        label : label
            A class.
        n : int, default=10
            How many.

        Returns
        -------
        list of (term, float)
            With what each adds to the score of the class, in nats.

        Raises
        ------
        ValueError
            For a label that is not a class of the model.
        """
        return top_terms(self._fitted(), label, n)

    # ---- attributes ------------------------------------------------------------------------------
    def _attribute(self, name: str) -> TextModel:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"TextNB has no attribute {name!r} before it is fitted")
        return self._held_model()

    @property
    def classes_(self) -> NDArray[Any]:
        """Class labels, sorted, (n_classes,)."""
        live: LiveDocuments | None = self.__dict__.get(LIVE_DOCUMENTS)
        return self._attribute("classes_").tally.labels if live is None else live.labels

    @property
    def tally_(self) -> TermCounts:
        """Everything that was counted."""
        return self._attribute("tally_").tally

    @property
    def analyzer_(self) -> Any:
        """What n-grams are made of."""
        self._attribute("analyzer_")
        return self._counter.options["analyzer"]

    @property
    def penalty_(self) -> float | None:
        """The penalty of the ridge; None where there is none."""
        return self._attribute("penalty_").penalty

    @property
    def unlabelled_weight_(self) -> float:
        """The weight of an unlabelled document; 0.0 if unlabelled documents are not counted."""
        unlabelled = self._attribute("unlabelled_weight_").unlabelled
        return 0.0 if unlabelled is None else unlabelled.weight

    @property
    def n_iter_(self) -> int:
        """Iterations of expectation maximisation; 0 where no unlabelled documents are counted."""
        unlabelled = self._attribute("n_iter_").unlabelled
        return 0 if unlabelled is None else unlabelled.iterations

    @property
    def unlabelled_path_(self) -> Array:
        """Weight, iteration and held-out log-loss of everything that was tried, (n_steps, 3); empty
        where no unlabelled documents are counted."""
        unlabelled = self._attribute("unlabelled_path_").unlabelled
        return np.zeros((0, 3)) if unlabelled is None else unlabelled.path

    @property
    def log_loss_(self) -> float:
        """The log-loss of documents that the numbers in use were not learned on, in nats."""
        return self._attribute("log_loss_").figures.log_loss

    @property
    def log_loss_se_(self) -> float:
        """The standard error of :attr:`log_loss_`."""
        return self._attribute("log_loss_se_").figures.log_loss_se

    @property
    def accuracy_(self) -> float:
        """The accuracy on documents that the numbers in use were not learned on."""
        return self._attribute("accuracy_").figures.accuracy

    @property
    def accuracy_se_(self) -> float:
        """The standard error of :attr:`accuracy_`."""
        return self._attribute("accuracy_se_").figures.accuracy_se

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state.pop(LOCK, None)
        if state.pop(LIVE_DOCUMENTS, None) is not None:
            state["_model"] = self._held_model()
        return state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


def _need_classes(labels: NDArray[Any]) -> None:
    """Raises ValueError if the model knows no class."""
    if not len(labels):
        raise ValueError(
            "this TextNB holds no documents: all that it learned was removed. Learn some first"
        )


def _warn_of_ridge() -> None:
    warn_user(
        StaleWarning(
            "the ridge was learned before the counts changed",
            "reweight(X, y) learns it again; ridge=False does without it",
        ),
        StaleWarning,
    )
