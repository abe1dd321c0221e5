"""Cells of a formula: the whole number, from 0 on, by which a value is looked up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Cells",
    "CodeCells",
    "CountCells",
    "Inexpressible",
    "Kind",
    "LevelCells",
    "NumberCells",
    "PairedCells",
]

Array = NDArray[np.float64]


Kind = Literal["text", "number", "integer", "decimal", "boolean", "date", "mixed"]
"""What values of a column are; "mixed" are numbers with strings among them."""


class Inexpressible(ValueError):
    """A part of a model cannot be written with these terms; the message gives the reason."""


@dataclass(frozen=True, eq=False)
class LevelCells:
    """The level of a value: 0 for a missing value, 1 + i for levels[i], the last for any other.

    Parameters
    ----------
    column : str
    levels : list of str
    refuses_others : bool
        Whether a row with any other level has no prediction.
    """

    column: str
    levels: list[str]
    refuses_others: bool = False

    @property
    def size(self) -> int:
        return len(self.levels) + 2


@dataclass(frozen=True, eq=False)
class NumberCells:
    """The interval of a number: 0 for a missing value, else 1 + the number of starts ≤ x.

    Parameters
    ----------
    column : str
    starts : float64 array (size − 2,)
        Ascending, finite.
    """

    column: str
    starts: Array

    @property
    def size(self) -> int:
        return len(self.starts) + 2


@dataclass(frozen=True, eq=False)
class CodeCells:
    """A whole number from 0 as it is; size − 1 for those beyond. A row with another value has no
    prediction.

    Parameters
    ----------
    column : str
    size : int
    truncates : bool
        Whether other numbers are cut to whole ones first.
    refuses_others : bool
        Whether a row with a number beyond has no prediction.
    """

    column: str
    size: int
    truncates: bool = False
    refuses_others: bool = False


@dataclass(frozen=True, eq=False)
class CountCells:
    """A count: 0 for a missing value or a negative number, else 1 + x as far as the cells go. A row
    with a number that is not whole has no prediction.

    Parameters
    ----------
    column : str
    size : int
    """

    column: str
    size: int


Single = LevelCells | NumberCells | CodeCells


@dataclass(frozen=True, eq=False)
class PairedCells:
    """Two cells together: a·width + b, where a and b are coarser cells of the two.

    Parameters
    ----------
    first, second : cells of single columns
    maps : two int arrays (size of the single cells,)
        a and b of each.
    width : int
        How many b there are.
    size : int
    """

    first: Single
    second: Single
    maps: tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]
    width: int
    size: int


Cells = Single | PairedCells
