"""Credible intervals of class probabilities, from draws of the model's parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.estimators.table_model import TableModel
from tallybayes.tables import Table

__all__ = ["drawn_posteriors"]

Array = NDArray[np.float64]


def drawn_posteriors(model: TableModel, x: Table, rng: Any, n: int) -> Array:
    """log P(c | x) under parameters drawn from their posterior, float64 (n, n_rows, n_classes).

    A draw that rules a row out in every class leaves it the class prior of that draw.

    Parameters
    ----------
    model : TableModel
    x : Table
    rng : RandomState
    n : int
        Draws.
    """
    prior = model.prior.drawn(model.tally.classes, rng, n)[:, None, :]
    scores = prior + np.zeros((n, x.n_rows, prior.shape[2]))
    for part in model.score.parts:
        scores += part.drawn(x, rng, n)
    top = scores.max(axis=2, keepdims=True)
    out = np.isneginf(top)
    if out.any():
        scores = np.where(out, prior, scores)
        top = scores.max(axis=2, keepdims=True)
    scores -= top
    return np.asarray(scores - np.log(np.exp(scores).sum(axis=2, keepdims=True)))
