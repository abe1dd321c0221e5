"""The classes beside scikit-learn's, and what else a tally can do: python examples/library.py."""

from __future__ import annotations

import platform
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import sklearn
import sklearn.naive_bayes as peer
from numpy.typing import NDArray
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split

import tallybayes
from tallybayes import CategoricalNB, GaussianNB

FOLDS = StratifiedKFold(n_splits=10, shuffle=True, random_state=0)
Array = NDArray[Any]


def codes_of(x: Array) -> tuple[Array, list[int]]:
    """Every distinct value of a column as a category: level codes, and how many each column has."""
    columns = [np.unique(column, return_inverse=True) for column in x.T]
    return np.column_stack([codes for _, codes in columns]), [len(v) for v, _ in columns]


def milliseconds(models: list[Any], method: str, *data: Array, budget: float = 0.4) -> list[float]:
    """The median time of a method of each model, in milliseconds; the models take turns."""
    times: list[list[float]] = [[] for _ in models]
    end = perf_counter() + budget
    while perf_counter() < end or len(times[0]) < 5:
        for model, taken in zip(models, times, strict=True):
            start = perf_counter()
            getattr(model, method)(*data)
            taken.append(1000 * (perf_counter() - start))
    return [median(taken) for taken in times]


def show(title: str, header: list[str], rows: list[list[str]], left: int) -> None:
    """A table in plain text; the first `left` columns hold words, the others numbers."""
    width = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    print(f"\n{title}\n")
    for row in [header, ["-" * w for w in width], *rows]:
        cells = [
            cell.ljust(w) if j < left else cell.rjust(w)
            for j, (cell, w) in enumerate(zip(row, width, strict=True))
        ]
        print("  " + "  ".join(cells).rstrip())


def compare() -> None:
    """Quality and time of both libraries on the bundled files."""
    iris, wine = load_iris(), load_wine()
    codes, n_levels = codes_of(iris.data)
    cases: list[tuple[str, str, Array, Array, dict[str, Any]]] = [
        ("wine, 178 x 13", "GaussianNB", wine.data, wine.target, {}),
        ("iris, 150 x 4", "GaussianNB", iris.data, iris.target, {}),
        ("iris as categories", "CategoricalNB", codes, iris.target, {"min_categories": n_levels}),
    ]
    rows = []
    for data, name, x, y, settings in cases:
        models = [getattr(library, name)(**settings) for library in (tallybayes, peer)]
        folds = [cross_val_predict(m, x, y, cv=FOLDS, method="predict_proba") for m in models]
        fit = milliseconds(models, "fit", x, y)
        predict = milliseconds(models, "predict", x)
        for k, library in enumerate(("tallybayes", "scikit-learn")):
            rows.append(
                [
                    data if k == 0 else "",
                    name if k == 0 else "",
                    library,
                    f"{accuracy_score(y, folds[k].argmax(axis=1)):.4f}",
                    f"{log_loss(y, folds[k]):.4f}",
                    f"{fit[k]:.3f}",
                    f"{predict[k]:.3f}",
                ]
            )
    show(
        "Accuracy and log-loss (nats) of stratified 10-fold cross-validation, shuffled with seed 0;"
        "\nmedian time of one fit and one predict of all rows",
        ["data", "classifier", "library", "accuracy", "log-loss", "fit ms", "predict ms"],
        rows,
        left=3,
    )


