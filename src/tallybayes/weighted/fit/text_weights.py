"""The weights of columns of text beside those of other columns.

    S_k = β·S⁰_k + Σ_j v_j T_jk + b_k,    β, v ≥ 0

S⁰ is the score from the columns that are cells, of each row by a fit without it; T_j is what the
text of column j adds, with the row taken out of its counts. The few weights are those of the least
penalised log-loss (see `learn_bin_weights`), so that the words of a text, however many, have one
weight between them. The rows are predicted by weights that were learned without their fold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from tallybayes.weighted.documents.bin_weights import BinWeights, learn_bin_weights

__all__ = ["TextWeights", "learn_text_weights"]

Array = NDArray[np.float64]

FOLDS = 5
MIN_LOG_PROBABILITY = -700.0  # of a log-probability


@dataclass(frozen=True, eq=False, kw_only=True)
class TextWeights:
    """Learned weights of columns of text.

    Parameters
    ----------
    names : list of str
    weights : float64 array (n_text_columns,)
        v.
    cells : float
        β, by which the weights of all other terms are multiplied.
    apart : float64 array (n_text_columns,)
        How far apart each text sets the classes, on average over the learning rows, in nats.
    """

    names: list[str]
    weights: Array
    cells: float
    apart: Array


def learn_text_weights(
    names: list[str], contributions: Array, log_proba: Array, y: NDArray[np.int32], weight: Array
) -> tuple[TextWeights, Array, Array]:
    """The weights; b, float64 (n_classes,); and the normalised log-probabilities of the rows, each
    by weights learned without its fold, float64 (n_rows, n_classes).

    Parameters
    ----------
    names : list of str
        Of the columns of text.
    contributions : float64 array (n_rows, n_classes, n_text_columns)
        T, less its mean over the classes.
    log_proba : float64 array (n_rows, n_classes)
        S⁰, normalised.
    y : int32 array (n_rows,)
    weight : float64 array (n_rows,)
    """
    cells = np.maximum(log_proba, MIN_LOG_PROBABILITY)
    cells -= cells.mean(axis=1, keepdims=True)
    sums = np.concatenate([contributions, cells[:, :, None]], axis=2)
    start = BinWeights(np.ones(sums.shape[2]), np.zeros(sums.shape[1]))
    found, _ = learn_bin_weights(sums, y, weight, start)
    predicted = np.empty_like(log_proba)
    fold = np.arange(len(y)) % FOLDS
    for f in np.unique(fold).tolist():
        rest, test = fold != f, fold == f
        without = found
        if rest.any():
            without, _ = learn_bin_weights(sums[rest], y[rest], weight[rest], found)
        predicted[test] = log_softmax(without.scores(sums[test]), axis=1)
    *weights, beta = found.weights.tolist()
    spread = np.ptp(contributions, axis=1) * np.array(weights)
    apart: Array = weight @ spread / weight.sum()
    learned = TextWeights(names=names, weights=np.array(weights), cells=beta, apart=apart)
    return learned, found.intercept, predicted
