"""NaiveBayes by defaults on every ARFF set: log-loss and accuracy on held-out folds."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.data import FOLDER, DataSet, NoData
from benchmarks.accuracy.readers import arff_with_class
from benchmarks.bayes.held_out import held_out
from benchmarks.bayes.page import Page
from benchmarks.speed.report import yes
from tallybayes import NaiveBayes

__all__ = ["measure", "page"]

LEAST_ROWS = 5
SEEDS = 20  # of the folds of labor
LABOR_BAR = 0.6
MODEL = "NaiveBayes"


def more_sets() -> Iterator[tuple[str, Any, Any]]:
    """The sets of the folder arff-more: name, X and y without classes of few rows.

    Raises
    ------
    NoData
    """
    folder = Path(os.environ.get(FOLDER, ""), "arff-more")
    paths = sorted(folder.glob("*.arff")) if os.environ.get(FOLDER) else []
    if not paths:
        raise NoData(f"there is no folder arff-more in the folder that {FOLDER} names")
    for path in paths:
        yield path.stem, *_frequent(*arff_with_class(path))


def _frequent(X: Any, y: Any) -> tuple[Any, Any]:
    often = Counter(y)
    keep = [i for i, label in enumerate(y) if often[label] >= LEAST_ROWS]
    return X.iloc[keep].reset_index(drop=True), y[keep]


def labor() -> tuple[Any, Any]:
    """UCI labor relations.

    Raises
    ------
    NoData
    """
    path = Path(os.environ.get(FOLDER, ""), "labor.arff")
    if not os.environ.get(FOLDER) or not path.exists():
        raise NoData(f"there is no labor.arff in the folder that {FOLDER} names")
    return arff_with_class(path)


def measure(sets: list[DataSet], n_folds: int, missing: list[str]) -> list[dict[str, Any]]:
    """Figures of each set; what has no data is added to `missing`."""
    tables: list[tuple[str, Any, Any]] = []
    for data in sets:
        try:
            tables.append((data.name, *data.rows(least=LEAST_ROWS, most=None)))
        except NoData:
            missing.append(data.name)
    try:
        tables += more_sets()
    except NoData:
        missing.append("arff-more")
    return [_figures(name, X, y, n_folds) for name, X, y in tables]


def _figures(name: str, X: Any, y: Any, n_folds: int, seed: int = 0) -> dict[str, Any]:
    found = held_out({MODEL: NaiveBayes()}, X, y.astype(str), n_folds, 1, seed=seed)[MODEL]
    shape = {"name": name, "rows": len(y), "columns": X.shape[1]}
    return shape | {"log_loss": found.log_loss, "accuracy": found.accuracy}


def measure_labor(n_folds: int, missing: list[str]) -> list[float]:
    """Log-loss of labor for each draw of the folds."""
    try:
        X, y = labor()
    except NoData:
        missing.append("labor")
        return []
    return [_figures("labor", X, y, n_folds, seed)["log_loss"] for seed in range(SEEDS)]


def page(sets: list[dict[str, Any]], of_labor: list[float], n_folds: int) -> Page:
    """The verdicts and the table."""
    verdicts = []
    if sets:
        mean = np.mean([s["log_loss"] for s in sets])
        verdicts.append(f"- mean log-loss of {len(sets)} sets: {mean:.4f} nats a row")
    if of_labor:
        mean, worst = float(np.mean(of_labor)), max(of_labor)
        verdicts.append(
            f"- labor, {len(of_labor)} draws of the folds: mean {mean:.4f}, worst {worst:.4f} "
            f"(bar {LABOR_BAR:g}: {yes(worst <= LABOR_BAR)})"
        )
    rows = [
        [
            s["name"],
            f"{s['rows']:,} × {s['columns']}",
            f"{s['log_loss']:.4f}",
            f"{s['accuracy']:.4f}",
        ]
        for s in sets
    ]
    about = (
        f"Log-loss in nats a row and accuracy of `NaiveBayes()` on the held-out rows of {n_folds} "
        f"stratified folds, classes with fewer than {LEAST_ROWS} rows left out."
    )
    return Page(
        "bayes-sets",
        "NaiveBayes by defaults",
        verdicts,
        [(about, ["data set", "rows × columns", "log-loss", "accuracy"], rows)],
        {"data_sets": sets, "labor": of_labor},
    )
