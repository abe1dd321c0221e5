"""Many labels a row: one tally of all rows, and a sparse one of the rows of each label.

    N(x, not l) = N(x) − N(x, l)

The rows without a label are a difference, so that they are never counted. A row with three labels
is counted four times, whatever the number of labels; one-vs-rest counts it once for each label that
there is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tallybayes.engines.arrays import canonical, class_counts, collect_array
from tallybayes.models.base import same
from tallybayes.persistence import digest_of
from tallybayes.schema import Columns, Schema, places_among
from tallybayes.tally import CrossMoments, GridCounts, Moments, TableTally, TermCounts, TextCounts
from tallybayes.tally.base import is_nothing, is_residue
from tallybayes.tally.sparse import SparseSums

__all__ = ["BOTH", "ColumnLabels", "LabelledRows", "TermLabels", "counts_of_labels"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

ROUNDING = 1e-9
"""The share by which a label may have more of something than all rows."""

BOTH = np.array([False, True])
"""The classes of the model of a label: rows without it, and rows with it."""


class LabelledRows(NamedTuple):
    """Which labels each row has.

    Parameters
    ----------
    labels : array (n_labels,)
        Distinct and sorted.
    start : int64 array (n_rows + 1,)
        Row i has the labels ``codes[start[i]:start[i+1]]``, each once.
    codes : int32 array (n_pairs,)
        Places in `labels`.
    """

    labels: NDArray[Any]
    start: NDArray[np.int64]
    codes: NDArray[np.int32]

    @property
    def n_rows(self) -> int:
        """How many rows there are, those without a label too."""
        return len(self.start) - 1

    @property
    def rows(self) -> Index:
        """The row of each pair, (n_pairs,)."""
        return np.repeat(np.arange(self.n_rows), np.diff(self.start))

    def among(self, labels: NDArray[Any]) -> LabelledRows:
        """The same rows, by places among more labels."""
        places = places_among(self.labels, labels).astype(np.int32)
        return LabelledRows(labels, self.start, places[self.codes])

    def take(self, rows: Index) -> LabelledRows:
        """Some rows, in this order."""
        size = np.diff(self.start)[rows]
        start = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        pairs = np.repeat(self.start[rows] - start[:-1], size) + np.arange(start[-1])
        return LabelledRows(self.labels, start, self.codes[pairs])

    @property
    def by_label(self) -> list[Index]:
        """The rows of each label, ascending."""
        order = np.argsort(self.codes, kind="stable")
        ends = np.cumsum(np.bincount(self.codes, minlength=len(self.labels)))
        return np.split(self.rows[order], ends[:-1]) if len(self.labels) else []


def counts_of_labels(
    columns: Columns, x: Any, labelled: LabelledRows, weights: Array | None, *, whose: str
) -> TableTally:
    """The tally of the rows of each label, of an array or a sparse matrix.

    Parameters
    ----------
    columns : Columns
        What is counted of all rows, which were found to hold such values.
    x : array or sparse matrix (n_rows, n_features)
    labelled : LabelledRows
    weights : float64 array (n_rows,), optional
    whose : str
        The estimator's name, for messages.
    """
    rows, codes, n = labelled.rows, labelled.codes, len(labelled.labels)
    weight = None if weights is None else weights[rows]
    classes = class_counts(codes, n, weight)
    if columns.kind != "sums":
        counted = collect_array(columns, x[rows], codes, n, weight, whose=whose)
        schema = Schema(labelled.labels, (counted.columns,))
        return TableTally(schema, classes, (counted.tally,))
    given = np.ones(len(codes)) if weight is None else weight
    of_rows = sparse.csr_array((given, codes, labelled.start), shape=(labelled.n_rows, n))
    if columns.threshold is not None:
        held = canonical(x, columns, whose) if sparse.issparse(x) else x
        x = held > columns.threshold
    sums = SparseSums(of_rows.T @ sparse.csr_array(x, dtype=np.float64))
    return TableTally(Schema(labelled.labels, (columns,)), classes, (sums,))


@dataclass(frozen=True, eq=False)
class ColumnLabels:
    """The tally of all rows, and of those of each label, by columns.

    Parameters
    ----------
    total : TableTally
        Of one class, False.
    positives : TableTally
        Its classes are the labels.
    """

    total: TableTally
    positives: TableTally

    @property
    def labels(self) -> NDArray[Any]:
        """The labels, sorted."""
        return self.positives.schema.classes

    @property
    def rows(self) -> float:
        """Rows, or weight, with a label or without."""
        return float(self.total.classes.count.sum())

    @property
    def rows_of_labels(self) -> Array:
        """Rows, or weight, of each label, float64 (n_labels,)."""
        return self.positives.classes.count

    def with_labels(self, labels: NDArray[Any]) -> Self:
        """The same counts with labels that no row may have."""
        positives = self.positives
        joined = positives.schema.join(replace(positives.schema, classes=labels))
        return replace(self, positives=positives.aligned(joined))

    def added(self, total: TableTally, batch: TableTally) -> Self:
        """With the rows of a batch, of which all are in `total`."""
        return replace(self, total=total, positives=self.positives.merged(batch))

    def removed(
        self, total: TableTally, batch: TableTally, declared: NDArray[Any] | None, action: str
    ) -> Self:
        """Without the rows of a batch; labels that no row has go, unless they are declared.

        Raises
        ------
        NegativeTally
            If more is removed than was counted.
        """
        schema = self.positives.schema.join(batch.schema)
        before = self.positives.aligned(schema)
        rest = before - batch.aligned(schema)
        for part, was in zip(rest.parts, before.parts, strict=True):
            part.settle(was)
        rest.need_non_negative(action)
        return replace(self, total=total, positives=rest.held(declared))

    @cached_property
    def aligned(self) -> tuple[TableTally, TableTally]:
        """Both in the columns of all rows."""
        total, positives = self.total, self.positives
        columns = replace(total.schema, classes=positives.schema.classes)
        schema = columns.join(positives.schema)
        return total.aligned(replace(schema, classes=total.schema.classes)), positives.aligned(
            schema
        )

    @property
    def excess(self) -> bool:
        """Whether a label has more of a column than all rows, by more than rounding."""
        for every, of_labels in zip(*(tally.parts for tally in self.aligned), strict=True):
            name = "n" if isinstance(of_labels, Moments | CrossMoments) else every.additive[0]
            if isinstance(of_labels, TextCounts):
                terms = TermLabels(every.held, of_labels.held, np.arange(of_labels.n_classes))
                if terms.excess:
                    return True
                continue
            if isinstance(every, GridCounts):
                every, of_labels = every.joined(of_labels)
            held = getattr(of_labels, name)
            most = held.max(axis=0)
            if sparse.issparse(most):
                most = most.toarray()
            if (most > getattr(every, name)[0] * (1.0 + ROUNDING)).any():
                return True
        return False

    def two(self, k: int) -> TableTally:
        """The tally of two classes: rows without label k, and rows with it."""
        total, positives = self.aligned
        parts: list[Any] = []
        for every, of_labels in zip(total.parts, positives.parts, strict=True):
            own = of_labels.take(np.array([k]))
            if isinstance(own, SparseSums):
                own = own.dense()
            others = every - own
            others.settle(every)
            both = others.place(np.array([0]), 2)
            both.accumulate(own, 1.0, slice(1, 2))
            parts.append(both)
        return TableTally(replace(total.schema, classes=BOTH), parts[0], tuple(parts[1:]))

    def mixed(self, weights: Any, labels: NDArray[Any]) -> TableTally:
        """The tally of classes that are sums of labels, each times its weight.

        Parameters
        ----------
        weights : sparse array (n_classes, n_labels)
            In CSR format.
        labels : array (n_classes,)
            Those of the classes, sorted.
        """
        positives = self.aligned[1]
        parts: list[Any] = [part.mixed(weights) for part in positives.parts]
        parts = [part.dense() if isinstance(part, SparseSums) else part for part in parts]
        return TableTally(replace(positives.schema, classes=labels), parts[0], tuple(parts[1:]))

    def digest(self) -> str:
        """Tells these counts from others; see :meth:`TableTally.digest`."""
        return f"{self.total.digest()} {self.positives.digest()}"

    def holds_the_same(self, other: Any) -> bool:
        """Whether others are counts of the same rows and labels."""
        return (
            isinstance(other, ColumnLabels)
            and self.total == other.total
            and np.array_equal(self.labels, other.labels)
            and self.positives == other.positives
        )


@dataclass(frozen=True, eq=False)
class TermLabels:
    """The tally of all documents, and of those of each label, by terms.

    Parameters
    ----------
    total : TermCounts
        Of one class, False.
    positives : TermCounts
        Its classes are the labels that documents have.
    labels : array (n_labels,)
        Those, and labels that are declared.
    """

    total: TermCounts
    positives: TermCounts
    labels: NDArray[Any]

    @property
    def rows(self) -> float:
        """Documents, or weight, with a label or without."""
        return float(self.total.documents.sum())

    @property
    def rows_of_labels(self) -> Array:
        """Documents, or weight, of each label, float64 (n_labels,)."""
        found = np.zeros(len(self.labels))
        found[places_among(self.positives.labels, self.labels)] = self.positives.documents
        return found

    def with_labels(self, labels: NDArray[Any]) -> Self:
        """The same counts with labels that no document may have."""
        return replace(self, labels=np.union1d(self.labels, labels) if len(labels) else self.labels)

    def added(self, total: TermCounts, batch: TermCounts) -> Self:
        """With the documents of a batch, of which all are in `total`."""
        positives = self.positives + batch
        return replace(self, total=total, positives=positives).with_labels(positives.labels)

    def removed(
        self, total: TermCounts, batch: TermCounts, declared: NDArray[Any] | None, action: str
    ) -> Self:
        """Without the documents of a batch; labels that no document has go, unless declared.

        Raises
        ------
        NegativeTally
            If more is removed than was counted.
        """
        rest = self.positives.less(batch, action)
        kept = type(self)(total, rest, rest.labels)
        return kept if declared is None else kept.with_labels(declared)

    @cached_property
    def _by_label(self) -> list[Any]:
        """Counts, and sums if there are any, of the rows of each label: (n_labels, n_terms)."""
        total, own = self.total, self.positives
        terms = total.places(own.terms)[own.pair_terms]
        classes = places_among(own.labels, self.labels)[own.classes]
        shape = len(self.labels), total.n_terms
        return [
            sparse.csr_array((held, (classes, terms)), shape=shape)
            for held in (own.counts, own.sums)
            if held is not None
        ]

    @property
    def sums(self) -> Any:
        """What is read of the rows of each label, sparse (n_labels, n_terms)."""
        return self._by_label[-1]

    @property
    def excess(self) -> bool:
        """Whether a label has more of a term than all documents, by more than rounding."""
        if (self.rows_of_labels > self.rows * (1.0 + ROUNDING)).any():
            return True
        own, at = self.positives, self.total.places(self.positives.terms)
        if len(at) and at.min() < 0:
            return True
        for held, every in ((own.counts, self.total.counts), (own.sums, self.total.sums)):
            if held is not None and every is not None:
                most = np.zeros(self.total.n_terms)
                np.maximum.at(most, at[own.pair_terms], held)
                if (most > every * (1.0 + ROUNDING)).any():
                    return True
        return False

    def two(self, k: int) -> TermCounts:
        """The tally of two classes: documents without label k, and documents with it."""
        total, n = self.total, self.total.n_terms
        documents = np.array([0.0, self.rows_of_labels[k]])
        documents[0] = float(total.documents.sum()) - documents[1]
        held = []
        for every, of_labels in zip((total.counts, total.sums), self._by_label, strict=False):
            assert every is not None
            both = np.zeros((n, 2))
            at = slice(of_labels.indptr[k], of_labels.indptr[k + 1])
            both[of_labels.indices[at], 1] = of_labels.data[at]
            rest = every - both[:, 1]
            rest[is_residue(rest, every) | is_nothing(rest, every)] = 0.0
            both[:, 0] = rest
            held.append(both)
        kept = held[0] != 0.0
        start = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64)
        classes = np.nonzero(kept)[1].astype(np.int32)
        counts = [values[kept] for values in held]
        two = TermCounts(total.terms, BOTH, documents, start, classes, *counts)
        return two._held()

    def mixed(self, weights: Any, labels: NDArray[Any]) -> TermCounts:
        """The tally of classes that are sums of labels; see :meth:`ColumnLabels.mixed`."""
        places = places_among(self.positives.labels, self.labels)
        found = self.positives.mixed(weights[:, places], labels)
        terms = self.total.terms  # of all documents, so that these are rows of them
        if len(found.terms) == len(terms):
            return replace(found, terms=terms)
        return found

    def digest(self) -> str:
        """Tells these counts from others; see :meth:`TermCounts.digest`."""
        labels = digest_of([], repr(self.labels.tolist()))
        return f"{self.total.digest()} {self.positives.digest()} {labels}"

    def holds_the_same(self, other: Any) -> bool:
        """Whether others are counts of the same documents and labels."""
        return isinstance(other, TermLabels) and same(
            (self.labels, self.total, self.positives), (other.labels, other.total, other.positives)
        )
