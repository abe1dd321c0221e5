"""One SELECT that predicts as a model does.

The scores s_c are added up, and the probabilities are exp(s_c − max s) over their sum; of two
classes the log-odds are enough. Of equal scores the first class wins. A row that has no prediction,
since it holds what the model refuses (an infinite number, a negative count), has NULL in each
column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tallybayes.decisions import Costs
from tallybayes.export import expression as sql
from tallybayes.export.expression import Tree, Value
from tallybayes.export.terms import Columns, added, interval_tree, joined
from tallybayes.export.written import kinds_of, labels_of, plain_labels, written
from tallybayes.score import CellTable, Correction, Formula, Inexpressible, Kind
from tallybayes.tables.columns import as_text

__all__ = ["select"]

PREDICTION = "prediction"

MAX_CLASSES = 64  # classes of an isotonic calibration, which looks at each pair of them
MAX_LOG_PROBABILITY = 1e5  # as in models/calibration: a log-probability below −1e5 is none,
MAX_LOG_ODDS = 1e4  # and log-odds are within ±1e4
MIN_PROBABILITY = 1e-300
MAX_EXPONENT = 700.0  # e^±700, its inverse and their product are float64 numbers, none of them 0


# ---- the whole statement -------------------------------------------------------------------------
def select(
    formula: Formula,
    table: str | Sequence[str],
    dialect: str = "duckdb",
    *,
    names: Mapping[str, str] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    keep: Sequence[str] = (),
    costs: Costs | None = None,
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
    costs : Costs, optional
        The prediction is the decision of the least expected cost, as text where some decisions are
        no labels of the type of the others.

    Raises
    ------
    ValueError
        For a dialect, a name or a kind that does not exist, or a statement too large.
    Inexpressible
        For what SQL cannot express.
    """
    query = sql.Query(dialect)
    columns = Columns(
        formula, query, dict(names or {}), kinds_of(formula, kinds or {}, "a column in SQL")
    )
    log_odds = _log_odds_of(formula)
    scores = _scores(log_odds or formula, columns)
    kept = [query.name("k", query.column(name)) for name in keep]
    if log_odds is None:
        found = _of_scores(formula, columns, scores)
    else:
        found = _of_log_odds(formula, log_odds, columns, scores[0])
    if costs is not None:
        found = [_decided(query, costs, found[1:]), *found[1:]]
    labels = [str(label) for label in formula.classes.tolist()]
    titles = [f"p({label})" for label in labels]
    if query.dialect.has_plain_titles:
        titles = [f"p{i}_{re.sub('[^A-Za-z0-9_]', '_', label)}" for i, label in enumerate(labels)]
    titles = [*keep, PREDICTION, *titles]
    for i, title in enumerate(titles):
        if title in titles[:i]:
            raise ValueError(
                f"two columns of the result would be called {title!r}: keep= names columns that "
                "the result has besides"
            )
    parts = [table] if isinstance(table, str) else list(table)
    return query.select(parts, list(zip([*kept, *found], titles, strict=True)))


def _scores(formula: Formula, columns: Columns) -> list[Tree]:
    """The names of the scores."""
    terms = joined(written(formula.terms), columns.query.dialect.most_cells)
    of_terms = [added(term, columns) for term in terms]
    return [
        columns.query.name("s", sql.total([sql.literal(offset), *(term[k] for term in of_terms)]))
        for k, offset in enumerate(formula.offset.tolist())
    ]


# ---- labels and probabilities of two classes by their log-odds -----------------------------------
def _log_odds_of(formula: Formula) -> Formula | None:
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


