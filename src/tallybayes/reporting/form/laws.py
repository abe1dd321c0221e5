"""Densities of one number that are not quadratic, as formulas that a page evaluates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.parameters.formula import NumberLaw
from tallybayes.reporting.form.encoding import exact

__all__ = ["LawTerm"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LawTerm:
    """Of a number, a :class:`tallybayes.parameters.formula.NumberLaw`; and ``beside[entry]``.

    Parameters
    ----------
    columns : tuple of int
    density : Any
        log p(x | c) as Python computes it.
    law : NumberLaw
        The same as a formula.
    beside : float64 array (n_kinds, n_classes)
    """

    columns: tuple[int, ...]
    density: Any
    law: NumberLaw
    beside: Array

    @property
    def size(self) -> int:
        return 8 * int(self.beside.shape[1]) + int(self.beside.size)

    def of_numbers(self, x: Array) -> Array:
        """What numbers add without ``beside``, float64 (n, n_classes)."""
        return np.asarray(self.density.log_density(x))

    def document(self) -> dict[str, Any]:
        law = self.law
        found: dict[str, Any] = {
            "kind": "law",
            "columns": list(self.columns),
            "law": law.kind,
            "beside": exact(self.beside),
        }
        for name in ("mean", "constant", "scale", "half", "size"):
            values = getattr(law, name)
            if values is not None:
                found[name] = exact(values)
        if law.transform is not None:
            kind, exponent = law.transform
            found["transform"] = {"kind": kind, "exponent": exponent}
        if law.mixture is not None:
            arrays = {name: exact(np.asarray(v)) for name, v in law.mixture._asdict().items()}
            found["pooled"] = arrays | {"share": float(law.mixture.share)}
        return found
