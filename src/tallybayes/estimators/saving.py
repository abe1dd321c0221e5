"""Which estimators a model file can hold, and saving them.

Loading is in :mod:`tallybayes.estimators.loading`, which imports the estimators;
they import this module.
"""

from __future__ import annotations

import operator
import os
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from tallybayes import families, persistence
from tallybayes.errors import ModelFileError
from tallybayes.estimators.table_files import (
    field_values,
    plain,
    plain_choices,
    plain_table,
    plain_weighting,
)
from tallybayes.models.array import ArrayModel
from tallybayes.models.base import Model
from tallybayes.models.table import TableModel
from tallybayes.models.weighted import WeightedModel
from tallybayes.replacing import Replace
from tallybayes.schema import Kind
from tallybayes.tally.saved import plain_arrays, plain_groups

__all__ = ["EXTRA", "HOME", "Form", "form_of_class", "form_of_name", "save"]


EXTRA = "_extra"  # the attribute of a loaded estimator that holds what the file had beside it


HOME = "tallybayes.estimators"


class Form(NamedTuple):
    """An estimator that a model file can hold.

    Parameters
    ----------
    name : str
        Of its class.
    home : str
        The module below ``tallybayes.estimators`` that has it.
    kind : str, optional
        What it counts; None for tables, which count each column in its own way, and for
        documents.
    family : type, optional
        The family of arrays that its tally is read by.
    has_threshold : bool
        Whether numbers are counted by whether they are above a threshold.
    of_documents : bool
        Whether it counts the terms of documents.
    """

    name: str
    home: str
    kind: Kind | None = None
    family: Any = None
    has_threshold: bool = False
    of_documents: bool = False


_FORMS = {
    form.name: form
    for form in (
        Form("BernoulliNB", "arrays", "sums", families.Bernoulli, has_threshold=True),
        Form("CategoricalNB", "arrays", "levels", families.Categorical),
        Form("ComplementNB", "arrays", "sums", families.Complement),
        Form("GaussianNB", "arrays", "moments", families.Gaussian),
        Form("MultinomialNB", "arrays", "sums", families.Multinomial),
        Form("NaiveBayes", "naive_bayes"),
        Form("TextNB", "text", of_documents=True),
        Form("WeightedNaiveBayes", "weighted"),
    )
}


def form_of_name(name: str) -> Form | None:
    """The estimator whose class has this name; None where there is none."""
    return _FORMS.get(name)


def form_of_class(estimator: type) -> Form | None:
    """The estimator of this very class; None of any other, subclasses among them."""
    form = _FORMS.get(estimator.__name__)
    return form if form is not None and f"{HOME}.{form.home}" == estimator.__module__ else None


# ---- saving ------------------------------------------------------------------------------------
def header_and_arrays(estimator: Any, extra: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
    """A fitted estimator as plain values and arrays."""
    extra = estimator.__dict__.get(EXTRA) if extra is None else extra
    model: Model = estimator._fitted()
    name = type(estimator).__name__
    form = form_of_class(type(estimator))
    if form is None:
        raise ModelFileError(
            f"a model file cannot hold a {name}, a class that tallybayes does not have: save an "
            "estimator of tallybayes itself, or pickle the model"
        )
    if form.of_documents:
        from tallybayes.estimators.text_files import plain_text_model

        header, arrays = plain_text_model(estimator, *estimator._held())
        if extra is not None:
            header["extra"] = extra
        return persistence.encode(header), arrays
    header = {
        "estimator": name,
        "parameters": plain(estimator.get_params(deep=False)),
        "n_features_in": estimator.n_features_in_,
        "classes": model.schema.classes,
        "groups": plain_groups(model.schema),
        "by_name": model.schema.by_name,
        "names": getattr(estimator, "feature_names_in_", None),
        "family": plain(model.family) if isinstance(model, ArrayModel) else None,
        "prior": field_values(model.prior),
        "dtype": model.dtype.str if isinstance(model, ArrayModel) else np.dtype(np.float64).str,
        "taken": model.taken is not None
        and all(map(operator.is_, model.taken, estimator._parameters())),
    }
    if isinstance(model, TableModel):
        header["table"] = plain_table(model)
    arrays = plain_arrays(model.tally.arrays())
    if isinstance(model, TableModel):
        arrays |= plain_choices(model)
    if isinstance(model, WeightedModel) and model.chosen.weighting is not None:
        header["weighting"], more = plain_weighting(model.chosen.weighting)
        arrays |= more
    if model.declared_classes is not None:
        header["declared_classes"] = model.declared_classes
    if model.class_weight:
        header["class_weight"] = model.class_weight
    bounds = [getattr(part, "largest", 0.0) for part in model.tally.groups]
    squares = [None if isinstance(bound, float) else bound for bound in bounds]
    if model.decayed or any(bound is not None for bound in squares):
        header["rounding"] = {"decayed": model.decayed, "squares": squares}
    if extra is not None:
        header["extra"] = extra
    return persistence.encode(header), arrays


def save(
    estimator: Any,
    path: str | os.PathLike[str] | BinaryIO,
    extra: dict[str, Any] | None = None,
    replace: Replace | None = None,
) -> None:
    """Writes a fitted estimator; see :meth:`TallyClassifier.save`.

    `extra` is kept beside the model, for :func:`load_with_extra`; by default what the model was
    loaded with. `replace` puts the new file in the old one's place, ``os.replace`` by default.
    """
    persistence.write(path, *header_and_arrays(estimator, extra), replace=replace)
