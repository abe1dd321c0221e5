"""Warnings about rows to predict whose values do not fit the kind of their column."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import FamilyWarning, TallyWarning, UnseenWarning, warn_user
from tallybayes.tables import Mixed, Numbers, Strings, Table
from tallybayes.tables.columns import values_of

__all__ = ["Watched", "warn_of_odd_values"]

BOOLEANS = frozenset((True, False, "True", "False", None))  # 1 and 0 are equal to them


class Watched(NamedTuple):
    """Columns that are watched for odd values.

    Parameters
    ----------
    counts : tuple of str
        Columns declared Poisson: a fraction is odd.
    booleans : tuple of str
        Columns that were learned as booleans: any other value is odd, unless it is refused.
    """

    counts: tuple[str, ...] = ()
    booleans: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """All of them."""
        return [*self.counts, *self.booleans]

    def may_be_odd(self, row: Mapping[str, Any], warned: set[Hashable]) -> bool:
        """Whether a row as a dict may hold an odd value that was not warned of. It is then read as
        a table, which is certain."""
        for kind, names in zip(KINDS, self, strict=True):
            for name in names:
                if not kind.fits(row.get(name)) and (kind.warning, name) not in warned:
                    return True
        return False


def _is_count(value: Any) -> bool:
    if isinstance(value, float):
        return value != value or value.is_integer()
    return value is None or isinstance(value, int | np.integer)


def _is_boolean(value: Any) -> bool:
    return value in BOOLEANS or (isinstance(value, float) and value != value)


def warn_of_odd_values(table: Table, watched: Watched, warned: set[Hashable]) -> None:
    """Warns of fractions in columns declared Poisson, and of other values in columns of booleans.

    Parameters
    ----------
    table : Table
        The rows, as they are scored.
    watched : Watched
    warned : set
        What the model has warned of already; see :func:`~tallybayes.errors.warn_user`.
    """
    for kind, names in zip(KINDS, watched, strict=True):
        for name in names:
            column = table.columns.get(name)
            row = kind.first(column)
            if column is not None and row is not None:
                value = values_of(column.take(slice(row, row + 1)))[0]
                message = kind.message.format(row=row, name=name, value=value)
                warn_user(message, kind.warning, warned=warned, about=name)


def _first_fraction(column: Any) -> int | None:
    """The first row that holds a fraction."""
    numbers = column.numbers if isinstance(column, Mixed) else column
    if not isinstance(numbers, Numbers) or numbers.values.dtype.kind != "f":
        return None
    values = numbers.values
    return _first((values != np.floor(values)) & ~np.isnan(values))


def _first_other(column: Any) -> int | None:
    """The first row that holds a level beside True and False."""
    if not isinstance(column, Strings):
        return None
    other = np.array([*(level not in BOOLEANS for level in column.levels), False])
    return _first(other[column.codes]) if other.any() else None


def _first(found: NDArray[np.bool_]) -> int | None:
    """The first row for which the condition holds."""
    return int(np.argmax(found)) if found.any() else None


class _Kind(NamedTuple):
    """Odd values of one kind: the check of a value of a dict, the first row of a column with such a
    value, and the message."""

    fits: Callable[[Any], bool]
    first: Callable[[Any], int | None]
    message: str
    warning: type[TallyWarning]


KINDS = (
    _Kind(
        _is_count,
        _first_fraction,
        "row {row}, column {name!r} holds {value}, which is not a whole number, but the column is "
        "declared Poisson, which is a family of counts: give counts, or declare Gaussian() before "
        "training",
        FamilyWarning,
    ),
    _Kind(
        _is_boolean,
        _first_other,
        "row {row}, column {name!r} holds {value!r}, but training had only True and False in it: "
        "it is read as a level that was not seen. Give a boolean, 0, 1, or None if it is missing",
        UnseenWarning,
    ),
)
"""The kinds of the columns of :class:`Watched`, in its order."""
