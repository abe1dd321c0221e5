"""The classifier of documents: strings in, probabilities and explanations out."""

from __future__ import annotations

import os
from numbers import Integral
from typing import Any, BinaryIO, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes.errors import IncompatibleTallies, StaleWarning, warn_user
from tallybayes.estimators.labels import codes_of, label_array, labels_and_codes
from tallybayes.estimators.locked_learning import learning
from tallybayes.estimators.text.counter import DocumentCounter, chosen_analyzer
from tallybayes.estimators.text.document_classifier import DocumentClassifier
from tallybayes.estimators.text.given_documents import labels_of, need_documents
from tallybayes.models.documents import DocumentModel
from tallybayes.tally import TermCounts
from tallybayes.tokens import MARKS
from tallybayes.tokens.rows import Documents

__all__ = ["TextNB"]


class TextNB(DocumentClassifier):
    r"""Naive Bayes for text: a tally of terms, weighted by exact leave-one-out.

    A term t says of a class k how much more documents of the class hold it than expected:

    .. math::

        T_{tk} = \log \frac{N_{tk} + \tau}{N_t s_k + \tau}, \qquad
        \log p(k \mid d) = b_k + \sum_{t \in d} c_{g(t)} \log(1 + n_{dt}) T_{tk} + \text{const}

    N_tk is the number of documents of class k that hold t, and s_k the share of the class. One
    weight c for each bin of terms, by n-gram order and frequency, τ, what s is a share of, and a
    power of the document's length minimise the log-loss of documents that are left out of the
    counts one by one. On top of these scores a ridge on length-normalised tf-idf is fitted, where
    it predicts held-out documents better.

    Parameters
    ----------
    ridge : bool, default=True
        Whether to fit the ridge. Without it, a model that learns or forgets documents stays as
        good as new; with it, :meth:`reweight` is needed.
    analyzer : {"auto", "word", "char", "char_wb", "cjk"} or callable, default="auto"
        What n-grams are made of. "auto" takes characters where more than three tenths of the
        characters are Han, kana or Hangul, else words.
    ngram_range : tuple of (int, int), default=(1, 2)
        The shortest and the longest n-grams.
    token_pattern : str
        What a word is: words and marks by default.
    lowercase : bool, default=True
        Whether capitals count as small letters.
    strip_accents : {"ascii", "unicode"} or None, default=None
        Whether accents are dropped.
    stop_words : {"english"}, list or None, default=None
        Words that are left out.
    n_features : int, optional
        Terms are hashed into so many buckets, so that memory is bounded.

    Attributes
    ----------
    classes_ : array (n_classes,)
        Sorted.
    tally_ : TermCounts
        Everything that was counted.
    analyzer_ : str or callable
        What "auto" has chosen.
    log_loss_, accuracy_, log_loss_se_, accuracy_se_ : float
        Of documents predicted by the counts of the others and by weights, and a ridge, that were
        learned on the other folds. τ, s and the power of the length were chosen on all.
    penalty_ : float or None
        Of the ridge; None where there is none.

    See Also
    --------
    MultinomialNB : For counts that are made elsewhere.

    References
    ----------
    Rennie, J. et al. (2003). Tackling the poor assumptions of naive Bayes text classifiers. ICML.
    Wang, S. and Manning, C. (2012). Baselines and bigrams: simple, good sentiment and topic
    classification. ACL.

    Examples
    --------
    >>> from tallybayes import TextNB
    >>> documents = ["cheap pills now", "buy cheap pills", "lunch at noon?", "see you at noon"]
    >>> model = TextNB().fit(documents, ["spam", "spam", "ham", "ham"])
    >>> model.predict(["pills, half price", "lunch tomorrow at noon"]).tolist()
    ['spam', 'ham']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "ridge": ["boolean"],
        "analyzer": [StrOptions({"auto", "word", "char", "char_wb", "cjk"}), callable],
        "ngram_range": [tuple],
        "token_pattern": [str],
        "lowercase": ["boolean"],
        "strip_accents": [StrOptions({"ascii", "unicode"}), None],
        "stop_words": [StrOptions({"english"}), list, None],
        "n_features": [Interval(Integral, 1, 2**31 - 1, closed="both"), None],
    }

    def __init__(
        self,
        *,
        ridge: bool = True,
        analyzer: Any = "auto",
        ngram_range: tuple[int, int] = (1, 2),
        token_pattern: str = MARKS,
        lowercase: bool = True,
        strip_accents: Literal["ascii", "unicode"] | None = None,
        stop_words: Any = None,
        n_features: int | None = None,
    ) -> None:
        self.ridge = ridge
        self.analyzer = analyzer
        self.ngram_range = ngram_range
        self.token_pattern = token_pattern
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.stop_words = stop_words
        self.n_features = n_features

    # ---- learning --------------------------------------------------------------------------------
    @learning
    def fit(self, X: Any, y: Any) -> Self:
        """Count documents from scratch, and learn on them.

        Parameters
        ----------
        X : list, array or column of str (n_documents,)
            Documents.
        y : array-like (n_documents,)
            Class labels.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        ValueError
            For bad parameters or labels; the estimator is then as it was before.
        InvalidDocument
            A ValueError: a document is missing, or is not text.
        """
        self._validate_params()
        self._counter = self._new_counter(X)
        self._learn(*self._counted(X, y))
        return self

    def _new_counter(self, documents: Any) -> DocumentCounter:
        need_documents(documents)
        names = ("ngram_range", "lowercase", "strip_accents", "stop_words", "n_features")
        options = {name: getattr(self, name) for name in names}
        analyzer = chosen_analyzer(documents) if self.analyzer == "auto" else self.analyzer
        options["analyzer"] = analyzer
        if analyzer == "word":
            options["token_pattern"] = self.token_pattern
        return DocumentCounter(options)

    def _counted(
        self, X: Any, y: Any
    ) -> tuple[TermCounts, Documents, NDArray[np.int32], NDArray[Any]]:
        """The tally of documents, them as rows of its terms, and their classes."""
        need_documents(X)
        terms, documents = self._counter.counted(X)
        labels = labels_of(y, len(documents), type(self).__name__)
        classes, codes = labels_and_codes(labels)
        tally = TermCounts.counted(terms, classes, documents.indptr, documents.terms, codes)
        return tally, documents, codes, classes

    def _learn(
        self, tally: TermCounts, documents: Documents, codes: NDArray[np.int32], _: Any
    ) -> None:
        spelling = self._counter.spelling
        self._model = DocumentModel.fitted(tally, spelling, documents, codes, ridge=self.ridge)

    def _recount(self, tally: TermCounts) -> None:
        """Gives the model other counts; a ridge of other classes is dropped, with a warning."""
        before, self._model = self._model, self._model.with_tally(tally)
        if before.learned.ridge is None or self._model.learned.ridge is not None:
            return
        old, new = before.tally.labels.tolist(), tally.labels.tolist()
        changes = [f"{label!r} came" for label in new if label not in set(old)]
        changes += [f"{label!r} went" for label in old if label not in set(new)]
        warn_user(
            StaleWarning(
                f"the class {changes[0]} after the ridge was learned, which is dropped: scores are "
                "those of the weighted counts",
                "reweight(X, y) learns a ridge of these classes; ridge=False does without it",
            ),
            StaleWarning,
        )

    @learning
    def partial_fit(self, X: Any, y: Any, classes: ArrayLike | None = None) -> Self:
        """Count documents in addition; the first ones are learned on as :meth:`fit` does.

        Parameters
        ----------
        X : list, array or column of str (n_documents,)
            Documents.
        y : array-like (n_documents,)
            Class labels. New ones may come at any time.
        classes : array-like, optional
            Labels that y has to be among.

        Returns
        -------
        self
            The estimator itself.
        """
        if not self.__sklearn_is_fitted__():
            self._validate_params()
            self._counter = self._new_counter(X)
        found = self._counted(X, y)
        if classes is not None:
            codes_of(found[3], np.unique(label_array(classes)))
        if self.__sklearn_is_fitted__():
            self._recount(self._model.tally + found[0])
        else:
            self._learn(*found)
        return self

    @learning
    def forget(self, X: Any, y: Any) -> Self:
        """Take documents away that were counted before; no count of them is left.

        Parameters
        ----------
        X : list, array or column of str (n_documents,)
            Documents.
        y : array-like (n_documents,)
            Their labels.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        NegativeTally
            A ValueError: more would be taken away than was counted.
        """
        model = self._fitted()
        rest = model.tally - self._counted(X, y)[0]
        rest.need_non_negative("forget")
        self._recount(rest)
        return self

    @learning
    def merge(self, other: TextNB) -> Self:
        """Add the documents that another model has counted; the weights stay.

        Parameters
        ----------
        other : TextNB
            Fitted, with the same analyzer.

        Returns
        -------
        self
            The estimator itself.
        """
        model, theirs = self._fitted(), other._fitted()
        if self._counter.options != other._counter.options:
            raise IncompatibleTallies(
                "the two models do not make the same terms of a document: fit both with the same "
                "analyzer, n-grams and options"
            )
        self._recount(model.tally + theirs.tally)
        return self

    @learning
    def reweight(self, X: Any, y: Any) -> Self:
        """Learn weights, and the ridge, again under the counts as they are.

        Parameters
        ----------
        X : list, array or column of str (n_documents,)
            Documents that are counted: all of them, or a fair sample.
        y : array-like (n_documents,)
            Their labels.

        Returns
        -------
        self
            The estimator itself.
        """
        model = self._fitted()
        documents, codes = self._rows_and_codes(X, y)
        self._model = DocumentModel.fitted(
            model.tally, model.spelling, documents, codes, ridge=self.ridge
        )
        return self

    # ---- saving ----------------------------------------------------------------------------------
    def save(self, path: str | os.PathLike[str] | BinaryIO) -> None:
        """Write the model to a file that :func:`tallybayes.load` reads.

        The file is a safetensors file with a checksum. It holds terms, counts and weights, no
        documents and no code; an existing file is replaced whole or not at all. A file opened for
        writing bytes may be given in place of a path.

        Parameters
        ----------
        path : str or path-like
            The file to write.

        Raises
        ------
        ModelFileError
            A ValueError: an analyzer that is a function, or labels that a file cannot hold.
        OSError
            If the file cannot be written.
        """
        from tallybayes.estimators.persistence.model_files import save

        save(self, path)

    def _held(self) -> tuple[DocumentModel, dict[str, Any]]:
        """What a model file holds beside parameters: the model and the options of its counter."""
        return self._fitted(), self._counter.options

    def _take(self, model: DocumentModel, options: dict[str, Any]) -> None:
        """Takes what a model file held."""
        self._counter = DocumentCounter(options)
        self._model = model
