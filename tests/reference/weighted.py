"""What a learned weighted model says of cells, by the formulas of docs/weighted.md."""

import numpy as np

__all__ = ["loss", "proba", "scores", "term_tables"]


def over_neighbours(counts, n_numbers, kind, width):
    """The counts of cells of numbers summed over neighbours, with weights max(0, 1 − d / width)."""
    if kind == "none":
        return counts
    share = counts[:n_numbers].sum(axis=1) / max(counts[:n_numbers].sum(), 1e-9)
    at = np.arange(n_numbers) if kind == "cells" else np.cumsum(share) - share / 2
    near = np.maximum(0.0, 1.0 - np.abs(at[:, None] - at) / width)
    return np.concatenate([near @ counts[:n_numbers], counts[n_numbers:]])


def log_ratios(column, choice, p):
    """T[v, k] = log[(C_vk + a·p_k) / ((m_v + a)·p_k)]."""
    counts, a = column.counts, choice.strength
    counts = over_neighbours(counts, column.n_numbers, choice.kernel, choice.width)
    return np.log((counts + a * p) / ((counts.sum(axis=1, keepdims=True) + a) * p))


def centred(table):
    return table - table.mean(axis=1, keepdims=True)


def term_tables(learned):
    """What each term of one fit adds: weight · log-ratios + correction, centred over classes."""
    p = np.exp(learned.offset - learned.weights.offsets)
    columns = zip(learned.columns, learned.choices, strict=True)
    ratios = [log_ratios(column, choice, p) for column, choice in columns]
    ratios += [np.log(pair.counted / pair.expected) for pair in learned.pairs]
    weights = (learned.weights.terms + learned.weights.deviations).T
    more = learned.corrections or [0.0] * len(ratios)
    terms = zip(weights, ratios, more, strict=True)
    return [centred(weight * centred(table) + added) for weight, table, added in terms]


def scores(learned, cells):
    """Of what one fit gave, or of the mean of several."""
    if not hasattr(learned, "parts"):
        return summed(learned.offset, term_tables(learned), learned.pairs, cells)
    parts = zip(learned.shares, learned.parts, strict=True)
    found = sum(share * scores(part, cells) for share, part in parts)
    smooth = learned.smooth
    if smooth is None:
        return found
    tables = [*smooth.columns, *(pair.table for pair in smooth.pairs)]
    return found + summed(smooth.offset, tables, smooth.pairs, cells)


def summed(offset, tables, pairs, cells):
    """The offset and, for each row, the entries of its cells in the tables of columns, pairs and
    three columns."""
    found = np.tile(offset, (cells.shape[1], 1))
    codes = [*cells]
    for pair in pairs:
        own = zip(pair.columns, pair.maps, strict=True)
        coarse = [np.where(cells[j] >= 0, of_cells[cells[j]], -1) for j, of_cells in own]
        joint = np.ravel_multi_index(coarse, pair.sizes, mode="clip")
        codes.append(np.where(np.min(coarse, axis=0) >= 0, joint, -1))
    for cell, table in zip(codes, tables, strict=True):
        found[cell >= 0] += table[cell[cell >= 0]]
    return found


def proba(learned, cells):
    said = scores(learned, cells)
    p = np.exp(said - said.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def loss(p, y):
    return -np.log(p[np.arange(len(y)), y]).mean()
