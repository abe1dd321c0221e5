"""Everything that a report shows, as plain data."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.reporting.columns import ColumnFacts
from tallybayes.reporting.measures import (
    Estimate,
    LearningCurve,
    Predictions,
    Ranking,
    Reliability,
    calibration_error,
    confusions,
    learning_curve,
    ranking,
    reliability,
)
from tallybayes.reporting.subjects import Subject, Text
from tallybayes.validation import LeftOut, as_rows, codes_of, labels_given, rows_of

__all__ = [
    "Chosen",
    "Content",
    "Finding",
    "ShownRow",
    "Step",
    "chosen_rows",
    "content_of",
    "near_copies",
    "steps_of",
]


# ---- rows that are shown -------------------------------------------------------------------------
Array = NDArray[np.float64]

ROWS_OF_EACH_KIND = 6
"""Rows of each kind."""
TYPICAL_CLASSES = 6
MAX_TERMS = 14
"""Terms that a waterfall shows by themselves."""


@dataclass(frozen=True)
class Chosen:
    """A row to show.

    Parameters
    ----------
    kind : {"mistake", "uncertain", "typical"}
    row : int
    """

    kind: str
    row: int


@dataclass(frozen=True)
class Step:
    """The contribution of a term to the log-odds of one class against another, in nats."""

    name: str
    value: str
    nats: float


@dataclass(frozen=True)
class ShownRow:
    """A row with its prediction taken apart.

    Parameters
    ----------
    kind : str
    number : int
        The row's place in X.
    own, predicted, against : int
        Classes: its own, the predicted one, and the one that the steps compare it with.
    probability, of_own : float
        Honest probabilities of the predicted and of its own class.
    values : mapping of str to str
    base : float
        Log-odds of a row without values, in nats.
    steps : list of Step
        The largest first.
    rest : float
        What the other terms add together.
    n_rest : int
    """

    kind: str
    number: int
    own: int
    predicted: int
    against: int
    probability: float
    of_own: float
    values: Mapping[str, Any]
    base: float
    steps: list[Step]
    rest: float
    n_rest: int


def chosen_rows(predictions: Predictions) -> list[Chosen]:
    """The most confident mistakes, the most uncertain rows, and the most typical of each class."""
    log_proba, own, best = predictions.log_proba, predictions.own, predictions.best
    there = np.flatnonzero(predictions.weight > 0.0)
    wrong = there[best[there] != own[there]]
    worst = wrong[np.argsort(predictions.of_own[wrong], kind="stable")][:ROWS_OF_EACH_KIND]
    found = [Chosen("mistake", row) for row in worst.tolist()]
    if log_proba.shape[1] > 1:
        two = np.sort(log_proba, axis=1)[:, -2:]
        margin = two[there, 1] - two[there, 0]
        close = there[np.argsort(margin, kind="stable")]
        close = close[~np.isin(close, worst)][:ROWS_OF_EACH_KIND]
        found += [Chosen("uncertain", row) for row in close.tolist()]
    largest = np.argsort(-predictions.shares, kind="stable")[:TYPICAL_CLASSES]
    for k in largest.tolist():
        rows = there[(own[there] == k) & (best[there] == k)]
        typical = rows[np.argsort(-predictions.of_own[rows], kind="stable")]
        n = 2 if len(largest) < 4 else 1
        found += [Chosen("typical", row) for row in typical[:n].tolist()]
    return found


def shown_rows(
    subject: Subject, X: Any, numbers: NDArray[np.intp], predictions: Predictions
) -> list[ShownRow]:
    """The chosen rows with their steps; `numbers` are the places of X's rows in the data."""
    chosen = chosen_rows(predictions)
    if not chosen:
        return []
    at = np.array([c.row for c in chosen], dtype=np.intp)
    some = rows_of(X, at)
    base, of_terms, names = subject.contributions(some)
    found = []
    parts = zip(chosen, subject.values(some), of_terms, names, strict=True)
    for c, values, contributions, words in parts:
        own = int(predictions.own[c.row])
        proba = np.exp(predictions.log_proba[c.row])
        predicted, against = _compared(proba, own)
        with np.errstate(invalid="ignore"):
            nats = np.nan_to_num(contributions[:, predicted] - contributions[:, against], nan=0.0)
        steps, rest, n_rest = steps_of(nats, words)
        found.append(
            ShownRow(
                c.kind,
                int(numbers[c.row]),
                own,
                predicted,
                against,
                float(proba[predicted]),
                float(proba[own]),
                values,
                float(base[predicted] - base[against]),
                steps,
                rest,
                n_rest,
            )
        )
    return found


