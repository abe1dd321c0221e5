"""Columns that are scored together, as SQL: each column given the columns before it."""

from __future__ import annotations

import math

from tallybayes.export.sql.columns import Columns
from tallybayes.export.sql.densities import Added
from tallybayes.parameters.formula_terms import Conditional, Triangular

__all__ = ["triangular"]


def triangular(term: Triangular, columns: Columns) -> Added:
    """The squares of all columns; of a missing value there is none."""
    stages, dialect = columns.stages, columns.dialect
    x = [columns.number(name) for name in term.columns]
    if term.every:
        for name in x:
            columns.refuse(f"{name} IS NULL", name)
    patterns = [_pattern(x[:j], columns) if len(s) > 1 else "" for j, s in enumerate(term.steps)]
    zero, one, n_classes = dialect.number(0.0), dialect.number(1.0), len(term.mean)
    uses = [*x, *filter(None, patterns)]
    of_class = []
    for k in range(n_classes):
        constants, squares = [], []
        nu = None if term.freedom is None else float(term.freedom[k])
        scale = math.sqrt(0.5 if nu is None else 1.0 / nu)
        for j, steps in enumerate(term.steps):
            r = stages.name(
                "r",
                _residual(term, j, k, x, patterns[j], columns),
                [*x[: j + 1], *filter(None, [patterns[j]])],
            )
            uses.append(r)
            constant, more = _constant(steps, k, patterns[j], columns)
            uses += more
            constants.append(_if_there(x[j], constant, zero))
            squares.append(_if_there(x[j], dialect.square(r, 0.0, scale), zero))
        constant, square = " + ".join(constants), " + ".join(squares)
        if nu is None:
            of_class.append(f"{constant} - ({square})")
            continue
        there = " + ".join(_if_there(name, one, zero) for name in x)
        half = f"{dialect.number(0.5)} * ({dialect.number(nu)} + {there})"
        of_class.append(f"{constant} - {half} * LN({one} + {square})")
    return Added(of_class, uses)


def _if_there(x: str, expression: str, zero: str) -> str:
    return f"CASE WHEN {x} IS NULL THEN {zero} ELSE {expression} END"


def _pattern(x: list[str], columns: Columns) -> str:
    """The name of the number whose binary digits mark the columns that have a value, counted from
    the dialect's first index."""
    bits = [f"CASE WHEN {name} IS NULL THEN 0 ELSE {1 << i} END" for i, name in enumerate(x)]
    return columns.stages.name("w", " + ".join([str(columns.dialect.first), *bits]), x)


def _constant(
    steps: list[Conditional], k: int, pattern: str, columns: Columns
) -> tuple[str, list[str]]:
    """The constant of a column in class k, and the names in it."""
    values = [float(step.constant[k]) for step in steps]
    if len(values) == 1:
        return columns.dialect.number(values[0]), []
    return columns.looked_up(values, pattern, [pattern])


def _residual(
    term: Triangular, j: int, k: int, x: list[str], pattern: str, columns: Columns
) -> str:
    """r of column j in class k; NULL for a missing value."""
    dialect = columns.dialect

    def weighted(step: Conditional) -> str:
        return " + ".join(
            f"({dialect.product(f'({x[i]} - {dialect.number(float(term.mean[k, i]))})', float(w))})"
            for i, w in zip((*step.given, j), step.weights[k].tolist(), strict=True)
            if w != 0.0
        )

    if len(term.steps[j]) == 1:
        return weighted(term.steps[j][0])
    cases = [
        f"WHEN {dialect.first + sum(1 << i for i in step.given)} THEN {weighted(step)}"
        for step in term.steps[j]
    ]
    return f"CASE {pattern} {' '.join(cases)} END"
