"""The canonical order in which documents are learned from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.threads import get_num_threads
from tallybayes.tokens.rows import Documents
from tallybayes.weighted.rows import GOLDEN, salted

__all__ = ["document_keys"]

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
