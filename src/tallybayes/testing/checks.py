"""Properties of an estimator, as functions that raise AssertionError.

Each takes an unfitted estimator, which is cloned and not changed, and rows to learn. An estimator
has the methods of the tallybayes classifiers: ``fit``, ``partial_fit``, ``forget``, ``merge``,
``predict`` and its kin, ``save``, and the fitted attribute ``tally_``.

    from tallybayes.testing.checks import check_every_property

    check_every_property(MyNB(), X, y)

Whole weights and whole numbers are held to bit-equal counts. Moments, and counts of fractions, are
rounded, and are held to a relative bound.
"""

from __future__ import annotations

import copy
import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

import tallybayes
from tallybayes.errors import NegativeTally
from tallybayes.tally import TableTally
from tallybayes.tally.base import RESIDUE
from tallybayes.testing.laws import Equality, exactly, in_mean_and_squares, without_squares
from tallybayes.threads import get_num_threads, set_num_threads

__all__ = [
    "CHECKS",
    "check_every_property",
    "check_fit_twice_is_fit_once",
    "check_forget_undoes_learn",
    "check_layout_does_not_matter",
    "check_merge_equals_whole",
    "check_more_than_counted_is_refused",
    "check_no_rows_kept",
    "check_predictions_are_probabilities",
    "check_refused_call_changes_nothing",
    "check_saved_model_predicts_the_same",
    "check_split_and_order_do_not_matter",
    "check_threads_do_not_matter",
    "check_weights_are_repeats",
]


# ---- the counts: adding, forgetting, merging and weighting ---------------------------------------
def check_forget_undoes_learn(
    estimator: Any,
    X: Rows,
    y: Rows,
    sample_weight: Weights = None,
    *,
    same: Equality | None = None,
    seed: int = 0,
) -> None:
    """Learning rows and forgetting them leaves the model as it was, in whatever parts.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    X, y, sample_weight : arrays (n_rows, …)
        Two rows at least. The first half is kept, the second is learned and forgotten.
    same : Equality, optional
        When two tallies are the same; by default as the module states.
    seed : int
        Of the order in which rows are forgotten.

    Raises
    ------
    AssertionError
    """
    same = same or _usual_equality(X, sample_weight)
    half, classes = (len(X) + 1) // 2, np.unique(y)
    kept, extra = slice(0, half), slice(half, len(X))
    model = _learned(estimator, X[kept], y[kept], _part(sample_weight, kept), classes)
    before = model.tally_.copy()
    model.partial_fit(X[extra], y[extra], sample_weight=_part(sample_weight, extra))
    whole = model.tally_.copy()
    model.forget(X[extra], y[extra], sample_weight=_part(sample_weight, extra))
    _need_same_tally(model.tally_, before, "forgetting what was just learned", same, whole)

    model = _learned(estimator, X, y, sample_weight, classes)
    order = half + np.random.default_rng(seed).permutation(len(X) - half)
    for rows in np.array_split(order, min(3, len(order))):
        if len(rows):
            model.forget(X[rows], y[rows], sample_weight=_part(sample_weight, rows))
    _need_same_tally(model.tally_, before, "forgetting rows in parts", same, whole)


def check_more_than_counted_is_refused(
    estimator: Any, X: Rows, y: Rows, sample_weight: Weights = None
) -> None:
    """Forgetting rows twice raises NegativeTally, names the class, and changes nothing.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    X, y, sample_weight : arrays (n_rows, …)
        The weights are positive.

    Raises
    ------
    AssertionError
    """
    model = _fitted(estimator, X, y, sample_weight)
    before = _state(model, X)
    weights = None if sample_weight is None else np.concatenate([sample_weight] * 2)
    try:
        model.forget(np.concatenate([X, X]), np.concatenate([y, y]), sample_weight=weights)
    except NegativeTally as error:
        if not any(str(label) in str(error) for label in np.unique(y).tolist()):
            raise AssertionError(f"the error names no class: {error}") from error
    else:
        raise AssertionError("rows were forgotten twice that were learned once")
    if _state(model, X) != before:
        raise AssertionError("a refused forget changed the model")


