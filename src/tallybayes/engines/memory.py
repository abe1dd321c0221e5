"""The engine for tables in memory: frames, arrays, rows as dicts, and objects with an Arrow
stream.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.contract import (
    Counting,
    CountLevels,
    CountNumbers,
    Labels,
    R,
    Rows,
    Sampler,
    need_columns,
    raise_undeclared,
)
from tallybayes.engines.tables import collect_table, labels_of
from tallybayes.sources.contract import SourceColumn
from tallybayes.tables import Column, Empty, Mixed, Numbers, Strings, Table, read_table
from tallybayes.tables.columns import number_of_text, strings_of
from tallybayes.tally import LevelCounts, TableTally
from tallybayes.tally.table import Group, some_levels_group
from tallybayes.threads import get_num_threads

__all__ = ["MemoryEngine", "only_asked"]


Array = NDArray[np.float64]


def _table(source: Any, needed: Container[str | None] = ()) -> Table:
    if isinstance(source, Table):
        return source
    return read_table(source, get_num_threads(), needed=needed)


class MemoryEngine:
    """Counts tables in memory with the compiled kernels; see
    :class:`tallybayes.engines.contract.Engine`."""

    name = "memory"

    def reads(self, source: Any) -> bool:
        return hasattr(source, "__len__") or hasattr(source, "__arrow_c_stream__")

    def open(self, source: Any, connection: Any = None) -> Any:
        if connection is not None:
            raise ValueError("a table in memory has no connection: leave connection= out")
        return _table(source)

    def columns(self, source: Any) -> dict[str, SourceColumn]:
        kinds = {
            name: "text" if isinstance(column, Empty) else column.what
            for name, column in _table(source).columns.items()
        }
        return {name: SourceColumn(name, kind, kind) for name, kind in kinds.items()}

    # ---- counting ------------------------------------------------------------------------------
    def collect(self, what: Counting, source: Any, target: str | Labels) -> TableTally:
        together = [name for names in what.together for name in names]
        beside = () if isinstance(target, Labels) else (target, what.weight)
        table = _table(source, [*(what.columns or ()), *together, *beside])
        if what.where:
            raise ValueError(
                f"the condition {what.where[0].text!r} is SQL, but the rows are in memory: filter "
                "the table instead"
            )
        if isinstance(target, str):
            need_columns([*(what.columns or ()), *together], [*table.columns])
            labels = labels_of(table, target, what.weight)
            others = {k: c for k, c in table.columns.items() if k not in (target, what.weight)}
            table = replace(table, columns=others)
        else:
            labels = target
        how = what.columns
        if how is not None:
            columns = {
                name: _as_asked(name, column, how.get(name))
                for name, column in table.columns.items()
                if name in how or name in together
            }
            table = replace(table, columns=columns)
        tally = collect_table(table, *labels, what.together)
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
        table = _table(source)
        if names is not None:
            table = replace(table, columns={name: table.columns[name] for name in names})
        if not table.n_rows:
            return None, []
        result, rows = each(table, True)
        if noted is not None:
            noted(result, "row {}".format)
        sampler: Sampler[Rows] = Sampler(max_rows)
        sampler.add(rows, table.n_rows)
        return result, sampler.parts()


def _as_asked(name: str, column: Column, how: CountLevels | CountNumbers | None) -> Column:
    """A column as levels or numbers; as it is, where a group of columns is asked for."""
    if isinstance(column, Empty) or how is None:
        return column
    if isinstance(how, CountLevels):
        strings = strings_of(column) if isinstance(column, Numbers | Mixed) else column
        if how.closed:
            known = set(how.only or ())
            for code in np.unique(strings.codes).tolist():
                if code >= 0 and strings.levels[code] not in known:
                    raise_undeclared(name, strings.levels[code], how.only or ())
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


def only_asked(tally: TableTally, how: Mapping[str, CountLevels | CountNumbers]) -> TableTally:
    """A tally without the levels and the grids that were not asked for."""
    return tally.with_pairs(_groups_asked(tally, how))


def _groups_asked(
    tally: TableTally, how: Mapping[str, CountLevels | CountNumbers]
) -> Iterator[Group]:
    for columns, group in tally.pairs:
        name = (columns.names or ("",))[0]
        wanted = how.get(name) if columns.n_features == 1 else None
        if isinstance(wanted, CountNumbers) and not wanted.grid and columns.kind == "grid":
            continue
        if isinstance(wanted, CountLevels) and wanted.only is not None and not wanted.closed:
            assert isinstance(group, LevelCounts)
            assert columns.levels is not None
            yield _some_levels(name, wanted.only, columns.levels[0].tolist(), group.counts)
            continue
        yield columns, group


def _some_levels(name: str, only: Sequence[str], levels: list[str], counts: Array) -> Group:
    at = {level: i for i, level in enumerate(levels)}
    mine = [at.get(level, -1) for level in only]
    asked = (
        np.stack([counts[:, i] if i >= 0 else 0.0 * counts[:, 0] for i in mine], axis=1)
        if (mine)
        else np.zeros((len(counts), 0))
    )
    rest = np.setdiff1d(np.arange(len(levels)), mine)
    return some_levels_group(name, only, asked, counts[:, rest].sum(axis=1), len(levels))
