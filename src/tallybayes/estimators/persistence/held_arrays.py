"""The arrays of a weighting in a model file, each checked as it is taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.persistence import Check, array, need, whole
from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.pairs import PairCells

__all__ = ["MAX_WEIGHT", "PREFIX", "Arrays", "HeldArrays", "pair_cells"]

Arrays = dict[str, NDArray[Any]]

PREFIX = "weighting."  # of the names of its arrays
MAX_WEIGHT = 1e100
"""Weights, offsets and counts of a weighting beyond this are damage; products stay finite."""
FINITE = float(np.finfo(np.float64).max)


class HeldArrays:
    """The arrays of a weighting, each checked as it is taken."""

    def __init__(self, arrays: Arrays, prefix: str = PREFIX) -> None:
        self.prefix = prefix
        self._arrays = {
            k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)
        }

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def take(self, name: str, *shape: int, minimum: float = -MAX_WEIGHT) -> NDArray[Any]:
        """Float64 of this shape, within what exponentials and products bear."""
        return self._checked(array("f8", *shape, minimum=minimum, maximum=MAX_WEIGHT), name)

    def edges(self, name: str) -> NDArray[Any]:
        """Edges of cells: any finite numbers that ascend, as those of the column are only
        compared with them."""
        edges = self._checked(array("f8", -1, minimum=-FINITE, maximum=FINITE), name)
        need(bool((edges[1:] > edges[:-1]).all()), f"{self.prefix}{name} ascends")
        return edges

    def cells(self, name: str, n_cells: int, size: int) -> NDArray[Any]:
        """int32 (n_cells,): of each cell, a coarser one below `size`."""
        return self._checked(array("i4", n_cells, minimum=0, maximum=size - 1), name)

    def _checked(self, check: Check, name: str) -> NDArray[Any]:
        need(name in self._arrays, f"the file lacks {self.prefix}{name}")
        return check(self._arrays[name], f"{self.prefix}{name}")  # type: ignore[no-any-return]


def pair_cells(
    held: HeldArrays,
    i: int,
    columns: list[ColumnCells],
    first: Any,
    second: Any,
    sizes: Sequence[Any],
) -> PairCells:
    """Two columns and their cells."""
    where, (rows, cols) = f"{held.prefix}pairs[{i}]", sizes
    for column in (first, second):
        whole(0, len(columns) - 1)(column, where)
    need(first != second, f"{where} is of two columns")
    a, b = columns[first].n_cells, columns[second].n_cells
    whole(1, a)(rows, where), whole(1, b)(cols, where)
    maps = held.cells(f"first{i}", a, rows), held.cells(f"second{i}", b, cols)
    return PairCells(first, second, maps, (rows, cols))
