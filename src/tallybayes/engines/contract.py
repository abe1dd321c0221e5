"""The contract of an engine: it counts and scores rows where they are.

A source is whatever an engine reads: a frame, a relation in a database, a file. Callers declare
what to count (:class:`Counting`) and get tallies, rows and scores of the same types from every
engine. An engine knows no family and no estimator. :mod:`tallybayes.engines.registry` finds the
engine of a source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tallybayes.schema import Columns, Kind
from tallybayes.sources.contract import SourceColumn
from tallybayes.tables import Table
from tallybayes.tally import ClassCounts, TableTally, Tally

__all__ = [
    "CompiledScore",
    "Condition",
    "CountLevels",
    "CountNumbers",
    "Counted",
    "Counting",
    "Engine",
    "JointCells",
    "Labels",
    "RowScorer",
    "SourceColumn",
    "need_columns",
]


# ---- what is to be counted -----------------------------------------------------------------------
@dataclass(frozen=True)
class CountLevels:
    """A column whose values are counted as levels.

    Parameters
    ----------
    only : list of str, optional
        The levels that are counted each; all others together, as of
        :class:`~tallybayes.schema.SomeLevels`. None: each level that occurs.
    closed : bool
        Whether a level that is not in `only` is an error.
    """

    only: list[str] | None = None
    closed: bool = False


@dataclass(frozen=True)
class CountNumbers:
    """A column whose values are counted as numbers.

    Parameters
    ----------
    non_negative : bool
        Whether a negative number is an error.
    grid : bool
        Whether grid counts are wanted beside the moments.
    """

    non_negative: bool = False
    grid: bool = True


@dataclass(frozen=True)
class Condition:
    """A condition on the rows, in the language of the source.

    Parameters
    ----------
    text : str
    values : tuple
        For its markers ``?``.
    """

    text: str
    values: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Counting:
    """What to count.

    Parameters
    ----------
    columns : mapping, optional
        By name, how each column is counted; others are not. None: every column but the target and
        the weight, by what it holds.
    together : mapping of tuple of str to {"sums", "cross"}
        Groups of columns whose sums, or cross moments, are counted, in place of each by itself.
    where : sequence of Condition
        What rows have to meet to be counted.
    weight : str, optional
        The column of the rows' weights.
    """

    columns: Mapping[str, CountLevels | CountNumbers] | None = None
    together: Mapping[tuple[str, ...], Kind] = field(default_factory=dict)
    where: Sequence[Condition] = ()
    weight: str | None = None


class Labels(NamedTuple):
    """The classes of rows in memory, in place of a column's name.

    Parameters
    ----------
    classes : array (n_classes,)
        Sorted labels.
    codes : int32 array (n_rows,)
        Index of each row's class.
    weights : float64 array (n_rows,), optional
    """

    classes: NDArray[Any]
    codes: NDArray[np.int32]
    weights: NDArray[np.float64] | None = None


# ---- what comes back -----------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class JointCells:
    """How often values of several columns occur together, by class.

    Parameters
    ----------
    classes : array (n_classes,)
        Sorted labels.
    cells : list of tuples
        The combinations that occur, sorted: of each column the level, for a number the number of
        edges at or below it, None for a missing value.
    counts : float64 array (n_classes, n_cells)
        Rows, or weight.
    """

    classes: NDArray[Any]
    cells: list[tuple[str | int | None, ...]]
    counts: NDArray[np.float64]


class RowScorer(Protocol):
    """A model that scores rows of a table."""

    def joint_of(self, table: Table) -> NDArray[np.float64]:
        """log P(c) + log p(x | c) of each row, float64 (n_rows, n_classes), in nats."""


class Counted(NamedTuple):
    """An array's tally, and its columns with the levels that were found."""

    columns: Columns
    classes: ClassCounts
    tally: Tally


class CompiledScore(Protocol):
    """Parameters and class prior, ready to score rows in memory."""

    def joint(self, x: Any) -> NDArray[np.float64]:
        """offset_c + score_c(x) for each row, (n_rows, n_classes), in nats."""

    def best(self, x: Any) -> tuple[NDArray[np.int64], int]:
        """The class index of each row (the first of equals), and how many rows every class rules
        out; those get the fallback class."""


# ---- the engine ----------------------------------------------------------------------------------
class Engine(Protocol):
    """Counts and scores the rows of the sources that it reads.

    The results are those of every other engine on the same rows: counts of whole weights bit for
    bit, moments within their stated bound, the same sample, the same joint cells, scores to 1e-12.
    Every method raises ValueError, naming the column, where the source cannot be read, lacks a
    column that is asked for, or holds a value that is not admitted.
    """

    name: str

    def reads(self, source: Any) -> bool:
        """Whether the engine is the one for this source. It imports nothing for it and reads no
        row."""

    def open(self, source: Any, connection: Any = None) -> Any:
        """The source as the other methods take it, checked as far as no row has to be read.

        `connection` is where the engine looks a name or a query up. Its attribute `statement`, if
        it has one, is what was last asked of it, in its own language.
        """

    def columns(self, source: Any) -> dict[str, SourceColumn]:
        """The columns by name, without a row read."""

    def collect(self, what: Counting, source: Any, target: str | Labels) -> TableTally:
        """The tally of the rows; `target` is the column of the class, or for rows in memory their
        labels. A row without a label, and a source without a row, is an error."""

    def sample(self, source: Any, n: int) -> Table:
        """A fair sample of at most n rows, in their order: those whose numbers have the smallest
        hashes (:func:`tallybayes.engines.sampling.row_hashes`)."""

    def count_together(
        self,
        columns: Mapping[str, NDArray[np.float64] | None],
        source: Any,
        target: str,
        weight: str | None = None,
    ) -> JointCells:
        """How often the values of these columns occur together. A column's edges, ascending, cut
        its numbers into bins; None counts its levels."""

    def score(self, model: RowScorer, source: Any) -> NDArray[np.float64]:
        """log P(c) + log p(x | c) of each row, in their order, float64 (n_rows, n_classes)."""


def need_columns(asked: Sequence[str], found: Sequence[str], what: str = "column") -> None:
    """Raises ValueError for the first column that a source does not have."""
    known = set(found)
    for name in asked:
        if name not in known:
            raise ValueError(
                f"the source has no {what} {name!r}; its columns are {list(found)}. Name one of "
                "them; names are distinguished by case"
            )
