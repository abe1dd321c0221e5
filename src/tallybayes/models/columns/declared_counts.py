"""Whether the counts of a column fit its declared family."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from tallybayes.errors import FamilyWarning, warn_user
from tallybayes.models.columns.declarations import Declared
from tallybayes.models.data_warnings.tiny_columns import tiny_columns, warn_of_tiny
from tallybayes.tally import CrossMoments, GridCounts, Moments, TableTally

__all__ = ["check_counts", "need_two_levels"]


def check_counts(tally: TableTally, declared: Declared, warned: set[Hashable]) -> None:
    """Checks a tally that a model begins to hold against the families that are declared.

    Warns, once a fit, of columns of counts that hold fractions, and of columns that are declared
    Gaussian and whose squares underflow.

    Raises
    ------
    ValueError
        If a column that is declared Bernoulli has more than two levels.
    """
    if declared.families or declared.groups:
        need_two_levels(tally, declared)
        _warn_of_fractions(tally, declared, warned)
        _warn_of_tiny_numbers(tally, declared, warned)


def need_two_levels(tally: TableTally, declared: Declared) -> None:
    """Raises ValueError where a column that is declared Bernoulli has more than two levels."""
    for columns in tally.schema.groups:
        if columns.kind != "levels" or columns.names is None or columns.levels is None:
            continue
        name, levels = columns.names[0], columns.levels[0].tolist()
        most = declared.most_levels(name)
        if most is not None and declared.levels(name) is None and len(levels) > most:
            family = type(declared.families[name]).__name__
            raise ValueError(
                f"column {name!r} is declared {family}, which has at most {most} levels, but it "
                f"holds {sorted(levels)}: declare it Categorical(), or clean it"
            )


def _warn_of_fractions(tally: TableTally, declared: Declared, warned: set[Hashable]) -> None:
    """Warns of columns of counts that hold other numbers, once a fit."""
    for columns, group in zip(tally.schema.groups, tally.groups, strict=True):
        if not isinstance(group, GridCounts) or columns.names is None:
            continue
        family = declared.families.get(columns.names[0])
        if family is None or not family.whole:
            continue
        values = group.values()
        fractions = values[(values != np.floor(values)) & group.counts.any(axis=0)]
        if len(fractions):
            warn_user(
                f"column {columns.names[0]!r} is declared {type(family).__name__}, which is a "
                f"family of counts, but it holds {fractions[0]:.6g}, which is not a whole number: "
                "declare Gaussian(), or give counts",
                FamilyWarning,
                warned=warned,
                about=columns.names[0],
            )


def _warn_of_tiny_numbers(tally: TableTally, declared: Declared, warned: set[Hashable]) -> None:
    """Warns of columns that are declared Gaussian and whose squares underflow, once a fit."""
    tiny: list[str] = []
    for columns, group in zip(tally.schema.groups, tally.groups, strict=True):
        names = columns.names
        if names is None or not isinstance(group, Moments | CrossMoments):
            continue
        of_one = declared.families.get(names[0])  # a group is read by its squares, too
        if isinstance(group, CrossMoments) or getattr(of_one, "needs_squares", False):
            tiny += [names[j] for j in tiny_columns(group).tolist()]
    warn_of_tiny(tiny, warned)
