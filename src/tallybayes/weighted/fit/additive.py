"""An additive model of cells: its terms, the same for all parts of the rows, and its coefficients,
fitted to a part under one ridge after the other.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.cells.columns import ColumnCells
from tallybayes.weighted.fit.cell_offsets import (
    TOLERANCE_OF_LOSS,
    CorrectedCells,
)
from tallybayes.weighted.fit.parts import Part
from tallybayes.weighted.optim.ridge_descent import (
    CellFunctions,
    CorrectedRows,
    added,
    solved,
)
from tallybayes.weighted.rows import LearningRows
from tallybayes.weighted.terms.pair_terms import PairCells, SmoothPair
from tallybayes.weighted.terms.smooth_tables import SmoothTables
from tallybayes.weighted.terms.splines import (
    column_functions,
    pair_functions,
    stacked,
)

__all__ = ["SmoothDesign", "SmoothPath", "SmoothTerms"]

Array = NDArray[np.float64]
Cells = NDArray[np.int32]
Index = NDArray[np.intp]


class SmoothTerms:
    """The terms of an additive model, the same for all parts.

    Parameters
    ----------
    columns : list of ColumnCells
        With the counts of all rows.
    n_classes : int
    without : collection of int
        Columns that have no functions.
    rare : collection of int
        Classes that have no functions, as too few of their rows could be left out to tell.
    pairs : bool
        Whether each two of the other columns have functions, too.
    """

    def __init__(
        self,
        columns: list[ColumnCells],
        n_classes: int,
        without: Collection[int] = (),
        rare: Collection[int] = (),
        *,
        pairs: bool,
    ) -> None:
        self.rare: Index = np.array(sorted(rare), dtype=np.intp)
        self.sizes: list[int] = [column.n_cells for column in columns]
        self.used: list[int] = [j for j in range(len(columns)) if j not in without]
        self.pairs: list[PairCells] = []
        functions = [column_functions(columns[j]) for j in self.used]
        if pairs:
            found = pair_functions(columns, self.used)
            self.pairs = [pair for pair, _ in found]
            functions += [of_pair for _, of_pair in found]
        self.functions = functions
        maps = [(t, np.arange(f.n_cells, dtype=np.int32)) for t, f in enumerate(functions)]
        self.cells: CorrectedCells = CorrectedCells(maps, n_classes)

    @property
    def feasible(self) -> bool:
        """Whether there is a function, and not too many cells."""
        return self.cells.feasible

    def code(self, t: int, cells: Cells) -> Cells:
        """The cell of rows in a term."""
        n = len(self.used)
        return cells[self.used[t]] if t < n else self.pairs[t - n].codes(cells)

    def tables(self, coefficients: Array) -> Array:
        """What functions with these coefficients (n_functions, n_classes) add to each cell,
        float64 (n_cells, n_classes)."""
        return stacked(self.functions).scores(coefficients)

    def smooth_tables(self, tables: Array, offset: Array, share: float) -> SmoothTables:
        """Tables (n_cells, n_classes) by term, centred over classes."""
        tables = tables - tables.mean(axis=1, keepdims=True)
        each, n = np.split(tables, self.cells.starts[1:-1]), len(self.used)
        columns = [np.zeros((size, tables.shape[1])) for size in self.sizes]
        for j, table in zip(self.used, each[:n], strict=True):
            columns[j] = table
        pairs = [
            SmoothPair(pair.first, pair.second, pair.maps, pair.sizes, table)
            for pair, table in zip(self.pairs, each[n:], strict=True)
        ]
        return SmoothTables(share, offset, columns, pairs)


class SmoothDesign:
    """The functions in the cells that rows are in, for all parts together. Most cells of the pairs
    of few rows have none.

    Parameters
    ----------
    terms : SmoothTerms
    rows : LearningRows
        All rows.
    """

    functions: CellFunctions

    def __init__(self, terms: SmoothTerms, rows: LearningRows) -> None:
        cells = terms.cells
        self.terms = terms
        codes = cells.numbered(terms.code, rows.cells, np.arange(rows.n))
        is_held = np.zeros(cells.n + 1, dtype=bool)
        is_held[codes] = True
        is_held[-1] = False  # −1, of a row without a cell
        self.n_cells: int = int(is_held.sum())
        number = np.where(is_held, np.cumsum(is_held) - 1, -1).astype(np.int32)
        self.codes: Cells = number[codes]
        """The cell of each row in each term, among those that hold rows; −1 for none."""
        self.values = values = stacked(terms.functions).in_cells(is_held[:-1])
        start = np.searchsorted(values.cell, np.arange(self.n_cells + 1)).astype(np.int64)
        self.functions = CellFunctions(start, values.function.astype(np.int64), values.value)

    def scores(self, coefficients: Array, index: Index) -> Array:
        """What functions with these coefficients (n_functions, n_classes) add to the scores of some
        rows, float64 (n_some, n_classes)."""
        return added(self.values.scores(coefficients), self.codes[index])

    def curvature(self, of_cells: Array) -> Array:
        """About the diagonal of the Hessian in the coefficients, by that in the cells: without what
        functions of one term share. It is infinite for rare classes, which have no functions.

        Parameters
        ----------
        of_cells : float64 array (n_cells, n_classes)
        """
        found = self.values.of_squares(of_cells)
        found[:, self.terms.rare] = np.inf
        return found


class SmoothPath:
    """The functions fitted to a part of the rows, under one ridge after the other.

    Parameters
    ----------
    design : SmoothDesign
    part : Part
    log_p : float64 array (n_classes,)
        Log shares of the classes.
    """

    design: SmoothDesign
    log_p: Array

    def __init__(self, design: SmoothDesign, part: Part, log_p: Array) -> None:
        self.design, self.log_p = design, log_p
        self.tested: Index = part.tested
        rows, terms = part.rounds.rows, design.terms
        index, stands = terms.cells.learning_rows(rows)
        cells, scores = design.codes[index], np.tile(log_p, (len(index), 1))
        stands = np.where(np.isin(rows.y[index], terms.rare), 0.0, stands)
        self._rows = CorrectedRows(cells, scores, rows.y[index], stands, design.n_cells)
        self._curvature = design.curvature(self._rows.curvature())
        self.coefficients: Array = np.zeros(self._curvature.shape)

    def follow(self, ridge: float) -> Array:
        """The next ridge: scores of the rows left out, (n_left_out, n_classes)."""
        self.coefficients = solved(
            self._rows,
            self._curvature,
            ridge,
            self.coefficients,
            of_loss=TOLERANCE_OF_LOSS,
            functions=self.design.functions,
        )
        return self.scores(self.coefficients, self.tested)

    def scores(self, coefficients: Array, index: Index) -> Array:
        """S of some rows, float64 (n_some, n_classes)."""
        return self.log_p + self.design.scores(coefficients, index)
