"""Columns and pairs of columns as sums of smooth functions of their cells.

A number is described by its rank r in [0, 1], the share of the rows below the middle of its cell:
a straight line, and linear B-splines ("hat functions") over 4 knots of equal distance.
With a ridge penalty on their coefficients, neighbouring cells share what they learn, and a
straight line costs least (P. H. C. Eilers and B. D. Marx, Flexible smoothing with B-splines and
penalties, Statistical Science 11, 1996). A pair has the products of the functions of both columns,
over 4 knots. Levels and the missing value have a function each, and so has each number of few.

A function is known by its value in each cell, so a sum of functions is a table of cells. The
functions depend on the values of all rows, and on no label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tallybayes.weighted.cells.columns import ColumnCells, coarse
from tallybayes.weighted.terms.pair_terms import PairCells

__all__ = ["Functions", "column_functions", "linear_splines", "pair_functions", "ranks"]

Array = NDArray[np.float64]

KNOTS = 4  # of the splines of a number; fewer numbers have a function each
PAIR_CELLS = 16  # of a number in a pair, in which its splines are evaluated
PAIR_SCALE = 0.5  # of the functions of a pair: their ridge is four times that of columns
UNIT_VARIANCE = 3.0**0.5  # times 2r − 1, with r uniform: a line of variance 1


@dataclass(frozen=True, eq=False)
class Functions:
    """Basis functions of the cells of a term.

    Parameters
    ----------
    values : sparse array (n_cells, n_functions)
        Each function in each cell.
    """

    values: sparse.csr_array


def ranks(weight: Array) -> Array:
    """The rank of each cell of a number, float64 (n_cells,): the share of the weight that lies in
    lower cells and in half of its own; equally spaced where nothing weighs anything."""
    total = weight.sum()
    if total <= 0.0:
        weight, total = np.ones(len(weight)), float(len(weight))
    found: Array = (np.cumsum(weight) - 0.5 * weight) / total
    return found


def linear_splines(rank: Array, n_knots: int) -> sparse.csr_array:
    """Linear B-splines over knots of equal distance in [0, 1], (n_cells, n_knots): each is 1 at its
    knot, 0 at all others and linear between; they sum to 1.

    Parameters
    ----------
    rank : float64 array (n_cells,)
        In [0, 1].
    n_knots : int
        At least 2.
    """
    place = rank * (n_knots - 1)
    below = np.clip(np.floor(place).astype(np.intp), 0, n_knots - 2)
    share, cell = place - below, np.arange(len(rank))
    entries = np.concatenate([1.0 - share, share])
    at = np.tile(cell, 2), np.concatenate([below, below + 1])
    return sparse.csr_array((entries, at), shape=(len(rank), n_knots))


def column_functions(column: ColumnCells) -> Functions:
    """The functions of a column by itself.

    Parameters
    ----------
    column : ColumnCells
        With the counts of all rows.
    """
    n_numbers, n_cells = column.n_numbers, column.n_cells
    if n_numbers < 3:
        return Functions(sparse.csr_array(sparse.identity(n_cells)))
    rank = ranks(column.counts[:n_numbers].sum(axis=1))
    line = sparse.csr_array(UNIT_VARIANCE * (2.0 * rank - 1.0)[:, None])
    of_numbers = sparse.hstack([line, _curves(rank)])
    others = sparse.identity(n_cells - n_numbers)
    return Functions(sparse.csr_array(sparse.block_diag([of_numbers, others])))


def _curves(rank: Array) -> sparse.csr_array:
    """Splines of numbers, or a function for each of few."""
    if len(rank) <= KNOTS:
        return sparse.csr_array(sparse.identity(len(rank)))
    return linear_splines(rank, KNOTS)


def pair_functions(
    columns: list[ColumnCells], first: int, second: int
) -> tuple[PairCells, Functions]:
    """Two columns in the cells in which their functions are evaluated, and the functions of both.

    Parameters
    ----------
    columns : list of ColumnCells
        With the counts of all rows.
    first, second : int
        Places in `columns`.
    """
    (one, of_one), (other, of_other) = (_in_pair(columns[j]) for j in (first, second))
    sizes = of_one.shape[0], of_other.shape[0]
    values = PAIR_SCALE * sparse.kron(of_one, of_other)
    return PairCells(first, second, (one, other), sizes), Functions(sparse.csr_array(values))


def _in_pair(column: ColumnCells) -> tuple[NDArray[np.int32], sparse.csr_array]:
    """The coarser cell of each cell of a column in pairs, and its functions of these."""
    label = coarse(column, PAIR_CELLS)
    n_cells, of_numbers = int(label.max()) + 1, label[: column.n_numbers]
    n_numbers = int(of_numbers.max(initial=-1)) + 1
    weight = np.zeros(n_numbers)
    np.add.at(weight, of_numbers, column.counts[: column.n_numbers].sum(axis=1))
    others = sparse.identity(n_cells - n_numbers)
    return label, sparse.csr_array(sparse.block_diag([_curves(ranks(weight)), others]))
