"""Rows under offsets of their cells, or under functions of their cells, and where their
ridge-penalised loss is least."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.threads import get_num_threads

__all__ = ["CellFunctions", "CorrectedRows", "added", "solved"]

Array = NDArray[np.float64]
Cells = NDArray[np.int32]

MAX_STEPS = 40
TOLERANCE = 0.1  # nats: what the last step may gain


class CorrectedRows:
    """Rows whose cells are corrected.

    Parameters
    ----------
    cells : int32 array (n_rows, n_terms)
        Numbered over all terms; −1 for none.
    scores : float64 array (n_rows, n_classes)
    y : int32 array (n_rows,)
    weight : float64 array (n_rows,)
    n_cells : int
    """

    cells: Cells
    scores: Array
    y: Cells
    weight: Array

    def __init__(self, cells: Cells, scores: Array, y: Cells, weight: Array, n_cells: int) -> None:
        self.cells, self.scores, self.y, self.weight = cells, scores, y, weight
        self.shape: tuple[int, int] = n_cells, scores.shape[1]

    def only(self, rows: NDArray[np.bool_]) -> CorrectedRows:
        """The same where other rows weigh nothing."""
        weight = np.where(rows, self.weight, 0.0)
        return CorrectedRows(self.cells, self.scores, self.y, weight, self.shape[0])

    def loss(self, q: Array) -> tuple[float, Array]:
        """Log-loss under corrections q (n_cells, n_classes), and its gradient."""
        gradient = np.zeros(self.shape)
        loss = _kernels.correction_gradient(
            self.cells, self.scores, self.y, self.weight, q, gradient, get_num_threads()
        )
        return loss, gradient

    def curvature(self) -> Array:
        """The diagonal of the Hessian in q, at q = 0."""
        diagonal = np.zeros(self.shape)
        _kernels.correction_curvature(
            self.cells, self.scores, self.weight, diagonal, get_num_threads()
        )
        return diagonal


class CellFunctions(NamedTuple):
    """Functions of cells, by their values other than 0, cell by cell.

    Parameters
    ----------
    start : int64 array (n_cells + 1,)
        The first value of each cell, and the number of all.
    function : int64 array (n_values,)
    value : float64 array (n_values,)
    """

    start: NDArray[np.int64]
    function: NDArray[np.int64]
    value: Array


NO_FUNCTIONS = CellFunctions(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def solved(
    rows: CorrectedRows,
    curvature: Array,
    ridge: float,
    start: Array,
    steps: int = MAX_STEPS,
    of_loss: float = 0.0,
    functions: CellFunctions = NO_FUNCTIONS,
) -> Array:
    """q of the least ridge-penalised loss, from where it starts, by at most so many steps, until
    the next gains less than a share of the loss (or 0.1 nats).

    Parameters
    ----------
    rows : CorrectedRows
    curvature : float64 array, like q
        About the diagonal of the Hessian without the ridge; what it is infinite for stays as it is.
    ridge : float
    start : float64 array, like q
    steps : int
    of_loss : float
    functions : CellFunctions, optional
        If given, q are their coefficients (n_functions, n_classes), else the offsets of the cells
        (n_cells, n_classes).
    """
    q = np.array(start, dtype=np.float64, order="C")
    _kernels.ridge_descent(
        rows.cells,
        rows.scores,
        rows.y,
        rows.weight,
        *functions,
        curvature,
        ridge,
        q,
        steps,
        TOLERANCE,
        of_loss,
        get_num_threads(),
    )
    return q


def added(q: Array, cells: Cells) -> Array:
    """What corrections add to rows, (n_rows, n_classes)."""
    added = np.empty((len(cells), q.shape[1]))
    _kernels.corrections_added(cells, np.ascontiguousarray(q), added, get_num_threads())
    return added
