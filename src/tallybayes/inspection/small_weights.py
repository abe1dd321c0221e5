"""The warning about row weights so small that a declared smoothing outweighs the rows."""

from __future__ import annotations

from collections.abc import Hashable

from tallybayes.errors import WeightScaleWarning, warn_user
from tallybayes.tally import ClassCounts

__all__ = ["MIN_ROW_WEIGHT", "warn_of_light_rows"]

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