def _of_log_odds(formula: Formula, log_odds: Formula, columns: Columns, s: Tree) -> list[Tree]:
    """Label and probabilities of two classes by the name of the log-odds of the second.

    Where s is NULL, all of them are.
    """
    query, beta = columns.query, formula.correction.beta
    if columns.refusals:
        s = query.name("s", columns.unless_refused(s))

    def of_each(above: Value, other: Value) -> Tree:
        return sql.case((s > 0.0, above), (s <= 0.0, other))

    tables = [term.scores for term in log_odds.terms if isinstance(term, CellTable)]
    bound = sum(float(np.abs(scores).max()) for scores in [log_odds.offset, *tables])
    if beta * bound <= MAX_EXPONENT:  # e^−βs is a float64
        power = -s if beta == 1.0 else s * -beta
        e = query.name("e", sql.call("EXP", power))
        second = query.name("g", sql.literal(1.0) / (e + 1.0))
        proba: list[Tree] = [e * second, second]
    else:
        below = -sql.call("ABS", s)
        d = query.name("d", below if beta == 1.0 else below * beta)
        e = query.name("e", query.exponential(d))
        more = query.name("g", sql.literal(1.0) / (e + 1.0))
        less = query.name("g", e / (e + 1.0))
        proba = [of_each(less, more), of_each(more, less)]
    differences = []
    if formula.correction.knots:
        differences = [query.name("d", of_each(-s, 0.0)), query.name("d", of_each(0.0, s))]
    p = [query.name("p", tree) for tree in _corrected(formula, columns, differences, proba)]
    if formula.correction.moves_labels:
        return _most_probable(formula, columns, p)
    first, second_label = _labels(formula, query)
    return [of_each(second_label, first), *p]


# ---- labels and probabilities of any classes by their scores -------------------------------------
def _of_scores(formula: Formula, columns: Columns, scores: Sequence[Tree]) -> list[Tree]:
    """Label and probabilities by the names of all scores."""
    query, beta = columns.query, formula.correction.beta
    m = query.name("m", columns.unless_refused(sql.greatest(scores)))
    differences = [query.name("d", score - m) for score in scores]
    powers = differences if beta == 1.0 else [d * beta for d in differences]
    shares = [query.name("e", query.exponential(power)) for power in powers]
    sum_of_shares = query.name("w", sql.total(shares))
    proba: list[Tree] = [share / sum_of_shares for share in shares]
    proba = _corrected(formula, columns, differences, proba)
    is_ruled_out = m <= -np.inf
    if formula.may_rule_out:
        sure = formula.ruled_out.tolist()
        pairs = zip(sure, proba, strict=True)
        proba = [sql.case((is_ruled_out, prior), default=tree) for prior, tree in pairs]
    p = [query.name("p", tree) for tree in proba]
    if formula.correction.moves_labels:
        return _most_probable(formula, columns, p)
    labels = _labels(formula, query)
    whens: list[tuple[Value, Value]] = list(zip((s.eq(m) for s in scores), labels, strict=True))
    if formula.may_rule_out:
        whens = [(is_ruled_out, labels[formula.fallback]), *whens]
    return [sql.case(*whens), *p]


def _most_probable(formula: Formula, columns: Columns, p: Sequence[Tree]) -> list[Tree]:
    """The first class of the largest probability, and the probabilities."""
    best = columns.query.name("b", sql.greatest(p))
    labels = _labels(formula, columns.query)
    return [sql.case(*((x.eq(best), label) for x, label in zip(p, labels, strict=True))), *p]


def _decided(query: sql.Query, costs: Costs, p: Sequence[Tree]) -> Tree:
    """The first decision of the least expected cost, by the probabilities."""
    gains = [
        query.name("x", sql.total([x * -cost for x, cost in zip(p, of_each, strict=True)]))
        for of_each in costs.values.T.tolist()
    ]
    best = query.name("b", sql.greatest(gains))
    decisions = costs.decisions
    if len({type(decision) for decision in decisions}) > 1:
        decisions = [as_text(decision) for decision in decisions]
    names = _literals(plain_labels(decisions), query)
    return sql.case(*((x.eq(best), name) for x, name in zip(gains, names, strict=True)))


def _labels(formula: Formula, query: sql.Query) -> list[Tree]:
    """The labels as literals."""
    return _literals(labels_of(formula), query)


def _literals(labels: Sequence[str | bool | float], query: sql.Query) -> list[Tree]:
    """Labels as literals; raises Inexpressible for one that the dialect cannot hold."""
    for label in labels:
        if isinstance(label, str) and not query.holds(label):
            title = query.dialect.title
            raise Inexpressible(f"{title} has no string for the label {label!r}: rename it")
    return [sql.exp.convert(label) for label in labels]


