"""The contract of an engine: it counts rows where they are.

A source is whatever an engine reads: a frame, a relation in a database, a file. Callers declare
what to count (:class:`Counting`), or what to make of parts of the rows (:meth:`Engine.fold`), and
get the same from every engine. An engine knows no family and no estimator.
:mod:`tallybayes.engines.registry` finds the engine of a source.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import UnseenLevel
from tallybayes.schema import Columns
from tallybayes.tables import Table
from tallybayes.tally import (
    ClassCounts,
    CrossMoments,
    Moments,
    TableTally,
    Tally,
)

if TYPE_CHECKING:
    from tallybayes.sources.contract import SourceColumn

__all__ = [
    "FACTORS",
    "CompiledScore",
    "Condition",
    "CountLevels",
    "CountNumbers",
    "Counted",
    "Counting",
    "Engine",
    "Labels",
    "Sampler",
    "class_array",
    "finalized",
    "merged_tables",
    "need_columns",
    "need_rows_and_labels",
    "raise_infinite",
    "raise_no_rows",
    "raise_too_large",
    "raise_undeclared",
    "row_hashes",
    "sampled_marks",
    "sampled_rows",
]


# ---- what is to be counted -----------------------------------------------------------------------
@dataclass(frozen=True)
class CountLevels:
    """A column whose values are counted as levels.

    Parameters
    ----------
    only : list of str
        The levels that are counted each; all others together, as of
        :class:`~tallybayes.schema.SomeLevels`.
    closed : bool
        Whether a level that is not in `only` is an error.
    """

    only: list[str]
    closed: bool = False


@dataclass(frozen=True)
class CountNumbers:
    """A column of numbers, of which moments are counted.

    Parameters
    ----------
    non_negative : bool
        Whether a negative number is an error.
    """

    non_negative: bool = False


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
    columns : mapping
        By name, how each column is counted; others are not.
    where : sequence of Condition
        What rows have to meet to be counted.
    """

    columns: Mapping[str, CountLevels | CountNumbers]
    where: Sequence[Condition] = ()


class Labels(NamedTuple):
    """The classes of rows in memory.

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
class _Rows(Protocol):
    def take(self, rows: NDArray[np.intp]) -> Self:
        """Some of the rows."""


R = TypeVar("R")
Rows = TypeVar("Rows", bound=_Rows)


class Engine(Protocol):
    """Counts the rows of the sources that it reads.

    The results are those of every other engine on the same rows: counts of whole weights bit for
    bit, moments within their stated bound, the same sample.
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

    def collect(self, what: Counting, source: Any, target: str) -> TableTally:
        """The tally of the rows; `target` is the column of the class. A row without a label, and a
        source without a row, is an error."""

    def fold(
        self,
        source: Any,
        each: Callable[[Table, bool], tuple[R, Rows]],
        merge: Callable[[R, R], R],
        *,
        names: Sequence[str] | None = None,
        as_written: Collection[str] = (),
        max_rows: int | None = 0,
        noted: Callable[[R, Callable[[int], str]], None] | None = None,
    ) -> tuple[R | None, list[Rows]]:
        """What `each` makes of parts of the rows, merged in the rows' order, None without rows; and
        a fair sample of the rows: those whose numbers have the smallest hashes
        (:func:`row_hashes`).

        Parameters
        ----------
        source : Any
            As `open` returns it.
        each : callable (Table, bool) -> (R, Rows)
            The result for some rows, and the rows of a sample as the caller wants them; the second
            argument is whether columns have types. It is called on several threads, or machines.
        merge : callable (R, R) -> R
            The results of rows and of later rows together.
        names : sequence of str, optional
            The columns that are read; None: all that hold scalars.
        as_written : collection of str
            Columns whose values are strings as they are written, where the source has no types.
        max_rows : int or None
            How many rows the sample has at most; None: all.
        noted : callable (R, callable (int) -> str), optional
            Called with each result, in order, and with what messages call one of its rows, where
            results come to this process one by one.

        Raises
        ------
        ValueError
            As `each` and `merge` do; the message then says where the rows are.
        """


def need_columns(asked: Sequence[str], found: Sequence[str], what: str = "column") -> None:
    """Raises ValueError for the first column that a source does not have."""
    known = set(found)
    for name in asked:
        if name not in known:
            raise ValueError(
                f"the source has no {what} {name!r}; its columns are {list(found)}. Name one of "
                "them; names are distinguished by case"
            )


# ---- what engines check alike --------------------------------------------------------------------
Array = NDArray[np.float64]


def raise_infinite(name: str, values: NDArray[Any]) -> NoReturn:
    """Raises the ValueError for an infinite or overflowing column of numbers."""
    found = np.flatnonzero(np.isinf(values))
    if found.size:
        raise ValueError(
            f"Input X contains infinity: row {int(found[0])}, column {name!r} holds "
            f"{values[found[0]].item()!r}. Give a finite value, or NaN for a missing value."
        )
    raise_too_large(name)


def raise_too_large(name: str) -> NoReturn:
    """Raises the ValueError for a column whose squares overflow."""
    raise ValueError(
        f"column {name!r} is too large: the squares of its differences exceed float64 (about "
        "1e308). Rescale it."
    )