def _compared(proba: Array, own: int) -> tuple[int, int]:
    """The predicted class, and the one it is compared with: the row's own where the prediction is
    wrong, else the next."""
    order = np.argsort(-proba, kind="stable").tolist()
    if own != order[0]:
        return order[0], own
    return order[0], order[min(1, len(order) - 1)]


def steps_of(
    contributions: Array, words: list[tuple[str, str]], max_terms: int = MAX_TERMS
) -> tuple[list[Step], float, int]:
    """The terms that add most, the largest first, what the others add together, and how many these
    are; terms that add nothing are in neither.

    Parameters
    ----------
    contributions : float64 array (n_terms,)
        What each term adds, in nats; NaN, where it rules out both classes, is 0.
    words : list of (str, str)
        The terms and their values.
    max_terms : int
        How many terms stand by themselves.
    """
    contributions = np.where(np.isnan(contributions), 0.0, contributions)
    order = np.argsort(-np.abs(contributions), kind="stable")
    order = order[contributions[order] != 0.0]
    steps = [
        Step(words[t][0], words[t][1], float(contributions[t])) for t in order[:max_terms].tolist()
    ]
    rest = order[max_terms:]
    return steps, float(contributions[rest].sum()), len(rest)


# ---- what a report shows, and the rows that its figures are of -----------------------------------
HOW = {"whole": "stated", "folds": "folds", "counts": "leave_one_out"}
MAX_ROWS = 50_000
"""Rows that are predicted, at most."""
MAX_PROBABILITIES = 20_000_000
"""Rows times classes, at most."""
MAX_CURVE_ROWS, MAX_REFIT_ROWS, MAX_REFIT_VALUES = 20_000, 3_000, 200_000
"""Rows of the learning curve, at most; and, where the model is fitted again on each prefix, fewer,
and not more than so many values."""
MAX_IMPORTANCE_WORK = 20_000_000
"""Rows times classes times terms that are looked at for what terms are worth, at most."""
MAX_COMPARED_DOCUMENTS = 500
"""Documents on which the page's and the model's predictions are compared, at most."""
MAX_CURVE_CLASSES = 12
"""Classes that have curves: those with the most rows."""


@dataclass(frozen=True, eq=False)
class Headline:
    """How good the model is.

    Parameters
    ----------
    by : {"stated", "folds", "leave_one_out", "new"}
        Whether the rows were left out of the whole fit, left out in folds with every choice
        repeated, left out of the counts one by one, or are new to the model.
    rows : float
        Weight of the rows that the figures are of.
    accuracy, log_loss : Estimate
    largest_share, share_loss : float
        Accuracy of always the largest class; log-loss of the class shares.
    calibration_error : float
    """

    by: str
    rows: float
    accuracy: Estimate
    log_loss: Estimate
    largest_share: float
    share_loss: float
    calibration_error: float


