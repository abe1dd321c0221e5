"""A model of documents, some of them without a label."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.models.documents.contract import TextModel
from tallybayes.models.documents.weighted import (
    DocumentModel,
    WeightedLearner,
    orders_of,
    term_table,
)
from tallybayes.tally import TermCounts
from tallybayes.tokens.counting import Documents
from tallybayes.weighted.unlabelled import WEIGHTS, PartLabelled, choose_weight

__all__ = ["softly_counted", "with_unlabelled_of"]


def softly_counted(
    names: tuple[NDArray[Any], NDArray[Any]],
    learner: WeightedLearner,
    labelled: Documents,
    y: NDArray[np.int32],
    unlabelled: Documents,
    *,
    weight: float | None,
) -> DocumentModel | None:
    """A model that counts unlabelled documents softly; None where that is not known to help.

    Parameters
    ----------
    names : array (n_terms,), array (n_classes,)
        Terms and labels, distinct and sorted; each label has a document.
    learner : WeightedLearner
    labelled : Documents
    y : int32 array (n_labelled,)
        Places in `labels`.
    unlabelled : Documents
    weight : float or None
        λ; None chooses it, 0 among them.
    """
    (terms, labels), spelling = names, learner.spelling
    part = PartLabelled(labelled, y, unlabelled, orders_of(terms, spelling), len(labels))
    chosen = choose_weight(
        part,
        WEIGHTS if weight is None else (weight,),
        orders=2 if spelling == "characters" else 1,
        forced=weight is not None,
    )
    if chosen is None:
        return None
    rows = chosen.counted
    tally = TermCounts.counted(terms, labels, rows.indptr, rows.terms, rows.classes, rows.weights)
    kept = np.bincount(rows.terms, minlength=len(terms)) > 0
    table = term_table(tally, spelling)
    learned = chosen.learned(table, kept, ridge=learner.ridge)
    return DocumentModel(tally, spelling, learned, unlabelled=chosen.unlabelled)


def with_unlabelled_of(model: TextModel, other: TextModel) -> TextModel:
    """The model, which counts unlabelled documents if another one does that was merged with it."""
    if model.unlabelled is not None or other.unlabelled is None:
        return model
    assert isinstance(model, DocumentModel)
    return replace(model, unlabelled=other.unlabelled)
