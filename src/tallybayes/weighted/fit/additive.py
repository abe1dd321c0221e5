"""An additive model of cells: its terms, the same for all parts of the rows, and its coefficients,
fitted to a part under one ridge after the other.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tallybayes.weighted.cells.columns import ColumnCells
from tallybayes.weighted.fit.cell_offsets import (
    OF_LOSS,
    CorrectedCells,
    CorrectedRows,
    added,
    solved,
)
from tallybayes.weighted.fit.parts import Part
from tallybayes.weighted.rows import LearningRows
from tallybayes.weighted.terms.pair_terms import PairCells, SmoothPair
from tallybayes.weighted.terms.smooth_tables import SmoothTables
from tallybayes.weighted.terms.splines import (
    Functions,
    column_functions,
    pair_functions,
    stacked,
)

__all__ = ["SmoothPath", "SmoothRows", "SmoothTerms"]

Array = NDArray[np.float64]
Cells = NDArray[np.int32]
Index = NDArray[np.intp]


class SmoothTerms:
    """The terms of an additive model, the same for all parts.

    Parameters
    ----------
    columns : list of ColumnCells
        With the counts of all rows.
    rows : LearningRows
        All rows.
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
        rows: LearningRows,
        without: Collection[int] = (),
        rare: Collection[int] = (),
        *,
        pairs: bool,
    ) -> None:
        self.rare = np.array(sorted(rare), dtype=np.intp)
        self.sizes = [column.n_cells for column in columns]
        self.used = [j for j in range(len(columns)) if j not in without]
        self.pairs: list[PairCells] = []
        functions = [column_functions(columns[j]) for j in self.used]
        if pairs:
            found = pair_functions(columns, self.used)
            self.pairs = [pair for pair, _ in found]
            functions += [of_pair for _, of_pair in found]
        self.cells = _cells(functions, rows.n_classes)
        self.rows, self.functions = rows, functions

    @property
    def feasible(self) -> bool:
        """Whether there is a function, and not too many cells."""
        return self.cells.feasible

    def prepare(self) -> None:
        """Finds the cells of all rows, for all parts together."""
        self.values = stacked(self.functions)
        self.transposed = sparse.csr_array(self.values.T)
        self.codes = self.cells.numbered(self._code, self.rows.cells, np.arange(self.rows.n))

    def _code(self, t: int, cells: Cells) -> Cells:
        n = len(self.used)
        return cells[self.used[t]] if t < n else self.pairs[t - n].codes(cells)

    def tables(self, coefficients: Array) -> Array:
        """What functions with these coefficients (n_functions, n_classes) add to each cell,
        float64 (n_cells, n_classes)."""
        found: Array = self.values @ coefficients
        return found

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


def _cells(functions: list[Functions], n_classes: int) -> CorrectedCells:
    """The cells of terms, numbered one term after the other."""
    maps = [(t, np.arange(f.n_cells, dtype=np.int32)) for t, f in enumerate(functions)]
    return CorrectedCells(maps, n_classes)


class SmoothRows:
    """Rows under coefficients of functions, in place of offsets of cells.

    Parameters
    ----------
    terms : SmoothTerms
    rows : CorrectedRows
        With the cells of all terms.
    """

    def __init__(self, terms: SmoothTerms, rows: CorrectedRows) -> None:
        self.terms, self.rows = terms, rows
        self.shape = terms.values.shape[1], rows.shape[1]

    def loss(self, q: Array) -> tuple[float, Array]:
        """Log-loss under coefficients q (n_functions, n_classes), and its gradient."""
        loss, gradient = self.rows.loss(self.terms.tables(q))
        gradient[:, self.terms.rare] = 0.0
        return loss, self.terms.transposed @ gradient

    def curvature(self) -> Array:
        """About the diagonal of the Hessian in q, at q = 0: without what functions of one term
        share."""
        functions = self.terms.transposed
        found: Array = functions.multiply(functions) @ self.rows.curvature()
        return found


class SmoothPath:
    """The functions fitted to a part of the rows, under one ridge after the other.

    Parameters
    ----------
    terms : SmoothTerms
    part : Part
    log_p : float64 array (n_classes,)
        Log shares of the classes.
    """

    def __init__(self, terms: SmoothTerms, part: Part, log_p: Array) -> None:
        self.terms, self.log_p = terms, log_p
        self.tested = part.tested
        rows = part.rounds.rows
        index, stands = terms.cells.learning_rows(rows)
        cells, scores = terms.codes[index], np.tile(log_p, (len(index), 1))
        stands = np.where(np.isin(rows.y[index], terms.rare), 0.0, stands)
        own = CorrectedRows(cells, scores, rows.y[index], stands, terms.cells.n)
        self._rows = SmoothRows(terms, own)
        self._curvature = self._rows.curvature()
        self.coefficients = np.zeros(self._rows.shape)

    def follow(self, ridge: float) -> Array:
        """The next ridge: scores of the rows left out, (n_left_out, n_classes)."""
        self.coefficients = solved(
            self._rows, self._curvature, ridge, self.coefficients, of_loss=OF_LOSS
        )
        return self.scores(self.coefficients, self.tested)

    def scores(self, coefficients: Array, index: Index) -> Array:
        """S of some rows, float64 (n_some, n_classes)."""
        return self.log_p + added(self.terms.tables(coefficients), self.terms.codes[index])
