"""Probabilities from scores, and what is done to them, as SQL."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tallybayes.export.sql.columns import Columns
from tallybayes.export.sql.intervals import interval_tree
from tallybayes.parameters.formula import Correction, Formula
from tallybayes.parameters.formula_cells import Inexpressible

__all__ = ["Expressions", "corrected", "normalised"]

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


# ---- isotonic calibration -----------------------------------------------------------------------
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
