"""Tables whose fit has a limit of time of its own, each in a process of its own."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from benchmarks.accuracy.data import NoData
from benchmarks.accuracy.folds import LEAST, SEED
from benchmarks.machine import OtherWork
from benchmarks.pages import say
from benchmarks.weighted.adult import adult
from benchmarks.weighted.apart import NotMeasured, call_apart
from benchmarks.weighted.bars import Bar
from benchmarks.weighted.options import Options
from tallybayes import WeightedNaiveBayes

__all__ = ["CASES", "HEAD", "Case", "bars_of", "fit_case", "measure", "row_of"]

LIMIT = 900.0  # seconds that a process may take
TRUTH, ROWS = 36, 5  # seeds of generated tables: of what is true, and of the rows
RULES = 120  # small rules of two columns each
# rows of each class, the frequent first
OF_CLASS = (245, 50, 44, 25, 22, 15, 15, 13, 9, 5)

Split = tuple[Any, Any, Any, Any]
"""Rows and labels to learn from, fresh rows and their labels."""


def adult_table() -> Split:
    """Adult's training file; its test file is fresh."""
    found = adult(Options(quick=False, models=()))
    if found is None:
        raise NoData("adult is not in the folder of data sets")
    return found


def letter_fold() -> Split:
    """Four fifths of letter; the others are fresh."""
    rows = Options(quick=False, models=()).letter()
    if rows is None:
        raise NoData("letter is not in the folder of data sets")
    folds = StratifiedKFold(5, shuffle=True, random_state=SEED)
    train, test = next(folds.split(rows.X, rows.y))
    return rows.X.iloc[train], rows.y[train], rows.X.iloc[test], rows.y[test]


def weak_pairs() -> Split:
    """Yes/no columns, and a label that many small rules of two columns make together."""
    n, columns = 2_557, 36
    truth, rng = np.random.default_rng(TRUTH), np.random.default_rng(ROWS)
    share = truth.uniform(0.15, 0.85, columns)
    pairs = np.array([truth.choice(columns, 2, replace=False) for _ in range(RULES)])
    effect, alone = truth.normal(0.0, 1.0, RULES), truth.normal(0.0, 0.7, columns)
    yes = rng.random((2 * n, columns)) < share
    sign = np.where(yes, 1.0, -1.0)
    score = (sign[:, pairs[:, 0]] * sign[:, pairs[:, 1]]) @ effect + sign @ alone
    score += 0.05 * score.std() * rng.normal(size=2 * n)
    y = np.where(score > np.median(score), "won", "nowin").astype(object)
    X = pd.DataFrame(
        {f"x{j}": pd.Series(np.where(yes[:, j], "t", "f"), dtype="str") for j in range(columns)}
    )
    return X[:n], y[:n], X[n:].reset_index(drop=True), y[n:]


def many_columns() -> Split:
    """Few rows, many columns, most of them numbers, and ten classes, of which few are frequent."""
    numbers, columns, informative = 206, 279, 25
    truth, rng = np.random.default_rng(TRUTH), np.random.default_rng(ROWS)
    shift = np.zeros((len(OF_CLASS), numbers))
    selected = truth.choice(numbers, informative, replace=False)
    shift[:, selected] = truth.normal(0.0, 0.6, (len(OF_CLASS), informative))
    rare = truth.uniform(0.01, 0.2, columns - numbers)
    odds = truth.normal(0.0, 0.3, (len(OF_CLASS), columns - numbers))

    def drawn(own: Any) -> tuple[Any, Any]:
        x = np.round(10.0 * (shift[own] + rng.normal(size=(len(own), numbers))))
        p = 1.0 / (1.0 + np.exp(-np.log(rare / (1.0 - rare)) - odds[own]))
        yes = rng.random(p.shape) < p
        table: dict[str, Any] = {f"number {j}": x[:, j] for j in range(numbers)}
        for j in range(columns - numbers):
            table[f"flag {j}"] = pd.Series(np.where(yes[:, j], "1", "0"), dtype="str")
        return pd.DataFrame(table), np.array([f"class {c}" for c in own], dtype=object)

    own = rng.permutation(np.repeat(np.arange(len(OF_CLASS)), OF_CLASS))
    return *drawn(own), *drawn(np.repeat(own, 5))


