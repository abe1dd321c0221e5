"""The canonical order in which documents are learned from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes.tokens.rows import Documents
from tallybayes.weighted.rows import salted

__all__ = ["document_keys"]

LABEL_SALT = 1 << 32  # the salt of labels
COUNT_STRIDE = np.uint64(1 << 40)  # terms are below it, counts times it are distinct


def document_keys(documents: Documents, y: NDArray[np.int32]) -> NDArray[np.uint64]:
    """A 64-bit hash of the terms, counts and label of each document, uint64 (n_documents,).

    Parameters
    ----------
    documents : Documents
    y : int32 array (n_documents,)
        Labels.
    """
    cell = documents.terms.astype(np.uint64) + COUNT_STRIDE * documents.counts.astype(np.uint64)
    hashed = np.append(salted(cell, 1), np.uint64(0))
    keys = np.add.reduceat(hashed, documents.indptr[:-1])
    keys[np.diff(documents.indptr) == 0] = 0
    found: NDArray[np.uint64] = salted(keys + salted(y.astype(np.uint64), LABEL_SALT), 2)
    return found
