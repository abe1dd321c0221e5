"""The classifier of documents: strings in, probabilities and explanations out."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import Any, BinaryIO, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes.errors import TallyWarning, warn_user
from tallybayes.estimators.locked_learning import learning
from tallybayes.estimators.text.counter import DocumentCounter, chosen_analyzer
from tallybayes.estimators.text.document_updates import UpdatedClassifier
from tallybayes.estimators.text.given_documents import need_documents, of_own_terms
from tallybayes.estimators.text.unlabelled_documents import split_labels
from tallybayes.models.documents import EVENTS, PlainLearner, TextLearner, TextModel, Transforms
from tallybayes.models.weighted_documents import WeightedLearner, softly_counted
from tallybayes.tokens import MARKS
from tallybayes.validation import labels_and_codes, warn_of_other_order

__all__ = ["TextNB"]


N_GRAMS = (1, 2)  # sizes by default


class TextNB(UpdatedClassifier):
    r"""Naive Bayes for text: a tally of terms, weighted by exact leave-one-out.

    The ratio of a term t for a class k compares the documents of the class that hold t with the
    number expected:

    .. math::

        T_{tk} = \log \frac{N_{tk} + \tau}{N_t s_k + \tau}, \qquad
        \log p(k \mid d) = b_k + \sum_{t \in d} c_{g(t)} \log(1 + n_{dt}) T_{tk} + \text{const}

    N_tk is the number of documents of class k that hold t, and s_k the share of the class. The
    weight c of each bin of terms (by n-gram order and frequency), τ, the kind of share s, and a
    power of the document's length minimise the log-loss of documents that are left out of the
    counts one by one. A ridge on length-normalised tf-idf is added to these scores if it improves
    the predictions of held-out documents. The other models are the textbook models, read from the
    same tally: after learning, forgetting or merging they equal a fit on the remaining documents.

    Parameters
    ----------
    model : {"weighted", "multinomial", "complement", "bernoulli"}, default="weighted"
        The weighted model above; multinomial or complement naive Bayes of the counts of terms; or
        Bernoulli naive Bayes of the terms that a document holds.
    alpha : float, default=1.0
        Smoothing of the three plain models, above 0.
    tf : {"log"} or None, default=None
        For "multinomial" and "complement": log(1 + count) instead of the count, as in
        :class:`tallybayes.text.TermWeighting`.
    idf : bool, default=False
        For "multinomial" and "complement": values are multiplied by log(n / N_t). The idf follows
        the counted documents; with `length_normalize` it is fixed at the first fit.
    length_normalize : bool, default=False
        For "multinomial" and "complement": values of a document are divided by the root of their
        sum of squares.
    ridge : bool, default=True
        Whether the weighted model fits the ridge. With a ridge, call :meth:`reweight` after
        learning or forgetting documents; without it that is not needed.
    unlabelled : "auto", float or None, default=None
        The weight, from 0 to 1, of documents without a label in :meth:`fit`; in y they are None, a
        missing value or −1. They are counted by their posteriors, found by expectation maximisation
        on the ratios. "auto" chooses 1, 1/8 or 0 by held-out labelled documents, and 0 unless that
        is worse by two standard errors: the model is then that of the labelled documents alone. It
        needs two labelled documents in a class, and labelled documents that are a fair sample of
        the classes. With None, documents without a label are refused, and −1 is an ordinary class.
    analyzer : {"auto", "word", "char", "char_wb", "cjk"} or callable, default="auto"
        The units of n-grams. "auto" takes characters if more than three tenths of the characters
        are Han, kana or Hangul, else words. A callable makes the terms of a document, which may be
        of any type: ``list`` takes documents that are lists of tokens.
    ngram_range : tuple of (int, int), default=(1, 2)
        The shortest and the longest n-grams.
    token_pattern : str
        A regular expression for tokens: words and punctuation marks by default.
    lowercase : bool, default=True
        Whether text is converted to lower case.
    strip_accents : {"ascii", "unicode"} or None, default=None
        Whether accents are dropped.
    stop_words : {"english"}, list or None, default=None
        Words to leave out.
    n_features : int, optional
        Number of hash buckets for terms, which bounds the memory.
    max_terms : int, optional
        The most terms that are kept, for streams without end. When documents bring more, the rarest
        ones are dropped, those of one frequency together, until at most half as many are left; see
        :meth:`prune`. No limit by default.
    half_life : float, optional
        Number of documents after which older documents have half their weight. The order of
        documents then matters. Terms and classes stay: no weight fades to less than 2⁻⁹⁹ documents;
        `max_terms` drops those that have faded most.

    Attributes
    ----------
    classes_ : array (n_classes,)
        Sorted.
    tally_ : TermCounts
        Everything that was counted.
    analyzer_ : str or callable
        The choice of "auto".
    log_loss_, accuracy_, log_loss_se_, accuracy_se_ : float
        For the documents of the first fit, or of :meth:`reweight`, each predicted by the counts of
        the others and, if the model is weighted, by weights and a ridge that were learned on the
        other folds; τ, s and the power of the length were chosen on all. The log-loss of
        "multinomial" and "bernoulli" is infinite if a class has a single document: without it the
        class has no document left, and a prior of 0.
    penalty_ : float or None
        The penalty of the ridge; None without a ridge.
    unlabelled_weight_ : float
        The weight of an unlabelled document; 0.0 if none are counted.
    n_iter_ : int
        Iterations of expectation maximisation; 0 if no unlabelled documents are counted.
    unlabelled_path_ : float64 array (n_steps, 3)
        Weight, iteration and held-out log-loss of everything that was tried; empty if no unlabelled
        documents are counted.

    See Also
    --------
    MultinomialNB : For counts that are made elsewhere.

    References
    ----------
    Rennie, J. et al. (2003). Tackling the poor assumptions of naive Bayes text classifiers. ICML.
    Nigam, K. et al. (2000). Text classification from labeled and unlabeled documents using EM.
    Machine Learning 39.
    Wang, S. and Manning, C. (2012). Baselines and bigrams: simple, good sentiment and topic
    classification. ACL.
    Manku, G. S. and Motwani, R. (2002). Approximate frequency counts over data streams. VLDB.

    Examples
    --------
    >>> from tallybayes import TextNB
    >>> documents = ["cheap pills now", "buy cheap pills", "lunch at noon?", "see you at noon"]
    >>> model = TextNB().fit(documents, ["spam", "spam", "ham", "ham"])
    >>> model.predict(["pills, half price", "lunch tomorrow at noon"]).tolist()
    ['spam', 'ham']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "model": [StrOptions({"weighted", *EVENTS})],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "tf": [StrOptions({"log"}), None],
        "idf": ["boolean"],
        "length_normalize": ["boolean"],
        "ridge": ["boolean"],
        "unlabelled": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="right"), None],
        "analyzer": [StrOptions({"auto", "word", "char", "char_wb", "cjk"}), callable],
        "ngram_range": [tuple],
        "token_pattern": [str],
        "lowercase": ["boolean"],
        "strip_accents": [StrOptions({"ascii", "unicode"}), None],
        "stop_words": [StrOptions({"english"}), list, None],
        "n_features": [Interval(Integral, 1, 2**31 - 1, closed="both"), None],
        "max_terms": [Interval(Integral, 2, None, closed="left"), None],
        "half_life": [None, Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        model: Literal["weighted", "multinomial", "complement", "bernoulli"] = "weighted",
        alpha: float = 1.0,
        tf: Literal["log"] | None = None,
        idf: bool = False,
        length_normalize: bool = False,
        ridge: bool = True,
        unlabelled: float | Literal["auto"] | None = None,
        analyzer: Any = "auto",
        ngram_range: tuple[int, int] = N_GRAMS,
        token_pattern: str = MARKS,
        lowercase: bool = True,
        strip_accents: Literal["ascii", "unicode"] | None = None,
        stop_words: Any = None,
        n_features: int | None = None,
        max_terms: int | None = None,
        half_life: float | None = None,
    ) -> None:
        self.model = model
        self.alpha = alpha
        self.tf = tf
        self.idf = idf
        self.length_normalize = length_normalize
        self.ridge = ridge
        self.unlabelled = unlabelled
        self.analyzer = analyzer
        self.ngram_range = ngram_range
        self.token_pattern = token_pattern
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.stop_words = stop_words
        self.n_features = n_features
        self.max_terms = max_terms
        self.half_life = half_life

    # ---- learning --------------------------------------------------------------------------------
    @learning
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Count documents from scratch, and learn on them.

        Parameters
        ----------
        X : list, array or column of str (n_documents,)
            Documents.
        y : array-like (n_documents,)
            Class labels; with `unlabelled`, None, a missing value or −1 for those without. −1
            beside a single other label is refused.
        sample_weight : array-like (n_documents,), optional
            A document of weight w counts as w documents; 1 by default.
        groups : array-like (n_documents,), optional
            Documents that belong together, such as those of one author or one conversation, have
            one value. Wherever documents are left out, to learn on them or for :attr:`log_loss_`
            and the other figures, those of a group are left out together.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        ValueError
            For bad parameters, labels or weights; the estimator is then as it was before.
        InvalidDocument
            A ValueError: a document is missing, or is not text.
        """
        self._validate_params()
        self._counter = self._new_counter(X)
        if self.unlabelled is not None:
            kept, labels = split_labels(y, len(X), type(self).__name__)
            if not kept.all():
                warn_of_other_order(X, y, sample_weight)
                beside = {"sample_weight": sample_weight, "groups": groups}
                beside["half_life"] = self.half_life
                self._hold(self._part_labelled(self._learner(), X, kept, labels, beside))
                self._drop_rare_terms()
                return self
        self._learn_first(X, y, sample_weight, groups)
        return self

    def _part_labelled(
        self,
        learner: TextLearner,
        X: Any,
        kept: NDArray[np.bool_],
        labels: NDArray[Any],
        beside: dict[str, Any],
    ) -> TextModel:
        """A model of documents of which some have labels."""
        if not isinstance(learner, WeightedLearner):
            raise ValueError(
                f"model={self.model!r} counts no documents without a label: use model='weighted', "
                "or leave them out of X and y"
            )
        for name, given in beside.items():
            if given is not None:
                raise ValueError(
                    f"{name} is not for documents of which some have no label: omit it, or leave "
                    "those out of X and y"
                )
        terms, documents = self._counter.counted(X)
        classes, codes = labels_and_codes(labels)
        labelled = documents.take(np.flatnonzero(kept))
        unlabelled = documents.take(np.flatnonzero(~kept))
        weight = None if self.unlabelled == "auto" else float(self.unlabelled or 0.0)
        model = softly_counted(
            (terms, classes), learner, labelled, codes, unlabelled, weight=weight
        )
        if model is not None:
            return model
        if weight is not None:
            raise ValueError(
                f"unlabelled={weight:g} needs at least two classes, and a class with at least two "
                "labelled documents, to judge the others by: label more, or set unlabelled='auto'"
            )
        terms, labelled = of_own_terms(terms, labelled)
        tally = learner.counted(terms, classes, labelled, codes, None)
        return learner.fitted(tally, labelled, codes, None)

    def _learner(self) -> TextLearner:
        """What the parameters say of counting and reading."""
        transforms = Transforms(self.tf, self.idf, self.length_normalize)
        if self.model in ("weighted", "bernoulli"):
            _need_no_transforms(self.model, transforms)
        if self.model != "weighted":
            return PlainLearner(self.model, float(self.alpha), transforms)
        if self.alpha != 1.0:
            raise ValueError(
                f"alpha={self.alpha!r} smooths the plain models, and model='weighted' chooses its "
                "smoothing by leave-one-out: omit alpha, or name another model"
            )
        return WeightedLearner(self._counter.spelling, self.ridge)

    def _new_counter(self, documents: Any) -> DocumentCounter:
        need_documents(documents)
        names = ("ngram_range", "lowercase", "strip_accents", "stop_words", "n_features")
        options = {name: getattr(self, name) for name in names}
        analyzer = chosen_analyzer(documents) if self.analyzer == "auto" else self.analyzer
        options["analyzer"] = analyzer
        if analyzer == "word":
            options["token_pattern"] = self.token_pattern
        elif self.token_pattern != MARKS:
            warn_user(
                f"token_pattern={self.token_pattern!r} is not used: it says what a word is, and "
                f"n-grams are made by analyzer={analyzer!r}. Omit it, or set analyzer='word'",
                TallyWarning,
            )
        if callable(analyzer) and self.ngram_range == N_GRAMS:
            del options["ngram_range"]  # nobody asked for it, and what is unused is warned of
        return DocumentCounter(options)

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
        from tallybayes.estimators.persistence.saving import save

        save(self, path)

    def _held(self) -> tuple[TextModel, dict[str, Any]]:
        """What a model file holds beside parameters: the model and the options of its counter."""
        return self._fitted(), self._counter.options

    def _take(self, model: TextModel, options: dict[str, Any]) -> None:
        """Takes what a model file held."""
        self._counter = DocumentCounter(options)
        self._hold(model)


def _need_no_transforms(model: str, transforms: Transforms) -> None:
    """Raises ValueError where a transform is asked for that the model does not take."""
    given = [name for name, value in transforms._asdict().items() if value]
    if given:
        why = (
            "it counts documents with a term, whatever their number of occurrences"
            if model == "bernoulli"
            else "it learns weights in their place"
        )
        raise ValueError(
            f"model={model!r} takes no {given[0]}={getattr(transforms, given[0])!r}: {why}. Omit "
            f"{given[0]}, or use model='multinomial' or 'complement'"
        )
