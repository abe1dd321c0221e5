"""What a weighted model has learned on rows, and its terms under the present counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.persistence import MAX_WEIGHT, Bounded, Positive, Shape, Within
from tallybayes.schema import places_among
from tallybayes.scoring import Figures
from tallybayes.tally import TableTally
from tallybayes.tally.saved import Labels
from tallybayes.weighted.average import TextWeights
from tallybayes.weighted.cells import (
    ColumnCells,
    counted_again,
    held_columns,
    in_effective_rows,
)
from tallybayes.weighted.learned import Averaged, Learned
from tallybayes.weighted.pairs import JoinedPair, JointColumns, PairTerm
from tallybayes.weighted.scores import WeightedScore
from tallybayes.weighted.tables import ColumnTable

__all__ = [
    "PartNow",
    "Weighting",
    "WeightingNow",
    "apply_weighting",
    "without_rows",
]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False, kw_only=True)
class Weighting:
    """The result of learning weights on rows. It holds no row.

    Parameters
    ----------
    learned : Averaged
        Without the rows' probabilities and counts.
    classes : array (n_learned,)
        The labels that had rows.
    shift : float64 array (n_learned,)
        Class offsets b: what is added to the log-prior, in nats.
    apart : float64 array (n_terms,)
        How far apart each term sets the classes, on average over the learning rows, in nats.
    figures : Figures
    confused : float64 array (n_cases, 3)
        Class, predicted class, and the weight of such rows, for the rows that the figures describe;
        classes by their place in `classes`.
    out : dict of str to str
        The columns that were not learned from, and why.
    unit : float
        The weight of an effective row, in which counts were and are read.
    prior_share : float
        ε, the share of the class prior in each prediction; 0 in files of before there was one.
    text : TextWeights, optional
        Of a model with columns of text.
    """

    learned: Averaged
    classes: Labels
    shift: Annotated[Array, Shape("n_classes"), Bounded]
    apart: Annotated[Array, Shape("n_terms"), Bounded]
    figures: Figures
    confused: Annotated[Array, Shape(None, 3), Within(0.0, MAX_WEIGHT)]
    out: dict[str, str]
    unit: Positive = 1.0
    prior_share: Annotated[float, Within(0.0, below=1.0)] = 0.0
    text: TextWeights | None = None

    @property
    def adds(self) -> dict[str, float]:
        """What each term adds, by name, columns of text last: how far it moves the scores of the
        classes apart, in nats, on average over the learning rows. Tables, their corrections and
        smooth functions count together, so a term of weight 0 may add something."""
        found = dict(zip(self.names, self.apart.tolist(), strict=True))
        if self.text is not None:
            found |= zip(self.text.names, self.text.apart.tolist(), strict=True)
        return found

    @property
    def names(self) -> list[str]:
        """The terms by name: columns, then pairs as "a × b"."""
        columns = [column.name for column in self.learned.columns]
        return columns + [" × ".join(pair) for pair in self.pairs]

    @property
    def pairs(self) -> list[tuple[str, ...]]:
        """The pairs of columns, and three columns that count together, by name."""
        columns = self.learned.columns
        return [tuple(columns[j].name for j in pair.columns) for pair in self.learned.pairs]


class PartNow(NamedTuple):
    """A part of a weighting, under the counts of a tally.

    Parameters
    ----------
    share : float
        How much it counts.
    learned : Learned
    tables : list of ColumnTable
        One for each column, for the classes that have rows.
    pairs : list of PairTerm
        Their cells; a level that came since is in none of them.
    by_class : float64 array (n_classes, n_terms)
        The weights.
    """

    share: float
    learned: Learned
    tables: list[ColumnTable]
    pairs: list[PairTerm]
    by_class: Array


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
    parts : list of PartNow
    score : WeightedScore
        Of all parts together: one table for each column, and one for each pair of columns.
    """

    columns: list[ColumnCells]
    present: Index
    rows: Array
    share: Array
    learned: Index
    parts: list[PartNow]
    score: WeightedScore


def _centred(table: Array, at: Index, n_classes: int) -> Array:
    """A table (n_cells, n) as (n_cells, n_classes), with 0 in other classes, centred over those
    `at`."""
    wide = np.zeros((len(table), n_classes))
    wide[:, at] = table
    wide -= table.mean(axis=1, keepdims=True)
    return wide


