"""The engine for sources that are read part by part.

Each part is counted in memory, and the tallies are merged in their order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.contract import (
    Condition,
    Counting,
    CountLevels,
    JointCells,
    Labels,
    RowScorer,
    Sampler,
    SourceColumn,
    merged_joint_cells,
    merged_tables,
    need_columns,
    raise_no_rows,
)
from tallybayes.engines.memory import MemoryEngine, only_asked
from tallybayes.schema import Columns
from tallybayes.sources.contract import Part, Source, restarted
from tallybayes.sources.files import is_source, source_of
from tallybayes.tables import Empty, Table
from tallybayes.tables.columns import stacked
from tallybayes.tally import TableTally
from tallybayes.threads import in_order

__all__ = ["StreamEngine", "TalliesByType", "nothing_of"]

Array = NDArray[np.float64]


# ---- the engine ----------------------------------------------------------------------------------
R = TypeVar("R")


class StreamEngine:
    """Counts and scores rows part by part, several parts at a time; see
    :class:`tallybayes.engines.contract.Engine`. No more than a few parts are in memory."""

    name = "stream"

    def __init__(self) -> None:
        self._each = MemoryEngine()

    def reads(self, source: Any) -> bool:
        return is_source(source)

    def open(self, source: Any, connection: Any = None) -> Source:
        if connection is not None:
            raise ValueError(
                "files and batches have no connection, and a table or query of a database has one: "
                "leave connection= out"
            )
        return source_of(source)

    def columns(self, source: Any) -> dict[str, SourceColumn]:
        return source_of(source).columns()

    # ---- counting ------------------------------------------------------------------------------
    def collect(self, what: Counting, source: Any, target: str | Labels) -> TableTally:
        source = source_of(source)
        if not isinstance(target, str):
            raise ValueError(
                f"{source.name} is read part by part, so that labels cannot be matched with rows: "
                "name the target, a column of the source"
            )
        if what.where:
            source, what = _meeting(source, what.where), replace(what, where=())
        how = what.columns
        each = what
        names: list[str] | None = None
        as_written = {target}
        if how is not None:  # levels that are not asked for are known when all are counted
            each = replace(what, columns={n: _whole(asked) for n, asked in how.items()})
            grouped = [name for group in what.together for name in group]
            names = list(dict.fromkeys([*how, *grouped, target, *_given(what.weight)]))
            as_written |= {n for n, asked in how.items() if isinstance(asked, CountLevels)}
        found = list(source.columns())
        need_columns([target], found, "target")
        need_columns(_given(what.weight), found, "weight")
        need_columns(names or (), found)
        counted = restarted(lambda: self._counted(source, each, target, names, as_written))
        if counted is None:
            raise_no_rows()
        tally = _in_order_of(found, counted.read()[0])
        return tally if how is None else only_asked(tally, how)

    def _counted(
        self,
        source: Source,
        what: Counting,
        target: str,
        names: list[str] | None,
        as_written: Collection[str],
    ) -> TalliesByType | None:
        """The tallies of the rows; None where there are none."""

        def count(table: Table, typed: bool) -> TalliesByType:
            return TalliesByType({typed: self._each.collect(what, table, target)})

        parts = _over(source, count, names, as_written)
        first = next(parts, None)
        return None if first is None else reduce(TalliesByType.joined, parts, first)

    def count_together(
        self,
        columns: Mapping[str, Array | None],
        source: Any,
        target: str,
        weight: str | None = None,
    ) -> JointCells:
        source = source_of(source)
        names = list(dict.fromkeys([*columns, target, *_given(weight)]))
        found = self._joint_cells(columns, source, target, weight, names)
        if found is None:
            raise_no_rows()
        return found

    def _joint_cells(
        self,
        columns: Mapping[str, Array | None],
        source: Source,
        target: str,
        weight: str | None,
        names: list[str],
    ) -> JointCells | None:
        """The joint cells of the rows; None where there are none."""
        as_written = {target, *(name for name, edges in columns.items() if edges is None)}

        def count(table: Table, _: bool) -> JointCells:
            return self._each.count_together(columns, table, target, weight)

        parts = restarted(lambda: list(_over(source, count, names, as_written)))
        return merged_joint_cells(*parts) if parts else None

    # ---- rows ----------------------------------------------------------------------------------
    def sample(self, source: Any, n: int) -> Table:
        source = source_of(source)
        kept = restarted(lambda: _sampled(_over(source, lambda table, _: table), n))
        return stacked(kept) if kept else nothing_of(source)

    def score(self, model: RowScorer, source: Any) -> Array:
        source = source_of(source)
        parts = restarted(lambda: list(_over(source, lambda table, _: model.joint_of(table))))
        return np.concatenate(parts or [model.joint_of(nothing_of(source))])


def _meeting(source: Source, conditions: Sequence[Condition]) -> Source:
    """The rows of a source that meet conditions, which the source has to judge by itself.

    Raises
    ------
    ValueError
        If it cannot, or a condition has values.
    """
    filtered = getattr(source, "filtered", None)
    if filtered is None:
        raise ValueError(
            f"the condition {conditions[0].text!r} is SQL, but {source.name} is not in a database: "
            "filter the rows before they are counted"
        )
    for condition in conditions:
        if condition.values:
            raise ValueError(
                f"the condition {condition.text!r} has values, which {source.name} cannot take: "
                "write them into the condition"
            )
    meeting: Source = filtered([condition.text for condition in conditions])
    return meeting


def nothing_of(source: Source) -> Table:
    """No row of a source's columns."""
    return Table({name: Empty(0) for name in source.columns()}, 0, True)


