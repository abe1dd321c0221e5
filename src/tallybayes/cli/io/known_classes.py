"""What model files of any kind share: their classes, as strings, and a digest of counts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.cli.terminal.failures import Failure
from tallybayes.errors import listed
from tallybayes.tables.values import as_text

__all__ = ["KnownClasses", "digest_of"]


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
