"""Learning from rows of a source, part by part or where they lie, and predicting them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.contract import Engine, Labels, merged_tables, need_columns
from tallybayes.engines.registry import ENGINES, engine_of
from tallybayes.engines.stream import TalliesByType
from tallybayes.engines.tables import Shifts, labels_of
from tallybayes.errors import IncompatibleTallies, SourceError
from tallybayes.estimators.base import TallyClassifier
from tallybayes.estimators.one_row import with_classes
from tallybayes.estimators.read_by import ReadBy, opened_for, remember, spelling_of
from tallybayes.estimators.saving import EXTRA
from tallybayes.labels import places_among
from tallybayes.models.class_weights import ClassWeights, by_class, resolved, weighted
from tallybayes.models.declarations import Declared, declared
from tallybayes.models.rows import (
    Names,
    RowsToCount,
    first_infinite,
    first_rows,
    need_finite,
    rows_to_count,
)
from tallybayes.models.table import TableModel
from tallybayes.sources.contract import (
    Distributed,
    Part,
    Source,
    SourceColumn,
    is_distributed,
    over_parts,
    restarted,
)
from tallybayes.sources.files import is_relation, is_source, is_spark_frame, source_of
from tallybayes.sources.opening import header_hint
from tallybayes.tables import AllBut, Empty, Strings, Table, read_table
from tallybayes.tables.columns import stacked, values_of
from tallybayes.tally import TableTally
from tallybayes.threads import get_num_threads, on_one_thread
from tallybayes.validation import as_numpy, labels_and_codes
from tallybayes.weighted.rows import row_contents

if TYPE_CHECKING:
    from tallybayes.sources.rows import PredictedRows, Predictions

__all__ = [
    "Counted",
    "CountedRows",
    "FromSources",
    "HowToCount",
    "Kept",
    "Sample",
    "count_rows",
    "counted_rows",
    "hits_of",
    "joined_rows",
    "labelled",
    "need_name",
    "predicted_rows",
    "predicted_where_rows_lie",
    "right_where_rows_lie",
    "rows_of",
    "sample_of",
    "tables_of",
]


# ---- counted rows of a source: the tally, the columns and the declarations -----------------------
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
    infinite : dict
        By column of numbers and strings, the row of the first string that is an infinite number.
    """

    first: RowsToCount
    tallies: TalliesByType
    n_rows: int
    infinite: dict[str, int]


def counted_rows(how: HowToCount, table: Table, typed: bool) -> tuple[CountedRows, Kept]:
    """The result of counting some rows of a source, and the rows; `typed`: whether columns have
    types."""
    if not typed:
        column = table.columns[how.target]
        missing = column.codes < 0 if isinstance(column, Strings) else np.ones(table.n_rows, bool)
        if missing.any():
            raise ValueError(
                f"row {int(np.argmax(missing))} has no label in {how.target!r}: fill it in, or "
                "leave the row out. If it holds a label such as NA, which means missing by "
                "default, tallybayes.csv(path, missing=['']) takes it as text"
            )
    rows, labels = how.read(table)
    groups = how.groups(table)
    tallies = TalliesByType({typed: how.count(rows, labels)})
    infinite = {name: row for name, (row, _) in first_infinite(rows).items()}
    first = replace(rows, columns={}, n_rows=0)
    kept = Kept(Table(rows.columns, rows.n_rows, True), labels, typed, groups)
    return CountedRows(first, tallies, rows.n_rows, infinite), kept


def joined_rows(how: HowToCount, before: CountedRows, after: CountedRows) -> CountedRows:
    """What rows and later ones have given together."""
    first, later = before.first, after.first
    names, what = first.names, first.declared
    if later.names != names:
        names = names.joined(later.names.seen, later.names.firm)
    if what.by_type:
        what = what.completed(later.declared, before.tallies.column_names())
    factor = None if how.fading is None else how.fading(after.n_rows)
    try:
        tallies = before.tallies.joined(after.tallies, factor)
    except IncompatibleTallies as error:
        if "class labels" not in str(error):
            raise
        raise IncompatibleTallies(f"the label {how.target!r}: {error}") from error
    first = replace(first, names=names, declared=what)
    return CountedRows(first, tallies, before.n_rows + after.n_rows, {})


