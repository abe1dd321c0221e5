"""Effective numbers of rows: how many rows of one weight carry as much information as the weighted
rows do.

A weight is a unit of counts, and a common factor on all weights does not change how many rows
there are. Whatever is compared with a number of rows, or with nats that rows gain, is therefore
compared in effective rows.

References
----------
.. [1] L. Kish, *Survey Sampling*, Wiley, 1965, section 11.7: the design effect of unequal weights,
   1 + cv²(w) = n Σw² / (Σw)², by which n rows are worth n_eff = (Σw)² / Σw².
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["UNIT_ROWS", "RowWeights", "effective_row_weight", "effective_rows"]

Array = NDArray[np.float64]


class RowWeights(NamedTuple):
    """The weight of one effective row.

    Parameters
    ----------
    by_class : float64 array (n_classes, 1) or (1, 1)
        u_c: the weight taken out of a class for one of its rows, if only counts are known.
    overall : float
        u, all classes together: the unit of what is stated in rows.
    """

    by_class: Array
    overall: float

    @property
    def at_least_one(self) -> float:
        """What multiplies a smoothing that is declared, where the model chose the family: u, where
        that is more than 1. A row of weight 1,000 is then evidence of one row, and rows that
        weigh less, those that decay too, are smoothed as was declared."""
        return max(1.0, self.overall)


UNIT_ROWS = RowWeights(np.ones((1, 1)), 1.0)
"""Rows of weight 1."""


def effective_row_weight(count: Array, squared_weights: Array) -> Array:
    """u = Σw² / Σw, the weight of one effective row: the mean weight of a row, met by weight.

    Parameters
    ----------
    count : float64 array
        Σw, in units of weight.
    squared_weights : float64 array of the same shape
        Σw².

    Returns
    -------
    float64 array of the same shape
        Above 0 and finite. Rows of weight w have u = w. No row weighs more than all rows together,
        so u ≤ Σw. Where nothing was counted, or the squares left the range of float64, u is 1.
    """
    known = (count > 0.0) & (squared_weights > 0.0) & np.isfinite(squared_weights)
    weight = np.ones_like(count)
    np.divide(squared_weights, count, out=weight, where=known)
    usable = known & (weight > 0.0)
    return np.where(usable, np.minimum(weight, count), 1.0)


def effective_rows(count: Array, squared_weights: Array) -> Array:
    """n_eff = (Σw)² / Σw² [1]_, Kish's effective number of rows.

    Parameters
    ----------
    count, squared_weights : float64 arrays of one shape
        As in :func:`effective_row_weight`.

    Returns
    -------
    float64 array of the same shape
        In rows, 0 where nothing was counted; n rows of one weight are n effective rows.
    """
    return np.maximum(count, 0.0) / effective_row_weight(count, squared_weights)
