"""The warning about row weights so small that a declared smoothing outweighs the rows."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import (
    LeakWarning,
    RareClassWarning,
    UninformativeWarning,
    WeightScaleWarning,
    listed,
    warn_user,
)
from tallybayes.tally import ClassCounts

if TYPE_CHECKING:
    from tallybayes.models.weighting import WeightingNow
    from tallybayes.weighted.cells import ColumnCells

__all__ = ["MIN_ROW_WEIGHT", "warn_of_light_rows", "warn_of_rows"]


MIN_ROW_WEIGHT = 0.1
"""An effective row of less weight is outweighed ten times by a smoothing of one row."""


def warn_of_light_rows(classes: ClassCounts, alpha: float, warned: set[Hashable]) -> None:
    """Warns, once for each fit, where an effective row weighs less than 0.1, with the factor by
    which to multiply the weights. `alpha` is the declared smoothing, in rows of weight 1."""
    unit = classes.pooled_row_weight
    if unit >= MIN_ROW_WEIGHT:
        return
    warn_user(
        f"the weights sum to {classes.count.sum():.3g}, but are those of about "
        f"{classes.pooled_effective_rows:.0f} rows: smoothing by {alpha:g} weighs as much as "
        f"{alpha / unit:.3g} rows. If a row is to count as one, multiply sample_weight by "
        f"{1.0 / unit:.4g}",
        WeightScaleWarning,
        warned=warned,
    )


# ---- data-quality warnings about the rows that weights were learned on ---------------------------
Array = NDArray[np.float64]

MIN_ROWS = 50  # rows: with fewer, nobody expects much
MIN_CLASS_ROWS = 5  # rows of a class
MIN_SHARED_CELLS = 0.95  # of the rows share their cell with another row
MAX_NAMES = 5  # names in a warning


def warn_of_rows(now: WeightingNow, classes: NDArray[Any], rows: Array, n_columns: int) -> None:
    """Warns of classes with next to no rows, of a column that alone determines the class, and
    where nothing could be learned.

    Parameters
    ----------
    now : WeightingNow
    classes : array (n_classes,)
    rows : float64 array (n_classes,)
        The rows of each class.
    n_columns : int
        The columns of the table, including those that are left out.
    """
    total = rows.sum()
    if total < MIN_ROWS:
        return
    rare = [
        f"{classes[k]} ({rows[k]:g})"
        for k in np.flatnonzero((rows > 0.0) & (rows < MIN_CLASS_ROWS))
    ]
    if rare:
        warn_user(
            f"classes with fewer than {MIN_CLASS_ROWS} rows: {listed(rare, MAX_NAMES)}. "
            "Predictions of these classes are unreliable: add rows, or join them to other classes",
            RareClassWarning,
        )
    deciding = [column.name for column in now.columns if _decides_alone(column)]
    if deciding:
        each = "each of the columns" if len(deciding) > 1 else "the column"
        warn_user(
            f"{each} {listed(map(repr, deciding), MAX_NAMES)} alone determines the class of all "
            f"{total:g} rows without error. Is it the class by another name, or only known "
            f"afterwards? Then leave it out: columns={{{deciding[0]!r}: None}}, or --column "
            f"{deciding[0]}=none",
            LeakWarning,
        )
    if n_columns and not len(now.score.speaking) and not now.score.text_parts:
        warn_user(
            f"no column of {n_columns} predicts the class better than chance on "
            f"{total:g} rows: every prediction is by the shares of the classes",
            UninformativeWarning,
        )


def _decides_alone(column: ColumnCells) -> bool:
    """Whether each cell holds rows of one class, and few rows are alone in their cells."""
    held = column.counts.sum(axis=1)
    apart = (column.counts > 0.0).sum(axis=1) <= 1
    return bool(apart.all() and held[held >= 2.0].sum() > MIN_SHARED_CELLS * held.sum())
