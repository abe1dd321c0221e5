"""Columns and pairs of columns as sums of smooth functions of their cells.

A number is described by its rank r in [0, 1], the share of the rows below the middle of its cell:
a straight line, and linear B-splines ("hat functions") over 4 knots of equal distance.
With a ridge penalty on their coefficients, neighbouring cells share what they learn, and a
straight line costs least (P. H. C. Eilers and B. D. Marx, Flexible smoothing with B-splines and
penalties, Statistical Science 11, 1996). A pair has the products of the functions of both columns,
over 4 knots and perhaps over 8 and 16, if one of them is such a number: products of levels are
cells, which the fits of tables have. Levels and the missing value have a function each, and so has
each number of few.

A function is known by its value in each cell, so a sum of functions is a table of cells. The
functions depend on the values of all rows, and on no label.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated

import numpy as np
import scipy
from numpy.typing import NDArray

from tallybayes.persistence import Bounded, Shape, Within
from tallybayes.weighted.cells import ColumnCells, coarse
from tallybayes.weighted.pairs import JointColumns, SmoothPair, moved

__all__ = [
    "Functions",
    "SmoothTables",
    "column_functions",
    "linear_splines",
    "pair_functions",
    "ranks",
    "stacked",
]


Array = NDArray[np.float64]
Index = NDArray[np.intp]

KNOTS = 4  # of the splines of a number; fewer numbers have a function each
PAIR_CELLS, CELLS_PER_KNOT = 16, 2  # of a number in a pair, in which its splines are evaluated
PAIR_SCALE = 0.5**0.5  # of the functions of a pair: their ridge is twice that of columns
UNIT_VARIANCE = 3.0**0.5  # times 2r − 1, with r uniform: a line of variance 1


@dataclass(frozen=True, eq=False)
class Functions:
    """Basis functions of the cells of a term, by their values other than 0.

    Parameters
    ----------
    n_cells, n_functions : int
    cell, function : index arrays (n_values,)
    value : float64 array (n_values,)
    """

    n_cells: int
    n_functions: int
    cell: Index
    function: Index
    value: Array

    @classmethod
    def of_each_cell(cls, n_cells: int) -> Functions:
        """A function of each cell, which is 1 there and 0 elsewhere."""
        each = np.arange(n_cells)
        return cls(n_cells, n_cells, each, each, np.ones(n_cells))

    def beside(self, other: Functions, *, after: bool = False) -> Functions:
        """These and other functions of the same cells, or of cells after them."""
        first = self.n_cells if after else 0
        return Functions(
            first + other.n_cells,
            self.n_functions + other.n_functions,
            np.concatenate([self.cell, first + other.cell]),
            np.concatenate([self.function, self.n_functions + other.function]),
            np.concatenate([self.value, other.value]),
        )

    def times(self, other: Functions) -> Functions:
        """The products of these and other functions, of joint cells."""

        def joint(mine: Index, theirs: Index, width: int) -> Index:
            return (mine[:, None] * width + theirs).ravel()

        return Functions(
            self.n_cells * other.n_cells,
            self.n_functions * other.n_functions,
            joint(self.cell, other.cell, other.n_cells),
            joint(self.function, other.function, other.n_functions),
            np.outer(self.value, other.value).ravel(),
        )


def stacked(terms: list[Functions]) -> scipy.sparse.csr_array:
    """The functions of several terms, each of cells of its own, in their order: each function in
    each cell, float64 (n_cells, n_functions)."""
    cells = np.cumsum([0, *(f.n_cells for f in terms)])
    functions = np.cumsum([0, *(f.n_functions for f in terms)])
    value = np.concatenate([np.zeros(0), *(f.value for f in terms)])
    cell = [start + f.cell for start, f in zip(cells, terms, strict=False)]
    function = [start + f.function for start, f in zip(functions, terms, strict=False)]
    place = np.concatenate([cells[:0], *cell]), np.concatenate([functions[:0], *function])
    return scipy.sparse.csr_array((value, place), shape=(int(cells[-1]), int(functions[-1])))


def ranks(weight: Array) -> Array:
    """The rank of each cell of a number, float64 (n_cells,): the share of the weight that lies in
    lower cells and in half of its own; equally spaced where nothing weighs anything."""
    total = weight.sum()
    if total <= 0.0:
        weight, total = np.ones(len(weight)), float(len(weight))
    found: Array = (np.cumsum(weight) - 0.5 * weight) / total
    return found


def linear_splines(rank: Array, n_knots: int) -> Functions:
    """Linear B-splines over knots of equal distance in [0, 1]: each is 1 at its knot, 0 at all
    others and linear between; they sum to 1.

    Parameters
    ----------
    rank : float64 array (n_cells,)
        In [0, 1].
    n_knots : int
        At least 2.
    """
    place = rank * (n_knots - 1)
    below = np.clip(np.floor(place).astype(np.intp), 0, n_knots - 2)
    share = place - below
    return Functions(
        len(rank),
        n_knots,
        np.tile(np.arange(len(rank)), 2),
        np.concatenate([below, below + 1]),
        np.concatenate([1.0 - share, share]),
    )


def column_functions(column: ColumnCells) -> Functions:
    """The functions of a column by itself.

    Parameters
    ----------
    column : ColumnCells
        With the counts of all rows.
    """
    n_numbers, n_cells = column.n_numbers, column.n_cells
    if n_numbers < 3:
        return Functions.of_each_cell(n_cells)
    rank = ranks(column.counts[:n_numbers].sum(axis=1))
    cell = np.arange(n_numbers)
    line = Functions(n_numbers, 1, cell, np.zeros_like(cell), UNIT_VARIANCE * (2.0 * rank - 1.0))
    others = Functions.of_each_cell(n_cells - n_numbers)
    return line.beside(_curves(rank)).beside(others, after=True)


def _curves(rank: Array, n_knots: int = KNOTS) -> Functions:
    """Splines of numbers, or a function for each of few."""
    if len(rank) <= n_knots:
        return Functions.of_each_cell(len(rank))
    return linear_splines(rank, n_knots)


def pair_functions(
    columns: list[ColumnCells], used: list[int], finest: int = KNOTS
) -> list[tuple[JointColumns, Functions]]:
    """Each two of some columns, a number among them, in the cells in which their functions are
    evaluated, and the functions of both.

    Parameters
    ----------
    columns : list of ColumnCells
        With the counts of all rows.
    used : list of int
        Places in `columns`.
    finest : int
        Knots of the finest splines: 4, or 4 times a power of two. Those of 4 knots, and all between
        them and the finest, are there, too: what several cells share costs less than what each
        has for itself.
    """
    knots = [KNOTS]
    while knots[-1] < finest:
        knots.append(2 * knots[-1])
    sides = [(j, *_in_pair(columns[j], knots)) for j in used]
    found = []
    for (i, one, of_one), (j, other, of_other) in combinations(sides, 2):
        if max(columns[i].n_numbers, columns[j].n_numbers) <= KNOTS:
            continue
        pair = JointColumns((i, j), (one, other), (of_one[0].n_cells, of_other[0].n_cells))
        both = of_one[0].times(of_other[0])
        for mine, theirs in zip(of_one[1:], of_other[1:], strict=True):
            both = both.beside(mine.times(theirs))
        found.append((pair, replace(both, value=PAIR_SCALE * both.value)))
    return found


def _in_pair(column: ColumnCells, knots: list[int]) -> tuple[NDArray[np.int32], list[Functions]]:
    """The coarser cell of each cell of a column in pairs, and its functions of these, for each
    number of knots."""
    label = coarse(column, max(PAIR_CELLS, CELLS_PER_KNOT * knots[-1]))
    of_numbers = label[: column.n_numbers]
    n_cells, n_numbers = int(label.max()) + 1, int(of_numbers.max(initial=-1)) + 1
    weight = np.zeros(n_numbers)
    np.add.at(weight, of_numbers, column.counts[: column.n_numbers].sum(axis=1))
    rank, others = ranks(weight), Functions.of_each_cell(n_cells - n_numbers)
    return label, [_curves(rank, n).beside(others, after=True) for n in knots]


# ---- the smooth functions of a weighted model, as tables of cells --------------------------------
@dataclass(frozen=True, eq=False)
class SmoothTables:
    """The smooth functions of columns and pairs, and how much they count.

    Parameters
    ----------
    share : float
        Their share of the model, in [0, 1); the fits have the rest. It is part of the tables.
    offset : float64 array (n_classes,)
        Their share of the class offsets, in nats.
    columns : list of float64 arrays (n_cells, n_classes)
        What each column adds, in nats, centred over classes.
    pairs : list of SmoothPair
        The same of pairs; each two columns at most once.
    """

    share: Annotated[float, Within(0.0, below=1.0)]
    offset: Annotated[Array, Shape("n_classes"), Bounded]
    columns: list[Annotated[Array, Shape(None, "n_classes"), Bounded]]
    pairs: list[SmoothPair]

    def among(self, sizes: list[int], kept: list[int]) -> SmoothTables:
        """The same beside columns that add nothing.

        Parameters
        ----------
        sizes : list of int
            The cells of all columns.
        kept : list of int
            Where its own are among them.
        """
        columns = [np.zeros((size, len(self.offset))) for size in sizes]
        for j, table in zip(kept, self.columns, strict=True):
            columns[j] = table
        pairs = [moved(pair, kept) for pair in self.pairs]
        return replace(self, columns=columns, pairs=pairs)
