"""A model as nested CASE, and PostgreSQL without a fence: other ways to write a statement."""

from __future__ import annotations

from typing import Any

from tallybayes.export.dialects import DIALECTS, DuckDB, Postgres
from tallybayes.parameters.formula import CellTable, Formula, LevelCells

__all__ = ["nested_case", "without_fence"]


def nested_case(formula: Formula, table: str) -> str:
    """The scores as a CASE for each term and class, as one writes it by hand.

    Of terms that look a cell of one column up.
    """
    says = DuckDB()
    scores = [
        " + ".join([says.number(offset), *(_case(term, k, says) for term in formula.terms)])
        for k, offset in enumerate(formula.offset.tolist())
    ]
    named = ", ".join(f"{score} AS s{k}" for k, score in enumerate(scores))
    names = [f"s{k}" for k in range(len(scores))]
    total = " + ".join(f"exp({name} - m)" for name in names)
    proba = ", ".join(f"exp({name} - m) / ({total}) AS p{k}" for k, name in enumerate(names))
    labels = " ".join(
        f"WHEN {name} = m THEN {says.string(str(label))}"
        for name, label in zip(names, formula.classes.tolist(), strict=True)
    )
    return (
        f"SELECT CASE {labels} END AS prediction, {proba} FROM (SELECT *, "
        f"{says.greatest(names)} AS m FROM (SELECT {named} FROM {says.name(table)}))"
    )


def _case(term: Any, k: int, says: DuckDB) -> str:
    assert isinstance(term, CellTable)
    scores = [says.number(score) for score in term.scores[k].tolist()]
    cells: Any = term.cells
    column = says.name(cells.column)
    if isinstance(cells, LevelCells):
        pairs = [
            (f"{column} = {says.string(level)}", score)
            for level, score in zip(cells.levels, scores[1:-1], strict=True)
        ]
        last = scores[-1]
    else:
        starts = [says.number(start) for start in cells.starts.tolist()]
        pairs = [(f"{column} < {s}", score) for s, score in zip(starts, scores[1:-1], strict=True)]
        last = scores[-1]
    whens = " ".join(f"WHEN {condition} THEN {score}" for condition, score in pairs)
    return f"CASE WHEN {column} IS NULL THEN {scores[0]} {whens} ELSE {last} END"


class _Unfenced(Postgres):
    fence = ""


def without_fence(model: Any, table: str, **options: Any) -> str:
    """The statement for PostgreSQL whose subqueries it merges."""
    known = DIALECTS["postgres"]
    DIALECTS["postgres"] = _Unfenced
    try:
        return str(model.to_sql(table, "postgres", **options))
    finally:
        DIALECTS["postgres"] = known