# ---- corrections of the probabilities ------------------------------------------------------------
def _corrected(
    formula: Formula, columns: Columns, differences: Sequence[Tree], proba: list[Tree]
) -> list[Tree]:
    """The probability of each class, of a row that not every class rules out.

    Parameters
    ----------
    formula : Formula
    columns : Columns
    differences : list of expressions
        The names of s_c − max s; not read without an isotonic calibration.
    proba : list of expressions
        exp(β·s_c) / Σ exp(β·s_c).
    """
    correction, found = formula.correction, list[Tree]()
    if correction.knots:
        proba = _isotonic(columns, correction, differences, proba)
    if not correction.prior_share:
        return proba
    most, kept = correction.most, 1.0 - correction.prior_share  # (1 − ε)·p + ε·prior
    for p, prior in zip(proba, correction.prior.tolist(), strict=True):
        q = columns.query.name("q", p * kept + float(np.float64(correction.prior_share) * prior))
        found.append(sql.case((q > most, most), default=q))
    return found


def _isotonic(
    columns: Columns,
    correction: Correction,
    differences: Sequence[Tree],
    sharp: Sequence[Tree],
) -> list[Tree]:
    """share·f_c(log-odds of c) / Σ f + (1 − share)·p_c, where p_c is `sharp`."""
    query, n = columns.query, len(differences)
    if n > MAX_CLASSES:
        raise Inexpressible(
            f"the probabilities of {n} classes are calibrated by isotonic regression, "
            f"which to_sql writes for {MAX_CLASSES} at most: use calibrate='temperature'"
        )
    shares = [query.name("e", query.exponential(d)) for d in differences]
    log_sum = query.name("w", query.log(query.name("w", sql.total(shares))))
    log_p = [query.name("l", _at_least(d - log_sum, -MAX_LOG_PROBABILITY)) for d in differences]

    def regressed_of(c: int) -> Tree:
        return _interpolated(columns, correction, c, _log_odds(query, log_p, c))

    regressed: list[Tree]
    if len(correction.knots) == 1 and n == 2:
        second = _interpolated(columns, correction, 0, _log_odds(query, log_p, 1))
        regressed = [sql.literal(1.0) - second, second]
    else:
        each = [regressed_of(c) for c in range(n)]
        sum_of_each = query.name("w", sql.total(each))
        regressed = [value / sum_of_each for value in each]
    if correction.share == 1.0:
        return regressed
    share, rest = correction.share, 1.0 - correction.share
    return [a * share + b * rest for a, b in zip(regressed, sharp, strict=True)]


def _log_odds(query: sql.Query, log_p: Sequence[Tree], c: int) -> Tree:
    """The name of log p_c − log Σ of the others, within ±1e4."""
    others = [name for k, name in enumerate(log_p) if k != c]
    top = query.name("t", sql.greatest(others))
    shares = query.name("w", sql.total([query.exponential(name - top) for name in others]))
    rest = query.name("w", _at_least(shares, MIN_PROBABILITY))
    z = query.name("z", log_p[c] - (top + query.log(rest)))
    low = _at_least(z, -MAX_LOG_ODDS)
    return query.name("z", sql.case((z > MAX_LOG_ODDS, MAX_LOG_ODDS), default=low))


def _at_least(x: Tree, least: float) -> Tree:
    """x, or `least` where it is smaller; NULL stays NULL, which GREATEST would drop."""
    return sql.case((x < least, least), default=x)


def _interpolated(columns: Columns, correction: Correction, c: int, z: Tree) -> Tree:
    """The name of the piecewise linear function of class c at z."""
    query = columns.query
    knots, values = correction.knots[c], correction.values[c]
    rises = np.diff(knots)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.where(rises > 0.0, np.diff(values) / rises, 0.0)
    cells = list(range(1, len(knots) + 2))
    cell = query.name("c", interval_tree(query, z, knots.tolist(), cells))
    slope = query.looked_up([0.0, *slopes, 0.0], cell)
    start = query.looked_up([knots[0], *knots], cell)
    value = query.looked_up([values[0], *values], cell)
    return query.name("f", slope * (z - start) + value)
