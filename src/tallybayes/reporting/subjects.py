"""A fitted classifier as a report reads it: one of arrays, of tables, or of documents."""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import logsumexp

from tallybayes.cross_validation import (
    held_out_predictions,
    leave_one_out,
    usual_folds,
)
from tallybayes.engines.parts import TakenOut
from tallybayes.explain.explanation import Explanation
from tallybayes.explain.importances import terms_apart
from tallybayes.models.class_weights import by_class
from tallybayes.models.weighted import WeightedModel, weights_of
from tallybayes.models.weighted_documents import DocumentModel
from tallybayes.reporting.columns import (
    ColumnFacts,
    Values,
    added,
    bins_of,
    number_text,
)
from tallybayes.reporting.documents import TextForm, text_form
from tallybayes.reporting.form import Form
from tallybayes.reporting.measures import Predictions
from tallybayes.tally import GridCounts, LevelCounts
from tallybayes.tokens.counting import in_one_string
from tallybayes.validation import LeftOut, unfitted

__all__ = [
    "ArraySubject",
    "Contributions",
    "Subject",
    "Text",
    "contributions_of",
    "subject_of",
]


# ---- what a report asks of a classifier ----------------------------------------------------------
Array = NDArray[np.float64]


class Contributions(NamedTuple):
    """Contributions to the scores of rows, in nats.

    Parameters
    ----------
    base : float64 array (n_classes,)
    of_terms : list of float64 arrays (n_terms, n_classes)
        Of each row.
    names : list of list of (str, str)
        Of each row: the terms and their values.
    """

    base: Array
    of_terms: list[Array]
    names: list[list[tuple[str, str]]]


@dataclass(frozen=True, eq=False)
class Text:
    """A classifier of documents for a page.

    Parameters
    ----------
    form : TextForm, optional
    why_not : str
        Why there is no form; empty where there is one.
    terms : int
        How many terms the form has, of all that the model has.
    documents : int
        The page's and the model's predictions were compared on so many.
    same : float
        The share of them that get the same class.
    mean_difference, largest_difference : float
        Of the probability of the class that the model predicts.
    """

    form: TextForm | None
    why_not: str = ""
    terms: int = 0
    documents: int = 0
    same: float = 1.0
    mean_difference: float = 0.0
    largest_difference: float = 0.0