def class_array(labels: Iterable[Any]) -> NDArray[Any]:
    """Distinct labels in order, as an array (n_classes,); strings stay objects."""
    ordered = sorted(labels)
    if all(isinstance(label, bool | int | float) for label in ordered):
        return np.array(ordered)
    array = np.empty(len(ordered), dtype=object)
    array[:] = ordered
    return array


def need_rows_and_labels(n_rows: float, missing: float, target: str) -> None:
    """Raise ValueError if there are no rows, or if `missing` rows have no label."""
    if not n_rows:
        raise_no_rows()
    if missing:
        raise ValueError(
            f"{missing:g} rows of the evidence have no label in the target column {target!r}: fill "
            "them, or leave those rows out (of LazyNaiveBayes by where=)"
        )


def raise_no_rows() -> NoReturn:
    """Raises the ValueError for a source without rows."""
    raise ValueError("there is no evidence: the source, with the conditions of where=, has no rows")


def raise_undeclared(name: str, level: Any, declared: Sequence[str]) -> NoReturn:
    """Raises UnseenLevel for a level that is not among those declared."""
    raise UnseenLevel(
        f"column {name!r} of the source holds {level!r}, which is not among the declared "
        f"levels {declared}: declare it, or leave the rows out with where="
    )


def merged_tables(a: TableTally, b: TableTally) -> TableTally:
    """The tally of the rows of both.

    Raises
    ------
    IncompatibleTallies
        If a column is counted in ways that do not add.
    ValueError
        If the numbers of both are too far apart for float64 to hold their squares.
    """
    both = a.merged(b)
    for columns, group in both.pairs:
        if isinstance(group, Moments) and not np.isfinite(group.s2_hi).all():
            raise_too_large(columns.names[0] if columns.names else "")
        if isinstance(group, CrossMoments) and not np.isfinite(group.s2_hi).all():
            wrong = ~np.isfinite(group.columns().s2_hi).all(axis=0)
            raise_too_large(columns.names[int(np.argmax(wrong))] if columns.names else "")
    return both


# ---- a fair sample, the same in every engine: by a hash of the row's number ----------------------
FACTORS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
SHIFTS = (30, 27, 31)
CHUNK_ROWS = 1 << 22  # row numbers that are hashed at once


def finalized(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of SplitMix64: a one-to-one map that mixes all bits of each key.

    References
    ----------
    Steele, Lea and Flood (2014), "Fast splittable pseudorandom number generators", OOPSLA.
    """
    keys = (keys ^ (keys >> np.uint64(SHIFTS[0]))) * np.uint64(FACTORS[1])
    keys = (keys ^ (keys >> np.uint64(SHIFTS[1]))) * np.uint64(FACTORS[2])
    return keys ^ (keys >> np.uint64(SHIFTS[2]))


def row_hashes(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A hash of each row's number, which counts from 0."""
    return finalized((numbers + np.uint64(1)) * np.uint64(FACTORS[0]))


def sampled_rows(n_rows: int, n: int) -> NDArray[np.intp]:
    """The rows of the n smallest hashes, ascending."""
    if n >= n_rows:
        return np.arange(n_rows)
    hashes = row_hashes(np.arange(n_rows, dtype=np.uint64))  # the hash is one-to-one: no ties
    return np.sort(np.argpartition(hashes, n)[:n])


def sampled_marks(parts: Sequence[tuple[int, int]], n: int) -> NDArray[np.int64]:
    """The marks of the rows of the n smallest hashes, ascending, of parts one below the other.

    Parameters
    ----------
    parts : sequence of (int, int)
        The mark of a part's first row, and how many rows it has; marks count on from the first.
    n : int
    """
    sampler: Sampler[NDArray[np.int64]] = Sampler(n)
    for first, size in parts:
        for start in range(first, first + size, CHUNK_ROWS):
            marks = np.arange(start, min(first + size, start + CHUNK_ROWS), dtype=np.int64)
            sampler.add(marks, len(marks))
    return np.concatenate([*sampler.parts(), np.empty(0, dtype=np.int64)])


class Sampler(Generic[Rows]):
    """A fair sample of rows that come part by part: those of the n smallest hashes.

    Parameters
    ----------
    n : int or None
        How many rows are kept; None: all.
    """

    def __init__(self, n: int | None) -> None:
        self._n = n
        self._first = 0
        self._bound = np.uint64(2**64 - 1)
        self._kept: list[tuple[Rows, NDArray[np.uint64]]] = []

    def add(self, part: Rows, n_rows: int) -> None:
        """Takes from the next rows."""
        if self._n != 0:
            marks = row_hashes(np.arange(self._first, self._first + n_rows, dtype=np.uint64))
            self._keep(part, marks)
            self._cut(2)
        self._first += n_rows

    def parts(self) -> list[Rows]:
        """The sample, in the rows' order."""
        self._cut(1)
        return [part for part, _ in self._kept]

    def _keep(self, part: Rows, marks: NDArray[np.uint64]) -> None:
        rows = np.flatnonzero(marks <= self._bound)
        if len(rows):
            self._kept.append((part.take(rows), marks[rows]))

    def _cut(self, times: int) -> None:
        """Lets go of the rows beyond n, once there are so many times as many."""
        if self._n is None or sum(len(marks) for _, marks in self._kept) <= times * self._n:
            return
        marks = np.concatenate([marks for _, marks in self._kept])
        self._bound = np.partition(marks, self._n - 1)[self._n - 1]
        parts, self._kept = self._kept, []
        for part in parts:
            self._keep(*part)
