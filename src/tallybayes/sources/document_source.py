"""What sources of documents share: batches, labels, and the places of documents."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from tallybayes.errors import NegativeTally, OptionError, SourceError, called

__all__ = ["Document", "DocumentBatch", "DocumentSource", "labelled_texts", "texts_of"]


class Document(NamedTuple):
    """A document as it is read.

    Parameters
    ----------
    text : str
    label : str or None
        None where it has none, or none is requested.
    name : str
        The path of its file, or the number of its message; rows have none.
    number : int
        In its source, from 0.
    done : float, optional
        The share of the bytes of the source that has been read so far, where that is known.
    kept : tuple of (str or None)
        The values of the columns that are kept beside it.
    """

    text: str
    label: str | None
    name: str
    number: int
    done: float | None = None
    kept: tuple[str | None, ...] = ()


@dataclass(frozen=True, eq=False)
class DocumentBatch:
    """Some documents of a source.

    Parameters
    ----------
    documents : list of Document
    first : int
        The number of the first one among those that are read, from 0.
    """

    documents: list[Document]
    first: int

    @property
    def n_rows(self) -> int:
        """How many documents."""
        return len(self.documents)

    @property
    def done(self) -> float | None:
        """The share of the bytes that has been read so far."""
        return self.documents[-1].done

    @property
    def strings(self) -> list[str]:
        """The documents themselves."""
        return [document.text for document in self.documents]

    @property
    def names(self) -> list[str]:
        """Their names."""
        return [_printable(document.name) for document in self.documents]

    def kept(self, j: int) -> list[str]:
        """The values of a column that is kept; empty where one is missing."""
        return [document.kept[j] or "" for document in self.documents]

    @property
    def labels(self) -> list[str]:
        """Their labels, where these were requested."""
        return [document.label or "" for document in self.documents]

    @property
    def labels_or_none(self) -> list[str | None]:
        """Their labels, None where documents without a label are kept."""
        return [document.label or None for document in self.documents]


class DocumentSource(ABC):
    """Some input as documents.

    Parameters
    ----------
    name : str
        For messages.
    label : str or None
        That all documents have, where one is given.
    skip_unlabelled : bool
        Whether documents without a label are left out; by default they are an error.
    """

    name: str
    label: str | None
    skip_unlabelled: bool

    target: str | None = None
    """The column, or the header of messages, that holds the labels."""

    column: str | None = None
    """The column of the documents, where these are rows."""

    keep_unlabelled = False
    """Whether documents without a label are among the labelled ones, to be learned from."""

    takes_target = False
    """Whether labels stand in a column or header with a name."""

    has_names = True
    """Whether documents have names beside their numbers."""

    keep: Sequence[str] = ()
    """The columns of rows that are kept beside the documents."""

    group: str | None = None
    """The column of groups, which is the first that is kept."""

    def __init__(self, name: str, label: str | None, skip_unlabelled: bool) -> None:
        self.name, self.label, self.skip_unlabelled = name, label, skip_unlabelled
        self.unlabelled: int = 0

    def keep_columns(self, names: Sequence[str]) -> None:
        """Keep columns of rows beside the documents.

        Parameters
        ----------
        names : sequence of str
            The columns.

        Raises
        ------
        SourceError
            If the documents are not rows of a table, and if a column does not exist.
        """
        if names:
            raise OptionError(
                f"{called('keep')} is for rows, and the documents of {self.name} have names instead"
            )

    def keep_group(self, group: str | None) -> None:
        """Keep the column of groups of rows.

        Parameters
        ----------
        group : str or None
            The column; None for none.

        Raises
        ------
        SourceError
            If the documents are not rows of a table, and if the column does not exist.
        """
        if group is not None:
            raise OptionError(
                f"{called('group')} names a column of rows, and {self.name} has none: omit it, or "
                "give a table with the documents, their labels and their groups as columns"
            )

    @abstractmethod
    def read(self, labelled: bool, target: str | None = None) -> Iterator[Document]:
        """Read the documents one by one.

        Parameters
        ----------
        labelled : bool
            Whether labels are read.
        target : str or None
            The column or header of the label, where it is another than the source was opened with.
        """

    def batches(
        self, size: int, *, labelled: bool = False, target: str | None = None
    ) -> Iterator[DocumentBatch]:
        """Read the documents in batches.

        Parameters
        ----------
        size : int
            About how many letters a batch has.
        labelled : bool, default=False
            Whether labels are read.
        target : str, optional
            The column or header of the labels, where it is another than the source was opened
            with.

        Yields
        ------
        DocumentBatch
            Some documents.

        Raises
        ------
        SourceError
            For a document without a label where labels are read, unless they are skipped;
            where there are no documents.
        """
        held: list[Document] = []
        first = letters = self.unlabelled = 0
        for document in self.read(labelled and self.label is None, target):
            if labelled:
                document = document._replace(label=self.label or document.label)
                if not document.label:
                    if not (self.skip_unlabelled or self.keep_unlabelled):
                        raise SourceError(
                            f"{self.where(document)} has no label: {self.where_labels_are(target)},"
                            f" or leave such documents out with {called('skip_unlabelled', True)}"
                        )
                    self.unlabelled += 1
                    if not self.keep_unlabelled:
                        continue
            if self.group is not None and not document.kept[0]:
                raise SourceError(
                    f"{self.where(document)} has no value in {self.group!r}, the column of groups "
                    f"({called('group')}): give each row its group, one of its own where it "
                    "belongs to none"
                )
            held.append(document)
            letters += len(document.text)
            if letters >= size:
                yield DocumentBatch(held, first)
                first, held, letters = first + len(held), [], 0
        if held:
            yield DocumentBatch(held, first)
        elif not first:
            some = f"none of its {self.unlabelled:,} documents has a label"
            raise SourceError(
                f"{self.name}: {some if self.unlabelled else 'it holds no documents'}"
            )

    def where(self, document: Document) -> str:
        """Say where people find a document.

        Parameters
        ----------
        document : Document
            One of this source.

        Returns
        -------
        str
            Its file, and its place there.
        """
        return document.name

    def where_labels_are(self, target: str | None) -> str:
        """Say what to do about a document without a label.

        Parameters
        ----------
        target : str or None
            The column or header that was asked for.

        Returns
        -------
        str
            The end of a sentence.
        """
        return f"give one with {called('label')}"

    def other_classes(self, label: str) -> str:
        """Say what to do where all documents have one label.

        Parameters
        ----------
        label : str
            That label.

        Returns
        -------
        str
            The end of a sentence.
        """
        return "add documents of another class"

    @contextmanager
    def locating(self, batch: DocumentBatch) -> Iterator[None]:
        """Turn errors about "document N" of a batch into errors about its place.

        Parameters
        ----------
        batch : DocumentBatch
            Some documents of this source.

        Yields
        ------
        None
            Nothing.
        """
        try:
            yield
        except NegativeTally:
            raise
        except ValueError as error:
            found = re.search(r"\bdocument (\d+)", str(error))
            number = int(found[1]) if found else len(batch.documents)
            known = number < len(batch.documents)
            where = self.where(batch.documents[number]) if known else self.name
            raise SourceError(f"{where}: {error}") from error


def _printable(name: str) -> str:
    """A name without the surrogates that stand for bytes of a path that are not UTF-8."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


# ---- documents for a model that takes strings ----------------------------------------------------
BATCH_CHARACTERS = 1 << 24


def texts_of(x: Any) -> Any:
    """The documents of a source, as strings; anything else as it is."""
    if not isinstance(x, DocumentSource):
        return x
    return [text for batch in x.batches(BATCH_CHARACTERS) for text in batch.strings]


def labelled_texts(x: Any, y: Any) -> tuple[Any, Any]:
    """Documents and labels: those of a source, where no labels are given; anything else as it is.

    A source that keeps documents without a label has None for them.
    """
    if not isinstance(x, DocumentSource):
        return x, y
    if y is not None:
        return texts_of(x), y
    batches = list(x.batches(BATCH_CHARACTERS, labelled=True))
    labels = [label for batch in batches for label in batch.labels_or_none]
    return [text for batch in batches for text in batch.strings], labels
