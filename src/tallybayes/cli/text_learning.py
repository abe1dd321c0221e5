"""Learning a model of text in batches that bound the memory."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.cli.console import Bar
from tallybayes.cli.documents import DocumentBatch, DocumentSource
from tallybayes.cli.messages import Failure
from tallybayes.engines.contract import row_hashes
from tallybayes.errors import StaleWarning
from tallybayes.estimators.text import TextNB
from tallybayes.estimators.vectorizer import aged

__all__ = ["MAX_SAMPLE_CHARACTERS", "DocumentSample", "learned"]


BATCH_CHARACTERS = 1 << 24  # characters that are counted at a time
MAX_SAMPLE_CHARACTERS = 1 << 28  # of the documents that weights are learned on


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


def learned(
    source: DocumentSource, settings: dict[str, Any], bar: Bar, target: str | None
) -> TextNB:
    """A model of all documents of a source.

    Up to :data:`MAX_SAMPLE_CHARACTERS` it is what ``TextNB(**settings).fit`` makes of them. If
    there are more, all are counted, batch by batch, and weights and ridge are learned on a fair
    sample. Documents of a group, where the source keeps groups, are left out together.
    """
    sample = DocumentSample()
    batches = bar.over(
        source.batches(BATCH_CHARACTERS, labelled=True, target=target), "reading", "document"
    )
    before: list[DocumentBatch] = []
    for batch in batches:
        before.append(batch)
        sample.add(batch, grouped=source.group is not None)
        if not sample.whole:
            break
    else:
        _need_two_classes(source, sample.labels)
        with bar.during("learning weights"):
            return TextNB(**settings).fit(
                sample.strings, _array(sample.labels), groups=sample.groups
            )
    if source.unlabelled and settings.get("unlabelled") is not None:
        raise Failure(
            f"{source.name} has more than {MAX_SAMPLE_CHARACTERS:,} characters, and documents "
            "without a label are learned from as a whole: give fewer of them, or --skip-unlabelled"
        )
    return _in_batches(source, settings, bar, sample, before, batches)


def _in_batches(
    source: DocumentSource,
    settings: dict[str, Any],
    bar: Bar,
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
    with bar.during("learning weights"):
        weights = sample.weights(model.half_life)
        labels = _array(sample.labels)
        return model.reweight(sample.strings, labels, weights, sample.groups)


def _array(labels: list[str | None]) -> NDArray[Any]:
    """Labels as Python would give them, None for a document without one."""
    return np.array(labels, dtype=object if None in labels else np.str_)


def _need_two_classes(source: DocumentSource, labels: Sequence[str | None]) -> None:
    found = sorted({label for label in labels if label is not None})
    if not found:
        raise Failure(f"{source.name}: no document has a label: label some of each class")
    if len(found) < 2:
        raise Failure(
            f"{source.name} has documents of one class only, {found[0]!r}, and a model needs two: "
            f"{source.other_classes(found[0])}"
        )
