"""Score kinds of a run of columns, each with an offset per class, in nats.

An engine evaluates score kinds and knows no family; a family compiles to a score kind and knows no
engine. Parameters do not hold the class prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Linear", "Lookup", "Parameters", "Quadratic", "Unseen"]

Array = NDArray[np.float64]
Unseen = Literal["smooth", "ignore", "error"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Lookup:
    """score_c(x) = offset_c + Σ_j table[c, start_j + x_j], x_j a level code.

    Parameters
    ----------
    table : float64 array (n_classes, entries)
        Log-probabilities. Column j has the entries ``start[j] … start[j+1]−1``: one for each level,
        and a last one that serves every code beyond them.
    start : int64 array (n_features + 1,)
    offset : float64 array (n_classes,)
    unseen : {"smooth", "ignore", "error"}
        Whether a code beyond the levels is an error; the last entries hold the other two.
    """

    table: Array
    start: NDArray[np.int64]
    offset: Array
    unseen: Unseen = "smooth"


@dataclass(frozen=True, eq=False, kw_only=True)
class Linear:
    """score_c(x) = offset_c + Σ_j weights[c, j]·x_j; x_j = 0 contributes 0, whatever the weight.

    Parameters
    ----------
    weights : float64 array (n_classes, n_features)
        Finite, or −inf.
    offset : float64 array (n_classes,)
    threshold : float, optional
        x_j is read as [x_j > threshold].
    non_negative : bool
        Negative values are refused.
    required : bool array (n_classes, n_features), optional
        Features that must be present: a row without one scores −inf in that class.
    """

    weights: Array
    offset: Array
    threshold: float | None = None
    non_negative: bool = False
    required: NDArray[np.bool_] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Quadratic:
    """score_c(x) = offset_c − Σ_j ((x_j − mean[c, j])·scale[c, j])².

    Parameters
    ----------
    mean, scale : float64 arrays (n_classes, n_features)
    offset : float64 array (n_classes,)
    """

    mean: Array
    scale: Array
    offset: Array


Parameters = Lookup | Linear | Quadratic
