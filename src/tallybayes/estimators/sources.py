"""Learning from rows of a source, part by part or where they lie, and predicting them; and how they
were read: their columns, kinds and spelling."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.contract import Engine, Labels
from tallybayes.engines.stream import TalliesByType
from tallybayes.engines.tables import labels_of
from tallybayes.errors import IncompatibleTallies, ModelFileError
from tallybayes.estimators.saving import EXTRA
from tallybayes.models.rows import (
    RowsToCount,
    first_infinite,
)
from tallybayes.persistence import Unfit, constructed, fit
from tallybayes.sources.cells import Kind
from tallybayes.sources.contract import (
    Distributed,
    Part,
    Source,
    SourceColumn,
    over_parts,
)
from tallybayes.sources.files import (
    is_database,
    is_paths,
    is_source,
    source_of,
    source_of_paths,
)
from tallybayes.sources.opening import header_hint
from tallybayes.sources.options import MISSING, DateOrder, Spelling
from tallybayes.tables import Empty, Strings, Table, read_table
from tallybayes.tables.columns import stacked, values_of
from tallybayes.tally import TableTally
from tallybayes.threads import on_one_thread
from tallybayes.validation import labels_and_codes
from tallybayes.weighted.rows import row_contents

__all__ = [
    "Counted",
    "HowToCount",
    "ReadBy",
    "hits_of",
    "labelled",
    "need_name",
    "opened_for",
    "predicted_where_rows_lie",
    "remember",
    "right_where_rows_lie",
    "rows_of",
    "spelling_of",
    "tables_of",
]


# ---- rows of a source, counted where they are, and a fair sample of them -------------------------
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
class CountedRows:
    """The result of counting adjacent rows.

    Parameters
    ----------
    first : RowsToCount
        The first of them, without its rows: columns, and what types settle, are those of the first
        rows and those that come later.
    tallies : TalliesByType
    n_rows : int
    infinite : dict
        By column of numbers and strings, the row of the first string that is an infinite number.
    """

    first: RowsToCount
    tallies: TalliesByType
    n_rows: int
    infinite: dict[str, int]


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

    def own_labels(self, read: dict[str, Any] | None) -> list[Any]:
        """The label of each row; `read` has what labels of rows without types are."""
        classes = self.labels.classes.tolist()
        if read is not None and not self.typed:
            classes = [read[label] for label in classes]
        return [classes[code] for code in self.labels.codes.tolist()]


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

    def over(
        self,
        engine: Engine,
        source: Any,
        *,
        as_written: Collection[str],
        left_out: Collection[str],
        max_rows: int | None = 0,
    ) -> Counted:
        """The tally of a source's rows, and a sample of them.

        Parameters
        ----------
        engine : Engine
            That of the source.
        source : Any
        as_written : collection of str
            Columns whose values are levels as they are written, where the source has no types.
        left_out : collection of str
            Columns that are not read.
        max_rows : int, optional
            How many rows the sample has at most; None: all.

        Raises
        ------
        ValueError
            If there are no rows, a column is missing, or a row has no label, weight or group; the
            message then names the place.
        """
        columns, name = engine.columns(source), getattr(source, "name", "the source")
        beside = {"target": self.target, "weight": self.weight, "group": self.group}
        for what, asked in beside.items():
            if asked is not None and asked not in columns:
                names = list(columns)
                raise ValueError(
                    f"{name} has no column {asked!r}, the {what}; its columns are {names}"
                    f"{(hint := header_hint(names)) and '.'}{hint}"
                )
        read = None
        if left_out:
            read = [n for n, c in columns.items() if n not in left_out and c.kind is not None]
        infinite: dict[str, str] = {}

        def note(part: CountedRows, place: Callable[[int], str]) -> None:
            for column, row in part.infinite.items():
                infinite.setdefault(column, place(row))

        folded = engine.fold(
            source,
            self.each,
            self.merged,
            names=read,
            as_written={self.target, *as_written, *([self.group] if self.group else [])},
            max_rows=max_rows,
            noted=note,
        )
        counted, kept = folded
        if counted is None:
            raise ValueError(f"{name} has no rows: there is nothing to learn from")
        tally, known = counted.tallies.read()
        sample = Sample(Table({}, 0, True), tally.schema.classes[:0], None)
        if kept:
            found = [label for part in kept for label in part.own_labels(known)]
            labels = np.empty(len(found), dtype=tally.schema.classes.dtype)
            labels[:] = found
            weights = [part.labels.weights for part in kept if part.labels.weights is not None]
            groups = [part.groups for part in kept if part.groups is not None]
            sample = Sample(
                stacked([part.x for part in kept]),
                labels,
                np.concatenate(weights) if weights else None,
                stacked(groups) if groups else None,
            )
        return Counted(tally, counted.first, counted.n_rows, sample, infinite)

    def each(self, table: Table, typed: bool) -> tuple[CountedRows, Kept]:
        """The result of counting some rows of a source, and the rows; `typed`: whether columns have
        types."""
        target, group, n_rows = self.target, self.group, table.n_rows
        if not typed:
            column = table.columns[target]
            missing = column.codes < 0 if isinstance(column, Strings) else np.ones(n_rows, bool)
            if missing.any():
                raise ValueError(
                    f"row {int(np.argmax(missing))} has no label in {target!r}: fill it in, or "
                    "leave the row out. If it holds a label such as NA, which means missing by "
                    "default, tallybayes.csv(path, missing=['']) takes it as text"
                )
        labels = labels_of(table, target, self.weight)
        labels_and_codes(labels.classes)  # which refuses what are not classes
        given = (target, self.weight, group)
        others = {name: c for name, c in table.columns.items() if name not in given}
        if self.keeps_group and group is not None:
            others[group] = Empty(n_rows)
        rows = self.prepare(replace(table, columns=others))
        groups = None
        if group is not None:
            if None in (values := values_of(table.columns[group])):
                raise ValueError(
                    f"row {values.index(None)} has no value in {group!r}, the column of groups: "
                    "give each row its group, one of its own where it belongs to none"
                )
            groups = Table({group: table.columns[group]}, n_rows, True)
        tallies = TalliesByType({typed: self.count(rows, labels)})
        infinite = {name: row for name, (row, _) in first_infinite(rows).items()}
        first = replace(rows, columns={}, n_rows=0)
        kept = Kept(Table(rows.columns, rows.n_rows, True), labels, typed, groups)
        return CountedRows(first, tallies, rows.n_rows, infinite), kept

    def merged(self, before: CountedRows, after: CountedRows) -> CountedRows:
        """What rows and later ones have given together."""
        first, later = before.first, after.first
        names, what = first.names, first.declared
        if later.names != names:
            names = names.joined(later.names.seen, later.names.firm)
        if what.by_type:
            what = what.completed(later.declared, before.tallies.column_names())
        factor = None if self.fading is None else self.fading(after.n_rows)
        try:
            tallies = before.tallies.joined(after.tallies, factor)
        except IncompatibleTallies as error:
            if "class labels" not in str(error):
                raise
            raise IncompatibleTallies(f"the label {self.target!r}: {error}") from error
        first = replace(first, names=names, declared=what)
        return CountedRows(first, tallies, before.n_rows + after.n_rows, {})


# ---- sources, and tables as sources --------------------------------------------------------------
class _Whole:
    """A table in memory as a source of one part."""

    once = False
    name = "the table"

    def __init__(self, table: Table) -> None:
        self._table = table

    def columns(self) -> dict[str, SourceColumn]:
        return {name: SourceColumn(name, "mixed", "") for name in self._table.columns}

    def parts(
        self, names: Sequence[str] | None = None, as_written: Collection[str] = ()
    ) -> Iterator[Part]:
        yield Part(lambda: self._table, "")


def need_name(given: Any, parameter: str) -> None:
    """Raises ValueError for weights or groups that are not a column of the source."""
    if not (given is None or isinstance(given, str)):
        raise ValueError(
            f"{parameter} is the name of a column where y is, as the rows are read part by part; "
            f"got a {type(given).__name__}"
        )


def rows_of(
    x: Any,
    threads: int = 1,
    left_out: Container[str] = (),
    needed: Container[str] | None = None,
    opened: Callable[[Any], Source] = source_of,
) -> Source:
    """A source, or a table in memory as one, whose columns are read as by :func:`read_table`.

    Raises
    ------
    ValueError
        If x is a table whose columns have no names.
    """
    if is_source(x):
        return opened(x)
    table = read_table(x, threads, left_out, needed)
    if not table.named:
        raise ValueError(
            "y is the name of a column, but X has no column names: give a data frame, or the "
            "labels as an array"
        )
    return _Whole(table)


def tables_of(
    source: Source, names: Sequence[str] | None, as_written: Collection[str]
) -> Iterator[Table]:
    """The parts of a source as tables, in order; a part is read while the one before is used."""
    parts = source.parts(names, as_written)
    return (done.result for done in over_parts(parts, lambda table, _: table))


# ---- scores and predictions ----------------------------------------------------------------------
def labelled(
    table: Table, target: str, weight: str | None, known: dict[str, Any]
) -> tuple[Table, list[Any], Array | None]:
    """Rows without their label and weight, the labels, and the weights; `known` has what labels
    are that text writes so."""
    classes, codes, weights = labels_of(table, target, weight)
    x = {name: c for name, c in table.columns.items() if name not in (target, weight)}
    named = [known.get(label, label) for label in classes.tolist()]
    return Table(x, table.n_rows, True), [named[k] for k in codes.tolist()], weights


def hits_of(model: Any, x: Table, labels: list[Any], weights: Array | None) -> tuple[float, float]:
    """The weight of the rows that are predicted as they are labelled, and that of all."""
    predicted = model.predict(x).tolist()
    hits = np.array([label == p for label, p in zip(labels, predicted, strict=True)])
    if weights is None:
        return float(hits.sum()), float(len(hits))
    return float(weights[hits].sum()), float(weights.sum())


def right_where_rows_lie(
    model: Any, source: Distributed, names: Sequence[str], target: str, weight: str | None
) -> tuple[float, float]:
    """The weight of a source's rows that are predicted as they are labelled, and that of all."""
    found = source.fold(list(dict.fromkeys(names)), partial(_right, model, target, weight), _added)
    return (0.0, 0.0) if found is None else found.result


