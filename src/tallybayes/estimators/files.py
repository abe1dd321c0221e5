"""Saving and loading fitted estimators."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np

from tallybayes import families, persistence
from tallybayes.errors import ModelFileError
from tallybayes.estimators.bernoulli import BernoulliNB
from tallybayes.estimators.calibration import Isotonic, Temperature
from tallybayes.estimators.categorical import CategoricalNB
from tallybayes.estimators.complement import ComplementNB
from tallybayes.estimators.declarations import KINDS, Declared
from tallybayes.estimators.gaussian import GaussianNB
from tallybayes.estimators.model import Model
from tallybayes.estimators.multinomial import MultinomialNB
from tallybayes.estimators.naive_bayes import NaiveBayes
from tallybayes.estimators.table_model import Chosen, TableModel
from tallybayes.estimators.table_reading import Reading
from tallybayes.estimators.weighted import WeightedNaiveBayes
from tallybayes.estimators.weighted_model import WeightedModel
from tallybayes.estimators.weighting_files import plain_weighting, restored_weighting
from tallybayes.schema import Columns, Schema
from tallybayes.tally import (
    ClassCounts,
    CrossMoments,
    FeatureSums,
    GridCounts,
    LevelCounts,
    Moments,
    TableTally,
    Tally,
)

__all__ = ["load", "load_with_extra", "save"]

ESTIMATORS = {
    c.__name__: c
    for c in (
        BernoulliNB,
        CategoricalNB,
        ComplementNB,
        GaussianNB,
        MultinomialNB,
        NaiveBayes,
        WeightedNaiveBayes,
    )
}


def _grid(shift: Any, keys: Any, counts: Any, budget: Any) -> Tally:
    return GridCounts(int(shift[0]), keys, counts, int(budget[0]))


TALLIES: dict[str, Callable[..., Tally]] = {
    "cross": CrossMoments,
    "grid": _grid,
    "levels": LevelCounts,
    "moments": Moments,
    "sums": FeatureSums,
}


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


FAMILY = "tallybayes.family"  # the key that marks a family among parameters
TYPE = "tallybayes.type"  # marks a type among the keys of columns=
TYPES = {t.__name__: t for t in KINDS}
DTYPE = "tallybayes.dtype"  # marks a NumPy type among them
EXTRA = "_extra"  # the attribute of a loaded estimator that holds what the file had beside it


def _plain(value: Any) -> Any:
    """Parameters with each family as a dict of its name and fields."""
    if type(value).__module__.startswith("tallybayes.families."):
        return {FAMILY: type(value).__name__, **_plain(_fields(value))}
    if isinstance(value, dict):
        return {_plain(key): _plain(v) for key, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, type) and value in TYPES.values():
        return (TYPE, value.__name__)
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return (DTYPE, np.dtype(value).str)
    return value


def _restored(value: Any) -> Any:
    """The inverse of :func:`_plain`."""
    if isinstance(value, dict) and FAMILY in value:
        value = {key: _restored(v) for key, v in value.items()}
        return getattr(families, value.pop(FAMILY))(**value)
    if isinstance(value, dict):
        return {_restored(key): _restored(v) for key, v in value.items()}
    if isinstance(value, list):
        return [_restored(v) for v in value]
    if isinstance(value, tuple) and len(value) == 2 and value[0] == TYPE:
        return TYPES[value[1]]
    if isinstance(value, tuple) and len(value) == 2 and value[0] == DTYPE:
        return np.dtype(value[1])
    return value


CALIBRATIONS: dict[str, Any] = {c.__name__: c for c in (Temperature, Isotonic)}


def _plain_choices(chosen: Chosen) -> dict[str, Any]:
    calibration = chosen.calibration
    kind = None if calibration is None else type(calibration).__name__
    held = {} if calibration is None else _fields(calibration)
    return {"alpha": chosen.alpha, "stale": chosen.stale, "calibration": kind, "held": held}


def _restored_choices(held: dict[str, Any]) -> Chosen:
    kind = held["calibration"]
    calibration = None if kind is None else CALIBRATIONS[kind](**held["held"])
    return Chosen(held["alpha"], calibration, held["stale"])


def save(estimator: Any, path: str | os.PathLike[str], extra: dict[str, Any] | None = None) -> None:
    """Writes a fitted estimator; see :meth:`TallyClassifier.save`.

    `extra` is kept beside the model, for :func:`load_with_extra`; by default what the model was
    loaded with.
    """
    extra = estimator.__dict__.get(EXTRA) if extra is None else extra
    model: Model = estimator._fitted()
    if type(estimator) is not ESTIMATORS.get(type(estimator).__name__):
        raise ModelFileError(
            f"a model file cannot hold a {type(estimator).__name__}, a class that tallybayes does "
            "not have: save an estimator of tallybayes itself, or pickle the model"
        )
    header = {
        "estimator": type(estimator).__name__,
        "parameters": _plain(estimator.get_params(deep=False)),
        "n_features_in": estimator.n_features_in_,
        "classes": model.schema.classes,
        "groups": [_fields(columns) for columns in model.schema.groups],
        "by_name": model.schema.by_name,
        "names": getattr(estimator, "feature_names_in_", None),
        "family": _plain(model.family),
        "prior": _fields(model.prior),
        "dtype": model.dtype.str,
        "taken": model.taken is not None
        and all(map(operator.is_, model.taken, estimator._parameters())),
    }
    if isinstance(model, TableModel):
        reading = model.reading._asdict()
        what = reading.pop("declared")
        header["table"] = {
            "names": model.names,
            "families": _plain(what.families),
            "groups": _plain(what.groups),
            "by_type": [[list(kinds), _plain(family)] for kinds, family in what.by_type],
            "reading": reading,
            "chosen": _plain_choices(model.chosen),
        }
    arrays = model.tally.arrays()
    if isinstance(model, WeightedModel) and model.chosen.weighting is not None:
        header["weighting"], more = plain_weighting(model.chosen.weighting)
        arrays |= more
    if extra is not None:
        header["extra"] = extra
    persistence.write(path, persistence.encode(header), arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Reads a model that ``save`` wrote. It predicts bit for bit what the saved one did.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    A fitted estimator of the class that was saved.

    Raises
    ------
    ModelFileError
        A ValueError: another kind of file, one that was cut off or altered, or a newer format.
    OSError
        If the file cannot be read.
    """
    return load_with_extra(path)[0]


