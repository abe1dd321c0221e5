"""Checks of a model as an object: refused calls, threads, layouts, predictions and files."""

from __future__ import annotations

import copy
import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import get_tags

import tallybayes
from tallybayes.testing.checks.comparing import (
    Rows,
    Weights,
    bits,
    fitted,
    need_same_outputs,
    need_same_tally,
    outputs,
    resized,
    state,
    usual_equality,
)
from tallybayes.testing.equality import Equality, exactly
from tallybayes.threads import get_num_threads, set_num_threads

__all__ = [
    "check_layout_does_not_matter",
    "check_no_rows_kept",
    "check_predictions_are_probabilities",
    "check_refused_call_changes_nothing",
    "check_saved_model_predicts_the_same",
    "check_threads_do_not_matter",
]


def check_refused_call_changes_nothing(estimator: Any, X: Rows, y: Rows) -> None:
    """A call that raises leaves counts, parameters, attributes and predictions as they were.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    X, y : arrays (n_rows, …)
        X is numeric.

    Raises
    ------
    AssertionError
        If a call that must be refused is not, or leaves a trace.
    """
    model = fitted(estimator, X, y)
    model.predict(X)
    before = state(model, X)
    wide = np.concatenate([X, X[:, :1]], axis=1)
    holed, endless = X.astype(np.float64), X.astype(np.float64)
    holed[-1, -1], endless[0, 0] = np.nan, np.inf
    unknown = y.astype(np.int64) if y.dtype.kind == "b" else y.copy()
    unknown[-1:] = np.array(["?"]).astype(y.dtype) if y.dtype.kind in "OUS" else unknown.max() + 2
    everything = np.concatenate([X, X]), np.concatenate([y, y])
    calls: dict[str, Callable[[Any], Any]] = {
        "fit, fewer labels than rows": lambda m: m.fit(X, y[:-1]),
        "fit, fewer weights than rows": lambda m: m.fit(X, y, sample_weight=np.ones(len(y) + 1)),
        "fit, NaN": lambda m: m.fit(holed, y),
        "fit, other columns and NaN": lambda m: m.fit(np.concatenate([holed, holed], axis=1), y),
        "fit, infinite weight": lambda m: m.fit(X, y, sample_weight=np.full(len(y), np.inf)),
        "fit, no rows": lambda m: m.fit(X[:0], y[:0]),
        "partial_fit, another number of columns": lambda m: m.partial_fit(wide, y),
        "partial_fit, NaN": lambda m: m.partial_fit(holed, y),
        "partial_fit, infinity": lambda m: m.partial_fit(endless, y),
        "partial_fit, fewer labels than rows": lambda m: m.partial_fit(X, y[:-1]),
        "partial_fit, unknown label": lambda m: m.partial_fit(X, unknown),
        "partial_fit, other classes": lambda m: m.partial_fit(X, y, classes=unknown),
        "partial_fit, more removed than counted": lambda m: m.partial_fit(
            X, y, sample_weight=np.full(len(y), -2.0)
        ),
        "forget, another number of columns": lambda m: m.forget(wide, y),
        "forget, NaN": lambda m: m.forget(holed, y),
        "forget, unknown label": lambda m: m.forget(X, unknown),
        "forget, more than counted": lambda m: m.forget(*everything),
        "merge, no estimator": lambda m: m.merge(object()),
        "merge, other columns": lambda m: m.merge(fitted(estimator, wide, y)),
        "predict, another number of columns": lambda m: m.predict(wide),
        "predict, NaN": lambda m: m.predict(holed),
    }
    for what, call in calls.items():
        try:
            call(model)
        except (ValueError, TypeError):
            pass
        else:
            raise AssertionError(f"{what}: this call was not refused")
        after = state(model, X)
        changed = [key for key in before if before[key] != after[key]]
        if changed:
            raise AssertionError(f"{what}: the refused call changed {', '.join(changed)}")


@contextmanager
def _threads_restored() -> Iterator[None]:
    before = get_num_threads()
    try:
        yield
    finally:
        set_num_threads(before)


