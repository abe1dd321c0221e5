"""Naive Bayes for documents: strings in, probabilities and explanations out."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from tallybayes.errors import IncompatibleTallies, StaleWarning, TallyWarning, shown, warn_user
from tallybayes.estimators.base import LOCK, learning, lock_of
from tallybayes.estimators.saving import EXTRA
from tallybayes.estimators.sources import ReadBy, remember
from tallybayes.estimators.text_base import (
    FEW_DOCUMENTS,
    LIVE_DOCUMENTS,
    DocumentClassifier,
    DocumentCounter,
    chosen_analyzer,
    need_labels,
    split_labels,
)
from tallybayes.estimators.vectorizer import (
    CountedRows,
    aged,
    given_beside,
    need_documents,
    of_own_terms,
)
from tallybayes.models.documents import EVENTS, PlainLearner, Transforms
from tallybayes.models.weighted_documents import (
    DocumentModel,
    LiveDocuments,
    TextLearner,
    TextModel,
    WeightedLearner,
    softly_counted,
    spelling_of,
    with_unlabelled_of,
)
from tallybayes.scoring import Figures
from tallybayes.sources.document_source import DocumentSource, labelled_texts
from tallybayes.tally import TermCounts
from tallybayes.tally.terms import FADED
from tallybayes.tokens import MARKS
from tallybayes.tokens.counting import document_batches
from tallybayes.validation import (
    LeftOut,
    codes_of,
    is_missing_label,
    label_array,
    labels_and_codes,
    warn_of_other_order,
)

__all__ = ["TextNB"]

N_GRAMS = (1, 2)  # sizes by default


def _need_same_terms(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Raises IncompatibleTallies for options that make other terms of a document."""
    for name in sorted(ours.keys() | theirs.keys()):
        mine, other = ours.get(name), theirs.get(name)
        if mine != other:
            raise IncompatibleTallies(
                f"the two models do not make the same terms of a document: {name} is {mine!r} in "
                f"one and {other!r} in the other. Fit both with the same analyzer, n-grams and "
                "options"
            )


def _is_plain(label: Any) -> bool:
    """Whether a label is one that its type and value tell from others."""
    return type(label) in (str, int, bool)


