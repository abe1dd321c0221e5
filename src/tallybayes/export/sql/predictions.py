"""Labels and probabilities from scores, as SQL."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tallybayes.export.sql.columns import Columns
from tallybayes.export.sql.corrections import Expressions, corrected, normalised
from tallybayes.export.sql.dialect import Dialect
from tallybayes.parameters.formula import Formula
from tallybayes.parameters.formula_cells import Inexpressible
from tallybayes.parameters.formula_terms import CellTable

__all__ = ["literal", "log_odds", "of_log_odds", "of_scores"]

MAX_EXPONENT = 700.0  # e^±700, its inverse and their product are float64 numbers, none of them 0


def log_odds(formula: Formula) -> Formula | None:
    """The formula of s = s_1 − s_0, its only score, of two classes whose scores are finite sums of
    tables; None of other models."""
    tables = [term for term in formula.terms if isinstance(term, CellTable)]
    if len(formula.classes) != 2 or len(tables) < len(formula.terms) or formula.may_rule_out:
        return None
    return replace(
        formula,
        offset=np.diff(formula.offset),
        terms=[CellTable(term.cells, np.diff(term.scores, axis=0)) for term in tables],
    )


def of_log_odds(
    formula: Formula, odds: Formula, columns: Columns, s: str
) -> tuple[list[str], list[str]]:
    """The expressions of label and probabilities of two classes by the name of the log-odds of the
    second, and the names in them.

    Where s is NULL, all of them are.

    Parameters
    ----------
    formula : Formula
        Of the two classes.
    odds : Formula
        Of s.
    columns : Columns
    s : str
    """
    stages, dialect = columns.stages, columns.dialect
    if columns.refusals:
        s = stages.name("s", _unless_refused(columns, s), [s, *columns.uses])
    zero = dialect.number(0.0)

    def of_each(above: str, other: str) -> str:
        return f"CASE WHEN {s} > {zero} THEN {above} WHEN {s} <= {zero} THEN {other} END"

    if formula.correction.beta * _bound(odds) <= MAX_EXPONENT:
        sharp = _logistic(columns, s, formula.correction.beta)
    else:
        more, less = _larger_and_smaller(columns, s, formula.correction.beta)
        sharp = [(of_each(*text), [s, more, less]) for text in ((less, more), (more, less))]
    apart = []
    if formula.correction.knots:
        apart = [
            stages.name("d", of_each(*text), [s]) for text in ((f"-{s}", zero), (zero, f"{s}"))
        ]
    proba = corrected(formula, columns, apart, sharp)
    p = [stages.name("p", text, uses) for text, uses in proba]
    labels = _labels(formula, dialect)
    if formula.correction.moves_labels:
        return _most_probable(columns, p, labels)
    return [of_each(labels[1], labels[0]), *p], [s, *p]


def _bound(odds: Formula) -> float:
    """A number that |s| does not exceed."""
    tables = [term.scores for term in odds.terms if isinstance(term, CellTable)]
    return float(sum(np.abs(scores).max() for scores in [odds.offset, *tables]))


def _logistic(columns: Columns, s: str, beta: float) -> Expressions:
    """The probabilities e^{−βs} / (1 + e^{−βs}) and 1 / (1 + e^{−βs}), whose power is finite."""
    stages, one = columns.stages, columns.dialect.number(1.0)
    power = f"-{s}" if beta == 1.0 else f"{columns.dialect.number(-beta)} * {s}"
    e = stages.name("e", f"EXP({power})", [s])
    second = stages.name("g", f"{one} / ({one} + {e})", [e])
    return [(f"{e} * {second}", [e, second]), (second, [second])]


def _larger_and_smaller(columns: Columns, s: str, beta: float) -> tuple[str, str]:
    """The names of 1 / (1 + e^{−β|s|}) and e^{−β|s|} / (1 + e^{−β|s|}), for any s."""
    stages, dialect, one = columns.stages, columns.dialect, columns.dialect.number(1.0)
    below = f"-ABS({s})" if beta == 1.0 else f"{dialect.number(beta)} * (-ABS({s}))"
    below = stages.name("d", below, [s])
    e = stages.name("e", dialect.exp(below), [below])
    more = stages.name("g", f"{one} / ({one} + {e})", [e])
    return more, stages.name("g", f"{e} / ({one} + {e})", [e])


def of_scores(
    formula: Formula, columns: Columns, scores: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The same by the names of all scores."""
    stages, dialect = columns.stages, columns.dialect
    top = _unless_refused(columns, dialect.greatest(scores))
    m = stages.name("m", top, [*scores, *columns.uses])
    apart = [stages.name("d", f"{score} - {m}", [score, m]) for score in scores]
    sharp = normalised(columns, apart, formula.correction.beta)
    proba = corrected(formula, columns, apart, sharp)
    out = f"{m} = {dialect.number(-np.inf)}"
    if formula.may_rule_out:
        sure = map(dialect.number, formula.ruled_out.tolist())
        proba = [
            (f"CASE WHEN {out} THEN {prior} ELSE {text} END", [m, *uses])
            for prior, (text, uses) in zip(sure, proba, strict=True)
        ]
    p = [stages.name("p", text, uses) for text, uses in proba]
    labels = _labels(formula, dialect)
    if formula.correction.moves_labels:
        return _most_probable(columns, p, labels)
    cases = [f"WHEN {out} THEN {labels[formula.fallback]}"] if formula.may_rule_out else []
    cases += [f"WHEN {s} = {m} THEN {label}" for s, label in zip(scores, labels, strict=True)]
    return [f"CASE {' '.join(cases)} END", *p], [m, *scores, *p]


def _unless_refused(columns: Columns, text: str) -> str:
    """An expression, NULL for a row without a prediction."""
    if not columns.refusals:
        return text
    return f"CASE WHEN {' OR '.join(columns.refusals)} THEN NULL ELSE {text} END"


def _most_probable(
    columns: Columns, p: list[str], labels: list[str]
) -> tuple[list[str], list[str]]:
    """The first class of the largest probability, and the probabilities."""
    best = columns.stages.name("b", columns.dialect.greatest(p), p)
    cases = [f"WHEN {name} = {best} THEN {label}" for name, label in zip(p, labels, strict=True)]
    return [f"CASE {' '.join(cases)} END", *p], [best, *p]


def _labels(formula: Formula, dialect: Dialect) -> list[str]:
    return [literal(label, dialect) for label in formula.classes.tolist()]


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
        f"the label {label!r} is a {type(label).__name__}: SQL can write strings, numbers and "
        "booleans"
    )
