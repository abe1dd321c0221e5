"""One learning of a part of the rows: its terms, and the corrections of their cells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.cells import ColumnCells, coarse
from tallybayes.weighted.corrected_cells import CorrectedCells
from tallybayes.weighted.correction_path import CorrectionPath
from tallybayes.weighted.doubt import least_gain, many
from tallybayes.weighted.learned import Learned
from tallybayes.weighted.polish import CorrectedRows, added
from tallybayes.weighted.rounds import Asked, Rounds
from tallybayes.weighted.rows import LearningRows, counted_in
from tallybayes.weighted.sampling import thinned
from tallybayes.weighted.screening import column_tables, silenced
from tallybayes.weighted.tables import SILENT

__all__ = ["Part", "Taught"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

CELLS = (4, 16)  # in which numbers are corrected, beside their own where these are many more
MOST_TESTED = 50_000  # rows left out that judge


@dataclass(frozen=True, eq=False)
class Taught:
    """What a part has learned, and what it says of all rows.

    Parameters
    ----------
    learned : Learned
        Of the columns that are heard, without corrections.
    scores : float64 array (n_rows, n_classes)
        S of the rows it was learned from, each taken out of every count, and of the others.
    """

    learned: Learned
    scores: Array


class Part:
    """A learning of some of the rows. The rows left out weigh nothing: they are in no count, and
    are scored as new rows are.

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
    asked : Asked
    stricter : float
        Nats that a column has to gain beyond the least, to be heard.
    among : iterable of (str, str), optional
        The pairs of columns that may be taken, by name; any unless given.
    """

    def __init__(
        self,
        columns: list[ColumnCells],
        rows: LearningRows,
        kept: NDArray[np.bool_],
        p: Array,
        asked: Asked,
        stricter: float = 0.0,
        among: Iterable[tuple[str, str]] | None = None,
    ) -> None:
        self.p, self.asked = p, asked._replace(polish=False)
        left_out = np.flatnonzero(~kept)
        self.tested = left_out[thinned(rows.y[left_out], rows.n_classes, MOST_TESTED)]
        own = rows if kept.all() else rows.take(np.flatnonzero(kept))
        self.every = columns
        self.rows = replace(rows, weight=np.where(kept, rows.weight, 0.0))
        self.columns = columns if kept.all() else counted_in(columns, own)
        tables, d = column_tables(self.columns, p, own), len(columns)
        min_gain = least_gain(d, float(own.weight.sum())) + stricter
        if many(d, float(rows.weight.sum())):
            self.heard = [j for j, table in enumerate(tables) if table.gain >= min_gain]
        else:  # a column that says nothing by itself may be in a pair
            self.heard = list(range(d))
            tables = silenced(self.columns, tables, p, min_gain)
        self.rounds = Rounds(
            [self.columns[j] for j in self.heard],
            [tables[j] for j in self.heard],
            self.rows.among(self.heard),
            p,
            self.asked,
            among,
            rows.weight if len(left_out) else None,
        )

    def teach(self, *, all_that_gain: bool = False) -> Taught:
        """What is learned with pairs that gain more than they would by chance, or, after that, with
        all that gain at all."""
        if self.asked.interactions != 0 and len(self.heard) > 1:
            self.rounds.add_pairs(all_that_gain=all_that_gain)
        learned = self.rounds.present()
        return Taught(learned, np.ascontiguousarray(self.rounds.scores().T))

    def finish(self) -> None:
        """Nothing more is taught: what terms say of the rows is given up."""
        self.rounds.finish()

    def corrections(self, taught: Taught) -> CorrectionPath | None:
        """Of every cell of the terms that say something; None where there is none, or too many."""
        learned, rows, maps = taught.learned, self.rounds.rows, []
        for t, table in enumerate(learned.tables):
            if t < len(learned.columns):
                if learned.choices[t] == SILENT:
                    continue
                column = learned.columns[t]
                maps += [(t, coarse(column, n)) for n in CELLS if 2 * n < column.n_numbers]
            maps.append((t, np.arange(len(table), dtype=np.int32)))
        cells = CorrectedCells(maps, rows.n_classes)
        if not cells.feasible:
            return None
        index, stands = cells.learning_rows(rows)
        numbered, scores = self.rounds.numbered(cells, index), taught.scores[index]
        return CorrectionPath(
            cells,
            CorrectedRows(numbered, scores, rows.y[index], stands, cells.n),
            self.rounds.numbered(cells, self.tested),
            taught.scores[self.tested],
        )

    def scores(
        self, taught: Taught, path: CorrectionPath | None, q: Array | None, index: Index
    ) -> Array:
        """S of some rows, corrected, float64 (n_rows, n_classes)."""
        if path is None or q is None:
            return taught.scores[index]
        return taught.scores[index] + added(q, self.rounds.numbered(path.cells, index))

    def result(self, taught: Taught, corrections: list[Array] | None) -> Learned:
        """What was learned, of all columns, corrected, and its pairs counted on all rows.

        Parameters
        ----------
        taught : Taught
        corrections : list of float64 arrays (n_cells, n_classes), optional
            Of each term.
        """
        learned = taught.learned
        if len(self.tested):
            columns = [self.every[j] for j in self.heard]
            learned = replace(
                learned, columns=columns, pairs=self.rounds.of_all(len(learned.pairs))
            )
        learned = replace(learned, corrections=corrections)
        learned = replace(learned, tables=learned.term_tables(learned.columns, self.p))
        return learned.among(self.every, self.heard)
