"""Scoring with a weighted model: the class offsets, and a table for each column and pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _kernels
from tallybayes.engines.threads import get_num_threads
from tallybayes.parameters import Term
from tallybayes.parameters.formula_cells import PairedCells
from tallybayes.parameters.formula_terms import CellTable
from tallybayes.tables import Empty, Table
from tallybayes.weighted.cells.columns import ColumnCells
from tallybayes.weighted.terms.pair_terms import PairCells

__all__ = ["WeightedScore"]

Array = NDArray[np.float64]
Cells = NDArray[np.int32]


class WeightedScore:
    """The score of a table's rows: one look-up a term and class.

    Parameters
    ----------
    columns : list of ColumnCells
    pairs : list of PairCells
        Of columns by their place in `columns`.
    tables : list of float64 arrays (n_cells, n_classes)
        Of the columns, then of the pairs, in nats.
    offset : float64 array (n_classes,)
    """

    columns: list[ColumnCells]
    pairs: Sequence[PairCells]
    tables: list[Array]

    def __init__(
        self,
        columns: list[ColumnCells],
        pairs: Sequence[PairCells],
        tables: list[Array],
        offset: Array,
    ) -> None:
        self.columns, self.pairs, self.tables = columns, pairs, tables
        self.offset: Array = np.ascontiguousarray(offset)
        self.fallback: int = int(np.argmax(offset))
        self.speaking: list[int] = [t for t, table in enumerate(tables) if table.any()]
        read: set[int] = set()
        for t in self.speaking:
            pair = None if t < len(columns) else pairs[t - len(columns)]
            read |= {t} if pair is None else {pair.first, pair.second}
        self.columns_read: list[int] = sorted(read)  # by their place: those that add to the score
        # after the last cell of each table comes an entry for what no cell holds: it adds nothing
        wide = [np.pad(tables[t].T, ((0, 0), (0, 1))) for t in self.speaking]
        self._start = np.cumsum([0, *(w.shape[1] for w in wide)]).astype(np.int64)
        self._scorer = None
        if wide:
            self._scorer = _kernels.LaneScorer(
                np.ascontiguousarray(np.concatenate(wide, axis=1)),
                None,
                self.offset,
                self.fallback,
                get_num_threads(),
            )

    @property
    def text_parts(self) -> dict[str, Any]:
        """Columns of text, which add to the score beside the tables of cells."""
        return {}

    def change_without(self, x: Table, own: NDArray[np.intp], weight: Array) -> Array:
        """How columns of text change the scores when each row is taken out of their counts."""
        return np.zeros((x.n_rows, len(self.offset)))

    def cells(self, x: Table) -> Cells:
        """The cell of each row in each column, int32 (n_columns, n_rows); −1 for what no cell
        holds, and in columns that add nothing."""
        cells = np.full((len(self.columns), x.n_rows), -1, dtype=np.int32)
        for j in self.columns_read:
            column = self.columns[j]
            cells[j] = column.codes(x.columns.get(column.name, Empty(x.n_rows)))
        return cells

    def _entries(self, cells: Cells) -> Cells:
        entries = np.empty((cells.shape[1], len(self.speaking)), dtype=np.int32, order="F")
        n = len(self.columns)
        for place, t in enumerate(self.speaking):
            codes = cells[t] if t < n else self.pairs[t - n].codes(cells)
            entries[:, place] = np.where(codes < 0, len(self.tables[t]), codes)
        return entries

    def terms(self) -> list[Term]:
        """The tables as terms of a formula, in the order in which they are added; raises
        Inexpressible."""
        return [self._term(t) for t in self.speaking]

    def _term(self, t: int) -> Term:
        if t < len(self.columns):
            cells, order = self.columns[t].formula_cells()
            wide = np.pad(self.tables[t].T, ((0, 0), (0, 1)))  # the last is for what is in no cell
            return CellTable(cells, np.ascontiguousarray(wide[:, order]))
        pair = self.pairs[t - len(self.columns)]
        (first, a), (second, b) = (
            self.columns[j].formula_cells() for j in (pair.first, pair.second)
        )
        rows, width = pair.sizes  # what is in no coarser cell is in a further one, which adds 0
        one, other = (np.append(coarse, -1) for coarse in pair.maps)
        maps = np.where(one < 0, rows, one)[a], np.where(other < 0, width, other)[b]
        cube = self.tables[t].T.reshape(-1, rows, width)
        scores = np.pad(cube, ((0, 0), (0, 1), (0, 1))).reshape(len(cube), -1)
        return CellTable(PairedCells(first, second, maps, width + 1, scores.shape[1]), scores)

    def joint(self, x: Table) -> Array:
        """The score of each class, (n_rows, n_classes), in nats."""
        return self.joint_of(self.cells(x))

    def joint_of(self, cells: Cells) -> Array:
        """The same of rows as cells (n_columns, n_rows)."""
        scores = np.tile(self.offset, (cells.shape[1], 1))
        if self._scorer is not None and len(scores):
            entries = self._entries(cells)
            self._scorer.score_codes(entries, self._start, scores, None, get_num_threads())
        return scores

    def best(self, x: Table) -> tuple[NDArray[np.int64], int]:
        """The class of each row, and how many rows every class rules out."""
        best = np.full(x.n_rows, self.fallback, dtype=np.int64)
        if self._scorer is None or not x.n_rows:
            return best, 0
        entries = self._entries(self.cells(x))
        _, _, out = self._scorer.score_codes(entries, self._start, None, best, get_num_threads())
        return best, out

    def contributions(self, x: Table) -> Array:
        """What each term adds, (n_rows, n_classes, n_terms), in nats."""
        shares = np.zeros((x.n_rows, len(self.offset), len(self.tables)))
        entries = self._entries(self.cells(x))
        for place, t in enumerate(self.speaking):
            shares[:, :, t] = np.pad(self.tables[t], ((0, 1), (0, 0)))[entries[:, place]]
        return shares