@dataclass(frozen=True)
class Case:
    """A table and the seconds that a fit of it may take.

    Parameters
    ----------
    table : callable
        Makes the rows.
    seconds : float
    """

    table: Callable[[], Split]
    seconds: float


CASES = {
    "Adult": Case(adult_table, 0.5),
    "letter, one fold": Case(letter_fold, 15.0),
    "2,557 × 36 yes/no, many weak pairs": Case(weak_pairs, 1.5),
    "443 × 279, 10 classes": Case(many_columns, 8.0),
}


def fit_case(name: str, rounds: int) -> dict[str, Any] | None:
    """Fits one case, in a process of its own; None where it has no data.

    Returns
    -------
    dict
        Seconds of each fit, from the frame to the first prediction; log-loss and accuracy of fresh
        rows; the number of pairs, and cores that others kept busy.
    """
    try:
        X, y, fresh, theirs = CASES[name].table()
    except NoData:
        return None
    times: list[float] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rare classes, columns that add nothing
        WeightedNaiveBayes().fit(X[:200], y[:200])
        other = OtherWork()
        for _ in range(rounds):
            start = time.perf_counter()
            model = WeightedNaiveBayes().fit(X, y)
            model.predict_proba(X[:1])
            times.append(time.perf_counter() - start)
        others = other.cores()
        proba = model.predict_proba(fresh)
    own = np.searchsorted(model.classes_, theirs)
    return {
        "name": name,
        "rows": len(y),
        "columns": X.shape[1],
        "classes": len(model.classes_),
        "seconds": times,
        "median": float(np.median(times)),
        "pairs": len(model.interactions_),
        "reported": model.log_loss_,
        "log_loss": float(-np.log(proba[np.arange(len(own)), own].clip(LEAST)).mean()),
        "accuracy": float((proba.argmax(axis=1) == own).mean()),
        "others": others,
    }


def measure(name: str, options: Options) -> dict[str, Any]:
    """One case; with "failed" where it gave nothing."""
    try:
        found: dict[str, Any] | None = call_apart(
            "benchmarks.weighted.cases", "fit_case", LIMIT, name=name, rounds=options.rounds
        )
    except NotMeasured as why:
        say(f"  {name}: FAILED: {why}")
        return {"name": name, "failed": str(why)}
    if found is None:
        options.missing.append(name)
        say(f"  {name}: NO DATA")
        return {"name": name, "failed": "no data"}
    say(f"  {name}: {found['median']:.2f} s, log-loss {found['log_loss']:.4f}")
    return found


def bars_of(cases: list[dict[str, Any]]) -> list[Bar]:
    """The limits of time."""
    return [
        Bar(f"{s['name']}, seconds of a fit", s.get("median"), CASES[s["name"]].seconds, form=".2f")
        for s in cases
    ]


HEAD = ["case", "what", "rows × columns, classes", "seconds", "fits", "pairs"]
HEAD += ["log_loss_", "log-loss of fresh rows", "accuracy of fresh rows", "others"]


def row_of(s: dict[str, Any]) -> list[str]:
    """A line of the table."""
    what = (CASES[s["name"]].table.__doc__ or "").strip()
    if "failed" in s:
        return [s["name"], what, f"failed: {s['failed'][:100]}", *[""] * 7]
    return [
        s["name"],
        what,
        f"{s['rows']:,} × {s['columns']:,}, {s['classes']}",
        f"{s['median']:.2f}",
        str(len(s["seconds"])),
        str(s["pairs"]),
        *(f"{s[m]:.4f}" for m in ("reported", "log_loss", "accuracy")),
        "—" if s["others"] is None else f"{s['others']:.1f}",
    ]
