"""Tables of several columns looked up at once.

A statement looks each table up once a class, which is most of its time where classes are many. Two
tables of few cells are one table of pairs of cells, whose scores are the sums:

    T[a·n_b + b] = A[a] + B[b]

so that the sums are made when the statement is written, not for each row. A table of two columns is
added to the joint table that has both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from tallybayes.parameters.formula_cells import (
    Cells,
    LevelCells,
    NumberCells,
    PairedCells,
    Single,
)
from tallybayes.parameters.formula_terms import CellTable, Term

__all__ = ["JOINT_CELLS", "JointTable", "joined"]

JOINT_CELLS = 128
"""Cells that a joint table may have, however many classes there are."""

Array = NDArray[np.float64]
Key = tuple[object, ...]


@dataclass(frozen=True, eq=False)
class JointTable:
    """term_c = scores[c, cell], the cell being (a·n_b + b)·n_c + … of the cells of columns.

    Parameters
    ----------
    cells : list of cells
    scores : float64 array (n_classes, product of the sizes)
        In nats; finite or −inf.
    """

    cells: list[Cells]
    scores: Array


def joined(terms: Sequence[Term], most: int = JOINT_CELLS) -> list[Term | JointTable]:
    """The same terms, with tables of one column or two joined where the joint table has at most
    `most` numbers for all classes, or `JOINT_CELLS` cells.

    A joint table stands where the first of its tables stood. A single score, of log-odds, has joint
    tables of pairs alone: it takes as long to look a column up as to add its cell to another's.
    """
    tables = {i: term for i, term in enumerate(terms) if isinstance(term, CellTable)}
    if not tables:
        return list(terms)
    n_rows = len(next(iter(tables.values())).scores)
    group_of = _groups(list(tables.values()), max(JOINT_CELLS, most // n_rows))
    members: dict[int, list[int]] = {}
    for i, table in tables.items():
        groups = {group_of[_key(cells)] for cells in _singles(table)}
        if len(groups) == 1:
            members.setdefault(groups.pop(), []).append(i)
    first = {places[0]: places for places in members.values() if len(places) > 1}
    later = {i for places in first.values() for i in places[1:]}
    return [
        _joint([tables[k] for k in first[i]]) if i in first else term
        for i, term in enumerate(terms)
        if i not in later
    ]


def _singles(table: CellTable) -> list[Single]:
    """The cells of a table's columns."""
    cells = table.cells
    return [cells.first, cells.second] if isinstance(cells, PairedCells) else [cells]


def _key(cells: Single) -> Key:
    """What cells of one column have in common, whichever table they are of."""
    if isinstance(cells, LevelCells):
        return ("level", cells.column, tuple(cells.levels), cells.refuses_others)
    if isinstance(cells, NumberCells):
        return ("number", cells.column, cells.starts.tobytes())
    return ("code", cells.column, cells.size, cells.truncates, cells.refuses_others)


def _groups(tables: Sequence[CellTable], most: int) -> dict[Key, int]:
    """The group of each column: those of pairs of few cells first, then, largest first, each
    group into the first that stays within `most` cells."""
    sizes = {_key(cells): cells.size for table in tables for cells in _singles(table)}
    groups = [{key} for key in sizes]

    def merge(one: set[Key], other: set[Key]) -> bool:
        if one is other or prod(sizes[key] for key in one | other) > most:
            return False
        one |= other
        groups.remove(other)
        return True

    pairs = [[_key(cells) for cells in _singles(t)] for t in tables if len(_singles(t)) == 2]
    for pair in sorted(pairs, key=lambda pair: prod(sizes[key] for key in pair)):
        one, other = (next(group for group in groups if key in group) for key in pair)
        merge(one, other)
    if len(tables[0].scores) == 1:
        return {key: i for i, group in enumerate(groups) for key in group}
    for group in sorted(groups, key=lambda group: -prod(sizes[key] for key in group)):
        for larger in groups[: groups.index(group)]:
            if merge(larger, group):
                break
    return {key: i for i, group in enumerate(groups) for key in group}


def _joint(tables: Sequence[CellTable]) -> JointTable:
    """The sum of tables, over the cells of all their columns."""
    cells: dict[Key, Single] = {}
    for table in tables:
        cells |= {_key(single): single for single in _singles(table)}
    shape, places = [single.size for single in cells.values()], list(cells)
    scores = np.zeros((len(tables[0].scores), *shape))
    for table in tables:
        keys = [_key(single) for single in _singles(table)]
        own = _of_singles(table)
        if places.index(keys[0]) > places.index(keys[-1]):
            own = own.swapaxes(1, 2)
        axes = [n if key in keys else 1 for n, key in zip(shape, places, strict=True)]
        scores += own.reshape(-1, *axes)
    return JointTable(list(cells.values()), scores.reshape(len(scores), -1))


def _of_singles(table: CellTable) -> Array:
    """The scores of a table by the cells of its single columns."""
    cells = table.cells
    if isinstance(cells, PairedCells):
        a, b = cells.maps
        return table.scores[:, a[:, None] * cells.width + b[None, :]]
    return table.scores
