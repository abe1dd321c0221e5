"""Credible intervals of class probabilities, from draws of the model's parameters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.models.table import TableModel
from tallybayes.tables import Table

__all__ = ["Draws", "drawn_posteriors", "draws_of"]

Array = NDArray[np.float64]


class Draws(NamedTuple):
    """Makes the same draws for every batch of rows.

    Parameters
    ----------
    prior : int
        Seed of the class prior.
    parts : list of int
        Of the parameters of each part of the score.
    """

    prior: int
    parts: list[int]


def draws_of(model: TableModel, rng: Any) -> Draws:
    """Seeds for a model's parameters, from a RandomState."""
    prior, *parts = rng.randint(2**31 - 1, size=1 + len(model.score.parts)).tolist()
    return Draws(prior, parts)


def drawn_posteriors(model: TableModel, x: Table, draws: Draws, n: int) -> Array:
    """log P(c | x) under parameters drawn from their posterior, float64 (n, n_rows, n_classes).

    A draw that rules a row out in every class leaves it the class prior of that draw.

    Parameters
    ----------
    model : TableModel
    x : Table
    draws : Draws
    n : int
        Draws.
    """
    drawn = model.prior.drawn(model.tally.classes, np.random.default_rng(draws.prior), n)
    prior = drawn[:, None, :]
    scores = prior + np.zeros((n, x.n_rows, prior.shape[2]))
    for part, seed in zip(model.score.parts, draws.parts, strict=True):
        scores += part.drawn(x, np.random.default_rng(seed), n)
    top = scores.max(axis=2, keepdims=True)
    out = np.isneginf(top)
    if out.any():
        scores = np.where(out, prior, scores)
        top = scores.max(axis=2, keepdims=True)
    scores -= top
    return np.asarray(scores - np.log(np.exp(scores).sum(axis=2, keepdims=True)))
