"""Saving and loading fitted estimators."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import import_module
from typing import Any, BinaryIO

import numpy as np

from tallybayes import families, persistence
from tallybayes.errors import ModelFileError
from tallybayes.estimators.array_base import declared_levels
from tallybayes.estimators.saving import EXTRA, HOME, Form, form_of_name
from tallybayes.estimators.table_files import (
    constructed,
    restore_choices,
    restore_table,
    restored,
    restored_weighting,
)
from tallybayes.models.array import ArrayModel
from tallybayes.models.base import Model
from tallybayes.models.table import TableModel
from tallybayes.models.weighted import WeightedModel
from tallybayes.persistence import (
    Unfit,
    anything,
    array,
    each,
    flag,
    label,
    mapping,
    need,
    number,
    optional,
    record,
    text,
    whole,
)
from tallybayes.schema import Columns
from tallybayes.tally import CrossMoments, Moments, TableTally
from tallybayes.tally.saved import (
    is_tally,
    labels,
)

__all__ = ["load", "load_or_count", "load_with_extra"]


HEADER = record(
    {
        "estimator": text,
        "parameters": anything,
        "n_features_in": whole(),
        "classes": anything,
        "groups": anything,
        "by_name": flag,
        "names": anything,
        "family": anything,
        "prior": anything,
        "dtype": text,
        "taken": flag,
        "table": anything,
        "weighting": anything,
        "declared_classes": anything,
        "extra": anything,
        "class_weight": optional(mapping(label, number(0.0))),
        "rounding": optional(
            record(
                {"decayed": number(0.0), "squares": each(optional(array("f8", 2, -1, minimum=0.0)))}
            )
        ),
    },
    {
        "table": None,
        "weighting": None,
        "declared_classes": None,
        "extra": None,
        "class_weight": None,
        "rounding": None,
    },
)


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
    TallyClassifier
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
    encoded, arrays = persistence.read(path)
    with persistence.refusing(persistence.name_of(path), "model"):
        header = persistence.decode(encoded)
        if is_tally(header):
            raise ModelFileError(
                "this is the tally of a table and no model: TableTally.load(path) reads it, and "
                "NaiveBayes.from_tally(tally) makes a model of it"
            )
        return _loaded_model(header, arrays)


def load_or_count(path: str | os.PathLike[str] | BinaryIO) -> tuple[Any, dict[str, Any]]:
    """As :func:`load_with_extra`; of the file of a tally, the plain model of these counts."""
    encoded, arrays = persistence.read(path)
    with persistence.refusing(persistence.name_of(path), "model or tally"):
        header = persistence.decode(encoded)
        if not is_tally(header):
            return _loaded_model(header, arrays)
        plain: Any = form_of_name("NaiveBayes")
        return _class_of(plain).from_tally(TableTally.restored(header, arrays)), {}


def _loaded_model(header: Any, arrays: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    need(isinstance(header, dict) and "estimator" in header, "the header lacks 'estimator'")
    name = text(header["estimator"], "the header.estimator")
    form = form_of_name(name)
    if form is None:
        raise Unfit(f"it holds a {name[:100]}, which this version of tallybayes does not have")
    if not form.of_documents:
        return _loaded(HEADER(header, "the header"), arrays, form)
    from tallybayes.estimators.text_files import restored_text_model

    estimator, model, options, extra = restored_text_model(header, arrays, _class_of(form))
    estimator._take(model, options)
    _keep_extra(estimator, extra)
    return estimator, extra or {}


def _class_of(form: Form) -> Any:
    """The class of an estimator, imported when a file holds it."""
    return getattr(import_module(f"{HOME}.{form.home}"), form.name)


def _keep_extra(estimator: Any, extra: Any) -> None:
    if extra is not None:
        need(isinstance(extra, dict), "what is kept beside a model is a dict")
        estimator.__dict__[EXTRA] = extra


def _loaded(
    header: dict[str, Any], arrays: dict[str, Any], form: Form
) -> tuple[Any, dict[str, Any]]:
    """A model and its `extra` from what a file holds."""
    estimator = _estimator(form, header)
    tally = TableTally.restored(header, arrays)
    family = restored(header["family"], "family")
    dtype = persistence.dtype_of(header["dtype"])
    prior = _prior(header["prior"], len(tally.schema.classes))
    model: Model
    if form.kind is not None:
        levels = getattr(estimator, "levels", None)
        _need_form(form, tally, family, header["n_features_in"], levels)
        model = ArrayModel(tally, family, prior, dtype, form.name)
    else:
        need(tally.schema.by_name and family is None, "a table has columns by name")
        model = estimator._model_type(tally, prior, form.name)
        assert isinstance(model, TableModel)
        restore_table(model, header["table"])
        model.has_names = header["names"] is not None
    if header["weighting"] is not None:
        need(isinstance(model, WeightedModel), "only a weighted model has weights")
        assert isinstance(model, WeightedModel)
        _restore_weighting(model, restored_weighting(header["weighting"], arrays))
    if header["declared_classes"] is not None:
        model.declared_classes = labels(header["declared_classes"], "declared_classes")
    model.class_weight = header["class_weight"] or {}
    if header["rounding"] is not None:
        _restore_rounding(model, header["rounding"])
    if header["taken"]:
        model.taken = estimator._parameters()
    estimator._model = model
    if isinstance(model, TableModel):
        restore_choices(model, arrays)
    _keep_extra(estimator, header["extra"])
    return estimator, header["extra"] or {}


def _estimator(form: Form, header: dict[str, Any]) -> Any:
    """The estimator with its parameters, which are checked where they are used."""
    parameters = restored(header["parameters"], "parameters")
    need(isinstance(parameters, dict), "parameters is a dict")
    estimator_type = _class_of(form)
    known = estimator_type._parameter_names()
    for name in parameters:
        need(name in known, f"parameters has {str(name)[:100]!r}, which this version lacks")
    estimator = estimator_type(**parameters)
    is_table = form.kind is None  # which has its columns from the model
    if not is_table:
        estimator.n_features_in_ = header["n_features_in"]
    names = header["names"]
    if names is not None:
        fits = isinstance(names, np.ndarray) and names.shape == (header["n_features_in"],)
        need(fits and names.dtype == object, "names has a name for each column")
        for name in names.tolist():
            text(name, "a name")
        if not is_table:
            estimator.feature_names_in_ = names
    return estimator


def _need_levels(declared: Any, columns: Columns) -> None:
    """Raises where the parameter of a CategoricalNB declares other levels than its tally has."""
    need((declared is None) == (columns.levels is None), "levels are declared, or are not")
    if columns.levels is None:
        return
    found = constructed(declared_levels, "parameters.levels", declared, columns.n_features)
    same = all(a.tolist() == b.tolist() for a, b in zip(found, columns.levels, strict=True))
    need(same, "parameters.levels are the levels that were counted")


def _need_form(form: Form, tally: TableTally, family: Any, n_features: int, levels: Any) -> None:
    """Raises where tally and family are not what the estimator has."""
    need(not tally.schema.by_name, "a model of an array has its columns by number")
    columns = tally.schema.groups[0]
    need(columns.kind == form.kind, f"a {form.name} counts {form.kind}")
    need(columns.n_features == n_features, "n_features_in is the number of columns")
    need(not columns.open and not columns.dates, "columns of an array are closed, and no dates")
    threshold = columns.threshold is not None
    need(threshold == form.has_threshold, "BernoulliNB alone has a threshold")
    need(type(family) is form.family, f"the family is a {form.family.__name__}")
    if form.kind == "levels":
        _need_levels(levels, columns)
    alpha: Any = getattr(family, "alpha", None)
    fits = np.ndim(alpha) == 0 or np.shape(alpha) == (n_features,)
    need(fits, "alpha is a number, or one for each column")


PRIOR = record({"alpha": optional(number(0.0)), "given": anything})


def _prior(given: Any, n_classes: int) -> families.ClassPrior:
    held = PRIOR(given, "prior")
    if held["given"] is not None:
        array("f8", n_classes, minimum=0.0)(held["given"], "prior.given")
        need(abs(float(held["given"].sum()) - 1.0) < 1e-6, "prior.given sums to 1")
    return constructed(families.ClassPrior, "prior", **held)  # type: ignore[no-any-return]


def _restore_rounding(model: Model, rounding: Any) -> None:
    """What bounds the rounding of rows that were forgotten before the model was saved."""
    groups, tallies = model.schema.groups, model.tally.groups
    need(len(rounding["squares"]) == len(groups), "rounding is of each group of columns")
    for group, tally, squares in zip(groups, tallies, rounding["squares"], strict=True):
        if squares is not None:
            need(squares.shape[1] == group.n_features, "squares are of each column of a group")
            if not isinstance(tally, Moments | CrossMoments):
                raise Unfit("squares are of columns with moments")
            tally.take_bounds(squares)
    model.decayed = rounding["decayed"]


def _restore_weighting(model: WeightedModel, weighting: Any) -> None:
    known = set(model.schema.classes.tolist())
    need(known.issuperset(weighting.classes.tolist()), "weights are of classes that there are")
    holds: dict[str, set[str]] = {}
    for group in model.schema.groups:
        for name in group.names or ():
            holds.setdefault(name, set()).add(group.kind)
    for column in weighting.learned.columns:
        kind = "levels" if column.edges is None else "grid"
        held = holds.get(column.name, {kind})
        need(
            kind in held or "grid" in held,
            f"weights of {column.name!r} are of what is counted of it",
        )
    if weighting.text is not None:
        declared = model.reading.declared
        for name in weighting.text.names:
            kind = "terms" if name in declared.analyzers else "levels"  # of prose
            fits = kind == "terms" or name not in declared.families
            fits = fits and kind in holds.get(name, {kind})
            need(fits, f"weights of {name!r} are of what is counted of it")
    model.chosen = replace(model.chosen, weighting=weighting)
