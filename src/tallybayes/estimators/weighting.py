"""What a weighted model has learned on rows, and what it says under the counts as they are now."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.labels import places_among
from tallybayes.tally import TableTally
from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.counts import counted_again, held_columns
from tallybayes.weighted.effective import in_effective_rows
from tallybayes.weighted.learned import Learned
from tallybayes.weighted.score import WeightedScore
from tallybayes.weighted.tables import ColumnTable, column_table

__all__ = ["Figures", "Weighting", "WeightingNow", "apply_weighting", "taken", "without_rows"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class Figures:
    """How well the learning rows are predicted, each by the others.

    Parameters
    ----------
    rows : float
        Weight of the rows.
    log_loss : float
        Mean −log P(own class), in nats.
    accuracy : float
    prior_log_loss : float
        The log-loss of the class shares alone.
    price : float, optional
        Of a simplified model: how much higher its log-loss is.
    """

    rows: float
    log_loss: float
    accuracy: float
    prior_log_loss: float
    price: float | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Weighting:
    """What was learned on rows. It holds no row.

    Parameters
    ----------
    learned : Learned
        Without the rows' probabilities.
    classes : array (n_learned,)
        The labels that had rows.
    shift : float64 array (n_learned,)
        Class offsets b: what is added to the log-prior, in nats.
    apart : float64 array (n_terms,)
        How far apart each term sets the classes, on average over the learning rows, in nats.
    figures : Figures
    out : dict of str to str
        The columns that were not learned from, and why.
    unit : float
        The weight of an effective row, in which counts were and are read.
    """

    learned: Learned
    classes: NDArray[Any]
    shift: Array
    apart: Array
    figures: Figures
    out: dict[str, str]
    unit: float = 1.0

    @property
    def names(self) -> list[str]:
        """The terms by name: columns, then pairs as "a × b"."""
        columns = [column.name for column in self.learned.columns]
        return columns + [" × ".join(pair) for pair in self.pairs]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of columns, by name."""
        columns = self.learned.columns
        return [(columns[p.first].name, columns[p.second].name) for p in self.learned.pairs]


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightingNow:
    """A weighting under the counts of a tally.

    Parameters
    ----------
    columns : list of ColumnCells
        With the counts of the classes that have rows, in effective rows.
    present : index array (n_present,)
        Those classes.
    rows : float64 array (n_present,)
        Their effective rows.
    share : float64 array (n_present,)
        Their shares.
    learned : index array (n_learned,)
        The classes that had rows when weights were learned.
    tables : list of ColumnTable
        Of the columns, for the classes that have rows.
    by_class : float64 array (n_classes, n_terms)
        The weights.
    score : WeightedScore
    """

    columns: list[ColumnCells]
    present: Index
    rows: Array
    share: Array
    learned: Index
    tables: list[ColumnTable]
    by_class: Array
    score: WeightedScore


def _centred(table: Array, at: Index, n_classes: int) -> Array:
    """A table (n_cells, n) as (n_cells, n_classes), with 0 in other classes, centred over those
    `at`."""
    wide = np.zeros((len(table), n_classes))
    wide[:, at] = table
    wide -= table.mean(axis=1, keepdims=True)
    return wide


def taken(tally: TableTally, classes: Index) -> TableTally:
    """The counts of some classes, in a schema that still names all."""
    parts = tuple(group.take(classes) for group in tally.groups)
    return TableTally(tally.schema, tally.classes.take(classes), parts)


def apply_weighting(weighting: Weighting, tally: TableTally, log_prior: Array) -> WeightingNow:
    """The weighting under the counts of a tally.

    The tables of columns follow the counts. Weights, pairs and corrections are as learned: a class
    that came since has the weights that classes share, and in pairs says nothing of its own; a
    level that came since is in no pair and is not corrected. A class without rows says of a column
    what all rows say.

    Parameters
    ----------
    weighting : Weighting
    tally : TableTally
    log_prior : float64 array (n_classes,)
    """
    learned, n = weighting.learned, len(log_prior)
    present = np.flatnonzero(tally.classes.count > 0.0)
    rows = in_effective_rows(tally.classes.count[present], weighting.unit)
    held = held_columns(taken(tally, present), weighting.unit)
    share = rows / rows.sum()
    columns = [counted_again(column, held, rows) for column in learned.columns]
    tables = [
        column_table(column, share, choice)
        for column, choice in zip(columns, learned.choices, strict=True)
    ]
    at = places_among(weighting.classes, tally.schema.classes)
    by_class = np.tile(learned.weights.terms, (n, 1))
    by_class[at] += learned.weights.deviations
    shift = np.zeros(n)
    shift[at] = weighting.shift
    terms = [_centred(table.full, present, n) for table in tables]
    terms += [_centred(pair.full, at, n) for pair in learned.pairs]
    weighted = [by_class[:, t] * term for t, term in enumerate(terms)]
    if learned.corrections is not None:
        for table, more in zip(weighted, learned.corrections, strict=True):
            table[:, at] += _with_new_levels(more, len(table))
    weighted = [table - table.mean(axis=1, keepdims=True) for table in weighted]
    pairs = [
        replace(
            pair,
            maps=(
                _with_new_levels(pair.maps[0], columns[pair.first].n_cells, -1),
                _with_new_levels(pair.maps[1], columns[pair.second].n_cells, -1),
            ),
        )
        for pair in learned.pairs
    ]
    score = WeightedScore(columns, pairs, weighted, log_prior + shift)
    return WeightingNow(
        columns=columns,
        present=present,
        rows=rows,
        share=share,
        learned=at,
        tables=tables,
        by_class=by_class,
        score=score,
    )


def _with_new_levels(of_cells: Any, n_cells: int, value: float = 0.0) -> Any:
    """An array with an entry a cell, with `value` for the levels that came since, before the
    gap."""
    more = n_cells - len(of_cells)
    if not more:
        return of_cells
    return np.insert(of_cells, [len(of_cells) - 1] * more, value, axis=0)


def without_rows(learned: Learned) -> Learned:
    """What was learned, without the rows' probabilities and the counts of cells."""
    nothing = np.zeros((0, learned.log_proba.shape[1]))
    columns = [replace(c, counts=np.zeros_like(c.counts)) for c in learned.columns]
    return replace(learned, tested=np.arange(0), log_proba=nothing, columns=columns)
