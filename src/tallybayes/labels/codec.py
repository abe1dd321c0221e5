"""Estimators that hold another one, to files and back."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import IncompatibleTallies
from tallybayes.labels.counts import ColumnLabels, TermLabels
from tallybayes.labels.inner import KINDS
from tallybayes.models.codec import plain, restored_parameters
from tallybayes.persistence import Shape, Tree, Unfit, Within, constructed, fit, need
from tallybayes.schema import are_among
from tallybayes.tally import TableTally, TermCounts
from tallybayes.tally.saved import (
    Labels,
    plain_arrays,
    plain_terms,
    restored_terms,
    tally_header,
    term_counts,
)

__all__ = ["Plain", "Restored", "plain_model", "restored_model"]

Plain = Callable[[Any], tuple[dict[str, Any], Tree]]
"""Header and arrays of an estimator, for a file."""
Restored = Callable[[Any, Tree, Container[str]], Any]
"""The estimator of a header and arrays, of one of some classes."""

NEVER = 1e300
"""What a file holds of a threshold that nothing exceeds; its negative of one that all do."""


class _Tuned(NamedTuple):
    log_odds: Annotated[NDArray[np.float64], Shape("n_labels"), Within(-NEVER, NEVER)]
    alpha: Annotated[NDArray[np.float64], Shape("n_labels"), Within(0.0)] | None


class _Nested(NamedTuple):
    estimator: str
    parameters: dict[str, Any]
    labels: Labels
    form: Literal["matrix", "sparse", "lists", "text"]
    declared: Labels | None
    chosen: bool
    stale: bool
    every: dict[str, Any]
    model: dict[str, Any]
    positives: dict[str, Any]
    tuned_with: str | None = None
    extra: Any = None


# ---- to a file -----------------------------------------------------------------------------------
def plain_model(estimator: Any, plain_of: Plain) -> tuple[dict[str, Any], Tree]:
    """Header and arrays of an estimator that holds another one.

    Parameters
    ----------
    estimator : MultiLabel or Hierarchy
        Fitted.
    plain_of : callable
        The same of any estimator.
    """
    counts, tuned = estimator._held, getattr(estimator, "_tuned", None)
    parameters = estimator.get_params(deep=False)
    inside = parameters.pop("model")
    every, of_every = plain_of(estimator._every)
    header: dict[str, Any] = {
        "estimator": type(estimator).__name__,
        "parameters": plain(parameters),
        "model": {
            "estimator": type(inside).__name__,
            "parameters": plain(inside.get_params(deep=False)),
        },
        "labels": counts.labels,
        "form": estimator._form,
        "declared": estimator._declared,
        "chosen": tuned is not None,
        "stale": tuned is not None and tuned.stale,
        "every": every,
    }
    if tuned is not None and tuned.counts is not None:
        header["tuned_with"] = tuned.counts
    tree: Tree = {"every": of_every}
    positives = counts.positives
    if isinstance(positives, TermCounts):
        header["positives"] = {"labels": positives.labels, "pruned": positives.pruned}
        buckets = positives.terms.dtype.kind == "i"
        names = ("documents", "start", "classes", "counts", "sums")
        tree["positives"] = {
            "terms": plain_terms(positives.terms, buckets),
            "tally": {name: getattr(positives, name) for name in names},
        }
    else:
        header["positives"] = tally_header(positives.schema)
        tree["positives"] = plain_arrays(positives.arrays())
    if tuned is not None:
        log_odds, alpha = tuned.log_odds, tuned.alpha
        tree["tuned"] = {"log_odds": np.clip(log_odds, -NEVER, NEVER), "alpha": alpha}
    return header, tree


# ---- and back ------------------------------------------------------------------------------------
def restored_model(
    estimator_type: Any, header: dict[str, Any], tree: Tree, restored: Restored
) -> tuple[Any, Any]:
    """The inverse of :func:`plain_model`: the estimator, and what was kept beside it.

    Parameters
    ----------
    estimator_type : type
    header, tree : dict
    restored : callable (header, tree, kinds)
        An estimator of one of some kinds.

    Raises
    ------
    Unfit
        Where parts do not fit each other.
    """
    file: _Nested = fit(_Nested, header, "the header")
    every = restored(file.every, tree.get("every", {}), KINDS)
    kind = file.model.get("estimator")
    need(kind == type(every).__name__, "model is of the kind of the estimator inside")
    inside = restored_parameters(type(every), file.model.get("parameters"))
    estimator = restored_parameters(estimator_type, {**file.parameters, "model": inside})
    for checked in (every, inside):
        constructed(checked._validate_params, "parameters")
    inner = constructed(estimator._validate, "parameters")
    held = tree.get("positives", {})
    need(isinstance(held, dict), "the file has the counts of each label")
    counts: ColumnLabels | TermLabels
    if type(every).__name__ == "TextNB":
        counts = _term_labels(file, every, held)
    else:
        positives = TableTally.restored(file.positives, held)
        need(
            np.array_equal(positives.schema.classes, file.labels),
            "labels are those that are counted",
        )
        counts = inner.counts(every, positives)
        assert isinstance(counts, ColumnLabels)
        try:
            replace(counts.total.schema, classes=file.labels).join(positives.schema)
        except IncompatibleTallies as error:
            raise Unfit(f"labels are counted as all rows are: {error}") from error
    need(not len(counts.labels) or not counts.excess, "a label has no more than all rows have")
    if file.declared is not None and len(file.declared):
        known = len(file.labels) > 0 and bool(are_among(file.declared, file.labels).all())
        need(known, "labels that are declared are labels")
    estimator._every, estimator._counts = every, counts
    estimator._form, estimator._declared = file.form, file.declared
    if hasattr(estimator, "tune"):
        estimator._tuned = None
    need(hasattr(estimator, "tune") or not file.chosen, "a tree has nothing chosen on rows")
    if file.chosen:
        tuned = fit(
            _Tuned,
            {"alpha": None, **fit(dict[str, Any], tree.get("tuned"), "tuned")},
            "tuned",
            {"n_labels": len(file.labels)},
        )
        log_odds = np.where(np.abs(tuned.log_odds) < NEVER, tuned.log_odds, np.inf)
        log_odds = np.copysign(log_odds, tuned.log_odds)
        estimator._hold_tuned(log_odds, tuned.alpha, file.stale, file.tuned_with)
    return estimator, file.extra


def _term_labels(file: _Nested, every: Any, held: Tree) -> TermLabels:
    """The counts of the labels of documents."""
    n_features = every._counter.options["n_features"]
    labels = fit(Labels, file.positives.get("labels"), "positives.labels")
    pruned = fit(Annotated[float, Within(0.0)], file.positives.get("pruned", 0.0), "pruned")
    terms = restored_terms(held.get("terms", {}), n_features, "positives.terms")
    tally = term_counts(terms, labels, held.get("tally", {}), "positives.tally", pruned)
    total = every._held_model().tally
    need((tally.sums is None) == (total.sums is None), "positives has the sums that all rows have")
    known = not len(labels) or (len(file.labels) and bool(are_among(labels, file.labels).all()))
    need(bool(known), "labels are those that are counted")
    return TermLabels(total, tally, file.labels)