def _right(model: Any, target: str, weight: str | None, table: Table) -> tuple[float, float]:
    with on_one_thread():
        return hits_of(model, *labelled(table, target, weight, {}))


def _added(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return a[0] + b[0], a[1] + b[1]


def predicted_where_rows_lie(model: Any, source: Distributed, names: Sequence[str]) -> Any:
    """The rows with the columns ``prediction`` and, for each class, ``p(label)``."""
    labels = model.classes_.tolist()
    new = {"prediction": type(labels[0])} | {f"p({label})": float for label in labels}
    return source.with_columns(names, partial(_predicted, model), new)


def _predicted(model: Any, table: Table) -> list[Any]:
    """The labels of rows, and the probability of each class."""
    with on_one_thread():
        labels, proba = model.predict(table), model.predict_proba(table)
    return [labels.tolist(), *np.ascontiguousarray(proba.T)]


# ---- how the rows of a model were read, kept beside it -------------------------------------------
Marks = list[str] | tuple[str, ...]


@dataclass(frozen=True)
class _Kept:
    """What is kept beside a model."""

    target: str | None = None
    column: str | None = None
    made: str | None = None
    weight: str | None = None
    kinds: dict[str, Kind | None] = field(default_factory=dict)
    missing: Marks = MISSING
    missing_of: dict[str, Marks] = field(default_factory=dict)
    decimal: str = "."
    thousands: str | None = None
    dates: DateOrder = "ymd"
    flatten: bool = False


RENAMED = {"gaps": "missing", "gaps_of": "missing_of"}
"""What files of earlier versions call an entry, and what it is called now."""


@dataclass(eq=False)
class ReadBy:
    """How rows or documents were read.

    Parameters
    ----------
    target : str or None
        The column of the labels, or the header of messages that holds them.
    column : str or None
        Of documents, where these are rows.
    weight : str or None
        The column of weights.
    kinds : dict
        The kind of each column, where that is known.
    spelling : Spelling
        Of strings: missing values, numbers and dates.
    flatten : bool
        Whether objects within rows were flattened.
    made : str or None
        The digest of the counts that a command has made; those that the model has now may be
        others.
    """

    target: str | None = None
    column: str | None = None
    weight: str | None = None
    kinds: dict[str, Kind | None] = field(default_factory=dict)
    spelling: Spelling = Spelling()  # noqa: RUF009  # frozen
    flatten: bool = False
    made: str | None = None

    @classmethod
    def of(cls, extra: Any, path: str = "the model") -> ReadBy:
        """Read what a model file has beside its model.

        Parameters
        ----------
        extra : dict or None
            What is beside it.
        path : str
            The file, for messages.

        Returns
        -------
        ReadBy
            How rows were read.

        Raises
        ------
        ModelFileError
            If an entry is not what it should be.
        """
        own = (extra or {}).get("cli", {})
        if isinstance(own, dict):
            own = {RENAMED.get(name, name): value for name, value in own.items()}
        where = "the command line's part"
        try:
            mine: _Kept = fit(_Kept, own, where)
            missing_of = {name: tuple(strings) for name, strings in mine.missing_of.items()}
            marks = mine.decimal, missing_of, mine.thousands, mine.dates
            spelling = constructed(Spelling, where, tuple(mine.missing), *marks)
        except Unfit as error:
            raise ModelFileError(f"{path} is whole, but no model file: {error}") from error
        columns = mine.target, mine.column, mine.weight, mine.kinds
        return cls(*columns, spelling, mine.flatten, mine.made)

    def extra(self) -> dict[str, Any]:
        """Write what a model file has beside its model.

        Returns
        -------
        dict
            What is not as it is by default.
        """
        spelling = self.spelling
        own = {
            "target": self.target,
            "column": self.column,
            "made": self.made,
            "weight": self.weight,
            "kinds": self.kinds,
            "missing": spelling.missing,
            "missing_of": spelling.missing_of,
            "decimal": spelling.decimal,
            "thousands": spelling.thousands,
            "dates": spelling.dates,
            "flatten": self.flatten,
        }
        usual = vars(_Kept())
        return {"cli": {name: value for name, value in own.items() if value != usual[name]}}


def remember(estimator: Any, read_by: ReadBy) -> None:
    """Keeps beside an estimator how its rows were read; its file will have it, too."""
    estimator.__dict__[EXTRA] = {**estimator.__dict__.get(EXTRA, {}), **read_by.extra()}


def spelling_of(source: Any) -> Spelling:
    """How a source reads strings; of paths and of what has types, as usual."""
    if not hasattr(type(source), "parts"):  # attributes of a frame may be its columns
        return Spelling()
    first = getattr(source, "sources", [source])[0]
    found = getattr(first, "spelling", None) or getattr(
        getattr(first, "source", None), "spelling", None
    )
    return found if isinstance(found, Spelling) else Spelling()


def opened_for(estimator: Any, x: Any) -> Source:
    """A source for an estimator: paths are read as those of its fit were."""
    if EXTRA not in estimator.__dict__ or not is_paths(x) or is_database(x):
        return source_of(x)
    known = estimator.read_by_
    paths = [x] if not isinstance(x, list | tuple) else x
    return source_of_paths(
        list(map(os.fspath, paths)), flatten=known.flatten, spelling=known.spelling
    )
