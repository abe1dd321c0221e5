"""Model files of any kind: what they share, and what commands do differently for each.

Reading, predicting and counting are the same calls for models of tables and of text; the rest is
behind the interface :class:`Kind`.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.cli.console import Bar
from tallybayes.cli.messages import Failure
from tallybayes.cli.options import ChosenRows
from tallybayes.errors import listed
from tallybayes.tables.values import as_text

__all__ = ["Kind", "KnownClasses", "digest_of"]


# ---- what they share: their classes, as strings, and a digest of counts --------------------------
class KnownClasses:
    """The labels that model files of all kinds know."""

    model: Any

    @property
    def classes(self) -> list[str]:
        """The labels as strings."""
        return [as_text(c) for c in self.model.classes_.tolist()]

    def codes(self, labels: NDArray[Any]) -> NDArray[np.intp]:
        """The index of each label among the classes, −1 for one that the model does not know."""
        known = {label: i for i, label in enumerate(self.classes)}
        return np.fromiter((known.get(v, -1) for v in labels.tolist()), np.intp, len(labels))

    def own_labels(self, labels: NDArray[Any]) -> NDArray[Any]:
        """Labels in the type that the model has them in; new ones are as they come."""
        classes = self.model.classes_
        if classes.dtype.kind in "OUT":
            return labels
        known = dict(zip(self.classes, classes.tolist(), strict=True))
        for label in labels.tolist():
            if label not in known:
                raise Failure(
                    f"the label {label!r} is new, and this model's labels are of the type "
                    f"{classes.dtype} ({listed(known)}): add it from Python"
                )
        return np.array([known[label] for label in labels.tolist()], dtype=classes.dtype)


def digest_of(arrays: Iterable[NDArray[Any]]) -> str:
    """A digest of counts, which depends on the bytes of every array of numbers."""
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        if array.dtype.kind in "biuf":
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


# ---- what commands do differently ----------------------------------------------------------------
class Kind(ABC):
    """The steps of commands for one kind of model. Files and sources are those of the kind."""

    @abstractmethod
    def explain(self, file: Any, source: Any, rows: ChosenRows, json: bool) -> None:
        """Explains rows or documents, to people or to machines."""

    @abstractmethod
    def show(self, file: Any, path: str, tables: bool, show_all: bool, json: bool) -> None:
        """Shows a model, to people or to machines."""

    @abstractmethod
    def reweight(
        self, file: Any, source: Any, bar: Bar, target: str | None, parts: Any, group: Any
    ) -> int:
        """Learns weights again; the number of rows or documents learned on."""

    @abstractmethod
    def need_reweighting(self, file: Any, path: str, parts: Any) -> None:
        """Raises where nothing is learned on rows, or `parts` has no meaning."""

    @abstractmethod
    def take_in(self, whole: Any, first: str, part: Any, path: str) -> None:
        """Merges the model of `path` into that of `first`."""

    @abstractmethod
    def before_learning(self, file: Any) -> Any:
        """What :meth:`after_learning` compares with."""

    @abstractmethod
    def need_sound(self, file: Any, source: Any) -> None:
        """Raises where what was counted cannot be meant so, before the file is written."""

    @abstractmethod
    def after_learning(self, file: Any, source: Any, before: Any) -> None:
        """Notes on what the new rows have changed."""

    @abstractmethod
    def note_stale(self, file: Any, path: str) -> None:
        """Reports that what was learned is older than the counts."""
