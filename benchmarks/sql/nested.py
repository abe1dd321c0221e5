"""A model as nested CASE, and PostgreSQL without a fence: other ways to write a statement."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tallybayes.export.dialects import DIALECTS
from tallybayes.export.expression import Query, exp, greatest, literal
from tallybayes.score import CellTable, Formula, LevelCells

__all__ = ["nested_case", "without_fence"]


def nested_case(formula: Formula, table: str) -> str:
    """The scores as a CASE for each term and class, as one writes it by hand.

    Of terms that look a cell of one column up.
    """
    query = Query("duckdb")
    scores = [
        " + ".join([_number(query, offset), *(_case(term, k, query) for term in formula.terms)])
        for k, offset in enumerate(formula.offset.tolist())
    ]
    named = ", ".join(f"{score} AS s{k}" for k, score in enumerate(scores))
    names = [f"s{k}" for k in range(len(scores))]
    total = " + ".join(f"exp({name} - m)" for name in names)
    proba = ", ".join(f"exp({name} - m) / ({total}) AS p{k}" for k, name in enumerate(names))
    labels = " ".join(
        f"WHEN {name} = m THEN {query.sql(query.string(str(label)))}"
        for name, label in zip(names, formula.classes.tolist(), strict=True)
    )
    largest = query.sql(greatest([exp.column(name) for name in names]))
    return (
        f"SELECT CASE {labels} END AS prediction, {proba} FROM (SELECT *, "
        f"{largest} AS m FROM (SELECT {named} FROM {query.sql(query.identifier(table))}))"
    )


def _number(query: Query, x: float) -> str:
    return query.sql(literal(x))


def _case(term: Any, k: int, query: Query) -> str:
    assert isinstance(term, CellTable)
    scores = [_number(query, score) for score in term.scores[k].tolist()]
    cells: Any = term.cells
    column = query.sql(query.identifier(cells.column))
    if isinstance(cells, LevelCells):
        pairs = [
            (f"{column} = {query.sql(query.string(level))}", score)
            for level, score in zip(cells.levels, scores[1:-1], strict=True)
        ]
        last = scores[-1]
    else:
        starts = [_number(query, start) for start in cells.starts.tolist()]
        pairs = [(f"{column} < {s}", score) for s, score in zip(starts, scores[1:-1], strict=True)]
        last = scores[-1]
    whens = " ".join(f"WHEN {condition} THEN {score}" for condition, score in pairs)
    return f"CASE WHEN {column} IS NULL THEN {scores[0]} {whens} ELSE {last} END"


def without_fence(model: Any, table: str, **options: Any) -> str:
    """The statement for PostgreSQL whose subqueries it merges."""
    known = DIALECTS["postgres"]
    DIALECTS["postgres"] = replace(known, fence="")
    try:
        return str(model.to_sql(table, "postgres", **options))
    finally:
        DIALECTS["postgres"] = known
