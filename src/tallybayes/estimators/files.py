"""Saving and loading fitted estimators."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any

import numpy as np

from tallybayes import families, persistence
from tallybayes.errors import ModelFileError
from tallybayes.estimators.bernoulli import BernoulliNB
from tallybayes.estimators.categorical import CategoricalNB
from tallybayes.estimators.complement import ComplementNB
from tallybayes.estimators.gaussian import GaussianNB
from tallybayes.estimators.model import Model
from tallybayes.estimators.multinomial import MultinomialNB
from tallybayes.schema import Columns, Schema
from tallybayes.tally import (
    ClassCounts,
    FeatureSums,
    LevelCounts,
    Moments,
    TableTally,
    Tally,
)

__all__ = ["load", "save"]

ESTIMATORS = {
    c.__name__: c for c in (BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB)
}
TALLIES: dict[str, type[Tally]] = {
    "levels": LevelCounts,
    "moments": Moments,
    "sums": FeatureSums,
}


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Writes a fitted estimator; see :meth:`TallyClassifier.save`."""
    model: Model = estimator._fitted()
    header = {
        "estimator": type(estimator).__name__,
        "parameters": estimator.get_params(deep=False),
        "n_features_in": estimator.n_features_in_,
        "classes": model.schema.classes,
        "groups": [_fields(columns) for columns in model.schema.groups],
        "family": {"name": type(model.family).__name__, **_fields(model.family)},
        "prior": _fields(model.prior),
        "dtype": model.dtype.str,
    }
    persistence.write(path, persistence.encode(header), model.tally.arrays())


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
    encoded, arrays = persistence.read(path)
    header = persistence.decode(encoded)
    if header["estimator"] not in ESTIMATORS:
        raise ModelFileError(
            f"{path} holds a {header['estimator']}, which this version of tallybayes does not have"
        )
    estimator = ESTIMATORS[header["estimator"]](**header["parameters"])
    estimator.n_features_in_ = header["n_features_in"]
    groups = tuple(Columns(**group) for group in header["groups"])
    names = groups[0].names
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    tallies = []
    for i, columns in enumerate(groups):
        prefix = f"group{i}."
        parts = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
        tallies.append(TALLIES[columns.kind](**parts))
    table = TableTally(
        Schema(header["classes"], groups), ClassCounts(arrays["class_count"]), tuple(tallies)
    )
    family = dict(header["family"])
    estimator._model = Model(
        table,
        getattr(families, family.pop("name"))(**family),
        families.ClassPrior(**header["prior"]),
        np.dtype(header["dtype"]),
        header["estimator"],
    )
    return estimator
