"""Leave-one-out score kinds by their definitions, row by row: take the row out, then score."""

import math

import numpy as np

RESIDUE = 2.0**-40  # of a difference of weights: less than this share is rounding


def rest_of(whole, part):
    """whole − part of weights; what can only be rounding is 0."""
    rest = np.asarray(whole - part, dtype=np.float64)
    return np.where(rest <= RESIDUE * np.abs(whole), 0.0, rest)


def rest_of_difference(difference, part, whole):
    """difference − part, where the difference was itself taken from the whole."""
    rest = np.asarray(difference - part, dtype=np.float64)
    rounding = (rest <= RESIDUE * whole) & (rest < 0.5)
    return np.where((rest <= 0.0) | rounding, 0.0, rest)


def log(x):
    return math.log(x) if x > 0.0 else -math.inf


def total(terms):
    """Their sum; −inf if one of them is."""
    terms = list(terms)
    return -math.inf if -math.inf in terms else math.fsum(terms)


def sums_without(x, own, weight, part, alpha):
    """Σ x·log(part − w·x + α) in each row's own class, and Σ x."""
    left = rest_of(part[own], weight[:, None] * x) + alpha
    scores = [
        total(v * log(q) for v, q in zip(row, rest, strict=True) if v)
        for row, rest in zip(x.tolist(), left.tolist(), strict=True)
    ]
    return np.array(scores), x.sum(axis=1)


def presence_without(x, own, weight, present, absent, rows, yes, no):
    """Σ log(present − w + yes) − log(absent − w + no) over the features that a row has, without the
    subtrahends log 0, and how many those are."""
    there = rest_of(present[own], weight[:, None]) + yes
    gone = rest_of_difference(absent[own], weight[:, None], rows[own][:, None]) + no
    scores, ruled = [], []
    for row, p, a in zip(x > 0.0, there, gone, strict=True):
        ruled.append(float((a[row] == 0.0).sum()))
        scores.append(total([*map(log, p[row]), *(-log(q) for q in a[row] if q > 0.0)]))
    return np.array(scores), np.array(ruled)


def shifted_logs(table, own, weight, alpha, whole, scale):
    """Σ_j log((table[own, j] − w + α_j) / scale) without terms log 0, and how many those are."""
    left = rest_of_difference(table[own], weight[:, None], whole[own][:, None]) + alpha
    shares = left / scale[own][:, None]
    logs = [math.fsum(map(log, row[row > 0.0])) for row in shares]
    return np.array(logs), (left == 0.0).sum(axis=1).astype(np.float64)


def complement_without(x, own, weight, sums, alpha, norm):
    """Complement scores of each row by the counts of all rows but it, every class and feature by
    itself; `sums` (n_classes, n_features) are the counts of all."""
    scores = np.empty((len(x), len(sums)))
    for i, row in enumerate(x):
        taken = weight[i] * row
        left = sums.copy()
        left[own[i]] = rest_of(left[own[i]], taken)
        others = left.sum(axis=0) - left  # whole numbers: exact
        part = others + alpha
        nothing = part.sum(axis=1) == 0.0
        part[nothing] = 1.0
        # a feature that one class alone has rules the others out and says nothing about it
        certain = part == 0.0
        alone = certain.any(axis=0) & (left.sum(axis=0) > 0.0)
        u = np.zeros_like(part)
        u[~certain] = np.log(part[~certain])
        u -= np.where(certain, 0.0, np.log(part.sum(axis=1, keepdims=True)))
        weights = -u
        if norm:
            whole = u.sum(axis=1, keepdims=True)
            weights = u / np.where(np.abs(whole) < 1e-9, 1.0, whole)
        scores[i] = weights[:, row > 0.0] @ row[row > 0.0]
        out = ~certain & alone
        scores[i, out[:, row > 0.0].any(axis=1)] = -np.inf
    return scores


def codes_without(x, start, table, own):
    """Σ_j table[own, start_j + x_j]."""
    return np.array([math.fsum(table[k, start[:-1] + row]) for k, row in zip(own, x, strict=True)])


def class_moments(x, codes, weight, n_classes, smoothing, each):
    """Mean and smoothed variance of every column in every class, in two passes over the rows x; a
    class without weight is like all classes together."""

    def moments(rows):
        values, w = x[rows], weight[rows]
        mean = np.average(values, axis=0, weights=w)
        return mean, np.average((values - mean) ** 2, axis=0, weights=w)

    there = weight != 0.0
    everyone = moments(there)
    mine = [there & (codes == k) for k in range(n_classes)]
    found = [moments(rows) if rows.any() else everyone for rows in mine]
    epsilon = smoothing * (everyone[1] if each else everyone[1].max())
    return np.array([mean for mean, _ in found]), np.array([v + epsilon for _, v in found])


def moments_score(row, means, variances):
    """Gaussian log-densities of a row in every class."""
    return -0.5 * (np.log(2.0 * np.pi * variances) + (row - means) ** 2 / variances).sum(axis=1)


def posterior_without(scores, own, other_prior, own_prior):
    """Bayes' rule in logarithms; the prior where every class is ruled out, and how many rows."""
    found, out = np.empty_like(scores), 0
    for i, row in enumerate(scores):
        prior = other_prior.copy()
        prior[own[i]] = own_prior[i]
        joint = row + prior
        if np.isneginf(joint).all():
            joint, out = prior, out + 1
        top = joint.max()
        found[i] = joint - top - math.log(math.fsum(np.exp(joint - top)))
    return found, out
