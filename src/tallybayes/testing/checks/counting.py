"""Checks of the counts: adding, forgetting, merging and weighting."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from tallybayes.errors import NegativeTally
from tallybayes.testing.checks.comparing import (
    Rows,
    Weights,
    fitted,
    learned,
    need_same_outputs,
    need_same_tally,
    part,
    state,
    usual_equality,
)
from tallybayes.testing.equality import Equality, exactly, without_squares

__all__ = [
    "check_fit_twice_is_fit_once",
    "check_forget_undoes_learn",
    "check_merge_equals_whole",
    "check_more_than_counted_is_refused",
    "check_split_and_order_do_not_matter",
    "check_weights_are_repeats",
]


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
    same = same or usual_equality(X, sample_weight)
    half, classes = (len(X) + 1) // 2, np.unique(y)
    kept, extra = slice(0, half), slice(half, len(X))
    model = learned(estimator, X[kept], y[kept], part(sample_weight, kept), classes)
    before = model.tally_.copy()
    model.partial_fit(X[extra], y[extra], sample_weight=part(sample_weight, extra))
    whole = model.tally_.copy()
    model.forget(X[extra], y[extra], sample_weight=part(sample_weight, extra))
    need_same_tally(model.tally_, before, "forgetting what was just learned", same, whole)

    model = learned(estimator, X, y, sample_weight, classes)
    order = half + np.random.default_rng(seed).permutation(len(X) - half)
    for rows in np.array_split(order, min(3, len(order))):
        if len(rows):
            model.forget(X[rows], y[rows], sample_weight=part(sample_weight, rows))
    need_same_tally(model.tally_, before, "forgetting rows in parts", same, whole)


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
    model = fitted(estimator, X, y, sample_weight)
    before = state(model, X)
    weights = None if sample_weight is None else np.concatenate([sample_weight] * 2)
    try:
        model.forget(np.concatenate([X, X]), np.concatenate([y, y]), sample_weight=weights)
    except NegativeTally as error:
        if not any(str(label) in str(error) for label in np.unique(y).tolist()):
            raise AssertionError(f"the error names no class: {error}") from error
    else:
        raise AssertionError("rows were forgotten twice that were learned once")
    if state(model, X) != before:
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
    same = same or usual_equality(X, sample_weight)
    whole = fitted(estimator, X, y, sample_weight).tally_
    shares = [rows for rows in np.array_split(np.arange(len(X)), parts) if len(rows)]
    models = [fitted(estimator, X[r], y[r], part(sample_weight, r)) for r in shares]
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
        need_same_tally(model.tally_, whole, f"{what} against all rows together", same)
    for model, was in zip(models, before, strict=True):
        need_same_tally(model.tally_, was, "a part after it was merged", exactly)


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
    same = same or usual_equality(X, sample_weight)
    classes = np.unique(y)
    whole = fitted(estimator, X, y, sample_weight).tally_
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
                    X[rows], y[rows], classes=classes, sample_weight=part(sample_weight, rows)
                )
        need_same_tally(model.tally_, whole, f"{what} against all rows at once", same)


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
    once = fitted(estimator, X, y, sample_weight)
    twice = fitted(estimator, X, y, sample_weight).fit(X, y, sample_weight=sample_weight)
    other = fitted(estimator, X[::-1], y[::-1])
    other.predict(X)
    other.fit(X, y, sample_weight=sample_weight)
    for what, model in {"fit twice": twice, "fit after another fit": other}.items():
        need_same_tally(model.tally_, once.tally_, what, exactly)
        need_same_outputs(model, once, X, what)


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
    same = same or usual_equality(X, None)
    n, classes = len(X), np.unique(y)
    repeats = np.random.default_rng(seed).integers(1, 4, size=n)
    rows = np.concatenate([np.arange(n), np.arange(n)])
    weights = np.concatenate([repeats, np.zeros(n)])
    weighted = learned(estimator, X[rows], y[rows], weights, classes)
    repeated = learned(
        estimator, np.repeat(X, repeats, axis=0), np.repeat(y, repeats), None, classes
    )
    counts, expected = (without_squares(model.tally_) for model in (weighted, repeated))
    need_same_tally(counts, expected, "weights against repeated rows", same)
    ones = learned(estimator, X, y, np.ones(n), classes)
    plain = learned(estimator, X, y, None, classes)
    need_same_tally(ones.tally_, plain.tally_, "weight 1 against no weights", exactly)
