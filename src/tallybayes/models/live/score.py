"""Scores that follow rows learned one by one, without reading the whole tally again.

Families, bins, widths, strengths and sizes of negative binomials stay as they were chosen when the
tally was last read; the counts of the cells of each row are updated. The tally is read again, and
everything chosen again, when the rows have grown by a share or a row does not fit these choices.

Where the tally has many levels, only the columns of numbers are read again, and the levels, for
which nothing is chosen, go on following their rows: a question then never waits for all of them.

The cells of all columns stand side by side: a row takes a handful of array operations, however many
columns it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.class_prior import ClassPrior
from tallybayes.forking import new_lock
from tallybayes.models.live.cells import LiveCells, Touched
from tallybayes.models.live.columns import (
    LevelsColumn,
    NumbersColumn,
    Outgrown,
    TextColumn,
    Together,
    columns_together,
    live_column,
)
from tallybayes.models.table import TableModel
from tallybayes.tally import ClassCounts
from tallybayes.tally.base import RESIDUE

__all__ = ["LiveScore", "Outgrown", "live_score"]

Array = NDArray[np.float64]

FEW_ROWS = 1000
MAX_GROWTH, MAX_GROWTH_OF_MANY = 0.25, 1.0
"""Rows learned since the tally was read, as a share of those it held, until it is read again: of up
to FEW_ROWS, and of more. The choices of many rows seldom change."""
MAX_CELLS_READ_AGAIN = 5_000
"""Levels and cells of all columns up to which everything is read again."""
MAX_UNASKED_ROWS = 64
"""Rows learned without a question in between after which following them no longer pays. Documents
are followed however many come: reading all of their terms again costs far more."""


class LiveScore:
    """The score of one row as a dict, under counts that change row by row.

    It answers as the compiled scorer of rows does: :meth:`best`, :meth:`posterior`, `found`, how
    many columns the last row had, and `doubtful`, whether there may be something to warn of in it.

    Parameters
    ----------
    model : TableModel
        As it was read; its tally does not change.
    fading : float
        What is left of the weight of each row after one more was learned.

    Attributes
    ----------
    kept : frozenset of str
        The columns that stay as they are when choices are made again; none where all are read.
    """

    kept: frozenset[str]
    prior: ClassPrior
    classes: ClassCounts
    rank: dict[Any, int]
    fallback: int
    lock: AbstractContextManager[bool]
    room: float
    unasked: int
    max_unasked: float
    found: int
    cells: LiveCells
    row_weight: float
    columns: list[LevelsColumn | NumbersColumn | TextColumn]
    together: list[Together]

    def __init__(self, model: TableModel, fading: float) -> None:
        classes = model.tally.classes
        self.fading = fading
        self.prior = model.prior
        self.classes = ClassCounts(classes.count.copy(), classes.squared_weights.copy())
        self.rank = {label: k for k, label in enumerate(model.schema.classes.tolist())}
        self.lock = new_lock(self, "lock", in_place=True)
        self._make_room(model)
        self.unasked = 0
        self.found = 0
        self.cells = LiveCells(len(self.rank))
        self.row_weight = self.classes.row_weights.at_least_one
        self.columns = [live_column(part, self.cells) for part in model.score.parts]
        documents = [part.reads_documents for part in model.score.parts]
        self.max_unasked = np.inf if any(documents) else MAX_UNASKED_ROWS
        if all(documents):  # nothing is chosen by the counts
            self.room = np.inf
        self.together = columns_together(self.columns)
        chosen = not isinstance(model.reading.alpha, float) or model.chosen.calibration is not None
        few = self.cells.size <= MAX_CELLS_READ_AGAIN
        levels = [c.name for c in self.columns if not isinstance(c, NumbersColumn)]
        self.kept = frozenset(() if fading != 1.0 or chosen or few else levels)

    def _make_room(self, model: TableModel) -> None:
        self.fallback = int(np.argmax(model.log_prior))
        rows = float(model.tally.classes.effective_rows.sum())
        self.room = rows * (MAX_GROWTH if rows <= FEW_ROWS else MAX_GROWTH_OF_MANY)

    @property
    def choices_are_due(self) -> bool:
        """Whether columns should be read again before the next row is learned."""
        return self.room < 1.0 and bool(self.kept)

    def renew(self, model: TableModel) -> None:
        """Makes choices again.

        Parameters
        ----------
        model : TableModel
            Of all rows so far, without the columns that are kept.

        Raises
        ------
        Outgrown
            If a column cannot follow rows as it is read now.
        """
        parts = model.score.parts
        if self.cells.growth != 1.0 or not all(part.follows_rows for part in parts):
            raise Outgrown
        read = [live_column(part, self.cells) for part in parts]
        self.columns = [c for c in self.columns if c.name in self.kept] + read
        self.together = columns_together(self.columns)
        self._make_room(model)

    doubtful = True  # it looks at no value

    # ---- learning --------------------------------------------------------------------------------
    def learn(self, row: Mapping[str, Any], label: Any, weight: float) -> None:
        """Counts one row; a weight below 0 removes one that was counted.

        Raises
        ------
        Outgrown
            The tally has to be read again; the scores of this object no longer hold.
        """
        self.room -= 1.0
        self.unasked += 1
        k = self.rank.get(label)
        if k is None or self.room < 0.0 or self.unasked > self.max_unasked:
            raise Outgrown
        row = _with_text_keys(row)
        with self.lock:
            if self.fading != 1.0:
                self._fade()
            if weight == 0.0:
                return
            if self.classes.count[k] + weight <= RESIDUE * abs(weight):
                raise Outgrown  # the class goes with its last row
            touched = Touched()
            for group in self.together:
                group.forget()
            for column in self.columns:
                column.learn(row.get(column.name), k, weight, touched)
            for group in self.together:
                group.learn(k, weight)
            if weight > 0.0:
                self.cells.add(touched, k, weight)
            elif not self.cells.take_out(touched, k, -weight):
                raise Outgrown
            self.classes.count[k] += weight
            self.classes.squared_weights[k] += weight * abs(weight)
            if abs(weight) > 1.0 or self.row_weight > 1.0 or self.cells.growth > 1.0:
                self.cells.growth = self.classes.row_weights.at_least_one / self.row_weight

    def _fade(self) -> None:
        """Takes from every row what it loses while one more is learned."""
        for column in self.columns:
            column.fade(self.fading)
        for group in self.together:
            group.fade(self.fading)
        self.cells.fade(self.fading)
        self.classes = self.classes * self.fading

    # ---- answering -------------------------------------------------------------------------------
    def scores(self, row: Mapping[str, Any]) -> Array:
        """log P(c) + log p(x | c), (n_classes,), in nats.

        Raises
        ------
        KeyError
            For a level that was not learned, in a column that refuses such; the column's name.
        ValueError
            For a value that has to be read as a table's: a string among numbers.
        """
        row = _with_text_keys(row)
        self.unasked = 0
        self.found = sum(column.name in row for column in self.columns)
        with self.lock:
            touched = Touched()
            for group in self.together:
                group.forget()
            scores = np.array(self.prior.log(self.classes))
            for column in self.columns:
                column.ask(row.get(column.name), touched, scores)
            for group in self.together:
                group.ask(scores)
            scores += self.cells.log_prob(touched)
        return scores

    def best(self, row: Mapping[str, Any]) -> int:
        """The most probable class; −1 − fallback where every class rules the row out."""
        scores = self.scores(row)
        best = int(scores.argmax())
        return best if scores[best] > -np.inf else -1 - self.fallback

    def posterior(self, row: Mapping[str, Any]) -> list[float]:
        """P(c | x); empty where every class rules the row out."""
        scores = self.scores(row)
        top = scores.max()
        if top == -np.inf:
            return []
        shares = np.exp(scores - top)
        return (shares / shares.sum()).tolist()  # type: ignore[no-any-return]


def _with_text_keys(row: Mapping[Any, Any]) -> Mapping[str, Any]:
    if set(map(type, row)) == {str}:
        return row
    return {str(key): value for key, value in row.items()}


def live_score(model: TableModel, fading: float = 1.0) -> LiveScore | None:
    """A score that follows rows, by the counts alone: without a calibration. None where weights
    were learned, or where a part looks at several columns at once or cannot follow single rows;
    other parameters are those of :class:`LiveScore`."""
    if model.chosen.weighting is not None:
        return None
    parts = model.score.parts
    if not all(part.follows_rows for part in parts):
        return None
    if fading != 1.0 and any(part.reads_documents for part in parts):
        return None
    try:
        return LiveScore(model, fading)
    except Outgrown:  # a column of documents that cannot follow rows
        return None
