"""A model fitted to a part of the rows: its terms, and the corrections of their cells."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.cells.columns import ColumnCells, coarse
from tallybayes.weighted.fit.cell_offsets import (
    CorrectedCells,
    CorrectionPath,
)
from tallybayes.weighted.fit.learned import Learned
from tallybayes.weighted.fit.options import FitOptions
from tallybayes.weighted.fit.shrinkage import min_column_gain, too_many_columns
from tallybayes.weighted.fit.stagewise import Rounds
from tallybayes.weighted.optim.ridge_descent import CorrectedRows, added
from tallybayes.weighted.rows import LearningRows, counted_in, thinned
from tallybayes.weighted.terms.column_tables import NULL_TERM, column_tables, screened

__all__ = ["Part", "PartFit"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

N_CORRECTED_CELLS = (4, 16)  # of a number, beside its own cells where these are many more
MAX_TESTED = 50_000  # rows left out that judge


class Part:
    """Some of the rows, to fit a model to. The rows left out weigh nothing: they are in no count,
    and are scored as new rows are.

    Parameters
    ----------
    columns : list of ColumnCells
        With the counts of all rows.
    rows : LearningRows
        All rows, in canonical order.
    kept : bool array (n_rows,)
        The rows that are learned from.
    p : float64 array (n_classes,)
        Shares of the classes.
    options : FitOptions
    stricter : float
        Nats that a column has to gain beyond the least, to be selected.
    among : iterable of (str, str), optional
        The pairs of columns that may be taken, by name; any unless given.
    without : collection of int
        Columns that are not selected.
    """

    p: Array
    options: FitOptions
    selected: list[int]

    def __init__(
        self,
        columns: list[ColumnCells],
        rows: LearningRows,
        kept: NDArray[np.bool_],
        p: Array,
        options: FitOptions,
        stricter: float = 0.0,
        among: Iterable[tuple[str, str]] | None = None,
        without: Collection[int] = (),
    ) -> None:
        self.p, self.options = p, options
        left_out = np.flatnonzero(~kept)
        self.tested: Index = left_out[thinned(rows.y[left_out], rows.n_classes, MAX_TESTED)]
        own = rows if kept.all() else rows.take(np.flatnonzero(kept))
        self.all_columns = columns
        weighted = replace(rows, weight=np.where(kept, rows.weight, 0.0))
        counted = columns if kept.all() else counted_in(columns, own)
        tables, d = column_tables(counted, p, own), len(columns)
        min_gain = min_column_gain(d, float(own.weight.sum())) + stricter
        if too_many_columns(d, float(rows.weight.sum())):
            self.selected = [j for j, table in enumerate(tables) if table.gain >= min_gain]
        else:  # a column that adds nothing by itself may be in a pair
            self.selected = list(range(d))
            tables = screened(counted, tables, p, min_gain)
        self.selected = [j for j in self.selected if j not in without]
        self.rounds: Rounds = Rounds(
            [counted[j] for j in self.selected],
            [tables[j] for j in self.selected],
            weighted.among(self.selected),
            p,
            self.options,
            among,
            rows.weight if len(left_out) else None,
        )

    def fit(self, *, all_that_gain: bool = False) -> PartFit:
        """The terms and weights with pairs that gain more than they would by chance, or, after
        that, with all that gain at all."""
        if self.options.interactions != 0 and len(self.selected) > 1:
            self.rounds.add_pairs(all_that_gain=all_that_gain)
        fitted = PartFit(self, *self.rounds.fitted())
        self.rounds.give_up_values()
        return fitted


@dataclass(frozen=True, eq=False)
class PartFit:
    """What was fitted to a part.

    Parameters
    ----------
    part : Part
    learned : Learned
        Of the selected columns, without corrections.
    scores : float64 array (n_rows, n_classes)
        S without corrections, of the rows that were fitted, each taken out of every count, and of
        the others.
    cells : CorrectedCells, optional
    corrections : float64 array (n_cells, n_classes), optional
        Of `cells`, in nats.
    """

    part: Part
    learned: Learned
    scores: Array
    cells: CorrectedCells | None = None
    corrections: Array | None = None

    def path(self) -> CorrectionPath | None:
        """Corrections of every cell of the terms that are not null; None if there are none, or too
        many."""
        part, learned = self.part, self.learned
        rounds, rows, maps = part.rounds, part.rounds.rows, []
        for t, size in enumerate(learned.sizes):
            if t < len(learned.columns):
                if learned.choices[t] == NULL_TERM:
                    continue
                column = learned.columns[t]
                few = [n for n in N_CORRECTED_CELLS if 2 * n < column.n_numbers]
                maps += [(t, coarse(column, n)) for n in few]
            maps.append((t, np.arange(size, dtype=np.int32)))
        cells = CorrectedCells(maps, rows.n_classes)
        if not cells.feasible:
            return None
        index, stands = cells.learning_rows(rows)
        numbered = rounds.numbered(cells, index)
        return CorrectionPath(
            cells,
            CorrectedRows(numbered, self.scores[index], rows.y[index], stands, cells.n),
            rounds.numbered(cells, part.tested),
            self.scores[part.tested],
        )

    def path_from_corrections(self) -> CorrectionPath | None:
        """The same path, from the corrections that there are."""
        path = self.path()
        if path is not None and self.corrections is not None:
            path.q = self.corrections
        return path

    def corrected(self, path: CorrectionPath) -> PartFit:
        """The same with the corrections that a path has reached."""
        return replace(self, cells=path.cells, corrections=path.q)

    def scores_of(self, index: Index) -> Array:
        """S of some rows, corrected, float64 (n_some, n_classes)."""
        if self.cells is None or self.corrections is None:
            return self.scores[index]
        numbered = self.part.rounds.numbered(self.cells, index)
        return self.scores[index] + added(self.corrections, numbered)

    def column_gains(self) -> Array:
        """What each column gains by itself, in nats, float64 (n_columns,); −inf where it gains too
        little to be used."""
        gains = np.full(len(self.part.all_columns), -np.inf)
        for j, table in zip(self.part.selected, self.part.rounds.rest.tables, strict=True):
            if table.choice != NULL_TERM:
                gains[j] = table.gain
        return gains

    def scores_without(self, column: int) -> Array:
        """S of the rows left out, corrected, without a column and its pairs."""
        part, learned = self.part, self.learned
        if column not in part.selected:
            return self._scores_left_out
        j, d = part.selected.index(column), len(learned.columns)
        pairs = [t for t, pair in enumerate(learned.pairs, d) if j in (pair.first, pair.second)]
        terms = [j, *pairs]
        removed = part.rounds.contributions_of_others(learned.weights, terms, part.tested)
        if self.cells is not None and self.corrections is not None:
            cells, corrections = self.cells.among(terms, self.corrections)
            removed += added(corrections, part.rounds.numbered(cells, part.tested))
        return self._scores_left_out - removed

    @cached_property
    def _scores_left_out(self) -> Array:
        """S of the rows left out, corrected."""
        return self.scores_of(self.part.tested)

    def result(self) -> Learned:
        """What was learned, of all columns, corrected, with the counts of all rows."""
        part, learned, corrections = self.part, self.learned, None
        if self.cells is not None and self.corrections is not None:
            corrections = self.cells.of_terms(self.corrections, learned.sizes)
        learned = replace(
            learned,
            columns=[part.all_columns[j] for j in part.selected],
            pairs=part.rounds.of_all(len(learned.pairs)),
            corrections=corrections,
        )
        return learned.among(part.all_columns, part.selected)
