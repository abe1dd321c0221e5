"""The content of a report as JSON, for the page and for tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from tallybayes.decisions import CostFigures, Costs
from tallybayes.reporting.columns import Bin, ColumnFacts
from tallybayes.reporting.content import Content, ShownRow
from tallybayes.reporting.form import rounded
from tallybayes.reporting.measures import Ranking, Reliability
from tallybayes.reporting.subjects import Subject, Text, shown_value
from tallybayes.tables.columns import as_text

__all__ = ["document_of"]

MAX_FORM_NUMBERS = 120_000
"""Numbers of a model that the page holds, at most."""
MAX_COLUMNS = 250
"""Columns that are drawn, at most: those that separate the classes most."""
MAX_CLASSES = 12
"""Classes whose values are drawn, at most: those with the most rows."""
MAX_CONFUSION_CLASSES = 12
"""Classes of a whole confusion matrix, at most; of more, the most frequent confusions."""
MAX_CHARACTERS = 300
"""Characters of a name or value that the page holds."""
MAX_DOCUMENT_CHARACTERS = 4_000
"""Characters of a text that the page holds."""


def document_of(
    content: Content, about: Mapping[str, str], costs: Costs | None = None
) -> dict[str, Any]:
    """The data of the page; `about` is what the model is of, by "target", "model", "data" and
    "made"."""
    subject = content.subject
    n_classes = len(subject.classes)
    largest = np.argsort(-subject.class_rows, kind="stable")[:MAX_CLASSES].tolist()
    drawn = sorted(largest)
    return {
        "model": type(subject.model).__name__,
        "about": {key: cut(text) for key, text in about.items()},
        "unit": subject.unit,
        "classes": [cut(str(label)) for label in subject.classes.tolist()],
        "classRows": rounded(subject.class_rows),
        "drawnClasses": drawn,
        "rowsGiven": content.rows_given,
        "rowsRead": content.rows_read,
        "learned": content.learned,
        "headline": _headline(content),
        "findings": [
            {**asdict(d), "about": cut(d.about), "value": rounded(d.value)}
            for d in content.findings
        ],
        "pairs": [[*map(cut, columns)] for columns in subject.pairs],
        "terms": _terms(content),
        "columns": _columns(content.columns, drawn),
        "rows": [_row(row) for row in content.shown],
        "confusion": _confusion(content, n_classes),
        "reliability": {str(k): _reliability(r) for k, r in content.reliabilities.items()},
        "ranking": {str(k): _ranking(r) for k, r in content.rankings.items()},
        "learning": None if content.learning is None else _learning(content),
        "worth": _worth(content),
        "decisions": None if costs is None else _decisions(content, costs),
        **_form(subject),
        **_text(content.text),
    }


def cut(text: str, max_length: int = MAX_CHARACTERS) -> str:
    """A text of bounded length."""
    return text if len(text) <= max_length else text[: max_length - 1] + "…"


def _decisions(content: Content, costs: Costs) -> dict[str, Any]:
    """What decisions about the predicted rows cost."""
    figures, predictions = CostFigures(costs), content.predictions
    figures.add(predictions.own, np.exp(predictions.log_proba), predictions.weight)
    names = [cut(as_text(decision)) for decision in costs.decisions]
    each = zip(names, rounded(figures.shares), rounded(figures.always), strict=True)
    return {
        "cost": rounded(figures.cost),
        "error": rounded(figures.error),
        "referred": rounded(figures.referred),
        "each": [list(of_one) for of_one in each],
    }


def _headline(content: Content) -> dict[str, Any]:
    h = content.headline
    return {
        "by": h.by,
        "rows": rounded(h.rows),
        "accuracy": rounded([h.accuracy.value, h.accuracy.low, h.accuracy.high]),
        "logLoss": rounded([h.log_loss.value, h.log_loss.low, h.log_loss.high]),
        "largestShare": rounded(h.largest_share),
        "shareLoss": rounded(h.share_loss),
        "calibrationError": rounded(h.calibration_error),
    }


def _columns(columns: list[ColumnFacts], drawn: list[int]) -> list[dict[str, Any]]:
    order = sorted(range(len(columns)), key=lambda j: (-columns[j].importance, j))
    detailed = set(order[:MAX_COLUMNS])
    found = []
    for j in order:
        c = columns[j]
        item: dict[str, Any] = {
            "name": cut(c.name),
            "holds": c.holds,
            "family": c.family,
            "why": cut(c.why),
            "used": c.used,
            "importance": rounded(c.importance),
            "missing": rounded(c.missing),
        }
        if c.weight is not None:
            item["weight"] = rounded(c.weight)
        if c.dates:
            item["dates"] = True
        if c.terms:
            item["terms"] = [[cut(a), cut(b), rounded(v)] for a, b, v in c.terms]
        if j in detailed and c.bins:
            item["bins"] = [
                {
                    "label": cut(b.label),
                    "missing": b.value is None,
                    "number": b.low is not None,
                    "counts": rounded(b.counts[drawn]),
                    "rows": rounded(float(b.counts.sum())),
                    **_range(b),
                }
                for b in c.bins
            ]
            item["hiddenLevels"] = c.hidden_levels
            if c.nats is not None:
                item["nats"] = rounded(c.nats[:, drawn])
        found.append(item)
    return found


def _terms(content: Content) -> list[list[Any]]:
    """Columns in use and pairs, by how far they separate the classes, the best first."""
    found = [(c.name, c.importance) for c in content.columns if c.used]
    pairs, importances = content.subject.pairs, content.subject.pair_importances
    found += zip(map(" × ".join, pairs), importances, strict=True)
    best = sorted(found, key=lambda term: -term[1])[:MAX_COLUMNS]
    return [[cut(name), rounded(nats)] for name, nats in best]


def _range(b: Bin) -> dict[str, Any]:
    """Of a bin of numbers, its ends, and the number that it is judged by."""
    if b.low is None:
        return {}
    return {"low": rounded(b.low), "high": rounded(b.high), "value": b.value}


def _row(row: ShownRow) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "number": row.number,
        "own": row.own,
        "predicted": row.predicted,
        "against": row.against,
        "probability": rounded(row.probability),
        "ofOwn": rounded(row.of_own),
        "values": [
            [cut(name), None if value is None else cut(shown_value(value), MAX_DOCUMENT_CHARACTERS)]
            for name, value in list(row.values.items())[:MAX_COLUMNS]
        ],
        "base": rounded(row.base),
        "steps": [[cut(s.name), cut(s.value), rounded(s.nats)] for s in row.steps],
        "rest": rounded(row.rest),
        "nRest": row.n_rest,
    }


def _confusion(content: Content, n_classes: int) -> dict[str, Any]:
    confused = content.confused
    if n_classes <= MAX_CONFUSION_CLASSES:
        return {"matrix": rounded(confused)}
    off = confused - np.diag(np.diag(confused))
    most = np.argsort(-off, axis=None, kind="stable")[:30]
    pairs = [divmod(int(at), n_classes) for at in most]
    return {"pairs": [[a, b, rounded(float(off[a, b]))] for a, b in pairs if off[a, b] > 0.0]}


def _reliability(r: Reliability) -> dict[str, Any]:
    return {
        "predicted": rounded(r.predicted),
        "observed": rounded(r.observed),
        "low": rounded(r.low),
        "high": rounded(r.high),
        "weight": rounded(r.weight),
    }


def _ranking(r: Ranking) -> dict[str, Any]:
    return {
        "threshold": r.threshold.tolist(),
        "hits": rounded(r.hits),
        "alarms": rounded(r.alarms),
        "positives": rounded(r.positives),
        "negatives": rounded(r.negatives),
        "auc": rounded(r.auc),
        "averagePrecision": rounded(r.average_precision),
    }


def _learning(content: Content) -> dict[str, Any]:
    curve = content.learning
    assert curve is not None
    return {
        "rows": curve.rows,
        "logLoss": rounded(curve.log_loss),
        "accuracy": rounded(curve.accuracy),
        "refitted": curve.refitted,
    }


def _worth(content: Content) -> list[Any] | None:
    if content.worth is None:
        return None
    order = sorted(content.worth.items(), key=lambda item: -item[1])
    return [[cut(name), rounded(value)] for name, value in order[:MAX_COLUMNS]]


def _form(subject: Subject) -> dict[str, Any]:
    """The model for the page, or why it is not there."""
    form = subject.form
    if form is None:
        return {"form": None, "noForm": "none" if subject.unit == "row" else None}
    if form.without_form:
        return {"form": None, "noForm": "text"}
    if form.size > MAX_FORM_NUMBERS:
        return {"form": None, "noForm": "size"}
    return {"form": form.document(), "noForm": None}


def _text(text: Text | None) -> dict[str, Any]:
    """A classifier of documents for the page, or why it is not there."""
    if text is None:
        return {}
    if text.form is None:
        return {"noForm": text.why_not}
    found: dict[str, Any] = {"textForm": text.form.document()}
    if text.documents:
        found["textCut"] = {
            "terms": text.terms,
            "documents": text.documents,
            "same": rounded(text.same),
            "mean": rounded(text.mean_difference),
            "largest": rounded(text.largest_difference),
        }
    return found
