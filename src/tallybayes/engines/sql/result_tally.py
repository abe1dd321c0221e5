"""What a counting statement returned, as a tally."""

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
from tallybayes.engines.sql.statement import LevelsAsked, NumbersAsked
from tallybayes.schema import Columns, Schema
from tallybayes.tally import ClassCounts, Moments, TableTally

__all__ = ["tally_of"]

Array = NDArray[np.float64]
Row = Sequence[Any]


def _classes(rows: list[Row], target: str) -> dict[Any, int]:
    """The rows of each class.

    Raises
    ------
    ValueError
        Where there is no row, or a row without a label.
    """
    counted = {row[1]: int(row[3]) for row in rows}
    gaps = sum(n for label, n in counted.items() if label is None or label != label)
    need_rows_and_labels(len(counted), gaps, target)
    return counted


def _levels(asked: LevelsAsked, rows: list[Row], at: dict[Any, int]) -> list[Group]:
    """A column of levels: those that were asked for and occur, and all others together."""
    name = asked.column.name
    counts = np.zeros((len(at), len(asked.levels) + 1))
    n_all = 0
    for _, label, cell, n, *_, example in rows:
        if cell == -1:
            n_all = n
        elif cell is None and asked.closed:
            raise_undeclared(name, example, asked.levels)
        else:
            counts[at[label], len(asked.levels) if cell is None else cell] = n
    if not n_all:
        return []  # no value at all: the column may yet hold anything
    if asked.closed:
        seen = np.flatnonzero(counts[:, :-1].any(axis=0))
        levels = np.empty(len(seen), dtype=object)
        levels[:] = [asked.levels[i] for i in seen.tolist()]
        return [level_group(name, levels, np.ascontiguousarray(counts[:, seen]))]
    return [some_levels_group(name, asked.levels, counts[:, :-1], counts[:, -1], n_all)]


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
    return TableTally(schema, ClassCounts(count), tuple(tally for _, tally in groups))
