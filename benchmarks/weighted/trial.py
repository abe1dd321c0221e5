"""Models fitted in turn, fold by fold: how good they are on held-out rows, and how quick."""

from __future__ import annotations

import gc
import statistics
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.accuracy.folds import SEED, probabilities
from benchmarks.accuracy.models import Model
from benchmarks.bayes.held_out import HeldOut
from benchmarks.machine import OtherWork
from benchmarks.pages import say
from benchmarks.weighted.generated import mixed

__all__ = ["SLOW", "Job", "Timed", "Trials", "held_out", "jobs", "timed", "warm_up"]

WARM = 100  # rows of the first fit, which is not told
SLOW = 10.0  # a fit of more seconds is not repeated


@dataclass(frozen=True)
class Job:
    """A fit to time.

    Parameters
    ----------
    model : Model
    X, y
        The rows to learn.
    """

    model: Model
    X: Any
    y: Any

    def run(self) -> tuple[float, Any]:
        """Seconds, and the fitted model. Ours reads its parameters at the first prediction, which
        is part of the time; the first prediction of a peer is not."""
        unfitted = self.model.make()
        gc.collect()
        start = time.perf_counter()
        fitted = unfitted.fit(self.X, self.y)
        if self.model.package == "tallybayes":
            fitted.predict_proba(self.X[:1])
        return time.perf_counter() - start, fitted


@dataclass
class Timed:
    """The times of a fit, and what it made."""

    seconds: list[float] = field(default_factory=list)
    fitted: Any = None
    failed: str | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


@dataclass
class Trials:
    """How models did on one data set.

    Parameters
    ----------
    done : dict of str to HeldOut
        Its `fit` holds a median a fold.
    failed : dict of str to str
    others : float or None
        Cores that other work kept busy meanwhile.
    """

    done: dict[str, HeldOut]
    failed: dict[str, str]
    others: float | None = None


def jobs(models: Sequence[Model], X: Any, y: Any) -> dict[str, Job]:
    """A fit of each model on the same rows."""
    return {model.name: Job(model, X, y) for model in models}


def warm_up(models: Sequence[Model]) -> None:
    """Fits each model on a few rows, so that no time has imports or the start of workers in it."""
    few = mixed(WARM)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, one in timed(jobs(models, few.X, few.y), 1).items():
            if one.failed:
                say(f"  {name} FAILED on {WARM} generated rows: {one.failed}")


def timed(what: Mapping[str, Job], rounds: int) -> dict[str, Timed]:
    """Runs every job in turn, `rounds` times; a slow one only once, and a failed one not again."""
    found = {name: Timed() for name in what}
    for _ in range(rounds):
        for name, job in what.items():
            one = found[name]
            if one.failed or (one.seconds and one.seconds[0] > SLOW):
                continue
            try:
                seconds, one.fitted = job.run()
            except Exception as why:
                one.failed = f"{type(why).__name__}: {why}"
            else:
                one.seconds.append(seconds)
    return found


def held_out(models: Sequence[Model], X: Any, y: Any, n_folds: int, rounds: int) -> Trials:
    """Every model on the same stratified folds.

    Parameters
    ----------
    models : sequence of Model
    X : pandas.DataFrame (n_rows, n_columns)
    y : object array (n_rows,)
    n_folds : int
    rounds : int
        Fits that the time of a fold is the median of.
    """
    classes, own = np.unique(y, return_inverse=True)
    fold = np.zeros(len(y), dtype=np.intp)
    done = {
        model.name: HeldOut(np.empty((len(y), len(classes))), own.astype(np.intp), fold)
        for model in models
    }
    failed: dict[str, str] = {}
    other = OtherWork()
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rare classes, identifiers, deprecations in the peers
        for i, (train, test) in enumerate(folds.split(X, y)):
            fold[test] = i
            still = [model for model in models if model.name not in failed]
            prior = np.bincount(own[train], minlength=len(classes)) / len(train)
            for name, one in timed(jobs(still, X.iloc[train], y[train]), rounds).items():
                if one.failed is None:
                    try:
                        start = time.perf_counter()
                        answer = one.fitted.predict_proba(X.iloc[test])
                        done[name].predict.append(time.perf_counter() - start)
                        columns = one.fitted.classes_
                        done[name].proba[test], _ = probabilities(answer, columns, classes, prior)
                        done[name].fit.append(one.median)
                    except Exception as why:
                        one.failed = f"{type(why).__name__}: {why}"
                if one.failed is not None:
                    failed[name] = one.failed
    for name in failed:
        del done[name]
    return Trials(done, failed, other.cores())