class TextNB(DocumentClassifier):
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
    @property
    def read_by_(self) -> ReadBy:
        """How documents were read by which the model was fitted: the columns of labels and
        documents; a model file keeps it."""
        self._fitted()
        return ReadBy.of(self.__dict__.get(EXTRA))

    @learning
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Count documents from scratch, and learn on them.

        Parameters
        ----------
        X : list, array or column of str (n_documents,), or DocumentSource
            Documents. Those of :func:`tallybayes.documents` have their labels with them.
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
        X, y = self._taken(X, y)
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

    def _taken(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Documents and labels, of a source in memory; how it was read is kept."""
        if not isinstance(x, DocumentSource):
            return x, y
        x.keep_unlabelled = self.unlabelled is not None
        remember(self, ReadBy(x.target, x.column))
        return labelled_texts(x, y)

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
        given = [name for name, value in transforms._asdict().items() if value]
        if given and self.model in ("weighted", "bernoulli"):
            why = (
                "it counts documents with a term, whatever their number of occurrences"
                if self.model == "bernoulli"
                else "it learns weights in their place"
            )
            raise ValueError(
                f"model={self.model!r} takes no {given[0]}={getattr(self, given[0])!r}: {why}. "
                f"Omit {given[0]}, or use model='multinomial' or 'complement'"
            )
        if self.model != "weighted":
            return PlainLearner(self.model, float(self.alpha), transforms)
        if self.alpha != 1.0:
            raise ValueError(
                f"alpha={self.alpha!r} smooths the plain models, and model='weighted' chooses its "
                "smoothing by leave-one-out: omit alpha, or name another model"
            )
        options = self._counter.options
        return WeightedLearner(spelling_of(options["analyzer"], options["n_features"]), self.ridge)

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
    def _held(self) -> tuple[TextModel, dict[str, Any]]:
        """What a model file holds beside parameters: the model and the options of its counter."""
        return self._fitted(), self._counter.options

    def _take(self, model: TextModel, options: dict[str, Any]) -> None:
        """Takes what a model file held."""
        self._counter = DocumentCounter(options)
        self._hold(model)

    ridge: bool
    max_terms: int | None

    def _counted(
        self,
        learner: TextLearner | TextModel,
        X: Any,
        y: Any,
        sample_weight: Any,
        among: ArrayLike | None = None,
        groups: Any = None,
        *,
        half_life: float | None = None,
    ) -> tuple[TermCounts, CountedRows]:
        """The tally of documents, and them as rows of its terms; classes are some of `among`. With
        a half-life they weigh what they do when the last one has been learned."""
        need_documents(X)
        if self.unlabelled is not None:
            need_labels(y, "this call")
        terms, documents = self._counter.counted(X)
        labels, weights, together = given_beside(X, y, sample_weight, groups, len(documents))
        weights = aged(weights, len(documents), half_life)
        if weights is not None and not weights.all():  # weight 0 is not there
            kept = np.flatnonzero(weights)
            labels, weights, documents = labels[kept], weights[kept], documents.take(kept)
            together = None if together is None else together[kept]
            terms, documents = of_own_terms(terms, documents)
        classes, codes = labels_and_codes(labels)
        if among is not None:
            codes_of(classes, np.unique(label_array(among)))
        tally = learner.counted(terms, classes, documents, codes, weights)
        return tally, CountedRows(documents, codes, weights, together)

    def _recount(self, before: TextModel, tally: TermCounts) -> None:
        """Gives a model other counts; a ridge of other classes is dropped, with a warning."""
        after = before.with_tally(tally)
        self._hold(after)
        if before.penalty is None or after.penalty is not None:
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

    def _drop_rare_terms(self) -> None:
        """Drops the rarest terms where there are more than `max_terms`, until half as many are
        left: so a stream pays for it once in so many new terms."""
        most, live = self.max_terms, self.__dict__.get(LIVE_DOCUMENTS)
        if most is None or (live is not None and live.n_terms <= most):
            return
        model = self._held_model()
        if model.tally.n_terms <= most:
            return
        frequency = np.sort(model.tally.frequency)
        below = frequency[-(most // 2) - 1]  # the largest that has to go
        self._recount(model, model.tally.prune(float(np.nextafter(below, np.inf))))

    def _live(self) -> LiveDocuments | None:
        """The model as one that changes in place; None where Python makes the terms."""
        live: LiveDocuments | None = self.__dict__.get(LIVE_DOCUMENTS)
        if live is not None and live.half_life != self.half_life:
            self._hold(live.model())
            live = None
        if live is None:
            model, half_life = self._held_model(), self._valid_half_life()
            counts = self._counter.live_counts(model.tally.labels, half_life)
            if counts is None:
                return None
            live = LiveDocuments(model, counts)
            self.__dict__[LIVE_DOCUMENTS] = live
            del self.__dict__["_model"]
        return live

    def _change_in_place(
        self, X: Any, y: Any, sample_weight: Any, among: ArrayLike | None, *, forget: bool
    ) -> bool:
        """Counts few documents, or takes them away, at the cost of their terms; False where nothing
        has changed and the counts of all terms have to be written again."""
        need_documents(X)
        if len(X) > FEW_DOCUMENTS:
            return False
        if self.unlabelled is not None:
            need_labels(y, "this call")
        batches = list(document_batches(X))
        if len(batches) != 1:
            return False
        labels, weights, _ = given_beside(X, y, sample_weight, None, len(batches[0][0]))
        classes, codes = labels_and_codes(labels)
        if among is not None:
            codes_of(classes, np.unique(label_array(among)))
        live = self._live() if weights is None or weights.all() else None
        if live is None:
            return False
        change = live.forget if forget else live.learn
        return change(*batches[0], classes, codes, weights)

    @learning
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Count documents in addition; the first ones are learned on as :meth:`fit` does.

        Parameters
        ----------
        X : list, array or column of str (n_documents,), or DocumentSource
            Documents. Those of :func:`tallybayes.documents` have their labels with them.
        y : array-like (n_documents,)
            Class labels. New ones may come at any time.
        classes : array-like, optional
            Labels that y has to be among.
        sample_weight : array-like (n_documents,), optional
            A document of weight w counts as w documents; 1 by default.
        groups : array-like (n_documents,), optional
            As for :meth:`fit`; of later documents nothing is left out.

        Returns
        -------
        self
            The estimator itself.
        """
        X, y = self._taken(X, y)
        if self.__sklearn_is_fitted__():
            changed = groups is None and self._change_in_place(
                X, y, sample_weight, classes, forget=False
            )
            if not changed:
                model = self._held_model()
                half_life = self._valid_half_life()
                tally, _ = self._counted(
                    model, X, y, sample_weight, classes, groups, half_life=half_life
                )
                if half_life is None:
                    self._recount(model, model.tally + tally)
                else:
                    factor = 0.5 ** (len(X) / half_life)
                    self._recount(model, model.tally.followed_by(tally, factor))
            self._drop_rare_terms()
            return self
        self._validate_params()
        self._counter = self._new_counter(X)
        self._learn_first(X, y, sample_weight, groups, classes)
        return self

    def _learn_first(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, among: ArrayLike | None = None
    ) -> None:
        """Counts documents from scratch, and learns on them."""
        learner, half_life = self._learner(), self.half_life
        tally, rows = self._counted(
            learner, X, y, sample_weight, among, groups, half_life=half_life
        )
        tally = tally if half_life is None else tally.at_least(FADED)
        self._hold(learner.fitted(tally, *rows))
        self._drop_rare_terms()

    def learn_one(self, document: str, y: Any, w: float = 1.0) -> Self:
        """Count one document; see :meth:`partial_fit`.

        Where it is the first one, what the weighted model learns on documents is learned on it
        alone: call :meth:`reweight` when there are more.

        Parameters
        ----------
        document : str
            A document.
        y : label
            Of one type with the labels learned before.
        w : float, default=1.0
            Weight, from 0 on. A document of weight 0 is none, but others fade by a half-life.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        ValueError
            For a label that is missing or of another type, or a weight that is negative or not
            finite. Nothing is counted then.
        InvalidDocument
            A ValueError: the document is missing, or is not text.
        """
        if not 0.0 <= w < np.inf or is_missing_label(y):
            raise ValueError(
                f"learn_one takes a label and a finite weight from 0 on, got y={shown(y)}, "
                f"w={shown(w)}; forget_one takes documents away"
            )
        if w == 0.0:
            return self if self.half_life is None else self._pass_one()
        held = self.__dict__
        with held[LOCK] if LOCK in held else lock_of(self):
            live: LiveDocuments | None = held.get(LIVE_DOCUMENTS)
            if live is not None and live.half_life != self.half_life:
                live = None  # it is made anew
            if live is not None and self.unlabelled is None and _is_plain(y):
                if live.learn_one(document, y, w):
                    if self.max_terms is not None and live.n_terms > self.max_terms:
                        self._bound_terms()
                    return self
                self.partial_fit([document], [y], sample_weight=[w])
                live = held.get(LIVE_DOCUMENTS)
                if live is not None:
                    live.remember(y, label_array([y]))
                return self
        return self.partial_fit([document], [y], sample_weight=[w])

    @learning
    def _pass_one(self) -> Self:
        """Lets everything fade as if a document had come."""
        if not self.__sklearn_is_fitted__():
            return self
        live, half_life = self._live(), self._valid_half_life()
        if live is not None:
            live.pass_one()
        elif half_life is not None:
            model = self._held_model()
            none = model.tally.zero()
            self._recount(model, model.tally.followed_by(none, 0.5 ** (1.0 / half_life)))
        return self

    def _valid_half_life(self) -> float | None:
        """The half-life, which may have been set after the fit."""
        if self.half_life is not None:
            self._validate_params()
        return self.half_life

    def forget_one(self, document: str, y: Any, w: float = 1.0) -> Self:
        """Take one document away; see :meth:`forget`.

        Parameters
        ----------
        document : str
            A document, as it was learned.
        y : label
            The label it was learned with.
        w : float, default=1.0
            The weight it was learned with; with a half-life, what it weighs by now.

        Returns
        -------
        self
            The estimator itself.
        """
        if w == 0.0:
            self._fitted()
            return self
        return self.forget([document], [y], [w])

    @learning
    def forget(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Take documents away that were counted before; no count of them is left.

        Unlabelled documents keep the counts that :meth:`fit` gave them, with what it knew then: to
        take that away as well, fit again.

        Parameters
        ----------
        X : list, array or column of str (n_documents,), or DocumentSource
            Documents. Those of :func:`tallybayes.documents` have their labels with them.
        y : array-like (n_documents,)
            Their labels.
        sample_weight : array-like (n_documents,), optional
            What they were counted with; 1 by default. With a half-life, what they weigh by now:
            half of it after `half_life` later documents.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        NegativeTally
            A ValueError: more would be removed than was counted.
        """
        if not self.__sklearn_is_fitted__() or not len(self.classes_):
            self._fitted()
        X, y = labelled_texts(X, y)
        if not self._change_in_place(X, y, sample_weight, None, forget=True):
            model = self._fitted()
            tally = self._counted(model, X, y, sample_weight)[0]
            faded = self.half_life is not None
            self._recount(model, model.tally.less(tally, "forget", faded=faded))
        return self

    @learning
    def _bound_terms(self) -> None:
        """:meth:`_drop_rare_terms`, in one step for other threads."""
        self._drop_rare_terms()

    @learning
    def prune(self, min_df: float = 2) -> Self:
        """Drop the terms that fewer than so many documents hold, to bound memory.

        ``tally_.pruned`` is then the most documents that a term can have had beside those that are
        counted: it grows by at most what `min_df` lets drop. So pruning by 2 after each of m
        batches counts each term at most m documents short (lossy counting, Manku and Motwani,
        2002). Models that were pruned merge, and their bounds add. Documents can be forgotten,
        whether or not their terms are still there.

        Parameters
        ----------
        min_df : float, default=2
            The fewest documents, by weight, of a term that stays.

        Returns
        -------
        self
            The estimator itself.
        """
        model = self._fitted()
        if not min_df >= 0.0:
            raise ValueError(f"min_df is a number of documents from 0 on, got {shown(min_df)}")
        self._recount(model, model.tally.prune(min_df))
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

        Raises
        ------
        IncompatibleTallies
            A ValueError: the two do not make the same terms of a document, or are of two kinds.
        """
        model = self._fitted()
        if not isinstance(other, TextNB):
            raise IncompatibleTallies(
                f"a TextNB cannot take in a {type(other).__name__}: merge models of one kind"
            )
        theirs = other._fitted()
        _need_same_terms(self._counter.options, other._counter.options)
        model.need_alike(theirs)
        self._recount(model, model.tally + theirs.tally)
        self._hold(with_unlabelled_of(self._held_model(), theirs))
        self._drop_rare_terms()
        return self

    @learning
    def reweight(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn weights, and the ridge, again under the counts as they are.

        Parameters
        ----------
        X : list, array or column of str (n_documents,)
            Documents that are counted: all of them, or a fair sample.
        y : array-like (n_documents,)
            Their labels.
        sample_weight : array-like (n_documents,), optional
            What they were counted with; 1 by default. With a half-life, what they weigh by now;
            by default that of the last documents that were learned, in their order.
        groups : array-like (n_documents,), optional
            Documents of a group, of which X has all, are left out together; see :meth:`fit`.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        ValueError
            If the model is not the weighted one: there is nothing to weigh. If it counts unlabelled
            documents: these have seen the labels of the documents that would be left out.
        """
        model = self._fitted()
        rows = self._counted_rows(model, X, y, sample_weight, groups)
        rows = rows.take(rows.weighty)
        self._hold(model.reweighted(*rows, ridge=self.ridge))
        return self

    def _left_out(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, groups: Any = None
    ) -> LeftOut | None:
        """Predictions of counted documents by what is learned again without them; None for models
        that learn no weights, or that count unlabelled documents."""
        model = self._fitted()
        if not isinstance(model, DocumentModel) or model.unlabelled is not None:
            return None
        rows = self._counted_rows(model, X, y, sample_weight, groups)
        kept = rows.weighty
        rows = rows.take(kept)
        held_out, f = model.held_out(*rows, ridge=self.ridge)
        order = np.argsort(held_out.rows)
        some = held_out.rows[order]
        weight = np.ones(len(some)) if rows.weights is None else rows.weights[some]
        figures = Figures(
            rows=float(f.documents),
            log_loss=f.log_loss,
            accuracy=f.accuracy,
            prior_log_loss=np.nan,
            log_loss_se=f.log_loss_se,
            accuracy_se=f.accuracy_se,
            left_out=True,
        )
        return LeftOut(kept[some], held_out.log_proba[order], weight, "whole", figures)
