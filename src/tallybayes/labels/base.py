"""What classifiers that hold another one share: they count its rows by label, learn, forget, merge
and are saved."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from tallybayes.errors import IncompatibleTallies
from tallybayes.estimators.base import LOCK, equal, learning
from tallybayes.estimators.meta import MetaClassifier
from tallybayes.labels.codec import Plain, Restored, plain_model, restored_model
from tallybayes.labels.counts import ColumnLabels, LabelledRows, TermLabels
from tallybayes.labels.inner import Inner, inner_of
from tallybayes.models.base import same
from tallybayes.persistence import Tree as FileTree
from tallybayes.schema import joined_labels
from tallybayes.validation import read_given, warn_of_other_order

__all__ = ["Form", "GivenRows", "LabelCounter", "LabelSets", "labels_by_row"]

Array = NDArray[np.float64]
Form = Literal["matrix", "sparse", "lists", "text"]


class LabelSets(NamedTuple):
    """The labels of rows as they were given.

    Parameters
    ----------
    held : LabelledRows
    form : {"matrix", "sparse", "lists", "text"}
        A dense or a sparse indicator matrix, lists of labels, or strings.
    """

    held: LabelledRows
    form: Form


class GivenRows(NamedTuple):
    """What comes with rows.

    Parameters
    ----------
    sets : LabelSets
    weights : float64 array (n_rows,), optional
    groups : index array (n_rows,), optional
        The number of each row's group.
    """

    sets: LabelSets
    weights: Array | None
    groups: NDArray[np.intp] | None


def labels_by_row(y: Any) -> list[Any]:
    """What y holds for each row, as Python's values; y is of any library."""
    if hasattr(y, "iloc"):  # of several columns, a row is a list
        y = y.to_numpy()
    for name in ("to_pylist", "to_list", "tolist"):  # of pyarrow, polars and NumPy
        if hasattr(y, name):
            return list(getattr(y, name)())
    return list(y)


