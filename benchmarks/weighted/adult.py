"""Adult's own test file, and the time of a fit beside Khiops without its start-up."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.accuracy.data import NoData, all_data_sets
from benchmarks.accuracy.folds import probabilities
from benchmarks.accuracy.models import WEIGHTED, Model
from benchmarks.bayes.held_out import calibration_error
from benchmarks.bayes.page import Page
from benchmarks.machine import OtherWork
from benchmarks.pages import say
from benchmarks.weighted import bars
from benchmarks.weighted.bars import Bar
from benchmarks.weighted.generated import WHAT, mixed
from benchmarks.weighted.options import KHIOPS, Options, model_named
from benchmarks.weighted.trial import SLOW, Job, Timed, jobs, timed, warm_up

__all__ = ["run"]

TRAINING = 32_561  # rows of adult.data; the others are those of adult.test
FEW = 150  # rows that Khiops' start-up is timed on
START = f"{KHIOPS}, {FEW} rows"
GENERATED, QUICK = 100_000, 2_000


def adult(options: Options) -> tuple[Any, Any, Any, Any] | None:
    """Training rows and labels, test rows and labels."""
    data = next(d for d in all_data_sets() if d.name == "adult")
    try:
        X, y = data.table
        if not data.paths:
            raise NoData("OpenML's copy does not tell which rows are the test file's")
    except NoData as why:
        options.missing.append("adult")
        say(f"  adult: NO DATA: {why}")
        return None
    end = QUICK if options.quick else TRAINING
    return X[:end], y[:end], X[TRAINING:], y[TRAINING:]


def with_start(models: list[Model], X: Any, y: Any) -> dict[str, Job]:
    """A fit of each model, and of Khiops on few rows."""
    found = jobs(models, X, y)
    if KHIOPS in found:
        found[START] = Job(model_named(KHIOPS), X[:FEW], y[:FEW])
    return found


def khiops_ratio(times: dict[str, Timed]) -> float | None:
    """Our time by Khiops' without its start-up."""
    names = (WEIGHTED, KHIOPS, START)
    if any(name not in times or times[name].failed for name in names):
        return None
    ours, theirs, start = (times[name].median for name in names)
    return ours / (theirs - start) if theirs > start else None


def scored(one: Timed, X: Any, y: Any) -> dict[str, float]:
    """How a fitted model does on the test rows."""
    classes, own = np.unique(y, return_inverse=True)
    prior = np.bincount(own) / len(own)
    answer = one.fitted.predict_proba(X)
    proba, _ = probabilities(answer, one.fitted.classes_, classes, prior)
    return {
        "log_loss": float(-np.log(proba[np.arange(len(own)), own]).mean()),
        "accuracy": float((proba.argmax(axis=1) == own).mean()),
        "error": calibration_error(proba, own),
    }


def seconds_of(times: dict[str, Timed]) -> dict[str, Any]:
    """For the record."""
    return {name: {"seconds": one.seconds, "failed": one.failed} for name, one in times.items()}


def time_rows(times: dict[str, Timed], scores: dict[str, dict[str, float]]) -> list[list[str]]:
    """The lines of a table."""
    rows = []
    for name, one in times.items():
        if one.failed:
            rows.append([name, f"failed: {one.failed[:100]}", *[""] * 4])
            continue
        figures = [f"{v:.4f}" for v in scores[name].values()] if name in scores else [""] * 3
        rows.append([name, *figures, f"{one.median:.3f}", str(len(one.seconds))])
    return rows


def run(options: Options) -> Page:
    """The page."""
    rounds, n = options.rounds, QUICK if options.quick else GENERATED
    table = adult(options)
    times: dict[str, Timed] = {}
    scores: dict[str, dict[str, float]] = {}
    warm_up(options.models)
    other = OtherWork()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if table is not None:
            X, y, rest, labels = table
            say(f"  adult: {len(y):,} rows, {len(labels):,} test rows")
            times = timed(with_start(list(options.models), X, y), rounds)
            for name, one in times.items():
                if not one.failed and name != START:
                    scores[name] = scored(one, rest, labels)
                    notes = "  ".join(f"{v:.4f}" for v in scores[name].values())
                    say(f"    {name:<24} {notes}  {one.median:8.3f} s")
                elif one.failed:
                    say(f"    {name:<24} FAILED: {one.failed}")
        say(f"  generated: {n:,} rows")
        made = mixed(n)
        two = [m for m in options.models if m.name in (WEIGHTED, KHIOPS)]
        drawn = timed(with_start(two, made.X, made.y), rounds)
        for name, one in drawn.items():
            say(f"    {name:<24} {one.failed or format(one.median, '8.3f')}")
    others = other.cores()

    mine, took = scores.get(WEIGHTED), times.get(WEIGHTED)
    found = [
        Bar("log-loss", mine and mine["log_loss"], 0.270),
        Bar("accuracy", mine and mine["accuracy"], 0.876, least=True),
        Bar("seconds of a fit", took.median if mine and took else None, 3.0, form=".2f"),
        *(
            Bar(
                f"{what}: time of a fit ÷ Khiops' without its start-up",
                khiops_ratio(fits),
                0.1,
                form=".3f",
            )
            for what, fits in (("Adult", times), (f"{n:,} × {made.X.shape[1]}", drawn))
        ),
    ]
    notes = [f"{model.name}: {model.what}" for model in options.models]
    notes.append(
        f"Khiops' start-up is its time on {FEW} of the same rows; all are fitted in turn in one "
        f"process, medians of {rounds} fits, of one where it takes more than {SLOW:g} s; ours "
        "includes its first prediction"
    )
    if others is not None:
        notes.append(f"other work kept {others:.1f} cores busy")
    head = ["model", "log-loss", "accuracy", "calibration error", "seconds", "fits"]
    return Page(
        "weighted-adult",
        "WeightedNaiveBayes on Adult's test file",
        bars.lines(found, notes),
        [
            (
                "## Adult: learned from adult.data, scored on adult.test",
                head,
                time_rows(times, scores),
            ),
            (f"## Generated: {WHAT}", head, time_rows(drawn, {})),
        ],
        {
            "bars": bars.record(found),
            "scores": scores,
            "adult": seconds_of(times),
            "generated": seconds_of(drawn),
        },
    )
