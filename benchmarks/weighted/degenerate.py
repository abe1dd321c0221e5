"""Degenerate input: it must converge, stay finite, and warn where a person should know."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.accuracy.folds import LEAST
from benchmarks.bayes.page import Page
from benchmarks.memory import PeakMeter
from benchmarks.pages import say
from benchmarks.speed.report import yes
from benchmarks.weighted import bars
from benchmarks.weighted.apart import NotMeasured, call_apart
from benchmarks.weighted.bars import Bar
from benchmarks.weighted.options import Options
from tallybayes import WeightedNaiveBayes

__all__ = ["CASES", "fit_case", "run"]

LIMIT = 600.0  # seconds that a case may take
SEED = 7

Table = tuple[pd.DataFrame, Any]
"""Rows and labels; each other row is learned from, and the rest are fresh."""


def one_column(rng: np.random.Generator, quick: bool) -> Table:
    """A single number."""
    x = rng.normal(size=1_000)
    return pd.DataFrame({"x": x}), np.where(x + rng.normal(size=1_000) > 0.0, "a", "b")


def one_level(rng: np.random.Generator, quick: bool) -> Table:
    """A string and a number that never change."""
    X = pd.DataFrame({"text": ["same"] * 600, "number": np.ones(600)})
    return X, np.where(rng.random(600) < 0.3, "a", "b")


def one_level_beside(rng: np.random.Generator, quick: bool) -> Table:
    """A column that never changes beside one that does."""
    X, y = one_column(rng, quick)
    return X.assign(same="same"), y


def separating(rng: np.random.Generator, quick: bool) -> Table:
    """A number and a string, each of which tells the class without error."""
    x = rng.normal(size=2_000)
    y = np.where(x > 0.0, "a", "b")
    return pd.DataFrame({"number": x, "text": np.char.add("of ", y)}), y


def class_of_two(rng: np.random.Generator, quick: bool) -> Table:
    """Three classes, one of which has two rows."""
    y = np.array(["a"] * 600 + ["b"] * 400 + ["c"] * 4)
    shift = {"a": 0.0, "b": 1.0, "c": 3.0}
    X = pd.DataFrame({f"x{j}": rng.normal(size=1_004) + [shift[c] for c in y] for j in range(4)})
    return X.assign(text=rng.choice(list("uvw"), 1_004)), y


def wide(rng: np.random.Generator, quick: bool) -> Table:
    """More columns than rows; ten of them say something."""
    n_columns = 300 if quick else 5_000
    y = rng.random(400) < 0.5
    x = rng.normal(size=(400, n_columns))
    x[:, :10] += 0.7 * y[:, None]
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(n_columns)]), np.where(y, "a", "b")


def many_classes(rng: np.random.Generator, quick: bool) -> Table:
    """A thousand classes of twenty rows each."""
    n_classes = 100 if quick else 1_000
    own = np.repeat(np.arange(n_classes), 40)
    centre = rng.normal(0.0, 3.0, size=(n_classes, 8))
    X = pd.DataFrame(centre[own] + rng.normal(size=(len(own), 8)))
    X = X.rename(columns="x{}".format)
    return X.assign(text=[f"t{c % 50}" for c in own]), own


CASES: dict[str, Callable[[np.random.Generator, bool], Table]] = {
    "one column": one_column,
    "one level": one_level,
    "one level beside a column": one_level_beside,
    "perfectly separating": separating,
    "a class of two rows": class_of_two,
    "200 × 5,000": wide,
    "1,000 classes": many_classes,
}


def fit_case(name: str, quick: bool) -> dict[str, Any]:
    """Fits one case, in a process of its own, and says what came of it."""
    table, labels = CASES[name](np.random.default_rng(SEED), quick)
    X, y, fresh, theirs = table[::2], labels[::2], table[1::2], labels[1::2]
    meter = PeakMeter()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        meter.start()
        start = time.perf_counter()
        model = WeightedNaiveBayes().fit(X, y)
        proba = model.predict_proba(X)
        seconds = time.perf_counter() - start
        peak = meter.stop()
    classes, own = np.unique(y, return_inverse=True)
    new = model.predict_proba(fresh)
    right = new[np.arange(len(new)), np.searchsorted(classes, theirs)]
    weights = np.asarray(model.weights_["weight"], dtype=float)
    finite = bool(
        np.isfinite(proba).all()
        and np.isfinite(new).all()
        and np.isfinite(weights).all()
        and np.isfinite(model.log_loss_)
        and proba.shape == (len(y), len(classes))
        and np.allclose(proba.sum(axis=1), 1.0)
    )
    share = np.bincount(own) / len(own)
    found = {f"{w.category.__name__}: {w.message}" for w in seen}
    return {
        "name": name,
        "rows": len(y),
        "columns": X.shape[1],
        "classes": len(classes),
        "seconds": seconds,
        "peak": peak,
        "finite": finite,
        "converged": not any("Convergence" in text for text in found),
        "terms": int((weights != 0.0).sum()),
        "log_loss": model.log_loss_,
        "prior": float(-(share @ np.log(share))),
        "accuracy": model.accuracy_,
        "fresh_log_loss": float(-np.log(right.clip(LEAST)).mean()),
        "fresh_accuracy": float((new.argmax(axis=1) == np.searchsorted(classes, theirs)).mean()),
        "warnings": sorted(found),
    }


def measure(name: str, options: Options) -> dict[str, Any]:
    """One case; with "failed" where it gave nothing."""
    try:
        found: dict[str, Any] = call_apart(
            "benchmarks.weighted.degenerate", "fit_case", LIMIT, name=name, quick=options.quick
        )
    except NotMeasured as why:
        say(f"  {name}: FAILED: {why}")
        return {"name": name, "failed": str(why), "finite": False, "converged": False}
    say(f"  {name}: {found['seconds']:.2f} s, {len(found['warnings'])} warnings")
    return found


def row_of(s: dict[str, Any]) -> list[str]:
    """A line of the table."""
    if "failed" in s:
        return [s["name"], f"failed: {s['failed'][:120]}", *[""] * 10, yes(False)]
    what = (CASES[s["name"]].__doc__ or "").strip()
    return [
        s["name"],
        what,
        f"{s['rows']:,} × {s['columns']:,}, {s['classes']:,}",
        f"{s['seconds']:.2f}",
        "—" if s["peak"] is None else f"{s['peak'] / 1e6:,.0f}",
        str(s["terms"]),
        f"{s['prior']:.4f}",
        f"{s['log_loss']:.4f}",
        f"{s['fresh_log_loss']:.4f}",
        f"{s['accuracy']:.4f}",
        f"{s['fresh_accuracy']:.4f}",
        "; ".join(text[:200].replace("|", "/") for text in s["warnings"]) or "none",
        yes(s["finite"] and s["converged"]),
    ]


def run(options: Options) -> Page:
    """The page."""
    cases = [measure(name, options) for name in CASES]
    good = float(sum(s["finite"] and s["converged"] for s in cases))
    n = len(cases)
    found = [
        Bar(
            f"cases of {n} that are fitted, finite and converged",
            good,
            float(n),
            least=True,
            form=".0f",
        )
    ]
    notes = [
        "a person reads the warnings: no program knows where one should be",
        f"each case in a process of its own, which may take {LIMIT:g} s; the time is that of fit "
        "and of predicting the same rows; finite: probabilities, weights and leave-one-out figures "
        "are, and each row of probabilities sums to 1; fresh rows, as many again, tell whether the "
        "leave-one-out figures are honest",
    ]
    head = ["case", "what", "rows × columns, classes", "seconds", "peak MB", "terms in use"]
    head += ["class prior's log-loss", "leave-one-out log-loss", "of fresh rows"]
    head += ["leave-one-out accuracy", "of fresh rows", "warnings", "good"]
    return Page(
        "weighted-degenerate",
        "WeightedNaiveBayes on degenerate input",
        bars.lines(found, notes),
        [("## Cases", head, [row_of(s) for s in cases])],
        {"bars": bars.record(found), "cases": cases},
    )
