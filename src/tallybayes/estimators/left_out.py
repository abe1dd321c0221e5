"""Predictions of learned rows by models that have not seen them."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.models.weighting import Figures

__all__ = ["LeftOut"]

Array = NDArray[np.float64]


class LeftOut(NamedTuple):
    """How a model predicts rows that it has learned, each left out.

    Parameters
    ----------
    rows : index array (n_rows,)
        Ascending places among the rows that were given.
    log_proba : float64 array (n_rows, n_classes)
    weight : float64 array (n_rows,)
    how : {"whole", "folds", "counts"}
        Left out of the whole fit; by cross-validation, which repeats every choice; or of the counts
        alone, one by one.
    figures : Figures, optional
        What the fit states of these rows, where it does.
    """

    rows: NDArray[np.intp]
    log_proba: Array
    weight: Array
    how: Literal["whole", "folds", "counts"]
    figures: Figures | None = None