def load_with_extra(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """A model as :func:`load` reads it, and the `extra` that it was saved with (or {})."""
    encoded, arrays = persistence.read(path)
    try:
        return _loaded(path, encoded, arrays)
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ModelFileError(
            f"{path} is whole, but is no model of tallybayes as this version writes it "
            f"({type(error).__name__}: {error}): save the model again"
        ) from error


def _loaded(
    path: str | os.PathLike[str], encoded: Any, arrays: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """A model and its `extra` from what a file holds."""
    header = persistence.decode(encoded)
    if header["estimator"] not in ESTIMATORS:
        raise ModelFileError(
            f"{path} holds a {header['estimator']}, which this version of tallybayes does not have"
        )
    estimator = ESTIMATORS[header["estimator"]](**_restored(header["parameters"]))
    estimator.n_features_in_ = header["n_features_in"]
    if header["names"] is not None:
        estimator.feature_names_in_ = header["names"]
    groups = tuple(Columns(**group) for group in header["groups"])
    tallies = []
    for i, columns in enumerate(groups):
        prefix = f"group{i}."
        parts = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
        tallies.append(TALLIES[columns.kind](**parts))
    schema = Schema(header["classes"], groups, header["by_name"])
    # files of 0.1.0 have no squared weights: their rows are taken to weigh 1
    counts = ClassCounts(arrays["class_count"], arrays.get("class_squared_weights"))
    table = TableTally(schema, counts, tuple(tallies))
    prior = families.ClassPrior(**header["prior"])
    kind = getattr(estimator, "_model_type", Model)
    model = kind(
        table, _restored(header["family"]), prior, np.dtype(header["dtype"]), header["estimator"]
    )
    if isinstance(model, TableModel):
        held = header["table"]
        by_type = tuple((tuple(kinds), _restored(f)) for kinds, f in held["by_type"])
        what = Declared(_restored(held["families"]), _restored(held["groups"]), by_type)
        model.names = held["names"]
        model.reading = Reading(declared=what, **held["reading"])
        model.chosen = _restored_choices(held["chosen"])
        if "weighting" in header:
            weighting = restored_weighting(header["weighting"], arrays)
            model.chosen = replace(model.chosen, weighting=weighting)
    if header["taken"]:
        model.taken = estimator._parameters()
    estimator._model = model
    if "extra" in header:
        estimator.__dict__[EXTRA] = header["extra"]
    return estimator, header.get("extra", {})
