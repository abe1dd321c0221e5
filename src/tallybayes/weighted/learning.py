"""Learning a weighted model: column screening, fitting and shrinkage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from tallybayes.weighted.averaging import PARTS, averaged
from tallybayes.weighted.canonical import canonical
from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.doubt import (
    believed,
    doubted,
    many,
    trust_beyond_chance,
)
from tallybayes.weighted.duplicates import distinct
from tallybayes.weighted.learned import Averaged, Learned, nothing_learned
from tallybayes.weighted.rounds import Asked, Rounds
from tallybayes.weighted.rows import LearningRows
from tallybayes.weighted.sampling import thinned
from tallybayes.weighted.screening import column_tables
from tallybayes.weighted.told_apart import redundant, told_apart

__all__ = ["learn"]

Array = NDArray[np.float64]

LEAST = 4  # rows a part at least
MOST_VALUES = 40_000_000  # rows times classes that are looked at


def learn(
    columns: list[ColumnCells],
    rows: LearningRows,
    classes: Array,
    *,
    interactions: int | None = None,
    by_class: bool = True,
    polish: bool = True,
    penalty: float | None = None,
    parts: int | None = None,
) -> Averaged:
    """Learns weights, pairs and corrections.

    Weights are learned on a sample of the rows, if there are many; pairs are chosen on it, and
    counted on all rows, or on as many as there is room for where classes are many.

    What is learned does not depend on the order of rows and columns, to the last bit: both are read
    in a canonical order (see `canonical`).

    Parameters
    ----------
    columns : list of ColumnCells
        With the counts of all rows, in effective rows.
    rows : LearningRows
        All rows, or a fair sample; without keys in any order.
    classes : float64 array (n_classes,)
        Weight of each class, above 0, in any unit.
    interactions : int, optional
        At most so many pairs; 0 for none. Unless given, as many as help.
    by_class : bool
        Whether weights may deviate by class, for more than two classes. They do not where they
        would be more than 4,000.
    polish : bool
        Whether cells are corrected at last.
    penalty : float, optional
        γ; chosen by cross-validation unless given.
    parts : int, optional
        In how many parts the rows are cut, each left out of a learning that is averaged with the
        others and with one of all rows (see `averaged`); 1: that one alone. Unless given, 5, of
        fewer than 20 rows 1; of more than 20,000 only the first of the five is left out.
    """
    if parts is not None:
        parts = min(parts, rows.n)
    elif rows.n < LEAST * PARTS:
        parts = 1
    asked = Asked(interactions, by_class, polish, penalty)
    p = classes / classes.sum()
    if rows.n_classes == 1:
        return Averaged.of_one(nothing_learned(columns, p, rows.n))
    if rows.keys is not None:
        return _of_any_columns(columns, rows, p, asked, parts)
    rows, was = canonical(rows, columns)
    learned = _of_any_columns(columns, rows, p, asked, parts)
    tested = was[learned.tested]
    order = np.argsort(tested)
    return replace(
        learned,
        tested=tested[order],
        log_proba=learned.log_proba[order],
        gained=learned.gained[order],
    )


def _of_any_columns(
    columns: list[ColumnCells], rows: LearningRows, p: Array, asked: Asked, parts: int | None
) -> Averaged:
    """What is learned of canonical rows, of columns some of which may be equal."""
    some = thinned(rows.y, rows.n_classes, MOST_VALUES // rows.n_classes)
    thin = rows if len(some) == rows.n else rows.take(some)
    kept, duplicates = distinct(thin.cells, [column.name for column in columns])
    if kept != list(range(len(columns))):  # the keys are of these already
        thin = replace(thin, cells=np.ascontiguousarray(thin.cells[kept]))
    with _controller().limit(limits=1, user_api="blas"):  # for small products threads only wait
        different = [columns[j] for j in kept]
        if parts != 1:
            found = _averaged(different, thin, p, asked, parts)
        else:
            found = Averaged.of_one(_learned(different, thin, p, asked))
    return replace(
        found,
        columns=columns,
        parts=[part.among(columns, kept) for part in found.parts],
        tested=some[found.tested],
        duplicates=duplicates,
        nearly={kept[j]: kept[other] for j, other in found.nearly.items()},
    )


def _averaged(
    columns: list[ColumnCells], rows: LearningRows, p: Array, asked: Asked, parts: int | None
) -> Averaged:
    """What is learned, averaged. Which of near-copies is used is decided once, on all rows."""
    nearly: dict[int, int] = {}
    if not many(len(columns), float(rows.weight.sum())):
        nearly = redundant(columns, rows, p, asked)
    kept = [j for j in range(len(columns)) if j not in nearly]
    found = averaged([columns[j] for j in kept], rows.among(kept), p, asked, parts)
    return replace(
        found,
        columns=columns,
        parts=[part.among(columns, kept) for part in found.parts],
        nearly=nearly,
    )


@cache
def _controller() -> ThreadpoolController:
    """Of the libraries that are loaded; looking for them takes some milliseconds."""
    return ThreadpoolController()


def _learned(columns: list[ColumnCells], rows: LearningRows, p: Array, asked: Asked) -> Learned:
    """What is learned of columns that differ from each other, as far as it is believed."""
    if not many(len(columns), float(rows.weight.sum())):
        return _of_few_columns(columns, rows, p, asked)

    def learner(columns: list[ColumnCells], rows: LearningRows) -> Callable[[float], Learned]:
        tables = column_tables(columns, p, rows)

        def learn(min_gain: float) -> Learned:
            kept = [j for j, table in enumerate(tables) if table.gain >= min_gain]
            selected = [columns[j] for j in kept], [tables[j] for j in kept]
            learning = Rounds(*selected, rows.among(kept), p, asked)
            return learning.learned().among(columns, kept)

        return learn

    doubt = doubted(columns, rows, p, learner)
    learned = believed(learner(columns, rows)(doubt.worth), p, doubt.trust)
    return replace(learned, tested=np.arange(rows.n), log_proba=doubt.log_proba)


def _of_few_columns(
    columns: list[ColumnCells], rows: LearningRows, p: Array, asked: Asked
) -> Learned:
    """The same where columns are few for the rows, so that leave-one-out is enough."""
    learned = told_apart(columns, rows, p, asked)
    n_used = len(columns) - len(learned.nearly)
    trust = trust_beyond_chance(rows, learned.tested, learned.log_proba, p, n_used)
    return believed(learned, p, trust)
