"""Leave-one-out score kinds: what a row's own class says of it after the row is taken out.

A family compiles to one of them. The tables have a row for each class, or a single one for all
classes together, which serves a class that has nothing left. Pseudo-counts are in the tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.parameters.columns import Cells

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
    """Σ_j x_j·[log(part[c, j] − w·x_j) − log(whole[c] − w·Σx)], w the weight of the row.

    Parameters
    ----------
    part : float64 array (n_classes, n_features)
    whole : float64 array (n_classes,)
    counted : float64 array (n_classes,)
        `whole` without pseudo-counts.
    """

    part: Array
    whole: Array
    counted: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class PresenceWithout:
    """Σ_j log(present[c, j] − w) over present features, Σ_j log(absent[c, j] − w) over the others,
    and −n_features·log(whole[c] − w).

    Parameters
    ----------
    present, absent : float64 arrays (n_classes, n_features)
    whole : float64 array (n_classes, n_features)
    counted : float64 array (n_classes,)
        Rows, or weight.
    threshold : float
        x_j is present where it is above.
    """

    present: Array
    absent: Array
    whole: Array
    counted: Array
    threshold: float


@dataclass(frozen=True, eq=False, kw_only=True)
class ComplementWithout:
    """−Σ_j x_j·u_j in the classes that a row is not of, u_j = log(part[c, j] − w·x_j) −
    log(whole[c] − w·Σx), divided by −Σ_j u_j over all features with `norm`.

    Parameters
    ----------
    part : float64 array (n_classes, n_features)
        Of the complement of each class.
    whole : float64 array (n_classes,)
    norm : bool
    """

    part: Array
    whole: Array
    norm: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class MomentsWithout:
    """A Gaussian log-density whose mean and variance are those of the other rows.

    Parameters
    ----------
    n : float64 array (n_classes,)
    mean, squares : float64 arrays (n_classes, n_features)
        Of each class; squares about the mean.
    everyone : tuple of float64 arrays (1,), (n_features,), (n_features,)
        n, mean and squares of all classes together.
    var_smoothing : float
        Share of the largest variance of all classes together that is added to every variance.
    exact : callable (x, own, weight) -> float64 array (n_rows, n_classes)
        The score in every class, of dense rows (n_rows, n_features): whatever the counts are.
    """

    n: Array
    mean: Array
    squares: Array
    everyone: tuple[Array, Array, Array]
    var_smoothing: float
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
