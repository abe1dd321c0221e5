"""The warning about rows that belong together, as columns that identify groups of them show."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import DependentRowsWarning, listed, warn_user
from tallybayes.tally import GridCounts

__all__ = ["identifies_groups", "warn_of_groups"]

Array = NDArray[np.float64]

MIN_GROUPS = 50  # values of a column that identifies groups
MIN_GROUP_ROWS = 2.0  # rows of a value, in the median
MIN_PURE_SHARE = 0.99  # of the rows have a value that comes with one label
MAX_CHANCE_SHARE = 0.5  # of the rows may have one by chance
MAX_NAMES = 5


def identifies_groups(counts: Array, numbers: GridCounts | None) -> bool:
    """Whether the values of a column identify groups of rows with one label each, as the number of
    a customer does. Numbers do not, where neighbours have the same label: they predict it.

    Parameters
    ----------
    counts : float64 array (n_classes, n_values)
        In effective rows; those of numbers first, ascending.
    numbers : GridCounts, optional
        Counts of the numbers among them.
    """
    rows = counts.sum(axis=0)
    held = np.flatnonzero(rows > 0.0)
    if len(held) < MIN_GROUPS or np.median(rows[held]) < MIN_GROUP_ROWS:
        return False
    if numbers is not None and numbers.shift:  # a cell has several numbers
        return False
    counts, rows = counts[:, held], rows[held]
    total, share = float(rows.sum()), counts.sum(axis=1) / float(rows.sum())
    pure = counts.max(axis=0) >= rows * (1.0 - 1e-9)
    by_chance = float((rows * (share[:, None] ** rows).sum(axis=0)).sum())
    if rows[pure].sum() < MIN_PURE_SHARE * total or by_chance > MAX_CHANCE_SHARE * total:
        return False
    if numbers is None:
        return True
    label = counts.argmax(axis=0)
    alike = float((label[1:] == label[:-1]).mean())
    return alike < 0.5 * (1.0 + float(share @ share))


def warn_of_groups(values: Mapping[str, int], n_rows: float, warned: set[Hashable]) -> None:
    """Warns, once for each fit, of columns that identify groups of rows; `values` has how many
    values each has."""
    if not values:
        return
    several = "columns" if len(values) > 1 else "column"
    identify = "identify" if len(values) > 1 else "identifies"
    most = max(values.values())
    warn_user(
        f"the {several} {listed(map(repr, values), MAX_NAMES)} {identify} groups of rows with one "
        f"label each, {most:,} groups of about {n_rows / most:.3g} rows. If rows of a group belong "
        "together, such as those of one customer, rows of new groups are predicted worse than the "
        "figures of the fit say: name the groups by groups= (--group COLUMN), or leave the "
        f"{several} out",
        DependentRowsWarning,
        warned=warned,
        about="groups",
    )