def compare_at_size(n: int = 500_000) -> None:
    """The same data, repeated until it is large."""
    iris, wine = load_iris(), load_wine()
    rows = []
    for data, name, x, y in (
        ("wine, repeated", "GaussianNB", wine.data, wine.target),
        ("iris as categories, repeated", "CategoricalNB", codes_of(iris.data)[0], iris.target),
    ):
        x, y = np.resize(x, (n, x.shape[1])), np.resize(y, n)
        ours, theirs = models = [getattr(library, name)() for library in (tallybayes, peer)]
        fit = milliseconds(models, "fit", x, y)
        predict = milliseconds(models, "predict", x)
        same = float((ours.predict(x) == theirs.predict(x)).mean())
        for job, (a, b) in (("fit", fit), ("predict", predict)):
            rows.append([data, name, job, f"{a:.1f}", f"{b:.1f}", f"{b / a:.0f} x", f"{same:.2%}"])
    show(
        f"The same rows, repeated to {n:,}: median time in ms",
        ["data", "classifier", "job", "tallybayes", "scikit-learn", "ratio", "same labels"],
        rows,
        left=3,
    )


def report(verb: str, what: str, holds: bool, detail: str = "") -> None:
    """One line of the tour; what does not hold ends the program."""
    print(f"  {verb:<8}{what:<66}{'yes' if holds else 'NO'}{detail}")
    if not holds:
        raise SystemExit(f"{verb}: the models differ")


def same_model(verb: str, what: str, a: GaussianNB, b: GaussianNB, x: Array) -> None:
    """Reports whether two models have counted the same and predict alike."""
    apart = np.abs(a.predict_proba(x) - b.predict_proba(x)).max()
    holds = np.array_equal(a.class_count_, b.class_count_) and bool(apart < 1e-9)
    report(verb, what, holds, f", posteriors within {apart:.0e}")


def tour() -> None:
    """What a tally can do besides: learn on, forget, merge, take another prior, be saved."""
    x, y = load_wine(return_X_y=True)
    x, x_new, y, y_new = train_test_split(x, y, test_size=45, stratify=y, random_state=0)
    print(f"\nThe model is its counts (GaussianNB on wine: {len(y)} rows to learn, 45 to test)\n")

    whole = GaussianNB().fit(x, y)
    model = GaussianNB().partial_fit(x[:50], y[:50], classes=np.unique(y))
    for row, label in zip(x[50:], y[50:], strict=True):
        model.partial_fit(row[None], [label])
    same_model("learn", "50 rows, then 83 one at a time, as if all at once?", model, whole, x_new)

    model.forget(x[:50], y[:50])
    first, rest = GaussianNB().fit(x[:50], y[:50]), GaussianNB().fit(x[50:], y[50:])
    same_model("forget", "the first 50, as if they had never been seen?", model, rest, x_new)

    merged = first + rest
    same_model(
        "merge", "a model of 50 rows and one of 83, as if learned together?", merged, whole, x_new
    )

    prior = whole.with_class_prior([0.8, 0.1, 0.1])
    same = np.array_equal(prior.class_count_, whole.class_count_)
    moved = int((prior.predict(x_new) != whole.predict(x_new)).sum())
    report(
        "prior", "P(c) = 0.8, 0.1, 0.1, on the same counts?", same, f", {moved} of 45 labels change"
    )

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "wine.tally")
        whole.save(path)
        loaded = tallybayes.load(path)
        same = np.array_equal(loaded.predict_proba(x_new), whole.predict_proba(x_new))
        size = f", {path.stat().st_size:,} bytes"
        report("save", "and load: the same predictions to the last bit?", same, size)

    x, y = load_iris(return_X_y=True)
    x, x_new, y, y_new = train_test_split(x, y, test_size=0.5, random_state=0)
    levels = [np.unique(column) for column in load_iris().data.T]
    wrong = int((CategoricalNB(levels=levels).fit(x, y).predict(x_new) != y_new).sum())
    what = "iris values, all declared: 7 of 75 wrong, as in article 1?"
    report("levels", what, wrong == 7)


def main() -> None:
    """Everything."""
    print(
        f"tallybayes {tallybayes.__version__} beside scikit-learn {sklearn.__version__}, "
        f"Python {platform.python_version()}, {tallybayes.get_num_threads()} threads"
    )
    compare()
    compare_at_size()
    tour()


if __name__ == "__main__":
    main()
