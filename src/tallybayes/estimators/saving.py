"""Which estimators a model file can hold, and saving them.

Loading is in :mod:`tallybayes.estimators.loading`, which imports the estimators; they import this
module.
"""

from __future__ import annotations

import operator
import os
from typing import Any, BinaryIO

from tallybayes import families, persistence
from tallybayes.errors import ModelFileError
from tallybayes.models.array import ArrayModel
from tallybayes.models.base import Model
from tallybayes.models.codec import field_values, plain, plain_choices, plain_table, plain_weighting
from tallybayes.models.table import TableModel
from tallybayes.persistence import Tree
from tallybayes.replacing import Replace
from tallybayes.tally.saved import plain_arrays, plain_groups

__all__ = ["ARRAYS", "EXTRA", "HOMES", "save"]


EXTRA = "_extra"  # the attribute of a loaded estimator that holds what the file had beside it

HOMES = {
    "BernoulliNB": "arrays",
    "CategoricalNB": "arrays",
    "ComplementNB": "arrays",
    "GaussianNB": "arrays",
    "MultinomialNB": "arrays",
    "NaiveBayes": "naive_bayes",
    "TextNB": "text",
    "WeightedNaiveBayes": "weighted",
}
"""The estimators that a file can hold: of each class the module of ``tallybayes.estimators``."""

ARRAYS: dict[str, Any] = {
    "BernoulliNB": families.Bernoulli,
    "CategoricalNB": families.Categorical,
    "ComplementNB": families.Complement,
    "GaussianNB": families.Gaussian,
    "MultinomialNB": families.Multinomial,
}
"""The family by which those of arrays read their columns."""


# ---- saving a model ------------------------------------------------------------------------------
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
    name = type(estimator).__name__
    if type(estimator).__module__ != f"tallybayes.estimators.{HOMES.get(name)}":  # or a subclass
        raise ModelFileError(
            f"a model file cannot hold a {name}, a class that tallybayes does not have: save an "
            "estimator of tallybayes itself, or pickle the model"
        )
    if name == "TextNB":
        from tallybayes.models.document_codec import plain_text_model

        header, tree = plain_text_model(estimator, *estimator._held())
    else:
        header, tree = plain_model(estimator)
    extra = estimator.__dict__.get(EXTRA) if extra is None else extra
    if extra is not None:
        header["extra"] = extra
    persistence.write(path, header, tree, replace=replace)


def plain_model(estimator: Any) -> tuple[dict[str, Any], Tree]:
    """Header and arrays of an estimator of arrays or tables."""
    model: Model = estimator._fitted()
    header = {
        "estimator": type(estimator).__name__,
        "parameters": plain(estimator.get_params(deep=False)),
        "n_features_in": estimator.n_features_in_,
        "classes": model.schema.classes,
        "groups": plain_groups(model.schema),
        "by_name": model.schema.by_name,
        "names": getattr(estimator, "feature_names_in_", None),
        "family": plain(model.family) if isinstance(model, ArrayModel) else None,
        "prior": field_values(model.prior),
        "dtype": model.dtype.str if isinstance(model, ArrayModel) else "<f8",
        "taken": model.taken is not None
        and all(map(operator.is_, model.taken, estimator._parameters())),
    }
    tree = plain_arrays(model.tally.arrays())
    if isinstance(model, TableModel):
        header["table"] = plain_table(model)
        tree["choices"] = plain_choices(model)
        if model.chosen.weighting is not None:
            header["weighting"], tree["weighting"] = plain_weighting(model.chosen.weighting)
    if model.declared_classes is not None:
        header["declared_classes"] = model.declared_classes
    if model.class_weight:
        header["class_weight"] = model.class_weight
    bounds = [getattr(part, "largest", 0.0) for part in model.tally.groups]
    squares = [None if isinstance(bound, float) else bound for bound in bounds]
    if model.decayed or any(bound is not None for bound in squares):
        header["rounding"] = {"decayed": model.decayed, "squares": squares}
    return header, tree
