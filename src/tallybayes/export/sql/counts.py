"""Counts that a formula reads, as SQL: a table, and a tail beyond it."""

from __future__ import annotations

from tallybayes.export.sql.columns import Columns
from tallybayes.export.sql.densities import Added, pooled
from tallybayes.parameters.formula_terms import CountTail, CountTerm

__all__ = ["counts"]


def counts(term: CountTerm, columns: Columns) -> Added:
    """The table where the count is in it, the tail elsewhere."""
    dialect, size = columns.dialect, term.cells.size
    x, cell = columns.count(term.cells, term.most)
    beyond = f"{x} >= {dialect.number(size - 1.0)}"
    within = f"CASE WHEN {beyond} AND {x} <= {dialect.number(term.most)} THEN {x} END"
    y = columns.stages.name("y", within, [x])
    tail = _tail(y, term.tail, columns)
    of_class, uses = [], [y, *tail.uses]
    for far, scores in zip(tail.of_class, term.scores, strict=True):
        near, more = columns.looked_up(scores.tolist(), cell, [cell])
        of_class.append(f"CASE WHEN {y} IS NOT NULL THEN {far} ELSE {near} END")
        uses += more
    return Added(of_class, uses)


def _tail(y: str, tail: CountTail, columns: Columns) -> Added:
    """The score of counts beyond the table, NULL for others."""
    stages, dialect = columns.stages, columns.dialect
    half = dialect.number(0.5)
    shared = stages.name("q", f"{half} * LN({y}) + {_correction(y, columns)}", [y])
    masses = []
    for constant, mean, size in zip(
        tail.constant.tolist(), tail.mean.tolist(), tail.size.tolist(), strict=True
    ):
        if mean == 0.0:  # no count but 0 is possible
            masses.append(stages.name("g", dialect.number(float("-inf")), [y]))
            continue
        r = dialect.number(size)
        odds = f"({r} + {y}) / {y} * {dialect.number(mean / (size + mean))}"
        rising = f"{dialect.number(size - 0.5)} * LN({dialect.number(1.0)} + {y} / {r})"
        text = (
            f"{dialect.number(constant)} + {y} * LN({odds}) + {rising} - {shared} + "
            f"{_correction(f'({r} + {y})', columns)}"
        )
        masses.append(stages.name("g", text, [y, shared]))
    if tail.share is None:
        return Added(masses, masses)
    return pooled(y, masses, tail.share, tail.shift.tolist(), columns)


def _correction(z: str, columns: Columns) -> str:
    """c(z): what Stirling's formula lacks."""
    first, second, third = map(columns.dialect.number, (1.0 / 12.0, 1.0 / 360.0, 1.0 / 1260.0))
    square = f"({z} * {z})"
    return f"({first} - ({second} - {third} / {square}) / {square}) / {z}"
