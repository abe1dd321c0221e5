"""Data of a nomogram: the contribution of each value of each term to the log-odds of a class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax

from tallybayes.reporting.columns import ColumnFacts, number_text
from tallybayes.reporting.form import Form
from tallybayes.reporting.subjects import ArraySubject, Subject
from tallybayes.tables.columns import text_of_days

__all__ = ["TermValues", "probabilities_of", "term_values"]


Array = NDArray[np.float64]
MISSING = "missing"


@dataclass(frozen=True, eq=False)
class TermValues:
    """The values of a term, and the contribution of each.

    Parameters
    ----------
    name : str
        A column, or a pair of columns.
    values : list of str
    nats : float64 array (n_values,)
        What each value adds to the log-odds, in nats.
    """

    name: str
    values: list[str]
    nats: Array


def term_values(subject: Subject, X: Any, k: int, other: int) -> list[TermValues]:
    """The terms of a model whose log-odds of class k against another are a sum over columns and
    pairs.

    Parameters
    ----------
    subject : Subject
    X : rows, or None
        The rows whose values are shown, of a classifier of arrays, which holds no values.
    k, other : int
        The classes.

    Raises
    ------
    ValueError
        Without rows where they are needed, or for a model with a term that is not a sum of points.
    """
    own = np.zeros(0, dtype=np.intp)
    if isinstance(subject, ArraySubject):
        if X is None:
            raise ValueError(
                f"{type(subject.model).__name__} holds no values of its columns: give X, the rows "
                "whose values the nomogram shows"
            )
        own = np.zeros(len(subject.model.predict(X)), dtype=np.intp)
    form = _form_of(subject)
    found = []
    for facts in subject.columns(X, own):
        if not form.has_term(facts.name) or not facts.bins:
            continue
        values, scores = _of_column(form, facts)
        found.append(TermValues(facts.name, values, _difference(scores, k, other)))
    for cells, table in form.pairs:
        columns = cells.first.column, cells.second.column
        values = [f"{a} × {b}" for a, b in product(*form.model.words_of_pair(columns))]
        found.append(TermValues(" × ".join(columns), values, _difference(table.T, k, other)))
    return found


def _form_of(subject: Subject) -> Form:
    form = subject.form
    if form is None:
        raise ValueError(
            f"a nomogram has a line for each column, and this "
            f"{type(subject.model).__name__} has none: WaterfallDisplay shows single decisions"
        )
    names = [*form.without_form, *(name for group in form.groups for name in group.columns)]
    if names:
        raise ValueError(
            f"a nomogram has a line for each column, but {names[:5]} are columns of text or of a "
            "group of correlated numbers, which have none: WaterfallDisplay shows single decisions"
        )
    return form


def _of_column(form: Form, facts: ColumnFacts) -> tuple[list[str], Array]:
    """The values of a column and what each adds, (n_values, n_classes); levels that are shown
    together are left out."""
    numbers = [b.value for b in facts.bins if b.low is not None]
    levels = [b.value for b in facts.bins if b.low is None and b.value is not None]
    levels = levels[:-1] if facts.hidden_levels else levels
    missing = facts.bins[-1].value is None
    numerals = [text_of_days(x) if facts.dates else number_text(x) for x in numbers]
    scores = form.scores_of(facts.name, np.array(numbers, dtype=np.float64), levels, missing)
    return [*numerals, *levels, *([MISSING] if missing else [])], scores


def _difference(scores: Array, k: int, other: int) -> Array:
    """Log-odds of class k; 0 for a value that rules out both classes."""
    with np.errstate(invalid="ignore"):
        found = scores[:, k] - scores[:, other]
    return np.where(np.isnan(found), 0.0, found)


def probabilities_of(subject: Subject, k: int) -> tuple[Callable[[Array], Array], bool]:
    """From log-odds of class k against another to its probability among the two; and whether that
    is the one that the model predicts, calibrated as it may be.

    Of more than two classes an isotonic calibration, and a share of the class prior, depend on
    all of the scores: the probability is then the one before them.
    """
    model, correction = subject.model._fitted(), _form_of(subject).formula.correction
    if len(subject.classes) == 2:

        def of_two(total: Array) -> Array:
            scores = np.zeros((len(total), 2))
            scores[:, k] = total
            log_proba = log_softmax(scores, axis=1)
            if hasattr(model, "corrected"):
                return np.asarray(model.corrected(log_proba)[:, k])
            return np.asarray(np.exp(log_proba)[:, k])

        return of_two, True
    beta = 1.0 if correction.knots else correction.beta
    whole = not correction.moves_labels
    return lambda total: np.asarray(expit(beta * total)), whole
