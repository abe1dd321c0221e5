"""Leave-one-out score kinds: the score of each row with the row itself taken out.

A family compiles to one of them. Counts stay as counted; pseudo-counts are separate, one for all
features (1,) or one for each (n_features,), because a small one would be lost in the sum with a
large count. The tables have a row for each class, or a single one for all classes together, which
serves a class that has nothing left. w is the weight of the row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.parameters.columns import Cells
from tallybayes.tally import Moments

__all__ = [
    "CellsWithout",
    "ComplementWithout",
    "MomentsWithout",
    "PresenceWithout",
    "SumsWithout",
    "Without",
]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False, kw_only=True)
class SumsWithout:
    """Σ_j x_j·[log(rest_j) − log(Σ_j rest_j)] in the row's own class c, rest_j = part[c, j] − w·x_j
    + α_j.

    Parameters
    ----------
    part : float64 array (n_classes, n_features)
    alpha : float64 array (1,) or (n_features,)
    """

    part: Array
    alpha: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class PresenceWithout:
    """Σ_j log(present[c, j] − w + yes_j) over present features and Σ_j log(absent[c, j] − w + no_j)
    over the others, less Σ_j log(rows[c] − w + yes_j + no_j), in the row's own class.

    Parameters
    ----------
    present, absent : float64 arrays (n_classes, n_features)
    rows : float64 array (n_classes,)
        Rows, or weight.
    yes, no : float64 arrays (1,) or (n_features,)
    threshold : float
        x_j is present where it is above.
    """

    present: Array
    absent: Array
    rows: Array
    yes: Array
    no: Array
    threshold: float


@dataclass(frozen=True, eq=False, kw_only=True)
class ComplementWithout:
    """−Σ_j x_j·u_j, u_j = log(rest_j) − log(Σ_j rest_j), rest_j = part[c, j] − w·x_j + α_j, in the
    classes that a row is not of, divided by −Σ_j u_j over all features with `norm`. In the row's
    own class, whose complement does not hold the row, w is 0.

    Parameters
    ----------
    part : float64 array (n_classes, n_features)
        What all other classes have.
    everything : float64 array (n_features,)
        What all classes have.
    alpha : float64 array (1,) or (n_features,)
    norm : bool
    """

    part: Array
    everything: Array
    alpha: Array
    norm: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class MomentsWithout:
    """A Gaussian log-density whose mean and variance are those of the other rows.

    Parameters
    ----------
    tally : Moments
        Of each class.
    everyone : Moments
        Of all classes together.
    var_smoothing : float
        Share of a variance of all classes together that is added to every variance.
    each : bool
        Of the column's own variance, not of the largest.
    plain : bool
        Whether mean and variance are those of the rows, as above, and nothing else; otherwise
        only `exact` tells.
    exact : callable (x, own, weight) -> float64 array (n_rows, n_classes)
        The score in every class, of dense rows (n_rows, n_features): whatever the counts are.
    """

    tally: Moments
    everyone: Moments
    var_smoothing: float
    each: bool
    plain: bool
    exact: Callable[[Array, Index, Array], Array]


@dataclass(frozen=True, eq=False, kw_only=True)
class CellsWithout:
    """Each column's cells; see :class:`Cells`.

    Parameters
    ----------
    laws : tuple of Cells
    """

    laws: tuple[Cells, ...]


Without = SumsWithout | PresenceWithout | ComplementWithout | MomentsWithout | CellsWithout
