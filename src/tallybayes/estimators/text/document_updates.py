"""Learning and forgetting documents after the first fit."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tallybayes.errors import IncompatibleTallies, StaleWarning, warn_user
from tallybayes.estimators.locked_learning import LOCK, learning, lock_of
from tallybayes.estimators.text.counter import DocumentCounter
from tallybayes.estimators.text.document_classifier import (
    FEW_DOCUMENTS,
    LIVE_DOCUMENTS,
    DocumentClassifier,
)
from tallybayes.estimators.text.given_documents import (
    CountedRows,
    aged,
    groups_of,
    labels_of,
    need_documents,
    of_own_terms,
    weights_of,
)
from tallybayes.estimators.text.unlabelled_documents import need_labels
from tallybayes.models.documents import TextLearner, TextModel
from tallybayes.models.live_documents import LiveDocuments
from tallybayes.models.weighted_documents import DocumentModel, with_unlabelled_of
from tallybayes.scoring import Figures
from tallybayes.tally import TermCounts
from tallybayes.tally.terms import FADED
from tallybayes.tokens.documents import document_batches
from tallybayes.validation import (
    LeftOut,
    codes_of,
    is_missing_label,
    label_array,
    labels_and_codes,
    warn_of_other_order,
)

__all__ = ["UpdatedClassifier"]


class UpdatedClassifier(DocumentClassifier):
    """Base class of classifiers of documents whose counts can change. Not for direct use."""

    ridge: bool
    max_terms: int | None

    @abstractmethod
    def _learner(self) -> TextLearner:
        """What the parameters say of counting and reading."""

    @abstractmethod
    def _new_counter(self, documents: Any) -> DocumentCounter:
        """What counts documents such as the first ones."""

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
        warn_of_other_order(X, y, sample_weight, groups)
        labels = labels_of(y, len(documents), type(self).__name__)
        weights = aged(weights_of(sample_weight, len(documents)), len(documents), half_life)
        together = groups_of(groups, len(documents))
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
        warn_of_other_order(X, y, sample_weight)
        labels = labels_of(y, len(batches[0][0]), type(self).__name__)
        weights = weights_of(sample_weight, len(labels))
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
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Count documents in addition; the first ones are learned on as :meth:`fit` does.

        Parameters
        ----------
        X : list, array or column of str (n_documents,)
            Documents.
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
                f"learn_one takes a label and a finite weight from 0 on, got y={y!r}, w={w!r}; "
                "forget_one takes documents away"
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
    def forget(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Take documents away that were counted before; no count of them is left.

        Unlabelled documents keep the counts that :meth:`fit` gave them, with what it knew then: to
        take that away as well, fit again.

        Parameters
        ----------
        X : list, array or column of str (n_documents,)
            Documents.
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
            raise ValueError(f"min_df is a number of documents from 0 on, got {min_df!r}")
        self._recount(model, model.tally.prune(min_df))
        return self

    @learning
    def merge(self, other: UpdatedClassifier) -> Self:
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
        if not isinstance(other, UpdatedClassifier):
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
