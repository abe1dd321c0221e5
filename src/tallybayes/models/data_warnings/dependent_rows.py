"""Warnings about rows that are not independent observations."""

from __future__ import annotations

from collections.abc import Hashable

from tallybayes.errors import DependentRowsWarning, warn_user

__all__ = ["warn_of_copies"]


def warn_of_copies(n_rows: int, n_distinct: int, warned: set[Hashable]) -> None:
    """Warns, once for each fit, that rows are copies of fewer observations."""
    warn_user(
        f"rows repeat: the {n_rows:,} rows are copies of {n_distinct:,} observations, about "
        f"{n_rows / n_distinct:.3g} times each. All copies of a row are left out together, and "
        "weigh as much as they do together. Give each row once, with its number as sample_weight "
        "(--weight)",
        DependentRowsWarning,
        warned=warned,
        about="copies",
    )
