"""Base of the classifier of documents: what it answers, and how documents and labels are read."""

from __future__ import annotations

import re
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags

from tallybayes.errors import StaleWarning, warn_user
from tallybayes.estimators.base import Classifier, draw_waterfall
from tallybayes.estimators.vectorizer import (
    CountedRows,
    CountVectorizer,
    aged,
    analyzer_of,
    given_beside,
    need_counted,
    need_documents,
    rules_of,
)
from tallybayes.explain.explanation import DocumentExplanation, explain_document, top_terms
from tallybayes.models.weighted_documents import LiveDocuments, TextModel
from tallybayes.score import Formula, TextTerm
from tallybayes.sources.document_source import labelled_texts, texts_of
from tallybayes.tally import TermCounts
from tallybayes.tally.live_terms import MIN_HALF_LIFE, LiveTermCounts
from tallybayes.tally.terms import term_array
from tallybayes.threads import get_num_threads
from tallybayes.tokens.analyzer import Analyzer, KnownTerms, no_documents, rows_of_terms
from tallybayes.tokens.counting import (
    Documents,
    TextDocuments,
    all_at_once,
    as_objects,
    document_batches,
)
from tallybayes.validation import (
    codes_of,
    is_missing_label,
    labels_given,
    read_labels,
    warn_of_other_order,
)

__all__ = [
    "FEW_DOCUMENTS",
    "LIVE_DOCUMENTS",
    "DocumentClassifier",
    "DocumentCounter",
    "chosen_analyzer",
    "need_labels",
    "split_labels",
]

Array = NDArray[np.float64]


# ---- what a fitted classifier answers: predictions, explanations and attributes ------------------
LIVE_DOCUMENTS = "_live_documents"
"""The attribute that holds a model whose counts change in place; `_model` is not set then."""
FEW_DOCUMENTS = 256
"""Documents up to which a live model learns and answers; more are counted and scored together."""


