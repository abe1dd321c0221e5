"""Labels to class codes, and weights per class."""

import numpy as np

from reference.rational import exact_weights, zeros


def rank_labels(y):
    """The distinct labels in order, and each label's rank among them."""
    values = sorted(set(y.tolist()))
    rank = {value: code for code, value in enumerate(values)}
    return np.array(values), np.array([rank[label] for label in y.tolist()], dtype=np.int32)


def count_classes(codes, weights, n_classes):
    """Σ w by class, exactly."""
    count = zeros(n_classes)
    for k, w in zip(codes.tolist(), exact_weights(weights, len(codes)), strict=True):
        count[k] += w
    return count
