"""Loading fitted estimators."""

from __future__ import annotations

import os
from collections.abc import Container
from importlib import import_module
from typing import Any, BinaryIO

from tallybayes import persistence
from tallybayes.decisions import Scores, costs_by_name
from tallybayes.errors import ModelFileError
from tallybayes.estimators.saving import EXTRA, HOMES, SCORES
from tallybayes.persistence import Label, Tree, Unfit, constructed, fit, need
from tallybayes.privacy import NoisedTally
from tallybayes.tally import TableTally
from tallybayes.tally.saved import is_tally
from tallybayes.tally.table import NOISED
from tallybayes.validation import unfitted

Costs = dict[Any, dict[Any, float]]
"""Of each class, the cost of each decision."""

__all__ = ["load", "load_or_count", "load_with_extra"]


def load(path: str | os.PathLike[str] | BinaryIO) -> Any:
    """Read a model that ``save`` wrote. It predicts bit for bit what the saved one did.

    A file may come from anywhere: nothing in it is executed, and what it holds is checked before it
    is used. What a file can do is be large.

    Parameters
    ----------
    path : path-like or binary file
        The file.

    Returns
    -------
    TallyClassifier or CostClassifier
        A fitted estimator of the class that was saved.

    Raises
    ------
    ModelFileError
        A ValueError: another kind of file, one that was cut off or altered, a newer format, or
        content that no model has.
    OSError
        If the file cannot be read.
    """
    return load_with_extra(path)[0]


def load_with_extra(
    path: str | os.PathLike[str] | BinaryIO,
) -> tuple[Any, dict[str, Any]]:
    """A model as :func:`load` reads it, and the `extra` that it was saved with (or {})."""
    with persistence.opened(path, "model") as (header, tree):
        if is_tally(header):
            reads = "NoisedTally" if header["tally"] == NOISED else "TableTally"
            raise ModelFileError(
                f"this is the tally of a table and no model: {reads}.load(path) reads it, and "
                "NaiveBayes.from_tally(tally) makes a model of it"
            )
        estimator, extra, costs = _loaded_model(header, tree)
        if costs is not None:
            from tallybayes.estimators.costs import CostClassifier  # which few files hold

            whole = CostClassifier(unfitted(estimator), costs)
            estimator = constructed(whole._holding, "costs", estimator)
        return estimator, extra


def load_or_count(
    path: str | os.PathLike[str] | BinaryIO,
) -> tuple[Any, dict[str, Any], Costs | None]:
    """As :func:`load_with_extra`, but with the costs of a :class:`CostClassifier` beside its model;
    of the file of a tally, the plain model of these counts."""
    with persistence.opened(path, "model or tally") as (header, tree):
        if not is_tally(header):
            return _loaded_model(header, tree)
        kind = NoisedTally if header["tally"] == NOISED else TableTally
        tally = kind.restored(header, tree)
        return _class_of("NaiveBayes").from_tally(tally), {}, None


def _class_of(name: str) -> Any:
    """The class of an estimator, imported when a file holds it."""
    return getattr(import_module(f"tallybayes.{HOMES[name]}"), name)


def _restored(name: str, header: dict[str, Any], tree: Tree) -> tuple[Any, Any]:
    """An estimator of this class with its model, and what was kept beside them."""
    kind = _class_of(name)
    if hasattr(kind, "_restored"):  # one that holds another
        return kind._restored(header, tree, _inner_model)  # type: ignore[no-any-return]
    if name == "TextNB":
        from tallybayes.models import document_codec

        return document_codec.restored_model(kind, header, tree)
    from tallybayes.models import codec

    return codec.restored_model(kind, header, tree)


def _inner_model(header: Any, tree: Tree, kinds: Container[str]) -> Any:
    """The estimator that another one holds, of one of these classes."""
    name = header.get("estimator") if isinstance(header, dict) else None
    need(isinstance(name, str) and name in kinds, "the estimator inside is one that can be there")
    return _restored(str(name), header, tree)[0]


def _loaded_model(header: Any, tree: Tree) -> tuple[Any, dict[str, Any], Costs | None]:
    """A model, its `extra` and the costs of its decisions, from what a file holds."""
    need(isinstance(header, dict) and "estimator" in header, "the header lacks 'estimator'")
    name = fit(str, header["estimator"], "the header.estimator")
    header, tree = dict(header), dict(tree)
    scores, costs = header.pop("scores", None), header.pop("costs", None)
    of_scores = tree.pop("scores", {})
    if name not in HOMES:
        raise Unfit(f"it holds a {name[:100]}, which this version of tallybayes does not have")
    estimator, extra = _restored(name, header, tree)
    if extra is not None:
        estimator.__dict__[EXTRA] = extra
    if scores is not None:
        estimator.__dict__[SCORES] = Scores.restored(scores, of_scores)
    if costs is not None:
        costs = fit(dict[Label, dict[Label, float]], costs, "costs")
        constructed(costs_by_name, "costs", costs, estimator.classes_)
    return estimator, extra or {}, costs
