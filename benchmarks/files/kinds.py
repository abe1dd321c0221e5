"""A small model of every kind that a file can hold, and rows to ask it about."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import tallybayes
from tallybayes import families

__all__ = ["KINDS", "TALLIES", "Kind", "frame"]

N_ROWS = 120


class Kind(NamedTuple):
    """A fitted model, or a tally, and rows that it reads.

    Parameters
    ----------
    model : estimator or TableTally
    x : array or data frame
    y : array
    """

    model: Any
    x: Any
    y: Any


def _digits(n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers from 0 to 3 in four columns, and labels that they depend on."""
    rng = np.random.default_rng(3)
    y = np.arange(N_ROWS) % n_classes
    return np.minimum(rng.poisson(0.5 + y[:, None] * [0.5, 1.0, 0.0, 0.2]), 3.0), y


def frame(n_classes: int = 2) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, strings, booleans, dates and missing values, and labels that they depend on."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, n_classes, N_ROWS)
    age = rng.normal(30.0 + 10.0 * y, 6.0).round()
    age[rng.random(N_ROWS) < 0.1] = np.nan
    home = np.array(["Bern", "Basel", "Wien", "東京"], dtype=object)[rng.integers(0, 2, N_ROWS) + y]
    home[rng.random(N_ROWS) < 0.1] = None
    lucky = rng.integers(0, 2, N_ROWS)
    x = pd.DataFrame(
        {
            "age": age,
            "pay": rng.lognormal(2.0 + y, 0.5).round(2),
            "home": home,
            "twin": np.array(["u", "v"], dtype=object)[lucky],
            "other": np.array(["p", "q"], dtype=object)[lucky ^ (y > 0)],
            "active": rng.random(N_ROWS) < 0.3 + 0.2 * y,
            "calls": rng.poisson(1.0 + y),
            "words": rng.poisson(2.0, N_ROWS),
            "since": [datetime.date(2020, 1, 1 + int(k)) for k in rng.integers(0, 28, N_ROWS)],
        }
    )
    return x, np.array(["no", "yes", "maybe"], dtype=object)[y]


def _array(name: str, **parameters: Any) -> Callable[[], Kind]:
    def make() -> Kind:
        x, y = _digits()
        return Kind(getattr(tallybayes, name)(**parameters).fit(x, y), x, y)

    return make


def _levels() -> Kind:
    x, y = _digits()
    x = x.astype(int)
    named = np.array(["none", "one", "two", "more"], dtype=object)
    table = pd.DataFrame({"a": named[x[:, 0]], "b": x[:, 1], "c": x[:, 2] > 0, "d": x[:, 3] / 2})
    levels = [named.tolist(), [0, 1, 2, 3], [False, True], [0.0, 0.5, 1.0, 1.5]]
    model = tallybayes.CategoricalNB(levels=levels, unseen="ignore").fit(table, y == 1)
    return Kind(model, table, y == 1)


def _declared(**parameters: Any) -> Callable[[], Kind]:
    """Each family of a table, with a prior where it takes one."""

    def make() -> Kind:
        x, y = frame()
        columns = {
            "age": families.Gaussian(prior=families.NormalInverseGamma(30.0, 1.0, 2.0, 50.0)),
            "pay": families.Gaussian(transform="log", ddof=1.0),
            "home": families.Categorical(levels=("Bern", "Basel", "Wien", "東京", "Rom")),
            "twin": families.Bernoulli(prior=families.Beta(2.0, 3.0)),
            "other": families.Categorical(prior=families.Dirichlet(2.0, "marginal")),
            "active": None,
            "calls": families.Poisson(prior=families.Gamma(2.0, 1.0)),
            "since": families.Binned(bins=4),
            "words": families.Smooth(bins=8, width=2, strength=4.0),
        }
        return Kind(tallybayes.NaiveBayes(columns, **parameters).fit(x, y), x, y)

    return make


def _groups() -> Kind:
    x, y = frame(3)
    wishart = families.NormalInverseWishart([30.0, 10.0], 1.0, 4.0, [[40.0, 0.0], [0.0, 40.0]])
    columns: dict[Any, Any] = {
        ("age", "pay"): families.Gaussian(covariance="full", prior=wishart),
        ("calls", "words"): families.Multinomial(),
        str: families.Categorical(alpha=0.5),
        bool: families.Bernoulli(),
        np.dtype("int8"): families.Poisson(),
        "since": None,
    }
    return Kind(tallybayes.NaiveBayes(columns, missing="level").fit(x, y), x, y)


def _auto(**parameters: Any) -> Callable[[], Kind]:
    def make() -> Kind:
        x, y = frame()
        return Kind(tallybayes.NaiveBayes(**parameters).fit(x, y), x, y)

    return make


