"""The score kinds, in float64, summed feature by feature as the kernels promise; Bayes' rule."""

import math

import numpy as np


def _start(x, offset):
    return np.tile(np.asarray(offset, dtype=np.float64), (x.shape[0], 1))


def score_quadratic(x, mean, scale, offset):
    """offset_c − Σ_j ((x_j − mean_cj)·scale_cj)²."""
    scores = _start(x, offset)
    for j in range(x.shape[1]):
        t = (x[:, [j]].astype(np.float64) - mean[:, j]) * scale[:, j]
        scores -= t * t
    return scores


def score_linear(x, weights, offset, threshold=None):
    """offset_c + Σ_j weights_cj·x_j; x_j = 0 contributes 0, whatever the weight."""
    x = x.astype(np.float64) if threshold is None else (x > threshold).astype(np.float64)
    scores = _start(x, offset)
    for j in range(x.shape[1]):
        column = x[:, [j]]
        present = np.broadcast_to(column != 0.0, scores.shape)
        product = np.zeros_like(scores)
        np.multiply(column, weights[:, j], out=product, where=present)
        scores += product
    return scores


def score_codes(x, table, start, offset):
    """offset_c + Σ_j table[c, start_j + x_j]; a code beyond the levels reads the column's last."""
    scores = _start(x, offset)
    for j in range(x.shape[1]):
        last = int(start[j + 1] - start[j]) - 1
        codes = np.minimum(x[:, j].astype(object), last).astype(np.int64)
        scores += table[:, start[j] + codes].T
    return scores


def score_sparse(indptr, indices, data, first, offset, second=None, threshold=None):
    """CSR rows, entry by entry: a·x, or a·[x > threshold], or a·x + b·x²."""
    scores = np.tile(np.asarray(offset, dtype=np.float64), (len(indptr) - 1, 1))
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            x, j = float(data[p]), indices[p]
            if not (x > threshold if threshold is not None else x != 0.0):
                continue
            if second is not None:
                scores[i] += x * (first[:, j] + x * second[:, j])
            else:
                scores[i] += first[:, j] if threshold is not None else x * first[:, j]
    return scores


def best_classes(scores, fallback):
    """The first class of the highest score; `fallback` where every score is −inf, and how many."""
    out = np.isneginf(scores).all(axis=1)
    best = np.where(out, fallback, scores.argmax(axis=1)).astype(np.int64)
    return best, int(out.sum())


def normalise(scores, fallback):
    """log P(c | x), log p(x), and how many rows every class rules out; one row at a time."""
    posterior, evidence = np.empty_like(scores), np.empty(len(scores))
    for i, row in enumerate(scores.tolist()):
        top = max(row)
        if top == -math.inf:
            posterior[i], evidence[i] = fallback, -math.inf
            continue
        log_total = math.log(math.fsum(math.exp(s - top) for s in row))
        posterior[i] = [(s - top) - log_total for s in row]
        evidence[i] = top + log_total
    return posterior, evidence, int(np.isneginf(evidence).sum())
