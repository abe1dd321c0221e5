"""Which estimators a model file can hold, and saving them.

Loading is in :mod:`tallybayes.estimators.loading`, which imports the estimators; they import this
module.
"""

from __future__ import annotations

import os
from typing import Any, BinaryIO

from tallybayes import persistence
from tallybayes.decisions import Scores, costs_by_name
from tallybayes.errors import ModelFileError
from tallybayes.persistence import Tree
from tallybayes.replacing import Replace

__all__ = ["EXTRA", "HOMES", "SCORES", "plain_of", "save"]


SCORES = "_scores"  # the attribute that holds scores of learned rows, for prediction sets
EXTRA = "_extra"  # the attribute of a loaded estimator that holds what the file had beside it

HOMES = {
    "BernoulliNB": "estimators.arrays",
    "CategoricalNB": "estimators.arrays",
    "ComplementNB": "estimators.arrays",
    "GaussianNB": "estimators.arrays",
    "Hierarchy": "labels.hierarchy",
    "MultiLabel": "labels.multi_label",
    "MultinomialNB": "estimators.arrays",
    "NaiveBayes": "estimators.naive_bayes",
    "TextNB": "estimators.text",
    "WeightedNaiveBayes": "estimators.weighted",
}
"""The estimators that a file can hold: of each class the module of ``tallybayes``."""


def plain_of(estimator: Any) -> tuple[dict[str, Any], Tree]:
    """Header and arrays of a fitted estimator."""
    name = type(estimator).__name__
    if type(estimator).__module__ != f"tallybayes.{HOMES.get(name)}":  # or a subclass
        raise ModelFileError(
            f"a model file cannot hold a {name}, a class that tallybayes does not have: save an "
            "estimator of tallybayes itself, or pickle the model"
        )
    if hasattr(estimator, "_plain"):  # one that holds another
        return estimator._plain(plain_of)  # type: ignore[no-any-return]
    if name == "TextNB":
        from tallybayes.models import document_codec

        return document_codec.plain_model(estimator)
    from tallybayes.models import codec

    return codec.plain_model(estimator)


def save(
    estimator: Any,
    path: str | os.PathLike[str] | BinaryIO,
    extra: dict[str, Any] | None = None,
    replace: Replace | None = None,
    costs: Any = None,
) -> None:
    """Writes a fitted estimator; see :meth:`TallyClassifier.save`.

    `extra` is kept beside the model, for :func:`load_with_extra`; by default what the model was
    loaded with. `replace` puts the new file in the old one's place, ``os.replace`` by default. With
    `costs`, the file holds a :class:`CostClassifier`.
    """
    header, tree = plain_of(estimator)
    extra = estimator.__dict__.get(EXTRA) if extra is None else extra
    if extra is not None:
        header["extra"] = extra
    if costs is not None:
        header["costs"] = costs_by_name(costs, estimator.classes_)
    scores: Scores | None = estimator.__dict__.get(SCORES)
    if scores is not None:
        header["scores"], tree["scores"] = scores.plain()
    persistence.write(path, header, tree, replace=replace)
