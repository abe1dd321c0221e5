"""The number or the score of the interval that holds a number, as SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tallybayes.export.sql.buckets import Buckets, buckets_of
from tallybayes.export.sql.columns import Columns
from tallybayes.export.sql.dialect import Dialect
from tallybayes.parameters.formula_cells import NumberCells

__all__ = ["CellOutput", "Places", "Uses", "by_interval", "interval_tree"]

Places = NDArray[np.integer[Any]]
Uses = list[str]


class CellOutput(Protocol):
    """What an expression gives for a cell: its number, or its score."""

    def of(self, cell: int) -> str:
        """A literal."""

    def of_each(self, cells: Places, index: str, uses: Uses) -> tuple[str, Uses]:
        """The output of one of some cells by its index, which has the names `uses`, and the names
        in that expression."""

    def of_each_level(self, cells: Places, index: str) -> str:
        """The same without an array beside the rows, so that a database that stores a column as
        codes finds it once for each code."""


def by_interval(cells: NumberCells, output: CellOutput, columns: Columns) -> tuple[str, Uses]:
    """The expression, and the names in it.

    Only the first and the last interval test for values that are not numbers: no comparison with
    NULL or NaN is true, and in some dialects NaN is the largest number.
    """
    x, dialect = columns.raw_number(cells.column), columns.dialect
    own = [output.of(1 + i) for i in range(cells.size - 1)]
    _set_bounds(own, output.of(0), x, cells.column, columns)
    buckets = buckets_of(cells.starts) if dialect.has_buckets else None
    if buckets is None:
        return interval_tree(dialect, x, cells.starts.tolist(), own), [x]
    between, uses = _by_buckets(buckets, x, cells, output, columns)
    low, high = (dialect.number(float(cells.starts[i])) for i in (0, -1))
    text = f"WHEN {x} < {low} THEN {own[0]} WHEN {x} < {high} THEN {between}"
    return f"CASE {text} ELSE {own[-1]} END", [x, *uses]


def _set_bounds(own: list[str], missing: str, x: str, column: str, columns: Columns) -> None:
    """Sets the output of missing and infinite numbers in the first and the last interval."""
    dialect, finite = columns.dialect, columns.kinds[column] in ("boolean", "integer")
    if not columns.formula.takes_missing:
        missing = "NULL"
    known = "" if finite else f"WHEN {x} = {dialect.number(np.inf)} THEN NULL "
    own[-1] = (
        f"CASE WHEN {x} IS NULL{'' if finite else f' OR {dialect.is_nan(x)}'} THEN {missing} "
        f"{known}ELSE {own[-1]} END"
    )
    if not finite:
        own[0] = f"CASE WHEN {x} = {dialect.number(-np.inf)} THEN NULL ELSE {own[0]} END"


def _by_buckets(
    buckets: Buckets, x: str, cells: NumberCells, output: CellOutput, columns: Columns
) -> tuple[str, Uses]:
    """The same of numbers between the first start and the last."""
    dialect, low = columns.dialect, float(cells.starts[0])
    if buckets.exact:
        return output.of_each(1 + buckets.before, dialect.exact_bucket(x, low, buckets.k), [x])
    b = columns.stages.name("b", dialect.bucket(x, dialect.number(low), buckets.k), [x])
    index, uses = columns.whole_looked_up((buckets.before + dialect.first).tolist(), b, [x, b])
    for of_one in buckets.within.tolist():
        start, more = columns.looked_up(of_one, b, [b])
        index += f" + {dialect.as_bit(f'{x} >= {start}')}"
        uses += more
    return output.of_each(np.arange(1, cells.size), index, uses)


def interval_tree(dialect: Dialect, x: str, starts: Sequence[float], cells: Sequence[str]) -> str:
    """cells[i] where i of the starts are ≤ x; the last where none is known to be above x."""
    if not starts:
        return cells[0]
    at = (len(starts) - 1) // 2
    below = interval_tree(dialect, x, starts[:at], cells[: at + 1])
    above = interval_tree(dialect, x, starts[at + 1 :], cells[at + 1 :])
    return f"CASE WHEN {x} < {dialect.number(starts[at])} THEN {below} ELSE {above} END"
