"""Some rows of a file."""

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
    lines : list of int, optional
        Line of each row, from 1, where a row is a line.
    done : float, optional
        The share of the file that has been read so far, where that is known.
    """

    table: Any
    first: int
    lines: list[int] | None = None
    done: float | None = None
