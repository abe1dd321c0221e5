"""How a page reads a value of a column: the entry of the table for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.reporting.form.encoding import exact

__all__ = ["NO_ENTRY", "REFUSED_ENTRY", "ColumnReader"]

Array = NDArray[np.float64]

NO_ENTRY = -1
"""The entry of a value that adds nothing."""
REFUSED_ENTRY = -2
"""The entry of a value that the model does not accept."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnReader:
    """The entries of a column's values.

    Parameters
    ----------
    name : str
    missing : int
        The entry of a missing value.
    starts : float64 array (n_numbers − 1,), optional
        For a column with numbers: a number is in the entry ``first_number`` plus the count of
        starts at or below it.
    first_number : int
    levels : mapping of str to int
        The entries of levels.
    other : int
        The entry of a level that is not listed.
    least : int
        1 where negative numbers are refused, 2 where zero is refused as well.
    """

    name: str
    missing: int
    starts: Array | None = None
    first_number: int = 0
    levels: Mapping[str, int] = field(default_factory=dict)
    other: int = NO_ENTRY
    least: int = 0

    def entries_of_numbers(self, values: Array) -> NDArray[np.intp]:
        """The entry of each number; NaN is a missing value."""
        assert self.starts is not None
        found = self.first_number + np.searchsorted(self.starts, values, side="right")
        return np.where(np.isnan(values), self.missing, found)

    def entry_of_level(self, level: str) -> int:
        """The entry of a level."""
        return self.levels.get(level, self.other)

    def document(self) -> dict[str, Any]:
        """The reader as JSON."""
        return {
            "name": self.name,
            "missing": self.missing,
            "starts": None if self.starts is None else exact(self.starts),
            "firstNumber": self.first_number,
            "levels": list(self.levels),
            "entries": list(self.levels.values()),
            "other": self.other,
            "least": self.least,
        }
