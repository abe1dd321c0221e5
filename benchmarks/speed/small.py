"""Small cases: one row, and a table of the size of Iris, where overhead is all there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import sklearn.naive_bayes as peer
from numpy.typing import NDArray

import tallybayes as ours
from benchmarks.speed import actions
from benchmarks.speed.case import Case, Dataset, Options, Recipe
from benchmarks.speed.checks import WrongAnswer, close, same_fit, same_labels

__all__ = ["cases"]

SEED = 20_240_504
ROWS, COLUMNS, CLASSES = 150, 4, 3
BARS = {"predict": 5.0, "fit": 3.0, "partial_fit": 20.0}


# ---- the data ----------------------------------------------------------------------------------
def lengths(rng: np.random.Generator, y: NDArray[np.int64]) -> NDArray[Any]:
    return rng.normal(5.0, 1.0, (CLASSES, COLUMNS))[y] + rng.normal(0.0, 0.5, (len(y), COLUMNS))


def counts(rng: np.random.Generator, y: NDArray[np.int64]) -> NDArray[Any]:
    return rng.poisson(rng.uniform(0.5, 5.0, (CLASSES, COLUMNS))[y]).astype(np.float64)


def yes_no(rng: np.random.Generator, y: NDArray[np.int64]) -> NDArray[Any]:
    return (rng.random((len(y), COLUMNS)) < rng.random((CLASSES, COLUMNS))[y]).astype(np.float64)


def levels(rng: np.random.Generator, y: NDArray[np.int64]) -> NDArray[Any]:
    return rng.binomial(7, rng.uniform(0.2, 0.8, (CLASSES, COLUMNS))[y])


COLUMNS_OF: dict[str, tuple[Callable[..., NDArray[Any]], str]] = {
    "GaussianNB": (lengths, "normal numbers"),
    "MultinomialNB": (counts, "counts, float64"),
    "ComplementNB": (counts, "counts, float64"),
    "BernoulliNB": (yes_no, "0 and 1, float64"),
    "CategoricalNB": (levels, "codes of 8 levels, int64"),
}


def small_table(family: str) -> Dataset:
    """A table of the size of Iris for one family, fifty rows a class."""
    rng = np.random.default_rng(SEED)
    y = rng.permutation(np.repeat(np.arange(CLASSES), ROWS // CLASSES))
    columns, note = COLUMNS_OF[family]
    return Dataset(columns(rng, y), y, f"{note}, {CLASSES} classes")


# ---- the checks --------------------------------------------------------------------------------
def same_rows(theirs: type, mine: type) -> Callable[[Dataset], None]:
    """Each row predicted alone has the same label."""

    def check(data: Dataset) -> None:
        models = data.fitted(theirs), data.fitted(mine)
        for i in range(len(data.X)):
            same_labels(*models, data.X[i : i + 1], 1e-9)

    return check


def same_learning(theirs: type, mine: type) -> Callable[[Dataset], None]:
    """All rows at once and then each row alone: the counts, or means and variances, are the same.

    scikit-learn adds its smoothing of variances anew with each batch, so it is taken off.
    """

    def learned(kind: type, data: Dataset) -> Any:
        model = kind().partial_fit(data.X, data.y, classes=np.unique(data.y))
        for i in range(len(data.X)):
            model.partial_fit(data.X[i : i + 1], data.y[i : i + 1])
        return model

    def check(data: Dataset) -> None:
        peers, own = learned(theirs, data), learned(mine, data)
        close("class_count_", peers.class_count_, own.class_count_, 1e-9)
        for name in ("feature_count_", "category_count_", "theta_"):
            if hasattr(peers, name):
                close(name, getattr(peers, name), getattr(own, name), 1e-9)
        if hasattr(peers, "var_"):
            close("var_", peers.var_ - peers.epsilon_, own.var_ - own.epsilon_, 1e-6)
        if not np.array_equal(peers.predict(data.X), own.predict(data.X)):
            raise WrongAnswer("predict after partial_fit differs")

    return check


# ---- the cases ---------------------------------------------------------------------------------
def cases(options: Options) -> Iterator[Case]:
    """predict, fit and partial_fit of the five estimators; quick or not, the size is the same."""
    for family in COLUMNS_OF:
        pair: tuple[Any, Any] = getattr(peer, family), getattr(ours, family)
        name = family.removesuffix("NB").lower()
        recipe = Recipe(f"small/{name}", partial(small_table, family))
        yield Case(
            name=f"small/{name}/predict-one-row",
            what=f"{family} predict, 1 row of {COLUMNS} features, {CLASSES} classes",
            recipe=recipe,
            peer=actions.one_row_predict(pair[0]),
            ours=actions.one_row_predict(pair[1]),
            first=actions.first_one_row_predict(pair[1]),
            check=same_rows(*pair),
            bar=BARS["predict"],
        )
        yield Case(
            name=f"small/{name}/fit",
            what=f"{family} fit, {ROWS} × {COLUMNS}, {CLASSES} classes",
            recipe=recipe,
            peer=actions.fit(pair[0]),
            ours=actions.fit(pair[1]),
            check=same_fit(*pair),
            bar=BARS["fit"],
        )
        yield Case(
            name=f"small/{name}/partial-fit-one-row",
            what=f"{family} partial_fit, 1 row of {COLUMNS} features, {CLASSES} classes",
            recipe=recipe,
            peer=actions.one_row_partial_fit(pair[0]),
            ours=actions.one_row_partial_fit(pair[1]),
            check=same_learning(*pair),
            bar=BARS["partial_fit"],
        )