class DocumentClassifier(Classifier):
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

    def _formula(self) -> Formula:
        model = self._fitted()
        if model.needs_reweighting:
            _warn_of_ridge()
        scorer, tally, k = model.scorer, model.tally, model.tally.n_classes
        reason = "a model of documents has no statement of SQL, which cuts no text into terms"
        analyzer = rules_of(self._counter.vectorizer)
        return Formula(
            classes=tally.labels,
            offset=scorer.intercept,
            terms=[TextTerm(("document",), reason, analyzer, tally.terms, scorer.sums)],
            ruled_out=np.full(k, 1.0 / k),
            fallback=0,
            kinds={"document": "text"},
        )

    def _holds_the_same(self, other: Any) -> bool:
        return self._counter.options == other._counter.options and bool(
            self._held_model().equals(other._held_model())
        )

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
        labels, weights, together = given_beside(X, y, sample_weight, groups, len(documents))
        if sample_weight is None:
            weights = aged(None, len(documents), self.half_life)
        return CountedRows(documents, codes_of(labels, model.tally.labels), weights, together)

    # ---- predicting ------------------------------------------------------------------------------
    def predict_joint_log_proba(self, X: Any) -> Array:
        """The score of each class, in nats up to a constant of the document.

        Parameters
        ----------
        X : list, array or column of str (n_documents,), or DocumentSource
            Documents.

        Returns
        -------
        float64 array (n_documents, n_classes)
            Scores.
        """
        X = texts_of(X)
        few = self._live_batch(X)
        if few is not None:
            return few[0].joint(*few[1:])[1]
        model, documents = self._read(X)
        return model.scorer.joint(documents)

    def predict_log_proba(self, X: Any) -> Array:
        """log P(c | document), in nats.

        Parameters
        ----------
        X : list, array or column of str (n_documents,), or DocumentSource
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
        X : list, array or column of str (n_documents,), or DocumentSource
            Documents.

        Returns
        -------
        float64 array (n_documents, n_classes)
            Rows sum to 1.
        """
        return self._posterior(X)[1]

    def _posterior(self, X: Any, *, log: bool = False) -> tuple[NDArray[Any], Array]:
        """The classes, and P(c | document) or its logarithm."""
        X = texts_of(X)
        few = self._live_batch(X)
        if few is not None:
            return few[0].posterior(*few[1:], log=log)
        model, documents = self._read(X)
        return model.tally.labels, model.scorer.posterior(documents, log=log)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each document.

        Parameters
        ----------
        X : list, array or column of str (n_documents,), or DocumentSource
            Documents.

        Returns
        -------
        array (n_documents,)
            Labels; of equally probable classes the first.
        """
        X = texts_of(X)
        few = self._live_batch(X)
        if few is not None:
            labels, scores = few[0].joint(*few[1:])
        else:
            model, documents = self._read(X)
            labels, scores = model.tally.labels, model.scorer.joint(documents)
        found: NDArray[Any] = labels[scores.argmax(axis=1)]
        return found

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """The share of documents whose label is predicted.

        Parameters
        ----------
        X : list, array or column of str (n_documents,), or DocumentSource
            Documents to predict.
        y : array-like (n_documents,), optional
            Their labels; by default those of the source.
        sample_weight : array-like (n_documents,), optional
            How much each document counts; 1 by default.

        Returns
        -------
        float
            The accuracy, by weight.

        Raises
        ------
        ValueError
            For a document without a label.
        """
        X, y = labelled_texts(X, y)
        warn_of_other_order(X, y, sample_weight)
        labels_given(y)
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

    def _log_proba_without(self, X: Any, y: Any, sample_weight: Any) -> Array:
        return self.leave_one_out(X, y, sample_weight)

    def _digest(self) -> str:
        return self.tally_.digest()

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
        X : list, array or column of str (n_documents,), or DocumentSource
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
        state = super().__getstate__()
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


# ---- how documents become rows of terms ----------------------------------------------------------
WITHOUT_SPACES = re.compile("[\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
SAMPLED_DOCUMENTS, SAMPLED_CHARACTERS, MIN_SHARE = 200, 10_000, 0.3


def chosen_analyzer(documents: Any) -> str:
    """ "char" if more than three tenths of the characters of the documents that are not white space
    are Han, kana or Hangul, else "word".

    It looks at the first 10,000 characters of 200 documents, taken at equal distances.

    Parameters
    ----------
    documents : sized iterable of str
        Of a column of pandas, whatever its index, the rows in their order.
    """
    step = max(1, len(documents) // SAMPLED_DOCUMENTS)
    if hasattr(documents, "iloc"):
        documents, step = documents.iloc[::step].tolist(), 1
    elif not hasattr(documents, "__getitem__"):  # such as the values of a dict
        documents = list(documents)
    found = characters = 0
    for i in range(0, len(documents), step):
        document = documents[i]
        document = document.as_py() if hasattr(document, "as_py") else document
        if isinstance(document, bytes):
            document = document[:SAMPLED_CHARACTERS].decode("utf-8", "ignore")
        if isinstance(document, str):
            document = document[:SAMPLED_CHARACTERS]
            found += len(WITHOUT_SPACES.findall(document))
            characters += len(re.sub(r"\s", "", document))
    return "char" if found > MIN_SHARE * max(1, characters) else "word"


class DocumentCounter:
    """Counts documents, by a vocabulary that grows.

    Parameters
    ----------
    options : dict
        Of :class:`CountVectorizer`.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self.options: dict[str, Any] = {**options, "dtype": np.int32}
        self._known: KnownTerms | tuple[NDArray[Any], CountVectorizer] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"options": self.options, "_known": None}

    @cached_property
    def vectorizer(self) -> CountVectorizer:
        """What the options say; it learns no vocabulary."""
        return CountVectorizer(**self.options)

    @cached_property
    def _analyzer(self) -> Analyzer | None:
        """How the kernel makes terms; None where Python makes them."""
        return analyzer_of(self.vectorizer)

    def counted(self, documents: Any) -> tuple[NDArray[Any], Documents]:
        """The terms of some documents, distinct and sorted, and the documents as rows of them."""
        self.vectorizer._check()
        if self._analyzer is not None:
            return self._analyzer.counted(documents, get_num_threads())
        counter = CountVectorizer(**self.options)
        try:
            x = counter._counted_by_python(documents)
        except ValueError as error:
            if "empty vocabulary" not in str(error):
                raise
            return term_array([]), no_documents(len(documents))
        terms = term_array(counter.get_feature_names_out())
        self._known = terms, counter  # counts by these terms from now on
        return terms, rows_of_terms(x.indptr, x.indices, x.data, x.shape[1])

    def rows(self, documents: Any, tally: TermCounts) -> Documents:
        """Documents as rows of the terms of a tally; other terms are left out."""
        known, analyzer = self._known, self._analyzer
        if analyzer is not None:
            if not isinstance(known, KnownTerms) or known.terms is not tally.terms:
                known = self._known = KnownTerms(analyzer, tally.terms)
            return known.rows(documents, get_num_threads())
        if not tally.n_terms:
            return no_documents(len(documents))
        if not isinstance(known, tuple) or known[0] is not tally.terms:
            counter = CountVectorizer(**self.options)
            counter.vocabulary_ = dict(zip(tally.terms.tolist(), range(tally.n_terms), strict=True))
            known = self._known = tally.terms, counter
        x = known[1].transform(documents)
        return rows_of_terms(x.indptr, x.indices, x.data, tally.n_terms)

    def live_counts(
        self, labels: NDArray[Any], half_life: float | None = None
    ) -> LiveTermCounts | None:
        """An empty tally of such documents that can be changed in place; None where Python makes
        the terms, or they fade too fast."""
        analyzer = self._analyzer
        if analyzer is None or (half_life is not None and half_life < MIN_HALF_LIFE):
            return None
        rules, stop_words, n_features = analyzer.rules, analyzer.stop_words, analyzer.n_features
        assert rules is not None
        return LiveTermCounts(rules, stop_words, n_features, labels, half_life=half_life)


