"""Log-ratios of the terms of a column of text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["TextTerms"]

Array = NDArray[np.float64]

ONE = np.log(2.0)  # tf of a term that occurs once


@dataclass(frozen=True, eq=False)
class TextTerms:
    """Contributions of the terms of a column of text to the score of each class, in nats.

    Parameters
    ----------
    part : Part
        The column, of the classes `present`.
    weight : float
        The weight that multiplies what the text adds.
    present : index array (n_present,)
    n_classes : int
    """

    part: Any
    weight: float
    present: NDArray[np.intp]
    n_classes: int

    def of_document(self, document: str) -> tuple[list[Any], Array]:
        """The terms of a document that were counted, and what each adds, float64
        (n_terms, n_classes). Their sum is what the document adds."""
        terms, contributions = self.part.of_terms(document)
        return terms, self._of_all_classes(contributions)

    def of_one_occurrence(self) -> tuple[list[Any], Array]:
        """All terms, and what each adds in a text of this one term, float64
        (n_terms, n_classes)."""
        likelihood = self.part.likelihood
        terms = likelihood.counts.held.terms.tolist()
        return terms, self._of_all_classes(ONE * likelihood.ratios_of(np.arange(len(terms))))

    def _of_all_classes(self, contributions: Array) -> Array:
        found = np.zeros((len(contributions), self.n_classes))
        found[:, self.present] = self.weight * contributions
        return found
