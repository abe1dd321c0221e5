"""Tables of several columns looked up at once.

A statement looks each table up once a class, which is most of its time where classes are many. Two
tables of few cells are one table of pairs of cells, whose scores are the sums:

    T[a·n_b + b] = A[a] + B[b]

so that the sums are made when the statement is written, not for each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from tallybayes.parameters.formula_cells import Cells, PairedCells
from tallybayes.parameters.formula_terms import CellTable, Term

__all__ = ["JointTable", "joined"]

MOST_CELLS = 128
"""DuckDB copies a constant array for every 2,048 rows: some 8 ns a row for 1,000 numbers, beside 3
for a look-up, so that larger tables cost what they save."""


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
    scores: NDArray[np.float64]


def joined(terms: Sequence[Term]) -> list[Term | JointTable]:
    """The same terms, with tables of single columns joined up to `MOST_CELLS`; a joint table stands
    where the first of its tables stood."""
    group_of = _groups([(i, _size(term)) for i, term in enumerate(terms) if _size(term)])
    result: list[Term | JointTable] = []
    for i, term in enumerate(terms):
        group = group_of.get(i, [i])
        if i != group[0]:
            continue
        members = [one for k in group if isinstance(one := terms[k], CellTable)]
        result.append(term if len(group) == 1 else _joint(members))
    return result


def _size(term: Term) -> int:
    """The cells of a table of a single column, 0 for any other term."""
    if not isinstance(term, CellTable) or isinstance(term.cells, PairedCells):
        return 0
    return term.cells.size


def _groups(sizes: Sequence[tuple[int, int]]) -> dict[int, list[int]]:
    """Which tables each table is joined with, itself included, by their places.

    First-fit decreasing, as of items into bins: the largest first, each into the first group that
    stays within `MOST_CELLS`.
    """
    groups: list[list[tuple[int, int]]] = []
    for item in sorted(sizes, key=lambda item: -item[1]):
        for group in groups:
            if prod(size for _, size in group) * item[1] <= MOST_CELLS:
                group.append(item)
                break
        else:
            groups.append([item])
    places = [sorted(place for place, _ in group) for group in groups]
    return {place: group for group in places for place in group}


def _joint(tables: Sequence[CellTable]) -> JointTable:
    scores = tables[0].scores
    for table in tables[1:]:
        scores = (scores[:, :, None] + table.scores[:, None, :]).reshape(len(scores), -1)
    return JointTable([table.cells for table in tables], scores)
