"""A model of text with how its documents are read: fitted, saved, asked and changed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.contract import row_hashes
from tallybayes.errors import OptionError, SourceError, StaleWarning, called
from tallybayes.estimators.saving import write
from tallybayes.estimators.sources import ReadBy, remember
from tallybayes.estimators.text import TextNB
from tallybayes.estimators.vectorizer import aged
from tallybayes.model_files.base import ChosenRows, MeasuredRows, ModelFile, Replace
from tallybayes.persistence import digest_of
from tallybayes.progress import over, reading_shown
from tallybayes.sources.document_source import Document, DocumentBatch, DocumentSource

__all__ = ["DocumentFile", "DocumentSample"]


Array = NDArray[np.float64]

PREDICTED_CHARACTERS = 1 << 20  # of a batch to predict: few, so that predictions come soon
COUNTED_CHARACTERS = 1 << 24  # characters of a batch to count
BATCH_CHARACTERS = 1 << 24  # characters that are counted at a time
MAX_SAMPLE_CHARACTERS = 1 << 28  # of the documents that weights are learned on


@dataclass(eq=False)
class DocumentFile(ModelFile):
    """A model of text, and how documents are read for it.

    Parameters
    ----------
    model : TextNB
        Fitted.
    read_by : ReadBy
        The columns of labels and documents; the target is None where folders or the names of
        mailboxes were the labels.
    path : str
        Its file, for messages.
    """

    model: TextNB
    read_by: ReadBy
    path: str = ""

    unit: ClassVar[str] = "document"

    @classmethod
    def fit(
        cls,
        source: DocumentSource,
        target: str | None = None,
        column: str | None = None,
        *,
        flatten: bool = False,
        **options: Any,
    ) -> DocumentFile:
        """Fit a model of all documents of a source.

        Up to ``MAX_SAMPLE_CHARACTERS`` it is what ``TextNB(**options).fit`` makes of them. If
        there are more, all are counted, batch by batch, and weights and ridge are learned on a fair
        sample. Documents of a group, where the source keeps groups, are left out together.

        Parameters
        ----------
        source : DocumentSource
            Documents with labels.
        target, column : str, optional
            The columns of labels and documents.
        flatten : bool
            Whether objects within rows are flattened.
        **options
            Of the model.
        """
        source.keep_unlabelled = options.get("unlabelled") is not None
        return cls(_fitted(source, options), ReadBy(target, column, flatten=flatten))

    @classmethod
    def of(cls, path: str, model: TextNB, extra: dict[str, Any]) -> DocumentFile:
        """Take a model that was loaded, and what its file holds beside it.

        Parameters
        ----------
        path : str
            The file, for messages.
        model : TextNB
            What it holds.
        extra : dict
            What it holds beside it.

        Raises
        ------
        ModelFileError
        """
        return cls(model, ReadBy.of(extra, path), path)

    def save(self, path: str, replace: Replace = os.replace) -> None:
        remember(self.model, self.read_by)
        write(self.model, path, replace=replace, costs=self.costs)

    @property
    def class_rows(self) -> NDArray[np.float64]:
        """How many documents of each class were counted, (n_classes,)."""
        return self.model.tally_.documents

    @property
    def rows(self) -> float:
        """How many documents were counted."""
        return float(self.class_rows.sum())

    def digest(self) -> str:
        tally = self.model.tally_
        return digest_of((tally.documents, tally.start, tally.classes, tally.counts))

    @property
    def options(self) -> dict[str, Any]:
        """What documents are split into, and whether terms are hashed."""
        return self.model._counter.options

    @property
    def stale(self) -> bool:
        """Whether the counts have changed since figures and weights were learned."""
        return bool(getattr(self.model._fitted(), "stale", False))

    @property
    def needs_reweighting(self) -> bool:
        """Whether predictions are worse for that."""
        return bool(self.model._fitted().needs_reweighting)

    def predicted(
        self, source: DocumentSource, keep: Sequence[str] = ()
    ) -> Iterator[tuple[dict[str, list[str]], Array]]:
        source.keep_columns(keep)
        for batch in self._batches(source, "predicting"):
            beside = {name: batch.kept(j) for j, name in enumerate(keep)}
            if source.has_names:
                beside["document"] = batch.names
            with source.locating(batch):
                proba = self.model.predict_proba(batch.strings)
            yield beside, proba

    def measured(
        self, source: DocumentSource, target: str | None, keep: Sequence[str] = ()
    ) -> Iterator[MeasuredRows]:
        if keep:
            raise OptionError(
                f"{called('by')} names a column of rows, and {self.path} is a model of documents"
            )
        for batch in self._labelled(source, "measuring", target):
            with source.locating(batch):
                proba = self.model.predict_proba(batch.strings)
            yield MeasuredRows(self.codes(_labels(batch)), proba, None, {})

    def learn(self, source: DocumentSource, target: str | None) -> int:
        n = 0
        for batch in self._labelled(source, "counting", target):
            with source.locating(batch):
                self.model.partial_fit(batch.strings, self.own_labels(_labels(batch)))
            n += batch.n_rows
        return n

    def forget(self, source: DocumentSource, target: str | None) -> int:
        n = 0
        for batch in self._labelled(source, "forgetting", target):
            with source.locating(batch):
                self.model.forget(batch.strings, self.own_labels(_labels(batch)))
            n += batch.n_rows
        return n

    def need_reweighting(self, parts: Any) -> None:
        if parts is not None:
            raise OptionError(
                f"{called('parts')} is for models of tables, and {self.path} is one of text"
            )

    def reweight(
        self, source: DocumentSource, target: str | None, parts: Any, group: str | None
    ) -> int:
        sample = self._sample(source, target, group)
        given = [label or "" for label in sample.labels]  # all have one
        labels = self.own_labels(np.array(given, dtype=np.str_))
        unknown = sorted(set(given) - set(self.classes))
        if unknown:
            raise SourceError(
                f"{source.name}: the class {unknown[0]!r} is not in the model: reweight takes "
                "documents that the model has counted"
            )
        with reading_shown("learning weights"):
            weights = sample.weights(self.model.half_life)
            self.model.reweight(sample.strings, labels, weights, sample.groups)
        return len(labels)

    def merge(self, part: DocumentFile) -> bool:
        same = bool(self.model.get_params() == part.model.get_params())
        self.model.merge(part.model)
        mine, other = self.read_by, part.read_by
        mine.target, mine.column = mine.target or other.target, mine.column or other.column
        return same

    @property
    def stale_part(self) -> str | None:
        return "ridge was" if self.needs_reweighting else None

    def stray_notes(self, source: DocumentSource) -> list[str]:
        return []

    def _sample(
        self, source: DocumentSource, target: str | None, group: str | None
    ) -> DocumentSample:
        """A fair sample of the documents that have labels."""
        source.keep_group(group)
        sample = DocumentSample()
        for batch in self._labelled(source, "reading", target):
            sample.add(batch, grouped=group is not None)
        return sample

    def sampled(
        self, source: DocumentSource, target: str | None, max_rows: int, group: str | None = None
    ) -> tuple[list[str], NDArray[Any], None, NDArray[Any] | None]:
        sample = self._sample(source, target, group)
        labels = self.own_labels(np.array(sample.labels, dtype=np.str_))
        return sample.strings, labels, None, sample.groups

    def chosen(self, source: DocumentSource, chosen: ChosenRows) -> list[Document]:
        source.keep_columns(chosen.columns)
        seen, last = 0, chosen.last()
        found: list[Document] = []
        keys: set[tuple[str, str]] = set()
        for batch in self._batches(source, "looking for the document"):
            if not chosen and seen + batch.n_rows > 1:
                raise OptionError(
                    f"{source.name} has several documents: name one by {called('row', 'N')}, from "
                    "0 on"
                )
            for i, one in enumerate(batch.documents, batch.first):
                held = {*zip(chosen.columns, one.kept, strict=False)} & {*chosen.keys}
                keys |= held  # type: ignore[arg-type]
                if not chosen or i in chosen.numbers or held:
                    found.append(one)
            seen = batch.first + batch.n_rows
            if chosen and last is not None and last < seen:
                break
        if len(found) < len(chosen.numbers) or chosen.keys:
            chosen.need_found(source.name, seen, self.unit, keys)
        return found

    def _batches(self, source: DocumentSource, what: str) -> Iterator[DocumentBatch]:
        """The documents without labels."""
        return over(source.batches(PREDICTED_CHARACTERS), what, self.unit)

    def _labelled(
        self, source: DocumentSource, what: str, target: str | None
    ) -> Iterator[DocumentBatch]:
        """The documents that have labels."""
        batches = source.batches(COUNTED_CHARACTERS, labelled=True, target=target)
        return over(batches, what, self.unit)


def _labels(batch: DocumentBatch) -> NDArray[Any]:
    return np.array(batch.labels, dtype=np.str_)


# ---- learning in batches that bound the memory ---------------------------------------------------
class DocumentSample:
    """A fair sample of documents: those whose number, or group, has a hash below a bound. The bound
    is halved when they have too many characters, so batches, and any period in the data, do not
    matter.

    Parameters
    ----------
    max_characters : int
        Letters.
    """

    def __init__(self, max_characters: int = MAX_SAMPLE_CHARACTERS) -> None:
        self.max_characters = max_characters
        self.strings: list[str] = []
        self.labels: list[str | None] = []
        self._groups: list[str] = []
        self._numbers: list[int] = []
        self._n = 0
        self._marks: list[NDArray[np.uint64]] = []
        self._letters = 0
        self._bound = np.uint64(2**64 - 1)

    @property
    def whole(self) -> bool:
        """Whether all documents are in it."""
        return bool(self._bound == np.uint64(2**64 - 1))

    @property
    def groups(self) -> NDArray[Any] | None:
        """The group of each document; None without groups."""
        return np.array(self._groups, dtype=np.str_) if self._groups else None

    def weights(self, half_life: float | None) -> NDArray[np.float64] | None:
        """What each weighs when the last document has been counted; None without a half-life."""
        weights = aged(None, self._n, half_life)
        return None if weights is None else weights[self._numbers]

    def add(self, batch: DocumentBatch, *, grouped: bool = False) -> None:
        """Takes those documents of a batch that are in the sample; with their groups, which are the
        first column that is kept, whole ones."""
        groups = batch.kept(0) if grouped else []
        numbers = np.arange(batch.first, batch.first + batch.n_rows).astype(np.uint64)
        if grouped:
            digests = (blake2b(group.encode(), digest_size=8).digest() for group in groups)
            numbers = np.frombuffer(b"".join(digests), dtype="<u8")
        marks = row_hashes(numbers)
        kept = np.flatnonzero(marks <= self._bound).tolist()
        self._numbers += [batch.first + i for i in kept]
        self._n = batch.first + batch.n_rows
        strings, labels = batch.strings, batch.labels_or_none
        self.strings += [strings[i] for i in kept]
        self.labels += [labels[i] for i in kept]
        self._groups += [groups[i] for i in kept if grouped]
        self._letters += sum(len(strings[i]) for i in kept)
        self._marks.append(marks[kept])
        while self._letters > self.max_characters and len(self.strings) > 1:
            self._halve()

    def _halve(self) -> None:
        self._bound >>= np.uint64(1)
        marks = np.concatenate(self._marks)
        kept = np.flatnonzero(marks <= self._bound).tolist()
        self.strings = [self.strings[i] for i in kept]
        self.labels = [self.labels[i] for i in kept]
        self._groups = [self._groups[i] for i in kept if self._groups]
        self._numbers = [self._numbers[i] for i in kept]
        self._letters = sum(map(len, self.strings))
        self._marks = [marks[kept]]


def _fitted(source: DocumentSource, settings: dict[str, Any]) -> TextNB:
    sample = DocumentSample()
    batches = over(source.batches(BATCH_CHARACTERS, labelled=True), "reading", "document")
    before: list[DocumentBatch] = []
    for batch in batches:
        before.append(batch)
        sample.add(batch, grouped=source.group is not None)
        if not sample.whole:
            break
    else:
        _need_two_classes(source, sample.labels)
        with reading_shown("learning weights"):
            return TextNB(**settings).fit(
                sample.strings, _array(sample.labels), groups=sample.groups
            )
    if source.unlabelled and settings.get("unlabelled") is not None:
        raise SourceError(
            f"{source.name} has more than {MAX_SAMPLE_CHARACTERS:,} characters, and documents "
            "without a label are learned from as a whole: give fewer of them, or "
            f"{called('skip_unlabelled', True)}"
        )
    return _in_batches(source, settings, sample, before, batches)


def _in_batches(
    source: DocumentSource,
    settings: dict[str, Any],
    sample: DocumentSample,
    before: list[DocumentBatch],
    rest: Iterator[DocumentBatch],
) -> TextNB:
    model = TextNB(**{**settings, "ridge": False})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StaleWarning)  # weights are learned at the end
        while before:
            batch = before.pop(0)
            model.partial_fit(batch.strings, np.array(batch.labels, dtype=np.str_))
        for batch in rest:
            model.partial_fit(batch.strings, np.array(batch.labels, dtype=np.str_))
            sample.add(batch, grouped=source.group is not None)
    _need_two_classes(source, model.classes_.tolist())
    model.set_params(ridge=settings.get("ridge", True))
    with reading_shown("learning weights"):
        weights = sample.weights(model.half_life)
        labels = _array(sample.labels)
        return model.reweight(sample.strings, labels, weights, sample.groups)


def _array(labels: list[str | None]) -> NDArray[Any]:
    """Labels as Python would give them, None for a document without one."""
    return np.array(labels, dtype=object if None in labels else np.str_)


def _need_two_classes(source: DocumentSource, labels: Sequence[str | None]) -> None:
    found = sorted({label for label in labels if label is not None})
    if not found:
        raise SourceError(f"{source.name}: no document has a label: label some of each class")
    if len(found) < 2:
        raise SourceError(
            f"{source.name} has documents of one class only, {found[0]!r}, and a model needs two: "
            f"{source.other_classes(found[0])}"
        )
