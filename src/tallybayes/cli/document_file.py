"""A model file of the command line: a model of text, with the columns of labels and documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.cli.console import Bar
from tallybayes.cli.documents import DocumentBatch, DocumentSource
from tallybayes.cli.interrupts import need_none, replacement_of
from tallybayes.cli.kinds import KnownClasses, digest_of
from tallybayes.errors import ModelFileError
from tallybayes.estimators.saving import save
from tallybayes.estimators.text import TextNB
from tallybayes.persistence import Unfit, fit
from tallybayes.tables import Column, Strings

__all__ = ["DocumentFile"]


Array = NDArray[np.float64]


@dataclass(frozen=True)
class Kept:
    """What the command line keeps beside a model."""

    target: str | None = None
    column: str | None = None
    made: str | None = None
    flatten: bool = False


PREDICTED_CHARACTERS = 1 << 20  # of a batch to predict: few, so that predictions come soon
COUNTED_CHARACTERS = 1 << 24  # characters of a batch to count


@dataclass(eq=False)
class DocumentFile(KnownClasses):
    """A model of text, and how documents are read for it.

    Parameters
    ----------
    model : TextNB
    target : str or None
        The column of the labels, or the header of messages that holds them; None where folders or
        the names of mailboxes were the labels.
    column : str or None
        Of the documents, where these were rows.
    made : str or None
        The digest of the counts that the file was made with; those that it has now may be others.
    flatten : bool
        Whether objects within rows were flattened.
    """

    model: TextNB
    target: str | None = None
    column: str | None = None
    made: str | None = None
    flatten: bool = False

    unit: ClassVar[str] = "document"

    @classmethod
    def of(cls, path: str, model: TextNB, extra: dict[str, Any]) -> DocumentFile:
        """The model of a file, and what the file holds beside it.

        Raises
        ------
        ModelFileError
        """
        try:
            own: Kept = fit(Kept, extra.get("cli", {}), "the command line's part")
        except Unfit as error:
            raise ModelFileError(f"{path} is whole, but no model file: {error}") from error
        return cls(model, own.target, own.column, own.made, own.flatten)

    def save(self, path: str) -> None:
        """Writes the file; one that is there is replaced whole or not at all."""
        need_none()
        own = {
            "target": self.target,
            "column": self.column,
            "made": self.made,
            "flatten": self.flatten,
        }
        save(self.model, path, extra={"cli": own}, replace=replacement_of(path))
        need_none()

    @property
    def class_rows(self) -> NDArray[np.float64]:
        """How many documents of each class were counted, (n_classes,)."""
        return self.model.tally_.documents

    @property
    def rows(self) -> float:
        """How many documents were counted."""
        return float(self.class_rows.sum())

    def digest(self) -> str:
        """What tells these counts from others."""
        tally = self.model.tally_
        return digest_of((tally.documents, tally.start, tally.classes, tally.counts))

    @property
    def stale(self) -> bool:
        """Whether the counts have changed since figures and weights were learned."""
        return bool(getattr(self.model._fitted(), "stale", False))

    @property
    def needs_reweighting(self) -> bool:
        """Whether predictions are worse for that."""
        return self.model._fitted().needs_reweighting

    def predicted(
        self, source: DocumentSource, bar: Bar, keep: Sequence[str] = ()
    ) -> Iterator[tuple[dict[str, Column], Array]]:
        """The names of documents, where they have names, or the columns that are kept beside them,
        and the probability of each class, batch by batch."""
        source.keep_columns(keep)
        for batch in self.batches(source, bar, "predicting"):
            beside = {name: batch.kept(j) for j, name in enumerate(keep)}
            if source.has_names:
                beside["document"] = batch.names
            with source.locating(batch):
                proba = self.model.predict_proba(batch.strings)
            place = np.arange(batch.n_rows, dtype=np.int32)
            yield {name: Strings(place, text, "text") for name, text in beside.items()}, proba

    def measured(
        self, source: DocumentSource, bar: Bar, target: str | None
    ) -> Iterator[tuple[NDArray[np.intp], Array, None]]:
        """The class of each document, −1 for one that is unknown, the probability of each, and no
        weights."""
        for batch in self.labelled(source, bar, "measuring", target):
            with source.locating(batch):
                proba = self.model.predict_proba(batch.strings)
            yield self.codes(_labels(batch)), proba, None

    def learn(self, source: DocumentSource, bar: Bar, target: str | None) -> int:
        """Counts documents in addition; how many."""
        n = 0
        for batch in self.labelled(source, bar, "counting", target):
            with source.locating(batch):
                self.model.partial_fit(batch.strings, self.own_labels(_labels(batch)))
            n += batch.n_rows
        return n

    def forget(self, source: DocumentSource, bar: Bar, target: str | None) -> int:
        """Takes documents away that were counted; how many."""
        n = 0
        for batch in self.labelled(source, bar, "forgetting", target):
            with source.locating(batch):
                self.model.forget(batch.strings, self.own_labels(_labels(batch)))
            n += batch.n_rows
        return n

    def batches(self, source: DocumentSource, bar: Bar, what: str) -> Iterator[DocumentBatch]:
        """The documents without labels."""
        return bar.over(source.batches(PREDICTED_CHARACTERS), what, self.unit)

    def labelled(
        self, source: DocumentSource, bar: Bar, what: str, target: str | None
    ) -> Iterator[DocumentBatch]:
        """The documents that have labels."""
        batches = source.batches(COUNTED_CHARACTERS, labelled=True, target=target)
        return bar.over(batches, what, self.unit)


def _labels(batch: DocumentBatch) -> NDArray[Any]:
    return np.array(batch.labels, dtype=np.str_)