@dataclass(frozen=True, eq=False)
class Content:
    """The content of a report.

    Parameters
    ----------
    subject : Subject
    rows_given, rows_read : int
        Rows of X, and those that were sampled from them.
    learned : bool
        Whether X was taken for rows that the model has learned.
    headline : Headline
    predictions : Predictions
        Of the rows that were read.
    confused : float64 array (n_classes, n_classes)
    columns : list of ColumnFacts
    findings : list of Finding
    shown : list of ShownRow
    reliabilities : dict of int to Reliability
    rankings : dict of int to Ranking
    learning : LearningCurve, optional
    worth : dict of str to float, optional
        By term, how much the log-loss rises without it, in nats a row.
    text : Text, optional
        A classifier of documents as the page evaluates it.
    """

    subject: Subject
    rows_given: int
    rows_read: int
    learned: bool
    headline: Headline
    predictions: Predictions
    confused: Array
    columns: list[ColumnFacts]
    findings: list[Finding]
    shown: list[ShownRow]
    reliabilities: dict[int, Reliability]
    rankings: dict[int, Ranking]
    learning: LearningCurve | None
    worth: dict[str, float] | None
    text: Text | None


def content_of(
    subject: Subject,
    X: Any,
    y: Any,
    weight: Array | None,
    learned: bool | None,
    groups: NDArray[np.intp] | None = None,
) -> Content:
    """The content of a report.

    Parameters
    ----------
    subject : Subject
    X, y : rows and labels
    weight : float64 array (n_rows,), optional
    learned : bool, optional
        Whether the model has learned these rows; by default, whether it can have.
    groups : index array (n_rows,), optional
        Rows of a group are left out together.
    """
    X, labels = as_rows(X), labels_given(y).ravel()
    n = len(labels)
    if learned is None:
        learned = subject.can_have_learned(X, y, weight)
    sampled = _sample(n, len(subject.classes)) if subject.samples_first else np.arange(n)
    together = None if groups is None else groups[sampled]
    judged = _judged(subject, *_some_rows(X, labels, weight, sampled), together, learned)
    numbers = sampled[judged.rows]
    weighted = weight is not None or bool((judged.weight != 1.0).any())
    kept = _sample(len(numbers), len(subject.classes))
    judged = judged._replace(rows=judged.rows[kept], log_proba=judged.log_proba[kept])
    numbers, weights = numbers[kept], judged.weight[kept]
    X, labels, _ = _some_rows(X, labels, weight, numbers)
    own = codes_of(labels, subject.classes).astype(np.intp)
    predictions = Predictions(judged.log_proba, own, weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        columns = subject.columns(X, own)
        shown = shown_rows(subject, X, numbers, predictions)
        copies = _copies(subject, X, len(own), columns)
        of_rows = None if together is None else together[judged.rows]
        learning = None if weighted else _learning(subject, X, labels, of_rows, len(columns))
        worth = _worth(subject, X, predictions, learned, len(columns) + len(subject.pairs))
        text = subject.text(_some(X, len(own), 4, MAX_COMPARED_DOCUMENTS))
    largest = np.argsort(-predictions.shares, kind="stable")[:MAX_CURVE_CLASSES].tolist()
    largest = [k for k in sorted(largest) if predictions.shares[k] > 0.0]
    return Content(
        subject=subject,
        rows_given=n,
        rows_read=len(numbers),
        learned=learned,
        headline=_headline(judged, predictions, learned),
        predictions=predictions,
        confused=confusions(predictions),
        columns=columns,
        findings=findings_of(subject, columns, copies),
        shown=shown,
        reliabilities={k: reliability(predictions, k) for k in largest},
        rankings={k: ranking(predictions, k) for k in largest},
        learning=learning,
        worth=worth,
        text=text,
    )


def _sample(n: int, n_classes: int) -> NDArray[np.intp]:
    most = max(1, min(MAX_ROWS, MAX_PROBABILITIES // max(n_classes, 1)))
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def _headline(judged: LeftOut, predictions: Predictions, learned: bool) -> Headline:
    """The figures of the predictions; of rows that a fit has left out, as the fit states them."""
    figures = judged.figures
    baseline, error = predictions.baseline(), calibration_error(predictions)
    by = HOW[judged.how] if learned else "new"
    if figures is None:
        rows = float(predictions.weight.sum())
        return Headline(by, rows, predictions.accuracy(), predictions.log_loss(), *baseline, error)
    accuracy = Estimate.around(figures.accuracy, figures.accuracy_se)
    log_loss = Estimate.around(figures.log_loss, figures.log_loss_se)
    return Headline(by, figures.rows, accuracy, log_loss, *baseline, error)


def _judged(
    subject: Subject,
    X: Any,
    labels: NDArray[Any],
    weight: Array | None,
    groups: NDArray[np.intp] | None,
    learned: bool,
) -> LeftOut:
    """Predictions of rows by what is learned without them, or of new rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if learned:
            return subject.left_out(X, labels, weight, groups)
        return LeftOut.of_all(subject.model.predict_log_proba(X), weight, "whole")


def _some_rows(
    X: Any, labels: NDArray[Any], weight: Array | None, rows: NDArray[np.intp]
) -> tuple[Any, NDArray[Any], Array | None]:
    if len(rows) == len(labels):
        return X, labels, weight
    return rows_of(X, rows), labels[rows], None if weight is None else weight[rows]


def _copies(subject: Subject, X: Any, n: int, columns: list[ColumnFacts]) -> list[tuple[str, str]]:
    """Pairs of near-copies, found on some of the rows; documents have one column only."""
    if len(columns) < 2:
        return []
    used = sorted((c for c in columns if c.used), key=lambda c: -c.importance)
    return near_copies(subject.values(_some(X, n, 3, MAX_COMPARED_ROWS)), [c.name for c in used])


def _some(X: Any, n: int, seed: int, max_rows: int) -> Any:
    """Some of n rows, at most so many."""
    return rows_of(X, np.sort(np.random.default_rng(seed).permutation(n)[:max_rows]))


def _learning(
    subject: Subject,
    X: Any,
    labels: NDArray[Any],
    groups: NDArray[np.intp] | None,
    n_columns: int,
) -> LearningCurve | None:
    refit = not subject.learns_in_parts
    most = min(MAX_REFIT_ROWS, MAX_REFIT_VALUES // max(n_columns, 1)) if refit else MAX_CURVE_ROWS
    rows = np.random.default_rng(1).permutation(len(labels))[:most]
    if len(rows) < len(labels):
        X, labels = rows_of(X, rows), labels[rows]
        groups = None if groups is None else groups[rows]
    if len(np.unique(labels)) < 2:
        return None
    return learning_curve(subject.unlearned(), X, labels, groups=groups, refit=refit)


def _worth(
    subject: Subject, X: Any, predictions: Predictions, learned: bool, n_terms: int
) -> dict[str, float] | None:
    most = MAX_IMPORTANCE_WORK // max(1, n_terms * predictions.n_classes)
    if most < 200:
        return None
    n = len(predictions.own)
    if n > most:
        some = np.sort(np.random.default_rng(2).choice(n, most, replace=False))
        X = rows_of(X, some)
        predictions = Predictions(
            predictions.log_proba[some], predictions.own[some], predictions.weight[some]
        )
    return subject.worth(X, predictions, learned)


# ---- findings: what to look at in the data before trusting the figures ---------------------------
MIN_CLASS_ROWS = 10  # rows of a rare class
MAX_MISSING_SHARE = 0.4
MIN_LEAK_ACCURACY = 0.98  # of the rows a single column classifies right
MIN_ROWS_PER_CELL = 2.0  # rows a cell that may tell a class


@dataclass(frozen=True)
class Finding:
    """Something to look at.

    Parameters
    ----------
    kind : {"stale", "rare", "leak", "missing", "left_out", "copy"}
        What it is about; the page has the words.
    about : str
        A class or a column.
    value : float or str
    """

    kind: str
    about: str = ""
    value: float | str = ""


def findings_of(
    subject: Subject, columns: list[ColumnFacts], copies: list[tuple[str, str]]
) -> list[Finding]:
    """The findings to read before trusting the figures.

    Parameters
    ----------
    subject : Subject
    columns : list of ColumnFacts
    copies : list of (str, str)
        Near-copies.
    """
    found = [Finding("stale")] if subject.stale else []
    rows = subject.class_rows
    for label, count in zip(subject.classes.tolist(), rows.tolist(), strict=True):
        if count < MIN_CLASS_ROWS:
            found.append(Finding("rare", str(label), count))
    largest = float(rows.max(initial=0.0)) / max(float(rows.sum()), 1e-300)
    for column in columns:
        if not column.used:
            found.append(Finding("left_out", column.name, column.why))
            continue
        if column.missing >= MAX_MISSING_SHARE:
            found.append(Finding("missing", column.name, column.missing))
        right = _classified(column)
        if right >= MIN_LEAK_ACCURACY and largest <= 1.0 - 2.5 * (1.0 - MIN_LEAK_ACCURACY):
            found.append(Finding("leak", column.name, right))
    return found + [Finding("copy", a, b) for a, b in copies]


def _classified(column: ColumnFacts) -> float:
    """The share of rows whose class is the most frequent one among the other rows of their
    bin."""
    if not column.bins:
        return 0.0
    counts = np.stack([b.counts for b in column.bins])
    total = float(counts.sum())
    enough = counts.sum(axis=1) > MIN_ROWS_PER_CELL
    return float(counts[enough].max(axis=1, initial=0.0).sum()) / max(total, 1e-300)


# ---- near-copies: columns that leave little of each other's entropy open -------------------------
Codes = NDArray[np.intp]

MAX_COMPARED_ROWS = 2_000
"""Rows that columns are compared on, at most."""
MAX_COLUMNS = 40  # that are compared
MAX_OPEN_ENTROPY = 0.1  # of a column's entropy, which the other leaves open
MIN_ENTROPY = 0.1  # nats: a column of less entropy is nearly constant
MIN_ROWS_PER_CODE = 20  # rows a code
N_BINS = 16  # of numbers


def near_copies(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of columns that nearly determine each other.

    Parameters
    ----------
    rows : list of mappings
        Values by column.
    names : list of str
        Columns, the most important ones first.
    """
    if len(rows) < 2 * MIN_ROWS_PER_CODE:
        return []
    codes = {name: _codes([row.get(name) for row in rows]) for name in names[:MAX_COLUMNS]}
    entropies = {name: _entropy(of_rows) for name, of_rows in codes.items()}
    compared = [
        name
        for name, of_rows in codes.items()
        if entropies[name] > MIN_ENTROPY and (of_rows.max() + 1) * MIN_ROWS_PER_CODE <= len(rows)
    ]
    found = []
    for a, b in combinations(compared, 2):
        least, most = sorted((entropies[a], entropies[b]))
        if least < (1.0 - MAX_OPEN_ENTROPY) * most:  # the joint entropy is at least that of either
            continue
        joint = _entropy(codes[a] * (codes[b].max() + 1) + codes[b])
        if joint - least < MAX_OPEN_ENTROPY * least:
            found.append((a, b))
    return found


def _codes(values: list[Any]) -> Codes:
    """Codes of values; many different numbers are binned by rank."""
    if all(value is None or isinstance(value, int | float) for value in values):
        numbers = np.array([np.nan if v is None else v for v in values], dtype=np.float64)
        there = numbers[~np.isnan(numbers)]
        if len(np.unique(there)) > N_BINS:
            edges = np.unique(np.quantile(there, np.linspace(0.0, 1.0, N_BINS + 1)[1:-1]))
            place = np.searchsorted(edges, numbers, side="right") + 1
            return np.asarray(np.where(np.isnan(numbers), 0, place))
    at: dict[Any, int] = {}
    return np.array([at.setdefault(value, len(at)) for value in values], dtype=np.intp)


def _entropy(codes: Codes) -> float:
    """The entropy of codes, in nats."""
    counts = np.unique(codes, return_counts=True)[1] / len(codes)
    return float(-(counts @ np.log(counts)))
