"""What a common factor on all weights costs, and what balanced weights give."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB as Theirs
from sklearn.utils.class_weight import compute_sample_weight

from benchmarks.accuracy.data import DataSet, NoData
from benchmarks.accuracy.folds import SEED
from benchmarks.bayes.page import Page
from benchmarks.speed.report import yes
from tallybayes import NaiveBayes

__all__ = ["measure", "measure_balanced", "page"]

FACTORS = (2.0, 10.0, 1000.0, 0.1, 0.001)
AT_LEAST_ONE = tuple(factor for factor in FACTORS if factor > 1.0)
BAR = 0.01  # nats that a factor above 1 may cost
DRAWS = 12
NAMES = ("titanic", "titanic-usual", "adult")


def _tables(data_sets: list[DataSet], missing: list[str]) -> Iterator[tuple[str, Any, Any]]:
    for data in data_sets:
        if data.name not in NAMES:
            continue
        try:
            yield data.name, *data.table
        except NoData:
            missing.append(data.name)
    X, y = make_classification(2000, 8, weights=[0.95], random_state=0)
    yield "make_classification(2000, 8, weights=[.95])", pd.DataFrame(X).add_prefix("x"), y


def _log_loss(X: pd.DataFrame, y: NDArray[np.intp], factor: float, n_folds: int) -> float:
    """Of the held-out rows of all folds together, in nats."""
    total = 0.0
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=SEED).split(X, y):
        model = NaiveBayes().fit(X.iloc[train], y[train], np.full(len(train), factor))
        total -= model.predict_log_proba(X.iloc[test])[np.arange(len(test)), y[test]].sum()
    return float(total / len(y))


def measure(data_sets: list[DataSet], n_folds: int, missing: list[str]) -> list[dict[str, Any]]:
    """The log-loss of each table, and by how much each factor changes it."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, X, labels in _tables(data_sets, missing):
            y = np.unique(np.asarray(labels), return_inverse=True)[1]
            once = _log_loss(X, y, 1.0, n_folds)
            change = {f"{f:g}": _log_loss(X, y, f, n_folds) - once for f in FACTORS}
            found.append({"name": name, "log_loss": once, "change": change})
    return found


def measure_balanced(n_draws: int) -> list[dict[str, float]]:
    """The balanced accuracy under balanced weights, beside scikit-learn's GaussianNB."""
    found = []
    for seed in range(n_draws):
        X, y = make_classification(4000, 8, weights=[0.95], random_state=seed)
        weight = compute_sample_weight("balanced", y[:2000])
        models = {"NaiveBayes": NaiveBayes(), "scikit-learn": Theirs()}
        fitted = {name: m.fit(X[:2000], y[:2000], weight) for name, m in models.items()}
        found.append(
            {
                n: float(balanced_accuracy_score(y[2000:], m.predict(X[2000:])))
                for n, m in fitted.items()
            }
        )
    return found


def page(tables: list[dict[str, Any]], balanced: list[dict[str, float]], n_folds: int) -> Page:
    """The verdicts and the table."""
    keys = [f"{factor:g}" for factor in AT_LEAST_ONE]
    verdicts = []
    for table in tables:
        worst = max(abs(table["change"][key]) for key in keys)
        verdicts.append(
            f"- {table['name']}: × {', '.join(keys)} moves the log-loss by {worst:.4f} at most "
            f"(bar {BAR:g}: {yes(worst <= BAR)})"
        )
    ours, theirs = (np.mean([b[n] for b in balanced]) for n in ("NaiveBayes", "scikit-learn"))
    verdicts.append(
        f"- balanced weights, balanced accuracy in the mean of {len(balanced)} draws: {ours:.4f}, "
        f"scikit-learn's GaussianNB {theirs:.4f} (bar: no less: {yes(ours >= theirs)})"
    )
    about = (
        f"Log-loss in nats of NaiveBayes() on the held-out rows of {n_folds} stratified folds "
        "together, and how it changes where all weights are multiplied."
    )
    head = ["table", "log-loss", *(f"× {factor:g}" for factor in FACTORS)]
    rows = [
        [t["name"], f"{t['log_loss']:.4f}", *(f"{change:+.4f}" for change in t["change"].values())]
        for t in tables
    ]
    return Page(
        "bayes-factor",
        "A common factor on all weights",
        verdicts,
        [(about, head, rows)],
        {"tables": tables, "balanced": balanced},
    )