def check_threads_do_not_matter(
    estimator: Any,
    X: Rows,
    y: Rows,
    *,
    threads: tuple[int, ...] = (1, 2, 3, 8),
    rows: int | None = None,
    seed: int = 0,
) -> None:
    """Tallies and predictions are bit-equal on any number of threads.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    X, y : arrays (n_rows, …)
        They are repeated to `rows` rows and given fractional weights.
    threads : tuple of int
    rows : int, optional
        By default enough to give each of eight threads work.
    seed : int
        Of the weights.

    Raises
    ------
    AssertionError
    """
    if rows is None:
        rows = max(9 * 8192, (1 << 20) // X.shape[1] + 1)
    x, labels = resized(X, y, rows)
    weights = np.random.default_rng(seed).uniform(0.5, 1.5, size=rows)
    seen: dict[int, tuple[Any, Any]] = {}
    with _threads_restored():
        for count in threads:
            set_num_threads(count)
            model = fitted(estimator, x, labels, weights)
            tally = {name: bits(array) for name, array in model.tally_.arrays().items()}
            seen[count] = tally, {name: bits(a) for name, a in outputs(model, x).items()}
    first = seen[threads[0]]
    for count in threads[1:]:
        if seen[count][0] != first[0]:
            raise AssertionError(f"the tally differs between {threads[0]} and {count} threads")
        if seen[count][1] != first[1]:
            raise AssertionError(f"predictions differ between {threads[0]} and {count} threads")


def check_layout_does_not_matter(
    estimator: Any, X: Rows, y: Rows, *, same: Equality | None = None
) -> None:
    """Memory order, strides, float32 and, where it is taken, sparse X give the same model.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    X, y : arrays (n_rows, …)
        X is numeric; float32 holds its values exactly.
    same : Equality, optional
        For sparse rows, whose moments have another origin.

    Raises
    ------
    AssertionError
    """
    same = same or usual_equality(X, None)
    plain = np.ascontiguousarray(X)
    spaced = np.zeros((2 * len(X), 2 * X.shape[1]), dtype=X.dtype)
    spaced[::2, ::2] = X
    frozen = plain.copy()
    frozen.flags.writeable = False
    layouts = {
        "Fortran order": np.asfortranarray(X),
        "strided rows and columns": spaced[::2, ::2],
        "negative strides": np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
        "read-only": frozen,
    }
    model = fitted(estimator, plain, y)
    for what, x in layouts.items():
        other = fitted(estimator, x, y)
        need_same_tally(other.tally_, model.tally_, what, exactly)
        need_same_outputs(other, model, x, what)
        need_same_outputs(model, other, plain, what)
    if X.dtype == np.float64 and (X.astype(np.float32) == X).all():
        narrow = fitted(estimator, X.astype(np.float32), y)
        need_same_tally(narrow.tally_, model.tally_, "float32", exactly)
    if not get_tags(estimator).input_tags.sparse:
        return
    for make in (sparse.csr_array, sparse.csc_array):
        x = make(plain)
        other = fitted(estimator, x, y)
        need_same_tally(other.tally_, model.tally_, f"{x.format} against dense", same)
        if not (other.predict(x) == other.predict(plain)).all():
            raise AssertionError(f"{x.format}: sparse and dense rows are predicted differently")


def check_predictions_are_probabilities(
    estimator: Any, X: Rows, y: Rows, sample_weight: Weights = None
) -> None:
    """Rows of ``predict_proba`` sum to 1, and all ways to predict agree.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    X, y, sample_weight : arrays (n_rows, …)

    Raises
    ------
    AssertionError
    """
    model = fitted(estimator, X, y, sample_weight)
    out = outputs(model, X)
    joint, proba, log_proba = (
        out[name].astype(np.float64)
        for name in ("predict_joint_log_proba", "predict_proba", "predict_log_proba")
    )
    tolerance = 16.0 * np.finfo(out["predict_proba"].dtype).eps
    for name, array in (("joint", joint), ("log_proba", log_proba)):
        if np.isnan(array).any() or np.isposinf(array).any():
            raise AssertionError(f"predict_{name} holds NaN or +inf")
    if not ((proba >= 0.0) & (proba <= 1.0)).all():
        raise AssertionError("predict_proba holds what is not a probability")
    if not (np.abs(proba.sum(axis=1) - 1.0) <= tolerance).all():
        raise AssertionError("rows of predict_proba do not sum to 1")
    if not np.allclose(np.exp(log_proba), proba, rtol=64.0 * tolerance, atol=tolerance):
        raise AssertionError("predict_log_proba is not the logarithm of predict_proba")
    possible = ~np.isneginf(joint).all(axis=1)
    best = model.classes_[joint.argmax(axis=1)]
    if not (best == out["predict"])[possible].all():
        raise AssertionError("predict is not the class of the largest joint log-likelihood")


def check_saved_model_predicts_the_same(
    estimator: Any, X: Rows, y: Rows, *, load: Callable[[Any], Any] | None = None
) -> None:
    """A saved, pickled or copied model predicts bit for bit the same, and goes on learning.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    X, y : arrays (n_rows, …)
    load : callable, optional
        What reads a saved file; by default :func:`tallybayes.load`.

    Raises
    ------
    AssertionError
    """
    load = load or tallybayes.load
    model = fitted(estimator, X, y)
    model.predict(X)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.tally"
        model.save(path)
        loaded = load(path)
    twins = {
        "load(save)": loaded,
        "pickle": pickle.loads(pickle.dumps(model)),
        "deepcopy": copy.deepcopy(model),
        "copy": copy.copy(model),
    }
    further = fitted(estimator, X, y).partial_fit(X, y)
    for what, twin in twins.items():
        need_same_tally(twin.tally_, model.tally_, what, exactly)
        need_same_outputs(twin, model, X, what)
        if repr(twin.get_params()) != repr(model.get_params()):
            raise AssertionError(f"{what}: the parameters differ")
        twin.partial_fit(X, y)
        need_same_tally(twin.tally_, further.tally_, f"{what}, then partial_fit", exactly)
    once = fitted(estimator, X, y)
    need_same_tally(model.tally_, once.tally_, "the model after its copies learned on", exactly)


def check_no_rows_kept(
    estimator: Any, X: Rows, y: Rows, *, rows: tuple[int, ...] = (1_000, 20_000)
) -> None:
    """A model of many rows takes as many bytes as a model of few, saved and pickled.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    X, y : arrays (n_rows, …)
        They are repeated, so that every number of rows has the same classes and levels.
    rows : tuple of int

    Raises
    ------
    AssertionError
    """
    X, y = X[: min(rows)], y[: min(rows)]
    sizes = {}
    for n in rows:
        model = fitted(estimator, *resized(X, y, n))
        model.predict(X)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.tally"
            model.save(path)
            sizes[n] = path.stat().st_size, len(pickle.dumps(model))
    if len(set(sizes.values())) > 1:
        raise AssertionError(f"bytes (saved, pickled) depend on the number of rows: {sizes}")
