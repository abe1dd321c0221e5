"""TextNB with few labels: what unlabelled documents add, beside scikit-learn's self-training."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.semi_supervised import SelfTrainingClassifier

from benchmarks.bayes.page import Page
from benchmarks.text.labelled import SETS, Fold
from tallybayes import TextNB

__all__ = ["unlabelled_page"]

SIZES = (1, 5, 20, 100)  # labelled documents of each class
DRAWS = {"20 Newsgroups": 2, "R8": 5, "SMS": 5, "subjectivity": 5}
FIRST_SEED = 1000  # nothing was chosen on these draws
WITHOUT, WITH = "TextNB, labelled alone", "TextNB"
GAIN = ("20 Newsgroups", 20, 0.10)  # Nigam et al., 2000, figure 2: about so much
NOISE = 2.0  # standard errors of the difference


def _self_training() -> Any:
    return make_pipeline(CountVectorizer(), SelfTrainingClassifier(MultinomialNB()))


MODELS: dict[str, Callable[[], Any]] = {
    WITHOUT: TextNB,
    WITH: lambda: TextNB(unlabelled="auto"),
    "SelfTraining(MultinomialNB)": _self_training,
}


def _draw(y: np.ndarray, size: int, seed: int) -> np.ndarray:
    """The rows that keep their labels."""
    random = np.random.default_rng(seed)
    rows = [np.flatnonzero(y == k) for k in np.unique(y)]
    return np.concatenate([random.choice(r, min(size, len(r)), replace=False) for r in rows])


def _measured(make: Callable[[], Any], documents: Any, y: np.ndarray, fold: Fold) -> Any:
    """Accuracy, log-loss, seconds and CPU seconds of one fit, and its λ."""
    expected = np.unique(fold.y, return_inverse=True)[0].searchsorted(fold.expected)
    begin, begin_cpu = time.perf_counter(), time.process_time()
    model = make().fit(documents, y)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
    proba = model.predict_proba(fold.test)
    own = np.clip(proba[np.arange(len(expected)), expected], 1e-15, None)
    right = float((proba.argmax(axis=1) == expected).mean())
    weight = getattr(model, "unlabelled_weight_", float("nan"))
    return right, float(-np.log(own).mean()), seconds, cpu, weight


def _of_size(fold: Fold, size: int, draws: int) -> dict[str, list[Any]]:
    """What each model reaches, a draw at a time."""
    y = np.unique(fold.y, return_inverse=True)[1]
    found: dict[str, list[Any]] = {name: [] for name in MODELS}
    for seed in range(FIRST_SEED, FIRST_SEED + draws):
        rows = _draw(y, size, seed)
        marked = np.full(len(y), -1)
        marked[rows] = y[rows]
        for name, make in MODELS.items():
            alone = name == WITHOUT
            documents = [fold.train[i] for i in rows] if alone else fold.train
            found[name].append(_measured(make, documents, y[rows] if alone else marked, fold))
    return found


def _row(name: str, size: int, model: str, got: np.ndarray) -> list[str]:
    mean, error = got.mean(axis=0), ["", ""]
    if len(got) > 1:
        deviation = got[:, :2].std(axis=0, ddof=1) / len(got) ** 0.5
        error = [f" ± {deviation[0]:.4f}", f" ± {deviation[1]:.3f}"]
    weights = " ".join(f"{w:g}" for w in got[:, 4]) if model == WITH else ""
    return [
        *(name, str(size), model),
        f"{mean[0]:.4f}{error[0]}",
        f"{mean[1]:.3f}{error[1]}",
        *(f"{mean[2]:.2f}", f"{mean[3]:.2f}", weights),
    ]


def _verdicts(name: str, size: int, found: dict[str, np.ndarray]) -> list[str]:
    gain = found[WITH] - found[WITHOUT]
    n = len(gain)
    error = gain[:, 1].std(ddof=min(1, n - 1)) / n**0.5
    worse, most = gain[:, 1].mean(), NOISE * error + 5e-4
    lines = [
        f"- {'met' if worse <= most else 'MISSED'}: {name}, {size} a class: log-loss "
        f"{worse:+.3f} (≤ {most:.3f}), accuracy {gain[:, 0].mean():+.4f}"
    ]
    if (name, size) == GAIN[:2]:
        better = gain[:, 0].mean()
        lines.append(
            f"- {'met' if better >= GAIN[2] else 'MISSED'}: {name}, {size} a class: accuracy "
            f"higher by at least {GAIN[2]:g}, as Nigam et al. (2000) found: {better:.3f}"
        )
    return lines


def unlabelled_page(*, quick: bool = False) -> tuple[Page, bool]:
    """Measures and compares.

    Parameters
    ----------
    quick : bool
        One draw of two sets and two sizes.

    Returns
    -------
    page : Page
    right : bool
        Always True: there is no exact answer to check.
    """
    rows, verdicts, record = [], [], {}
    for one in SETS:
        if one.name not in (("R8", "SMS") if quick else DRAWS):
            continue
        fold = next(iter(one.folds()))
        for size in (5, 20) if quick else SIZES:
            lists = _of_size(fold, size, 1 if quick else DRAWS[one.name])
            found = {model: np.array(got) for model, got in lists.items()}
            for model, got in found.items():
                rows.append(_row(one.name, size, model, got))
                print(*rows[-1], sep="\t", flush=True)
            verdicts += _verdicts(one.name, size, found)
            record[f"{one.name}, {size}"] = lists
    head = ["set", "labels a class", "model", "accuracy", "log-loss", "fit, s", "CPU s", "λ"]
    about = (
        "Test documents of the first fold; the other training documents without labels. Means of "
        "draws ± their standard errors; seconds to fit from raw strings. Columns of a draw in the "
        "JSON file: accuracy, log-loss, seconds, CPU seconds, λ"
    )
    title = "Text with few labels"
    return Page("text-unlabelled", title, verdicts, [(about, head, rows)], record), True
