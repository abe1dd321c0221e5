"""Densities of one number by their formulas, to be evaluated outside Python.

For a number x, with g(x) = x, log x or the transform of Yeo and Johnson:

    gaussian   constant − ((g − mean)·scale)² + log g'(x)
    student    constant − half·log(1 + ((g − mean)·scale)²) + log g'(x)
    counts     log Γ(r + x) − log Γ(r) − log Γ(x + 1) + x log(m / (r + m)) − r log(1 + m/r)

and, where classes share some rows, with this as log f_c(x),

    log p'(x|c) = log(M_c(x) + share·Σ_c M_c(x)) − shift_c,   log M_c(x) = log f_c(x) + rest_c,

log M_c = atoms[a, c] at an atom, low_a ≤ x < high_a, and 0 in every class where all M_c(x) are 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["LawMixture", "NumberLaw"]

Array = NDArray[np.float64]


class LawMixture(NamedTuple):
    """Rows of all classes that each class has besides its own, and atoms.

    Parameters
    ----------
    low, high : float64 arrays (n_atoms,)
    atoms : float64 array (n_atoms, n_classes)
    rest, shift : float64 arrays (n_classes,)
    share : float
    """

    low: Array
    high: Array
    atoms: Array
    rest: Array
    shift: Array
    share: float


@dataclass(frozen=True, eq=False, kw_only=True)
class NumberLaw:
    """A density of one number.

    Parameters
    ----------
    kind : {"gaussian", "student", "counts"}
    mean : float64 array (n_classes,)
    constant, scale, half : float64 arrays (n_classes,), optional
        Of a Gaussian and Student-t; half of Student-t only.
    size : float64 array (n_classes,), optional
        r of counts.
    transform : (str, float), optional
        "log" or "yeo-johnson", and its exponent.
    mixture : LawMixture, optional
    """

    kind: Literal["gaussian", "student", "counts"]
    mean: Array
    constant: Array | None = None
    scale: Array | None = None
    half: Array | None = None
    size: Array | None = None
    transform: tuple[str, float] | None = None
    mixture: LawMixture | None = None
