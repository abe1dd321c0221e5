"""The result of a counting statement as a tally."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.engines.groups import (
    Group,
    class_array,
    level_group,
    need_rows_and_labels,
    raise_too_large,
    raise_undeclared,
    some_levels_group,
)
from tallybayes.engines.sql.columns import LevelsAsked, NumbersAsked
from tallybayes.schema import Columns, Schema
from tallybayes.tally import ClassCounts, GridCounts, Moments, TableTally

__all__ = ["grid_of", "tally_of"]

Array = NDArray[np.float64]
Row = Sequence[Any]


def _classes(rows: list[Row], target: str) -> dict[Any, float]:
    """The rows of each class, or their weight.

    Raises
    ------
    ValueError
        Where there is no row, a row without a label, or a row without a finite weight.
    """
    counted = {row[1]: float(row[3]) for row in rows}
    unlabelled = sum(n for label, n in counted.items() if label is None or label != label)
    need_rows_and_labels(len(counted), unlabelled, target)
    if not np.isfinite(list(counted.values())).all():
        raise ValueError("the weight column has to hold a finite number in every row")
    return counted


def _levels(asked: LevelsAsked, rows: list[Row], at: dict[Any, int]) -> list[Group]:
    """A column of levels: all, or those that were asked for and occur, and the others together."""
    name, n_all = asked.column.name, 0
    levels: list[str] = []
    if asked.levels is not None:
        levels = asked.levels
    else:
        found = {row[-1] for row in rows if row[-1] is not None}
        levels = sorted({asked.column.level_of(text) for text in found})
    place = {level: i for i, level in enumerate(levels)}
    counts = np.zeros((len(at), len(levels) + 1))
    for _, label, cell, n, *_, text in rows:
        if cell == -1:
            n_all = n
        elif asked.levels is None:
            counts[at[label], place[asked.column.level_of(text)]] += n
        elif cell is None and asked.closed:
            raise_undeclared(name, text, levels)
        else:
            counts[at[label], len(levels) if cell is None else cell] = n
    if not n_all:
        return []  # no value at all: the column may yet hold anything
    if asked.levels is not None and not asked.closed:
        return [some_levels_group(name, levels, counts[:, :-1], counts[:, -1], n_all)]
    seen = np.flatnonzero(counts[:, :-1].any(axis=0))
    named = np.empty(len(seen), dtype=object)
    named[:] = [levels[i] for i in seen.tolist()]
    return [level_group(name, named, np.ascontiguousarray(counts[:, seen]))]


def grid_of(rows: Iterable[Row], shift: int, classes: NDArray[Any]) -> GridCounts:
    """The grid counts that rows (column, class, cell, n) of a column are."""
    at = {label: k for k, label in enumerate(classes.tolist())}
    cells: dict[int, Array] = {}
    for _, label, cell, n in rows:
        cells.setdefault(cell, np.zeros(len(classes)))[at[label]] += n
    keys = np.array(sorted(cells), dtype=np.int64)
    counts = np.zeros((len(classes), len(keys)))
    for j, key in enumerate(keys.tolist()):
        counts[:, j] = cells[key]
    return GridCounts(shift, keys, counts)


def _moments(asked: NumbersAsked, rows: list[Row], at: dict[Any, int]) -> list[Group]:
    """A column of numbers: moments, each class about an origin of its own, then about one."""
    name = asked.column.name
    n, origins, s1, s2 = np.zeros((4, 1, len(at)))
    for _, label, _, count, origin, total, squares, least, greatest, _ in rows:
        if not count:
            continue
        if np.isinf([least, greatest]).any():
            raise ValueError(
                f"column {name!r} of the source holds infinity: replace it by a finite value or a "
                "missing value, or leave the rows out with where="
            )
        if asked.non_negative and least < 0.0:
            raise ValueError(
                f"column {name!r} of the source holds {least!r}: counts are not negative"
            )
        if not np.isfinite([origin, total, squares]).all():
            raise_too_large(name)
        k = at[label]
        n[0, k], origins[0, k], s1[0, k], s2[0, k] = count, origin, total, squares
    if not n.any():
        return []
    nothing = np.zeros_like(n)
    origin = np.array([origins[0, int(n[0].argmax())]])
    own = Moments(origins[0].copy(), n, s1, nothing, s2, nothing.copy())
    cells = own.rebased(np.full(len(at), origin[0]))
    moments = Moments(origin, *(np.ascontiguousarray(part.T) for part in _parts(cells)))
    if not np.isfinite(moments.s2_hi).all():
        raise_too_large(name)
    columns = Columns(
        kind="moments",
        n_features=1,
        names=(name,),
        origin=origin,
        dates=asked.column.kind == "date",
    )
    return [(columns, moments)]


def _parts(m: Moments) -> tuple[Array, ...]:
    return m.n, m.s1_hi, m.s1_lo, m.s2_hi, m.s2_lo, m.n_lo


def tally_of(
    rows: Iterable[Row],
    target: str,
    levels: Sequence[LevelsAsked],
    numbers: Sequence[NumbersAsked],
) -> TableTally:
    """The tally that the rows of :func:`tallybayes.engines.sql.statement.count_statement` are.

    Raises
    ------
    ValueError
        Where there is no evidence, a row has no label, or a number is infinite.
    UnseenLevel
        A ValueError: for a level that is not declared.
    """
    by_part: dict[int, list[Row]] = {}
    for row in rows:
        by_part.setdefault(row[0], []).append(row)
    counted = _classes(by_part.get(-1, []), target)
    classes = class_array(list(counted))
    at = {label: k for k, label in enumerate(classes.tolist())}
    groups: list[Group] = []
    for j, asked in enumerate(levels):
        groups += _levels(asked, by_part.get(j, []), at)
    for j, number in enumerate(numbers, start=len(levels)):
        groups += _moments(number, by_part.get(j, []), at)
    schema = Schema(classes, tuple(columns for columns, _ in groups), by_name=True)
    count = np.array([counted[label] for label in at], dtype=np.float64)
    squares = {row[1]: row[6] for row in by_part[-1]}
    squared = None
    if all(squares[label] is not None for label in at):
        squared = np.array([squares[label] for label in at], dtype=np.float64)
    return TableTally(schema, ClassCounts(count, squared), tuple(tally for _, tally in groups))
