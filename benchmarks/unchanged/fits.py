"""Everything that the classifiers say of the tables, as arrays by name."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

import tallybayes
from benchmarks.unchanged.data import Rows, all_rows
from tallybayes.families import (
    Binned,
    Categorical,
    Dirichlet,
    Gamma,
    Gaussian,
    NormalInverseGamma,
    Poisson,
    Smooth,
)

__all__ = ["said"]

Make = Callable[[], Any]

ARRAYS: dict[str, tuple[Make, str]] = {
    "GaussianNB": (lambda: tallybayes.GaussianNB(), "numbers"),
    "MultinomialNB": (lambda: tallybayes.MultinomialNB(), "counts"),
    "ComplementNB": (lambda: tallybayes.ComplementNB(norm=True), "counts"),
    "BernoulliNB": (lambda: tallybayes.BernoulliNB(binarize=0.5), "numbers"),
    "CategoricalNB": (lambda: tallybayes.CategoricalNB(), "whole"),
}
"""By name: the classifier of arrays, and what it reads."""

PRIORS = {
    float: Gaussian(prior=NormalInverseGamma(mean=1.0, strength=1.0, shape=2.0, scale=3.0)),
    int: Binned(bins=8),
    str: Categorical(prior=Dirichlet(strength=2.0)),
}
OTHERS = {float: Gaussian(transform="yeo-johnson"), int: Smooth(), str: Categorical(alpha=0.1)}
COUNTS = {int: Poisson(prior=Gamma(shape=2.0, rate=1.0), estimate="posterior")}

TABLES: dict[str, Make] = {
    "NaiveBayes": lambda: tallybayes.NaiveBayes(),
    "NaiveBayes, alpha": lambda: tallybayes.NaiveBayes(alpha="auto", missing="level"),
    "NaiveBayes, evidence": lambda: tallybayes.NaiveBayes(alpha="auto", criterion="evidence"),
    "NaiveBayes, priors": lambda: tallybayes.NaiveBayes(columns=PRIORS, missing="level"),
    "NaiveBayes, other families": lambda: tallybayes.NaiveBayes(columns=OTHERS),
    "NaiveBayes, counts": lambda: tallybayes.NaiveBayes(columns=COUNTS, alpha="auto"),
    "NaiveBayes, temperature": lambda: tallybayes.NaiveBayes(calibrate="temperature"),
    "NaiveBayes, isotonic": lambda: tallybayes.NaiveBayes(calibrate="isotonic"),
    "WeightedNaiveBayes": lambda: tallybayes.WeightedNaiveBayes(),
    "WeightedNaiveBayes, one part": lambda: tallybayes.WeightedNaiveBayes(parts=1),
}

SAYS = ("predict_joint_log_proba", "predict_log_proba", "predict_proba", "predict")
OF_FIT = ("weights_", "log_loss_", "schema_", "log_evidence_", "alpha_", "feature_importances_")


def said() -> Iterator[tuple[str, dict[str, Any]]]:
    """What each classifier says of each table, one after the other; the name is that of both."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for table, rows in all_rows().items():
            for name, make in _classifiers(rows):
                yield f"{name}: {table}", dict(_of_one(make(), rows, name in ARRAYS))


def _classifiers(rows: Rows) -> Iterator[tuple[str, Make]]:
    yield from TABLES.items()
    for name, (make, reads) in ARRAYS.items():
        if reads in rows.holds:
            yield name, make


def _of_one(model: Any, rows: Rows, array: bool) -> Iterator[tuple[str, Any]]:
    X: Any = rows.X.to_numpy(dtype=np.float64) if array else rows.X
    model.fit(X, rows.y, sample_weight=rows.weight)
    for method in SAYS:
        if hasattr(model, method):
            yield method, getattr(model, method)(X)
    yield "leave_one_out", _or_refusal(tallybayes.leave_one_out, model, X, rows.y, rows.weight)
    if hasattr(model, "explain"):
        yield "explain", model.explain(X[:50]).contributions
    if hasattr(model, "predict_proba_interval"):
        yield from _arrays("interval", model.predict_proba_interval(X[:20], random_state=0))
    given = _or_refusal(getattr, model, "class_conditional_")
    for moment in ("mean", "variance"):
        value = _or_refusal(lambda name: getattr(given, name)(), moment)
        yield f"class_conditional_.{moment}", np.array(str(value))
    yield from _arrays("tally_", model.tally_)
    for attribute in OF_FIT:
        value = _or_refusal(getattr, model, attribute)
        yield attribute, np.array(value.to_string() if hasattr(value, "to_string") else value)
    # later rows: half are learned anew and forgotten, so that the counts come back
    half = slice(0, len(rows.y) // 2)
    weight = None if rows.weight is None else rows.weight[half]
    model.partial_fit(X[half], rows.y[half], sample_weight=weight)
    yield "partial_fit", model.predict_log_proba(X)
    model.forget(X[half], rows.y[half], sample_weight=weight)
    yield "forget", model.predict_log_proba(X)
    yield from _arrays("tally_ afterwards", model.tally_)


def _or_refusal(call: Callable[..., Any], *args: Any) -> Any:
    """What a call returns, or the refusal as a string."""
    try:
        return call(*args)
    except (AttributeError, ValueError, TypeError) as error:
        return f"{type(error).__name__}: {error}"


def _arrays(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The arrays that a value holds."""
    if isinstance(value, np.ndarray):
        yield name, value
    elif sparse.issparse(value):
        yield name, value.toarray()
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from _arrays(f"{name}[{i}]", item)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _arrays(f"{name}.{field.name}", getattr(value, field.name))
    elif type(value).__module__.startswith("tallybayes.") and hasattr(value, "__dict__"):
        for key, item in vars(value).items():
            if not key.startswith("_"):
                yield from _arrays(f"{name}.{key}", item)
