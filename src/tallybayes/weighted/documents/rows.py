"""The canonical order in which documents are learned from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.threads import get_num_threads
from tallybayes.tokens.rows import Documents
from tallybayes.weighted.repeated import Observations, observations
from tallybayes.weighted.rows import GOLDEN, MAX_CHANCE_SHARE, salted

__all__ = ["document_keys", "documents_without_copies"]

LABEL_SALT = 1 << 32  # the salt of labels


def document_keys(documents: Documents, y: NDArray[np.int32]) -> NDArray[np.uint64]:
    """A 64-bit hash of the terms, counts and label of each document, uint64 (n_documents,).

    Parameters
    ----------
    documents : Documents
    y : int32 array (n_documents,)
        Labels.
    """
    keys = np.empty(len(documents), dtype=np.uint64)
    counts = documents.counts.astype(np.int32, copy=False)
    rows = documents.indptr, documents.terms, counts
    _kernels.document_hashes(*rows, GOLDEN, keys, get_num_threads())
    found: NDArray[np.uint64] = salted(keys + salted(y.astype(np.uint64), LABEL_SALT), 2)
    return found


def documents_without_copies(
    documents: Documents, y: NDArray[np.int32], weights: NDArray[np.float64] | None
) -> Observations | None:
    """The documents that others are copies of, with the weight of all copies; None where documents
    do not repeat. See :mod:`tallybayes.weighted.repeated`.

    Equal ones are usual where documents are short: D documents whose terms had nothing to do with
    each other would be equal as often as −Σ log P(term), on average, is below log D.
    """

    def alike_by_chance(rows: NDArray[np.intp]) -> bool:
        distinct = documents.take(rows)
        frequency = np.bincount(distinct.terms, minlength=1)[distinct.terms]
        information = float(-np.log(frequency / len(rows)).sum()) / len(rows)
        return information < float(np.log(len(rows) / MAX_CHANCE_SHARE))

    weight = np.ones(len(y)) if weights is None else weights
    keys = document_keys(documents, np.zeros_like(y))
    return observations(keys, y, weight, alike_by_chance)
