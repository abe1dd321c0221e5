"""The engines for sources that are read part by part, and for those whose rows stay on a cluster.

Each part is counted in memory, here or on the cluster, and the results are merged in the order of
the rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.contract import (
    Condition,
    Counting,
    CountLevels,
    Labels,
    R,
    Rows,
    Sampler,
    merged_tables,
    need_columns,
    raise_no_rows,
    sampled_marks,
)
from tallybayes.engines.memory import MemoryEngine, only_asked
from tallybayes.errors import IncompatibleTallies
from tallybayes.schema import Columns
from tallybayes.sources.contract import (
    Part,
    Source,
    SourceColumn,
    is_distributed,
    over_parts,
    restarted,
)
from tallybayes.sources.files import is_source, is_spark_frame, source_of
from tallybayes.tables import Table
from tallybayes.tally import TableTally
from tallybayes.threads import on_one_thread

__all__ = ["SparkEngine", "StreamEngine", "TalliesByType"]


# ---- the engine of streams -----------------------------------------------------------------------
Array = NDArray[np.float64]


# ---- the engine ----------------------------------------------------------------------------------
class StreamEngine:
    """Counts rows part by part, several parts at a time; see
    :class:`tallybayes.engines.contract.Engine`. No more than a few parts are in memory."""

    name = "stream"

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
        count = partial(_tallied, each, target)
        counted = self.fold(source, count, _joined, names=names, as_written=as_written)[0]
        if counted is None:
            raise_no_rows()
        tally = _in_order_of(found, counted.read()[0])
        return tally if how is None else only_asked(tally, how)

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
        source = source_of(source)

        def of_part(table: Table, part: Part) -> tuple[R, Rows | None]:
            result, rows = each(table, part.typed)
            # without a sample the next part has the memory of this one
            return result, None if max_rows == 0 else rows

        def folded() -> tuple[R | None, list[Rows]]:
            total: R | None = None
            sampler: Sampler[Rows] = Sampler(max_rows)
            where = ""  # what holds the rows so far
            for done in over_parts(source.parts(names, as_written), of_part):
                result, rows = done.result
                try:
                    total = result if total is None else merge(total, result)
                except IncompatibleTallies as error:
                    raise IncompatibleTallies(
                        f"{done.part.where}, after the rows of {where}: {error}"
                    ) from error
                if rows is not None:
                    sampler.add(rows, done.n_rows)
                if noted is not None:
                    noted(result, done.place)
                where = done.part.where
            return total, sampler.parts()

        return restarted(folded)


def _tallied(what: Counting, target: str, table: Table, typed: bool) -> tuple[TalliesByType, Table]:
    """The tally of the rows of a part, and the rows."""
    return TalliesByType({typed: MemoryEngine().collect(what, table, target)}), table


def _joined(before: TalliesByType, after: TalliesByType) -> TalliesByType:
    return before.joined(after)


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


def _in_order_of(columns: list[str], tally: TableTally) -> TableTally:
    """A tally whose columns are in this order, and groups of several after them: parts begin with
    the columns in which they have a value."""
    place = {name: i for i, name in enumerate(columns)}

    def of_group(columns: Columns) -> int:
        names = columns.names or ()
        return place.get(names[0], len(place)) if len(names) == 1 else len(place)

    return tally.with_pairs(sorted(tally.pairs, key=lambda pair: of_group(pair[0])))


def _given(name: str | None) -> list[str]:
    return [] if name is None else [name]


def _whole(asked: Any) -> Any:
    """All levels, where only some are asked for."""
    return (
        replace(asked, only=None) if isinstance(asked, CountLevels) and not asked.closed else asked
    )


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


# ---- rows on a cluster ---------------------------------------------------------------------------
class SparkEngine(StreamEngine):
    """Counts the rows of Spark DataFrames where they lie; see
    :class:`tallybayes.engines.contract.Engine`. Only results and a sample come to this process."""

    name = "spark"

    def reads(self, source: Any) -> bool:
        return is_spark_frame(source) or is_distributed(source)

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
        source = source_of(source)
        assert is_distributed(source)
        found = source.fold(names, partial(_result, each), merge)
        if found is None or max_rows == 0:
            return None if found is None else found.result, []
        whole = max_rows is None or found.n_rows <= max_rows
        marks = None if max_rows is None or whole else sampled_marks(found.rows, max_rows)
        table = source.take(found.names, marks)
        return found.result, [] if table is None else [each(table, True)[1]]


def _result(each: Callable[[Table, bool], tuple[R, Rows]], table: Table) -> R:
    """What is sent to the rows. A task has one core."""
    with on_one_thread():
        return each(table, True)[0]
