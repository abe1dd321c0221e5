"""Some rows of a text file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Batch"]


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a file.

    Parameters
    ----------
    table : pyarrow.Table
    first : int
        Index of its first row in the file, from 0.
    done : float, optional
        The share of the file that has been read so far, where that is known.
    kept : pyarrow.Table, optional
        Columns of these rows as they are written.
    """

    table: Any
    first: int
    done: float | None = None
    kept: Any = None

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return int(self.table.num_rows)
