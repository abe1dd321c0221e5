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
    CountNumbers,
    R,
    Rows,
    Sampler,
    merged_tables,
    need_columns,
    raise_no_rows,
    raise_undeclared,
    sampled_marks,
)
from tallybayes.engines.tables import collect_table, labels_of
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
from tallybayes.tables import Column, Empty, Mixed, Numbers, Strings, Table
from tallybayes.tables.columns import number_of_text, strings_of
from tallybayes.tally import LevelCounts, TableTally, Tally
from tallybayes.tally.table import Group, some_levels_group
from tallybayes.threads import on_one_thread

__all__ = ["SparkEngine", "StreamEngine", "TalliesByType"]


# ---- the engine ----------------------------------------------------------------------------------
HowCounted = Mapping[str, CountLevels | CountNumbers]


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
    def collect(self, what: Counting, source: Any, target: str) -> TableTally:
        source = source_of(source)
        if what.where:
            source = _meeting(source, what.where)
        how, found = what.columns, list(source.columns())
        need_columns([target], found, "target")
        need_columns(list(how), found)
        counted = self.fold(
            source,
            partial(_tallied, how, target),
            _joined,
            names=list(dict.fromkeys([*how, target])),
            as_written={target, *(n for n, asked in how.items() if isinstance(asked, CountLevels))},
        )[0]
        if counted is None:
            raise_no_rows()
        place = {name: i for i, name in enumerate(found)}  # parts begin with what they have
        tally = counted.read()[0]
        pairs = sorted(tally.pairs, key=lambda pair: place[(pair[0].names or ("",))[0]])
        return tally.with_pairs([_only_asked(*pair, how) for pair in pairs])

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


def _tallied(
    how: HowCounted, target: str, table: Table, typed: bool
) -> tuple[TalliesByType, Table]:
    """The tally of the rows of a part, with all levels, and the rows."""
    labels = labels_of(table, target, None)
    columns = {
        name: _as_asked(name, column, how[name])
        for name, column in table.columns.items()
        if name in how
    }
    tally = collect_table(replace(table, columns=columns), *labels)
    tally = tally.with_pairs([pair for pair in tally.pairs if pair[0].kind != "grid"])
    return TalliesByType({typed: tally}), table


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


def _as_asked(name: str, column: Column, how: CountLevels | CountNumbers) -> Column:
    """A column as levels or numbers."""
    if isinstance(column, Empty):
        return column
    if isinstance(how, CountLevels):
        strings = strings_of(column) if isinstance(column, Numbers | Mixed) else column
        if how.closed:
            known = set(how.only)
            for code in np.unique(strings.codes).tolist():
                if code >= 0 and strings.levels[code] not in known:
                    raise_undeclared(name, strings.levels[code], how.only)
        return strings
    if not isinstance(column, Numbers):
        column = _numbers_of(name, column)
    if how.non_negative and (column.values < 0).any():
        least = column.values[column.values < 0].min().item()
        raise ValueError(f"column {name!r} of the source holds {least!r}: counts are not negative")
    return column


def _numbers_of(name: str, column: Strings | Mixed) -> Numbers:
    """Strings that are numbers as numbers."""
    strings = column.strings if isinstance(column, Mixed) else column
    values = [number_of_text(level) for level in strings.levels]
    for code in np.unique(strings.codes).tolist():
        if code >= 0 and values[code] is None:
            raise ValueError(
                f"column {name!r} of the source holds the string {strings.levels[code]!r}, but is "
                "counted as numbers: declare it as Categorical() in columns="
            )
    numbers = np.array([*(np.nan if v is None else v for v in values), np.nan])[strings.codes]
    if isinstance(column, Mixed):
        given = np.asarray(column.numbers.values, dtype=np.float64)
        numbers = np.where(np.isnan(given), numbers, given)
    return Numbers(numbers, "float")


def _only_asked(columns: Columns, group: Tally, how: HowCounted) -> Group:
    """The counts of a column without the levels that were not asked for: these are known when all
    are counted."""
    name = (columns.names or ("",))[0]
    wanted = how[name]
    if not isinstance(wanted, CountLevels) or wanted.closed:
        return columns, group
    assert isinstance(group, LevelCounts)
    assert columns.levels is not None
    levels, counts = columns.levels[0].tolist(), group.counts
    at = {level: i for i, level in enumerate(levels)}
    mine = [at.get(level, -1) for level in wanted.only]
    each = [counts[:, i] if i >= 0 else 0.0 * counts[:, 0] for i in mine]
    asked = np.stack(each, axis=1) if each else np.zeros((len(counts), 0))
    rest = counts[:, np.setdiff1d(np.arange(len(levels)), mine)].sum(axis=1)
    return some_levels_group(name, wanted.only, asked, rest, len(levels))


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
