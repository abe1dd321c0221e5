"""Probabilities of classes from scores, and the log-loss of the true class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["probabilities_and_loss"]

Array = NDArray[np.float64]


def probabilities_and_loss(scores: Array, y: NDArray[np.int32]) -> tuple[Array, Array]:
    """P = softmax(scores), and −log P of the own class in nats.

    Parameters
    ----------
    scores : float64 array (n_documents, n_classes)
        Overwritten by P.
    y : int32 array (n_documents,)
        The own classes.

    Returns
    -------
    P : float64 array (n_documents, n_classes)
    loss : float64 array (n_documents,)
    """
    highest = scores[:, 0].copy()
    for k in range(1, scores.shape[1]):  # of few classes faster than max(axis=1)
        np.maximum(highest, scores[:, k], out=highest)
    scores -= highest[:, None]
    own = scores[np.arange(len(y)), y]
    proba = np.exp(scores, out=scores)
    total = proba @ np.ones(proba.shape[1])
    proba /= total[:, None]
    return proba, np.log(total) - own
