"""Learning a weighted model: column screening, fitting and shrinkage."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from tallybayes.engines.threads import on_one_thread
from tallybayes.weighted.cells.columns import ColumnCells
from tallybayes.weighted.fit.averaging import PARTS, averaged
from tallybayes.weighted.fit.learned import Averaged, Learned, nothing_learned
from tallybayes.weighted.fit.options import FitOptions
from tallybayes.weighted.fit.redundancy import fit_representatives, represented
from tallybayes.weighted.fit.shrinkage import (
    held_out_shrinkage,
    shrinkage_factor,
    shrunk,
    too_many_columns,
)
from tallybayes.weighted.fit.stagewise import Rounds
from tallybayes.weighted.rows import LearningRows, canonical, distinct, thinned
from tallybayes.weighted.terms.column_tables import column_tables

__all__ = ["learn"]

Array = NDArray[np.float64]

DEFAULTS = FitOptions()
MIN_ROWS_PER_PART = 4  # rows a part at least
MAX_ONE_THREAD_WORK = 150_000
"""Columns times rows times classes up to which threads wait for the interpreter."""

MAX_VALUES = 40_000_000  # rows times classes that are looked at


def learn(
    columns: list[ColumnCells],
    rows: LearningRows,
    classes: Array,
    options: FitOptions = DEFAULTS,
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
    options : FitOptions
    """
    if options.parts is not None:
        options = replace(options, parts=min(options.parts, rows.n))
    elif rows.n < MIN_ROWS_PER_PART * PARTS:
        options = replace(options, parts=1)
    p = classes / classes.sum()
    if rows.n_classes == 1 or not columns:
        return Averaged.of_one(nothing_learned(columns, p, rows.n))
    if rows.keys is not None:
        return _of_any_columns(columns, rows, p, options)
    rows, was = canonical(rows, columns)
    learned = _of_any_columns(columns, rows, p, options)
    tested = was[learned.tested]
    order = np.argsort(tested)
    return replace(
        learned,
        tested=tested[order],
        log_proba=learned.log_proba[order],
        gained=learned.gained[order],
    )


def _of_any_columns(
    columns: list[ColumnCells], rows: LearningRows, p: Array, options: FitOptions
) -> Averaged:
    """What is learned of canonical rows, of columns some of which may be equal."""
    some = thinned(rows.y, rows.n_classes, MAX_VALUES // rows.n_classes)
    thin = rows if len(some) == rows.n else rows.take(some)
    kept, duplicates = distinct(thin.cells, [column.name for column in columns])
    if kept != list(range(len(columns))):  # the keys are of these already
        thin = replace(thin, cells=np.ascontiguousarray(thin.cells[kept]))
    different = [columns[j] for j in kept]
    with _controller().limit(limits=1, user_api="blas"):  # for small products threads only wait
        if options.parts == 1:
            found, used = Averaged.of_one(_learned(different, thin, p, options)), kept
            nearly = found.nearly
        else:  # which of near-copies is used is decided once, on all rows
            few = not too_many_columns(len(kept), float(thin.weight.sum()))
            nearly = represented(different, thin, p, options) if few else {}
            unlike = [j for j in range(len(kept)) if j not in nearly]
            used = [kept[j] for j in unlike]
            small = len(used) * thin.n * thin.n_classes < MAX_ONE_THREAD_WORK
            with on_one_thread() if small else nullcontext():
                of_used = [columns[j] for j in used], thin.among(unlike)
                found = averaged(*of_used, p, options, options.parts)
    smooth = found.smooth
    if smooth is not None:
        smooth = smooth.among([column.n_cells for column in columns], used)
    return replace(
        found,
        columns=columns,
        smooth=smooth,
        parts=[part.among(columns, used) for part in found.parts],
        tested=some[found.tested],
        duplicates=duplicates,
        nearly={kept[j]: kept[other] for j, other in nearly.items()},
    )


@cache
def _controller() -> ThreadpoolController:
    """Of the libraries that are loaded; looking for them takes some milliseconds."""
    return ThreadpoolController()


def _learned(
    columns: list[ColumnCells], rows: LearningRows, p: Array, options: FitOptions
) -> Learned:
    """Fit columns that differ from each other, and shrink the fit toward the class shares."""
    if not too_many_columns(len(columns), float(rows.weight.sum())):
        return _of_few_columns(columns, rows, p, options)

    def learner(columns: list[ColumnCells], rows: LearningRows) -> Callable[[float], Learned]:
        tables = column_tables(columns, p, rows)

        def learn(min_gain: float) -> Learned:
            kept = [j for j, table in enumerate(tables) if table.gain >= min_gain]
            selected = [columns[j] for j in kept], [tables[j] for j in kept]
            learning = Rounds(*selected, rows.among(kept), p, options)
            return learning.learned().among(columns, kept)

        return learn

    shrinkage = held_out_shrinkage(columns, rows, p, learner)
    learned = shrunk(learner(columns, rows)(shrinkage.min_gain), p, shrinkage.factor)
    return replace(learned, tested=np.arange(rows.n), log_proba=shrinkage.log_proba)


def _of_few_columns(
    columns: list[ColumnCells], rows: LearningRows, p: Array, options: FitOptions
) -> Learned:
    """The same with few columns for the rows, where leave-one-out is enough."""
    learned = fit_representatives(columns, rows, p, options)
    n_used = len(columns) - len(learned.nearly)
    factor = shrinkage_factor(rows, learned.tested, learned.log_proba, p, n_used)
    return shrunk(learned, p, factor)
