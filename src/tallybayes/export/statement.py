"""One SELECT that predicts as a model does.

The scores s_c are added up, and the probabilities are exp(s_c − max s) over their sum; of two
classes the log-odds are enough. Of equal scores the first class wins. A row that has no prediction,
since it holds what the model refuses (an infinite number, a negative count), has NULL in each
column.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from tallybayes.export.cells import Columns, interval_tree
from tallybayes.export.dialects import Dialect, Stages, dialect_of
from tallybayes.export.scores import added, joined
from tallybayes.export.terms import written
from tallybayes.parameters.formula import CellTable, Correction, Formula, Inexpressible, Kind

__all__ = [
    "PREDICTION",
    "Expressions",
    "corrected",
    "literal",
    "log_odds",
    "normalised",
    "of_log_odds",
    "of_scores",
    "select",
]


# ---- probabilities from scores, and what is done to them, as SQL ---------------------------------
Array = NDArray[np.float64]
Expressions = list[tuple[str, list[str]]]
"""Expressions, and the names in each."""

MAX_CLASSES = 64  # classes of an isotonic calibration, which looks at each pair of them
MAX_LOG_PROBABILITY = 1e5  # as in models/calibration: a log-probability below −1e5 is none,
MAX_LOG_ODDS = 1e4  # and log-odds are within ±1e4
MIN_PROBABILITY = 1e-300


def corrected(
    formula: Formula, columns: Columns, apart: list[str], sharp: Expressions
) -> Expressions:
    """The probability of each class, of a row that not every class rules out.

    Parameters
    ----------
    formula : Formula
    columns : Columns
    apart : list of str
        The names of s_c − max s; not read without an isotonic calibration.
    sharp : list of (str, list of str)
        exp(β·s_c) / Σ exp(β·s_c).
    """
    correction = formula.correction
    proba = _isotonic(columns, correction, apart, sharp) if correction.knots else sharp
    return _mixed(columns, correction, proba)


def normalised(columns: Columns, apart: list[str], beta: float) -> Expressions:
    """exp(β·d_c) / Σ exp(β·d_c)."""
    stages, dialect = columns.stages, columns.dialect
    powers = apart if beta == 1.0 else [f"({dialect.number(beta)} * {d})" for d in apart]
    shares = [
        stages.name("e", dialect.exp(power), [d]) for power, d in zip(powers, apart, strict=True)
    ]
    total = stages.name("w", " + ".join(shares), shares)
    return [(f"{share} / {total}", [share, total]) for share in shares]


def _mixed(columns: Columns, correction: Correction, proba: Expressions) -> Expressions:
    """(1 − ε)·p + ε·prior, at most `most`."""
    if not correction.prior_share:
        return proba
    stages, dialect = columns.stages, columns.dialect
    most, kept = dialect.number(correction.most), dialect.number(1.0 - correction.prior_share)
    found = []
    for (text, uses), prior in zip(proba, correction.prior.tolist(), strict=True):
        more = dialect.number(float(np.float64(correction.prior_share) * prior))
        name = stages.name("q", f"({text}) * {kept} + {more}", uses)
        found.append((f"CASE WHEN {name} > {most} THEN {most} ELSE {name} END", [name]))
    return found


# ---- isotonic calibration ------------------------------------------------------------------------
def _isotonic(
    columns: Columns, correction: Correction, apart: list[str], sharp: Expressions
) -> Expressions:
    """share·f_c(log-odds of c) / Σ f + (1 − share)·p_c, where p_c is `sharp`."""
    stages, dialect = columns.stages, columns.dialect
    if len(apart) > MAX_CLASSES:
        raise Inexpressible(
            f"the probabilities of {len(apart)} classes are calibrated by isotonic regression, "
            f"which to_sql writes for {MAX_CLASSES} at most: use calibrate='temperature'"
        )
    log_p = _log_proba(columns, apart)
    if len(correction.knots) == 1 and len(apart) == 2:
        second = _interpolated(columns, correction, 0, _log_odds(columns, log_p, 1))
        regressed = [(f"({dialect.number(1.0)} - {second})", [second]), (second, [second])]
    else:
        each = [
            _interpolated(columns, correction, c, _log_odds(columns, log_p, c))
            for c in range(len(apart))
        ]
        total = stages.name("w", " + ".join(each), each)
        regressed = [(f"({value} / {total})", [value, total]) for value in each]
    if correction.share == 1.0:
        return regressed
    share, rest = dialect.number(correction.share), dialect.number(1.0 - correction.share)
    return [
        (f"{share} * {a} + {rest} * ({b})", [*uses, *more])
        for (a, uses), (b, more) in zip(regressed, sharp, strict=True)
    ]


def _log_proba(columns: Columns, apart: list[str]) -> list[str]:
    """The names of log p_c, at least −1e5."""
    stages, dialect = columns.stages, columns.dialect
    shares = [stages.name("e", dialect.exp(d), [d]) for d in apart]
    total = stages.name("w", " + ".join(shares), shares)
    log_total = stages.name("w", dialect.log(total), [total])
    return [
        stages.name(
            "l", _at_least(columns, f"({d} - {log_total})", -MAX_LOG_PROBABILITY), [d, log_total]
        )
        for d in apart
    ]


def _log_odds(columns: Columns, log_p: list[str], c: int) -> str:
    """The name of log p_c − log Σ of the others, within ±1e4."""
    stages, dialect = columns.stages, columns.dialect
    others = [name for k, name in enumerate(log_p) if k != c]
    top = stages.name("t", dialect.greatest(others), others)
    shares = " + ".join(f"({dialect.exp(f'({name} - {top})')})" for name in others)
    total = stages.name("w", _at_least(columns, f"({shares})", MIN_PROBABILITY), [*others, top])
    odds = stages.name("z", f"{log_p[c]} - ({top} + {dialect.log(total)})", [log_p[c], top, total])
    low = _at_least(columns, odds, -MAX_LOG_ODDS)
    most = dialect.number(MAX_LOG_ODDS)
    return stages.name("z", f"CASE WHEN {odds} > {most} THEN {most} ELSE {low} END", [odds])


def _at_least(columns: Columns, x: str, least: float) -> str:
    """x, or `least` where it is smaller; NULL stays NULL, which GREATEST would drop."""
    bound = columns.dialect.number(least)
    return f"CASE WHEN {x} < {bound} THEN {bound} ELSE {x} END"


def _interpolated(columns: Columns, correction: Correction, c: int, z: str) -> str:
    """The name of the piecewise linear function of class c at z."""
    stages, dialect = columns.stages, columns.dialect
    knots, values = correction.knots[c], correction.values[c]
    first, rises = dialect.first, np.diff(knots)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.where(rises > 0.0, np.diff(values) / rises, 0.0)
    cells = [str(first + i) for i in range(len(knots) + 1)]
    cell = stages.name("c", interval_tree(dialect, z, knots.tolist(), cells), [z])

    def of_cell(numbers: Sequence[float]) -> tuple[str, list[str]]:
        return columns.looked_up(np.asarray(numbers).tolist(), cell, [cell])

    slope, uses = of_cell([0.0, *slopes, 0.0])
    (start, more), (value, most) = of_cell([knots[0], *knots]), of_cell([values[0], *values])
    return stages.name("f", f"{slope} * ({z} - {start}) + {value}", [z, *uses, *more, *most])


# ---- labels and probabilities from scores, as SQL ------------------------------------------------
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


# ---- the whole statement -------------------------------------------------------------------------
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
        What columns hold in the table, where that differs from the model's kind.
    keep : sequence of str
        Columns of the table that the result has first.

    Raises
    ------
    ValueError
        For a dialect, a name or a kind that does not exist, or a statement too large.
    Inexpressible
        For what SQL cannot express.
    """
    syntax = dialect_of(dialect)
    parts = [table] if isinstance(table, str) else list(table)
    stages = Stages(syntax)
    columns = Columns(formula, stages, dict(names or {}), _kinds(formula, kinds or {}))
    odds = log_odds(formula)
    scores = _scores(odds or formula, columns)
    kept = [stages.name("k", syntax.column(name)) for name in keep]
    outputs = list(zip(kept, keep, strict=True))
    if odds is None:
        found, uses = of_scores(formula, columns, scores)
    else:
        found, uses = of_log_odds(formula, odds, columns, scores[0])
    titles = [PREDICTION, *syntax.titles([str(label) for label in formula.classes.tolist()])]
    _need_distinct([*keep, *titles])
    outputs += zip(found, titles, strict=True)
    return stages.select(syntax.rows(parts), outputs, [*kept, *uses])


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
    terms = joined(written(formula.terms), columns.dialect.most_cells)
    of_terms = [added(term, columns) for term in terms]
    uses = [name for term in of_terms for name in term.uses]
    return [
        columns.stages.name(
            "s",
            " + ".join([columns.dialect.number(offset), *(f"({t.of_class[k]})" for t in of_terms)]),
            uses,
        )
        for k, offset in enumerate(formula.offset.tolist())
    ]
