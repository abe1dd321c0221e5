"""Columns of text in a weighted model: their scores, with learned weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.number_parts import text_part
from tallybayes.families.contract import Context
from tallybayes.models.columns.declarations import Declared
from tallybayes.models.columns.prose import PROSE
from tallybayes.models.table import TableModel
from tallybayes.parameters import Term
from tallybayes.tables import Empty, Strings, Table
from tallybayes.tally import UNIT_ROWS, TextCounts
from tallybayes.weighted.average import TextWeights
from tallybayes.weighted.cells import ColumnCells, in_effective_rows
from tallybayes.weighted.pairs import PairCells
from tallybayes.weighted.scores import WeightedScore

__all__ = ["ScoreWithText", "TextColumns", "text_columns_of"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class TextColumns:
    """The scores of columns of text under the counts of a tally, in effective rows.

    Parameters
    ----------
    parts : dict of str to Part
        Of the classes `present`.
    present : index array (n_present,)
        The classes that have rows.
    n_classes : int
    unit : float
        The weight of an effective row.
    """

    parts: dict[str, Any]
    present: Index
    n_classes: int
    unit: float

    def among(self, names: list[str]) -> TextColumns:
        """Some of the columns, in this order, those that have values."""
        parts = {name: self.parts[name] for name in names if name in self.parts}
        return TextColumns(parts, self.present, self.n_classes, self.unit)

    def ranks(self, x: Table) -> list[Index]:
        """The place of each row's text among all in order, by column; 0 for a missing one."""
        found = []
        for name in self.parts:
            column = x.columns.get(name)
            rank = np.zeros(x.n_rows, dtype=np.intp)
            if isinstance(column, Strings):
                order = sorted(range(len(column.levels)), key=column.levels.__getitem__)
                place = np.zeros(len(order) + 1, dtype=np.intp)  # the last is a missing value's
                place[order] = np.arange(1, len(order) + 1)
                rank = place[column.codes]
            found.append(rank)
        return found

    def contributions(self, x: Table) -> Array:
        """What each adds, float64 (n_rows, n_classes, n_text_columns)."""
        found = np.zeros((x.n_rows, self.n_classes, len(self.parts)))
        for j, (name, part) in enumerate(self.parts.items()):
            column = x.columns.get(name, Empty(x.n_rows))
            found[:, self.present, j] = part.contribution(column)
        return found

    def without(self, x: Table, own: Index, weight: Array) -> Array:
        """The same after each row, of a class that has rows, is taken out."""
        found = np.zeros((x.n_rows, self.n_classes, len(self.parts)))
        mine, less = np.searchsorted(self.present, own), in_effective_rows(weight, self.unit)
        for j, (name, part) in enumerate(self.parts.items()):
            some = Table({name: x.columns.get(name, Empty(x.n_rows))}, x.n_rows, True)
            found[:, self.present, j] = part.without(some, mine, less)
        return found


def text_columns_of(model: TableModel, unit: float) -> TextColumns:
    """The columns of text of a model that have values."""
    what: Declared = model.reading.declared
    counts = model.tally.classes.count
    present = np.flatnonzero(counts > 0.0)
    context = Context(counts[present] / unit, 1.0, 1.0, UNIT_ROWS)
    parts: dict[str, Any] = {}
    tally = model.tally_read
    for columns, group in zip(tally.schema.groups, tally.groups, strict=True):
        if isinstance(group, TextCounts) and columns.names is not None:
            name = columns.names[0]
            family = what.families.get(name, PROSE)
            held = _in_effective_rows(group.take(present), unit)
            likelihood = family.likelihood(held, context)
            parts[name] = text_part(name, likelihood, family.terms, len(present))
    return TextColumns(parts, present, len(counts), unit)


def _in_effective_rows(group: TextCounts, unit: float) -> TextCounts:
    held = group.held
    counts, documents = (in_effective_rows(a, unit) for a in (held.counts, held.documents))
    return TextCounts(group.n_classes, replace(held, counts=counts, documents=documents))


class ScoreWithText(WeightedScore):
    """A score of cells, and of columns of text beside them.

    Parameters are those of WeightedScore, with tables that are weighted already, and:

    text_columns : TextColumns
    weights : TextWeights
    """

    def __init__(
        self,
        columns: list[ColumnCells],
        pairs: Any,
        tables: list[Array],
        offset: Array,
        text_columns: TextColumns,
        weights: TextWeights,
    ) -> None:
        pairs_given: list[PairCells] = list(pairs)
        super().__init__(columns, pairs_given, tables, offset)
        self.text_columns: TextColumns = text_columns.among(weights.names)
        of_name = dict(zip(weights.names, weights.weights.tolist(), strict=True))
        self.weight_of: Array = np.array([of_name[name] for name in self.text_columns.parts])

    @property
    def text_parts(self) -> dict[str, Any]:
        return self.text_columns.parts

    def terms(self) -> list[Term]:
        text = [term for part in self.text_parts.values() for term in part.terms()]
        return [*super().terms(), *text]

    def joint(self, x: Table) -> Array:
        found: Array = super().joint(x) + self.text_columns.contributions(x) @ self.weight_of
        return found

    def change_without(self, x: Table, own: Index, weight: Array) -> Array:
        """How the scores change when each row is taken out of the counts of terms."""
        now = self.text_columns.contributions(x)
        change: Array = self.text_columns.without(x, own, weight) - now
        return np.asarray(change @ self.weight_of)

    def best(self, x: Table) -> tuple[NDArray[np.int64], int]:
        scores = self.joint(x)
        best = scores.argmax(axis=1).astype(np.int64)
        out = np.isneginf(scores).all(axis=1)
        best[out] = self.fallback
        return best, int(out.sum())

    def contributions(self, x: Table) -> Array:
        """What each term adds, then each text, float64 (n_rows, n_classes, n_terms + n_text)."""
        of_text = self.text_columns.contributions(x) * self.weight_of
        return np.concatenate([super().contributions(x), of_text], axis=2)