class Subject(ABC):
    """A fitted classifier as a report reads it.

    Parameters
    ----------
    model : classifier
    """

    unit = "row"

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    def classes(self) -> NDArray[Any]:
        """The labels."""
        return np.asarray(self.model.classes_)

    @property
    @abstractmethod
    def class_rows(self) -> Array:
        """The weight of the rows of each class that the model has counted."""

    @property
    def form(self) -> Form | None:
        """The model as a page evaluates it; None where it cannot."""
        return None

    def text(self, X: Any) -> Text | None:
        """A classifier of documents as a page evaluates it, compared with the model on some of the
        documents X; None for classifiers of rows."""
        return None

    @property
    def pairs(self) -> list[tuple[str, ...]]:
        """Pairs of columns, and three columns, that have a table."""
        return []

    @property
    def pair_importances(self) -> list[float]:
        """How far each pair separates the classes, in nats, as the importance of a column."""
        return []

    @property
    def stale(self) -> bool:
        """Whether what was learned on rows is older than the counts."""
        return False

    @abstractmethod
    def columns(self, X: Any, own: NDArray[np.intp]) -> list[ColumnFacts]:
        """The columns; X are rows of the classes `own`, for models that hold no values."""

    samples_first = True
    """Whether of many rows a sample is enough to be predicted; else all are, and then sampled."""

    @abstractmethod
    def left_out(
        self, X: Any, y: Any, weight: Array | None, groups: NDArray[np.intp] | None
    ) -> LeftOut:
        """Predictions of learned rows by what is learned without them, and without their groups."""

    @abstractmethod
    def contributions(self, X: Any) -> Contributions:
        """What adds to the scores of rows."""

    @abstractmethod
    def values(self, X: Any) -> list[Mapping[str, Any]]:
        """The values of rows by column; None for a missing value."""

    def worth(self, X: Any, predictions: Predictions, learned: bool) -> dict[str, float] | None:
        """By term, how much the log-loss of rows rises without it, in nats; None where that is not
        known. Of learned rows each is taken out of the counts, and of the predictions only the
        classes and weights are read: nothing is learned again without the term."""
        return None

    learns_in_parts = True
    """Whether what is learned of parts, one after the other, is what is learned of all rows."""

    def unlearned(self) -> Any:
        """The classifier before it has learned."""
        return unfitted(self.model)

    def can_have_learned(self, X: Any, y: Any, weight: Array | None) -> bool:
        """Whether the model counts at least these rows; it may have learned them."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                copy.copy(self.model).forget(X, y, sample_weight=weight)
            except ValueError:
                return False
        return True

    def _weigh_the_same(self, y: Any, weight: Array | None) -> bool:
        """Whether the classes weigh what they weigh in the model: for models whose sums tell little
        of rows."""
        classes, own = np.unique(np.asarray(y), return_inverse=True)
        if not np.array_equal(classes, self.classes):
            return False
        rows = np.bincount(own, weight, len(classes))
        return bool(np.allclose(rows, self.class_rows, rtol=1e-9))


# ---- classifiers of arrays -----------------------------------------------------------------------
MAX_COLUMNS = 2_000  # columns whose values are shown
HOLDS = {"levels": "level codes", "sums": "counts", "moments": "numbers", "cross": "numbers"}


class ArraySubject(Subject):
    """One of the five classifiers of arrays."""

    @property
    def class_rows(self) -> Array:
        return np.asarray(self.model.class_count_)

    @cached_property
    def form(self) -> Form | None:
        return Form(self.model._fitted())

    def left_out(
        self, X: Any, y: Any, weight: Array | None, groups: NDArray[np.intp] | None
    ) -> LeftOut:
        """By leave-one-out: these classifiers choose nothing on rows."""
        return LeftOut.of_all(leave_one_out(self.model, X, y, weight, groups), weight)

    def can_have_learned(self, X: Any, y: Any, weight: Array | None) -> bool:
        return self._weigh_the_same(y, weight) and super().can_have_learned(X, y, weight)

    def columns(self, X: Any, own: NDArray[np.intp]) -> list[ColumnFacts]:
        form, model = self.form, self.model._fitted()
        assert form is not None
        holds, family = HOLDS.get(model.columns.kind, "numbers"), type(model.family).__name__
        x = _dense(X, slice(None)) if len(form.columns) <= MAX_COLUMNS else None
        why = f"{type(self.model).__name__} reads all columns alike"
        found = []
        for j, name in enumerate(form.columns):
            facts = ColumnFacts(name, holds, family, why, True)
            if x is not None:
                values = _counted(x[:, j], own, len(self.classes))
                facts.bins, facts.hidden_levels = bins_of(values)
                facts.nats = added(form, name, facts.bins)
                weight = np.array([b.counts.sum() for b in facts.bins])
                k = len(self.classes)  # nats are against the mean of the other classes
                spread = np.ptp(facts.nats, axis=1) * ((k - 1) / k)
                facts.importance = float(weight @ spread / max(float(weight.sum()), 1e-300))
            found.append(facts)
        return found

    def contributions(self, X: Any) -> Contributions:
        form, x = self.form, _dense(X, slice(None))
        assert form is not None
        each = [form.scores_of(name, x[:, j], [], False) for j, name in enumerate(form.columns)]
        of_terms = np.stack(each, axis=1)
        names = [
            [(name, number_text(v)) for name, v in zip(form.columns, row, strict=True)]
            for row in x.tolist()
        ]
        return Contributions(form.base, list(of_terms), names)

    def values(self, X: Any) -> list[Mapping[str, Any]]:
        assert self.form is not None
        names = self.form.columns
        return [dict(zip(names, row, strict=True)) for row in _dense(X, slice(None)).tolist()]

    def worth(self, X: Any, predictions: Predictions, learned: bool) -> dict[str, float] | None:
        log_proba, own = predictions.log_proba, predictions.own
        form, x, found = self.form, _dense(X, slice(None)), {}
        assert form is not None
        row = np.arange(len(own))
        with np.errstate(invalid="ignore"):
            loss = -log_proba[row, own].mean()
            for j, name in enumerate(form.columns):
                rest = log_proba - form.scores_of(name, x[:, j], [], False)
                found[name] = float((logsumexp(rest, axis=1) - rest[row, own]).mean() - loss)
        return found


def _dense(X: Any, rows: Any) -> Array:
    """Rows as numbers."""
    x = X[rows].toarray() if issparse(X) else np.asarray(X)[rows]
    return np.asarray(x, dtype=np.float64)


def _counted(x: Array, own: NDArray[np.intp], n_classes: int) -> Values:
    numbers, place = np.unique(x, return_inverse=True)
    at = own * len(numbers) + place
    counts = np.bincount(at, minlength=n_classes * len(numbers)).reshape(n_classes, -1)
    none = np.zeros((n_classes, 0))
    return Values(numbers, counts.astype(np.float64), [], none, np.zeros(n_classes))


# ---- classifiers of tables -----------------------------------------------------------------------
N_TOP_TERMS_OF_COLUMN = 8  # of each class, of a column of text


class TableSubject(Subject):
    """A :class:`tallybayes.NaiveBayes` or :class:`tallybayes.WeightedNaiveBayes`."""

    @property
    def _held(self) -> Any:
        return self.model._fitted()

    @property
    def _is_weighted(self) -> bool:
        return isinstance(self._held, WeightedModel)

    @property
    def class_rows(self) -> Array:
        return np.asarray(self.model.class_count_)

    @cached_property
    def form(self) -> Form | None:
        held = self._held
        if isinstance(held, WeightedModel) and held.now is None:
            return None
        return Form(held)

    @property
    def pairs(self) -> list[tuple[str, ...]]:
        return [term.columns for term in self._held.pairs]

    @property
    def stale(self) -> bool:
        return bool(self._held.chosen.stale)

    @property
    def samples_first(self) -> bool:  # type: ignore[override]  # an attribute there
        return not self._is_weighted

    def left_out(
        self, X: Any, y: Any, weight: Array | None, groups: NDArray[np.intp] | None
    ) -> LeftOut:
        """A weighted model is fitted again, which gives the predictions that its own figures are
        of; a plain one is cross-validated."""
        n = len(y)
        if self._is_weighted:
            weighting = self._held.chosen.weighting
            pruned = weighting is not None and weighting.figures.log_loss_increase is not None
            found: LeftOut | None = None if pruned else self.model._left_out(X, y, weight, groups)
            if found is not None:
                return found
        elif n > 1:
            labels = np.asarray(y)
            log_proba = np.empty((n, len(self.classes)))
            folds = usual_folds(labels, groups)
            parts = held_out_predictions(self.model, X, labels, folds, weight, groups)
            for rows, some in parts:
                log_proba[rows] = some
            return LeftOut.of_all(log_proba, weight, "folds")
        return LeftOut.of_all(leave_one_out(self.model, X, y, weight, groups), weight)

    @property
    def learns_in_parts(self) -> bool:  # type: ignore[override]  # an attribute there
        return not self._is_weighted

    # ---- columns ---------------------------------------------------------------------------------
    def columns(self, X: Any, own: NDArray[np.intp]) -> list[ColumnFacts]:
        held, form = self._held, self.form
        counted, weights = self._values(), weights_of(held.chosen.weighting)
        places = [] if form is None else form.columns
        importances = self._apart
        text_terms = held.text_terms
        found = []
        for read in held.columns_read:
            facts = ColumnFacts(
                read.name,
                read.holds,
                read.family,
                read.why,
                read.part is not None,
                importances.get(read.name, 0.0),
                weights.get(read.name),
            )
            values = counted.get(read.name)
            if values is not None and values.n_rows > 0.0:
                facts.missing = float(values.missing.sum()) / values.n_rows
                facts.dates = values.dates
                facts.bins, facts.hidden_levels = bins_of(values)
                if form is not None and read.name in places and facts.used:
                    facts.nats = added(form, read.name, facts.bins)
            if read.name in text_terms:
                facts.terms = self._top_terms(read.name)
            found.append(facts)
        return found

    @cached_property
    def _apart(self) -> dict[str, float]:
        """How far each term moves the scores of the classes apart, in nats."""
        return terms_apart(self._held)

    @property
    def pair_importances(self) -> list[float]:
        return [self._apart.get(" × ".join(pair), 0.0) for pair in self.pairs]

    def _top_terms(self, name: str) -> list[tuple[str, str, float]]:
        found = []
        for label in self.classes.tolist()[:12]:
            for term, value in self.model.top_terms(name, label, N_TOP_TERMS_OF_COLUMN):
                found.append((str(label), str(term), float(value)))
        return found

    def _values(self) -> dict[str, Values]:
        """What was counted of each column."""
        tally, rows = self._held.tally_read, self.class_rows
        n = len(rows)
        found: dict[str, Values] = {}
        for columns, group in tally.pairs:
            if columns.names is None or len(columns.names) != 1:
                continue
            name = columns.names[0]
            none = Values(np.zeros(0), np.zeros((n, 0)), [], np.zeros((n, 0)), rows)
            before = found.get(name, none)
            if isinstance(group, GridCounts):
                counts, numbers = group.counts, group.values()
                missing = before.missing - counts.sum(axis=1)
                found[name] = Values(
                    numbers, counts, before.levels, before.of_levels, missing, columns.dates
                )
            elif isinstance(group, LevelCounts) and columns.levels is not None:
                levels = [str(level) for level in columns.levels[0].tolist()]
                counts = group.counts[:, : len(levels)]
                missing = before.missing - group.counts.sum(axis=1)
                found[name] = Values(
                    before.numbers, before.of_numbers, levels, counts, missing, before.dates
                )
        return {name: _without_residue(values) for name, values in found.items()}

    # ---- rows ------------------------------------------------------------------------------------
    def _explained(self, X: Any) -> Explanation:
        explanation: Explanation = self.model.explain(X)
        return explanation

    def contributions(self, X: Any) -> Contributions:
        return contributions_of(self._explained(X))

    def values(self, X: Any) -> list[Mapping[str, Any]]:
        return list(self._explained(X).values)

    def worth(self, X: Any, predictions: Predictions, learned: bool) -> dict[str, float] | None:
        if self._held.chosen.calibration is not None:
            return None
        log_proba, own = predictions.log_proba, predictions.own
        if learned:
            given = None if (predictions.weight == 1.0).all() else predictions.weight
            log_proba = leave_one_out(self.model, X, self.classes[own], given)
        row, found = np.arange(len(own)), {}
        with np.errstate(invalid="ignore"):
            loss = -log_proba[row, own].mean()
            for name, share in self._shares(X, predictions, learned):
                if not share.any():
                    continue
                rest = log_proba - share
                without = logsumexp(rest, axis=1) - rest[row, own]
                found[name] = float(without.mean() - loss)
        return found

    def _shares(
        self, X: Any, predictions: Predictions, learned: bool
    ) -> Iterator[tuple[str, Array]]:
        """What each term adds to rows, (n_rows, n_classes); to rows that were learned, without the
        row itself. Terms of a weighted model stay as they are: their weights depend on it."""
        if learned and not self._is_weighted:
            x = self.model._read_rows(X)
            own = predictions.own.astype(np.int64)
            held = self.model._fitted()
            of_row = by_class(held.class_weight, held.schema.classes)[own]
            taken = TakenOut(own, of_row * predictions.weight)
            yield from self._held.score.contributions(x, taken).items()
            return
        explained = self._explained(X)
        for t, name in enumerate(explained.columns):
            yield name, explained.contributions[:, :, t]


def _without_residue(values: Values) -> Values:
    """Counts without what rounding has left of missing rows."""
    missing = np.where(values.missing < 1e-6, 0.0, values.missing)
    return replace(values, missing=missing)


def contributions_of(explained: Explanation) -> Contributions:
    """What adds to the scores of explained rows, with the values of the terms."""
    names = [
        [(name, _value_of(name, row)) for name in explained.columns] for row in explained.values
    ]
    of_terms = [rows.T for rows in explained.contributions]
    return Contributions(explained.base, of_terms, names)


def _value_of(name: str, row: Mapping[str, Any]) -> str:
    """The value of a column in a row; of a pair, both values."""
    if name in row:
        return shown_value(row[name])
    parts = name.split(" × ")
    return " × ".join(shown_value(row.get(part)) for part in parts)


def shown_value(value: Any) -> str:
    """A value as people read it; nothing for a missing value."""
    if value is None:
        return ""
    return number_text(value) if isinstance(value, float) else str(value)


# ---- classifiers of documents --------------------------------------------------------------------
N_TOP_TERMS = 12  # of each class
MAX_CLASSES = 40  # that terms are shown of


class DocumentSubject(Subject):
    """A :class:`tallybayes.TextNB`."""

    unit = "document"
    learns_in_parts = False  # weights and the ridge are learned of all documents

    @property
    def class_rows(self) -> Array:
        return np.asarray(self.model.tally_.documents, dtype=np.float64)

    @property
    def samples_first(self) -> bool:  # type: ignore[override]  # an attribute there
        return not isinstance(self.model._fitted(), DocumentModel)

    @property
    def stale(self) -> bool:
        return bool(self.model._fitted().needs_reweighting)

    def left_out(
        self, X: Any, y: Any, weight: Array | None, groups: NDArray[np.intp] | None
    ) -> LeftOut:
        """A weighted model is learned again, which gives the predictions that its own figures are
        of; others choose nothing on documents."""
        found: LeftOut | None = self.model._left_out(X, y, weight, groups)
        if found is not None:
            return found
        return LeftOut.of_all(leave_one_out(self.model, X, y, weight, groups), weight)

    def can_have_learned(self, X: Any, y: Any, weight: Array | None) -> bool:
        return self._weigh_the_same(y, weight)

    def columns(self, X: Any, own: NDArray[np.intp]) -> list[ColumnFacts]:
        tally = self.model.tally_
        facts = ColumnFacts(
            self.unit, "text", f"{tally.n_terms:,} terms", str(self.model.analyzer_), True
        )
        rows = self.class_rows
        for k in np.argsort(-rows, kind="stable")[:MAX_CLASSES].tolist():
            label = self.classes[k]
            for term, value in self.model.top_terms(label, N_TOP_TERMS):
                facts.terms.append((str(label), str(term), float(value)))
        return [facts]

    def contributions(self, X: Any) -> Contributions:
        base, of_terms, names = np.zeros(len(self.classes)), [], []
        for explained in self.model.explain(X):
            base = explained.base
            of_terms.append(explained.contributions)
            names.append([(str(term), "") for term in explained.terms])
        return Contributions(base, of_terms, names)

    def text(self, X: Any) -> Text | None:
        model = self.model._fitted()
        documents = self.model._counter.rows(X, model.tally)
        form = text_form(self.model, documents)
        if isinstance(form, str):
            return Text(None, form)
        n = int(form.carried.sum())
        if form.carried.all() or not len(documents):
            return Text(form, terms=n)
        whole = model.scorer.posterior(documents)
        cut = model.scorer.posterior(form.kept(documents))
        best = whole.argmax(axis=1)
        row = np.arange(len(best))
        apart = np.abs(whole - cut)[row, best]
        same = float((cut.argmax(axis=1) == best).mean())
        return Text(form, "", n, len(best), same, float(apart.mean()), float(apart.max()))

    def values(self, X: Any) -> list[Mapping[str, Any]]:
        return [{self.unit: in_one_string(document)} for document in X]


# ---- which of them a classifier is ---------------------------------------------------------------
def subject_of(model: Any) -> Subject:
    """The subject of a fitted classifier.

    Raises
    ------
    TypeError
        For anything else.
    """
    kinds: dict[Any, type[Subject]] = {
        "tables": TableSubject,
        "arrays": ArraySubject,
        "documents": DocumentSubject,
    }
    subject = kinds.get(getattr(model, "_reads", None))
    if subject is not None and hasattr(model, "classes_"):
        return subject(model)
    raise TypeError(
        f"a report is made of a fitted classifier of tallybayes with counts of its own, got a "
        f"{type(model).__name__}"
    )