def check_merge_equals_whole(
    estimator: Any,
    X: Rows,
    y: Rows,
    sample_weight: Weights = None,
    *,
    same: Equality | None = None,
    parts: int = 3,
) -> None:
    """Models of parts, merged in any order and grouping, are the model of all rows.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    X, y, sample_weight : arrays (n_rows, …)
        Parts need not hold every class.
    same : Equality, optional
    parts : int

    Raises
    ------
    AssertionError
    """
    same = same or _usual_equality(X, sample_weight)
    whole = _fitted(estimator, X, y, sample_weight).tally_
    shares = [rows for rows in np.array_split(np.arange(len(X)), parts) if len(rows)]
    models = [_fitted(estimator, X[r], y[r], _part(sample_weight, r)) for r in shares]
    before = [model.tally_.copy() for model in models]

    forwards, backwards = models[0], models[-1]
    for model in models[1:]:
        forwards = forwards + model
    for model in models[-2::-1]:
        backwards = backwards + model
    nested = models[-1]
    for model in models[-2::-1]:
        nested = model + nested
    in_place = copy.copy(models[0])
    for model in models[1:]:
        in_place.merge(model)
    for what, model in {
        "a + b + …": forwards,
        "… + b + a": backwards,
        "a + (b + …)": nested,
        "a.merge(b)": in_place,
    }.items():
        _need_same_tally(model.tally_, whole, f"{what} against all rows together", same)
    for model, was in zip(models, before, strict=True):
        _need_same_tally(model.tally_, was, "a part after it was merged", exactly)


def check_split_and_order_do_not_matter(
    estimator: Any,
    X: Rows,
    y: Rows,
    sample_weight: Weights = None,
    *,
    same: Equality | None = None,
    seed: int = 0,
) -> None:
    """Rows one at a time, in batches, or shuffled, give the model of all rows at once.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    X, y, sample_weight : arrays (n_rows, …)
    same : Equality, optional
    seed : int
        Of the shuffles and cuts.

    Raises
    ------
    AssertionError
    """
    same = same or _usual_equality(X, sample_weight)
    classes = np.unique(y)
    whole = _fitted(estimator, X, y, sample_weight).tally_
    rng, n = np.random.default_rng(seed), len(X)
    inner = np.sort(rng.integers(0, n + 1, size=min(4, n)))
    cuts = {
        "one row at a time": (np.arange(n), np.arange(n + 1)),
        "batches": (np.arange(n), np.concatenate([[0], inner, [n]])),
        "another order": (rng.permutation(n), np.array([0, n])),
        "batches in another order": (rng.permutation(n), np.concatenate([[0], inner, [n]])),
        "backwards, one row at a time": (np.arange(n)[::-1], np.arange(n + 1)),
    }
    for what, (order, edges) in cuts.items():
        model = clone(estimator)
        for start, end in pairwise(edges.tolist()):
            rows = order[start:end]
            if len(rows):
                model.partial_fit(
                    X[rows], y[rows], classes=classes, sample_weight=_part(sample_weight, rows)
                )
        _need_same_tally(model.tally_, whole, f"{what} against all rows at once", same)


def check_fit_twice_is_fit_once(
    estimator: Any, X: Rows, y: Rows, sample_weight: Weights = None
) -> None:
    """``fit`` starts from scratch: after another fit, tally and predictions are the same, bit for
    bit.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    X, y, sample_weight : arrays (n_rows, …)

    Raises
    ------
    AssertionError
    """
    once = _fitted(estimator, X, y, sample_weight)
    twice = _fitted(estimator, X, y, sample_weight).fit(X, y, sample_weight=sample_weight)
    other = _fitted(estimator, X[::-1], y[::-1])
    other.predict(X)
    other.fit(X, y, sample_weight=sample_weight)
    for what, model in {"fit twice": twice, "fit after another fit": other}.items():
        _need_same_tally(model.tally_, once.tally_, what, exactly)
        _need_same_outputs(model, once, X, what)


