"""Loading fitted estimators."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import persistence
from tallybayes.errors import ModelFileError
from tallybayes.estimators.array_base import declared_levels
from tallybayes.estimators.saving import ARRAYS, EXTRA, HOMES
from tallybayes.families import ClassPrior
from tallybayes.models.array import ArrayModel
from tallybayes.models.base import Model
from tallybayes.models.codec import (
    restore_choices,
    restore_table,
    restore_weighting,
    restored,
    restored_parameters,
    restored_weighting,
)
from tallybayes.models.table import TableModel
from tallybayes.persistence import (
    Count,
    Label,
    NonNegative,
    Shape,
    Tree,
    Unfit,
    Within,
    constructed,
    fit,
    need,
)
from tallybayes.tally import CrossMoments, Moments, TableTally
from tallybayes.tally.saved import Labels, is_tally

__all__ = ["load", "load_or_count", "load_with_extra"]


# ---- what a file holds beside a tally ------------------------------------------------------------
class _Rounding(NamedTuple):
    """What bounds the rounding of rows that were forgotten before the model was saved."""

    decayed: NonNegative
    squares: list[Annotated[NDArray[np.float64], Shape(2, None), Within(0.0)] | None]


@dataclass(frozen=True, eq=False, kw_only=True)
class _Header:
    estimator: str
    parameters: Any
    n_features_in: Count
    classes: Labels
    groups: Any
    by_name: bool
    names: Annotated[NDArray[np.object_], Shape(None)] | None
    family: Any
    prior: ClassPrior
    dtype: str
    taken: bool
    table: Any = None
    weighting: Any = None
    declared_classes: Labels | None = None
    class_weight: dict[Label, NonNegative] | None = None
    rounding: _Rounding | None = None
    extra: dict[str, Any] | None = None


# ---- loading -------------------------------------------------------------------------------------
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
    with persistence.opened(path, "model") as (header, tree):
        if is_tally(header):
            raise ModelFileError(
                "this is the tally of a table and no model: TableTally.load(path) reads it, and "
                "NaiveBayes.from_tally(tally) makes a model of it"
            )
        return _loaded_model(header, tree)


def load_or_count(path: str | os.PathLike[str] | BinaryIO) -> tuple[Any, dict[str, Any]]:
    """As :func:`load_with_extra`; of the file of a tally, the plain model of these counts."""
    with persistence.opened(path, "model or tally") as (header, tree):
        if not is_tally(header):
            return _loaded_model(header, tree)
        tally = TableTally.restored(header, tree)
        return _class_of("NaiveBayes").from_tally(tally), {}


def _class_of(name: str) -> Any:
    """The class of an estimator, imported when a file holds it."""
    return getattr(import_module(f"tallybayes.estimators.{HOMES[name]}"), name)


def _loaded_model(header: Any, tree: Tree) -> tuple[Any, dict[str, Any]]:
    """A model and its `extra` from what a file holds."""
    need(isinstance(header, dict) and "estimator" in header, "the header lacks 'estimator'")
    name = fit(str, header["estimator"], "the header.estimator")
    if name not in HOMES:
        raise Unfit(f"it holds a {name[:100]}, which this version of tallybayes does not have")
    if name == "TextNB":
        from tallybayes.models.document_codec import restored_text_model

        estimator, model, options, extra = restored_text_model(header, tree, _class_of(name))
        estimator._take(model, options)
    else:
        k = np.size(header.get("classes"))
        file: _Header = fit(_Header, header, "the header", {"n_classes": k})
        estimator, extra = _restored(file, tree, TableTally.restored(header, tree))
    if extra is not None:
        estimator.__dict__[EXTRA] = extra
    return estimator, extra or {}


def _restored(file: _Header, tree: Tree, tally: TableTally) -> tuple[Any, Any]:
    """An estimator with its model, and what was kept beside them."""
    name, names, d = file.estimator, file.names, file.n_features_in
    estimator = restored_parameters(_class_of(name), file.parameters)
    if names is not None:
        need(len(fit(list[str], names.tolist(), "names")) == d, "names has a name for each column")
    given = file.prior.given
    need(given is None or abs(float(given.sum()) - 1.0) < 1e-6, "prior.given sums to 1")
    family = restored(file.family, "family")
    model: Model
    if name in ARRAYS:
        dtype = persistence.dtype_of(file.dtype)
        _need_array(name, tally, family, d, getattr(estimator, "levels", None))
        model = ArrayModel(tally, family, file.prior, dtype, name)
        estimator.n_features_in_ = d
        if names is not None:
            estimator.feature_names_in_ = names
        need(file.table is None and file.weighting is None, f"a {name} is no model of a table")
    else:
        need(tally.schema.by_name and family is None, "a table has columns by name")
        table: TableModel = estimator._model_type(tally, file.prior, name)
        restore_table(table, file.table)
        table.has_names = names is not None
        if file.weighting is not None:
            restore_weighting(table, restored_weighting(file.weighting, tree.get("weighting", {})))
        model = table
    model.declared_classes = file.declared_classes
    model.class_weight = file.class_weight or {}
    if file.rounding is not None:
        model.decayed, squares = file.rounding
        need(len(squares) == len(tally.groups), "rounding is of each group of columns")
        for columns, group, bounds in zip(tally.schema.groups, tally.groups, squares, strict=True):
            if isinstance(group, Moments | CrossMoments) and bounds is not None:
                fits = bounds.shape[1] == columns.n_features
                need(fits, "rounding.squares are of each column of a group")
                group.take_bounds(bounds)
            else:
                need(bounds is None, "rounding.squares are of columns with moments")
    if file.taken:
        model.taken = estimator._parameters()
    estimator._model = model
    if isinstance(model, TableModel):
        restore_choices(model, tree.get("choices", {}))
    return estimator, file.extra


def _need_array(name: str, tally: TableTally, family: Any, d: int, levels: Any) -> None:
    """Raises where tally and family are not what the estimator has."""
    need(not tally.schema.by_name, "a model of an array has its columns by number")
    columns, own = tally.schema.groups[0], ARRAYS[name]
    need(columns.kind == own.kind, f"a {name} counts {own.kind}")
    need(columns.n_features == d, "n_features_in is the number of columns")
    need(not columns.open and not columns.dates, "columns of an array are closed, and no dates")
    threshold = columns.threshold is not None
    need(threshold == (name == "BernoulliNB"), "BernoulliNB alone has a threshold")
    need(type(family) is own, f"the family is a {own.__name__}")
    if columns.kind == "levels":
        need((levels is None) == (columns.levels is None), "levels are declared, or are not")
        if columns.levels is not None:
            found = constructed(declared_levels, "parameters.levels", levels, d)
            same = all(a.tolist() == b.tolist() for a, b in zip(found, columns.levels, strict=True))
            need(same, "parameters.levels are the levels that were counted")
    alpha: Any = getattr(family, "alpha", None)
    fits = np.ndim(alpha) == 0 or np.shape(alpha) == (d,)
    need(fits, "alpha is a number, or one for each column")
