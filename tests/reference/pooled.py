"""Numbers as densities beside atoms, a value at a time, as the formulas stand."""

import numpy as np


def mixed(mass, n, rows):
    """log p'(x | c) of log M (n_classes,), where each class of n rows is given `rows` of all."""
    top = mass.max()
    if not np.isfinite(top):
        return np.zeros(len(mass))
    m = np.exp(mass - top)
    with np.errstate(divide="ignore"):
        return np.log(m + rows / n.sum() * m.sum()) + top - np.log(n + rows)


def log_mass(x, low, high, counts, k, mean, variance):
    """log M_c(x): of an atom its counts (n_atoms, n_classes), else of the density of k rows."""
    with np.errstate(divide="ignore"):
        at = np.flatnonzero((low <= x) & (x < high))
        if len(at):
            return np.log(counts[at[0]])
        return np.log(k) - 0.5 * (np.log(2 * np.pi * variance) + (x - mean) ** 2 / variance)


def scores(x, low, high, counts, k, mean, squares, rows, less):
    """(n_rows, n_classes); 0 for NaN. Classes are of counts at atoms, and k rows with mean and sum
    of squares elsewhere; a variance is squares / (k − less)."""
    n = k + counts.sum(axis=0)
    found = np.zeros((len(x), len(n)))
    for i in np.flatnonzero(~np.isnan(x)):
        mass = log_mass(x[i], low, high, counts, k, mean, squares / (k - less))
        found[i] = mixed(mass, n, rows)
    return found


def scores_without(x, own, weight, low, high, counts, k, mean, squares, rows, less):
    """The same after each row is taken out of what was counted."""
    found = np.zeros((len(x), len(k)))
    for i in np.flatnonzero(~np.isnan(x)):
        c, w = own[i], weight[i]
        counts_i, k_i, mean_i, squares_i = counts.copy(), k.copy(), mean.copy(), squares.copy()
        at = np.flatnonzero((low <= x[i]) & (x[i] < high))
        if len(at):
            counts_i[at[0], c] -= w
        else:
            k_i[c] -= w
            mean_i[c] = (k[c] * mean[c] - w * x[i]) / k_i[c]
            squares_i[c] -= w * (x[i] - mean[c]) * (x[i] - mean_i[c])
        found[i] = scores(x[[i]], low, high, counts_i, k_i, mean_i, squares_i, rows, less)[0]
    return found