def check_weights_are_repeats(
    estimator: Any, X: Rows, y: Rows, *, same: Equality | None = None, seed: int = 0
) -> None:
    """A row of weight w counts as w rows, and a row of weight 0 as none.

    Squared weights are not compared: they depend on how many rows there were.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    X, y : arrays (n_rows, …)
    same : Equality, optional
    seed : int
        Of the weights, which are 1 to 3; rows of weight 0 are copies of others, so that they add no
        class or level.

    Raises
    ------
    AssertionError
    """
    same = same or _usual_equality(X, None)
    n, classes = len(X), np.unique(y)
    repeats = np.random.default_rng(seed).integers(1, 4, size=n)
    rows = np.concatenate([np.arange(n), np.arange(n)])
    weights = np.concatenate([repeats, np.zeros(n)])
    weighted = _learned(estimator, X[rows], y[rows], weights, classes)
    repeated = _learned(
        estimator, np.repeat(X, repeats, axis=0), np.repeat(y, repeats), None, classes
    )
    counts, expected = (without_squares(model.tally_) for model in (weighted, repeated))
    _need_same_tally(counts, expected, "weights against repeated rows", same)
    ones = _learned(estimator, X, y, np.ones(n), classes)
    plain = _learned(estimator, X, y, None, classes)
    _need_same_tally(ones.tally_, plain.tally_, "weight 1 against no weights", exactly)


# ---- a model as an object: refused calls, threads, layouts, predictions and files ----------------
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
    model = _fitted(estimator, X, y)
    model.predict(X)
    before = _state(model, X)
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
        "merge, other columns": lambda m: m.merge(_fitted(estimator, wide, y)),
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
        after = _state(model, X)
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
    x, labels = _resized(X, y, rows)
    weights = np.random.default_rng(seed).uniform(0.5, 1.5, size=rows)
    seen: dict[int, tuple[Any, Any]] = {}
    with _threads_restored():
        for count in threads:
            set_num_threads(count)
            model = _fitted(estimator, x, labels, weights)
            tally = {name: _bits(array) for name, array in model.tally_.arrays().items()}
            seen[count] = tally, {name: _bits(a) for name, a in _outputs(model, x).items()}
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
    same = same or _usual_equality(X, None)
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
    model = _fitted(estimator, plain, y)
    for what, x in layouts.items():
        other = _fitted(estimator, x, y)
        _need_same_tally(other.tally_, model.tally_, what, exactly)
        _need_same_outputs(other, model, x, what)
        _need_same_outputs(model, other, plain, what)
    if X.dtype == np.float64 and (X.astype(np.float32) == X).all():
        narrow = _fitted(estimator, X.astype(np.float32), y)
        _need_same_tally(narrow.tally_, model.tally_, "float32", exactly)
    if not get_tags(estimator).input_tags.sparse:
        return
    for make in (sparse.csr_array, sparse.csc_array):
        x = make(plain)
        other = _fitted(estimator, x, y)
        _need_same_tally(other.tally_, model.tally_, f"{x.format} against dense", same)
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
    model = _fitted(estimator, X, y, sample_weight)
    out = _outputs(model, X)
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
    model = _fitted(estimator, X, y)
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
    further = _fitted(estimator, X, y).partial_fit(X, y)
    for what, twin in twins.items():
        _need_same_tally(twin.tally_, model.tally_, what, exactly)
        _need_same_outputs(twin, model, X, what)
        if repr(twin.get_params()) != repr(model.get_params()):
            raise AssertionError(f"{what}: the parameters differ")
        twin.partial_fit(X, y)
        _need_same_tally(twin.tally_, further.tally_, f"{what}, then partial_fit", exactly)
    once = _fitted(estimator, X, y)
    _need_same_tally(model.tally_, once.tally_, "the model after its copies learned on", exactly)


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
        model = _fitted(estimator, *_resized(X, y, n))
        model.predict(X)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.tally"
            model.save(path)
            sizes[n] = path.stat().st_size, len(pickle.dumps(model))
    if len(set(sizes.values())) > 1:
        raise AssertionError(f"bytes (saved, pickled) depend on the number of rows: {sizes}")


# ---- every check ---------------------------------------------------------------------------------
CHECKS: tuple[Callable[..., None], ...] = (
    check_forget_undoes_learn,
    check_more_than_counted_is_refused,
    check_merge_equals_whole,
    check_split_and_order_do_not_matter,
    check_fit_twice_is_fit_once,
    check_weights_are_repeats,
    check_refused_call_changes_nothing,
    check_threads_do_not_matter,
    check_layout_does_not_matter,
    check_predictions_are_probabilities,
    check_saved_model_predicts_the_same,
    check_no_rows_kept,
)


