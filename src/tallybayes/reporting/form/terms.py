"""The terms of a score: lookups, pairs of lookups, and densities of one number or of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tallybayes.reporting.form.encoding import exact

__all__ = [
    "CellTerm",
    "CurveTerm",
    "DensityTerm",
    "GroupTerm",
    "PairTerm",
    "PooledTerm",
    "QuadraticTerm",
    "Term",
]

Array = NDArray[np.float64]


class Term(Protocol):
    """The contribution of one column, or several, to the score of each class."""

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns by their place among the readers."""

    @property
    def size(self) -> int:
        """How many numbers a page has to hold."""

    def document(self) -> dict[str, Any]:
        """The term as JSON."""


class DensityTerm(Term, Protocol):
    """A term of one number, with the scores of a missing value, a number, and a string."""

    @property
    def beside(self) -> Array:
        """What the kinds of values add, float64 (n_kinds, n_classes)."""

    def of_numbers(self, x: Array) -> Array:
        """What numbers add without ``beside``, float64 (n, n_classes)."""


@dataclass(frozen=True, eq=False)
class CellTerm:
    """``table[entry]``.

    Parameters
    ----------
    columns : tuple of int
    table : float64 array (n_entries, n_classes)
    """

    columns: tuple[int, ...]
    table: Array

    @property
    def size(self) -> int:
        return self.table.size

    def of_entries(self, entries: NDArray[np.intp]) -> Array:
        """What entries add, float64 (n, n_classes)."""
        found: Array = np.where((entries >= 0)[:, None], self.table[np.maximum(entries, 0)], 0.0)
        return found

    def document(self) -> dict[str, Any]:
        return {"kind": "cells", "columns": list(self.columns), "table": exact(self.table)}


@dataclass(frozen=True, eq=False)
class PairTerm:
    """``table[first[entry] * width + second[entry']]``; nothing where one of them is −1.

    Parameters
    ----------
    columns : (int, int)
    maps : two integer arrays
        The coarser cell of each entry of a column.
    sizes : (int, int)
    table : float64 array (sizes[0]·sizes[1], n_classes)
    labels : two lists of str
        The coarser cells in words.
    """

    columns: tuple[int, ...]
    maps: tuple[NDArray[Any], NDArray[Any]]
    sizes: tuple[int, int]
    table: Array
    labels: tuple[list[str], list[str]]

    @property
    def size(self) -> int:
        return self.table.size

    def document(self) -> dict[str, Any]:
        return {
            "kind": "pair",
            "columns": list(self.columns),
            "maps": [codes.tolist() for codes in self.maps],
            "sizes": list(self.sizes),
            "table": exact(self.table),
            "labels": [list(words) for words in self.labels],
        }


@dataclass(frozen=True, eq=False)
class QuadraticTerm:
    """For a number ``constant + slope·x − ((x − mean)·scale)²``, where x = 0 has no slope; plus
    ``beside[entry]`` for the kind of the value.

    Parameters
    ----------
    columns : tuple of int
    constant, slope, mean, scale : float64 arrays (n_classes,)
    beside : float64 array (n_kinds, n_classes)
        A missing value, a number, and the strings beside numbers.
    """

    columns: tuple[int, ...]
    constant: Array
    slope: Array
    mean: Array
    scale: Array
    beside: Array

    @property
    def size(self) -> int:
        return 4 * len(self.constant) + self.beside.size

    def of_numbers(self, x: Array) -> Array:
        """What numbers add without ``beside``, float64 (n, n_classes)."""
        with np.errstate(invalid="ignore"):  # 0 · −inf
            slope = np.where(x[:, None] == 0.0, 0.0, x[:, None] * self.slope)
        found: Array = self.constant + slope - ((x[:, None] - self.mean) * self.scale) ** 2
        return found

    def document(self) -> dict[str, Any]:
        named = {name: exact(getattr(self, name)) for name in ("constant", "slope", "mean")}
        more = {"scale": exact(self.scale), "beside": exact(self.beside)}
        return {"kind": "quadratic", "columns": list(self.columns), **named, **more}


@dataclass(frozen=True, eq=False)
class PooledTerm:
    """Of a number: :class:`tallybayes.parameters.PooledTerms`; and ``beside[entry]``."""

    columns: tuple[int, ...]
    terms: Any
    beside: Array

    @property
    def size(self) -> int:
        size: int = 4 * len(self.terms.mean) + self.terms.atoms.size + self.beside.size
        return size

    def of_numbers(self, x: Array) -> Array:
        """What numbers add without ``beside``, float64 (n, n_classes)."""
        t = self.terms
        log_m = t.constant - ((x[:, None] - t.mean) * t.scale) ** 2
        for low, high, atom in zip(t.low, t.high, t.atoms, strict=True):
            log_m[(x >= low) & (x < high)] = atom
        with np.errstate(divide="ignore"):
            m = np.exp(log_m)
            found: Array = np.log(m + t.share * m.sum(axis=1, keepdims=True)) - t.shift
        found[~(m > 0.0).any(axis=1)] = 0.0
        return found

    def document(self) -> dict[str, Any]:
        arrays = {name: exact(np.asarray(value)) for name, value in self.terms._asdict().items()}
        return {
            "kind": "pooled",
            "columns": list(self.columns),
            **arrays,
            "share": float(self.terms.share),
            "beside": exact(self.beside),
        }


@dataclass(frozen=True, eq=False)
class CurveTerm:
    """Of a number: a density without a closed form in the page, interpolated between points.

    Parameters
    ----------
    columns : tuple of int
    at : float64 array (n_points,)
        Ascending.
    values : float64 array (n_points, n_classes)
    beside : float64 array (n_kinds, n_classes)
    """

    columns: tuple[int, ...]
    at: Array
    values: Array
    beside: Array

    @property
    def size(self) -> int:
        return self.at.size + self.values.size + self.beside.size

    def of_numbers(self, x: Array) -> Array:
        """What numbers add without ``beside``, float64 (n, n_classes)."""
        return np.stack([np.interp(x, self.at, of_class) for of_class in self.values.T], axis=1)

    def document(self) -> dict[str, Any]:
        named = {name: exact(getattr(self, name)) for name in ("at", "values", "beside")}
        return {"kind": "curve", "columns": list(self.columns), **named}


@dataclass(frozen=True, eq=False)
class GroupTerm:
    """Of several numbers: :class:`tallybayes.parameters.TriangularTerms`, for each subset of the
    columns that a row may have only while it has all of them.

    Parameters
    ----------
    columns : tuple of int
    terms : TriangularTerms
    """

    columns: tuple[int, ...]
    terms: Any

    @property
    def size(self) -> int:
        size: int = self.terms.rotation.size + 2 * self.terms.mean.size
        return size

    def document(self) -> dict[str, Any]:
        freedom = self.terms.freedom
        return {
            "kind": "group",
            "columns": list(self.columns),
            "mean": exact(self.terms.mean),
            "rotation": exact(self.terms.rotation),
            "constant": exact(self.terms.constant),
            "freedom": None if freedom is None else exact(freedom),
        }
