"""One SELECT that says what a model predicts.

The scores s_c are added up, and the probabilities are exp(s_c − max s) over their sum. Of equal
scores the first class wins. A row that has no prediction, since it holds what the model refuses (an
infinite number, a negative count), has NULL in each column.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np

from tallybayes.export.sql.columns import Columns
from tallybayes.export.sql.corrections import corrected
from tallybayes.export.sql.dialect import Dialect
from tallybayes.export.sql.dialects import dialect_of
from tallybayes.export.sql.joint_tables import joined
from tallybayes.export.sql.scores import added
from tallybayes.export.sql.stages import Stages
from tallybayes.parameters.formula import Formula
from tallybayes.parameters.formula_cells import Inexpressible, Kind

__all__ = ["PREDICTION", "select"]

PREDICTION = "prediction"


def select(
    formula: Formula,
    table: str | Sequence[str],
    dialect: str = "duckdb",
    *,
    names: Mapping[str, str] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    keep: Sequence[str] = (),
) -> str:
    """The statement.

    Parameters
    ----------
    formula : Formula
    table : str or sequence of str
        Its name, or the parts of it: schema and table.
    dialect : str
    names : mapping of str to str, optional
        What the table calls columns, where that is not their name.
    kinds : mapping of str to Kind, optional
        What columns hold in the table, where that is not what the model says.
    keep : sequence of str
        Columns of the table that the result has first.

    Raises
    ------
    ValueError
        For a dialect, a name or a kind that does not exist, or a statement too large.
    Inexpressible
        For what SQL does not say.
    """
    says = dialect_of(dialect)
    parts = [table] if isinstance(table, str) else list(table)
    stages = Stages(says)
    columns = Columns(formula, stages, dict(names or {}), _kinds(formula, kinds or {}))
    scores = _scores(formula, columns)
    kept = [stages.name("k", f"t.{says.name(name)}") for name in keep]
    outputs = list(zip(kept, map(says.name, keep), strict=True))
    found, uses = _predictions(formula, columns, scores)
    titles = [PREDICTION, *says.titles([str(label) for label in formula.classes.tolist()])]
    _need_distinct([*keep, *titles])
    outputs += zip(found, map(says.name, titles), strict=True)
    return stages.select(says.rows(parts), outputs, [*kept, *uses])


def _kinds(formula: Formula, given: Mapping[str, Kind]) -> dict[str, Kind]:
    """What columns hold in the table."""
    kinds = {**formula.kinds, **given}
    for name, kind in given.items():
        if name not in formula.kinds:
            raise ValueError(f"types= names {name!r}, which is not a column of the model")
        if kind not in get_args(Kind) or kind == "mixed":
            known = ", ".join(k for k in get_args(Kind) if k != "mixed")
            raise ValueError(f"types= says that {name!r} holds {kind!r}: it is one of {known}")
    for name in formula.columns:
        if kinds[name] == "mixed":
            raise Inexpressible(
                f"column {name!r} held numbers and strings in training, and a column in SQL holds "
                f"one of them: if it holds numbers there, say types={{{name!r}: 'number'}}"
            )
    return kinds


def _need_distinct(names: Sequence[str]) -> None:
    """Raises where two columns of the result would have one name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(
                f"two columns of the result would be called {name!r}: keep= names columns that the "
                "result has besides"
            )
        seen.add(name)


def _scores(formula: Formula, columns: Columns) -> list[str]:
    """The names of the scores."""
    of_terms = [added(term, columns) for term in joined(formula.terms)]
    uses = [name for term in of_terms for name in term.uses]
    return [
        columns.stages.name(
            "s",
            " + ".join([columns.dialect.number(offset), *(f"({t.of_class[k]})" for t in of_terms)]),
            uses,
        )
        for k, offset in enumerate(formula.offset.tolist())
    ]


def _predictions(
    formula: Formula, columns: Columns, scores: list[str]
) -> tuple[list[str], list[str]]:
    """The expressions of label and probabilities, and the names in them."""
    stages, dialect = columns.stages, columns.dialect
    top = dialect.greatest(scores)
    if columns.refusals:
        refused = " OR ".join(columns.refusals)
        top = f"CASE WHEN {refused} THEN NULL ELSE {top} END"
    m = stages.name("m", top, [*scores, *columns.uses])
    apart = [stages.name("d", f"{score} - {m}", [score, m]) for score in scores]
    proba = corrected(formula, columns, apart)
    out = f"{m} = {dialect.number(-np.inf)}"
    if formula.may_rule_out:
        sure = map(dialect.number, formula.ruled_out.tolist())
        proba = [
            (f"CASE WHEN {out} THEN {prior} ELSE {text} END", [m, *uses])
            for prior, (text, uses) in zip(sure, proba, strict=True)
        ]
    p = [stages.name("p", text, uses) for text, uses in proba]
    labels = [literal(label, dialect) for label in formula.classes.tolist()]
    if formula.correction.moves_labels:
        best = stages.name("b", dialect.greatest(p), p)
        cases = [
            f"WHEN {name} = {best} THEN {label}" for name, label in zip(p, labels, strict=True)
        ]
        return [f"CASE {' '.join(cases)} END", *p], [best, *p]
    cases = [f"WHEN {out} THEN {labels[formula.fallback]}"] if formula.may_rule_out else []
    cases += [f"WHEN {s} = {m} THEN {label}" for s, label in zip(scores, labels, strict=True)]
    return [f"CASE {' '.join(cases)} END", *p], [m, *scores, *p]


def literal(label: Any, dialect: Dialect) -> str:
    """A label as a literal.

    Raises
    ------
    Inexpressible
        For a value that is not a string, a number or a boolean, or that the dialect cannot hold.
    """
    if isinstance(label, bool):
        return "TRUE" if label else "FALSE"
    if isinstance(label, str):
        if not dialect.holds(label):
            raise Inexpressible(f"{dialect.title} has no string for the label {label!r}: rename it")
        return dialect.string(label)
    if isinstance(label, numbers.Integral):
        return str(int(label))
    if isinstance(label, numbers.Real):
        return dialect.number(float(label))
    raise Inexpressible(
        f"the label {label!r} is a {type(label).__name__}: SQL says strings, numbers and booleans"
    )
