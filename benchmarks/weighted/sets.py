"""Fourteen sets and letter: log-loss, accuracy, calibration and time beside the peers.

``more`` makes the same page of the thirteen further sets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.accuracy.folds import SEED
from benchmarks.accuracy.models import WEIGHTED
from benchmarks.accuracy.verdict import FLOOR, geometric_mean
from benchmarks.bayes.page import Page
from benchmarks.pages import say
from benchmarks.weighted import bars
from benchmarks.weighted.bars import Bar
from benchmarks.weighted.options import BOOSTING, EBM, KHIOPS, LOGISTIC, Options, Rows
from benchmarks.weighted.peers import known
from benchmarks.weighted.trial import SLOW, held_out, warm_up

__all__ = [
    "FEW_WORSE",
    "WORSE",
    "Measured",
    "loss_on",
    "measure",
    "page",
    "run",
    "together",
    "worse",
]

METRICS = {
    "log_loss": ("Log-loss, nats a row", ".4f"),
    "accuracy": ("Accuracy", ".4f"),
    "error": ("Expected calibration error, 15 bins", ".4f"),
    "fit": ("Milliseconds of fitting, all folds together", ",.1f"),
}
NOT_ON_LETTER = (EBM,)
WORSE, FEW_WORSE = 1.03, 2.0  # times the log-loss of the version before; sets that may be so


@dataclass(frozen=True)
class Figures:
    """What a model scored on a set: `fit` is in milliseconds, of all folds."""

    log_loss: float
    accuracy: float
    error: float
    fit: float
    fit_by_fold: list[float]


@dataclass(frozen=True)
class Measured:
    """A set and the figures of each model."""

    name: str
    rows: int
    columns: int
    classes: int
    figures: dict[str, Figures]
    failed: dict[str, str]
    others: float | None


def measure(rows: Rows, options: Options, without: Sequence[str] = ()) -> Measured:
    """All models on one set."""
    models = [model for model in options.models if model.name not in without]
    found = held_out(models, rows.X, rows.y, options.folds, options.rounds)
    figures = {
        name: Figures(f.log_loss, f.accuracy, f.error, 1e3 * f.seconds(), f.fit)
        for name, f in found.done.items()
    }
    for name, f in figures.items():
        notes = f"{f.log_loss:.4f}  {f.accuracy:.4f}  {f.error:.4f}  {f.fit:10.1f} ms"
        say(f"    {name:<24} {notes}")
    for name, why in found.failed.items():
        say(f"    {name:<24} FAILED: {why}")
    n_rows, n_columns = rows.X.shape
    return Measured(rows.name, n_rows, n_columns, rows.classes, figures, found.failed, found.others)


def values(sets: Sequence[Measured], name: str, metric: str) -> list[float] | None:
    """A metric of a model on each set; None unless it did all of them."""
    if not sets or any(name not in s.figures for s in sets):
        return None
    return [getattr(s.figures[name], metric) for s in sets]


def together(
    sets: Sequence[Measured], names: Sequence[str], metric: str, how: Callable[..., float]
) -> float | None:
    """`how` of a metric of some models on all sets; None where one has not done all."""
    found = [values(sets, name, metric) for name in names]
    return None if None in found else float(how(*(np.array(v) for v in found)))


def worse(sets: Sequence[Measured]) -> float | None:
    """On how many sets ours loses more than before; None where a figure is lacking."""
    before = known().get(WEIGHTED, {})
    lost = [
        max(s.figures[WEIGHTED].log_loss, FLOOR) > WORSE * max(before[s.name]["log_loss"], FLOOR)
        for s in sets
        if WEIGHTED in s.figures and s.name in before
    ]
    return float(sum(lost)) if sets and len(lost) == len(sets) else None


def loss_on(sets: Sequence[Measured], name: str) -> float | None:
    """Our log-loss on one set; None where it was not measured."""
    return together([s for s in sets if s.name == name], [WEIGHTED], "log_loss", np.mean)


def all_bars(sets: Sequence[Measured], letter: Measured | None) -> list[Bar]:
    """What is promised of these sets."""

    def ratio(ours: Any, theirs: Any) -> float:
        return geometric_mean(np.maximum(ours, FLOOR) / np.maximum(theirs, FLOOR))

    def wins(ours: Any, theirs: Any) -> float:
        return float((ours < theirs).sum())

    def share(ours: Any, theirs: Any) -> float:
        return float(ours.sum() / theirs.sum())

    two = [s for s in sets if s.classes == 2]
    n = len(sets)
    every = [*sets, letter] if letter else list(sets)
    took = together(sets, [WEIGHTED], "fit", np.sum)
    found = [
        Bar("mean log-loss", together(sets, [WEIGHTED], "log_loss", np.mean), 0.325),
        Bar("mean accuracy", together(sets, [WEIGHTED], "accuracy", np.mean), 0.871, least=True),
        Bar("letter, log-loss", loss_on(every, "letter"), 0.165),
        Bar("optdigits, log-loss", loss_on(sets, "optdigits"), 0.060),
        Bar(
            f"sets of {len(every)} with a log-loss more than {WORSE - 1.0:.0%} above that of the "
            "version before",
            worse(every),
            FEW_WORSE,
            form=".0f",
        ),
        Bar("seconds of all fits", None if took is None else took / 1e3, 40.0, form=".1f"),
        Bar(
            "geometric mean of log-loss ÷ Khiops'",
            together(sets, [WEIGHTED, KHIOPS], "log_loss", ratio),
            0.40,
            form=".3f",
        ),
        *(
            Bar(
                f"sets of {n} with a better log-loss than {peer}",
                together(sets, [WEIGHTED, peer], "log_loss", wins),
                limit,
                least=True,
                form=".0f",
            )
            for peer, limit in ((KHIOPS, 12), (BOOSTING, 10))
        ),
        Bar(
            f"time of all fits ÷ {BOOSTING}'s",
            together(sets, [WEIGHTED, BOOSTING], "fit", share),
            1.0,
            form=".3f",
            strict=True,
        ),
        Bar(
            f"time of all fits on the {len(two)} two-class sets: {EBM}'s ÷ ours",
            together(two, [EBM, WEIGHTED], "fit", share),
            50.0,
            least=True,
            form=".1f",
        ),
        Bar(
            "and the least such ratio of a set",
            together(two, [EBM, WEIGHTED], "fit", lambda theirs, ours: (theirs / ours).min()),
            50.0,
            least=True,
            form=".1f",
        ),
    ]
    error = together(sets, [WEIGHTED], "error", np.mean)
    for peer in (BOOSTING, LOGISTIC, EBM):
        theirs = together(sets, [peer], "error", np.mean)
        found.append(Bar(f"mean calibration error, beside {peer}'s", error, theirs))
    return found


def matrix(sets: Sequence[Measured], names: Sequence[str], metric: str) -> Any:
    """A table of one metric, sets by models."""
    title, form = METRICS[metric]

    def cell(s: Measured, name: str) -> str:
        if name in s.figures:
            return f"{getattr(s.figures[name], metric):{form}}"
        return "failed" if name in s.failed else ""

    rows = [
        [s.name, f"{s.rows:,} × {s.columns}", str(s.classes), *(cell(s, name) for name in names)]
        for s in sets
    ]
    last, how = ("total", np.sum) if metric == "fit" else ("mean", np.mean)
    sums = [together([s for s in sets if s.name != "letter"], [m], metric, how) for m in names]
    rows.append(
        [f"**{last}, without letter**", "", "", *("" if v is None else f"{v:{form}}" for v in sums)]
    )
    return f"## {title}", ["data set", "rows × columns", "classes", *names], rows


def page(
    name: str, title: str, options: Options, shown: Sequence[Measured], found: Sequence[Bar]
) -> Page:
    """The page of these sets and bars."""
    names = [model.name for model in options.models]
    with_letter = any(s.name == "letter" for s in shown)
    seen = [s.others for s in shown if s.others is not None]
    notes = [
        f"{model.name}: {model.what}"
        + (
            "; not on letter, where it is very slow"
            if with_letter and model.name in NOT_ON_LETTER
            else ""
        )
        for model in options.models
    ]
    if seen:
        notes.append(f"other work kept {np.mean(seen):.1f} cores busy on average over the sets")
    notes += [f"{m} FAILED on {s.name}: {why}" for s in shown for m, why in s.failed.items()]
    notes.append(
        f"StratifiedKFold({options.folds}, shuffle=True, random_state={SEED}), classes with fewer "
        "than 5 rows left out; figures of the held-out rows of all folds together"
    )
    notes.append(
        f"models are fitted in turn, fold by fold, in one process; the time of a fold is the "
        f"median of {options.rounds} fits, of one where it takes more than {SLOW:g} s; the time "
        "of tallybayes' models includes their first prediction, encoding is part of every time"
    )
    return Page(
        name,
        title,
        bars.lines(found, notes),
        [matrix(shown, names, metric) for metric in METRICS],
        {
            "bars": bars.record(found),
            "models": {model.name: model.what for model in options.models},
            "folds": options.folds,
            "rounds": options.rounds,
            "data_sets": [asdict(s) for s in shown],
        },
    )


def run(options: Options) -> Page | None:
    """The results page, or None if no data set was found."""
    warm_up(options.models)
    sets = [measure(rows, options) for rows in options.fourteen()]
    big = options.letter()
    letter = None
    if big is not None:
        say(f"  letter, without {', '.join(NOT_ON_LETTER)}: {len(big.y):,} × {big.X.shape[1]}")
        letter = measure(big, options, NOT_ON_LETTER)
    if not sets and letter is None:
        return None
    return page(
        "weighted-sets",
        "WeightedNaiveBayes on fourteen sets and letter",
        options,
        [*sets, letter] if letter else sets,
        all_bars(sets, letter),
    )
