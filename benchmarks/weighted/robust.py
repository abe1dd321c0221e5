"""Noise and duplicates: what they change."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.accuracy.models import OURS, WEIGHTED, Model
from benchmarks.bayes.page import Page
from benchmarks.pages import say
from benchmarks.weighted import bars
from benchmarks.weighted.bars import Bar
from benchmarks.weighted.options import Options, Rows, model_named
from benchmarks.weighted.trial import held_out
from tallybayes import NaiveBayes, leave_one_out

__all__ = ["run"]

REPEATS = 5  # draws of noise and of near-duplicates
ADDED = "added"
NEAR = 0.01  # a near-duplicate's noise, in standard deviations; or the share of levels it changes

Change = Callable[[Rows, str, np.random.Generator], tuple[Any, Any]]


def noise(rows: Rows, best: str, rng: np.random.Generator) -> tuple[Any, Any]:
    """A column of normal numbers."""
    return rows.X.assign(**{ADDED: rng.normal(size=len(rows.y))}), rows.y


def duplicate(rows: Rows, best: str, rng: np.random.Generator) -> tuple[Any, Any]:
    """The best column once more."""
    return rows.X.assign(**{ADDED: rows.X[best]}), rows.y


def near(rows: Rows, best: str, rng: np.random.Generator) -> tuple[Any, Any]:
    """The best column once more: a number with a little noise, a few levels of other rows."""
    column = rows.X[best]
    if pd.api.types.is_numeric_dtype(column):
        again = column + NEAR * column.std() * rng.normal(size=len(column))
    else:
        other = column.sample(frac=1.0, random_state=rng).to_numpy()
        again = column.where(rng.random(len(column)) >= NEAR, other)
    return rows.X.assign(**{ADDED: again}), rows.y


def renamed(rows: Rows, best: str, rng: np.random.Generator) -> tuple[Any, Any]:
    """The same information: about half of the number columns mirrored, all levels renamed."""

    def again(column: pd.Series) -> pd.Series:
        if pd.api.types.is_numeric_dtype(column):
            return -column if rng.random() < 0.5 else column
        levels = column.dropna().unique()
        return column.map(dict(zip(levels, rng.permutation(len(levels)).astype(str), strict=True)))

    return rows.X.apply(again), rows.y


CHANGES: dict[str, tuple[Change, int]] = {
    "renamed": (renamed, REPEATS),
    "noise": (noise, REPEATS),
    "duplicate": (duplicate, 1),
    "near-duplicate": (near, REPEATS),
}


def best_column(rows: Rows) -> str:
    """The column that says most by itself: the least leave-one-out log-loss of a naive Bayes."""
    own = np.unique(rows.y, return_inverse=True)[1]

    def loss(name: str) -> float:
        X = rows.X[[name]]
        log_proba = leave_one_out(NaiveBayes().fit(X, rows.y), X, rows.y)
        return float(-log_proba[np.arange(len(own)), own].mean())

    return min(rows.X.columns, key=loss)


def twins_left_out(model: Model, rows: Rows, best: str) -> int:
    """How many of a column and its exact duplicate have no weight, in a model of all rows."""
    X, y = duplicate(rows, best, np.random.default_rng(0))
    weights = model.make().fit(X, y).weights_
    weight = dict(zip(list(weights["term"]), list(weights["weight"]), strict=True))
    return sum(weight.get(name, 0.0) == 0.0 for name in (best, ADDED))


def measure(rows: Rows, options: Options) -> dict[str, Any]:
    """Log-loss of both models on a set as it is and as it is changed."""
    models = [model_named(WEIGHTED), model_named(OURS)]

    def losses(X: Any, y: Any) -> dict[str, float]:
        found = held_out(models, X, y, options.folds, 1)
        if found.failed:
            raise RuntimeError(f"{rows.name}: {found.failed}")
        return {name: done.log_loss for name, done in found.done.items()}

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = best_column(rows)
        left_out = twins_left_out(models[0], rows, best)
    result: dict[str, Any] = {
        "name": rows.name,
        "best": best,
        "number": bool(pd.api.types.is_numeric_dtype(rows.X[best])),
        "left_out": left_out,
        "base": losses(rows.X, rows.y),
    }
    for what, (change, repeats) in CHANGES.items():
        drawn = [
            losses(*change(rows, best, np.random.default_rng(seed)))
            for seed in range(1 if options.quick else repeats)
        ]
        result[what] = {name: float(np.mean([d[name] for d in drawn])) for name in (WEIGHTED, OURS)}
        result[f"{what}, draws"] = [d[WEIGHTED] for d in drawn]
    ours = [f"{what} {result[what][WEIGHTED]:.4f}" for what in ("base", *CHANGES)]
    say(f"    {'  '.join(ours)}; {left_out} of the twins left out")
    return result


def compared(what: str) -> str:
    """What a change is compared with. An exact duplicate leaves the parts of the rows as they are;
    any other column changes them, so the table itself is drawn with other parts, too."""
    return "base" if what in ("duplicate", "renamed") else "renamed"


def change(sets: list[dict[str, Any]], what: str, name: str) -> float:
    """How far the mean log-loss moves, as a share of it."""
    before, after = (np.mean([s[w][name] for s in sets]) for w in (compared(what), what))
    return float(after / before - 1.0)


def variance(sets: list[dict[str, Any]], what: str) -> float:
    """Of the mean log-loss over draws."""
    drawn = np.mean([s.get(f"{what}, draws", [0.0]) for s in sets], axis=0)
    return float(drawn.var(ddof=1)) / len(drawn) if len(drawn) > 1 else 0.0


def described(sets: list[dict[str, Any]], what: str) -> str:
    """The mean log-loss with a change, and how far it moves, with the standard error of draws."""
    before, after = (float(np.mean([s[w][WEIGHTED] for s in sets])) for w in (compared(what), what))
    error = (variance(sets, what) + variance(sets, compared(what))) ** 0.5 / before
    return (
        f"{what}: mean log-loss {before:.4f} → {after:.4f}, "
        f"{change(sets, what, WEIGHTED):+.2%}{f' ± {error:.2%}' if error else ''} for {WEIGHTED}; "
        f"{change(sets, what, OURS):+.2%} for {OURS} without weights"
    )


def run(options: Options) -> Page | None:
    """The results page, or None if no data set was found."""
    sets, failed = options.over_sets(measure)
    if not sets:
        return None
    n = len(sets) + len(failed)
    found = [
        Bar(
            "a column of noise: change of mean log-loss",
            abs(change(sets, "noise", WEIGHTED)),
            0.01,
            form=".2%",
            strict=True,
        ),
        Bar(
            f"sets of {n} where an exact duplicate, or the column itself, is left out",
            float(sum(s["left_out"] == 1 for s in sets)),
            float(n),
            least=True,
            form=".0f",
        ),
        Bar(
            "a near-duplicate: change of mean log-loss",
            abs(change(sets, "near-duplicate", WEIGHTED)),
            0.01,
            form=".2%",
            strict=True,
        ),
    ]
    notes = [described(sets, what) for what in CHANGES]
    notes.append(
        "renamed: about half of the number columns mirrored and all levels renamed, so that the "
        "same information is learned on other parts of the rows; noise and near-duplicates, which "
        "change the parts too, are compared with its mean"
    )
    notes.append(
        "the column that is duplicated is the one that says most by itself; a near-duplicate is a "
        f"number plus normal noise of {NEAR:g} standard deviations, or a string of which "
        f"{NEAR:.0%} of the rows have another row's value; names, noise and near-duplicates are "
        f"drawn {REPEATS} times; {options.folds} stratified folds"
    )
    notes += failed
    head = ["data set", "duplicated", "left out", "model", "as it is", *CHANGES]
    lines = []
    for s in sets:
        for name in (WEIGHTED, OURS):
            mine = name == WEIGHTED
            kind = "number" if s["number"] else "text"
            about = [s["name"], f"{s['best']} ({kind})", str(s["left_out"])] if mine else [""] * 3
            figures = [f"{s[what][name]:.4f}" for what in ("base", *CHANGES)]
            lines.append([*about, name, *figures])
    return Page(
        "weighted-robust",
        "Noise and duplicates",
        bars.lines(found, notes),
        [("## Log-loss, nats a row", head, lines)],
        {"bars": bars.record(found), "data_sets": sets},
    )