def labelled(
    table: Table, target: str, weight: str | None, known: dict[str, Any]
) -> tuple[Table, list[Any], Array | None]:
    """Rows without their label and weight, the labels, and the weights; `known` has what labels
    are that text writes so."""
    classes, codes, weights = labels_of(table, target, weight)
    x = {name: c for name, c in table.columns.items() if name not in (target, weight)}
    named = [known.get(label, label) for label in classes.tolist()]
    return Table(x, table.n_rows, True), [named[k] for k in codes.tolist()], weights


# ---- a sample of the counted rows ----------------------------------------------------------------
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


# ---- rows of a source, counted part by part; their label, and their weight, are columns of it ----
# The engine of the source counts the rows where they are, and keeps a fair sample for what is
# chosen on rows.
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


def count_rows(
    engine: Engine,
    source: Any,
    how: HowToCount,
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
    how : HowToCount
    as_written : collection of str
        Columns whose values are levels as they are written, where the source has no types.
    left_out : collection of str
        Columns that are not read.
    max_rows : int, optional
        How many rows the sample has at most; None: all.

    Raises
    ------
    ValueError
        If there are no rows, a column is missing, a row has no label or weight, or as `how` does;
        the message then names the place.
    """
    columns = engine.columns(source)
    name = getattr(source, "name", "the source")
    for asked, what in ((how.target, "target"), (how.weight, "weight"), (how.group, "group")):
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
        partial(counted_rows, how),
        partial(joined_rows, how),
        names=read,
        as_written={how.target, *as_written, *([how.group] if how.group else [])},
        max_rows=max_rows,
        noted=note,
    )
    counted, kept = folded
    if counted is None:
        raise ValueError(f"{name} has no rows: there is nothing to learn from")
    tally, labels = counted.tallies.read()
    sample = sample_of(kept, labels, tally.schema.classes)
    return Counted(tally, counted.first, counted.n_rows, sample, infinite)


# ---- scores and predictions ----------------------------------------------------------------------
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


# ---- learning and predicting rows that are read part by part -------------------------------------
class FromSources(TallyClassifier):
    """Base of a table classifier that learns the rows of a source, too. Not for direct use."""

    columns: Any
    half_life: float | None

    sample_size = 1 << 17
    """How many rows of a source are looked at, at most, for what is chosen on rows."""

    @property
    def read_by_(self) -> ReadBy:
        """How the rows of a source were read by which the model was fitted: the columns of labels
        and weights, the kinds of the others, and the spelling of values. Paths that are given later
        are read alike, and a model file keeps it."""
        self._fitted()
        return ReadBy.of(self.__dict__.get(EXTRA))

    @property
    @abstractmethod
    def chooses_on_rows(self) -> bool:
        """Whether something is chosen on rows, by `fit`."""

    @abstractmethod
    def _hold(
        self, tally: TableTally, seen: Names, what: Declared, *, has_names: bool
    ) -> TableModel:
        """Starts a model with a tally."""

    @abstractmethod
    def _choose_first(
        self,
        x: Table,
        own: NDArray[np.intp],
        weights: Array | None,
        groups: NDArray[np.intp] | None = None,
    ) -> None:
        """Chooses what is chosen on rows, on a sample of the first ones."""

    @abstractmethod
    def _counted(self, x: Table, labels: Labels, what: Declared, bits: Shifts = None) -> TableTally:
        """The tally of rows; see :func:`collect_table`."""

    @abstractmethod
    def _rows_to_forget(self, x: Any) -> Table:
        """Rows that were learned, as they were counted."""

    @abstractmethod
    def _add_batch(
        self,
        batch: TableTally,
        n_rows: int,
        weights: Any,
        seen: Names,
        what: Declared,
        rows: Table | None = None,
        places: Mapping[str, str] | None = None,
    ) -> None:
        """Merges the tally of rows into the model's."""

    @abstractmethod
    def _take_rest(
        self, rest: TableTally, seen: Names, what: Declared, gone: Iterable[Any], *, action: str
    ) -> None:
        """Holds what a subtraction has left."""

    # ---- learning --------------------------------------------------------------------------------
    def _aged(self, weights: Any, n_rows: int) -> Any:
        """Weights with the half-life: the last row weighs most."""
        if self.half_life is None:
            return weights
        age = np.arange(n_rows - 1, -1, -1) / self.half_life
        return 0.5**age if weights is None else weights * 0.5**age

    def _count_source(
        self,
        x: Any,
        target: str,
        weight: Any,
        what: Declared,
        prepare: Callable[[Table], RowsToCount],
        class_weight: ClassWeights,
        max_rows: int | None = 0,
        group: Any = None,
        known: Sequence[str] = (),
    ) -> Counted:
        """The tally of a source's rows, whose `known` columns hold scalars; see
        :func:`count_rows`."""
        need_name(weight, "sample_weight")
        need_name(group, "groups")
        named = [*what.families, *(name for group in what.groups for name in group)]
        needed = {target, weight, group, *named, *known}
        out = what.columns_left_out - {group}
        x = as_numpy(x)
        engine = engine_of(x, "stream", passing=("duckdb", "memory"))  # rows in DuckDB are a stream
        if engine.name in ENGINES:
            later = partial(opened_for, self) if known else source_of  # what a model reads later
            source: Any = rows_of(x, get_num_threads(), out, needed, later)
        else:
            source = engine.open(x)
        need_columns(named, list(engine.columns(source)), "column that columns= names:")
        half_life = self.half_life
        shifts: Shifts = {}  # of the grids of the parts so far

        def fading(n_rows: int) -> float:
            return 1.0 if half_life is None else float(0.5 ** (n_rows / half_life))

        def count(rows: RowsToCount, labels: Labels) -> TableTally:
            classes, codes, given = labels
            weights = weighted(given, class_weight, classes, codes)
            aged = self._aged(weights, len(codes))
            return self._counted(rows, Labels(classes, codes, aged), rows.declared, shifts)

        fades = None if half_life is None else fading
        keeps = group in what.columns_left_out
        return count_rows(
            engine,
            source,
            HowToCount(target, weight, prepare, count, fades, group, keeps),
            as_written=[name for name in what.families if what.is_text(name)],
            left_out=out,
            max_rows=max_rows,
        )

    def _fit_source(
        self,
        x: Any,
        target: str,
        weight: Any,
        classes: Any = None,
        at_least: int = 0,
        groups: Any = None,
    ) -> Counted:
        """Counts the rows of a source in place of those before, and gives their tally with a sample
        of `at_least` rows, if there are so many."""
        self._validate_params()
        whole = not is_source(as_numpy(x))  # its rows are in memory, and all are looked at
        most = None if whole else max(at_least, self.sample_size)
        if not self.chooses_on_rows:
            most = at_least
        what = declared(self.columns)
        begin = self._first_of_source
        counted = self._count_source(x, target, weight, what, begin, {}, most, groups)
        tally, class_weight = counted.tally, ClassWeights()
        if self.class_weight is not None:
            known, count = tally.schema.classes, tally.classes.count
            class_weight = resolved(self.class_weight, known, count, self._declared_classes())
            tally = tally.weighted(by_class(class_weight, known))
        tally = with_classes(tally, classes)
        tally.need_non_negative("fit with these negative weights")
        need_finite(tally, counted.infinite)
        first = counted.first
        model = self._hold(tally, first.names, first.declared, has_names=True)
        model.class_weight = class_weight
        if weight is not None:
            model.prior.need_rows(model.tally.classes)
        if self.chooses_on_rows:
            self._choose_on(counted, class_weight)
        if not whole:
            remember(self, ReadBy(target, weight=weight, spelling=spelling_of(x)))
        return counted

    def _first_of_source(self, table: Table) -> RowsToCount:
        names = list(table.columns)
        seen = Names(names, frozenset(names))
        return first_rows(table, seen, declared(self.columns), has_names=True)

    def _choose_on(self, counted: Counted, class_weight: ClassWeights) -> None:
        model, sample = self._fitted(), counted.sample
        assert isinstance(model, TableModel)
        own = places_among(sample.labels, model.schema.classes).astype(np.intp)
        weights = weighted(sample.weights, class_weight, model.schema.classes, own)
        self._choose_first(sample.x, own, weights, sample.groups_of())

    def _partial_fit_source(
        self,
        x: Any,
        target: str,
        weight: Any,
        class_weight: ClassWeights,
        classes: Any,
        group: Any = None,
    ) -> None:
        """Adds the rows of a source to those of the model."""
        model = self._fitted()
        assert isinstance(model, TableModel)
        what = model.reading.declared

        def prepare(table: Table) -> RowsToCount:
            seen, counted = model.seen, model.counted
            return rows_to_count(table, seen, model.required, counted, what, records=False)

        counted = self._count_source(
            x, target, weight, what, prepare, class_weight, 0, group, known=model.seen.seen
        )
        first = counted.first
        batch = with_classes(counted.tally, classes)
        names, declared, places = first.names, first.declared, counted.infinite
        self._add_batch(batch, counted.n_rows, None, names, declared, None, places)

    def _forget_source(self, x: Any, target: str, weight: Any) -> None:
        """Takes the rows of a source away."""
        model = self._fitted()
        assert isinstance(model, TableModel)
        what, seen = model.reading.declared, model.seen

        def prepare(table: Table) -> RowsToCount:
            rows = self._rows_to_forget(table)
            return RowsToCount(rows.columns, rows.n_rows, True, seen, what)

        counted = self._count_source(
            x, target, weight, what, prepare, model.class_weight, known=model.seen.seen
        )
        rest = merged_tables(model.tally, counted.tally * -1.0)
        self._take_rest(rest, seen, what, counted.tally.schema.classes.tolist(), action="forget")

    def _names_to_read(self, source: Source) -> list[str]:
        """The columns of a source that the model reads.

        Raises
        ------
        SourceError
            If one is lacking.
        """
        model = self._fitted()
        assert isinstance(model, TableModel)
        what = model.reading.declared
        there = source.columns()
        names = [name for name in model.names if name in there]
        lacking = [n for n in model.required if n not in there and not what.left_out(n)]
        if lacking and not model.has_names:
            raise SourceError(
                f"this {self._name} was trained on columns without names, which {source.name} has: "
                "give the rows as an array"
            )
        if lacking:
            raise SourceError(
                f"{source.name} lacks the column(s) {lacking} that the model was trained with; it "
                f"has {list(there)}"
            )
        return names

    def _parts_to_read(
        self, source: Source, label: Sequence[str] = (), more: Sequence[str] = ()
    ) -> Iterator[Table]:
        """The parts of a source, with the columns that the model reads, labels, and more."""
        names = self._names_to_read(source)
        model = self._fitted()
        assert isinstance(model, TableModel)
        what = model.reading.declared
        written = [*label, *(name for name in names if what.is_text(name))]
        asked = dict.fromkeys([*names, *label, *more])
        return tables_of(source, list(asked), written)

    def _over_parts(self, x: Any, do: Callable[[Any], Any]) -> Any:
        """What `do` returns for the rows of a source, part by part, one below the other."""
        source = opened_for(self, x)
        results = restarted(lambda: [do(table) for table in self._parts_to_read(source)])
        if not results:
            self._raise_no_rows(source)
        return np.concatenate(results)

    def _raise_no_rows(self, source: Source) -> NoReturn:
        raise ValueError(
            f"Found array with 0 sample(s): {source.name} has no rows, while a minimum of 1 is "
            f"required by {self._name}."
        )

    def predict(self, X: Any) -> Any:
        """The most probable class of each row.

        Parameters
        ----------
        X : table (n_rows, n_columns), or source of rows
            Rows to predict; see `fit`.

        Returns
        -------
        array (n_rows,), duckdb.DuckDBPyRelation or pyspark.sql.DataFrame
            Labels; of equally probable classes the first. For a relation of DuckDB a relation, as
            :meth:`predict_rows` gives the rows, which is evaluated when it is read, in a
            database of its own. For a Spark DataFrame a Spark DataFrame: all its columns,
            ``prediction``, and ``p(label)`` for each class, evaluated when they are read.

        Raises
        ------
        ValueError
            If X lacks a column, or a value cannot be read.
        """
        if is_relation(X):
            from tallybayes.sources.databases import relation_of

            return relation_of(self.predict_rows(X))
        if is_spark_frame(X):
            source = source_of(X)
            assert is_distributed(source)
            return predicted_where_rows_lie(self, source, self._names_to_read(source))
        return self._predicted(X)

    def _predicted(self, X: Any) -> Any:
        """The most probable class of each row, as an array."""
        if is_source(X):
            return self._over_parts(X, super().predict)
        return super().predict(X)

    def predict_rows(self, X: Any, *, keep: Sequence[str] | None = None) -> PredictedRows:
        """The rows of a source with their predictions, made batch by batch when they are read.

        Parameters
        ----------
        X : source of rows
            Rows to predict: files, a table or query of a database (:func:`tallybayes.table`,
            :func:`tallybayes.sql`), a DuckDB relation, a ``LazyFrame``, record batches, a
            ``pyarrow.dataset.Dataset``. Of a Spark DataFrame :meth:`predict` gives the rows.
        keep : sequence of str, optional
            Columns of X that stay; by default those that the model does not read. Columns of CSV
            and JSON lines stay as strings as they are written, those of other sources as they are.

        Returns
        -------
        PredictedRows
            An Arrow stream of the columns that stay, ``prediction``, and ``p(label)`` for each
            class.

        Raises
        ------
        ValueError
            If X lacks a column. Values that cannot be read raise when they are.

        Examples
        --------
        >>> import duckdb, tallybayes
        >>> db = duckdb.connect()
        >>> _ = db.sql("CREATE TABLE days AS SELECT 7 AS id, 'sun' AS sky, 1 AS y")
        >>> _ = db.sql("INSERT INTO days VALUES (8, 'rain', 0)")
        >>> days = tallybayes.table("days", db)
        >>> model = tallybayes.NaiveBayes({"id": None}).fit(days, "y")
        >>> predicted = model.predict_rows(days, keep=["id"])
        >>> _ = db.cursor().from_arrow(predicted).create("predictions")
        >>> db.sql("SELECT id, prediction FROM predictions").fetchall()
        [(7, 1), (8, 0)]
        """
        source = opened_for(self, X)
        model = self._fitted()
        assert isinstance(model, TableModel)
        what = model.reading.declared
        read = [name for name in self._names_to_read(source) if not what.left_out(name)]
        written = [name for name in read if what.is_text(name)]
        return predicted_rows(self, source, read, written, keep)

    def predict_joint_log_proba(self, X: Any) -> Any:
        """log P(c) + log p(x | c), in nats.

        Parameters
        ----------
        X : table (n_rows, n_columns), or source of rows
            Rows to predict; see `fit`.

        Returns
        -------
        array (n_rows, n_classes)
            −inf where a class rules a row out.
        """
        if is_source(X):
            return self._over_parts(X, super().predict_joint_log_proba)
        return super().predict_joint_log_proba(X)

    def _posterior(self, X: Any, *, log: bool) -> Array:
        if is_source(X):
            posterior: Array = self._over_parts(X, partial(super()._posterior, log=log))
            return posterior
        return super()._posterior(X, log=log)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose label is predicted.

        Parameters
        ----------
        X : table (n_rows, n_columns), or source of rows
            Rows to predict; see `fit`.
        y : array-like (n_rows,) or str
            Their labels, or the column of X that has them.
        sample_weight : array-like (n_rows,) or str, optional
            How much each row counts, or the column of X that holds it; 1 by default.

        Returns
        -------
        float
            The accuracy, by weight.
        """
        if not isinstance(y, str):
            return float(super().score(X, y, sample_weight))
        need_name(sample_weight, "sample_weight")
        source = self._labelled_rows(X, [y, sample_weight])
        right, total = restarted(lambda: self._right_of(source, y, sample_weight))
        if not total:
            self._raise_no_rows(source)
        return right / total

    def _labelled_rows(self, x: Any, beside: Sequence[str | None]) -> Source:
        """Rows with their labels, of which other columns than the model's may hold anything."""
        model = self._fitted()
        assert isinstance(model, TableModel)
        what = model.reading.declared
        read = [*beside, *(name for name in model.names if not what.left_out(name))]
        opened = partial(opened_for, self)
        return rows_of(as_numpy(x), get_num_threads(), AllBut(filter(None, read)), opened=opened)

    def _right_of(self, source: Source, target: str, weight: str | None) -> tuple[float, float]:
        """The weight of the rows that are predicted as they are labelled, and that of all."""
        if is_distributed(source):
            names = [*self._names_to_read(source), target, *([] if weight is None else [weight])]
            return right_where_rows_lie(self, source, names, target, weight)
        right = total = 0.0
        for x, labels, weights in self._labelled_parts(source, target, weight):
            hits, mass = hits_of(self, x, labels, weights)
            right, total = right + hits, total + mass
        return right, total

    def _labelled_parts(
        self, source: Source, target: str, weight: str | None
    ) -> Iterator[tuple[Table, list[Any], Array | None]]:
        """The parts of a source: what the model reads, the labels, and the weights."""
        known = {str(label): label for label in self.classes_.tolist()}  # text has no types
        for table in self._parts_to_read(source, [target], [] if weight is None else [weight]):
            yield labelled(table, target, weight, known)

    def _log_proba_without(self, X: Any, y: Any, sample_weight: Any) -> Array:
        of_rows = super()._log_proba_without
        if not isinstance(y, str):
            return of_rows(X, y, sample_weight)
        need_name(sample_weight, "sample_weight")
        source = self._labelled_rows(X, [y, sample_weight])

        def without() -> list[Array]:
            return [of_rows(*part) for part in self._labelled_parts(source, y, sample_weight)]

        results = restarted(without)
        if not results:
            self._raise_no_rows(source)
        return np.concatenate(results)


# ---- the rows of a source with what a model predicts of them, batch by batch ---------------------
class Predicts(Protocol):
    """A fitted classifier."""

    @property
    def classes_(self) -> NDArray[Any]:
        """Its labels."""

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row."""

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probabilities of each row."""


def predicted_rows(
    model: Predicts,
    source: Source,
    read: Sequence[str],
    as_written: Collection[str],
    keep: Sequence[str] | None,
) -> PredictedRows:
    """Rows of a source with what a model predicts of them.

    Parameters
    ----------
    model : fitted classifier
    source : Source
    read : sequence of str
        The columns that the model reads.
    as_written : collection of str
        Those of them that are strings, where the source has no types.
    keep : sequence of str, optional
        Columns that stay; None: all that the model does not read.

    Raises
    ------
    ValueError
        If the source has no such columns, or its rows stay on a cluster.
    """
    from tallybayes.sources.rows import PredictedRows  # which imports Arrow

    if is_distributed(source):
        raise SourceError(
            f"the rows of {source.name} stay on the cluster: predict gives them there, with their "
            "predictions beside them"
        )
    there = list(source.columns())
    kept = [name for name in there if name not in read] if keep is None else list(keep)
    need_columns(kept, there, "column that keep= names:")

    def predict(table: Table) -> Predictions:
        return model.predict(table), model.predict_proba(table)

    return PredictedRows(source, kept, read, as_written, model.classes_, predict)