def _tally(make: Callable[[], Kind]) -> Callable[[], Kind]:
    """The counts of a model by themselves."""

    def counted() -> Kind:
        kind = make()
        return kind._replace(model=kind.model.tally_)

    return counted


def _weighted(n_classes: int, **parameters: Any) -> Callable[[], Kind]:
    def make() -> Kind:
        x, y = frame(n_classes)
        return Kind(tallybayes.WeightedNaiveBayes(**parameters).fit(x, y), x, y)

    return make


def _deciding() -> Kind:
    """With the scores of sets, and the costs of decisions."""
    x, y = frame()
    model = tallybayes.NaiveBayes().fit(x, y).conformalize(x, y, within=["home"])
    costs = {"no": {"no": 0.0, "ask": 0.4}, "yes": {"no": 5.0, "ask": 0.4}}
    return Kind(model.with_costs(costs), x, y)


def _text(n_classes: int, **parameters: Any) -> Callable[[], Kind]:
    """Messages of words that the classes prefer."""

    def make() -> Kind:
        rng = np.random.default_rng(7)
        y = np.arange(N_ROWS) % n_classes
        words = np.array(["naïve", "bayes", "東京", "cheap", "pills", "lunch", "noon", "a\0b"])
        x = [" ".join(words[(rng.poisson(1.0, 5) + 2 * k) % len(words)]) for k in y]
        labels = np.array(["ham", "spam", "ads"])[y]
        return Kind(tallybayes.TextNB(**parameters).fit(x, labels), x, labels)

    return make


def _forgotten() -> Kind:
    """A model with what bounds the rounding of rows that it has forgotten."""
    model, x, y = _groups()
    weight = np.full(20, 0.9)
    return Kind(model.decay(0.9).forget(x[:20], y[:20], sample_weight=weight), x, y)


def _labels(name: str, **parameters: Any) -> Callable[[], Kind]:
    """Labels of arrays, or of the words that they stand for."""

    def make() -> Kind:
        x, y = _digits()
        rows: Any = x
        if name == "TextNB":
            rows = [" ".join(f"w{j}v{v:g}" for j, v in enumerate(row)) for row in x]
        model = getattr(tallybayes, name)(**parameters)
        labels = np.stack([y > 0, x[:, 0] > 1], axis=1).astype(int)
        chosen = {"threshold": "f1"} if name == "GaussianNB" else {"smoothing": "auto"}
        return Kind(tallybayes.MultiLabel(model, **chosen).fit(rows, labels), rows, labels)

    return make


def _tree() -> Kind:
    x, y = _digits()
    paths = np.array(["a/x", "a/y", "b"], dtype=object)[y]
    return Kind(tallybayes.Hierarchy(tallybayes.MultinomialNB()).fit(x, paths), x, paths)


KINDS: dict[str, Callable[[], Kind]] = {
    "gaussian": _array("GaussianNB"),
    "gaussian-class-weights": _array("GaussianNB", class_weight={0: 2.0, 2: 0.5}),
    "gaussian-prior": _array("GaussianNB", priors=np.array([0.2, 0.3, 0.5])),
    "multinomial": _array("MultinomialNB", alpha=[0.5, 1.0, 1.5, 2.0]),
    "complement": _array("ComplementNB", norm=True),
    "bernoulli": _array("BernoulliNB", binarize=0.5),
    "categorical": _array("CategoricalNB", min_categories=5),
    "categorical-levels": _levels,
    "labels-sums": _labels("BernoulliNB"),
    "labels-moments": _labels("GaussianNB"),
    "labels-documents": _labels("TextNB", model="multinomial"),
    "tree": _tree,
    "table": _auto(),
    "table-declared": _declared(),
    "table-groups": _groups,
    "table-deciding": _deciding,
    "table-forgotten": _forgotten,
    "table-isotonic": _declared(calibrate="isotonic"),
    "table-temperature": _auto(calibrate="temperature", alpha="auto", class_alpha="auto"),
    "table-balanced": _auto(class_weight="balanced"),
    "text": _text(2),
    "text-characters": _text(3, analyzer="char_wb", ngram_range=(2, 3), strip_accents="unicode"),
    "text-buckets": _text(3, n_features=50, stop_words=["noon"], ridge=False),
    "text-multinomial": _text(3, model="multinomial", tf="log", idf=True),
    "text-complement": _text(3, model="complement", idf=True, length_normalize=True),
    "text-bernoulli": _text(2, model="bernoulli", n_features=50),
    "weighted": _weighted(2, interactions=2),
    "weighted-classes": _weighted(3, interactions=1, polish=True),
    "weighted-parts": _weighted(2, interactions=2, parts=3),
}
"""By name. Each call makes the model from scratch."""

TALLIES: dict[str, Callable[[], Kind]] = {
    "tally": _tally(_auto()),
    "tally-groups": _tally(_groups),
}
"""The same of counts without a model."""