def apply_weighting(weighting: Weighting, tally: TableTally, log_prior: Array) -> WeightingNow:
    """The weighting under the counts of a tally.

    The tables of columns follow the counts. Weights, pairs, corrections and smooth functions stay
    as learned: a class that came since has the weights that classes share, and adds nothing of its
    own in pairs and smooth functions; a level that came since is in no pair, is not corrected and
    has no smooth function. A class without rows takes the distribution of all rows in a column.

    Parameters
    ----------
    weighting : Weighting
    tally : TableTally
    log_prior : float64 array (n_classes,)
    """
    averaged, n = weighting.learned, len(log_prior)
    present = np.flatnonzero(tally.classes.count > 0.0)
    rows = in_effective_rows(tally.classes.count[present], weighting.unit)
    held = held_columns(tally, present, weighting.unit)
    share = rows / rows.sum()
    columns = [counted_again(column, held, rows) for column in averaged.columns]
    at = places_among(weighting.classes, tally.schema.classes)
    tables = averaged.column_tables(columns, share)
    parts = []
    for s, learned, of_columns in zip(averaged.shares, averaged.parts, tables, strict=True):
        by_class = np.tile(learned.weights.terms, (n, 1))
        by_class[at] += learned.weights.deviations
        of_part = [_with_levels(pair, columns) for pair in learned.pairs]
        parts.append(PartNow(float(s), learned, of_columns, of_part, by_class))
    terms = [_column_term(parts, j, present, at, n) for j in range(len(columns))]
    if averaged.smooth is not None:
        for term, more in zip(terms, averaged.smooth.columns, strict=True):
            term[:, at] += _with_new_levels(more, len(term))
            term -= term.mean(axis=1, keepdims=True)
    terms += [_pair_term(parts, pair, len(columns), at, n) for pair in averaged.pairs]
    pairs = [_with_levels(pair, columns) for pair in averaged.pairs]
    shift = np.zeros(n)
    shift[at] = weighting.shift
    if weighting.text is not None:
        beta = weighting.text.cells
        terms = [beta * term for term in terms]
        parts = [part._replace(by_class=beta * part.by_class) for part in parts]
    return WeightingNow(
        columns=columns,
        present=present,
        rows=rows,
        share=share,
        learned=at,
        parts=parts,
        score=WeightedScore(columns, pairs, terms, log_prior + shift),
    )


def _column_term(parts: list[PartNow], j: int, present: Index, at: Index, n_classes: int) -> Array:
    """What a column adds: the mean over the parts of its weighted, corrected table."""
    weights: dict[int, tuple[ColumnTable, Array]] = {}  # parts that smooth alike share a table
    for part in parts:
        table, so_far = weights.get(id(part.tables[j]), (part.tables[j], np.zeros(n_classes)))
        weights[id(table)] = table, so_far + part.share * part.by_class[:, j]
    term = np.zeros((len(parts[0].tables[j].full), n_classes))
    for table, weight in weights.values():
        if weight.any():
            term += weight * _centred(table.full, present, n_classes)
    for part in parts:
        if part.learned.corrections is not None:
            more = part.learned.corrections[j]
            term[:, at] += part.share * _with_new_levels(more, len(term))
    term -= term.mean(axis=1, keepdims=True)
    return term


def _pair_term(
    parts: list[PartNow], pair: JoinedPair, n_columns: int, at: Index, n_classes: int
) -> Array:
    """What a pair of columns adds: the mean over the parts of its weighted, corrected tables."""
    term = np.zeros((pair.n_cells, n_classes))
    for i, member in enumerate(pair.members):
        part, t = parts[member.part], n_columns + member.place
        table = part.by_class[:, t] * _centred(member.pair.full, at, n_classes)
        if part.learned.corrections is not None:
            table[:, at] += part.learned.corrections[t]
        term += part.share * pair.spread(i, table)
    if pair.smooth is not None:
        table = np.zeros((pair.smooth.n_cells, n_classes))
        table[:, at] = pair.smooth.table
        term += pair.spread_smooth(table)
    term -= term.mean(axis=1, keepdims=True)
    return term


Pair = TypeVar("Pair", bound=JointColumns)


def _with_levels(pair: Pair, columns: list[ColumnCells]) -> Pair:
    """The pair with a map entry for each level that came since, which is in none of its cells."""
    each = [(columns[j].n_cells, map_) for j, map_ in zip(pair.columns, pair.maps, strict=True)]
    if all(len(map_) == n_cells for n_cells, map_ in each):
        return pair
    return replace(pair, maps=tuple(_with_new_levels(map_, n_cells, -1) for n_cells, map_ in each))


def _with_new_levels(of_cells: Any, n_cells: int, value: float = 0.0) -> Any:
    """An array with an entry a cell, with `value` for the levels that came since, before the
    missing value."""
    more = n_cells - len(of_cells)
    if not more:
        return of_cells
    return np.insert(of_cells, [len(of_cells) - 1] * more, value, axis=0)


def without_rows(averaged: Averaged) -> Averaged:
    """What was learned, without the rows' probabilities and the counts of cells."""
    none, nothing = np.arange(0), np.zeros((0, averaged.log_proba.shape[1]))
    columns = [replace(c, counts=np.zeros_like(c.counts)) for c in averaged.columns]
    parts = [replace(part, columns=columns) for part in averaged.parts]
    forgotten = replace(averaged, tested=none, log_proba=nothing, gained=np.zeros(0), log_own=None)
    return replace(forgotten, columns=columns, parts=parts)
