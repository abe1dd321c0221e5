"""Columns that say the same of every row: one of them is learned, the others weigh nothing."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tallybayes.weighted.cells import ColumnCells
from tallybayes.weighted.learned import Learned
from tallybayes.weighted.tables import column_table
from tallybayes.weighted.terms import Weights

__all__ = ["distinct", "with_duplicates"]

Array = NDArray[np.float64]
Cells = NDArray[np.int32]


def distinct(cells: Cells) -> tuple[list[int], dict[int, int]]:
    """The columns to keep, and of each other column the kept one that has the same cells.

    Parameters
    ----------
    cells : int32 array (n_columns, n_rows)
    """
    first: dict[bytes, int] = {}
    duplicates = {}
    for j, column in enumerate(cells):
        same = first.setdefault(hashlib.sha256(column.tobytes()).digest(), j)
        if same != j:
            duplicates[j] = same
    return list(first.values()), duplicates


def with_duplicates(
    learned: Learned,
    columns: list[ColumnCells],
    kept: list[int],
    duplicates: dict[int, int],
    p: Array,
) -> Learned:
    """What was learned of the kept columns, with the others beside them at weight 0.

    Parameters
    ----------
    learned : Learned
        Of the kept columns.
    columns : list of ColumnCells
    kept : list of int
    duplicates : dict of int to int
    p : float64 array (n_classes,)
        Shares of the classes.
    """
    d = len(columns)

    def spread(weights: Weights) -> Weights:
        taken = len(weights.terms) - len(kept)
        place = np.array([*kept, *range(d, d + taken)], dtype=np.intp)
        terms, deviations = np.zeros(d + taken), np.zeros((len(p), d + taken))
        terms[place], deviations[:, place] = weights.terms, weights.deviations
        return replace(weights, terms=terms, deviations=deviations)

    at = dict(zip(kept, range(len(kept)), strict=True))

    def widened(tables: list[Array]) -> list[Array]:
        nothing = [np.zeros((column.n_cells, len(p))) for column in columns]
        wide = [tables[at[j]] if j in at else nothing[j] for j in range(d)]
        return wide + tables[len(kept) :]

    choices = [
        learned.choices[at[j]] if j in at else column_table(column, p).choice
        for j, column in enumerate(columns)
    ]
    corrections = learned.corrections
    return replace(
        learned,
        columns=columns,
        choices=choices,
        pairs=[replace(q, first=kept[q.first], second=kept[q.second]) for q in learned.pairs],
        rounds=[spread(weights) for weights in learned.rounds],
        weights=spread(learned.weights),
        corrections=None if corrections is None else widened(corrections),
        tables=widened(learned.tables),
        duplicates=duplicates,
    )
