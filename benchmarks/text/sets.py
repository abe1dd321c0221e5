"""TextNB on seven corpora, beside scikit-learn's classifiers on the same folds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from benchmarks.bayes.page import Page
from benchmarks.text.labelled import SETS, LabelledSet
from tallybayes import TextNB
from tallybayes.text import CountVectorizer as OurCountVectorizer

__all__ = ["sets_page"]

OURS = ("TextNB", "TextNB, ridge=False")
FALSE_ALARMS = 0.001
LARGE = {"20 Newsgroups": (10.0, 3.0)}  # seconds of a fit, with the ridge and without
BY_COUNTING = 2.0  # the time of a fit, by that of scikit-learn's CountVectorizer: other sets
COUNTED = 3  # times, of which the median counts


def _tokens(characters: bool) -> dict[str, Any]:
    how = {"analyzer": "char"} if characters else {"token_pattern": r"(?u)\w+|[^\w\s]"}
    return {"ngram_range": (1, 2), **how}


def _peers(characters: bool) -> dict[str, Callable[[], Any]]:
    tokens = _tokens(characters)

    def on_tfidf(model: Any) -> Any:
        return make_pipeline(TfidfVectorizer(sublinear_tf=True, **tokens), model)

    return {
        "TextNB": TextNB,
        "TextNB, ridge=False": lambda: TextNB(ridge=False),
        "MultinomialNB": lambda: make_pipeline(CountVectorizer(**tokens), MultinomialNB()),
        "ComplementNB": lambda: make_pipeline(CountVectorizer(**tokens), ComplementNB()),
        "LinearSVC": lambda: on_tfidf(LinearSVC()),
        "LogisticRegression": lambda: on_tfidf(LogisticRegression(C=10.0, max_iter=1000)),
    }


def _recall(score: np.ndarray, spam: np.ndarray) -> float:
    """The share of spam above the score that one in a thousand of the others exceeds."""
    others = np.sort(score[~spam])[::-1]
    return float((score[spam] > others[int(FALSE_ALARMS * len(others))]).mean())


def _measured(one: LabelledSet, make: Callable[[], Any], n_folds: int | None) -> dict[str, float]:
    """Accuracy, log-loss and seconds of a model over the folds of a set."""
    right, losses, wall, cpu, scores, spam = [], [], [], [], [], []
    for f, fold in enumerate(one.folds()):
        if f == n_folds:
            break
        begin, begin_cpu = time.perf_counter(), time.process_time()
        model = make().fit(fold.train, fold.y)
        wall.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - begin_cpu)
        expected = np.searchsorted(model.classes_, fold.expected)
        if hasattr(model, "predict_proba"):
            proba = model.predict_proba(fold.test)
            own = np.clip(proba[np.arange(len(expected)), expected], 1e-15, None)
            losses += (-np.log(own)).tolist()
            right += (proba.argmax(axis=1) == expected).tolist()
            score = np.log(np.clip(proba[:, -1], 1e-300, None) / np.clip(proba[:, 0], 1e-300, None))
        else:
            right += (model.predict(fold.test) == np.array(fold.expected)).tolist()
            score = model.decision_function(fold.test)
        if "spam" in model.classes_:
            scores.append(score)
            spam.append(expected == 1)
    found = {"accuracy": float(np.mean(right)), "seconds": float(np.mean(wall))}
    found["cpu_seconds"] = float(np.mean(cpu))
    if losses:
        found["log_loss"] = float(np.mean(losses))
    if scores:
        found["recall"] = _recall(np.concatenate(scores), np.concatenate(spam))
    return found


def _counting(one: LabelledSet, make: Callable[[], Any]) -> dict[str, float]:
    """Seconds of counting the documents of the first fold."""
    documents = next(one.folds()).train
    wall, cpu = [], []
    for _ in range(COUNTED):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        make().fit_transform(documents)
        wall.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - begin_cpu)
    return {"seconds": float(np.median(wall)), "cpu_seconds": float(np.median(cpu))}


def _speed_verdicts(one: LabelledSet, record: dict[str, dict[str, float]]) -> list[str]:
    found = []
    for name, most in zip(OURS, LARGE.get(one.name, (None, None)), strict=True):
        seconds, cpu = record[name]["seconds"], record[name]["cpu_seconds"]
        by, cpu_by = (
            took / record["CountVectorizer"][unit]
            for took, unit in ((seconds, "seconds"), (cpu, "cpu_seconds"))
        )
        met = by <= BY_COUNTING if most is None else seconds <= most
        bar = (
            f"{by:.2f} times scikit-learn's counting (≤ {BY_COUNTING:g}), {cpu_by:.2f} in CPU time"
        )
        if most is not None:
            bar = f"{seconds:.2f} s (≤ {most:g}), {cpu:.2f} CPU s"
        found.append(f"- {'met' if met else 'MISSED'}: {one.name}, {name}, fit: {bar}")
    return found


def _verdicts(one: LabelledSet, record: dict[str, dict[str, float]]) -> list[str]:
    found = []
    for name, (accuracy, loss) in zip(OURS, (one.bars[:2], one.bars[2:]), strict=True):
        got = record[name]
        met = got["accuracy"] >= accuracy - 5e-4 and got["log_loss"] <= loss + 5e-4
        found.append(
            f"- {'met' if met else 'MISSED'}: {one.name}, {name}: {got['accuracy']:.4f} "
            f"(≥ {accuracy}), {got['log_loss']:.4f} (≤ {loss})"
        )
    return found


def _row(set_name: str, name: str, got: dict[str, float]) -> list[str]:
    loss = f"{got['log_loss']:.3f}" if "log_loss" in got else ""
    recall = f"{got['recall']:.3f}" if "recall" in got else ""
    accuracy = f"{got['accuracy']:.4f}" if "accuracy" in got else ""
    times = [f"{got['seconds']:.2f}", f"{got['cpu_seconds']:.2f}"]
    return [set_name, name, accuracy, loss, recall, *times]


def sets_page(*, quick: bool = False) -> tuple[Page, bool]:
    """Measures and compares.

    Parameters
    ----------
    quick : bool
        The first fold of each set, and two of the sets.

    Returns
    -------
    page : Page
    right : bool
        Always True: the sets have bars, and no exact answer to check.
    """
    rows, verdicts, record = [], [], {}
    for one in SETS[1:3] if quick else SETS:
        tokens = _tokens(one.characters)
        record[one.name] = {
            "CountVectorizer": _counting(one, lambda tokens=tokens: CountVectorizer(**tokens)),
            "tallybayes.text.CountVectorizer": _counting(
                one, lambda tokens=tokens: OurCountVectorizer(**tokens)
            ),
        }
        rows += [_row(one.name, name, got) for name, got in record[one.name].items()]
        for name, make in _peers(one.characters).items():
            record[one.name][name] = _measured(one, make, 1 if quick else None)
            rows.append(_row(one.name, name, record[one.name][name]))
            print(*rows[-1], sep="\t", flush=True)
        verdicts += _verdicts(one, record[one.name])
        verdicts += _speed_verdicts(one, record[one.name])
    head = ["set", "model", "accuracy", "log-loss", "recall at 0.1 %", "fit, s", "CPU s"]
    title = (
        "Test folds; seconds to fit from raw strings, a fold; of counting, those of the first fold"
    )
    return Page("text-sets", "Text classifiers", verdicts, [(title, head, rows)], record), True
