"""A model file of the command line: a model of text, and where its labels and documents stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.cli.io.documents.source import DocumentBatch, DocumentSource
from tallybayes.cli.io.known_classes import KnownClasses
from tallybayes.cli.terminal.console import Bar
from tallybayes.cli.terminal.interrupts import need_none, replacement_of
from tallybayes.errors import ModelFileError
from tallybayes.estimators.persistence.model_files import save
from tallybayes.estimators.text.text_nb import TextNB
from tallybayes.persistence.checks import Unfit, optional, record, text
from tallybayes.sources.text_files.batch import Labelled

if TYPE_CHECKING:
    from tallybayes.cli.arguments.reading import Reading

__all__ = ["DocumentFile"]

OWN = record({"target": optional(text), "column": optional(text)}, {"target": None, "column": None})
"""What the command line keeps beside a model."""

LETTERS = 1 << 20  # of a batch to predict: few, so that predictions come soon
COUNTED = 1 << 24  # letters of a batch to count


@dataclass(eq=False)
class DocumentFile(KnownClasses):
    """A model of text and what has to be known to read documents for it.

    Parameters
    ----------
    model : TextNB
    target : str or None
        The column of the labels, or the header of messages that holds them; None where folders or
        the names of mailboxes were the labels.
    column : str or None
        Of the documents, where these were rows.
    """

    model: TextNB
    target: str | None = None
    column: str | None = None

    unit: ClassVar = "document"

    @classmethod
    def of(cls, path: str, model: TextNB, extra: dict[str, Any]) -> DocumentFile:
        """The model of a file, and what the file holds beside it.

        Raises
        ------
        ModelFileError
        """
        try:
            own = OWN(extra.get("cli", {}), "the command line's part")
        except Unfit as error:
            raise ModelFileError(f"{path} is whole, but no model file: {error}") from error
        return cls(model, own["target"], own["column"])

    def save(self, path: str) -> None:
        """Writes the file; one that is there is replaced whole or not at all."""
        need_none()
        own = {"target": self.target, "column": self.column}
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

    @property
    def stale(self) -> bool:
        """Whether the counts have changed since figures and weights were learned."""
        return bool(getattr(self.model._fitted(), "stale", False))

    @property
    def needs_reweighting(self) -> bool:
        """Whether predictions are worse for that."""
        return self.model._fitted().needs_reweighting

    def open(self, paths: list[str], reading: Reading) -> DocumentSource:
        """Documents for this model."""
        return reading.open_documents(paths, self)

    def proba(self, batch: DocumentBatch) -> NDArray[np.float64]:
        """The probability of each class, (n_documents, n_classes)."""
        return self.model.predict_proba(batch.strings)

    def learn(self, rows: Labelled) -> None:
        """Counts documents in addition."""
        self.model.partial_fit(rows.batch.strings, self.own_labels(rows.labels))

    def forget(self, rows: Labelled) -> None:
        """Takes documents away that were counted."""
        self.model.forget(rows.batch.strings, self.own_labels(rows.labels))

    def batches(
        self, source: DocumentSource, bar: Bar, what: str, also: None
    ) -> Iterator[DocumentBatch]:
        """The documents without labels."""
        yield from bar.over(source.batches(LETTERS), what, self.unit)

    def labelled(
        self,
        source: DocumentSource,
        bar: Bar,
        what: str,
        target: str | None,
        learning: bool = False,
    ) -> Iterator[Labelled]:
        """The documents and their labels."""
        batches = source.batches(COUNTED, labelled=True, target=target)
        for batch in bar.over(batches, what, self.unit):
            yield Labelled(batch, np.array(batch.labels, dtype=np.str_))
