"""Fair samples of the learning rows, weights need few of them, and fair folds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["fold_of", "sampled"]

Array = NDArray[np.float64]

OF_A_CLASS = 50  # rows that a class keeps, if it has them


def sampled(
    y: NDArray[np.int32], weight: Array, n_classes: int, most: int
) -> tuple[NDArray[np.intp], Array]:
    """About so many rows that weigh something, in order, and what each stands for.

    Rare classes keep more than their share, at a lower weight, so that the loss over the sample is
    about that over all rows, times the share of the rows that is taken.

    Parameters
    ----------
    y : int32 array (n_rows,)
    weight : float64 array (n_rows,)
    n_classes : int
    most : int

    Returns
    -------
    index array, float64 array
    """
    some = np.flatnonzero(weight > 0.0)
    if len(some) <= most:
        return some, weight[some]
    of_class = np.bincount(y[some], minlength=n_classes)
    share = most / len(some)
    least = max(1, min(OF_A_CLASS, most // (2 * n_classes)))
    quota = np.minimum(of_class, np.maximum(np.round(share * of_class).astype(np.intp), least))
    shuffled = np.random.default_rng(0).permutation(some)
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
    begin = np.cumsum(of_class) - of_class
    taken = [by_class[b : b + q] for b, q in zip(begin, quota, strict=True)]
    rows = np.sort(np.concatenate(taken))
    stands = share * of_class / np.maximum(quota, 1)
    return rows, weight[rows] * stands[y[rows]]


def fold_of(labels: NDArray[Any], folds: int, seed: int) -> NDArray[np.intp]:
    """A fold for each row, as many rows of each class in every one as can be."""
    order = np.random.default_rng(seed).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    fold = np.empty(len(labels), dtype=np.intp)
    fold[order] = np.arange(len(labels)) % folds
    return fold