# ---- which documents have no label: None, a missing value or −1 among labels ---------------------
def _is_minus_one(label: Any) -> bool:
    return isinstance(label, Real) and not isinstance(label, bool) and label == -1


def _marks(y: Any) -> tuple[NDArray[np.bool_], bool]:
    """Which labels mark a document without one, and whether −1 does."""
    if y is None or isinstance(y, str) or getattr(y, "ndim", 1) != 1:
        return np.zeros(0, dtype=bool), False  # which is refused as labels are
    values = list(as_objects(y))
    minus = np.array([_is_minus_one(label) for label in values], dtype=bool)
    return minus | np.array([is_missing_label(label) for label in values], dtype=bool), bool(
        minus.any()
    )


def split_labels(y: Any, n_documents: int, whose: str) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Which documents have a label, bool (n_documents,), and the labels of those.

    Raises
    ------
    ValueError
        If no document has a label, if −1 stands beside a single other label, or as for labels.
    """
    marks, minus = _marks(y)
    if not marks.any():
        return np.ones(n_documents, dtype=bool), read_labels(y, n_documents, whose)
    if len(marks) != n_documents:
        raise ValueError(
            f"X has {n_documents} documents and y {len(marks)} labels: give one label a document, "
            "None or -1 where there is none"
        )
    if marks.all():
        raise ValueError(
            "no document has a label: None and -1 mark documents without one. Label some of each "
            "class"
        )
    kept = ~marks
    if isinstance(y, np.ndarray) and y.dtype.kind != "O":
        some: Any = y[kept]
    else:
        some = [label for label, held in zip(as_objects(y), kept, strict=True) if held]
    labels = read_labels(some, int(kept.sum()), whose)
    if minus and len(set(labels.tolist())) == 1:
        raise ValueError(
            f"y holds -1 and one other label, {labels.tolist()[0]!r}, and -1 marks documents "
            "without a label. If -1 is a class, give it another name, and mark documents without a "
            "label by None"
        )
    return kept, labels


def need_labels(y: Any, action: str) -> None:
    """Raises ValueError for documents without a label, which only a fit counts.

    Parameters
    ----------
    y : array-like
    action : str
        What would be done, for the message.
    """
    marks, _ = _marks(y)
    if marks.any():
        raise ValueError(
            f"{action} needs a label for every document, and row {int(marks.argmax())} has none "
            "(None or -1): unlabelled documents are counted by fit"
        )