def _sampled(tables: Iterable[Table], n: int) -> list[Table]:
    sampler: Sampler[Table] = Sampler(n)
    for table in tables:
        sampler.add(table, table.n_rows)
    return sampler.parts()


def _in_order_of(columns: list[str], tally: TableTally) -> TableTally:
    """A tally whose columns are in this order, and groups of several after them: parts begin with
    the columns in which they have a value."""
    place = {name: i for i, name in enumerate(columns)}

    def of_group(columns: Columns) -> int:
        names = columns.names or ()
        return place.get(names[0], len(place)) if len(names) == 1 else len(place)

    pairs = sorted(
        zip(tally.schema.groups, tally.groups, strict=True), key=lambda pair: of_group(pair[0])
    )
    schema = replace(tally.schema, groups=tuple(columns for columns, _ in pairs))
    return TableTally(schema, tally.classes, tuple(group for _, group in pairs))


def _given(name: str | None) -> list[str]:
    return [] if name is None else [name]


def _whole(asked: Any) -> Any:
    """All levels, where only some are asked for."""
    return (
        replace(asked, only=None) if isinstance(asked, CountLevels) and not asked.closed else asked
    )


def _over(
    source: Source,
    do: Callable[[Table, bool], R],
    names: Sequence[str] | None = None,
    as_written: Collection[str] = (),
) -> Iterator[R]:
    """What `do` returns for each part that has rows, and whether they have types, in order."""

    def of_part(part: Part) -> R | None:
        table = part.read()
        return do(table, part.typed) if table.n_rows else None

    for result in in_order(of_part, source.parts(names, as_written)):
        if result is not None:
            yield result


# ---- labels of text files, which have no types: all labels together determine the type -----------
# So the tallies of typed and untyped rows are kept separately until all rows are counted.
WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")
TRUTH = {"False": False, "True": True}


def _labels_read(labels: NDArray[Any]) -> dict[str, Any] | None:
    """By label as it is written, what it is: a whole number where all are written as such, a
    boolean where all are True or False. None where they are the strings that they are."""
    written = labels.tolist()
    if all(label in TRUTH for label in written):
        return {label: TRUTH[label] for label in written}
    if all(isinstance(label, str) and WHOLE.fullmatch(label) for label in written):
        return {label: int(label) for label in written}
    return None


def _with_labels(tally: TableTally, read: Mapping[str, Any]) -> TableTally:
    """A tally under other labels, in their order."""
    labels = np.array([read[label] for label in tally.schema.classes.tolist()])
    order = np.argsort(labels)
    schema = replace(tally.schema, classes=labels[order])
    groups = tuple(group.take(order) for group in tally.groups)
    return TableTally(schema, tally.classes.take(order), groups)


@dataclass(frozen=True, eq=False)
class TalliesByType:
    """The tallies of the parts of a source, by the type of their labels.

    Parameters
    ----------
    tallies : dict
        Of the rows that have types (True), and of those that have none (False).
    """

    tallies: dict[bool, TableTally]

    def column_names(self) -> set[str]:
        """The columns that hold values."""
        groups = [group for tally in self.tallies.values() for group in tally.schema.groups]
        return {name for group in groups for name in group.names or ()}

    def joined(self, later: TalliesByType, factor: float | None = None) -> TalliesByType:
        """With those of later rows, for which these are multiplied by the factor."""
        both = self.tallies
        if factor is not None:
            both = {typed: tally * factor for typed, tally in both.items()}
        both = dict(both)
        for typed, tally in later.tallies.items():
            both[typed] = merged_tables(both[typed], tally) if typed in both else tally
        return TalliesByType(both)

    def read(self) -> tuple[TableTally, dict[str, Any] | None]:
        """The tally of all rows; and by label of a text file as it is written, what it is, None
        where labels are as they are written."""
        tallies, labels = dict(self.tallies), None
        if False in tallies:
            labels = _labels_read(tallies[False].schema.classes)
            if labels is not None:
                tallies[False] = _with_labels(tallies[False], labels)
        return reduce(merged_tables, tallies.values()), labels
