"""Densities of one number that are not quadratic, as formulas that a page evaluates.

Of a number x, with g(x) = x, log x or the transform of Yeo and Johnson:

    Gaussian    constant − ((g − mean)·scale)² + log g'(x)
    Student-t   constant − half·log(1 + ((g − mean)·scale)²) + log g'(x)
    counts      log Γ(r + x) − log Γ(r) − log Γ(x + 1) + x log(m / (r + m)) − r log(1 + m/r)

and, where classes share some rows, the mixture of :mod:`tallybayes.families.numeric.pooled`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.contract.class_statistics import TINY, log_density
from tallybayes.families.counts.negative_binomial import NegativeBinomialDensity
from tallybayes.families.counts.pooled_counts import PooledCounts
from tallybayes.families.numeric.gaussian_density import GaussianDensity
from tallybayes.families.numeric.pooled import Pooled
from tallybayes.reporting.form.encoding import exact

__all__ = ["LawTerm", "law_of"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LawTerm:
    """Of a number, one of the laws above; and ``beside[entry]``.

    Parameters
    ----------
    columns : tuple of int
    density : Any
        log p(x | c) as Python computes it.
    law : dict
        The same as JSON.
    beside : float64 array (n_kinds, n_classes)
    """

    columns: tuple[int, ...]
    density: Any
    law: dict[str, Any]
    beside: Array

    @property
    def size(self) -> int:
        return 8 * int(self.beside.shape[1]) + int(self.beside.size)

    def of_numbers(self, x: Array) -> Array:
        """What numbers add without ``beside``, float64 (n, n_classes)."""
        return np.asarray(self.density.log_density(x))

    def document(self) -> dict[str, Any]:
        return {
            "kind": "law",
            "columns": list(self.columns),
            **self.law,
            "beside": exact(self.beside),
        }


def law_of(density: Any) -> dict[str, Any] | None:
    """A density as JSON; None for one that is none of these laws."""
    if isinstance(density, Pooled):
        inner = law_of(density.density)
        atoms, own = density.atoms, density.density.own.n
        with np.errstate(divide="ignore"):
            mixture = {
                "low": exact(atoms.low),
                "high": exact(atoms.high),
                "atoms": exact(np.log(atoms.counts.T)),
                "rest": exact(np.log(own)),
            }
        return None if inner is None else {**inner, "pooled": mixture | _shared(density)}
    if isinstance(density, PooledCounts):
        none = exact(np.zeros(0))
        with np.errstate(divide="ignore"):
            rest = exact(np.log(density.n))
        mixture = {"low": none, "high": none, "atoms": none, "rest": rest}
        inner = law_of(density.density)
        return None if inner is None else {**inner, "pooled": mixture | _shared(density)}
    if isinstance(density, NegativeBinomialDensity):
        mean, size = density._parameters
        return {"law": "counts", "mean": exact(mean), "size": exact(size)}
    if isinstance(density, GaussianDensity):
        return _gaussian(density)
    return None


def _shared(density: Pooled | PooledCounts) -> dict[str, Any]:
    """How many rows of all classes each class has besides its own."""
    n = density.n
    share = density.rows / max(float(n.sum()), TINY * max(density.rows, 1.0))
    return {"shift": exact(np.log(n + density.rows)), "share": float(share)}


def _gaussian(density: GaussianDensity) -> dict[str, Any]:
    centre, variance, freedom = density.predictive
    found: dict[str, Any] = {
        "law": "gaussian",
        "constant": exact(log_density(centre, density.predictive)),
        "mean": exact(centre),
        "scale": exact(np.sqrt(0.5 / variance)),
    }
    if freedom is not None:
        found["law"] = "student"
        found["scale"] = exact(np.sqrt(1.0 / (freedom * variance)))
        found["half"] = exact(0.5 * (freedom + 1.0))
    if density.transform is not None:
        kind, exponent = density.transform.kind, density.transform.exponent
        found["transform"] = {"kind": kind, "exponent": exponent}
    return found