class LabelCounter(MetaClassifier):
    """Base of the classifiers that count the rows of another one by label. Not for direct use."""

    model: Any

    _every: Any
    """The classifier, with the counts of all rows as those of one class."""
    _counts: ColumnLabels | TermLabels
    _form: Form
    _declared: NDArray[Any] | None
    """Labels that stay without rows."""

    # ---- what a subclass defines -----------------------------------------------------------------
    @abstractmethod
    def _validate(self) -> Inner:
        """Checks the parameters; how the classifier inside counts."""

    @abstractmethod
    def _sets(self, y: Any, n_rows: int) -> LabelSets:
        """The labels of rows."""

    @abstractmethod
    def _learned(self, inner: Inner, X: Any, given: GivenRows) -> None:
        """The first rows were counted."""

    @abstractmethod
    def _changed(self, before: ColumnLabels | TermLabels) -> None:
        """The counts have changed; `before` are those that there were."""

    @abstractmethod
    def _chosen(self) -> Any:
        """What was chosen beside the counts."""

    # ---- state -----------------------------------------------------------------------------------
    def __sklearn_is_fitted__(self) -> bool:
        return "_counts" in self.__dict__

    @property
    def _inside(self) -> Any:
        return self.__dict__.get("_every", self.model)

    @property
    def _held(self) -> ColumnLabels | TermLabels:
        """The counts; NotFittedError before :meth:`fit`."""
        self._fitted()
        return self._counts

    def _with_rows(self) -> ColumnLabels | TermLabels:
        """The counts; raises ValueError where nothing is left to read."""
        counts = self._held
        if not counts.rows > 0.0:
            raise ValueError(
                f"this {type(self).__name__} holds no rows: all that it learned was removed, or "
                "has weight 0. Learn some rows first"
            )
        return counts

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state.pop(LOCK, None)
        return state

    def __eq__(self, other: object) -> bool:
        """Whether two are of the same parameters, and hold the same counts and choices."""
        if not isinstance(other, LabelCounter):
            return NotImplemented
        return equal(self, other, LabelCounter._holds_the_same)

    def _holds_the_same(self, other: LabelCounter) -> bool:
        return bool(
            self._every == other._every
            and self._counts.holds_the_same(other._counts)
            and same(self._chosen(), other._chosen())
        )

    def __hash__(self) -> int:
        return hash(type(self))

    def _inner(self) -> Inner:
        return inner_of(self.model, type(self).__name__)

    # ---- learning --------------------------------------------------------------------------------
    def _read(
        self, X: Any, y: Any, sample_weight: Any, n_rows: int, groups: Any = None
    ) -> GivenRows:
        warn_of_other_order(X, y)
        sets, whose = self._sets(y, n_rows), type(self).__name__
        beside = np.zeros(n_rows, dtype=np.int64)
        _, weights, together = read_given(X, beside, sample_weight, groups, n_rows, whose)
        if weights is not None and weights.min(initial=0.0) < 0.0:
            row = int(np.argmin(weights))
            raise ValueError(
                f"weights of rows are from 0 on, and that of row {row} is {weights[row]:g}: take "
                "rows away with forget"
            )
        return GivenRows(sets, weights, together)

    @learning
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Count the rows of X from scratch.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            As the classifier takes them.
        y : labels of the rows
            In a form that the class takes.
        sample_weight : array-like (n_rows,), optional
            A row of weight w counts as w rows.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        ValueError
            For bad parameters or data; the estimator is then as it was before.
        """
        self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any = None) -> None:
        """Counts the first rows."""
        inner = self._validate()
        every = clone(self.model)
        x = inner.first(every, X)
        given = self._read(X, y, sample_weight, inner.size(x), groups)
        sets, weights = given.sets, given.weights
        inner.start(every, x, weights)
        batch = inner.by_label(every, x, sets.held, weights)
        counts = inner.counts(every, batch)
        self._declared = sets.held.labels if sets.form in ("matrix", "sparse") else None
        if self._declared is not None:
            counts = counts.with_labels(self._declared)
        self._every, self._counts, self._form = every, counts, sets.form
        self._learned(inner, X, given)

    @learning
    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Count rows in addition. New labels may come at any time.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            As for :meth:`fit`, which the first call is.
        y : labels of the rows
            As for :meth:`fit`.
        sample_weight : array-like (n_rows,), optional
            How much each row counts; 1 by default.

        Returns
        -------
        self
            The estimator itself. What was chosen on rows is stale.

        Raises
        ------
        ValueError
            For bad parameters or data; the estimator is then as it was before.
        """
        if not self.__sklearn_is_fitted__():
            self._fit(X, y, sample_weight)
            return self
        inner, every = self._inner(), copy.copy(self._every)
        x = inner.to_learn(every, X)
        sets, weights, _ = self._read(X, y, sample_weight, inner.size(x))
        batch = inner.by_label(every, x, sets.held, weights)
        inner.learn(every, x, weights)
        before = self._counts
        counts = before.added(inner.counts(every, batch).total, batch)
        if sets.form in ("matrix", "sparse"):
            known = self._declared
            joined = sets.held.labels if known is None else joined_labels(known, sets.held.labels)
            self._declared = joined
            counts = counts.with_labels(joined)
        self._every = every
        self._take(counts)
        return self

    def _take(self, counts: Any) -> None:
        """Holds other counts."""
        before, self._counts = self._counts, counts
        self._changed(before)

    @learning
    def forget(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Take rows away that were counted before: the model is as if it had never seen them.

        Labels that no row has any more are gone, unless an indicator matrix declared them.

        Parameters
        ----------
        X : rows (n_rows, n_features)
            Rows that were counted.
        y : labels of the rows
            The labels that they were counted with.
        sample_weight : array-like (n_rows,), optional
            The weights that they were counted with.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        NegativeTally
            A ValueError: more would be removed than was counted. The estimator is then as it was
            before.
        """
        before = self._held
        inner, every = self._inner(), copy.copy(self._every)
        x = inner.to_forget(every, X)
        sets, weights, _ = self._read(X, y, sample_weight, inner.size(x))
        batch = inner.by_label(every, x, sets.held, weights)
        inner.forget(every, x, weights)
        total = inner.counts(every, batch).total
        counts = before.removed(total, batch, self._declared, "forget")
        self._every = every
        self._take(counts)
        return self

    @learning
    def merge(self, other: LabelCounter) -> Self:
        """Add the rows that another model has counted; labels are joined by name.

        Parameters
        ----------
        other : classifier of the same class
            Fitted, with a classifier of the same kind inside.

        Returns
        -------
        self
            The estimator itself.

        Raises
        ------
        IncompatibleTallies
            A ValueError: the two count other columns or terms.
        """
        before = self._held
        if type(other) is not type(self):
            raise IncompatibleTallies(
                f"a {type(self).__name__} cannot take in a {type(other).__name__}: merge models of "
                "one kind"
            )
        theirs = other._held
        every = copy.copy(self._every)
        every.merge(other._every)
        inner = self._inner()
        batch: Any = theirs.positives
        counts = before.added(inner.counts(every, batch).total, batch).with_labels(theirs.labels)
        self._every = every
        if self._declared is None or other._declared is None:
            self._declared = other._declared if self._declared is None else self._declared
        else:
            self._declared = joined_labels(self._declared, other._declared)
        self._take(counts)
        return self

    # ---- attributes and files --------------------------------------------------------------------
    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted, (n_labels,)."""
        return self._held.labels

    @property
    def label_count_(self) -> Array:
        """Rows, or weight, of each label, float64 (n_labels,)."""
        return self._held.rows_of_labels.copy()

    def summary(self, max_display: int = 10) -> str:
        """The model in words: its labels, with their rows and thresholds.

        Parameters
        ----------
        max_display : int, default=10
            How many labels are listed, those of the most rows.

        Returns
        -------
        str
            Some lines of text. ``label(l).summary()`` of a MultiLabel tells what a label goes by.

        Raises
        ------
        NotFittedError
            Before the model is fitted.
        ValueError
            If it holds no rows.
        """
        from tallybayes.explain.summary import numbered
        from tallybayes.readable import plain

        counts = self._with_rows()
        rows, labels = counts.rows_of_labels, counts.labels.tolist()
        thresholds = getattr(self, "thresholds_", None)
        entries = []
        for k in np.argsort(-rows, kind="stable").tolist():
            above = "" if thresholds is None else f", predicted above {thresholds[k]:.1%}"
            share = rows[k] / counts.rows
            entries.append(f"{plain(labels[k])}: {rows[k]:,.10g} ({share:.1%}){above}")
        head = (
            f"{type(self).__name__} of {type(self.model).__name__}: {len(labels):,} labels, "
            f"{counts.rows:,.10g} rows, {rows.sum() / counts.rows:.2f} labels a row."
        )
        return "\n".join([head, *numbered("Labels, by their rows:", entries, max_display)])

    def _plain(self, plain_of: Plain) -> tuple[dict[str, Any], FileTree]:
        """Header and arrays of a model file; `plain_of` gives those of the classifier inside."""
        return plain_model(self, plain_of)

    @classmethod
    def _restored(cls, header: dict[str, Any], tree: FileTree, restored: Restored) -> Any:
        """The inverse of :meth:`_plain`, and what the file had beside the model."""
        return restored_model(cls, header, tree, restored)
