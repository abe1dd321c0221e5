"""Counted rows of a source: the tally, the columns and the declarations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.contract import Labels
from tallybayes.engines.stream import TalliesByType
from tallybayes.engines.tables import labels_of
from tallybayes.models.rows import RowsToCount
from tallybayes.tables import Empty, Table
from tallybayes.tables.columns import stacked, values_of
from tallybayes.tally import TableTally
from tallybayes.validation import labels_and_codes
from tallybayes.weighted.rows import row_contents

__all__ = [
    "Counted",
    "CountedRows",
    "HowToCount",
    "Kept",
    "Sample",
    "joined_rows",
    "labelled",
    "sample_of",
]

Array = NDArray[np.float64]
Fading = Callable[[int], float]


@dataclass(frozen=True, eq=False)
class Sample:
    """Some rows of a source.

    Parameters
    ----------
    x : Table
        As they were counted.
    labels : array (n_rows,)
    weights : float64 array (n_rows,), optional
    groups : Table, optional
        The column of groups, alone.
    """

    x: Table
    labels: NDArray[Any]
    weights: Array | None
    groups: Table | None = None

    def groups_of(self, rows: NDArray[np.intp] | None = None) -> NDArray[np.intp] | None:
        """The number of each row's group, of some or all of the rows; None without groups."""
        if self.groups is None:
            return None
        some = self.groups if rows is None else self.groups.take(rows)
        return np.unique(row_contents(some), return_inverse=True)[1].astype(np.intp)


@dataclass(frozen=True, eq=False)
class Counted:
    """The result of counting a source.

    Parameters
    ----------
    tally : TableTally
    first : RowsToCount
        Rows of the first part: names and declarations are theirs.
    n_rows : int
    sample : Sample
        Empty where no sample is requested.
    infinite : dict
        By column of numbers and strings, where the first string is that is an infinite number.
    """

    tally: TableTally
    first: RowsToCount
    n_rows: int
    sample: Sample
    infinite: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class HowToCount:
    """How rows of a source become a tally.

    Parameters
    ----------
    target : str
        The column of labels.
    weight : str or None
        The column of weights.
    prepare : callable (Table) -> RowsToCount
        Makes rows, without label and weight, what is counted. It is called on several threads, or
        machines.
    count : callable (RowsToCount, Labels) -> TableTally
        Likewise.
    fading : callable (int) -> float, optional
        By how much so many later rows multiply what was counted before them.
    group : str, optional
        The column of groups.
    keeps_group : bool
        Whether it is a column of the model nevertheless, declared to be left out.
    """

    target: str
    weight: str | None
    prepare: Callable[[Table], RowsToCount]
    count: Callable[[RowsToCount, Labels], TableTally]
    fading: Fading | None = None
    group: str | None = None
    keeps_group: bool = False

    def read(self, table: Table) -> tuple[RowsToCount, Labels]:
        """Rows as they are counted, and their labels."""
        labels = labels_of(table, self.target, self.weight)
        labels_and_codes(labels.classes)  # which refuses what are not classes
        given = (self.target, self.weight, self.group)
        others = {name: c for name, c in table.columns.items() if name not in given}
        if self.keeps_group and self.group is not None:
            others[self.group] = Empty(table.n_rows)
        return self.prepare(replace(table, columns=others)), labels

    def groups(self, table: Table) -> Table | None:
        """The column of groups, alone.

        Raises
        ------
        ValueError
            For a row without a group.
        """
        if self.group is None:
            return None
        column = table.columns[self.group]
        if None in values_of(column):
            row = values_of(column).index(None)
            raise ValueError(
                f"row {row} has no value in {self.group!r}, the column of groups: give each row "
                "its group, one of its own where it belongs to none"
            )
        return Table({self.group: column}, table.n_rows, True)


@dataclass(frozen=True, eq=False)
class CountedRows:
    """The result of counting adjacent rows.

    Parameters
    ----------
    first : RowsToCount
        The first of them, without its rows: columns, and what types settle, are those of the first
        rows and those that come later.
    tallies : TalliesByType
    n_rows : int
    """

    first: RowsToCount
    tallies: TalliesByType
    n_rows: int

    @classmethod
    def of(cls, rows: RowsToCount, tally: TableTally, typed: bool) -> CountedRows:
        """Of some rows."""
        tallies = TalliesByType({typed: tally})
        return cls(replace(rows, columns={}, n_rows=0), tallies, rows.n_rows)


def joined_rows(before: CountedRows, after: CountedRows, fading: Fading | None) -> CountedRows:
    """What rows and later ones have given together."""
    first, later = before.first, after.first
    names, what = first.names, first.declared
    if later.names != names:
        names = names.joined(later.names.seen, later.names.firm)
    if what.by_type:
        what = what.completed(later.declared, before.tallies.column_names())
    factor = None if fading is None else fading(after.n_rows)
    tallies = before.tallies.joined(after.tallies, factor)
    first = replace(first, names=names, declared=what)
    return CountedRows(first, tallies, before.n_rows + after.n_rows)


def labelled(
    table: Table, target: str, weight: str | None, known: dict[str, Any]
) -> tuple[Table, list[Any], Array | None]:
    """Rows without their label and weight, the labels, and the weights; `known` has what labels
    are that text writes so."""
    classes, codes, weights = labels_of(table, target, weight)
    x = {name: c for name, c in table.columns.items() if name not in (target, weight)}
    named = [known.get(label, label) for label in classes.tolist()]
    return Table(x, table.n_rows, True), [named[k] for k in codes.tolist()], weights


# ---- samples -------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Kept:
    """Rows of a part, without its tally."""

    x: Table
    labels: Labels
    typed: bool
    groups: Table | None = None

    def take(self, rows: NDArray[np.intp]) -> Kept:
        """Some of the rows."""
        classes, codes, weights = self.labels
        labels = Labels(classes, codes[rows], None if weights is None else weights[rows])
        groups = None if self.groups is None else self.groups.take(rows)
        return Kept(self.x.take(rows), labels, self.typed, groups)


def sample_of(parts: list[Kept], read: dict[str, Any] | None, classes: NDArray[Any]) -> Sample:
    """Rows one below the other; `read` has what labels of rows without types are."""
    if not parts:
        return Sample(Table({}, 0, True), classes[:0], None)
    found = [label for part in parts for label in _labels(part, read)]
    labels = np.empty(len(found), dtype=classes.dtype)
    labels[:] = found
    weights = [part.labels.weights for part in parts if part.labels.weights is not None]
    x = stacked([part.x for part in parts])
    groups = [part.groups for part in parts if part.groups is not None]
    together = stacked(groups) if groups else None
    return Sample(x, labels, np.concatenate(weights) if weights else None, together)


def _labels(part: Kept, read: dict[str, Any] | None) -> list[Any]:
    classes = part.labels.classes.tolist()
    if read is not None and not part.typed:
        classes = [read[label] for label in classes]
    return [classes[code] for code in part.labels.codes.tolist()]
