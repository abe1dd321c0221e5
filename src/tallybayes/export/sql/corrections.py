"""Probabilities from scores, and what is done to them, as SQL."""

from __future__ import annotations

import numpy as np

from tallybayes.export.sql.columns import Columns
from tallybayes.parameters.formula import Correction, Formula, Inexpressible

__all__ = ["corrected"]

Said = list[tuple[str, list[str]]]
"""Expressions, and the names in each."""


def corrected(formula: Formula, columns: Columns, apart: list[str]) -> Said:
    """The probability of each class, of a row that not every class rules out.

    Parameters
    ----------
    formula : Formula
    columns : Columns
    apart : list of str
        The names of s_c − max s.
    """
    correction = formula.correction
    if correction.knots:
        raise Inexpressible(
            "the probabilities are calibrated by isotonic regression: use calibrate='temperature'"
        )
    return _mixed(columns, correction, _normalised(columns, apart, correction.beta))


def _normalised(columns: Columns, apart: list[str], beta: float) -> Said:
    """exp(β·d_c) / Σ exp(β·d_c)."""
    stages, dialect = columns.stages, columns.dialect
    powers = apart if beta == 1.0 else [f"({dialect.number(beta)} * {d})" for d in apart]
    shares = [
        stages.name("e", dialect.exp(power), [d]) for power, d in zip(powers, apart, strict=True)
    ]
    total = stages.name("w", " + ".join(shares), shares)
    return [(f"{share} / {total}", [share, total]) for share in shares]


def _mixed(columns: Columns, correction: Correction, proba: Said) -> Said:
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
