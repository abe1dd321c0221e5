"""Helpers of the checks: fits, and comparisons of two fits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tallybayes.tally import TableTally
from tallybayes.tally.base import RESIDUE
from tallybayes.testing.equality import Equality, in_mean_and_squares

__all__ = [
    "FRACTIONS",
    "MOMENTS",
    "Rows",
    "Weights",
    "bits",
    "fitted",
    "is_whole",
    "learned",
    "need_same_outputs",
    "need_same_tally",
    "outputs",
    "part",
    "resized",
    "state",
    "usual_equality",
]

Rows = NDArray[Any]
Weights = NDArray[np.float64] | None

MOMENTS = 2.0**-26
"""How far means (in standard deviations) and sums of squares may differ."""
FRACTIONS = RESIDUE
"""How far counts of fractional weights or values may differ, relative to what was added."""


def is_whole(*arrays: Any) -> bool:
    """Whether all numbers of the arrays that are given are whole."""
    return all(
        a is None or a.dtype.kind in "biu" or bool((np.asarray(a) == np.floor(a)).all())
        for a in arrays
    )


def usual_equality(x: Rows, weights: Weights) -> Equality:
    """Bit-equal counts of whole weights and numbers; moments and fractions within a bound."""
    whole = x.dtype.kind not in "fiub" or is_whole(x)
    return in_mean_and_squares(MOMENTS, counts=0.0 if whole and is_whole(weights) else FRACTIONS)


def part(weights: Weights, rows: Any) -> Weights:
    """The weights of some rows, if there are weights."""
    return None if weights is None else weights[rows]


def fitted(estimator: Any, x: Any, y: Rows, weights: Weights = None) -> Any:
    """A clone, fitted."""
    return clone(estimator).fit(x, y, sample_weight=weights)


def learned(estimator: Any, x: Any, y: Rows, weights: Weights, classes: Rows) -> Any:
    """A clone that has learned a first batch."""
    return clone(estimator).partial_fit(x, y, classes=classes, sample_weight=weights)


def outputs(model: Any, x: Any) -> dict[str, NDArray[Any]]:
    """What a model predicts, by method."""
    return {
        name: getattr(model, name)(x)
        for name in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba")
    }


def bits(array: NDArray[Any]) -> Any:
    """The values of an array as something that is equal only to the very same values."""
    return array.tolist() if array.dtype.kind == "O" else (array.dtype.str, array.tobytes())


def need_same_outputs(a: Any, b: Any, x: Any, what: str) -> None:
    """Raises AssertionError where two models predict differently."""
    left, right = outputs(a, x), outputs(b, x)
    for name in left:
        if bits(left[name]) != bits(right[name]):
            raise AssertionError(
                f"{what}: {name} differs\n  one:   {left[name]}\n  other: {right[name]}"
            )


def need_same_tally(
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


def state(model: Any, x: Any) -> dict[str, Any]:
    """Everything that a refused call must leave alone."""
    return {
        "attributes": sorted(vars(model)),
        "parameters": repr(model.get_params(deep=False)),
        "n_features_in_": model.n_features_in_,
        "classes": bits(model.classes_),
        "tally": {name: bits(array) for name, array in model.tally_.arrays().items()},
        "outputs": {name: bits(array) for name, array in outputs(model, x).items()},
    }


def resized(x: Rows, y: Rows, rows: int) -> tuple[Rows, Rows]:
    """The same rows over and over."""
    take = np.arange(rows) % len(x)
    return x[take], y[take]
