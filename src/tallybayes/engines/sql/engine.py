"""The engine for what DuckDB reads: rows are counted in SQL, and scored in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.contract import (
    Condition,
    Counting,
    CountLevels,
    CountNumbers,
    JointCells,
    Labels,
    RowScorer,
    need_columns,
)
from tallybayes.engines.groups import class_array, joint_cells, need_rows_and_labels
from tallybayes.engines.sql.columns import LevelsAsked, NumbersAsked, SQLColumn
from tallybayes.engines.sql.duckdb import DuckDBSource
from tallybayes.engines.sql.result_tally import grid_of, tally_of
from tallybayes.engines.sql.statement import (
    Rows,
    count_statement,
    grid_sizes_statement,
    grid_statement,
    joint_statement,
    sample_statement,
)
from tallybayes.engines.sql.values import Values
from tallybayes.errors import LeftOutWarning, warn_user
from tallybayes.schema import Columns, Schema
from tallybayes.sources.files import is_in_duckdb, is_relation
from tallybayes.tables import Table
from tallybayes.tally import GridCounts, Moments, TableTally, Tally
from tallybayes.tally.grid import BUDGET

__all__ = ["DuckDBEngine"]

Array = NDArray[np.float64]
Shifts = Sequence[tuple[SQLColumn, int]]

LEVELS = ("text", "category", "boolean")
"""Kinds of columns that are levels unless they are declared; others are numbers."""
MAX_BITS = 63
GREATEST_FIELD = 8  # where a row of the counting statement has the greatest number


class DuckDBEngine:
    """Counts sources of DuckDB in SQL, and scores their rows in batches; see
    :class:`tallybayes.engines.contract.Engine`.

    It counts columns each by itself: groups of columns are for tables in memory. Grid counts take
    statements of their own, so a source that changes meanwhile is an error.
    """

    name = "duckdb"

    def reads(self, source: Any) -> bool:
        return isinstance(source, DuckDBSource) or is_relation(source) or is_in_duckdb(source)

    def open(self, source: Any, connection: Any = None) -> DuckDBSource:
        if isinstance(source, DuckDBSource) and connection is None:
            return source
        return DuckDBSource(source, connection)

    def columns(self, source: Any) -> dict[str, SQLColumn]:
        return self.open(source).columns()

    # ---- counting ------------------------------------------------------------------------------
    def collect(self, what: Counting, source: Any, target: str | Labels) -> TableTally:
        if not isinstance(target, str):
            raise ValueError(
                "rows in DuckDB have no order to match labels with: name the target, a column of "
                "the source"
            )
        if what.together:
            raise ValueError(
                f"columns= has the group {next(iter(what.together))}, but DuckDB counts each "
                "column by itself: give the rows as a table in memory, such as relation.arrow()"
            )
        source = self.open(source)
        with source.held():
            return self._collect(what, source, target)

    def _collect(self, what: Counting, source: DuckDBSource, target: str) -> TableTally:
        found = source.columns()
        need_columns([target], list(found), "target")
        need_columns([] if what.weight is None else [what.weight], list(found), "weight")
        how = what.columns
        if how is None:
            beside = (target, what.weight)
            how = {n: _counted_as(c) for n, c in _scalars(found).items() if n not in beside}
        need_columns(list(how), list(found))
        for name in how:
            _need_scalar(found[name])
        levels = [
            LevelsAsked(found[name], asked.only, asked.closed)
            for name, asked in how.items()
            if isinstance(asked, CountLevels)
        ]
        numbers = [
            NumbersAsked(found[name], asked.non_negative, asked.grid)
            for name, asked in how.items()
            if isinstance(asked, CountNumbers)
        ]
        rows = _counted(source, target, what, levels, numbers)
        tally = tally_of(rows, target, levels, numbers)
        grids = self._grids(source, target, what, tally, [n.column for n in numbers if n.grid])
        return _with_grids(tally, grids)

    def _grids(
        self,
        source: DuckDBSource,
        target: str,
        what: Counting,
        tally: TableTally,
        columns: list[SQLColumn],
    ) -> dict[str, GridCounts]:
        """The grid counts of columns that hold numbers, each on the finest grid that fits."""
        there = {c.names for c in tally.schema.groups if c.kind == "moments"}
        columns = [column for column in columns if (column.name,) in there]
        if not columns:
            return {}
        first, last = [0] * len(columns), [MAX_BITS] * len(columns)  # the shift is between them
        shifts = first  # most columns have few enough values as they are
        while True:
            asked = list(zip(columns, shifts, strict=True))
            write = partial(_written, grid_sizes_statement, target, what, asked)
            sizes = source.ask(write, what.where)[0]
            for j, size in enumerate(sizes):
                if size <= BUDGET:
                    last[j] = min(last[j], shifts[j])
                else:
                    first[j] = max(first[j], shifts[j] + 1)
            if first == last:
                break
            shifts = [(low + high) // 2 for low, high in zip(first, last, strict=True)]
        asked = list(zip(columns, last, strict=True))
        write = partial(_written, grid_statement, target, what, asked)
        rows = source.ask(write, what.where)
        by_column: list[list[tuple[Any, ...]]] = [[] for _ in columns]
        for row in rows:
            by_column[row[0]].append(row)
        classes = tally.schema.classes
        _need_no_other_classes({row[1] for row in rows}, classes)
        return {
            column.name: grid_of(cells, shift, classes)
            for column, shift, cells in zip(columns, last, by_column, strict=True)
        }

    def count_together(
        self,
        columns: Mapping[str, Array | None],
        source: Any,
        target: str,
        weight: str | None = None,
    ) -> JointCells:
        source = self.open(source)
        found = source.columns()
        need_columns([target], list(found), "target")
        need_columns([] if weight is None else [weight], list(found), "weight")
        need_columns(list(columns), list(found))
        for name in columns:
            _need_scalar(found[name])
        asked = [(found[name], edges) for name, edges in columns.items()]
        cut = [(c, None if edges is None else edges.tolist()) for c, edges in asked]
        rows = source.ask(
            lambda text, once, _: joint_statement(Rows(text, once, target, weight=weight), cut)
        )
        unlabelled = sum(row[1] for row in rows if row[0] is None or row[0] != row[0])
        need_rows_and_labels(len(rows), unlabelled, target)
        classes = class_array({row[0] for row in rows})
        at = {label: k for k, label in enumerate(classes.tolist())}
        counts: dict[tuple[str | int | None, ...], Array] = {}
        for label, n, *values in rows if columns else ():
            cell = tuple(
                value if value is None or edges is not None else column.level_of(value)
                for value, (column, edges) in zip(values, cut, strict=True)
            )
            counts.setdefault(cell, np.zeros(len(classes)))[at[label]] += n
        return joint_cells(classes, counts)

    # ---- rows ----------------------------------------------------------------------------------
    def sample(self, source: Any, n: int) -> Table:
        from tallybayes.tables import arrow

        source = self.open(source)
        names = list(source.columns())
        batches = list(source.batches(lambda text, _, __: sample_statement(text, names, n)))
        return arrow.read_batches(batches)

    def score(self, model: RowScorer, source: Any) -> Array:
        from tallybayes.tables import arrow

        batches = self.open(source).batches()
        return np.concatenate([model.joint_of(arrow.read_batches([b])) for b in batches])


def _counted(
    source: DuckDBSource,
    target: str,
    what: Counting,
    levels: Sequence[LevelsAsked],
    numbers: Sequence[NumbersAsked],
) -> list[tuple[Any, ...]]:
    """What the counting statement returns; it runs once more where a number is NaN."""

    def ask(nan: bool) -> list[tuple[Any, ...]]:
        return source.ask(
            lambda text, once, values: count_statement(
                _rows(text, once, target, what), levels, numbers, values, nan
            ),
            what.where,
        )

    rows = ask(nan=False)
    return (
        ask(nan=True) if any(row[GREATEST_FIELD] != row[GREATEST_FIELD] for row in rows) else rows
    )


def _rows(text: str, once: bool, target: str, what: Counting) -> Rows:
    return Rows(text, once, target, _strings(what.where), what.weight)


def _written(
    statement: Callable[[Rows, Shifts], str],
    target: str,
    what: Counting,
    asked: Shifts,
    text: str,
    once: bool,
    values: Values,
) -> str:
    """A statement about the grids of columns, which takes no values."""
    return statement(_rows(text, once, target, what), asked)


def _strings(where: Sequence[Condition]) -> list[str]:
    return [condition.text for condition in where]


def _counted_as(column: SQLColumn) -> CountLevels | CountNumbers:
    return CountLevels() if column.kind in LEVELS else CountNumbers()


def _scalars(columns: Mapping[str, SQLColumn]) -> dict[str, SQLColumn]:
    """The columns that can be counted; a warning names the others."""
    for column in columns.values():
        if column.kind is None:
            warn_user(
                f"column {column.name!r} of the source is of the type {column.type}, which is not "
                "a scalar, and is left out",
                LeftOutWarning,
            )
    return {name: column for name, column in columns.items() if column.kind is not None}


def _need_scalar(column: SQLColumn) -> None:
    if column.kind is None:
        raise ValueError(
            f"column {column.name!r} of the source is of the type {column.type}, neither number, "
            f"text, boolean nor date: leave it out, columns={{{column.name!r}: None}}"
        )


def _need_no_other_classes(found: set[Any], classes: NDArray[Any]) -> None:
    if not found <= set(classes.tolist()):
        raise ValueError(
            "the source changed while it was counted: rows came with labels that were not there "
            "before. Count again, or within a transaction"
        )


def _with_grids(tally: TableTally, grids: Mapping[str, GridCounts]) -> TableTally:
    """A tally with the grid counts of columns beside their moments."""
    if not grids:
        return tally
    pairs: list[tuple[Columns, Tally]] = []
    for columns, group in zip(tally.schema.groups, tally.groups, strict=True):
        pairs.append((columns, group))
        name = (columns.names or ("",))[0]
        if not isinstance(group, Moments) or name not in grids:
            continue
        grid = grids[name]
        if not np.allclose(grid.counts.sum(axis=1), group.n[:, 0], rtol=1e-9, atol=0.0):
            raise ValueError(
                f"the source changed while column {name!r} was counted: its rows by number and by "
                "class differ. Count again, or within a transaction"
            )
        pairs.append((Columns(kind="grid", names=(name,), dates=columns.dates), grid))
    schema = Schema(tally.schema.classes, tuple(columns for columns, _ in pairs), by_name=True)
    return TableTally(schema, tally.classes, tuple(group for _, group in pairs))
