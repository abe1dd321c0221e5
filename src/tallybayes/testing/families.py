"""Properties of a family of columns of numbers, as one function that raises AssertionError.

from tallybayes.testing.families import check_number_family

check_number_family("von-mises", VonMises(), values, y)
"""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import tallybayes
from tallybayes.families.registry import family_of_name

__all__ = ["check_number_family"]

Array = NDArray[np.float64]


def check_number_family(
    name: str, family: Any, values: ArrayLike, y: ArrayLike, *, same: float = 1e-9
) -> None:
    """The scores of a column of this family keep the promises of a table.

    Scores are finite and leave-one-out is refitting; order, batches and missing values do not
    matter; rows that are forgotten were never there; a common factor of whole weights is a
    repetition of rows; a saved, pickled or copied model predicts the same; contributions add up to
    the score; draws and the description have their shapes.

    Parameters
    ----------
    name : str
        By which the family is registered.
    family : NumberFamily
    values : array (n_rows,)
        Numbers that the family reads; no more than some hundred, for each is left out once.
    y : array (n_rows,)
        Labels; at least three rows of each.
    same : float
        Relative and absolute difference in nats that rounding may make.

    Raises
    ------
    AssertionError
    """
    x, y = np.asarray(values, dtype=np.float64), np.asarray(y)
    if family_of_name(name) is not type(family):
        raise AssertionError(f"{name!r} is not registered as {type(family).__name__}")
    model = _fitted(family, x, y)
    scores = _scores(model, x)
    if not np.isfinite(scores).all():
        raise AssertionError(f"scores are not finite: {scores[~np.isfinite(scores)][:3]}")

    left_out = tallybayes.leave_one_out(model, _table(x), y)
    for i in range(len(x)):
        rest = np.arange(len(x)) != i
        refitted = _fitted(family, x[rest], y[rest], classes=model.classes_)
        _need_same(refitted.predict_log_proba(_table(x[[i]]))[0], left_out[i], same, "left out", i)

    order = np.random.default_rng(0).permutation(len(x))
    _need_same(_scores(_fitted(family, x[order], y[order]), x), scores, same, "another order")
    batches = _unfitted(family).partial_fit(_table(x[:2]), y[:2], classes=model.classes_)
    batches.partial_fit(_table(x[2:]), y[2:])
    _need_same(_scores(batches, x), scores, same, "batches")
    with_missing = _fitted(family, np.append(x, [np.nan] * 2), np.append(y, y[:2]))
    _need_same(
        _likelihoods(with_missing, x), _likelihoods(model, x), same, "rows with a missing value"
    )

    half = slice(0, len(x) // 2)
    more = copy.deepcopy(model).partial_fit(_table(x[half]), y[half])
    more.forget(_table(x[half]), y[half])
    _need_same(_scores(more, x), scores, same, "forgotten rows")
    twice = _fitted(family, np.repeat(x, 2), np.repeat(y, 2))
    weighted = _fitted(family, x, y, weight=np.full(len(x), 2.0))
    _need_same(_scores(weighted, x), _scores(twice, x), same, "weights of 2 against rows twice")

    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    for what, twin in {
        "a saved model": tallybayes.load(file),
        "a pickled model": pickle.loads(pickle.dumps(model)),
    }.items():
        if _scores(twin, x).tobytes() != scores.tobytes():
            raise AssertionError(f"{what} has other scores")
    explained = model.explain(_table(x))
    _need_same(explained.base + explained.contributions.sum(axis=2), scores, same, "contributions")
    low, high = model.predict_proba_interval(_table(x[:5]), n_draws=20)
    if not ((low <= high) & (low >= 0.0) & (high <= 1.0)).all():
        raise AssertionError("intervals of probabilities are not between 0 and 1")
    description = model._fitted().parts[0].described()
    if description.values.shape != (len(model.classes_), len(description.rows)):
        raise AssertionError(f"a description of shape {description.values.shape}")


def _table(x: Array) -> list[dict[str, float | None]]:
    return [{"x": None if np.isnan(value) else value} for value in x.tolist()]


def _unfitted(family: Any, classes: Any = None) -> Any:
    return tallybayes.NaiveBayes({"x": family}, classes=classes)


def _fitted(family: Any, x: Array, y: Any, *, classes: Any = None, weight: Any = None) -> Any:
    return _unfitted(family, classes).fit(_table(x), y, sample_weight=weight)


def _scores(model: Any, x: Array) -> Array:
    return np.asarray(model.predict_joint_log_proba(_table(x)))


def _likelihoods(model: Any, x: Array) -> Array:
    return np.asarray(_scores(model, x) - model.class_log_prior_)


def _need_same(found: Array, expected: Array, same: float, what: str, *row: int) -> None:
    if not np.allclose(found, expected, rtol=same, atol=same):
        where = f", row {row[0]}" if row else ""
        raise AssertionError(f"{what}{where}: {found} is not {expected}")