def check_every_property(estimator: Any, X: Rows, y: Rows) -> None:
    """Every one of these checks, without weights.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    X, y : arrays (n_rows, …)
        Two rows at least.

    Raises
    ------
    AssertionError
        From the first check that fails.
    """
    for check in CHECKS:
        check(estimator, X, y)


# ---- helpers: fits, and comparisons of two fits --------------------------------------------------
Rows = NDArray[Any]
Weights = NDArray[np.float64] | None

MOMENTS = 2.0**-26
"""How far means (in standard deviations) and sums of squares may differ."""
FRACTIONS = RESIDUE
"""How far counts of fractional weights or values may differ, relative to what was added."""


def _is_whole(*arrays: Any) -> bool:
    """Whether all numbers of the arrays that are given are whole."""
    return all(
        a is None or a.dtype.kind in "biu" or bool((np.asarray(a) == np.floor(a)).all())
        for a in arrays
    )


def _usual_equality(x: Rows, weights: Weights) -> Equality:
    """Bit-equal counts of whole weights and numbers; moments and fractions within a bound."""
    whole = x.dtype.kind not in "fiub" or _is_whole(x)
    return in_mean_and_squares(MOMENTS, counts=0.0 if whole and _is_whole(weights) else FRACTIONS)


def _part(weights: Weights, rows: Any) -> Weights:
    """The weights of some rows, if there are weights."""
    return None if weights is None else weights[rows]


def _fitted(estimator: Any, x: Any, y: Rows, weights: Weights = None) -> Any:
    """A clone, fitted."""
    return clone(estimator).fit(x, y, sample_weight=weights)


def _learned(estimator: Any, x: Any, y: Rows, weights: Weights, classes: Rows) -> Any:
    """A clone that has learned a first batch."""
    return clone(estimator).partial_fit(x, y, classes=classes, sample_weight=weights)


def _outputs(model: Any, x: Any) -> dict[str, NDArray[Any]]:
    """What a model predicts, by method."""
    return {
        name: getattr(model, name)(x)
        for name in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba")
    }


def _bits(array: NDArray[Any]) -> Any:
    """The values of an array as something that is equal only to the very same values."""
    return array.tolist() if array.dtype.kind == "O" else (array.dtype.str, array.tobytes())


def _need_same_outputs(a: Any, b: Any, x: Any, what: str) -> None:
    """Raises AssertionError where two models predict differently."""
    left, right = _outputs(a, x), _outputs(b, x)
    for name in left:
        if _bits(left[name]) != _bits(right[name]):
            raise AssertionError(
                f"{what}: {name} differs\n  one:   {left[name]}\n  other: {right[name]}"
            )


def _need_same_tally(
    left: TableTally, right: TableTally, what: str, same: Equality, *terms: TableTally
) -> None:
    """Raises AssertionError where two tallies differ.

    They are compared in the schema that holds both, where a level may have no counts.
    """
    schema = left.schema
    for tally in (right, *terms):
        schema = schema.join(tally.schema)
    a, b, *others = (tally.aligned(schema) for tally in (left, right, *terms))
    if not same(a, b, tuple(others)):
        raise AssertionError(f"{what}: {a.arrays()}\n  is not {b.arrays()}")


def _state(model: Any, x: Any) -> dict[str, Any]:
    """Everything that a refused call must leave alone."""
    return {
        "attributes": sorted(vars(model)),
        "parameters": repr(model.get_params(deep=False)),
        "n_features_in_": model.n_features_in_,
        "classes": _bits(model.classes_),
        "tally": {name: _bits(array) for name, array in model.tally_.arrays().items()},
        "outputs": {name: _bits(array) for name, array in _outputs(model, x).items()},
    }


def _resized(x: Rows, y: Rows, rows: int) -> tuple[Rows, Rows]:
    """The same rows over and over."""
    take = np.arange(rows) % len(x)
    return x[take], y[take]
