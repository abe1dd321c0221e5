"""The classifier inside another one: how its rows are read once, counted under other labels, and
scored by other counts.

:class:`MultiLabel` and :class:`Hierarchy` hold a classifier of arrays, tables or documents. What
these three do differently is here, and nothing else in them asks which one it is.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import log_softmax

from tallybayes.engines.arrays import collect_array
from tallybayes.engines.tables import collect_table
from tallybayes.estimators.vectorizer import need_documents
from tallybayes.families.priors import ClassPrior
from tallybayes.labels.counts import BOTH, ColumnLabels, LabelledRows, TermLabels, counts_of_labels
from tallybayes.models.documents import FixedIdf, PlainDocuments, PlainLearner
from tallybayes.scoring import normalised
from tallybayes.tally import ClassCounts, FeatureSums, TableTally, TermCounts
from tallybayes.tally.base import less
from tallybayes.tally.sparse import SparseSums
from tallybayes.validation import rows_of
from tallybayes.weighted.ridge import DocumentFigures

__all__ = ["Inner", "inner_of"]

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Index = NDArray[np.intp]

EVERY = np.array([False])
"""The class of a classifier that counts all rows together."""

BY_CLASS = ("class_prior", "priors", "class_weight", "classes")
"""Parameters that name the classes of one model."""

UNJUDGED = DocumentFigures(np.nan, np.nan, np.nan, np.nan, 0)
"""The figures of a model that was judged on no documents."""


class Parts(NamedTuple):
    """The sums by which labels are read, where each label has few of them.

    Parameters
    ----------
    sums : sparse array (n_labels, n_features)
        Of the rows of each label, in CSR format.
    every : float64 array (n_features,)
        Of all rows.
    alpha : float64 array (1, 1) or (1, n_features)
        Above 0.
    prior : float64 array (n_labels,)
        The log-odds of each label before its row is seen; infinite for one that all rows have, or
        none.
    """

    sums: Any
    every: Array
    alpha: Array
    prior: Array

    def log_odds(self, x: Any, alpha: Array) -> Array:
        r"""log p(x | label) − log p(x | the rest), in nats, float64 (n_rows, n_labels).

        With :math:`S_{pj}` the sums of a label, :math:`S_j` those of all rows and :math:`A_p =
        \sum_j \alpha_{pj}`, it is linear in x with the weights

        .. math::

            \log\frac{S - S_p + A_p}{S_p + A_p} + \log\frac{\alpha_{pj}}{S_j + \alpha_{pj}}
                + \log\frac{(S_{pj} + \alpha_{pj}) (S_j + \alpha_{pj})}
                          {\alpha_{pj} (S_j - S_{pj} + \alpha_{pj})}

        of which the last is 0 where a label lacks a feature. So it takes the time of the sums that
        are not 0, for the features that the rows have. Each label, and each rest, has some counts.

        Parameters
        ----------
        x : sparse array (n_rows, n_features)
            In CSR format, not negative.
        alpha : float64 array (1, n_features), (1, 1) or (n_labels, 1)
            α_pj, above 0.
        """
        parts, every = self.sums, self.every
        n_parts, n_features = parts.shape
        total, of_parts = every.sum(), np.asarray(parts.sum(axis=1))
        strength = alpha.sum(axis=1) * (n_features if alpha.shape[1] == 1 else 1)
        used = np.unique(x.indices)
        x, parts, every = x[:, used], parts[:, used], every[used]
        alpha = alpha if alpha.shape[1] == 1 else alpha[:, used]

        at = np.repeat(np.arange(n_parts), np.diff(parts.indptr))
        a, of_all = np.broadcast_to(alpha, parts.shape)[at, parts.indices], every[parts.indices]
        rest = less(of_all, parts.data)
        cells = np.log1p(parts.data / a) + np.log(of_all + a) - np.log(rest + a)
        more = sparse.csr_array((cells, parts.indices, parts.indptr), shape=parts.shape)
        found: Array = (x @ more.T.tocsr()).toarray()
        own, which = np.unique(alpha, axis=0, return_inverse=True)  # mostly one for all parts
        found += (x @ (np.log(own) - np.log(every + own)).T)[:, which.ravel()]
        each = np.log(less(total, of_parts) + strength) - np.log(of_parts + strength)
        found += np.asarray(x.sum(axis=1))[:, None] * each
        return found


class Inner(ABC):
    """How a kind of classifier reads, counts and scores rows. Rows `x` are as it has read them."""

    @abstractmethod
    def first(self, model: Any, X: Any) -> Any:
        """Rows that an unfitted classifier begins with."""

    @abstractmethod
    def to_learn(self, model: Any, X: Any) -> Any:
        """Rows that a fitted one counts in addition."""

    def to_forget(self, model: Any, X: Any) -> Any:
        """Rows that it has counted."""
        return self.to_learn(model, X)

    @abstractmethod
    def to_predict(self, model: Any, X: Any) -> Any:
        """Rows to score."""

    @abstractmethod
    def size(self, x: Any) -> int:
        """How many rows there are."""

    @abstractmethod
    def start(self, model: Any, x: Any, weights: Array | None) -> None:
        """Counts the first rows, all in one class, in place."""

    @abstractmethod
    def learn(self, model: Any, x: Any, weights: Array | None) -> None:
        """Counts more rows, in place."""

    @abstractmethod
    def forget(self, model: Any, x: Any, weights: Array | None) -> None:
        """Takes rows away, in place; raises NegativeTally."""

    @abstractmethod
    def by_label(self, model: Any, x: Any, labelled: LabelledRows, weights: Array | None) -> Any:
        """The tally of the rows of each label."""

    @abstractmethod
    def counts(self, model: Any, batch: Any) -> Any:
        """The counts of labels of a batch, with those of all rows of the model."""

    @abstractmethod
    def reading(self, model: Any, tally: Any, rows: Array | None = None) -> Any:
        """A classifier that reads this tally as `model` reads its own; `rows` are those of each
        class by which the class prior is read, where the tally has others."""

    @abstractmethod
    def joint(self, model: Any, x: Any) -> Array:
        """log P(c) + log p(x | c), in nats, float64 (n_rows, n_classes)."""

    @abstractmethod
    def posterior(self, model: Any, joint: Array) -> Array:
        """P(c | x) of joint log-likelihoods, float64 (n_rows, n_classes)."""

    @abstractmethod
    def left_out(self, model: Any, x: Any, own: Codes, weight: Array) -> Array:
        """log P(c | x) of counted rows, each without itself, float64 (n_rows, n_classes)."""

    @abstractmethod
    def some(self, x: Any, rows: Index) -> Any:
        """Some rows."""

    def parts(self, model: Any, counts: Any) -> Parts | None:
        """The sums of labels, if a label is read from sums that share a total; None elsewhere."""
        return None

    def values(self, model: Any, x: Any) -> Any:
        """What these sums add up, sparse (n_rows, n_features) in CSR format."""
        raise NotImplementedError


def inner_of(model: Any, whose: str) -> Inner:
    """How a classifier counts and scores, if it can be inside another.

    Raises
    ------
    ValueError
        For a classifier that learns on rows, or parameters that name its classes.
    """
    kind = type(model).__name__
    known = KINDS.get(kind)
    learns = kind == "WeightedNaiveBayes" or (kind == "TextNB" and model.model == "weighted")
    if learns:
        plain = "NaiveBayes()" if kind == "WeightedNaiveBayes" else "TextNB(model='multinomial')"
        raise ValueError(
            f"a weighted {kind} learns weights on the rows of two classes, and {whose} counts rows "
            "once for all labels and learns nothing on them. One tally cannot serve both: give it "
            f"{plain}" + (", or fit one weighted model a label" if whose == "MultiLabel" else "")
        )
    if known is None or type(model).__module__.split(".")[0] != "tallybayes":
        raise ValueError(
            f"{whose} counts with a classifier of tallybayes that is read from counts alone, one "
            f"of {', '.join(sorted(KINDS))}; got {model!r}"
        )
    for name in BY_CLASS:
        if getattr(model, name, None) is not None:
            raise ValueError(
                f"{name}={getattr(model, name)!r} names the classes of a single model, and "
                f"{whose} reads many: leave it out of the {kind}"
            )
    if getattr(model, "chooses_on_rows", False):
        raise ValueError(
            f"this {kind} chooses alpha='auto' or calibrate= on the rows of two classes, and "
            f"{whose} reads its counts alone: give alpha a number"
            + (", and set smoothing='auto'" if whose == "MultiLabel" else "")
        )
    for name in ("half_life", "max_terms", "unlabelled"):
        if getattr(model, name, None) is not None:
            raise ValueError(
                f"{name}={getattr(model, name)!r} changes counts beyond the rows that are "
                f"learned, which {whose} cannot take back by label: leave it out of the {kind}"
            )
    return known


class _Columns(Inner):
    """What classifiers of arrays and of tables share."""

    def start(self, model: Any, x: Any, weights: Array | None) -> None:
        model._count_afresh(EVERY, x, np.zeros(self.size(x), dtype=np.int32), weights)

    def counts(self, model: Any, batch: TableTally) -> ColumnLabels:
        return ColumnLabels(model._model.tally, batch)

    def joint(self, model: Any, x: Any) -> Array:
        found: Array = model._model.score.joint(x)
        return found

    def posterior(self, model: Any, joint: Array) -> Array:
        return normalised(joint, model._model.log_prior, log=False)

    def left_out(self, model: Any, x: Any, own: Codes, weight: Array) -> Array:
        found: Array = model._model.posterior_without(x, own.astype(np.intp), weight)
        return found


class _Arrays(_Columns):
    def first(self, model: Any, X: Any) -> Any:
        model._validate_params()
        return model._first_rows(X)

    def to_learn(self, model: Any, X: Any) -> Any:
        model._fitted()
        return model._read_rows(X, learning=True)

    def to_predict(self, model: Any, X: Any) -> Any:
        model._fitted()
        return model._read_rows(X)

    def size(self, x: Any) -> int:
        return int(x.shape[0])

    def learn(self, model: Any, x: Any, weights: Array | None) -> None:
        model._take_parameters()
        batch = self._batch(model, x, weights)
        held = model._model
        tally = held.tally.merged(batch)
        model._model = held.with_tally(tally)

    def forget(self, model: Any, x: Any, weights: Array | None) -> None:
        held = model._model.own()
        batch, rows = held.count(x, np.zeros(self.size(x), dtype=np.int32), weights)
        held.subtract(batch, rows, "forget")
        model._model = model._of_what_is_held(held, np.array([], dtype=bool))

    def _batch(self, model: Any, x: Any, weights: Array | None) -> TableTally:
        held = model._model
        codes = np.zeros(self.size(x), dtype=np.int32)
        counted = collect_array(held.columns, x, codes, 1, weights, whose=model._name)
        schema = replace(held.schema, classes=EVERY, groups=(counted.columns,))
        return TableTally(schema, counted.classes, (counted.tally,))

    def by_label(
        self, model: Any, x: Any, labelled: LabelledRows, weights: Array | None
    ) -> TableTally:
        return counts_of_labels(model._model.columns, x, labelled, weights, whose=model._name)

    def reading(self, model: Any, tally: TableTally, rows: Array | None = None) -> Any:
        twin = copy.copy(model)
        held = model._model.with_tally(tally)
        held.prior, held.family = twin._class_prior(tally.schema.classes), twin._family()
        held.taken = twin._parameters()
        twin._model = held
        return _with_prior(twin, rows)

    def some(self, x: Any, rows: Index) -> Any:
        return x[rows]

    def parts(self, model: Any, counts: ColumnLabels) -> Parts | None:
        family = model._family()
        if not getattr(family, "is_linear", False):
            return None
        alpha = np.atleast_2d(np.asarray(family.alpha, dtype=np.float64))
        if not (alpha > 0.0).all():
            return None
        total, positives = (tally.parts[1] for tally in counts.aligned)
        assert isinstance(total, FeatureSums)
        assert isinstance(positives, SparseSums)
        own, n = counts.rows_of_labels, counts.rows
        log_odds = np.zeros(len(own))
        if model._model.prior_enters:
            prior = model._class_prior(BOTH)
            rows, which = np.unique(own, return_inverse=True)
            of_rows = [prior.log(ClassCounts(np.array([n - with_it, with_it]))) for with_it in rows]
            log_odds = np.array([both[1] - both[0] for both in of_rows])[which]
        return Parts(positives.sums, total.sums[0], alpha, log_odds)

    def values(self, model: Any, x: Any) -> Any:
        return sparse.csr_array(x, dtype=np.float64)


class _Tables(_Columns):
    def first(self, model: Any, X: Any) -> Any:
        model._validate_params()
        return model._first_rows(X, more_may_come=True)

    def to_learn(self, model: Any, X: Any) -> Any:
        return model._read_rows(X, learning=True)

    def to_forget(self, model: Any, X: Any) -> Any:
        return model._rows_to_forget(X)

    def to_predict(self, model: Any, X: Any) -> Any:
        return model._read_rows(X)

    def size(self, x: Any) -> int:
        return int(x.n_rows)

    def learn(self, model: Any, x: Any, weights: Array | None) -> None:
        batch = self.by_label(model, x, _all_in_one(x.n_rows), weights)
        model._add_batch(batch, x.n_rows, weights, x.names, x.declared, x)

    def forget(self, model: Any, x: Any, weights: Array | None) -> None:
        held = model._model
        batch = self.by_label(model, x, _all_in_one(x.n_rows), weights)
        rest = held.tally.merged(batch * -1.0)
        what = held.reading.declared
        model._take_rest(rest, held.seen, what, EVERY.tolist(), action="forget")

    def by_label(
        self, model: Any, x: Any, labelled: LabelledRows, weights: Array | None
    ) -> TableTally:
        what = getattr(x, "declared", None) or model._model.reading.declared
        rows = labelled.rows
        weight = None if weights is None else weights[rows]
        codes, some = labelled.codes, labelled.labels if len(labelled.labels) else EVERY
        found = collect_table(x.take(rows), some, codes, weight, what.together, what.analyzers)
        if some is not EVERY:
            return found
        none = found.held(None)  # no row has a label
        schema = replace(none.schema, classes=labelled.labels)
        return TableTally(schema, none.classes, none.parts[1:])

    def reading(self, model: Any, tally: TableTally, rows: Array | None = None) -> Any:
        twin = copy.copy(model)
        held = model._model
        twin._take(tally, held.seen, held.reading.declared)
        return _with_prior(twin, rows)

    def some(self, x: Any, rows: Index) -> Any:
        return rows_of(x, rows)


class _Documents(Inner):
    """Rows are the terms of the documents, and the documents as rows of them."""

    def first(self, model: Any, X: Any) -> Any:
        model._validate_params()
        need_documents(X)
        model._counter = model._new_counter(X)
        return model._counter.counted(X)

    def to_learn(self, model: Any, X: Any) -> Any:
        need_documents(X)
        return model._counter.counted(X)

    def to_predict(self, model: Any, X: Any) -> Any:
        need_documents(X)
        held = model._fitted()
        return held.tally.terms, model._counter.rows(X, held.tally)

    def size(self, x: Any) -> int:
        return len(x[1])

    def start(self, model: Any, x: Any, weights: Array | None) -> None:
        learner: PlainLearner = model._learner()
        tally = learner.counted(x[0], EVERY, x[1], _all_in_one(len(x[1])).codes, weights)
        fixed = FixedIdf.of_tally(tally) if learner.transforms.fixes_idf else None
        model._hold(PlainDocuments(tally, learner, fixed, UNJUDGED))

    def learn(self, model: Any, x: Any, weights: Array | None) -> None:
        batch = self.by_label(model, x, _all_in_one(len(x[1])), weights)
        model._hold(replace(model._held_model(), tally=model._held_model().tally + batch))

    def forget(self, model: Any, x: Any, weights: Array | None) -> None:
        batch = self.by_label(model, x, _all_in_one(len(x[1])), weights)
        held = model._held_model()
        model._hold(replace(held, tally=held.tally.less(batch, "forget")))

    def by_label(
        self, model: Any, x: Any, labelled: LabelledRows, weights: Array | None
    ) -> TermCounts:
        terms, documents = x
        rows = labelled.rows
        weight = None if weights is None else weights[rows]
        held: PlainDocuments = model._held_model()
        return held.counted(terms, labelled.labels, documents.take(rows), labelled.codes, weight)

    def counts(self, model: Any, batch: TermCounts) -> TermLabels:
        return TermLabels(model._held_model().tally, batch, batch.labels)

    def reading(self, model: Any, tally: TermCounts, rows: Array | None = None) -> Any:
        twin = copy.copy(model)
        held = model._held_model()
        learner = replace(held.learner, alpha=float(twin.alpha))
        reader = replace(held, tally=tally, learner=learner)
        if rows is not None and learner.read.has_prior:
            shares, own = rows / rows.sum(), tally.documents / tally.documents.sum()
            reader.scorer.intercept += np.log(shares) - np.log(own)
        twin._hold(reader)
        return twin

    def joint(self, model: Any, x: Any) -> Array:
        found: Array = model._held_model().scorer.joint(x[1])
        return found

    def posterior(self, model: Any, joint: Array) -> Array:
        found: Array = np.exp(log_softmax(joint, axis=1))
        return found

    def left_out(self, model: Any, x: Any, own: Codes, weight: Array) -> Array:
        found: Array = model._held_model().left_out(x[1], own, weight)
        return found

    def some(self, x: Any, rows: Index) -> Any:
        return x[0], x[1].take(rows)

    def parts(self, model: Any, counts: TermLabels) -> Parts | None:
        held: PlainDocuments = model._held_model()
        if not held.learner.read.counts_values:
            return None
        assert counts.total.sums is not None
        sums, every = counts.sums, counts.total.by_term(counts.total.sums)
        if (idf := held.scorer.idf) is not None:
            sums, every = sums @ sparse.diags_array(idf), every * idf
        own = counts.rows_of_labels
        log_odds = np.zeros(len(own))
        if held.learner.read.has_prior:
            with np.errstate(divide="ignore"):
                log_odds = np.log(own) - np.log(counts.rows - own)
        alpha = np.full((1, 1), float(model.alpha))
        return Parts(sparse.csr_array(sums), every, alpha, log_odds)

    def values(self, model: Any, x: Any) -> Any:
        documents = x[1]
        values = model._held_model().scorer.values(documents)
        shape = len(documents), documents.n_terms
        return sparse.csr_array((values, documents.terms, documents.indptr), shape=shape)


def _with_prior(model: Any, rows: Array | None) -> Any:
    """The classifier with the class prior of so many rows of each class."""
    if rows is not None:
        held = model._model
        held.prior = ClassPrior(given=np.exp(held.prior.log(ClassCounts(rows))))
        held.changed()
    return model


def _all_in_one(n: int) -> LabelledRows:
    """Rows that all have the one label False."""
    return LabelledRows(EVERY, np.arange(n + 1), np.zeros(n, dtype=np.int32))


_ARRAYS, _TABLES, _DOCUMENTS = _Arrays(), _Tables(), _Documents()
KINDS: dict[str, Inner] = {
    "BernoulliNB": _ARRAYS,
    "CategoricalNB": _ARRAYS,
    "ComplementNB": _ARRAYS,
    "GaussianNB": _ARRAYS,
    "MultinomialNB": _ARRAYS,
    "NaiveBayes": _TABLES,
    "TextNB": _DOCUMENTS,
}
